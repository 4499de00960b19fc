"""The page of a slow table is made while the server answers other windows; work in steps, waited for and awaited."""

from __future__ import annotations

import asyncio
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from explorer.page.opening import Steps, Stepwise, Wait
from explorer.page.tables import FollowedTable
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.server_thread import served_in_thread

LONG = 20


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Until it is set, the log of a slow table is being read."""
    ends, real = threading.Event(), FollowedTable._read

    def slowly(self: FollowedTable, log: Any) -> Any:
        if log.location.endswith("/slow"):
            assert ends.wait(LONG)
        return real(self, log)

    monkeypatch.setattr(FollowedTable, "_read", slowly)
    yield ends
    ends.set()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A server of two tables, on a loop in a thread of its own."""
    for name in ("quick", "slow"):
        created = hostile_tables.created({"id": "long"})
        small_logs.write_log(tmp_path / "w" / name, [created, [small_logs.add("1.parquet", 3)]])
    with served_in_thread(tmp_path / "w") as address:
        yield address


def page(url: str) -> str:
    with urllib.request.urlopen(url, timeout=LONG) as answer:  # noqa: S310  # the server of the test
        return str(answer.read().decode())


def test_the_page_of_a_slow_table_keeps_no_other_window(
    url: str, read: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The page waits for its table as long as the test likes.
    monkeypatch.setattr("explorer.page.table_session.PATIENCE", LONG)
    assert "w/quick" in page(f"{url}?t=w/quick")
    with ThreadPoolExecutor(1) as windows:
        slow = windows.submit(page, f"{url}?t=w/slow")
        answers = [page(f"{url}?t=w/quick&tab={tab}") for tab in ("files", "schema", "files")]
        assert all("quick" in answer for answer in answers)
        assert not slow.done()
        read.set()
        assert "1.parquet" in page(f"{url}?t=w/slow&tab=files")
        assert "w/slow" in slow.result(LONG)


def test_a_page_that_does_not_come_soon_is_said_to_be_read(
    url: str, read: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.page.table_session.PATIENCE", 0.05)
    for _ in range(2):  # the first page of a server is made without the others, and each later one beside them
        assert "1.parquet" not in page(f"{url}?t=w/slow&tab=files")
    assert not read.is_set()


def later(value: str) -> Future[str]:
    found: Future[str] = Future()
    threading.Timer(0.05, found.set_result, (value,)).start()
    return found


def waits(first: Future[str], second: Future[str], patience: float) -> Steps[str]:
    yield Wait((first, second), patience)
    if first.done():
        return first.result()
    yield Wait((second,), patience)
    return second.result() if second.done() else "neither"


def work(first: Future[str], second: Future[str], patience: float) -> Stepwise[str]:
    return Stepwise(waits(first, second, patience))


def awaited(steps: Stepwise[str]) -> str:
    """What work comes to, on a loop of its own: the thread of the tests may have one that a browser left running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(steps.awaited())).result(LONG)


Way = Callable[[Stepwise[str]], str]
WAYS: list[Way] = [Stepwise.waited, awaited]


@pytest.mark.parametrize("way", WAYS)
def test_work_goes_on_when_one_of_what_it_waits_for_is_done(way: Way) -> None:
    never: Future[str] = Future()
    assert way(work(later("one"), never, LONG)) == "one"
    assert way(work(never, later("two"), LONG)) == "two"
    assert way(work(never, never, 0.01)) == "neither"
    done: Future[str] = Future()
    done.set_result("there")
    began = time.monotonic()
    assert way(work(done, never, LONG)) == "there"
    assert time.monotonic() - began < LONG / 2


@pytest.mark.parametrize("way", WAYS)
def test_work_is_done_once_and_its_error_is_that_of_everybody_who_asks(way: Way) -> None:
    steps, calls = work(later("one"), Future(), LONG), list[int]()
    assert [way(steps), steps.waited(), awaited(steps)] == ["one"] * 3

    def failing() -> Steps[str]:
        calls.append(1)
        yield Wait((later(""),), LONG)
        raise KeyError("lost")

    broken = Stepwise(failing())
    for ask in (way, *WAYS):
        with pytest.raises(KeyError, match="lost"):
            ask(broken)
    assert calls == [1]


def test_who_awaits_work_lets_the_loop_go_on() -> None:
    ends: Future[str] = Future()

    async def beside() -> str:
        steps = work(ends, Future(), LONG)
        waiting = asyncio.ensure_future(steps.awaited())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        ends.set_result("at last")
        return await waiting

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(lambda: asyncio.run(beside())).result(LONG) == "at last"
