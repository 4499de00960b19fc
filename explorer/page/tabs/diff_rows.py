"""The rows of the Diff tab: those in which the two chosen versions differ, compared by Spark on request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from explorer.page.address import Address
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.window import Handler, Message, Window
from explorer.views import TableView
from explorer.views.rows.row_work import ComparedRows, comparison_estimate, key_choices

__all__ = ["DifferencesWork", "messages"]


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

    def stop_reading(self) -> None:
        """Stop a running comparison."""
        self._compared.cancel()

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the rows for the Diff tab's template."""
        estimate, available = comparison_estimate(view)
        return {
            "rows_job": self._compared.state(view, address.keys),
            "rows": self._compared.found(view, address.keys),
            "rows_estimate": estimate,
            "rows_available": available,
            "rows_keys": address.keys,
            "rows_columns": key_choices(view, view.version),
        }


def messages(window: Window) -> Mapping[str, Handler]:
    """Return the handlers of the Diff tab's messages."""
    return {"differences": partial(_compare, window), "differences-cancel": partial(_cancel, window)}


def _compare(window: Window, message: Message) -> None:
    answers = {"keys": message.text("keys", LONGEST_QUESTION).strip()}
    begin_reading(window, message, window.work.of(DifferencesWork).start, answers)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(DifferencesWork).stop_reading()
    window.answer(message)
