"""The Data tab opens with rows on it: without Spark where that is possible, and else it says why they wait."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import RequestError
from explorer.page.address import Address
from explorer.page.tabs.data import TAB, RowsWork
from explorer.views.rows import row_work
from explorer.views.rows.row_work import PagedRows
from explorer.views.rows.spark_work import WorkState, engine_state
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.pages.open_windows import Window

ROWS = pa.table({"id": list(range(150)), "name": [f"row {number}" for number in range(150)]})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fields = [column("id", "long"), column("name", "string")]
    write_table(tmp_path / "w" / "t", fields, [DataFile("a.parquet", ROWS, masked=(0, 2))])
    halves = [pa.field("metadata", pa.binary()), pa.field("value", pa.binary())]
    for name, more in (("variants", []), ("shredded", [pa.field("typed_value", pa.int64())])):
        variant = pa.struct([*halves, *more])
        rows = pa.table({"v": pa.array([{"metadata": b"\1\0\0", "value": b"\x15text<"}], variant)})
        write_table(tmp_path / "w" / name, [column("v", "variant")], [DataFile("a.parquet", rows)])
    return tmp_path / "w"


def shown(window: Window, query: str, wanted: str) -> str:
    """The lead of the page once a text is in it."""
    window.ask("go", query=query)
    found = window.until(lambda message: wanted in message.get("regions", {}).get("lead", ""))
    lead: str = found["regions"]["lead"]
    return lead


def test_the_tab_opens_with_the_first_rows_and_starts_no_spark(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t", early_spark=True)
    before = engine_state()["state"]
    lead = shown(window, "?t=w/t&tab=data", "row 101<")
    assert "The first 100 rows, from file 1 of 1. Read here, without Spark, at v0." in lead
    assert "row 1<" in lead
    assert "row 2<" not in lead
    assert "Next 100 rows" in lead
    assert engine_state()["state"] == before


def test_a_page_that_is_drawn_while_another_read_begins_shows_what_it_began_with(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    shown(window, "?t=w/t&tab=data", "row 101<")
    view, work = window.session.view, window.session.work.of(RowsWork)
    assert view is not None
    state_of, first_rows, drawn = PagedRows.state_of, row_work.first_rows, threading.Event()
    begun: list[bool] = []

    def meanwhile(*arguments: Any, **options: Any) -> WorkState:
        state = state_of(*arguments, **options)
        if not begun:
            begun.append(True)
            work.start(view, Address.parse("?t=w/t&tab=data&masked=1"))
        return state

    def slowly(*arguments: Any, **options: Any) -> Any:
        assert drawn.wait(30)
        return first_rows(*arguments, **options)

    monkeypatch.setattr(PagedRows, "state_of", meanwhile)
    monkeypatch.setattr(row_work, "first_rows", slowly)
    try:
        values = TAB.view(view, Address.parse("?t=w/t&tab=data"), window.session.work).values
    finally:
        drawn.set()
    assert begun
    assert values["listing"].table.num_rows == values["rows"].table.num_rows == 100


def test_masked_rows_come_the_same_way(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    lead = shown(window, "?t=w/t&tab=data&masked=1", "row 99")
    assert "marks a masked row" in lead
    assert "row 2<" in lead


def test_a_condition_in_an_address_reads_nothing(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    lead = shown(window, "?t=w/t&tab=data&where=id+%3E+1", "Show 100 rows")
    assert "data-result" not in lead
    with pytest.raises(RequestError, match="No rows have been read"):
        assert window.session.work.of(RowsWork).asked


def test_rows_of_a_plain_condition_come_at_once_and_start_no_spark(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t&tab=data", early_spark=True)
    before = engine_state()["state"]
    shown(window, "?t=w/t&tab=data", "row 101<")
    window.ask("rows", where="id in (140, 3) or name = 'row 0'", masked=True)
    found = window.until(lambda message: "row 140<" in message.get("regions", {}).get("lead", ""))
    lead = found["regions"]["lead"]
    assert "All 3 rows that match, from 1 file. Read here, without Spark, at v0, where <code>id in" in lead
    assert "data-wakes" not in lead
    assert engine_state()["state"] == before


def test_rows_that_only_spark_reads_wait_and_say_why(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/shredded")
    lead = shown(window, "?t=w/shredded&tab=data", "left to Spark")
    assert "the column v is stored as struct" in lead
    assert "Show 100 rows" in lead


def test_variants_are_shown_as_json_without_spark(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/variants")
    lead = shown(window, "?t=w/variants&tab=data", "text&lt;")
    assert "Read here, without Spark" in lead


def test_a_missing_file_is_named_and_the_page_lives(root: Path) -> None:
    (root / "t" / "a.parquet").unlink()
    window = Window(Catalog([str(root)]), "?t=w/t")
    lead = shown(window, "?t=w/t&tab=data", "does not exist")
    assert "a.parquet" in lead


def test_every_tab_but_data_reads_no_rows(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    for tab in at_least_one(("overview", "files", "columns", "statistics")):
        window.ask("go", query=f"?t=w/t&tab={tab}", asked=True)
        with pytest.raises(RequestError, match="No rows have been read"):
            assert window.session.work.of(RowsWork).asked


def test_dates_that_python_lacks_are_shown_as_texts(root: Path) -> None:
    far = pa.array([569 * 10**15, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    day = pa.array([5_000_000, None], pa.int32()).cast(pa.date32())
    nested = pa.StructArray.from_arrays([day, pa.array([7, 8])], names=["day", "n"])
    kind = struct(column("day", "date"), column("n", "long"))
    fields = [column("far", "timestamp"), column("list", {"type": "array", "elementType": kind, "containsNull": True})]
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), nested)
    write_table(root / "far", fields, [DataFile("a.parquet", pa.table({"far": far, "list": lists}))])
    window = Window(Catalog([str(root)]), "?t=w/far")
    lead = shown(window, "?t=w/far&tab=data", "All 2 rows, from")
    assert "20000-" in lead
    assert "15659-" in lead, lead
