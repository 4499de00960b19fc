"""The Diff tab: in which files two versions differ, and in which rows, compared at once where they are few."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event
from typing import Any

import pyarrow.compute as pc

from explorer.first_rows.first_rows import SparkOnly
from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tab_spec import Tab, TabSpec, arranged, listed
from explorer.page.tabs import table_pair
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.tabs.shared_results import share_handlers, shared_state
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.rows.differences import RowDifferences
from explorer.views.rows.row_work import ComparedRows, comparison_estimate, key_choices
from explorer.views.rows.spark_work import Shareable, start_notice
from explorer.views.table.comparison import Comparison, form_listing


class DifferencesWork:
    """At most one comparison of rows for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
        kept: Results that people share; None where nobody else can open an address.
    """

    def __init__(self, changed: Callable[[], None], kept: KeptResults | None = None) -> None:
        self._compared, self.kept = ComparedRows(changed), kept

    def open(self, view: TableView, address: Address) -> Event | None:
        """Begin to compare the rows of versions that are on show, where that needs no Spark; see `TabSpec.opened`."""
        return self._compared.open(view, address.keys) if comparison_estimate(view)[1] else None

    def start(self, view: TableView, address: Address) -> None:
        """Begin to compare the rows that an address asks for; a running comparison is stopped."""
        self._compared.start(view, address.keys)

    def stop_reading(self) -> None:
        """Stop a running comparison."""
        self._compared.cancel()

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the rows that differ as others can open them."""
        return self._compared.shareable(view, address.keys)

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the rows for the Diff tab's template."""
        shared = shared_state(self.shareable(view, address), self.kept, address)
        estimate, available = comparison_estimate(view)
        result = self._compared.result(view, address.keys)
        return {
            "rows_job": self._compared.state(view, address.keys),
            "rows": result if isinstance(result, RowDifferences) else None,
            "rows_need_spark": result if isinstance(result, SparkOnly) else None,
            "rows_estimate": estimate + (start_notice() if isinstance(result, SparkOnly) else ""),
            "rows_available": available,
            "rows_keys": address.keys,
            "rows_columns": key_choices(view, view.version),
            "shared": shared,
        }


def messages(window: Window) -> Mapping[str, Handler]:
    """Return the handlers of the Diff tab's messages."""
    own: dict[str, Handler] = {"differences": partial(_compare, window), "differences-cancel": partial(_cancel, window)}
    own |= share_handlers(window, "differences", window.work.of(DifferencesWork))
    return own | dict(table_pair.messages(window))


def _compare(window: Window, message: Message) -> None:
    answers = {"keys": message.text("keys", LONGEST_QUESTION).strip(), "result": ""}
    begin_reading(window, message, window.work.of(DifferencesWork).start, answers)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(DifferencesWork).stop_reading()
    window.answer(message)


_MOST_CHANGES = 60


def _diff(view: TableView, address: Address, work: WindowWork) -> Tab:
    if address.other:
        return table_pair.pair_tab(view, address, work)
    diff = view.comparison()
    ends = {"compared_same": view.other == view.version, "only": view.facts.first == view.facts.last}
    shown = {"diff": diff, "most_changes": _MOST_CHANGES} | ends | listed(_changed(diff, address), address)
    return Tab(shown | work.of(DifferencesWork).values(view, address))


def _ask(view: TableView, address: Address, work: WindowWork, *, by_person: bool) -> None:  # noqa: ARG001  # logs alone
    if address.other:
        work.of(table_pair.PairWork).prepare(view, address)


def _open(view: TableView, address: Address, work: WindowWork) -> Event | None:
    return None if address.other else work.of(DifferencesWork).open(view, address)


def _export(view: TableView, address: Address, _work: WindowWork) -> Listing:
    return arranged(_changed(view.comparison(), address), address)


def _form_changes(view: TableView, _address: Address, _work: WindowWork) -> Listing:
    return form_listing(view.facts, view.comparison())


def _changed(diff: Comparison, address: Address) -> Listing:
    if address.change == "all":
        return diff.files
    matching = diff.files.table.filter(pc.equal(diff.files.table.column("change"), address.change))
    return Listing(diff.files.name, diff.files.columns, matching, diff.files.searched)


TAB = TabSpec(
    "diff",
    "Diff",
    "diff",
    _diff,
    ask=_ask,
    exports={
        "diff": _export,
        "form-changes": _form_changes,
        "table-differences": table_pair.differences_export,
        "compared-bounds": table_pair.bounds_export,
        "intents": table_pair.intents_export,
    },
    shows=("difference",),
    messages=messages,
    work=lambda window: DifferencesWork(window.changed, window.tables.kept),
    opened=_open,
)
