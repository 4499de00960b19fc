"""Rows in a browser: a condition, masked rows, what changed, and how two versions differ."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from explorer.report import verify_report
from tests.e2e.conftest import settle
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/page/tabs/test_row_tabs.py, and tests/page/test_open_pages.py")]
FEED = "?t=shop/reference/change-feed"
SPARK = 120_000  # ms until it has started and answered on a busy machine


def _read(page: Any, part: str, button: str) -> None:
    page.get_by_role("button", name=button).click()
    settle(page)
    page.locator(f"{part} table.list, {part} .inline-problem").first.wait_for(timeout=SPARK)
    if page.locator(f"{part} .inline-problem", has_text="nstall").count():
        pytest.skip("no Spark on this machine")


def test_rows_are_read_under_a_condition_and_masked_ones_on_request(opened: Any) -> None:
    page = opened("?t=shop/reference/deletion-vectors&v=6&tab=data")
    page.locator("#lead table.list").wait_for()
    assert page.locator("#lead tbody tr").count() == 13
    page.locator("#rows-masked").check()
    page.get_by_role("button", name="Read again").click()
    page.locator("#lead td.sign.remasked").first.wait_for()
    assert page.locator("#lead tbody tr").count() == 20
    assert page.locator("#lead td.sign.remasked").all_inner_texts().count("~") == 7
    page.locator("#rows-masked").uncheck()
    page.locator("#rows-where").fill("id % 2 = 0")
    page.get_by_role("button", name="Read again").click()
    page.get_by_text("rows that match").wait_for(timeout=SPARK)
    assert "where=id" in page.url
    assert page.evaluate("document.activeElement.id") == "rows-go"
    ids = [int(text) for text in page.locator("#lead tbody td.pin").all_inner_texts()]
    assert ids
    assert all(number % 2 == 0 for number in ids)
    page.locator("#rows-where").fill("idd > 0")
    page.get_by_role("button", name="Read again").click()
    page.get_by_text("cannot be resolved").wait_for(timeout=30_000)


def test_a_version_is_gone_to_by_its_number_or_by_a_time(opened: Any) -> None:
    page = opened("?t=shop/reference/deletion-vectors&tab=data")
    page.locator("#rows-version").fill("6")
    page.locator("#rows-version").press("Enter")
    page.get_by_role("heading", name="Rows at v6").wait_for()
    page.locator("#rows-version").fill("1999-12-31 23:59")
    page.get_by_role("button", name="Go", exact=True).click()
    page.get_by_text("No version at that time").wait_for()
    page.get_by_role("link", name="Show v0").click()
    page.get_by_role("heading", name="Rows at v0").wait_for()
    assert "No rows at this version" in page.locator("#lead").inner_text()


def test_changes_and_differences_of_two_versions_are_there_and_read_again(opened: Any) -> None:
    page = opened(f"{FEED}&tab=changes&v=3&c=1")
    assert page.locator(".feed i").count() >= 1
    _read(page, "#lead", "Read again")
    assert page.locator("#lead tbody td.sign").count() >= 1
    places = page.locator("#lead td.pin, #lead th.pin").evaluate_all(
        """cells => cells.map(cell => [cell, cell.previousElementSibling].map(each => each.getBoundingClientRect()))
            .map(([cell, before]) => [cell.top - before.top, Math.min(0, cell.left - before.right)])"""
    )
    assert len(places) >= 2
    assert {tuple(map(round, place)) for place in places} == {(0, 0)}, "the pinned column stands in its line"
    page.get_by_role("link", name="Diff", exact=True).click()
    settle(page)
    page.locator("#diff-keys").fill("id")
    page.set_viewport_size({"width": 1280, "height": 460})
    _read(page, "#row-differences", "Compare rows")
    # The answer is below what was on the screen: the page goes there.
    expect(page.locator("#row-differences [data-result]")).to_be_in_viewport(ratio=0.5)
    assert "keys=id" in page.url
    assert "rows that differ" in page.locator("#row-differences").inner_text()


def test_recorded_and_inferred_changes_are_a_key_apart(opened: Any) -> None:
    page = opened(f"{FEED}&tab=changes&v=3&c=1")
    where = page.get_by_role("group", name="Where changes are taken from")
    assert where.locator("[aria-current]").inner_text() == "recorded"
    for chosen, shown in (("inferred", "recorded or inferred"), ("recorded", "recorded")):
        page.keyboard.press("r")
        settle(page)
        assert f"feed={chosen}" in page.url
        assert where.locator("[aria-current]").inner_text() == shown
    # In a field, a letter is a letter; elsewhere, r means nothing.
    page.locator("#changes-where").press_sequentially("r")
    assert "feed=recorded" in page.url
    page.goto(page.url.replace("tab=changes", "tab=files"))
    settle(page)
    page.keyboard.press("r")
    settle(page)
    assert "tab=files" in page.url


def test_inferred_updates_are_paired_by_the_key_that_a_person_names(opened: Any) -> None:
    page = opened(f"{FEED}&tab=changes&v=12&c=11&feed=inferred")
    page.locator("#changes-keys").fill("id")
    _read(page, "#lead", "Read again")
    assert "keys=id" in page.url
    page.locator("#lead td", has_text="update, before").first.wait_for(timeout=SPARK)
    kinds = page.locator("#lead tbody tr td:nth-child(3)").all_inner_texts()
    assert kinds == ["update, before", "update, after"] * (len(kinds) // 2)
    assert kinds
    assert "only rewritten" in page.locator("#lead").inner_text()
    assert "rewritten" in page.locator("#side").inner_text()


def test_a_clipped_value_is_shown_in_full_by_click_and_by_key(opened: Any) -> None:
    page = opened("?t=shop/odd/long&tab=data")
    page.locator("#lead table.list").wait_for()
    clipped, dialog = page.locator("#lead td.long").first, page.locator("#cell")
    name, whole = clipped.get_attribute("data-name"), clipped.get_attribute("title")
    clipped.click()
    assert dialog.get_by_role("heading").inner_text() == name
    assert dialog.locator("pre").inner_text() == whole
    assert whole == "e" * 500
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    for key in ("Enter", " "):
        clipped.focus()
        page.keyboard.press(key)
        assert dialog.is_visible()
        dialog.get_by_role("button", name="Close").click()
        assert page.evaluate("document.activeElement.dataset.do") == "cell"


def test_a_condition_goes_along_with_versions_and_tabs_and_a_filter_stays_with_its_list(opened: Any) -> None:
    page = opened("?t=shop/reference/optimize&v=6&tab=data&where=id+%3E+3")
    condition = page.locator("#rows-where")
    page.get_by_role("link", name="Previous version").click()
    settle(page)
    assert (page.locator("h1.version").inner_text(), condition.input_value()) == ("v5", "id > 3")
    condition.fill("id > 4")
    page.get_by_role("link", name="Next version").click()
    settle(page)
    assert condition.input_value() == "id > 4", "what was typed stays, although it was not asked for yet"
    page.get_by_role("link", name="Files", exact=True).click()
    page.locator("#find-files").fill("p=1")
    wait_until(page, "location.search.includes('q=')")
    settle(page)
    page.get_by_role("link", name="Previous version").click()
    settle(page)
    assert page.locator("#find-files").input_value() == "p=1"
    page.get_by_role("link", name="Columns", exact=True).click()
    settle(page)
    assert "q=" not in page.url
    assert page.locator("#find-columns").input_value() == ""
    page.get_by_role("link", name="Data", exact=True).click()
    settle(page)
    assert condition.input_value() == "id > 3"


def test_every_stored_copy_of_some_rows_is_found_with_the_steps_that_are_left(opened: Any, warehouse: Path) -> None:
    folder = warehouse / "reference" / "deletion-vectors"
    stored = [pq.read_table(path, columns=["id"]).column("id") for path in folder.glob("*.parquet")]
    copies = Counter(number for column in stored for number in column.to_pylist())
    wanted, count = copies.most_common(1)[0]
    page = opened("?t=shop/reference/deletion-vectors&tab=erasure")
    page.locator("#erasure-where").fill(f"id = {wanted}\nid = -1")
    page.locator("#erasure-due").fill("2020-01-31")
    page.get_by_role("button", name="Search every file").click()
    page.locator(".stepper, #lead .inline-problem").first.wait_for(timeout=SPARK)
    if page.locator("#lead .inline-problem", has_text="nstall").count():
        pytest.skip("no Spark on this machine")
    assert sum(int(cell) for cell in page.locator("#rest tbody td:nth-child(2)").all_inner_texts()) == count
    assert f"{count} copies" in page.locator(".stepper").inner_text()
    assert "before the last copy can be deleted" in page.locator(".claim-line").last.inner_text()
    lines = page.locator(".places tbody tr")
    assert lines.locator(".bar").count() >= lines.count() > 0
    plot, ends = page.locator(".places .bars").first.bounding_box(), page.locator(".places .bar i")
    assert plot is not None
    for place in at_least_one(range(ends.count())):
        box = ends.nth(place).bounding_box()
        assert box is not None
        assert plot["x"] <= box["x"] + 1
        assert box["x"] + box["width"] <= plot["x"] + plot["width"] + 4
    assert "today" in page.locator(".step-marks").inner_text()
    assert "today" in page.locator(".days").inner_text()
    assert Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"] == []
    assert "has the column id" in page.locator("#side").inner_text()
    elsewhere = page.get_by_role("link", name="Search it too").first.get_attribute("href")
    assert elsewhere is not None
    asked = parse_qs(elsewhere.removeprefix("?"))
    assert (asked["tab"], asked["where"], asked["due"]) == (["erasure"], [f"id = {wanted}"], ["2020-01-31"])
    assert asked["t"] != ["shop/reference/deletion-vectors"]
    boxes = [page.locator(field).bounding_box() for field in ("#erasure-where", "#erasure-reference")]
    assert boxes[0]["width"] > 2 * boxes[1]["width"]
    for name in ("Download the statement", "As JSON"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        data = Path(download.value.path()).read_bytes()
        assert verify_report(data).valid
        assert f"id = {wanted}".encode() in data
    page.get_by_role("link", name="id = -1").click()
    page.locator(".claim-line", has_text="No copy was found in the files searched").wait_for()
    assert page.locator(".places").count() == 0
    page.get_by_role("link", name=f"id = {wanted}").click()
    page.locator(".claim-line", has_text="not erased yet").wait_for()
    page.locator("#erasure-where").fill(f"id = {wanted}")
    page.locator("#erasure-reference").fill("2026-118 <i>")
    page.get_by_role("button", name="Search again").click()
    page.locator("#side dd", has_text="2026-118 <i>").wait_for(timeout=SPARK)
    with page.expect_download() as download:
        page.get_by_role("button", name="As JSON").click()
    assert json.loads(Path(download.value.path()).read_bytes())["request"] == "2026-118 <i>"
    page.locator(".stepper").get_by_role("link", name="Plan it").first.click()
    settle(page)
    assert "tab=act" in page.url


def _touch_the_condition(page: Any) -> list[str]:
    """Click into the field of the condition; return what the page sends for that."""
    page.evaluate("""() => {
        const { host } = explorerPage, send = host.send.bind(host);
        window.kinds = [];
        host.send = (message) => { kinds.push(message.kind); send(message); };
    }""")
    page.locator("#rows-where").click()
    kinds: list[str] = page.evaluate("kinds")
    return kinds


def test_spark_starts_when_a_condition_is_typed_and_says_how_long_it_took(opened: Any, warehouse: Path) -> None:
    parts = {"metadata": pa.binary(), "value": pa.binary(), "typed_value": pa.int64()}
    rows = pa.table({"v": pa.array([dict.fromkeys(parts)], pa.struct(list(parts.items())))})
    write_table(warehouse / "odd" / "shredded", [column("v", "variant")], [DataFile("a.parquet", rows)])
    page = opened("?t=shop/reference/change-feed&tab=data")
    page.locator("#lead table.list").wait_for()
    assert "without Spark" in page.locator("#lead").inner_text()
    assert _touch_the_condition(page) == []
    page = opened("?t=shop/odd/shredded&tab=data")
    card = page.locator("#spark")
    page.get_by_text("These rows are left to Spark").wait_for()
    assert _touch_the_condition(page) == ["wake-spark"]
    card.locator(".chip", has_text="ready").or_(card.locator(".chip", has_text="failed")).wait_for(timeout=SPARK)
    if "nstall" in card.inner_text():
        pytest.skip("no Spark on this machine")
    assert "the start took" in card.inner_text()
    assert "Spark starts first" not in page.locator("#lead").inner_text()
