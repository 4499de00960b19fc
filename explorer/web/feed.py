"""The Changes tab: which rows changed between the two versions at hand, from the change feed or from the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from explorer.core.change_files import read_estimate
from explorer.core.errors import ExplorerError, RequestError
from explorer.views import TableView
from explorer.views import formatting as fmt
from explorer.views.listing import Listing
from explorer.views.problems import problem_of
from explorer.views.row_changes import change_counts, change_spans
from explorer.views.row_listings import changes_listing
from explorer.web.address import Address
from explorer.web.spark_state import engine_state
from explorer.web.spark_work import SparkWork, WorkState
from explorer.web.tabs import arranged

if TYPE_CHECKING:
    from explorer.spark.change_jobs import ChangePreview

__all__ = ["FeedWork"]

_ROWS = 200

_Key = tuple[str, int, int, bool]


class FeedWork:
    """At most one range of changes for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._work: SparkWork[ChangePreview] = SparkWork(changed)

    def start(self, view: TableView, address: Address) -> None:
        """Begin to read the changes that an address asks for; a running read is stopped."""
        _, first, last, inferred = key = _key(view, address)

        def make() -> Any:
            from explorer.spark.change_jobs import change_preview

            return change_preview(view.facts.table, first, last, _ROWS, inferred=inferred, skip=True)

        self._work.begin(key, make)

    def cancel(self) -> None:
        """Stop a running read."""
        self._work.cancel()

    def listing_required(self) -> Listing:
        """Return the changes that were read.

        Raises:
            RequestError: None were.
        """
        if self._work.result is None:
            raise RequestError("No changes have been read yet.", field="list")
        return _listing(self._work.result)

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the Changes tab's template."""
        key = _key(view, address)
        _, first, last, inferred = key
        found = self._work.about(key)
        listing = arranged(_listing(found), address) if found is not None else None
        return _sources(view, first, last, inferred=inferred) | {
            "first": first,
            "last": last,
            "inferred": inferred,
            "engine": engine_state(),
            "job": self._work.state if self._work.key == key else WorkState(),
            "found": found,
            "counts": change_counts(found.counts) if found is not None and found.counts is not None else (),
            "listing": listing,
            "page": listing.paged() if listing is not None else None,
        }


def _listing(found: ChangePreview) -> Listing:
    first, last = (found.versions[place].version if found.versions else 0 for place in (0, -1))
    return changes_listing(f"changes-v{first}-v{last}", found.table)


def _sources(view: TableView, first: int, last: int, *, inferred: bool) -> dict[str, Any]:
    """Where the changes would come from, by the log alone."""
    facts = view.facts
    try:
        sources = facts.keep(
            ("sources", first, last, inferred), lambda: facts.table.change_sources(first, last, inferred, skip=True)
        )
    except ExplorerError as error:
        return {"spans": (), "estimate": "", "available": False, "sources_problem": problem_of(error)}
    spans = change_spans(sources)
    reading = read_estimate(sources.files)
    start = "" if engine_state()["state"] == "ready" else " Spark starts first, which takes about ten seconds."
    estimate = f"{fmt.plural(reading.files, 'file')}, {fmt.size(reading.bytes)}, hold the changes.{start}"
    return {"spans": spans, "estimate": estimate, "available": reading.files > 0, "sources_problem": None}


def _key(view: TableView, address: Address) -> _Key:
    low, high = sorted((view.other, view.version))
    return view.facts.location, min(low + 1, high), high, address.feed == "inferred"
