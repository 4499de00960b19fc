"""The rows of the Data tab: read by Spark when asked, with progress and a way to stop; the answer says what it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError
from explorer.views import TableView
from explorer.views import formatting as fmt
from explorer.views.listing import Listing, ListingColumn
from explorer.views.overview import fields_of
from explorer.views.problems import Problem, problem_of
from explorer.web.address import Address
from explorer.web.spark_state import engine_state
from explorer.web.tabs import arranged

__all__ = ["RowsJob"]

_ROWS = 100
_PACE = 0.25


class RowsJob:
    """At most one preview at a time for one window.

    Args:
        changed: Called, on any thread, when what is to be shown has changed.
    """

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._job: Any = None
        self._lock = threading.Lock()
        self._told = 0.0
        self.version: int | None = None
        self.note = ""
        self.problem: Problem | None = None
        self.listing: Listing | None = None
        self._location = ""

    def start(self, view: TableView) -> None:
        """Begin to read the first rows of a version; a running read is stopped."""
        self.cancel()
        self.problem, self.listing, self.version = None, None, view.version
        self._location = view.facts.location
        try:
            from explorer.spark.jobs import preview
        except ImportError as error:
            self.problem = _missing(error)
            self._changed()
            return
        try:
            self._job = preview(view.facts.table, view.facts.snapshot(view.version), limit=_ROWS)
        except ExplorerError as error:
            self.problem = problem_of(error)
            self._changed()
            return
        self._job.subscribe(self._report)
        self._changed()

    def cancel(self) -> None:
        """Stop a running read."""
        job = self._job
        if job is not None and job.state == "running":
            job.cancel()

    def listing_required(self) -> Listing:
        """Return the rows that were read.

        Raises:
            RequestError: None were.
        """
        if self.listing is None:
            raise RequestError("No rows have been read yet.", field="list")
        return self.listing

    def values(self, view: TableView, address: Address) -> dict[str, Any]:
        """Return the values of the Data tab's template."""
        snapshot = view.facts.snapshot(view.version)
        kept = self.listing if self._location == view.facts.location else None
        listing = arranged(kept, address) if kept is not None else None
        return {
            "fields": fields_of(snapshot.schema, snapshot.partition_columns),
            "about": f"{fmt.quantity(_live(snapshot), 'row')} in {fmt.plural(snapshot.num_files, 'file')}",
            "estimate": _estimate(snapshot),
            "available": snapshot.num_files > 0,
            "engine": engine_state(),
            "job": _JobView(self),
            "listing": listing,
            "page": listing.paged() if listing is not None else None,
        }

    def _report(self, job: Any) -> None:
        with self._lock:
            now = time.monotonic()
            if job is not self._job or (job.state == "running" and now - self._told < _PACE):
                return
            self._told = now
            if job.state == "done":
                result = job.result()
                self.listing = _listing(result.table, self.version)
                self.note = result.note
            elif job.state in {"failed", "cancelled"}:
                self.problem = problem_of(job.error)
        self._changed()


class _JobView:
    """What the template reads of a job."""

    def __init__(self, owner: RowsJob) -> None:
        job = owner._job
        self.state = job.state if job is not None else "idle"
        self.phase = job.phase if job is not None else ""
        self.done = job.done if job is not None else 0
        self.total = job.total if job is not None else 0
        self.elapsed = job.elapsed if job is not None else 0.0
        self.problem = owner.problem
        self.preview = owner.listing
        self.note = owner.note
        self.version = owner.version


def _listing(table: pa.Table, version: int | None) -> Listing:
    columns = tuple(
        ListingColumn(name, fmt.plain(name, 120), _kind(kind), "null")
        for name, kind in zip(table.schema.names, table.schema.types, strict=True)
    )
    searched = tuple(c.key for c, kind in zip(columns, table.schema.types, strict=True) if _searchable(kind))
    return Listing(f"rows-v{version}", columns, table, searched)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        return "mono"
    return "amount" if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "text"


def _searchable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind))


def _live(snapshot: Any) -> int | None:
    return None if snapshot.num_records is None else snapshot.num_records - snapshot.num_deleted_records


def _estimate(snapshot: Any) -> str:
    if not snapshot.num_files:
        return f"v{snapshot.version} has no live file: there are no rows to read."
    start = "" if engine_state()["state"] == "ready" else " Spark starts first, which takes about ten seconds."
    files = fmt.plural(snapshot.num_files, "file")
    return f"The first {_ROWS} rows come from the first of {files}, so a second or two.{start}"


def _missing(error: ImportError) -> Problem:
    return Problem(
        kind="EngineUnavailable",
        severity="warning",
        title="Spark is not available",
        message=f"Rows are read by Spark, which is not installed ({error}).",
        next_step='Install it with pip install "delta-table-explorer[spark]" and start again. The rest goes on.',
    )
