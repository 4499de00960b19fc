"""The rows of the Diff tab: those in which the two versions at hand differ, compared by Spark when asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from explorer.core.change_files import difference_table, read_estimate
from explorer.core.errors import ExplorerError
from explorer.views import TableView
from explorer.views import formatting as fmt
from explorer.views.row_differences import row_differences
from explorer.web.address import Address
from explorer.web.spark_state import engine_state
from explorer.web.spark_work import SparkWork, WorkState

if TYPE_CHECKING:
    from explorer.spark.change_jobs import RowDiffPreview

__all__ = ["DifferencesWork"]

_ROWS = 100
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^,`]+?))\s*(?:,|\Z)")

_Key = tuple[str, int, int, str]


class DifferencesWork:
    """At most one comparison of rows for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[RowDiffPreview] = SparkWork(changed)

    def start(self, view: TableView, address: Address) -> None:
        """Begin to compare the rows that an address asks for; a running comparison is stopped."""
        _, first, second, text = key = _key(view, address)

        def make() -> Any:
            from explorer.spark.change_jobs import row_diff_preview

            return row_diff_preview(view.facts.table, first, second, names_in(text) or None, _ROWS)

        self._work.begin(key, make)

    def cancel(self) -> None:
        """Stop a running comparison."""
        self._work.cancel()

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return what the Diff tab's template shows of rows."""
        key = _key(view, address)
        found = self._work.about(key)
        snapshot = view.facts.snapshot(view.version)
        return {
            "rows_job": self._work.state if self._work.key == key else WorkState(),
            "rows": row_differences(found) if found is not None else None,
            "rows_estimate": _estimate(view),
            "rows_keys": address.keys,
            "rows_columns": [field.name for field in snapshot.schema.fields[:200]],
        }


def names_in(text: str) -> list[str]:
    """Return the column names in a list with commas; one with a comma in it stands in backticks."""
    return [(quoted.replace("``", "`") or plain).strip() for quoted, plain in _NAME.findall(text) if quoted or plain]


def _estimate(view: TableView) -> str:
    if view.other == view.version:
        return ""
    try:
        life = view.facts.table.history_record().lifetimes
        reading = read_estimate(difference_table(life, view.other, view.version))
    except ExplorerError:
        return ""  # the tab above has said why these versions cannot be compared
    start = "" if engine_state()["state"] == "ready" else " Spark starts first, which takes about ten seconds."
    if not reading.files:
        return "No file differs, so no row does."
    return f"{fmt.plural(reading.files, 'file')}, {fmt.size(reading.bytes)}, are read.{start}"


def _key(view: TableView, address: Address) -> _Key:
    return view.facts.location, view.other, view.version, address.keys
