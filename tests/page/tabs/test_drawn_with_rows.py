"""A page of rows is drawn once, with its rows, where these are there in a moment; and never before that is recorded."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.activity.event import Event
from explorer.core.errors import RequestError, StorageError
from explorer.page import table_session
from explorer.page.entry import OpenEntry
from explorer.page.tabs.data import RowsWork
from explorer.views.rows import row_work
from explorer.web.served_tables import Catalog
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.open_windows import Window

DATA = "?t=w/t&tab=data"
CHANGES = 20


class Recorder(OpenEntry):
    """An entry whose record is on the disk when a test says so."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.recorded: Future[Any] = Future()

    def record(self, event: Event) -> Future[Any] | None:
        """Begin to record an event."""
        self.events.append(event)
        return self.recorded


@pytest.fixture
def tables(tmp_path: Path) -> Catalog:
    rows = pa.table({"id": [1, 2], "name": ["ada", "bob"]})
    write_table(tmp_path / "w" / "t", [column("id", "long"), column("name", "string")], [DataFile("a.parquet", rows)])
    return Catalog([str(tmp_path / "w")])


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
