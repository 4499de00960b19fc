"""The table page in a browser: choosing versions, comparing, tabs, the address, states."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import plotted, settle
from tests.support.pages.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=1)]
VECTORS = "?t=shop/reference/deletion-vectors"


def _version(page: Any) -> str:
    return str(page.locator("h1.version").inner_text())


def _place(page: Any, version: int) -> tuple[float, float]:
    """Where a version stands on the timeline, in pixels of the page."""
    box = plotted(page, "timeline-slot").bounding_box()
    x = page.evaluate(
        """version => {
            const plot = document.querySelector('#timeline-slot .js-plotly-plot');
            return plot._fullLayout._size.l + plot._fullLayout.xaxis.d2p(version);
        }""",
        version,
    )
    return box["x"] + x, box["y"] + 40


def _click(page: Any, version: int, *, shift: bool = False) -> None:
    x, y = _place(page, version)
    if shift:
        page.keyboard.down("Shift")
    page.mouse.click(x, y)
    if shift:
        page.keyboard.up("Shift")
    settle(page)


def test_a_click_on_the_timeline_changes_every_part(opened: Any) -> None:
    page = opened(VECTORS)
    assert _version(page) == "v17"
    _click(page, 6)
    assert _version(page) == "v6"
    assert "MERGE" in page.locator("#strip").inner_text()
    assert "13 live rows (7 more masked) in 4 files" in page.locator("#lead").inner_text()
    assert "13 rows" in page.locator("#bar").inner_text()
    assert "v=6" in page.url
    assert page.title().startswith("deletion-vectors v6")


def test_shift_click_chooses_the_other_end_and_a_drag_both(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=8")
    _click(page, 3, shift=True)
    assert ("v=8" in page.url, "c=3" in page.url) == (True, True)
    assert "compared with v3" in page.locator("#strip").inner_text()
    start, end = _place(page, 2), _place(page, 5)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    settle(page)
    assert ("v=5" in page.url, "c=2" in page.url) == (True, True)


def test_arrow_keys_step_and_shift_moves_the_compared_version(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=8")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert _version(page) == "v7"
    page.keyboard.press("ArrowRight")
    settle(page)
    assert _version(page) == "v8"
    page.keyboard.press("Shift+ArrowLeft")
    settle(page)
    assert "compared with v6" in page.locator("#strip").inner_text()
    page.keyboard.press("Home")
    settle(page)
    assert _version(page) == "v0"
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert _version(page) == "v0"
    page.keyboard.press("End")
    settle(page)
    assert _version(page) == "v17"


def test_the_first_version_is_compared_with_none(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=0")
    assert page.locator("#strip summary.chip").inner_text().startswith("compare with")
    page.locator("#strip summary.chip").click()
    assert page.locator("#strip details:has(summary.chip) .pop a").all_inner_texts() == ["the newest, v17"]


def test_the_diff_survives_a_reload_and_the_back_button(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=6&c=2")
    rows = "#row-differences [data-result]"
    page.get_by_role("link", name="Diff", exact=True).click()
    settle(page, rows)
    before = page.locator("#lead").inner_text()
    assert "re-masked" in before
    page.get_by_role("link", name=re.compile("^added")).click()
    settle(page, rows)
    url, filtered = page.url, page.locator("#lead").inner_text()
    page.reload()
    settle(page, rows)
    assert (page.url, page.locator("#lead").inner_text()) == (url, filtered)
    assert page.locator("#tabs [aria-current]").inner_text() == "Diff"
    page.go_back()
    settle(page, rows)
    assert page.locator("#lead").inner_text() == before


def test_every_tab_shows_its_part(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=6")
    for tab, text, charted in (
        ("Files", "Live files", False),
        ("Columns", "Names over versions", True),
        ("Deletion vectors", "rows masked", True),
        ("Statistics", "Ranges of", True),
        ("Data", "Rows at v6", False),
        ("Overview", "Over versions", True),
    ):
        page.get_by_role("link", name=tab, exact=True).click()
        settle(page)
        assert text in page.locator("main").inner_text()
        height = page.locator("#chart-card").bounding_box()["height"]
        assert (height > 100) == charted, tab
        if charted:
            plotted(page, "chart-slot")


def test_t_shows_the_commits_as_a_table_and_back(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=6")
    page.keyboard.press("t")
    settle(page)
    assert page.locator("#commits tbody tr").count() == 18
    assert page.locator("#commits tr[aria-current]").inner_text().startswith("v6")
    page.locator("#commits").get_by_role("link", name="v3", exact=True).click()
    settle(page)
    assert _version(page) == "v3"
    page.keyboard.press("t")
    settle(page)
    assert page.locator("#commits tbody tr").count() == 0
    assert page.locator("#timeline-slot").bounding_box()["height"] > 100


def test_question_mark_and_button_list_the_shortcuts(opened: Any) -> None:
    page = opened(VECTORS)
    page.keyboard.press("?")
    assert page.locator("#shortcuts").is_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert page.locator("#shortcuts").is_visible()


def test_lists_are_filtered_sorted_and_exported(opened: Any) -> None:
    page = opened("?t=shop/reference/optimize&v=6&tab=files")
    rows = page.locator("#lead tbody tr")
    assert rows.count() == 5
    page.get_by_role("link", name="size").click()
    settle(page)
    assert page.locator("#lead th[aria-sort]").inner_text().strip().startswith("size")
    page.locator("#find-files").press_sequentially("p=1", delay=15)
    wait_until(page, "location.search.includes('q=')")
    settle(page)
    assert 0 < rows.count() < 5
    assert page.evaluate("document.activeElement.id") == "find-files"
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^CSV")).click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("path,")
    assert len(lines) == 1 + rows.count()


def test_dark_and_light_follow_the_system_and_the_button(opened: Any) -> None:
    opened(VECTORS).emulate_media(color_scheme="dark")
    page = opened(VECTORS)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.get_by_role("button", name="Switch between light and dark").click()
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.reload()
    settle(page)
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"


def test_the_page_is_readable_before_any_script_has_run(browser: Any, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{VECTORS}&v=6")
    assert _version(page) == "v6"
    assert "13 live rows" in page.locator("#lead").inner_text()
    page.get_by_role("link", name="Next version").click()
    assert _version(page) == "v7"
    context.close()


def test_a_narrow_window_has_no_sideways_scroll(opened: Any) -> None:
    page = opened(f"{VECTORS}&v=6&c=2&tab=diff")
    for width in (1024, 768, 400):
        page.set_viewport_size({"width": width, "height": 800})
        wait_until(page, "document.documentElement.scrollWidth <= innerWidth")
    side, wide = page.locator("#side").bounding_box(), page.locator(".wide").bounding_box()
    assert side["y"] >= wide["y"] + wide["height"]
