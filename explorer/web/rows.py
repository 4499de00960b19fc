"""The rows of the Data tab: a page of them, read by Spark when asked, with progress and a way to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from explorer.core.errors import RequestError
from explorer.views import TableView
from explorer.views import formatting as fmt
from explorer.views.listing import Listing
from explorer.views.overview import fields_of
from explorer.views.row_listings import rows_listing
from explorer.web.address import Address
from explorer.web.spark_state import engine_state
from explorer.web.spark_work import SparkWork
from explorer.web.tabs import arranged

if TYPE_CHECKING:
    from explorer.spark.row_pages import RowPage

__all__ = ["RowsWork"]

_ROWS = 100


@dataclass(frozen=True, slots=True)
class _Question:
    """Whose rows, of which version, under which condition, masked ones too."""

    location: str
    version: int
    where: str
    masked: bool


class RowsWork:
    """At most one page of rows for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[RowPage] = SparkWork(changed)
        self._begins: list[Any] = []

    def start(self, view: TableView, address: Address) -> None:
        """Begin to read the first rows that an address asks for; a running read is stopped."""
        self._begins = [None]
        self._read(view, _question(view, address))

    def turn(self, view: TableView, *, back: bool) -> None:
        """Read the page after or before the one that is shown, of the same question.

        Raises:
            RequestError: There is none.
        """
        question, page = self._work.key, self._work.result
        following = page.following if page is not None else None
        if not isinstance(question, _Question) or page is None or (len(self._begins) < 2 if back else not following):
            raise RequestError("There is no such page of rows.", field="page")
        self._begins = self._begins[:-1] if back else [*self._begins, following]
        self._read(view, question)

    def cancel(self) -> None:
        """Stop a running read."""
        self._work.cancel()

    def listing_required(self) -> Listing:
        """Return the rows that were read.

        Raises:
            RequestError: None were.
        """
        if (found := self._listing()) is None:
            raise RequestError("No rows have been read yet.", field="list")
        return found

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the Data tab's template."""
        snapshot = view.facts.snapshot(view.version)
        asked = self._work.key if isinstance(self._work.key, _Question) else None
        mine = asked is not None and asked.location == view.facts.location
        kept = self._listing() if mine else None
        listing = arranged(kept, address) if kept is not None else None
        page = self._work.result
        return {
            "fields": fields_of(snapshot.schema, snapshot.partition_columns),
            "about": f"{fmt.quantity(_live(snapshot), 'row')} in {fmt.plural(snapshot.num_files, 'file')}",
            "estimate": _estimate(snapshot, address),
            "available": snapshot.num_files > 0,
            "has_masked": snapshot.num_deleted_records > 0,
            "engine": engine_state(),
            "job": self._work.state,
            "asked": asked if mine else None,
            "note": page.note if page is not None else "",
            "earlier": len(self._begins) > 1,
            "later": page is not None and page.following is not None,
            "listing": listing,
            "page": listing.paged() if listing is not None else None,
        }

    def _read(self, view: TableView, question: _Question) -> None:
        begin = self._begins[-1]

        def make() -> Any:
            from explorer.spark.row_pages import row_page

            snapshot = view.facts.snapshot(question.version)
            where = question.where.strip() or None
            return row_page(view.facts.table, snapshot, begin, _ROWS, where=where, masked=question.masked)

        self._work.begin(question, make)

    def _listing(self) -> Listing | None:
        page, asked = self._work.result, self._work.key
        if page is None or not isinstance(asked, _Question):
            return None
        return rows_listing(f"rows-v{asked.version}", page.table, page.places)


def _question(view: TableView, address: Address) -> _Question:
    return _Question(view.facts.location, view.version, address.where, address.masked == "1")


def _live(snapshot: Any) -> int | None:
    return None if snapshot.num_records is None else snapshot.num_records - snapshot.num_deleted_records


def _estimate(snapshot: Any, address: Address) -> str:
    if not snapshot.num_files:
        return f"v{snapshot.version} has no live file: there are no rows to read."
    start = "" if engine_state()["state"] == "ready" else " Spark starts first, which takes about ten seconds."
    files = fmt.plural(snapshot.num_files, "file")
    if address.where.strip():
        size = fmt.size(snapshot.size_in_bytes)
        return f"Files are read until {_ROWS} rows match: at most {files}, {size}, less those the log rules out.{start}"
    return f"The first {_ROWS} rows come from the first of {files}, so a second or two.{start}"
