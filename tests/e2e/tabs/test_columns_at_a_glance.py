"""Columns at a glance in a browser: bars that filter, the card of a column by mouse and by key, a profile by Spark."""

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.e2e.conftest import settle

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/page/tabs/test_columns_at_a_glance.py")]
DATA = "?t=shop/reference/deletion-vectors&v=6&tab=data"


def test_a_bar_above_the_rows_filters_them(opened: Any) -> None:
    page = opened(DATA)
    bars = page.locator("tr.glances .glance-bars a")
    bars.first.wait_for()
    title = bars.first.get_attribute("title")
    count = int(title.split(": ")[1].split(" ")[0])
    bars.first.click()
    settle(page)
    assert "where=" in page.url
    condition = page.locator("#rows-where").input_value()
    assert condition.startswith("`id`")
    page.get_by_role("button", name="Read again").click()
    page.get_by_text("that match").or_(page.locator(".inline-problem")).first.wait_for(timeout=90_000)
    if page.locator(".inline-problem", has_text="nstall").count():
        pytest.skip("no Spark on this machine")
    assert page.locator("#lead table.list tbody tr").count() == count
    assert page.locator("#lead code").first.inner_text() == condition


def test_the_card_is_opened_by_key_read_profiled_and_closed(opened: Any) -> None:
    page = opened(DATA)
    glance = page.locator("a.glance").first
    glance.focus()
    page.keyboard.press("Enter")
    card = page.locator("#column-card")
    card.wait_for()
    assert "card=id" in page.url
    expect(page.locator("#column-card-title")).to_be_focused()
    assert "wide" in card.inner_text()
    assert "in these 13 rows" in card.inner_text()
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.violations_count == 0, found.generate_report()
    card.get_by_role("button", name="Profile all rows").click()
    card.get_by_text("by Spark").or_(card.locator(".inline-problem")).first.wait_for(timeout=120_000)
    if card.locator(".inline-problem", has_text="nstall").count():
        pytest.skip("no Spark on this machine")
    assert "in all 13 rows, by Spark" in card.inner_text()
    card.get_by_role("link", name="Close the card").click()
    card.wait_for(state="detached")
    assert "card=" not in page.url


def test_the_card_below_a_narrow_page_comes_into_view(opened: Any) -> None:
    page = opened(DATA)
    page.set_viewport_size({"width": 390, "height": 700})
    page.locator("a.glance").first.click()
    expect(page.locator("#column-card-title")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_list_of_columns_opens_the_same_card(opened: Any) -> None:
    page = opened("?t=shop/reference/deletion-vectors&v=6&tab=columns&card=id")
    card = page.locator("#column-card")
    assert "From the statistics" in card.inner_text()
    page.locator("#rest td.text a").first.click()
    settle(page)
    assert "col=id" in page.url
    card.get_by_role("link", name="Show rows").click()
    page.locator("tr.glances").wait_for()
    assert "card=id" in page.url
