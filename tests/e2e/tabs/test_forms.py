"""Forms of changes in a browser: what is wrong with an answer is found from where it is said that something is."""

from typing import Any

import pytest

from tests.e2e.conftest import settle

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/page/act/test_pages.py")]


def test_a_refused_answer_that_is_out_of_sight_is_one_press_away(opened: Any, watched: Any) -> None:
    watched.set_viewport_size({"width": 1024, "height": 420})
    page = opened("?t=shop/reference/optimize&tab=act&act=add-constraint&f.name=positive")
    page.locator("#f-expression").fill("nosuch > 0")
    way = page.get_by_role("button", name="Show errors")
    way.scroll_into_view_if_needed()
    page.mouse.wheel(0, 4000)
    way.press("Enter")
    field = page.locator("#f-expression")
    assert field.evaluate("field => field === document.activeElement")
    note = page.locator("#act-note-expression .note-error")
    place = note.bounding_box()
    assert place is not None
    assert 0 < place["y"] < 420 - place["height"]
    field.fill("id >= 0")
    page.get_by_text("Not valid yet").wait_for(state="detached")
    settle(page)
    assert page.locator(".note-error").count() == 0
