"""Which files are small, and why: the steward's way through the Files tab, and what stays in sight while it scrolls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import settle
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e
TABLE = "?t=shop/reference/optimize"


def test_a_steward_learns_which_files_are_small_and_why(opened: Any) -> None:
    page = opened(f"{TABLE}&tab=files&v=0")
    page.keyboard.press("End")
    settle(page)
    sentence = page.locator("#layout .verdict")
    assert "under 1 MB" in sentence.inner_text()
    assert "written by" in sentence.inner_text()
    total = page.locator("#files-list tbody tr").count()
    sentence.get_by_role("link").first.click()
    settle(page)
    assert "group=" in page.url
    assert "size=0-1000000" in page.url
    assert 0 < page.locator("#files-list tbody tr").count() <= total
    page.locator("#files-list td.path a, #files-list td.name a").first.click()
    settle(page)
    card = page.locator("#file-card")
    assert "written by" in card.inner_text()
    assert "Life in versions" in card.inner_text()
    page.get_by_role("button", name="Read footer").click()
    page.locator("#file-footer [data-result]").wait_for()
    assert "row group" in page.locator("#file-footer").inner_text()
    page.get_by_role("link", name="Show files without this filter").or_(
        page.locator("#files-list a.chip.accent")
    ).first.click()
    settle(page)
    assert "group=" not in page.url or "size=" not in page.url


@pytest.fixture
def many(warehouse: Path) -> str:
    """A table of sixty small files."""
    place = warehouse / "odd" / "many-files"
    if not place.exists():
        files = [add(f"{number:02}.parquet", 10, size=2_000 + number) for number in range(60)]
        write_log(place, [[PROTOCOL, metadata({"id": "long"})], [commit_info("WRITE", user_name="cleo"), *files]])
    return "?t=shop/odd/many-files"


def test_the_plan_of_an_optimize_is_one_click_away_where_it_would_do_something(opened: Any, many: str) -> None:
    page = opened(f"{many}&tab=files")
    card = page.locator(".halves .card").last
    assert "60 → 1" in card.inner_text()
    card.get_by_role("link", name="Plan OPTIMIZE").click()
    settle(page)
    assert "act=optimize" in page.url


def test_what_stays_at_the_top_takes_at_most_a_fifth_of_the_window(opened: Any, many: str) -> None:
    page = opened(f"{many}&tab=files")
    page.evaluate("scrollTo(0, 900)")
    wait_until(page, "scrollY > 300")
    covered = page.evaluate("document.getElementById('tabs').getBoundingClientRect().bottom")
    assert covered <= 180
    assert page.evaluate("document.getElementById('strip').getBoundingClientRect().top") >= 0
    page.keyboard.press("Home")
    settle(page)
    assert "v=0" in page.url


@pytest.mark.sampled(cases=2)
@pytest.mark.parametrize("width", [375, 800, 1024, 1440, 2560])
def test_the_legend_is_seen_at_every_width(opened: Any, watched: Any, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 900})
    page = opened(f"{TABLE}&tab=overview")
    legend = page.locator("#strip .legend")
    assert legend.is_visible()
    box = legend.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    watched.set_viewport_size({"width": 1440, "height": 900})
