"""A person reads a notice on the list of tables, and acknowledges it with a reason; what others do arrives, too."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from explorer.web.notice_board import ServedNotices
from tests.e2e.conftest import settle
from tests.support.logs import small_logs
from tests.support.notices.books import book_at, notice
from tests.support.pages.server_thread import served_in_thread
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e


@pytest.mark.whole("tests/web/test_notices.py, without a browser")
def test_a_notice_is_acknowledged_with_a_reason(watched: Any, tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.METADATA]
    table = small_logs.write_log(tmp_path / "lake" / "orders", [created])
    book = book_at(tmp_path / "notices", lambda: time.time_ns() // 1_000_000)  # type: ignore[arg-type]
    book.post(notice("first", title="rows are gone", table=str(table), version=0))
    book.post(notice("second", title="the loader is late", table=str(table), version=0))
    page = watched
    with served_in_thread(str(tmp_path / "lake"), allow_commits=True, notices=ServedNotices(book)) as url:
        page.goto(url)
        settle(page)
        row = page.locator("article:has-text('rows are gone')")
        assert page.locator("#home-notices h2").inner_text() == "2 open notices"
        row.locator("summary").focus()
        page.keyboard.press("Enter")
        assert Axe().run(page).violations_count == 0
        # A reason is needed: the browser holds the form back.
        row.get_by_role("button", name="Save").click()
        row.get_by_placeholder("for others to read").press_sequentially("ben restores them")
        for size in ({"width": 375, "height": 800}, {"width": 1440, "height": 900}):
            page.set_viewport_size(size)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            right = "(form) => ['form', '.card'].map((one) => form.closest(one).getBoundingClientRect().right)"
            form, card = row.locator("form").evaluate(right)
            assert form <= card
        row.get_by_role("button", name="Save").click()
        wait_until(page, "document.querySelector('#home-notices h2').innerText === '1 open notice'")
        done = book.find("first")
        assert (done.state, done.reason) == ("acknowledged", "ben restores them")
        # What others do arrives by itself.
        book.acknowledge("second", by="carl", reason="known")
        page.locator("#home-notices").get_by_text("No open notices.").wait_for(timeout=60_000)
