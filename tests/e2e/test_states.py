"""Home, broken tables, hostile strings, what lies outside the roots."""

import contextlib
import http.client
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import plotted, settle
from tests.support.logs.hostile_tables import HOSTILE
from tests.support.logs.small_logs import add, commit_info, write_log
from tests.support.pages.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=1)]


def test_the_list_shows_every_table_and_what_is_wrong(opened: Any, warehouse: Path) -> None:
    page = opened()
    wait_until(page, "!document.querySelector('.bone')")
    rows = page.locator("table.tables tbody tr[id]")
    assert rows.count() == len(list(warehouse.glob("*/*/_delta_log"))) >= 10
    assert "MalformedAction" in page.locator("table.tables .chip.danger").get_attribute("title")
    unreadable = page.locator("table.tables tr:has(.chip[title=UnsupportedFeature])")
    assert "timeMachine" in unreadable.inner_text()
    assert unreadable.locator(".chip.warning").count() == 1
    page.locator("#find-home").press_sequentially("optimize", delay=10)
    wait_until(page, "location.search.includes('q=optimize')")
    settle(page)
    assert rows.count() == 1
    page.locator("table.tables").get_by_role("link", name="optimize").first.click()
    page.wait_for_selector("h1.version")
    settle(page)
    assert page.title().startswith("optimize v14")


@pytest.mark.whole("tests/web/home/test_home.py and tests/web/home/test_morning.py")
def test_a_new_visit_counts_what_came_since_the_last_one_until_it_is_marked_as_seen(
    opened: Any, windows: Any, address: str
) -> None:
    long_ago = {"name": "explorer-looked", "value": "86400000", "url": address}
    windows.add_cookies([long_ago])
    page = opened("")
    page.get_by_text("since your last visit, 2 Jan 1970").wait_for()
    page.get_by_role("button", name="Mark all as seen").click()
    page.get_by_text("no new commits on").wait_for()
    page.reload()
    settle(page)
    assert "no new commits on" in page.locator("#home-morning").inner_text()


def test_what_cannot_be_shown_has_its_own_page(opened: Any) -> None:
    page = opened("?t=/etc")
    problem = page.locator("section.problem")
    assert problem.get_attribute("data-kind") == "NotAllowed"
    for query, kind in (
        ("?t=shop/odd/broken", "MalformedAction"),
        ("?t=shop/odd/future", "UnsupportedFeature"),
        ("?t=shop/odd/nothing", "TableNotFound"),
        ("?t=shop/../outside", "NotAllowed"),
        ("?t=shop/escape", "NotAllowed"),
        ("?t=shop/reference/optimize&v=abc", "VersionNotFound"),
        ("?t=shop/reference/optimize&tab=acts", "RequestError"),
    ):
        page.evaluate("query => explorerPage.go(query)", query)
        settle(page)
        assert problem.get_attribute("data-kind") == kind, query
        assert "What to do." in problem.inner_text()


def test_a_wrong_version_offers_the_nearest_one(opened: Any) -> None:
    page = opened("?t=shop/reference/optimize&v=99999")
    assert "versions 0 to 14 can be shown" in page.locator("section.problem").inner_text()
    page.get_by_role("link", name="Show v14").click()
    settle(page)
    assert page.locator("h1.version").inner_text() == "v14"
    plotted(page, "timeline-slot")


def test_the_way_out_of_a_broken_version(opened: Any) -> None:
    page = opened("?t=shop/odd/broken")
    page.get_by_role("link", name="Show v1").click()
    settle(page)
    assert "3 live rows in 1 file" in page.locator("#lead").inner_text()
    assert "version 2" in page.locator("#notice").inner_text()


