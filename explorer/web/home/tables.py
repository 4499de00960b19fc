"""The list of tables: read one after another while it is shown, sorted, filtered, each with its worst finding."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from explorer import formatting as fmt
from explorer.page.address import STATUSES, Address
from explorer.page.findings import tone
from explorer.page.pages import Rendered, bar
from explorer.storage.served_roots import TableRef
from explorer.web.home.activity import activity
from explorer.web.home.morning import morning, new_commits
from explorer.web.html import render, render_blocks
from explorer.web.served_tables import SPARK_DAYS, Catalog, TableSummary

_WORKERS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-home")
_EVERY = 0.4
_FRESH = 10.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading is.

    Attributes:
        done, total: Tables.
        running: Whether it goes on.
        seconds: How long it has taken so far.
    """

    done: int = 0
    total: int = 0
    running: bool = False
    seconds: float = 0.0

    @property
    def stopped(self) -> bool:
        """Whether it ended before the last table."""
        return not self.running and self.done < self.total


class HomeReading:
    """One window's reading of all tables.

    Args:
        catalog: The served tables.
        changed: Called from a thread with what was read since the last call, at most every 0.4 s; the last call of a
            reading comes when it has ended.
    """

    def __init__(self, catalog: Catalog, changed: Callable[[Sequence[TableSummary]], None]) -> None:
        self._catalog, self._changed = catalog, changed
        self._lock = threading.Lock()
        self._known: dict[str, TableSummary] = {}
        self._fresh: list[TableSummary] = []
        self._futures: list[Future[None]] = []
        self._left = self._total = self._run = 0
        self._stopped = False
        self._begun = self._ended = self._reported = -_FRESH

    def rows(self, refs: Iterable[TableRef]) -> list[TableSummary]:
        """Return the tables as far as they are known."""
        with self._lock:
            known = dict(self._known)
        return [known.get(ref.name) or TableSummary(ref, pending=True) for ref in refs]

    @property
    def progress(self) -> Progress:
        """How far it is."""
        with self._lock:
            running = self._left > 0
            seconds = (time.monotonic() if running else self._ended) - self._begun
            return Progress(self._total - self._left - self._cancelled(), self._total, running, seconds)

    def begin(self, refs: Sequence[TableRef], *, patience: float = 0.0) -> None:
        """Read the tables, in the order given, unless they are being read, were just read, or reading was stopped.

        Those that are not known yet are read alone, if there are any.

        Args:
            refs: The tables.
            patience: Seconds to wait for all of them.
        """
        with self._lock:
            left = [ref for ref in refs if ref.name not in self._known]
            if not self._left and not self._stopped and (left or self._is_stale()):
                self._start(left or refs)
            futures = list(self._futures)
        wait(futures, timeout=patience)

    def stop(self) -> None:
        """Begin with no further table."""
        with self._lock:
            if not self._left:
                return
            self._stopped = True
            self._left -= sum(future.cancel() for future in self._futures if not future.cancelled())
            if not self._left:
                self._ended = time.monotonic()

    def read_on(self) -> None:
        """Let the next `begin` read what is left."""
        with self._lock:
            self._stopped = False

    def _is_stale(self) -> bool:
        return time.monotonic() - self._ended >= _FRESH

    def _cancelled(self) -> int:
        return sum(future.cancelled() for future in self._futures)

    def _start(self, refs: Sequence[TableRef]) -> None:
        self._run += 1
        self._left = self._total = len(refs)
        self._begun = self._reported = time.monotonic()
        self._futures = [_WORKERS.submit(self._read, ref, self._run) for ref in refs]
        if not refs:
            self._ended = self._begun

    def _read(self, ref: TableRef, run: int) -> None:
        summary = self._catalog.summary(ref)
        with self._lock:
            self._known[ref.name] = summary
            if run != self._run:
                return
            self._fresh.append(summary)
            self._left -= 1
            now = time.monotonic()
            if not self._left:
                self._ended = now
            if self._left and now - self._reported < _EVERY:
                return
            self._reported, fresh, self._fresh = now, self._fresh, []
        self._changed(fresh)


