"""Columns at a glance on the page: over the rows of Data, in the list of Columns, and on the card of one column."""

from __future__ import annotations

import html
import json
import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qs

import pyarrow as pa
import pytest

from explorer.page.address import Address
from explorer.page.pages import Rendered, table_page
from explorer.page.tabs.column_card import list_glances
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.pages.idle_windows import idle_work
from tests.support.pages.open_windows import Window

HOSTILE = "<img src=x onerror=alert(1)>'\\`\u202e"
ROWS = pa.table(
    {
        "n": list(range(60)),
        "word": ["common"] * 40 + [HOSTILE] * 15 + ["rare"] * 5,
        "amount": [Decimal(number) for number in range(60)],
        "in": pa.array([{"x": number % 3} for number in range(60)], pa.struct([("x", pa.int64())])),
        HOSTILE: ["v"] * 60,
        "tags": [["a"]] * 60,
    }
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "w" / "t"
    listed = {"type": "array", "elementType": "string", "containsNull": True}
    fields = [
        column("n", "long"), column("word", "string"), column("amount", "decimal(10,2)"),
        column("in", struct(column("x", "long"))), column(HOSTILE, "string"), column("tags", listed),
    ]  # fmt: skip
    write_table(
        place,
        fields,
        [
            DataFile(
                "a.parquet",
                ROWS.set_column(2, "amount", ROWS.column("amount").cast(pa.decimal128(10, 2))),
                masked=range(50, 60),
            )
        ],
    )
    log = place / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (added,) = [line["add"] for line in lines if "add" in line]
    bounds = {"minValues": {"n": 0, "word": HOSTILE}, "maxValues": {"n": 59, "word": "rare"}, "nullCount": {"n": 0}}
    added["stats"] = json.dumps({"numRecords": 60, "tightBounds": False, **bounds})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "w"


def opened(root: Path, query: str, wanted: str, region: str = "lead") -> str:
    """A region of the page once a text is in it."""
    window = Window(Catalog([str(root)]), "?t=w/t")
    window.ask("go", query=query)
    found = window.until(lambda message: wanted in message.get("regions", {}).get(region, ""))
    text: str = found["regions"][region]
    return text


def conditions(text: str) -> list[str]:
    """The conditions that links of a region put into the address."""
    links = [parse_qs(html.unescape(link)) for link in re.findall(r'href="\?([^"]*where=[^"]*)"', text)]
    return [link["where"][0] for link in links]


def test_the_heading_says_nulls_and_range_by_the_log_and_draws_the_rows(root: Path) -> None:
    lead = opened(root, "?t=w/t&tab=data", "glances")
    assert "0 to 59" in lead
    assert "no nulls, wide" in lead
    assert "array: no range" in lead
    assert "1 field" in lead
    chosen = conditions(lead)
    # Ten rows are masked, and count for nothing.
    assert "`n` >= 45 AND `n` < 50" in chosen
    assert not any("`n` >= 50" in each for each in chosen)
    assert "`word` = 'common'" in chosen
    assert "<img src" not in lead


def test_hostile_names_and_values_become_conditions_inside_their_quotes(root: Path) -> None:
    lead = opened(root, "?t=w/t&tab=data", "glances")
    quoted = "'<img src=x onerror=alert(1)>\\'\\\\`\\u202E'"
    assert f"`word` = {quoted}" in conditions(lead)
    name = HOSTILE.replace("`", "``")
    assert f"`{name}` = 'v'" in conditions(lead)


def test_a_bar_narrows_the_condition_that_is_there(root: Path) -> None:
    window = Window(Catalog([str(root)]), "?t=w/t")
    window.ask("go", query="?t=w/t&tab=data")
    window.until(lambda message: "glances" in message.get("regions", {}).get("lead", ""))
    answer = window.ask("go", query="?t=w/t&tab=data&where=n+%3E+1+OR+n+IS+NULL")
    assert "(n > 1 OR n IS NULL) AND (`word` = 'common')" in conditions(answer["regions"]["lead"])
    assert 'value="n &gt; 1 OR n IS NULL"' in answer["regions"]["lead"]


def test_the_card_opens_by_its_own_field_of_the_address(root: Path) -> None:
    side = opened(root, "?t=w/t&tab=data&card=word", "in these 50 rows", "side")
    assert 'id="column-card"' in side
    assert "wide: rows of that file are masked" in side
    assert "Profile all rows" in side
    assert "2 different values" in side
    leaf = opened(root, "?t=w/t&tab=data&card=in.x", "in these 50 rows", "side")
    assert "`in`.`x` = 0" in conditions(leaf)
    fields = opened(root, "?t=w/t&tab=data&card=in", "column-card", "side")
    assert "card=in.x" in fields
    assert "Profile all rows" not in fields
    assert "No column was ever called" in opened(root, "?t=w/t&tab=data&card=nope", "column-card", "side")


def test_the_list_of_columns_has_nulls_and_ranges_and_the_card(root: Path) -> None:
    catalog = Catalog([str(root)])
    page = table_page(catalog, Address(table="w/t", tab="columns", card="n"), "light", idle_work(catalog))
    assert "0 to 59 <small>wide</small>" in page.regions["rest"]
    assert "in.x" in page.regions["rest"]
    assert 'data-shown="n"' in page.regions["side"]
    # Without rows at hand nothing is said of values.
    assert "different value" not in page.regions["side"]
    chosen = table_page(catalog, Address(table="w/t", tab="columns", column="word"), "light", idle_work(catalog))
    assert 'data-shown="word"' in chosen.regions["side"]


def test_only_the_columns_on_show_are_worked_out(tmp_path: Path) -> None:
    names = [f"c{number:04}" for number in range(3_000)]
    bounds = dict.fromkeys(names, (1, 2))
    write_log(tmp_path / "w" / "t", [[PROTOCOL, metadata(dict.fromkeys(names, "long")), add("f", 3, bounds=bounds)]])
    catalog = Catalog([str(tmp_path / "w")])
    work = idle_work(catalog)
    page: Rendered = table_page(catalog, Address(table="w/t", tab="columns", page="3"), "light", work)
    assert page.regions["rest"].count("1 to 2") == 50
    assert page.view is not None
    shown = list_glances(page.view, work, names[100:150])
    assert list(shown.columns) == names[100:150]


def test_statistics_of_many_files_are_read_beside_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.views.columns.column_work._AT_ONCE", 0)
    write_table(tmp_path / "w" / "t", [column("n", "long")], [DataFile("a.parquet", pa.table({"n": [1, 2]}))])
    lead = opened(tmp_path / "w", "?t=w/t&tab=data", "range unknown")
    assert "reading statistics" not in lead


def test_every_condition_of_the_page_is_short_enough_for_its_field(tmp_path: Path) -> None:
    rows = pa.table({"s": ["x" * 20_000, "short"]})
    write_table(tmp_path / "w" / "t", [column("s", "string")], [DataFile("a.parquet", rows)])
    lead = opened(tmp_path / "w", "?t=w/t&tab=data", "glances")
    for condition in at_least_one(conditions(lead)):
        assert len(condition) < 16_000
    assert conditions(lead) == ["`s` = 'short'"]
