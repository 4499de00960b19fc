"""The rows of the Data tab: the first ones at once where that needs no Spark, others on request, with progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event
from typing import Any

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.first_rows.row_page import live_rows
from explorer.page.address import Address
from explorer.page.tab_spec import Tab, TabSpec, arranged, narrowed, pinned
from explorer.page.tabs.column_card import card_of, heading_of
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.tabs.row import row_links
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.listing import MOST_OFFERED, Listing
from explorer.views.rows.row_work import PagedRows, RowsRead, RowsRequest, rows_estimate
from explorer.views.rows.spark_work import WorkState, engine_state
from explorer.views.table.overview import top_fields


class RowsWork:
    """At most one page of rows for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._rows = PagedRows(changed)
        self._turned_at: object = None

    def open(self, view: TableView, address: Address) -> Event | None:
        """Begin to read the first rows of a version where that needs no Spark; see `TabSpec.opened`."""
        facts = view.facts
        if address.where or not facts.snapshot(view.version).num_files or facts.lost_data(view.version):
            return None
        return self._rows.open(view, masked=address.masked == "1")

    def start(self, view: TableView, address: Address) -> None:
        """Begin to read the first rows that an address asks for; a running read is stopped."""
        self._turned_at = None
        self._rows.start(view, address.where, masked=address.masked == "1")

    def turn(self, view: TableView, address: Address, *, back: bool) -> None:
        """Read the page after or before the one that is shown, of the same question.

        The address may ask another question: rows that were read stay on show, and say what they are.

        Raises:
            RequestError: There is none.
        """
        self._rows.turn(view, back=back)
        self._turned_at = _asked_at(view, address)

    def stop_reading(self) -> None:
        """Stop a running read."""
        self._rows.cancel()

    @property
    def read(self) -> RowsRead:
        """What is being read, or was read last."""
        return self._rows.read

    @property
    def asked(self) -> RowsRequest:
        """What was asked for last.

        Raises:
            RequestError: Nothing was.
        """
        if (asked := self.read.asked) is None:
            raise RequestError("No rows have been read yet.", field="list")
        return asked

    def listing_required(self, view: TableView) -> tuple[RowsRequest, Listing]:
        """Return what was asked for, and the rows that were read of the table of a view.

        Raises:
            RequestError: None were; those of another table, which this window has shown before, are not its rows.
        """
        read = self.read
        if read.asked is None or not read.is_of(view) or (listing := read.listing()) is None:
            raise RequestError("No rows have been read yet.", field="list")
        return read.asked, listing

    def values(self, view: TableView, address: Address, read: RowsRead) -> dict[str, Any]:
        """Return the values of the Data tab's template."""
        snapshot = view.facts.snapshot(view.version)
        mine = read.is_of(view)
        full = read.listing() if mine and snapshot.num_files else None
        listing = arranged(full, address) if full is not None else None
        shown = narrowed(listing, pinned(listing, address, _marks(listing)))
        return {
            "columns": top_fields(snapshot, MOST_OFFERED),
            "about": f"{fmt.quantity(live_rows(snapshot), 'row')} in {fmt.plural(snapshot.num_files, 'file')}",
            "estimate": rows_estimate(snapshot, address.where, by_spark=mine and read.needs_spark is not None),
            "lost": bool(view.facts.lost_data(view.version)),
            "alerts": view.facts.alerts(view.version),
            "available": snapshot.num_files > 0,
            "has_masked": snapshot.num_deleted_records > 0,
            "engine": engine_state(),
            "job": self._state(view, address),
            "asked": read.asked if mine else None,
            "rows": read.page,
            "needs_spark": read.needs_spark if mine else None,
            "earlier": read.has_earlier,
            "later": read.has_later,
            **shown,
            "row_links": row_links(view, address, listing, shown["page"].rows if shown["page"] else ()),
        }

    def _state(self, view: TableView, address: Address) -> WorkState:
        if self.read.is_of(view) and self._turned_at == _asked_at(view, address):
            return self._rows.state
        return self._rows.state_of(view, address.where, masked=address.masked == "1")


def _marks(listing: Listing | None) -> int:
    """How many columns of ours come before the table's."""
    return 1 if listing is not None and listing.columns[0].kind == "sign" else 0


def _asked_at(view: TableView, address: Address) -> tuple[object, ...]:
    return view.facts.place, view.version, address.where, address.masked


def _data(view: TableView, address: Address, work: WindowWork) -> Tab:
    reader = work.of(RowsWork)
    read = reader.read
    values = reader.values(view, address, read)
    listing = values["listing"]
    values["headings"] = None if listing is None else heading_of(view, address, work, read, listing)
    values["column_card"] = card_of(view, address, work, read, address.card)
    return Tab(values, needs_spark=values["needs_spark"] is not None)


def _open(view: TableView, address: Address, work: WindowWork) -> Event | None:
    return work.of(RowsWork).open(view, address)


def _export(view: TableView, address: Address, work: WindowWork) -> Listing:
    _, listing = work.of(RowsWork).listing_required(view)
    return arranged(listing, address)


def _messages(window: Window) -> Mapping[str, Handler]:
    return {kind: partial(handler, window) for kind, handler in _HANDLERS.items()}


def _read(window: Window, message: Message) -> None:
    answers = {
        "where": message.text("where", LONGEST_QUESTION).strip(),
        "masked": "1" if message.is_set("masked") else "0",
    }
    begin_reading(window, message, window.work.of(RowsWork).start, answers)


def _turn(window: Window, message: Message) -> None:
    if window.view is not None:
        address = Address.parse(window.query)
        window.work.of(RowsWork).turn(window.view, address, back=message.text("way") == "back")
    window.answer(message)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(RowsWork).stop_reading()
    window.answer(message)


_HANDLERS = {"rows": _read, "rows-turn": _turn, "rows-cancel": _cancel}
TAB = TabSpec(
    "data",
    "Data",
    "data",
    _data,
    exports={"data": _export},
    messages=_messages,
    work=lambda window: RowsWork(window.changed),
    opened=_open,
)
