"""Many tables in processes of their own: one that ends its process stops no other, and none outlasts this one.

A process reads tables of a store several at a time, as most of that is waiting for answers; those of a disk one by one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

import pyarrow as pa

from explorer.fleet.one_table import TableAudit, Task, fault
from explorer.storage.roots import is_url
from explorer.storage.served_root import ServedRoot

_FEW: Final = 16
"""So many tables are read before another process is worth its start."""
_AHEAD: Final = 4
_TOGETHER: Final = 4
"""So many tables of a store one process reads at a time; each may take the memory of a whole log."""
_HANDED: Final = 2 * _TOGETHER
"""So many of them are handed to a process at once."""


def in_processes(places: Iterator[ServedRoot | TableAudit], task: Task, processes: int) -> Iterator[TableAudit]:
    """Audit few tables here, many in processes that are started afresh: they share no lock and no thread."""
    few = list(islice(places, _FEW + 1))
    if processes <= 1 or len(few) <= _FEW:
        for place in chain(few, places):
            yield place if isinstance(place, TableAudit) else task(place)
        return
    yield from pooled(chain(few, places), task, processes)


def pooled(places: Iterator[ServedRoot | TableAudit], task: Task, processes: int) -> Iterator[TableAudit]:
    """Keep few places in flight at a time, so that any number of them is possible."""
    waiting: dict[Future[list[TableAudit]], list[ServedRoot]] = {}
    with closing(_Readers(task)) as readers:
        pool = readers.pool(processes)
        for handed in _handed(places):
            if isinstance(handed, TableAudit):
                yield handed
                continue
            with _undisturbed():
                waiting[pool.submit(_do, handed)] = handed
            if len(waiting) < processes * _AHEAD:
                continue
            audited, lost = _collected(waiting)
            yield from audited
            if lost:
                pool.shutdown(wait=False, cancel_futures=True)
                yield from _one_by_one([*lost, *chain.from_iterable(waiting.values())], readers)
                waiting.clear()
                pool = readers.pool(processes)
        while waiting:
            audited, lost = _collected(waiting)
            yield from audited
            yield from _one_by_one(lost, readers)
        pool.shutdown()


def _handed(places: Iterator[ServedRoot | TableAudit]) -> Iterator[list[ServedRoot] | TableAudit]:
    """Yield what one process gets at once: a table of a disk, or some tables of stores."""
    together = list[ServedRoot]()
    for place in places:
        if isinstance(place, TableAudit):
            yield place
        elif not is_url(place.place):
            yield [place]
        else:
            together.append(place)
            if len(together) == _HANDED:
                yield together
                together = []
    if together:
        yield together


def _collected(
    waiting: dict[Future[list[TableAudit]], list[ServedRoot]],
) -> tuple[list[TableAudit], list[ServedRoot]]:
    """Wait for the next answers; take them from those that are waited for, and so those whose process ended."""
    audited, lost = [], []
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        handed = waiting.pop(future)
        try:
            audited += future.result()
        except BrokenProcessPool:
            lost += handed
    return audited, lost


def _one_by_one(places: Sequence[ServedRoot], readers: _Readers) -> Iterator[TableAudit]:
    """Audit places whose process ended, each in a process of its own, so that only the cause is lost."""
    for place in places:
        pool = readers.pool(1)
        with _undisturbed():
            waiting = pool.submit(_do, [place])
        try:
            yield from waiting.result()
        except BrokenProcessPool:
            ended = fault(place.place, "the process that read it ended, perhaps for lack of memory")
            yield TableAudit(place.place, error=ended)
        pool.shutdown()


class _Readers:
    """Processes that read tables. They end with this one, or when they are closed, whatever they are reading."""

    def __init__(self, task: Task) -> None:
        self._task, self._context = task, get_context("spawn")
        self._theirs, self._ours = self._context.Pipe(duplex=False)
        self._pools: list[ProcessPoolExecutor] = []

    def pool(self, processes: int) -> ProcessPoolExecutor:
        """Return so many more processes; each is started when there is something for it to read."""
        # The task travels once to each process, through its pipe: its options are in no argument of a command.
        pool = ProcessPoolExecutor(processes, self._context, _equip, (self._task, self._theirs))
        self._pools = [*self._pools[-1:], pool]
        return pool

    def close(self) -> None:
        """End all processes: at once, if they are still at work."""
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._ours.close()
        self._theirs.close()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep Ctrl-C from the processes that are started meanwhile, and from this one until they are started."""
    pressed: list[object] = []
    heard = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(None)) if heard else None
    # A process inherits which signals are held back from it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if heard:
            signal.signal(signal.SIGINT, before)
    if pressed:
        signal.raise_signal(signal.SIGINT)


_task: Task | None = None


def _equip(task: Task, parent: Connection) -> None:
    global _task  # noqa: PLW0603 - what this process does, set once at its start
    _task = task
    # Ctrl-C goes to all processes at once; the one that started the others ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # The processes share the processors already, so none of them needs threads of its own.
    pa.set_cpu_count(1)


def _end_with(parent: Connection) -> None:
    """End this process once the other end of a pipe is closed or its process has ended; nothing is ever sent."""
    parent.poll(None)
    os._exit(1)


def _do(places: Sequence[ServedRoot]) -> list[TableAudit]:
    assert _task is not None
    if len(places) == 1:
        return [_task(places[0])]
    with ThreadPoolExecutor(_TOGETHER) as threads:
        return list(threads.map(_task, places))
