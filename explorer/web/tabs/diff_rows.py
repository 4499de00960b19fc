"""The rows of the Diff tab: those in which the two versions at hand differ, compared by Spark when asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.views import TableView
from explorer.views.rows.row_work import ComparedRows, comparison_estimate
from explorer.web.address import Address

__all__ = ["DifferencesWork"]


class DifferencesWork:
    """At most one comparison of rows for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._compared = ComparedRows(changed)

    def start(self, view: TableView, address: Address) -> None:
        """Begin to compare the rows that an address asks for; a running comparison is stopped."""
        self._compared.start(view, address.keys)

    def cancel(self) -> None:
        """Stop a running comparison."""
        self._compared.cancel()

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return what the Diff tab's template shows of rows."""
        snapshot = view.facts.snapshot(view.version)
        estimate, available = comparison_estimate(view)
        return {
            "rows_job": self._compared.state(view, address.keys),
            "rows": self._compared.found(view, address.keys),
            "rows_estimate": estimate,
            "rows_available": available,
            "rows_keys": address.keys,
            "rows_columns": [field.name for field in snapshot.schema.fields[:200]],
        }
