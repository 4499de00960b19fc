"""One row's story in a browser: a click on a row, the address that links to it, and the way to its erasure."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.e2e.conftest import settle

pytestmark = [pytest.mark.e2e]


@pytest.mark.whole("tests/page/tabs/test_row_tab.py, without a browser")
def test_a_click_on_a_row_shows_its_story_and_leads_to_its_erasure(opened: Any) -> None:
    page = opened("?t=shop/reference/change-feed&v=9&tab=changes&c=1")
    row = page.locator("#lead tr[data-follow]").first
    row.wait_for()
    row.locator("td.text").first.click()
    page.get_by_role("heading", name="Story of the row with id").wait_for()
    query = parse_qs(urlsplit(page.url).query)
    assert (query["tab"], list(query["row"])) == (["row"], [query["row"][0]])
    assert page.locator("#lead table.story tbody tr").count() >= 1
    assert "Read here, without Spark." in page.locator("#lead").inner_text()
    link = page.url
    # The icon does the same for the keyboard, and the address is enough to come back.
    page.go_back()
    page.locator("#lead tr[data-follow] .follow a").first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Story of the row with id").wait_for()
    assert page.url == link
    page.reload()
    page.locator("#lead table.story").wait_for()
    page.get_by_role("link", name="Erase").click()
    settle(page)
    assert page.locator("#erasure-where").input_value().startswith("id = ")
