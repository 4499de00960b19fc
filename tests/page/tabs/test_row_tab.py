"""The Row tab: a row of Data or of the feed leads to its story, which can be linked, pinned, and erased."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pytest

from explorer.core.protocol.schema.data_types import parse_schema
from explorer.page.address import Address
from explorer.report.case_desk import CaseDesk
from explorer.views.rows.row_reference import condition_of, parsed_row
from explorer.views.rows.spark_work import engine_state
from explorer.web.served_tables import Catalog
from tests.support.logs.changing_table import Changing, written
from tests.support.logs.spark_tables import column, struct
from tests.support.pages.open_windows import Window


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written(tmp_path / "w" / "t")
    return tmp_path / "w"


@pytest.fixture
def window(root: Path) -> Window:
    return Window(Catalog([str(root)]), "?t=w/t")


def shown(window: Window, query: str, wanted: str) -> dict[str, str]:
    """The parts of the page once a text is in its lead."""
    seen = len(window.heard)
    window.ask("go", query=query)
    window.until(
        lambda message: message in window.heard[seen:] and wanted in message.get("regions", {}).get("lead", "")
    )
    return next(each["regions"] for each in window.heard[seen:] if wanted in each.get("regions", {}).get("lead", ""))


def plain(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", markup)))


def story(key: str, more: str = "") -> str:
    return f"?t=w/t&tab=row&row={quote(key)}{more}"


def test_a_story_says_what_happened_who_did_it_why_and_where_it_is_stored(window: Window) -> None:
    before = engine_state()["state"]
    regions = shown(window, story('{"id":3}', "&v=3"), "Story of the row with id 3")
    lead = plain(regions["lead"])
    assert "Δ v3 updated name three → THREE UPDATE bob" in lead
    assert "b.parquet row 1" in lead
    assert "+ v1 inserted WRITE ada" in lead
    assert "Read here, without Spark." in lead
    assert "Values at v3 id 3 name THREE" in plain(regions["side"])
    gone = shown(window, story('{"id":2}'), "Story of the row with id 2")
    assert "− v2 deleted Reason: asked to DELETE ada" in plain(gone["lead"])
    assert "Last values, up to v1 id 2 name two" in plain(gone["side"])
    assert engine_state()["state"] == before


def test_rows_of_data_and_of_the_feed_lead_to_their_stories(window: Window) -> None:
    for query in ("?t=w/t&v=1&tab=data", "?t=w/t&v=3&tab=changes"):
        lead = shown(window, query, "Story of this row")["lead"]
        links = [html.unescape(link) for link in re.findall(r'class="follow"><a data-nav href="([^"]*)"', lead)]
        assert parsed_row(Address.parse(links[-1]).row) == {"id": 4 if "data" in query else 3}
        assert Address.parse(links[-1]).tab == "row"
        assert lead.count("<tr data-follow") == len(links)


def test_the_erasure_tab_opens_with_the_condition_of_the_row(window: Window) -> None:
    lead = shown(window, story('{"id":3}'), "Erase…")["lead"]
    links = [html.unescape(link) for link in re.findall(r'<a class="button" data-nav href="([^"]*)">Erase', lead)]
    address = Address.parse(links[0])
    assert (address.tab, address.where) == ("erasure", "id = 3")
    schema = parse_schema(json.dumps(struct(column("a b", "string"), column("n", "long"))))
    assert condition_of({"a b": "O'Brien\\", "n": None}, schema) == "`a b` = 'O\\'Brien\\\\' AND n IS NULL"
    assert condition_of({"a b": "${x}\n"}, schema) == "`a b` = concat('$', '{x}\\u000A')"


def test_a_story_is_pinned_with_what_each_version_did(window: Window) -> None:
    shown(window, story('{"id":3}'), "Story of the row with id 3")
    window.ask("pin", pin="row")
    pins = window.session.work.of(CaseDesk).file.pins
    assert [(pin.where, [row["what"] for row in pin.rows]) for pin in pins] == [("id = 3", ["updated", "inserted"])]


def test_other_key_columns_are_chosen_and_the_row_stays(window: Window) -> None:
    shown(window, story('{"id":3}'), "Story of the row with id 3")
    answered = window.ask("row-keys", keys="name")
    address = Address.parse(answered["query"])
    assert (address.row_keys, parsed_row(address.row)) == ("name", {"name": "THREE"})
    entered = window.ask("row", **{"value.0": "four"})
    assert parsed_row(Address.parse(entered["query"]).row) == {"name": "four"}


@pytest.mark.sampled(cases=3)
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x", "row=x names no row. It can be, for example"),
        ("{}", "names no row"),
        ('{"nope":1}', "There is no column 'nope' at version 4. Columns: id, name"),
        ('{"id":"x"}', "'x' is not a value of the column 'id', which is long"),
        ("7", "row tracking is off"),
        ('["b.parquet",99]', "it has fewer rows"),
        ('["nope.parquet",0]', "the file is not live there"),
        ('{"id":9}', "No row has this key"),
    ],
)
def test_a_row_that_is_not_there_is_named(window: Window, row: str, message: str) -> None:
    assert message in plain(
        shown(window, story(row), "data-result" if "No row" in message else "inline-problem")["lead"]
    )


def test_a_key_that_is_not_unique_is_said_and_the_rows_stay(tmp_path: Path) -> None:
    table = Changing(tmp_path / "w" / "t", [column("id", "long"), column("name", "string")])
    table.commit(table.add("a.parquet", pa.table({"id": [1, 2], "name": ["one", "two"]})))
    table.commit(table.add("b.parquet", pa.table({"id": [1], "name": ["uno"]})))
    table.write()
    window = Window(Catalog([str(tmp_path / "w")]), "?t=w/t")
    regions = shown(window, story('{"id":1}'), "Several rows have this key")
    assert "not unique at v2, where 2 rows have it. Add columns to the key." in plain(regions["lead"])
    assert "a.parquet row 0 b.parquet row 0" in plain(regions["lead"])
    assert "b.parquet, row 0 id 1 name uno" in plain(regions["side"])


def test_a_story_begins_after_files_that_are_gone(root: Path) -> None:
    (root / "t" / "a.parquet").unlink()
    window = Window(Catalog([str(root)]), "?t=w/t")
    lead = plain(shown(window, story('{"id":3}'), "Story of the row with id 3")["lead"])
    assert "Data files of versions before v3 no longer exist, so the story begins there." in lead
    assert "already there" in lead


def test_a_column_that_went_is_named_once_however_often_the_others_changed_beside_it(tmp_path: Path) -> None:
    with_note = [column("id", "long"), column("note", "string")]
    table = Changing(tmp_path / "w" / "t", with_note)
    table.commit(table.add("a.parquet", pa.table({"id": [1], "note": ["x"]})))
    for name in ("b", "c", "d"):
        table.commit(table.schema([*with_note, column(name, "long")]))
        table.commit(table.add(f"{name}.parquet", pa.table({"id": [9], "note": ["x"], name: [1]})))
        with_note.append(column(name, "long"))
    table.commit(table.schema([each for each in with_note if each["name"] != "note"]))
    table.write()
    window = Window(Catalog([str(tmp_path / "w")]), "?t=w/t")
    lead = plain(shown(window, story('{"id":1}'), "Story of the row with id 1")["lead"])
    assert lead.count("note is not shown") == 1
