"""The palette by the keyboard alone: on the list of tables, on a table's page, and in a notebook's widget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

import explorer
from tests.e2e.conftest import settle
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.shown_widget import shown_widget
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e

_ACTIVE: Final = "document.querySelector('#palette [aria-selected=true]')"


def _query(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def _type(page: Any, text: str, wanted: str) -> None:
    page.keyboard.type(text)
    wait_until(page, "wanted => document.getElementById('palette-results').textContent.includes(wanted)", wanted)
    settle(page)


@pytest.mark.whole("test_a_version_a_tab_and_an_action_are_reached_from_a_table")
def test_a_column_of_a_table_is_reached_from_the_list_by_keys_alone(opened: Callable[..., Any]) -> None:
    page = opened()
    page.keyboard.press("Control+k")
    assert page.evaluate("document.activeElement.id") == "palette-find"
    # Every table of the warehouse is read in the background.
    wait_until(
        page, "document.querySelector('#palette-said') && !document.querySelector('#palette-said[data-pending]')"
    )
    _type(page, "deletion table", "deletion-vectors")
    first = page.evaluate(f"{_ACTIVE}.id")
    assert page.evaluate("document.activeElement.getAttribute('aria-activedescendant')") == first
    page.keyboard.press("Enter")
    page.locator("#tabs a").first.wait_for()
    assert _query(page)["t"] == ["shop/reference/deletion-vectors"]


@pytest.mark.whole("tests/page/test_palette.py")
def test_what_was_visited_comes_first_the_next_time(opened: Callable[..., Any]) -> None:
    opened("?t=shop/reference/optimize")
    page = opened()
    page.keyboard.press("/")
    wait_until(page, f"{_ACTIVE}?.textContent.includes('shop/reference/optimize')")
    assert "Recent" in page.locator("#palette-results").inner_text()
    page.keyboard.press("Escape")
    wait_until(page, "!document.getElementById('palette').open")


def test_a_version_a_tab_and_an_action_are_reached_from_a_table(opened: Callable[..., Any]) -> None:
    page = opened("?t=shop/reference/change-feed&tab=files")
    page.keyboard.press("/")
    _type(page, "v1", "Compare with v1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    settle(page)
    assert (_query(page)["v"], _query(page)["tab"]) == (["1"], ["files"])
    page.keyboard.press("g")
    page.keyboard.press("c")
    settle(page)
    assert _query(page)["tab"] == ["columns"]
    page.keyboard.press("Control+k")
    _type(page, "keyboard shortcuts", "Keyboard shortcuts")
    page.keyboard.press("Enter")
    wait_until(page, "document.getElementById('shortcuts').open")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.locator("#home-count").wait_for()


@pytest.mark.whole("test_words_in_a_field_for_a_version_say_how_they_were_read")
def test_a_letter_in_a_field_is_a_letter(opened: Callable[..., Any]) -> None:
    page = opened("?t=shop/reference/change-feed&tab=data")
    page.locator("#rows-where").focus()
    page.keyboard.type("/gc")
    assert page.locator("#rows-where").input_value() == "/gc"
    assert not page.evaluate("document.getElementById('palette').open")


def test_words_in_a_field_for_a_version_say_how_they_were_read(opened: Callable[..., Any]) -> None:
    page = opened("?t=shop/reference/change-feed&tab=data")
    page.locator("#rows-version").fill("now")
    page.locator("#rows-version").press("Enter")
    page.locator("#notice [data-kind=TimeRead]").wait_for()
    assert "UTC is v" in page.locator("#notice").inner_text()
    page.locator("#rows-version").fill("soon")
    page.locator("#rows-version").press("Enter")
    page.get_by_text("by number or by a time such as yesterday 18:00").wait_for()


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "text"), [(1440, ""), (375, "amount"), (1440, "zzqq")])
def test_the_palette_has_no_barrier(opened: Callable[..., Any], theme: str, width: int, text: str) -> None:
    page = opened("?t=shop/reference/change-feed")
    page.set_viewport_size({"width": width, "height": 900})
    if theme == "dark":
        page.evaluate("explorerPage.theme()")
    settle(page)
    page.keyboard.press("Control+k")
    page.keyboard.type(text)
    wait_until(page, "document.getElementById('palette-results').childElementCount > 0")
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    problems = [each["id"] + str(each["nodes"][:2]) for each in Axe().run(page).response["violations"]]
    page.set_viewport_size({"width": 1440, "height": 900})
    assert problems == []


@pytest.mark.whole("test_a_version_a_tab_and_an_action_are_reached_from_a_table")
def test_in_a_notebook_it_opens_where_the_widget_has_the_focus_alone(watched: Any, tmp_path: Path) -> None:
    created = [commit_info("CREATE TABLE"), PROTOCOL, metadata({"order_id": "long", "amount": "double"})]
    commits = [created, *([commit_info("WRITE"), add(f"{n}.parquet", 10)] for n in range(3))]
    widget = explorer.open_table(write_log(tmp_path / "orders", commits)).explore(tab="overview")
    html = "<!doctype html><body><input id='beside'><div id='one' style='width: 900px'></div></body>"
    root = "document.getElementById('one').firstChild.shadowRoot"
    with shown_widget(watched, widget, html):
        wait_until(watched, f"{root}.querySelector('#tabs a')")
        watched.locator("#beside").focus()
        watched.keyboard.press("Control+k")
        assert not watched.evaluate(f"{root}.getElementById('palette').open")
        watched.evaluate(f"{root}.querySelector('#tabs a').focus()")
        watched.keyboard.press("Control+k")
        wait_until(watched, f"{root}.getElementById('palette').open")
        watched.keyboard.type("v1")
        wait_until(watched, f"{root}.getElementById('palette-results').textContent.includes('Go to v1')")
        watched.keyboard.press("Enter")
        wait_until(watched, f"{root}.querySelector('[data-pinned-version=\"1\"]')")
        assert widget.version == 1
        widget.version = "now"
        wait_until(watched, f"{root}.querySelector('[data-pinned-version=\"3\"]')")
