"""Two tables in the Diff tab: the page's values, links that plan the steps, exports that other programs read."""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.page.tab_spec import Exported, export_files
from explorer.page.tabs import export_named
from explorer.views import TableView
from explorer.views.act.intent_form import intent_of
from explorer.web.served_tables import Catalog
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.idle_windows import idle_work

FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    first = [PROTOCOL, metadata({"id": "long", "name": "string"}, configuration={"team": "sales"}, comment=FORMULA)]
    second = [PROTOCOL, metadata({"id": "long", "day": "date"})]
    write_log(tmp_path / "shop" / "first", [[*first, add("a.parquet", 3, bounds={"id": (1, 3)})]])
    write_log(tmp_path / "shop" / "second", [second])
    write_log(tmp_path / "shop" / "apart", [[PROTOCOL, metadata({"<b>x</b>": "string"})]])
    return Catalog([str(tmp_path / "shop")])


def _page(catalog: Catalog, query: str) -> tuple[Any, Any]:
    work = idle_work(catalog)
    return table_page(catalog, Address.parse(query), "light", work), work


def test_the_page_names_what_differs_and_links_to_the_plans_of_the_other_table(catalog: Catalog) -> None:
    page, _ = _page(catalog, "?t=shop/first&tab=diff&with=shop/second")
    lead, rest, side = (page.regions[name] for name in ("lead", "rest", "side"))
    assert "3 columns" in lead
    assert "1 property" in lead
    assert "live rows" in lead
    assert "Compare rows" in lead
    assert "team" in rest
    assert "?t=shop/second&amp;tab=act&amp;act=set-properties" in side
    assert "Make shop/second like this table" in side
    # Nothing of it is in a bar of commits: the address can be shared as it is.
    assert page.title.endswith("Diff")


def test_the_answers_of_a_link_make_the_intent_of_its_step(catalog: Catalog) -> None:
    _, work = _page(catalog, "?t=shop/first&tab=diff&with=shop/second")
    view = TableView(catalog.facts("shop/first"))
    address = Address.parse("?t=shop/first&tab=diff&with=shop/second")
    text = "".join(part["text"] for part in export_files(export_named("intents")(view, address, work), "1", "json"))
    document = json.loads(text)
    assert document["table"] == "shop/second"
    kinds = [intent["kind"] for intent in document["intents"]]
    assert kinds == ["drop-columns", "set-properties", "set-column-comment", "add-columns", "set-description"]
    assert document["intents"][1] == intent_of("set-properties", {"key.0": "team", "value.0": "sales"})


@pytest.mark.parametrize(
    ("other", "words"),
    [("shop/absent", "no table"), ("elsewhere/x", "not in a served folder"), ("shop/second&wv=7", "version")],
)
def test_another_table_that_cannot_be_read_is_said_in_place(catalog: Catalog, other: str, words: str) -> None:
    page, _ = _page(catalog, f"?t=shop/first&tab=diff&with={other}")
    assert 'role="alert"' in page.regions["lead"]
    assert "Compare versions instead" in page.regions["lead"]
    assert page.regions["strip"]
    assert words.split(maxsplit=1)[0][:6].lower() in page.regions["lead"].lower()


def test_tables_without_a_common_column_offer_no_rows_and_hostile_names_are_text(catalog: Catalog) -> None:
    page, _ = _page(catalog, "?t=shop/first&tab=diff&with=shop/apart")
    assert "no column in common" in page.regions["lead"]
    assert "Compare rows" not in page.regions["lead"]
    assert "<b>x</b>" not in page.regions["rest"]
    assert "&lt;b&gt;x&lt;/b&gt;" in page.regions["rest"]


def _bytes(exported: Exported, format_: str) -> bytes:
    parts = list(export_files(exported, "1", format_))
    text = "".join(part["text"] for part in parts)
    return base64.b64decode(text) if parts[0].get("coded") else text.encode()


def test_every_form_of_a_list_has_the_same_rows_and_csv_runs_no_formula(catalog: Catalog) -> None:
    _, work = _page(catalog, "?t=shop/first&tab=diff&with=shop/second")
    view = TableView(catalog.facts("shop/first"))
    address = Address.parse("?t=shop/first&tab=diff&with=shop/second")
    listing = export_named("table-differences")(view, address, work)
    parquet = pq.read_table(io.BytesIO(_bytes(listing, "parquet"))).to_pylist()
    assert parquet == json.loads(_bytes(listing, "json"))
    assert {row["first"] for row in parquet} >= {FORMULA, "sales"}
    rows = list(csv.DictReader(io.StringIO(_bytes(listing, "csv").decode())))
    assert [row["name"] for row in rows] == [row["name"] for row in parquet]
    assert f"'{FORMULA}" in {row["first"] for row in rows}


def _strip(catalog: Catalog, query: str) -> tuple[Any, set[str]]:
    """Return the page, and the versions that tags above the strip name."""
    page, _ = _page(catalog, query)
    assert page.timeline is not None
    tags = {part["text"] for part in page.timeline.ends["annotations"] if part.get("name") == "tag"}
    return page, tags


@pytest.fixture
def long(tmp_path: Path) -> Catalog:
    start = [PROTOCOL, metadata({"id": "long"})]
    for name in ("one", "two"):
        write_log(tmp_path / "logs" / name, [start, *([add(f"{n}.parquet", n + 1)] for n in range(4))])
    return Catalog([str(tmp_path / "logs")])


def test_the_strip_marks_no_version_as_compared_while_another_table_is(long: Catalog) -> None:
    page, tags = _strip(long, "?t=logs/one&v=3&tab=diff")
    assert {tag.replace("<b>", "").replace("</b>", "") for tag in tags} == {"v3", "v2"}
    assert "v3 is chosen, v2 compared" in page.regions["strip"]
    page, tags = _strip(long, "?t=logs/one&v=3&tab=diff&with=logs/two")
    assert {tag.replace("<b>", "").replace("</b>", "") for tag in tags} == {"v3"}
    assert "compared." not in page.regions["strip"].split('id="strip-summary">')[1]
    assert "compared with v2" not in page.regions["bar"]


def test_a_version_chosen_to_compare_with_takes_the_place_of_the_other_table(long: Catalog) -> None:
    page, _ = _page(long, "?t=logs/one&v=3&tab=diff&with=logs/two")
    steps = page.regions["strip"].split('id="steps"')[1].split(">")[0]
    assert "with=" not in steps.split('data-compared-previous="')[1].split('"')[0]
    assert "with=" in steps.split('data-version-previous="')[1].split('"')[0]


def test_the_strip_marks_the_version_of_a_table_that_is_compared_with_itself(long: Catalog) -> None:
    _, tags = _strip(long, "?t=logs/one&v=3&tab=diff&with=logs/one&wv=1")
    assert {tag.replace("<b>", "").replace("</b>", "") for tag in tags} == {"v3", "v1"}