def test_hostile_strings_are_shown_as_text(opened: Any) -> None:
    page = opened("?t=shop/odd/hostile")
    plotted(page, "timeline-slot")
    page.mouse.move(130, 120)
    assert HOSTILE[:40] in page.locator("#side").inner_text()
    for tab in ("Diff", "Files", "Columns", "Deletion vectors", "Statistics", "Data"):
        page.get_by_role("link", name=tab, exact=True).click()
        settle(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, object").count() == 0, tab


def test_a_long_name_does_not_break_the_page(opened: Any) -> None:
    page = opened("?t=shop/odd/hostile&tab=files")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_foreign_site_cannot_open_the_socket(address: str) -> None:
    headers = {
        "Origin": "http://evil.example", "Upgrade": "websocket", "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13",
    }  # fmt: skip
    with contextlib.closing(http.client.HTTPConnection(address.removeprefix("http://"), timeout=10)) as connection:
        connection.request("GET", "/ws", headers=headers)
        assert connection.getresponse().status == 403


def test_two_windows_keep_their_own_state(opened: Any, windows: Any, address: str) -> None:
    one = opened("?t=shop/reference/optimize&v=3")
    two = windows.new_page()
    two.goto(f"{address}/?t=shop/reference/optimize&v=7")
    settle(two)
    one.keyboard.press("ArrowLeft")
    settle(one)
    assert [p.locator("h1.version").inner_text() for p in (one, two)] == ["v2", "v7"]
    two.close()


def test_a_message_that_makes_no_sense_changes_nothing(opened: Any) -> None:
    page = opened("?t=shop/reference/optimize&v=3")
    for message in ({"kind": "nonsense"}, {"kind": "download", "list": "passwords", "number": 2}, {}):
        page.evaluate(f"explorerPage.host.send({json.dumps(message)})")
    page.locator("#notice .notice").wait_for()
    assert "passwords" in page.locator("#notice").inner_text()
    assert page.locator("h1.version").inner_text() == "v3"


def test_rows_are_there_when_the_tab_is_opened_and_follow_the_version(opened: Any) -> None:
    page = opened("?t=shop/reference/deletion-vectors&v=6&tab=data")
    page.locator("#lead table.list").wait_for()
    assert page.locator("#lead tbody tr").count() == 13
    page.keyboard.press("ArrowLeft")
    page.get_by_text("without Spark, at v5").wait_for()
    assert "not the version shown above" not in page.locator("#lead").inner_text()


def test_a_new_version_is_offered_and_the_one_on_show_stays(opened: Any, warehouse: Path) -> None:
    page = opened("?t=shop/odd/empty")
    commit = [commit_info("WRITE"), add("a.parquet", 2)]
    write_log(warehouse / "odd" / "empty", [commit], 1)
    page.get_by_role("link", name="Go to newest, v1").wait_for(timeout=30_000)
    assert page.locator("h1.version").inner_text() == "v0"
    assert "v=0" in page.url


@pytest.mark.whole("tests/page/test_open_pages.py")
def test_a_table_that_is_deleted_under_an_open_page_is_said_with_a_way_on(opened: Any, warehouse: Path) -> None:
    gone = warehouse / "odd" / "going"
    shutil.copytree(warehouse / "reference" / "optimize", gone)
    page = opened("?t=shop/odd/going&tab=files&v=3")
    shutil.move(gone, warehouse.parent / "away")
    page.get_by_text("The table no longer exists.").wait_for(timeout=30_000)
    assert page.locator("h1.version").inner_text() == "v3"
    page.locator("#notice").get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="No Delta table here").wait_for()
    shutil.move(warehouse.parent / "away", gone)
    page.locator("h1.version").wait_for(timeout=30_000)
    assert page.locator("h1.version").inner_text() == "v3"


def test_rows_whose_files_were_vacuumed_under_an_open_page_name_the_cause(opened: Any, warehouse: Path) -> None:
    swept = warehouse / "odd" / "swept"
    shutil.copytree(warehouse / "reference" / "optimize", swept)
    page = opened("?t=shop/odd/swept&tab=data&v=1")
    page.locator("#lead table.list").wait_for()
    for file in swept.rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            file.unlink()
    page.get_by_role("button", name="Read again").click()
    problem = page.locator("#lead .inline-problem", has_text="A file is missing")
    problem.wait_for(timeout=90_000)
    said = problem.inner_text()
    if "nstall" in said:
        pytest.skip("no Spark on this machine")
    assert "A file is missing" in said
    assert "Choose a version whose files still exist" in said
    assert "Traceback" not in said
    assert page.get_by_role("button", name="Show 100 rows").is_enabled()
