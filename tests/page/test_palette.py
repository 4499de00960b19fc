"""The palette as its messages ask it: what a text leads to, from the list and from a table, and what is remembered."""

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs

import pytest

import explorer
from explorer.jupyter.one_table import OneTable
from explorer.page.tabs import LETTERS, TABS
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs import hostile_tables
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.open_windows import Window
from tests.support.pages.page_elements import Elements

_OPTION = re.compile(r'<div role="option"(.*?)</div>', re.DOTALL)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake") / "w"
    created = [
        commit_info("CREATE TABLE", user_name="ana@shop"),
        PROTOCOL,
        metadata({"id": "long", "amount": "double"}),
    ]
    write_log(folder / "sales" / "orders", [created, *([commit_info("WRITE"), add(f"{n}", 3)] for n in range(4))])
    write_log(folder / "crm" / "customers", [[PROTOCOL, metadata({"email": "string"})]])
    hostile_tables.hostile_table(folder / "hostile")
    hostile_tables.broken_table(folder / "broken")
    write_log(folder.parent / "outside", [[PROTOCOL, metadata({"secret_amount": "double"})]])
    return folder


@pytest.fixture(scope="module")
def catalog(root: Path) -> Catalog:
    made = Catalog([str(root)])
    made.list.begin(patience=30)
    made.palette_names.begin()
    ends = time.monotonic() + 60
    while made.palette_names.state().pending and time.monotonic() < ends:
        time.sleep(0.02)
    return made


@pytest.fixture
def opened(catalog: Catalog) -> Callable[[str], Window]:
    return lambda query="": Window(catalog, query)


def _asked(window: Window, text: str, recents: object = ()) -> tuple[list[dict[str, str]], str]:
    """Return the options, each by its attributes and its text, and what is said above them."""
    html = window.ask("palette", text=text, recents=list(recents) if isinstance(recents, tuple) else recents)["regions"]
    results = html["palette-results"]
    options = []
    for found in _OPTION.findall(results):
        attributes = {
            name: unescape(value) for name, value in re.findall(r'([a-z-]+)="([^"]*)"', found.partition(">")[0])
        }
        name = Elements(re.search(r'palette-name">(.*?)</span>', found, re.DOTALL)[1]).text  # type: ignore[index]
        options.append(attributes | {"name": name, "kind": re.findall(r'palette-kind">(\w+)', found)[0]})
    said = re.search(r'id="palette-said".*?</p>', results, re.DOTALL)
    assert said is not None
    return options, Elements(said[0]).text


def test_a_column_of_another_table_is_reached_from_the_list(opened: Callable[[str], Window]) -> None:
    options, said = _asked(opened(""), "amount")
    first = options[0]
    assert (first["name"], first["kind"]) == ("amount", "column")
    assert parse_qs(first["data-href"][1:]) == {"t": ["w/sales/orders"], "tab": ["columns"], "col": ["amount"]}
    assert "1 column" in said


def test_no_table_outside_the_roots_and_none_that_cannot_be_read_is_hidden(opened: Callable[[str], Window]) -> None:
    assert "secret_amount" not in {option["name"] for option in _asked(opened(""), "amount")[0]}
    options, said = _asked(opened(""), "broken")
    assert [option["name"] for option in options if option["kind"] == "table"] == ["w/broken"]
    assert "1 cannot be read and is found by name alone" in said


def test_a_time_leads_to_its_version_and_says_its_zone(opened: Callable[[str], Window], catalog: Catalog) -> None:
    window = opened("?t=w/sales/orders&tab=files")
    options, _ = _asked(window, "now")
    assert options[0]["name"] == "Go to v4"
    assert "UTC is v4, unchanged since" in options[0]["title"]
    assert parse_qs(options[0]["data-href"][1:])["v"] == ["4"]
    names = [option["name"] for option in _asked(window, "v2")[0]]
    assert names[:4] == ["Go to v2", "Compare with v2", "Rows that changed since v2", "Restore v2\u2026"]
    restore = _asked(window, "2")[0][3]
    assert parse_qs(restore["data-href"][1:])["f.version"] == ["2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v99", "has no version 99 to show: versions 0 to 4"),
        ("tomorrow", "is in the future"),
        ("3/4/2026", "is two dates. Write 2026-03-04 or 2026-04-03."),
        ("last week", "is a time range"),
        ("1999-12-31", "before the oldest readable commit"),
        ("zzzz", "Nothing here has \u201czzzz\u201d in its name."),
    ],
)
def test_what_leads_nowhere_is_said(opened: Callable[[str], Window], text: str, said: str) -> None:
    assert said in _asked(opened("?t=w/sales/orders"), text)[1]


