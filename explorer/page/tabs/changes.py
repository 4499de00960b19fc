"""The Change feed tab: which rows changed between the two chosen versions, from the change feed or from the files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event
from typing import Any

from explorer.changed_rows.change_preview import ChangePreview
from explorer.core.errors import RequestError
from explorer.first_rows.first_rows import SparkOnly
from explorer.page.address import Address
from explorer.page.kept_results import KeptResults
from explorer.page.tab_spec import Tab, TabSpec, arranged, narrowed, pinned
from explorer.page.tabs.data_messages import LONGEST_QUESTION, begin_reading
from explorer.page.tabs.row import row_links
from explorer.page.tabs.shared_results import share_handlers, shared_state
from explorer.page.window import Handler, Message, Window, WindowWork
from explorer.views import TableView
from explorer.views.listing import Listing
from explorer.views.rows.change_spans import VersionCounts, change_counts, unpaired_versions
from explorer.views.rows.row_work import (
    RangeChanges,
    change_origins,
    change_range,
    key_choices,
    nothing_recorded,
    quoted_name,
    readable_pieces,
)
from explorer.views.rows.spark_work import Shareable, engine_state

_MOST_COMMITS = 50
_OFFERED = (10, 100)
"""Ranges that are offered, in commits up to the one on show."""


class FeedWork:
    """At most one range of changes for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
        kept: Results that people share; None where nobody else can open an address.
    """

    def __init__(self, changed: Callable[[], None], kept: KeptResults | None = None) -> None:
        self._changes, self.kept = RangeChanges(changed), kept

    def open(self, view: TableView, address: Address) -> Event | None:
        """Begin to read the changes of a range that is on show, where that needs no Spark; see `TabSpec.opened`."""
        inferred = _inferred(view, address)
        if not change_origins(view, inferred=inferred).available:
            return None
        return self._changes.open(view, address.keys, address.where, inferred=inferred)

    def start(self, view: TableView, address: Address) -> None:
        """Begin to read the changes that an address asks for; a running read is stopped."""
        self._changes.start(view, address.keys, address.where, inferred=_inferred(view, address))

    def stop_reading(self) -> None:
        """Stop a running read."""
        self._changes.cancel()

    def listing_required(self, view: TableView) -> Listing:
        """Return the changes that were read of the table of a view.

        Raises:
            RequestError: None were; those of another table, which this window has shown before, are not its changes.
        """
        if (listing := self._changes.listing(view)) is None:
            raise RequestError("No changes have been read yet.", field="list")
        return listing

    def shareable(self, view: TableView, address: Address) -> Shareable:
        """Return the changes as others can open them."""
        return self._changes.shareable(view, address.keys, address.where, inferred=_inferred(view, address))

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the tab's template."""
        inferred = _inferred(view, address)
        shared = shared_state(self.shareable(view, address), self.kept, address)
        first, last = change_range(view)
        origins = change_origins(view, inferred=inferred)
        changes = self._changes.result(view, address.keys, address.where, inferred=inferred)
        result = changes if isinstance(changes, ChangePreview) else None
        full = self._changes.listing(view) if result is not None else None
        listing = arranged(full, address) if full is not None else None
        shown = narrowed(listing, pinned(listing, address, 3))
        return {
            "origins": origins,
            "first": first,
            "last": last,
            "inferred": inferred,
            "chosen": bool(address.feed),
            "pieces": readable_pieces(view, origins.spans),
            "engine": engine_state(),
            "job": self._changes.state(view, address.keys, address.where, inferred=inferred),
            "preview": result,
            "needs_spark": changes if isinstance(changes, SparkOnly) else None,
            "counts": _counts(result, address.keys),
            "keys": address.keys,
            "where": address.where,
            "example": _example(view, last),
            "columns": key_choices(view, last),
            "commits": view.facts.commits.records(first - 1, last, _MOST_COMMITS),
            "ranges": _ranges(view, first, last),
            "oldest": view.facts.first,
            "shared": shared,
            **shown,
            "row_links": row_links(view, address, listing, shown["page"].rows if shown["page"] else ()),
        }


def _counts(changes: ChangePreview | None, keys: str) -> tuple[VersionCounts, ...]:
    if changes is None or changes.counts is None:
        return ()
    return change_counts(changes.counts, changes.rewritten, unpaired_versions(changes.versions, keys))


def _example(view: TableView, version: int) -> str:
    """Return a condition over a column that the table has."""
    fields = view.facts.snapshot(version).schema.fields
    return f"{quoted_name(fields[0].name)} = \u2026" if fields else ""


def _inferred(view: TableView, address: Address) -> bool:
    """Return whether changes are inferred: as the address says, else if none was recorded in the range."""
    return address.feed == "inferred" if address.feed else nothing_recorded(view)


def _ranges(view: TableView, first: int, last: int) -> list[tuple[str, int]]:
    """Return other ranges that end where this one does: their words, and the version to compare with."""
    oldest = view.facts.first
    offered = [("this commit alone", last - 1)]
    offered += [(f"the last {count} commits", last - count) for count in _OFFERED if last - count > oldest]
    offered.append((f"all since v{oldest}", oldest))
    return [(words, before) for words, before in offered if oldest <= before < last and before != first - 1]


def _changes(view: TableView, address: Address, work: WindowWork) -> Tab:
    values = work.of(FeedWork).values(view, address)
    return Tab(values, needs_spark=values["needs_spark"] is not None)


def _open(view: TableView, address: Address, work: WindowWork) -> Event | None:
    return work.of(FeedWork).open(view, address)


def _export(view: TableView, address: Address, work: WindowWork) -> Listing:
    return arranged(work.of(FeedWork).listing_required(view), address)


def _messages(window: Window) -> Mapping[str, Handler]:
    own: dict[str, Handler] = {"changes": partial(_read, window), "changes-cancel": partial(_cancel, window)}
    return own | dict(share_handlers(window, "changes", window.work.of(FeedWork)))


def _read(window: Window, message: Message) -> None:
    answers = {name: message.text(name, LONGEST_QUESTION).strip() for name in ("keys", "where")}
    answers["result"] = ""
    begin_reading(window, message, window.work.of(FeedWork).start, answers)


def _cancel(window: Window, message: Message) -> None:
    window.work.of(FeedWork).stop_reading()
    window.answer(message)


TAB = TabSpec(
    "changes",
    "Change feed",
    "changes",
    _changes,
    exports={"changes": _export},
    shows=("changes",),
    messages=_messages,
    work=lambda window: FeedWork(window.changed, window.tables.kept),
    opened=_open,
)
