"""A page of rows is drawn once, with its rows, where these are there in a moment; and never before that is recorded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.activity.event import Event
from explorer.core.errors import RequestError, StorageError
from explorer.page import pages, table_session
from explorer.page.entry import OpenEntry
from explorer.page.pages import Rendered
from explorer.page.session import PageRequest
from explorer.page.tabs.data import RowsWork
from explorer.views import TableFacts
from explorer.views.rows import row_work
from explorer.web.served_tables import Catalog
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.open_windows import Window

DATA = "?t=w/t&tab=data"
CHANGES = 20


SLOW = "w/slow"


class Recorder(OpenEntry):
    """An entry whose record is on the disk when a test says so, or after a while."""

    def __init__(self, seconds: float | None = None) -> None:
        self.events: list[Event] = []
        self.recorded: Future[Any] = Future()
        self.seconds = seconds

    def record(self, event: Event) -> Future[Any] | None:
        """Begin to record an event."""
        self.events.append(event)
        if self.seconds is None:
            return self.recorded
        recorded: Future[Any] = Future()
        threading.Timer(self.seconds, recorded.set_result, (None,)).start()
        return recorded

    @property
    def whats(self) -> list[str]:
        """What was recorded."""
        return [event.what for event in self.events]


class Gated(Catalog):
    """Tables of which one is not opened before a gate is."""

    gate = threading.Event()

    def facts(self, name: str) -> TableFacts:
        """The facts of a table."""
        if name == SLOW:
            assert self.gate.wait(30)
        return super().facts(name)


@pytest.fixture
def tables(tmp_path: Path) -> Catalog:
    rows = pa.table({"id": [1, 2], "name": ["ada", "bob"]})
    fields = [column("id", "long"), column("name", "string")]
    for name in ("t", "slow"):
        write_table(tmp_path / "w" / name, fields, [DataFile("a.parquet", rows)])
    return Catalog([str(tmp_path / "w")])


@pytest.fixture
def gated(tables: Catalog, tmp_path: Path) -> Iterator[Gated]:
    made = Gated([str(tmp_path / "w")])
    made.gate = threading.Event()
    yield made
    made.gate.set()


def leads(window: Window, query: str, **fields: object) -> list[str]:
    """What the page's main part becomes, one drawing after the other, until nothing more comes."""
    before = len(window.heard)
    window.ask("go", query=query, **fields)
    window.settle()
    regions = [message.get("regions", {}) for message in window.heard[before:]]
    return [each["lead"] for each in regions if "lead" in each]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [(DATA, "bob"), ("?t=w/t&tab=row&row=%7B%22id%22%3A2%7D", "a.parquet"), ("?t=w/t&tab=changes", "bob")],
)
def test_rows_that_are_there_in_a_moment_come_with_the_page(
    tables: Catalog, query: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_session, "_ROWS_AWAITED", 20.0)  # a moment, on a machine with other work
    window = Window(tables, "?t=w/t").settle()
    (lead,) = leads(window, query)
    assert wanted in lead


def test_rows_that_take_longer_follow_the_page(tables: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    window, first_rows, drawn = Window(tables, "?t=w/t").settle(), row_work.first_rows, threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        assert drawn.wait(30)
        return first_rows(*arguments, **options)

    monkeypatch.setattr(row_work, "first_rows", slowly)
    without = window.ask("go", query=DATA)["regions"]["lead"]
    drawn.set()
    window.until(lambda message: "bob" in message.get("regions", {}).get("lead", ""))
    assert "bob" not in without


def test_an_address_that_no_person_asked_for_begins_nothing_before_it_is_drawn(tables: Catalog) -> None:
    window = Window(tables, "?t=w/t").settle()
    first, *_, last = leads(window, DATA, asked=False)
    assert "bob" not in first
    assert "bob" in last


def test_no_row_is_read_before_that_is_recorded(tables: Catalog) -> None:
    entry = Recorder()
    window = Window(tables, "?t=w/t", entry=entry).settle()
    without = window.ask("go", query=DATA)["regions"]["lead"]
    with pytest.raises(RequestError, match="No rows have been read"):
        assert window.session.work.of(RowsWork).asked
    entry.recorded.set_result(None)
    window.until(lambda message: "bob" in message.get("regions", {}).get("lead", ""))
    assert "bob" not in without
    assert [(event.kind, event.what, event.version) for event in entry.events] == [("rows", "data", 0)]


def test_a_record_that_fails_is_said_and_no_row_is_read(tables: Catalog) -> None:
    entry = Recorder()
    entry.recorded.set_exception(StorageError("The disk of the record is full."))
    window = Window(tables, "?t=w/t", entry=entry).settle()
    assert "bob" not in "".join(leads(window, DATA))
    assert any("The disk of the record is full." in str(message) for message in window.heard)
    with pytest.raises(RequestError, match="No rows have been read"):
        assert window.session.work.of(RowsWork).asked


def test_many_changes_while_a_page_is_made_draw_it_once_more(tables: Catalog) -> None:
    window = Window(tables, DATA).settle()
    before = len(window.heard)
    for _ in range(CHANGES):
        window.session.redraw()
    window.settle()
    drawn = len(window.heard) - before
    assert 1 <= drawn <= 2, f"{CHANGES} changes were drawn {drawn} times"


def sent(window: Window, kind: str, **fields: object) -> int:
    """Send a message, and wait for nothing."""
    window.number += 1
    window.send(kind, number=window.number, **fields)
    return window.number


def wait_for(true: Callable[[], bool]) -> None:
    """Wait for something that happens on a thread."""
    ends = time.monotonic() + 30
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.002)