_HEALTH = ("danger", "warning", "info", "ok")
_PAGE = 200
SortValue: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the list: a table, its worst finding as a chip (tone, words, the claim, how many more), new commits."""

    row: TableSummary
    tone: str = ""
    label: str = ""
    said: str = ""
    more: int = 0
    new: int = 0


def home_page(
    catalog: Catalog,
    address: Address,
    summaries: list[TableSummary],
    progress: Progress | None = None,
    since: datetime | None = None,
) -> Rendered:
    """Return the list of tables.

    Args:
        catalog: The served tables.
        address: What to show.
        summaries: The tables, as far as they are known.
        progress: How far reading them is; None if all are read.
        since: The last visit; None if not known.
    """
    if address.show == "activity":
        return _activity_page(catalog, address, summaries, progress)
    key = address.sort.removeprefix("-") or "name"
    descending = address.sort.startswith("-")
    named = (row for row in _named(address, summaries) if address.status in ("", row.status))
    matches = _sorted(list(named), key, since, descending=descending)
    pages = max(1, -(-len(matches) // _PAGE))
    page = min(address.page_number, pages)
    shown = matches[(page - 1) * _PAGE : page * _PAGE]
    values = _status_values(address, summaries) | {
        "rows": [_row(row, since) for row in shown],
        "morning": morning(summaries, since),
        "spark_days": SPARK_DAYS,
        "matched": len(matches),
        "sort": key,
        "descending": descending,
        "page": page,
        "pages": pages,
        "first_row": (page - 1) * _PAGE + 1,
        "roots": catalog.roots.locations,
        "cut": catalog.roots.cut,
        "unreadable_folders": catalog.roots.unreadable,
        "progress": progress,
    }
    regions = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    ids = frozenset(row.row_id for row in shown)
    pending = frozenset(row.row_id for row in shown if row.pending)
    return Rendered(regions | render_blocks("home", **values), rows=ids, pending=pending)


def _activity_page(
    catalog: Catalog, address: Address, summaries: Sequence[TableSummary], progress: Progress | None
) -> Rendered:
    record = activity(address, summaries)
    blocks = render_blocks("activity", address=address, record=record, progress=progress)
    around = {"bar": bar(address, "", may_commit=catalog.allow_commits), "notice": ""}
    return Rendered(around | blocks, title="Activity \u00b7 Delta Table Explorer")


def home_rows(
    summaries: Iterable[TableSummary], shown: Container[str], since: datetime | None = None
) -> dict[str, str]:
    """Return the rows of tables whose ids are shown, as HTML by the row's id."""
    return {row.row_id: render("home-row", item=_row(row, since)) for row in summaries if row.row_id in shown}


def home_morning(address: Address, summaries: Sequence[TableSummary], since: datetime | None) -> str:
    """Return the head of the list of tables, as HTML."""
    return render("home-morning", address=address, morning=morning(summaries, since))


def statuses(address: Address, summaries: Sequence[TableSummary]) -> str:
    """Return the links to the tables of each status, with their counts, as HTML."""
    return render("home-status", **_status_values(address, summaries))


def progress_line(progress: Progress) -> str:
    """Return how far reading is, as HTML; nothing in its first second, and nothing when all tables are read."""
    return render("home-progress", progress=progress)


def _status_values(address: Address, summaries: Sequence[TableSummary]) -> dict[str, object]:
    named = _named(address, summaries)
    return {
        "address": address,
        "total": len(summaries),
        "counts": {status: sum(row.status == status for row in named) for status in STATUSES if status},
        "named": len(named),
    }


def _named(address: Address, summaries: Sequence[TableSummary]) -> list[TableSummary]:
    return [row for row in summaries if address.find.casefold() in row.ref.name.casefold()]


def _row(row: TableSummary, since: datetime | None) -> _Row:
    new = new_commits(row, since) or 0
    if not row.findings:
        return _Row(row, new=new)
    worst, more = row.findings[0], len(row.findings) - 1
    text = worst.title + (f", and {fmt.plural(more, 'more finding')}" if more else "")
    return _Row(row, tone(worst), worst.label, text, more, new)


def _sorted(rows: list[TableSummary], key: str, since: datetime | None, *, descending: bool) -> list[TableSummary]:
    """Return the rows by a value; those without one come last in either order."""
    valued = [(new_commits(row, since) if key == "new" else _sort_value(row, key), row) for row in rows]
    known = [(value, row) for value, row in valued if value is not None]
    unknown = [row for value, row in valued if value is None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [*(row for _, row in known), *unknown]


def _sort_value(row: TableSummary, key: str) -> SortValue:
    match key:
        case "health":
            # A table that cannot be read comes before those with findings as bad; of these, the one with more findings.
            first = 10_000 if row.problem is not None else min(len(row.findings), 1_000)
            return None if row.pending else 100_000 * _HEALTH.index(row.health) - first
        case "operation":
            return row.operation or None
        case "version":
            return row.version
        case "timestamp":
            return None if row.timestamp is None else row.timestamp.timestamp()
        case "rows":
            return row.rows
        case "size":
            return row.size
        case _:
            return row.ref.name.casefold()