def test_a_table_and_a_time_are_one_text_on_the_list(opened: Callable[[str], Window]) -> None:
    options, _ = _asked(opened(""), "orders yesterday 18:00")
    assert (options[0]["name"], options[0]["kind"]) == ("w/sales/orders", "time")
    assert parse_qs(options[0]["data-href"][1:])["v"] == ["yesterday 18:00"]
    assert "put a table\u2019s name before it" in _asked(opened(""), "yesterday 18:00")[1]


def test_tabs_changes_people_and_help_are_reached_from_a_table(opened: Callable[[str], Window]) -> None:
    window = opened("?t=w/sales/orders")
    for text, kind, wanted in at_least_one(
        [
            ("change feed", "tab", {"tab": ["changes"]}),
            ("add a constraint", "action", {"act": ["add-constraint"]}),
            ("ana", "person", {"cby": ["ana@shop"], "view": ["table"]}),
            ("all tables", "page", {}),
        ]
    ):
        option = next(each for each in _asked(window, text)[0] if each["kind"] == kind)
        values = parse_qs(option["data-href"][1:])
        assert wanted.items() <= values.items(), text
    assert next(each for each in _asked(window, "shortcuts")[0])["data-act"] == "shortcuts"


def test_the_feed_on_show_is_marked(opened: Callable[[str], Window]) -> None:
    options, _ = _asked(opened("?t=w/sales/orders&tab=changes&feed=inferred"), "changes")
    titles = {each["name"]: each["title"] for each in options if each["kind"] == "feed"}
    assert titles == {
        "Recorded changes": "Recorded changes: rows that the change feed recorded",
        "Recorded or inferred changes": "Recorded or inferred changes: on show",
    }


def test_what_was_used_last_comes_first_and_only_what_is_served_is_shown(opened: Callable[[str], Window]) -> None:
    window = opened("")
    option = _asked(window, "email")[0][0]
    column = json.loads(option["data-recent"])
    foreign = ["table", "other/server", "some id", "other/server"]
    dropped = [*column[:2], "another table of this name", column[3]]
    options, _ = _asked(window, "", [foreign, dropped, column, ["tab", "", "", "no tab"], 3, ["table"], [None] * 4])
    assert [each["name"] for each in options][:1] == ["email"]
    assert not any("other/server" in each["name"] for each in options)


@pytest.mark.parametrize("recents", [None, "x", {}, [[1, 2, 3, 4]], [["column", "a", "b"]], [["x" * 10_000] * 4] * 50])
def test_recents_that_no_page_sends_do_no_harm(opened: Callable[[str], Window], recents: object) -> None:
    options, _ = _asked(opened(""), "", recents)
    assert {"w/sales/orders", "w/crm/customers"} <= {option["name"] for option in options}


def test_hostile_names_are_text(opened: Callable[[str], Window]) -> None:
    window = opened("?t=w/hostile")
    for text in ("script", "<", "img", "onerror", '"'):
        html = window.ask("palette", text=text, recents=[])["regions"]["palette-results"]
        assert not re.search(r"<(?:script|img)\b", html)
        assert not re.search(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', html))


def test_of_two_texts_the_one_typed_last_is_shown(opened: Callable[[str], Window]) -> None:
    window = opened("")
    window.send("palette", number=50, text="amount", recents=[])
    window.number = 51
    window.send("palette", number=51, text="email", recents=[])
    last = window.answer()
    shown = [message["regions"].get("palette-results", "") for message in window.heard]
    assert "email" in last["regions"]["palette-results"]
    assert [html for html in shown if html][-1] == last["regions"]["palette-results"]


def test_a_notebook_reaches_its_one_table(root: Path) -> None:
    table = explorer.open_table(root / "sales" / "orders")
    window = Window(OneTable(table, allow_commits=False), f"?t={table.name}")
    options, said = _asked(window, "amount")
    assert [(option["name"], option["kind"]) for option in options] == [("amount", "column")]
    assert "tables" not in said
    assert all(option["kind"] != "page" for option in _asked(window, "")[0])


def test_each_tab_has_a_letter_of_its_own() -> None:
    assert {tab.key for tab in TABS} >= LETTERS.keys()
    assert len(set(LETTERS.values())) == len(LETTERS)
    assert not set(LETTERS.values()) & {"g", "l"}


def test_a_page_says_how_a_time_of_its_address_was_read(opened: Callable[[str], Window]) -> None:
    now = datetime.now(UTC)
    regions = opened("?t=w/sales/orders&v=now&c=0").session.shown.regions
    assert f"{now:%Y-%m-%d}" in regions["notice"]
    assert "UTC is v4, unchanged since." in regions["notice"]
    # Links keep the number.
    assert "v=now" not in regions["tabs"]
    assert "v=4" in regions["tabs"]
