"""A window's session while it begins, and while others hold what it needs: it is answered, and nobody waits for it."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.core.errors import RequestError
from explorer.job import Job
from explorer.page.address import Address
from explorer.page.table_session import TableSession
from explorer.page.tables import FollowedTable
from explorer.page.tabs.data_messages import begin_reading
from explorer.page.window import Message
from explorer.views.rows.spark_work import SparkWork
from explorer.views.table.facts import TableFacts
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables, small_logs
from tests.support.pages.open_windows import Window

LONG = 20


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    for name in ("quick", "slow"):
        created = hostile_tables.created({"id": "long"})
        small_logs.write_log(tmp_path / "w" / name, [created, [small_logs.add("1.parquet", 3)]])
    return Catalog([str(tmp_path / "w")])


def test_work_that_ends_before_the_first_page_is_there_draws_it_again(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[BaseException | None] = []
    real = TableSession.first

    def first(self: TableSession) -> object:
        """The first page; what it shows changes on a thread before it is handed on."""
        found = real(self)

        def change() -> None:
            try:
                self.redraw()
            except Exception as error:  # noqa: BLE001  # what the work of a tab would take for its own result
                told.append(error)
            else:
                told.append(None)

        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        return found

    monkeypatch.setattr(TableSession, "first", first)
    query = "?t=w/quick&tab=data"
    window = Window(catalog, query, silent=True)
    assert told == [None]
    shown = window.session.shown
    ends = time.monotonic() + LONG
    while window.session.shown is shown and time.monotonic() < ends:
        window.turn()
    # It was drawn again before the browser listened, and is sent again when it does.
    answer = window.hello(query)
    assert "title" in answer


class Kept:
    """The facts of a table, that a thread is making something long of until it is told to end."""

    def __init__(self, facts: TableFacts) -> None:
        self._held, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=facts.keep, args=("long", self._make))

    def __enter__(self) -> None:
        self._thread.start()
        assert self._held.wait(LONG)

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    def _make(self) -> None:
        self._held.set()
        assert self._ends.wait(LONG)


@pytest.mark.parametrize(
    ("tab", "kind"), [("data", "rows"), ("changes", "changes"), ("diff", "differences"), ("erasure", "erasure")]
)
def test_a_question_for_rows_does_not_keep_the_loop_from_other_windows(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, tab: str, kind: str
) -> None:
    monkeypatch.setattr(Job, "_run", lambda _job, _work: None)  # no Spark: a job ends when it is stopped
    window = Window(catalog, f"?t=w/quick&tab={tab}&v=1&c=0")
    view = window.session.view
    assert view is not None
    view.facts._cached.clear()
    with Kept(view.facts):
        window.number += 1
        # Were it begun here, the loop would wait for the thread, and that thread for its end.
        sent = threading.Thread(target=window.send, args=(kind,), kwargs={"number": window.number, "where": "id = 1"})
        sent.start()
        sent.join(LONG / 4)
        assert not sent.is_alive()
        window.session.work.stop_reading()
    assert "query" in window.answer()
    window.session.work.stop_reading()
    wait_for(lambda: all(thread.name != "job-begin" for thread in threading.enumerate()))


def test_a_question_that_cannot_begin_is_answered_with_why(catalog: Catalog) -> None:
    window = Window(catalog, "?t=w/quick&tab=erasure")
    assert "Enter a condition" in window.ask("erasure", where="")["regions"]["notice"]


def test_questions_begin_in_the_order_in_which_they_were_asked(catalog: Catalog) -> None:
    window = Window(catalog, "?t=w/quick&tab=data")
    begun: list[str] = []

    def start(_view: object, address: Address) -> None:
        time.sleep(0.2 if address.where == "1" else 0)
        begun.append(address.where)

    for number in range(1, 4):
        message = Message("rows", number, {})
        begin_reading(window.session, message, start, {"where": str(number)})
    window.number = 3
    window.answer()
    assert begun == ["1", "2", "3"]


class Reading:
    """A job as `SparkWork` sees it."""

    name, phase, done, total, elapsed, error = "Rows", "Reading", 0, 0, 0.0, None

    def __init__(self) -> None:
        self.state = "running"
        self._ended = threading.Event()

    def subscribe(self, _callback: object) -> None:
        """Nothing is reported."""

    def cancel(self) -> None:
        """It ends at once."""
        self.state = "cancelled"
        self._ended.set()

    def result(self, timeout: float | None = None) -> str:
        """Its result is of no interest."""
        if not self._ended.wait(timeout):
            raise TimeoutError
        return ""


def wait_for(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_job_that_is_stopped_or_replaced_while_it_is_made_does_not_run_on() -> None:
    ready = threading.Event()
    jobs = [Reading() for _ in range(3)]
    work: SparkWork[str] = SparkWork(lambda: None)

    def made(number: int) -> Callable[[], Any]:
        def make() -> Any:
            assert ready.wait(LONG)
            return jobs[number]

        return make

    work.begin("first", made(0))
    assert (work.state.state, work.state.phase) == ("running", "Reading the log")
    work.begin("second", made(1))
    work.cancel()
    assert work.state.state == "cancelled"
    assert work.state.problem is not None
    assert work.state.problem.kind == "Cancelled"
    ready.set()
    wait_for(lambda: jobs[0].state == jobs[1].state == "cancelled")
    work.begin("third", made(2))
    wait_for(lambda: work.state.phase == "Reading")
    assert (work.key, jobs[2].state) == ("third", "running")
    work.cancel()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ModuleNotFoundError("No module named pyspark"), "Spark is not available"),
        (RequestError("There is no such page.", field="page"), "There is no such page."),
        (KeyError("shapes"), "KeyError: 'shapes'"),
    ],
)
def test_why_a_job_cannot_be_made_is_its_problem(error: Exception, said: str) -> None:
    told = threading.Event()
    work: SparkWork[str] = SparkWork(lambda: told.set() if work.state.problem else None)

    def make() -> Any:
        raise error

    work.begin("rows", make)
    assert told.wait(LONG)
    problem = work.state.problem
    assert work.state.state == "failed"
    assert problem is not None
    assert said in f"{problem.title} {problem.message}"


@pytest.fixture
def slow_to_read(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    """The tables, of which the slow one is read when the test has ended."""
    read, real = threading.Event(), FollowedTable._read

    def slowly(self: FollowedTable, log: Any) -> Any:
        if "slow" in log.location:
            read.wait(LONG)
        return real(self, log)

    monkeypatch.setattr(FollowedTable, "_read", slowly)
    monkeypatch.setattr("explorer.page.table_session.PATIENCE", 0.05)
    yield catalog
    read.set()


def test_pages_that_wait_for_one_table_do_not_keep_another_page(slow_to_read: Catalog) -> None:
    waiting = [Window(slow_to_read, "?t=w/slow", wait=False) for _ in range(20)]
    began = time.monotonic()
    assert Window(slow_to_read, "?t=w/quick").session.drawing.complete
    assert time.monotonic() - began < LONG / 2
    assert not any(window.session.drawing.complete for window in waiting)


@pytest.mark.parametrize("blocked", ["begin", "compute", "judge"])
def test_long_work_and_looks_do_not_keep_a_page(catalog: Catalog, blocked: str) -> None:
    window, ends = Window(catalog, "?t=w/quick"), threading.Event()
    session = window.session

    def long() -> None:
        assert ends.wait(LONG)

    begins: dict[str, Callable[[], object]] = {
        "begin": lambda: session.begin(long),
        "compute": lambda: session.compute(Message("x", 0, {}), long, print),
        "judge": lambda: session._judge(long),
    }
    try:
        for _ in range(20):
            begins[blocked]()
        began = time.monotonic()
        assert "title" in window.ask("go", query="?t=w/quick&tab=files")
        assert time.monotonic() - began < LONG / 2
    finally:
        ends.set()


def test_what_begins_after_its_window_was_closed_is_stopped(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    window, closed, stopped = Window(catalog, "?t=w/quick&tab=data").settle(), threading.Event(), list[bool]()
    session = window.session
    monkeypatch.setattr(session.work, "stop_reading", lambda: stopped.append(closed.is_set()))

    def start(_view: object, _address: object) -> None:
        assert closed.wait(LONG)

    begin_reading(session, Message("rows", 9, {}), start, {"where": ""})
    window.host.close()
    assert stopped == [False]
    closed.set()
    wait_for(lambda: stopped == [False, True])
