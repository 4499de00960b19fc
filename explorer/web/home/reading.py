"""One window's reading of the tables of the list: in the background, the visible ones first, ended at will."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from explorer.storage.served_roots import TableRef
from explorer.web.served_tables import Catalog, TableSummary

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
        """Return the tables as far as they are known to this window, or to another one some minutes ago."""
        with self._lock:
            known = dict(self._known)
        before = self._catalog.summary_before
        return [known.get(ref.name) or before(ref) or TableSummary(ref, pending=True) for ref in refs]

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