def turns(window: Window, seconds: float) -> None:
    """Let the loop turn for a while."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        window.turn()


def test_what_changes_is_drawn_while_a_page_that_was_left_is_still_made(gated: Gated) -> None:
    window = Window(gated, "?t=w/t").settle()
    sent(window, "go", query=f"?t={SLOW}")
    window.turn()
    window.ask("go", query="?t=w/t&tab=case")
    window.ask("case-describe", title="Found it", author="me", notes="")
    window.until(lambda message: "Found it" in message.get("regions", {}).get("lead", ""))
    assert "Found it" in window.session.shown.regions["lead"]


def test_a_wait_that_was_ended_stays_ended(gated: Gated) -> None:
    entry = Recorder(0)
    window = Window(gated, "?t=w/t", entry=entry).settle()
    sent(window, "go", query=f"?t={SLOW}&tab=data")
    window.session.redraw()
    window.turn()
    window.ask("stop-waiting")
    ended = window.session.shown.regions["lead"]
    gated.gate.set()
    turns(window, 1)
    assert window.session.shown.regions["lead"] == ended
    assert entry.events == []


def test_one_reading_is_recorded_once_though_two_pages_are_made_of_it(tables: Catalog) -> None:
    entry = Recorder(0.05)
    window = Window(tables, "?t=w/t", entry=entry).settle()
    sent(window, "go", query=DATA)
    window.ask("screen", width=1200, height=700)
    window.settle()
    assert entry.whats == ["data"]


def test_rows_of_a_tab_that_was_left_are_not_read(tables: Catalog) -> None:
    entry = Recorder(0.1)
    window = Window(tables, "?t=w/t", entry=entry).settle()
    sent(window, "go", query=DATA)
    wait_for(lambda: entry.whats == ["data"])
    window.ask("go", query="?t=w/t&tab=changes")
    window.settle()
    turns(window, 0.3)
    window.session.redraw()
    window.settle()
    assert entry.whats == ["data", "changes"]
    with pytest.raises(RequestError, match="No rows have been read"):
        assert window.session.work.of(RowsWork).asked


def test_a_change_that_came_while_a_page_was_made_is_drawn(tables: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    window, judge = Window(tables, "?t=w/t").settle(), pages._judge
    judging, goes_on = threading.Event(), threading.Event()

    def slowly(facts: TableFacts, *, wait: bool) -> None:
        judging.set()
        assert goes_on.wait(30)
        judge(facts, wait=wait)

    monkeypatch.setattr(pages, "_judge", slowly)
    sent(window, "go", query=DATA)
    assert judging.wait(30)
    log = Path(window.session.view.facts.location.removeprefix("file://")) / "_delta_log"
    (log / f"{1:020}.json").write_text('{"commitInfo":{"timestamp":1700000001000,"operation":"OPTIMIZE"}}\n', "utf-8")
    tables.check_again("w/t")
    assert tables.facts("w/t").last == 1
    window.session.redraw()
    goes_on.set()
    window.settle()
    assert window.session.view.facts.last == 1


def test_what_changed_while_a_page_failed_is_drawn(tables: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    window, failed = Window(tables, "?t=w/t&tab=case").settle(), threading.Event()
    render, begun, goes_on = window.session.render, threading.Event(), threading.Event()

    def failing(request: PageRequest) -> Rendered:
        if failed.is_set():
            return render(request)
        failed.set()
        begun.set()
        assert goes_on.wait(30)
        raise OSError("once")

    monkeypatch.setattr(window.session, "render", failing)
    sent(window, "theme", theme="light")
    assert begun.wait(30)
    sent(window, "case-describe", title="Found it", author="me", notes="")
    turns(window, 0.2)
    goes_on.set()
    window.until(lambda message: "Found it" in message.get("regions", {}).get("lead", ""))
    assert "Found it" in window.session.shown.regions["lead"]


def test_nothing_is_done_with_rows_while_others_take_their_place(
    tables: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, values, goes_on = Recorder(0), RowsWork.values, threading.Event()
    window = Window(tables, "?t=w/t", entry=entry).settle()
    window.ask("go", query=DATA)
    window.settle()

    def slowly(work: RowsWork, *arguments: Any) -> Any:
        assert goes_on.wait(30)
        return values(work, *arguments)

    monkeypatch.setattr(RowsWork, "values", slowly)
    sent(window, "go", query=f"{DATA}&masked=1")
    wait_for(lambda: window.session._ahead in window.session._making)
    for kind, fields in (("download", {"list": "data", "format": "json"}), ("pin", {"pin": "rows"}), ("rows-turn", {})):
        window.ask(kind, **fields)
        assert "Other rows are about to be shown" in str(window.heard[-1])
    window.ask("pin", pin="commit")
    assert "Other rows are about to be shown" not in str(window.heard[-1])
    goes_on.set()
    window.settle()
    window.ask("download", list="data", format="json")
    assert [event.kind for event in entry.events] == ["rows", "rows", "export"]


def test_a_window_that_is_closed_reads_nothing(tables: Catalog) -> None:
    entry = Recorder(0.1)
    window = Window(tables, "?t=w/t", entry=entry).settle()
    sent(window, "go", query=DATA)
    wait_for(lambda: entry.whats == ["data"])
    window.host.close()
    time.sleep(0.4)
    with pytest.raises(RequestError, match="No rows have been read"):
        assert window.session.work.of(RowsWork).asked
