"""A column among 20,000 in a browser: found by typing, by keys, by a link; and the schema, copied on demand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import plotted, settle
from tests.support.logs.wide_tables import column_name, wide_table
from tests.support.pages.served_pages import SERVE, served
from tests.support.pages.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/page/tabs/test_wide_pages.py")]
_MANY = 20_000
STATISTICS = "?t=w/wide&tab=statistics"


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("wide") / "w"
    wide_table(root / "wide", _MANY)
    with served(root, SERVE, root.parent / "server.log") as url:
        yield url


@pytest.fixture
def statistics(watched: Any, wide: str) -> Any:
    watched.goto(f"{wide}/{STATISTICS}")
    settle(watched)
    return watched


def _search(page: Any) -> Any:
    return page.get_by_label("Search for a column")


def test_a_column_is_found_by_typing_and_chosen_by_a_click(statistics: Any) -> None:
    _search(statistics).type("E_000017")
    statistics.locator(".matches a").first.wait_for()
    assert statistics.locator(".matches a").all_inner_texts() == [column_name(17)]
    statistics.locator(".matches a").click()
    settle(statistics)
    assert f"col={column_name(17)}" in statistics.url
    assert column_name(17) in statistics.locator("#charthead").inner_text()
    plotted(statistics, "chart-slot")
    assert statistics.locator(".matches a").count() == 0


def test_arrows_lead_into_the_suggestions_and_enter_chooses_one(statistics: Any) -> None:
    _search(statistics).focus()
    statistics.keyboard.type("0001")
    statistics.locator(".matches a").first.wait_for()
    assert statistics.locator(".matches a").count() == 40
    assert "columns with \u201c0001\u201d" in statistics.locator("#spoken").inner_text()
    for _ in range(2):
        statistics.keyboard.press("ArrowDown")
    chosen = statistics.evaluate("document.activeElement.textContent")
    statistics.keyboard.press("Enter")
    settle(statistics)
    assert f"col={chosen}" in statistics.url
    assert statistics.evaluate("document.activeElement.id") == "column-select"


def test_escape_takes_the_suggestions_away_and_arrow_down_brings_the_first_ones(statistics: Any) -> None:
    _search(statistics).focus()
    statistics.keyboard.press("ArrowDown")
    statistics.locator(".matches a").first.wait_for()
    statistics.keyboard.press("ArrowDown")
    assert statistics.evaluate("document.activeElement.textContent") == column_name(0)
    statistics.keyboard.press("Escape")
    assert statistics.locator(".matches a").count() == 0
    assert statistics.evaluate("document.activeElement.id") == "column-select"


def test_a_part_of_a_name_that_is_sent_lists_the_columns_that_have_it(statistics: Any) -> None:
    _search(statistics).fill("19999")
    statistics.keyboard.press("Enter")
    settle(statistics)
    assert "col=19999" in statistics.url
    statistics.locator(".matches a", has_text=column_name(19_999)).click()
    settle(statistics)
    assert f"col={column_name(19_999)}" in statistics.url


def test_a_link_opens_a_column_and_going_back_returns_to_the_one_before(watched: Any, wide: str) -> None:
    watched.goto(f"{wide}/{STATISTICS}&col={column_name(3)}")
    settle(watched)
    assert column_name(3) in watched.locator("#charthead").inner_text()
    _search(watched).fill(column_name(4))
    watched.keyboard.press("Enter")
    settle(watched)
    assert column_name(4) in watched.locator("#charthead").inner_text()
    watched.go_back()
    settle(watched)
    assert column_name(3) in watched.locator("#charthead").inner_text()


def test_the_schema_is_copied_whole_though_the_page_does_not_hold_it(watched: Any, wide: str) -> None:
    watched.goto(f"{wide}/?t=w/wide")
    settle(watched)
    assert len(watched.content()) < 400_000
    watched.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    watched.get_by_role("button", name="Copy schema as JSON").click()
    copied = wait_until(watched, "window.copied")
    assert len(json.loads(copied)["fields"]) == _MANY
    assert "schema as JSON copied" in watched.locator("#toast").inner_text()


def test_the_columns_to_set_are_suggested_as_they_are_typed(watched: Any, wide: str) -> None:
    watched.goto(f"{wide}/?t=w/wide&tab=act&act=update")
    settle(watched)
    assert watched.locator("#act-keys option").count() == 40
    watched.locator("#f-key-0").type("_019999")
    settle(watched)
    wait_until(watched, "document.querySelectorAll('#act-keys option').length === 1")
    assert watched.locator("#act-keys option").get_attribute("value") == column_name(19_999)
