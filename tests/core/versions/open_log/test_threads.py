"""Threads that share a log: no answer mixes two listings, and no older listing replaces a newer one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import msgspec
import pytest

from explorer.core.errors import VersionGap, VersionNotFound
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.delta_log import DeltaLog
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, paths, write

_T = TypeVar("_T")
WAIT = 20.0
BEHIND = 0.3
"""Seconds in which a thread that could overtake another would have done so."""
OTHER = msgspec.structs.replace(METADATA, id="another")


class _SlowAnswers(FaultyStore):
    """A store that did its next request, and gives the answer once it is let go."""

    def __init__(self, inner: LogStore) -> None:
        super().__init__(inner)
        self.done, self.go_on = threading.Event(), threading.Event()
        self._slow = ""

    def hold(self, kind: str) -> None:
        """Hold the answer to the next request of a kind: ``list`` or ``read``."""
        self.done.clear()
        self.go_on.clear()
        self._slow = kind

    def _do(self, what: str, request: Callable[[], _T]) -> _T:
        held = bool(self._slow) and what.startswith(self._slow)
        if held:
            self._slow = ""
        answer = super()._do(what, request)
        if held:
            self.done.set()
            assert self.go_on.wait(WAIT)
        return answer


def opened(commits: int = 2) -> tuple[DeltaLog, _SlowAnswers]:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)} | {version: [add(f"{version}")] for version in range(1, commits)})
    slow = _SlowAnswers(store)
    return DeltaLog(slow), slow


@contextmanager
def held(store: _SlowAnswers, kind: str, action: Callable[[], _T]) -> Iterator[tuple[ThreadPoolExecutor, Future[_T]]]:
    """Begin something in a thread, hold its next answer of the store, and let it go at the end."""
    with ThreadPoolExecutor(4) as threads:
        store.hold(kind)
        future = threads.submit(action)
        assert store.done.wait(WAIT)
        try:
            yield threads, future
        finally:
            store.go_on.set()
        future.result(WAIT)


def test_a_refresh_that_began_earlier_does_not_bring_back_an_older_listing() -> None:
    log, store = opened()
    with held(store, "list", log.refresh) as (threads, _):
        write(store.inner, {2: [add("2")]})
        later = threads.submit(log.refresh)
        threading.Event().wait(BEHIND)
    later.result(WAIT)
    assert log.latest_version() == 2
    assert log.history().num_rows == 3


def test_a_version_that_is_due_to_be_listed_is_not_forgotten_by_a_refresh_that_began_earlier() -> None:
    log, store = opened()
    with held(store, "list", log.refresh) as (threads, _):
        write(store.inner, {2: [add("2")]})
        later = threads.submit(log.outdate)
        threading.Event().wait(BEHIND)
    later.result(WAIT)
    assert log.latest_version() == 2


def test_a_version_that_was_read_of_a_log_that_is_another_one_now_is_not_kept() -> None:
    log, store = opened(3)

    def write_another() -> None:
        for version in range(3):
            store.inner.put(
                commit_name(version), lines([PROTOCOL, OTHER] if version == 0 else [add(f"other{version}")])
            )

    with held(store, "read", lambda: log.snapshot(1)) as (threads, before):
        write_another()
        threads.submit(log.refresh).result(WAIT)
    assert before.result().metadata.id == METADATA.id
    assert log.snapshot(1).metadata.id == "another"
    assert paths(log.snapshot(2)) == {("other1", None), ("other2", None)}


def test_a_history_that_was_read_of_a_shorter_log_is_not_kept() -> None:
    log, store = opened(3)
    with held(store, "read", log.history_record) as (threads, before):
        write(store.inner, {3: [add("3")]})
        threads.submit(log.refresh).result(WAIT)
        assert threads.submit(log.history_record).result(WAIT).latest == 3
    assert before.result().latest == 2
    assert log.history_record().latest == 3


def test_a_history_is_read_once_for_all_threads() -> None:
    log, store = opened(4)
    store.requests.clear()
    with held(store, "read", log.history_record) as (threads, first):
        others = [threads.submit(log.history_record) for _ in range(2)]
        threading.Event().wait(BEHIND)
    assert {id(other.result(WAIT)) for other in others} == {id(first.result(WAIT))}
    assert [request for request in store.requests if request.startswith("read")] == ["read 4"]


def test_a_successor_that_is_made_while_the_history_is_read_reads_all_of_its_own() -> None:
    log, store = opened(3)
    log.follow()
    with held(store, "read", log.history_record) as (threads, _):
        write(store.inner, {3: [add("3")]})
        later = threads.submit(log.successor).result(WAIT)
        assert threads.submit(later.history_record).result(WAIT).latest == 3
    assert (log.history_record().latest, log.latest_version()) == (2, 2)


@pytest.mark.parametrize("commits", [60])
def test_threads_that_ask_and_refresh_while_others_commit_and_clean_up_see_one_state_at_a_time(commits: int) -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)})
    log, ended, wrong = DeltaLog(store), threading.Event(), list[str]()

    def write_on() -> None:
        files = [PROTOCOL, METADATA]
        for version in range(1, commits):
            write(store, {version: [add(f"{version}")]})
            files.append(add(f"{version}"))
            if version % 20 == 0:
                write_checkpoint(store, version, files, "classic")
                for old in range(version - 20, version):
                    store.delete(commit_name(old))
                log.outdate(rewritten=True)
        ended.set()

    def ask(refreshes: bool) -> int:
        newest = asked = 0
        while not ended.is_set() or not asked:
            if refreshes:
                log.refresh()
            latest = log.latest_version()
            wrong.extend([f"{latest} after {newest}"] if latest < newest else [])
            newest = max(newest, latest)
            first, last = log.version_range()
            wrong.extend([f"{first} to {last}"] if first not in {0, 20, 40} or last < latest else [])
            try:
                found, risks = paths(log.snapshot(newest)), log.version_risks()
            except VersionNotFound:
                continue  # a clean-up between the questions
            except VersionGap as error:
                wrong.extend([] if error.vanished else [error.message])
                continue  # a clean-up while commits were read
            wrong.extend([f"{len(found)} files at {newest}"] if len(found) != newest else [])
            wrong.extend(["two listings"] if risks.life.last != risks.listing.latest else [])
            asked += 1
        return asked

    with ThreadPoolExecutor(5) as threads:
        writer = threads.submit(write_on)
        asking = [threads.submit(ask, refreshes) for refreshes in (True, True, False, False)]
        assert all(each.result(WAIT * 3) for each in asking)
        writer.result(WAIT)
    log.refresh()
    assert (wrong, log.latest_version(), log.version_range()[0]) == ([], commits - 1, 40)
