"""Find a table among many by a column and by a finding, and a commit on the timeline of all of them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.e2e.conftest import settle
from tests.support.logs import small_logs
from tests.support.pages.served_pages import SERVE, served
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e
DAY = 86_400
LABELS = """() => [...document.querySelectorAll("#lanes .ticks > *")]
  .filter((label) => getComputedStyle(label).visibility !== "hidden" && label.offsetWidth)
  .map((label) => { const { left, right } = label.getBoundingClientRect(); return [label.textContent, left, right]; })
  .sort((one, other) => one[1] - other[1])"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables in two folders, loaded daily until today; one of them is silent, one is damaged, one lost its rows."""
    root = tmp_path_factory.mktemp("served") / "lake"
    names = ["sales/orders", "sales/returns", "sales/lost", "crm/people", "crm/quiet", "crm/damaged"]
    now = time.time()
    for name in names:
        newest = 9 if name == "crm/quiet" else 0.2
        lost, damaged = name == "sales/lost", name == "crm/damaged"
        ages = [newest + place for place in range(15 + lost + damaged)][::-1]

        def info(operation: str, version: int, ages: list[float] = ages) -> Any:
            at = int((now - ages[version] * DAY) * 1_000)
            return small_logs.commit_info(operation, user_name="etl", timestamp=at)

        columns = {"id": "long", "email" if name == "crm/people" else "amount": "string"}
        commits: list[Any] = [[info("CREATE TABLE", 0), small_logs.PROTOCOL, small_logs.metadata(columns)]]
        commits += [[info("WRITE", n + 1), small_logs.add(f"{n}.parquet", 100)] for n in range(14)]
        if lost:
            commits.append([info("DELETE", 15), *(small_logs.remove(f"{n}.parquet") for n in range(14))])
        if damaged:
            commits.append([b'{"add":'])
        small_logs.write_log(root / name, commits)
        for age, file in zip(ages, sorted((root / name / "_delta_log").glob("*.json")), strict=True):
            os.utime(file, (now - age * DAY, now - age * DAY))
    return root


@pytest.fixture(scope="module")
def lake_address(lake: Path) -> Iterator[str]:
    with served(lake, SERVE, lake.parent / "server.log") as url:
        yield url


def opened(page: Any, address: str, query: str) -> Any:
    page.goto(f"{address}/{query}")
    wait_until(page, "!document.querySelector('.bone, .reading')")
    settle(page)
    return page


def listed(page: Any, wanted: set[str]) -> bool:
    """Return whether the list names these tables, once they are as many."""
    names = page.locator("table.tables tbody tr[id] td.name b")
    names.nth(len(wanted) - 1).wait_for()
    wait_until(page, f"document.querySelectorAll('table.tables tbody tr[id] td.name b').length === {len(wanted)}")
    return set(names.all_inner_texts()) == wanted


def test_a_table_is_found_by_a_column_then_by_a_finding_and_all_of_it_is_in_the_address(
    watched: Any, lake_address: str
) -> None:
    page = opened(watched, lake_address, "")
    assert listed(page, {"people", "quiet", "damaged", "returns", "lost", "orders"})
    page.locator("#facet-column-name").press_sequentially("mail", delay=10)
    wait_until(page, "location.search.includes('col=mail')")
    settle(page)
    assert listed(page, {"people"})
    assert page.locator(".found-in").inner_text() == "email"
    page.get_by_role("link", name="Remove the filter Column name contains mail").click()
    settle(page)
    finding = page.get_by_role("checkbox", name="silent loader")
    finding.focus()
    page.keyboard.press("Space")
    settle(page)
    assert listed(page, {"quiet"})
    assert page.get_by_role("checkbox", name="silent loader").get_attribute("aria-checked") == "true"
    assert page.evaluate("document.activeElement.id") == "facet-finding-silent-loader"
    page.locator("#home-morning").get_by_text("attention outside these filters").wait_for()
    shared = page.url
    opened(page, lake_address, "")
    page.goto(shared)
    settle(page)
    assert listed(page, {"quiet"})


@pytest.mark.whole("tests/web/home, without a browser")
def test_a_pinned_table_stays_on_top_and_those_opened_are_named(watched: Any, lake_address: str) -> None:
    page = opened(watched, lake_address, "")
    page.locator("tr:has(b:text-is('returns')) .pin").click()
    settle(page)
    assert page.locator("table.tables tbody tr[id] td.name b").first.inner_text() == "returns"
    page.get_by_role("link", name="people").first.click()
    page.wait_for_selector("h1.version")
    settle(page)
    page.locator(".crumbs").get_by_role("link", name="crm").click()
    page.wait_for_selector("table.tables")
    settle(page)
    assert listed(page, {"people", "quiet", "damaged"})
    assert page.locator(".recent").get_by_role("link", name="people").count() == 1
    opened(page, lake_address, "")
    assert page.locator(".group-row").first.inner_text().startswith("★ Pinned")


def test_the_timeline_is_brushed_filtered_and_leads_to_a_commit(watched: Any, lake_address: str) -> None:
    page = opened(watched, lake_address, "?show=timeline&range=30d")
    lanes = page.locator("#lanes tbody tr")
    assert lanes.count() == 6
    assert page.locator("#lanes td.lane canvas").count() == 5
    assert "no commit for 9 days; usually one every day" in lanes.filter(has_text="quiet").inner_text()
    assert "cannot be read" in lanes.filter(has_text="damaged").inner_text()
    box = page.locator("#overview svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.85, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 3, box["y"] + 20, steps=4)  # beyond now
    page.mouse.up()
    wait_until(page, "new URLSearchParams(location.search).get('range').includes('~')")
    settle(page)
    page.get_by_role("link", name="damaged 1").click()
    settle(page)
    assert lanes.count() == 1
    page.get_by_role("link", name="all 6").click()
    settle(page)
    lane = lanes.filter(has_text="lost").locator("td.lane")
    mark = [int(number) for number in lane.get_attribute("data-marks").split()[-1].split(",")]
    place = lane.bounding_box()
    x, y = place["x"] + (mark[0] + 0.5) / 320 * place["width"], place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.locator("#lane-card.shown").get_by_text("DELETE").wait_for()
    page.mouse.click(x, y)
    page.wait_for_selector("h1.version")
    settle(page)
    assert page.locator("h1.version").inner_text() == "v15"
    assert "tab=diff" in page.url


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("width", [375, 1024, 2560])
def test_no_date_of_the_axis_is_on_another_or_under_now(watched: Any, lake_address: str, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 900})
    for query in ("24h", "7d", "30d", "2026-01-01~2027-06-30"):
        page = opened(watched, lake_address, f"?show=timeline&range={query}")
        axis = page.locator("#lanes .ticks").bounding_box()
        end = axis["x"] + axis["width"] + 1
        labels = page.evaluate(LABELS)
        assert len(labels) > (1 if width < 400 else 3), query
        assert [pair for pair in itertools.pairwise(labels) if pair[0][2] > pair[1][1]] == [], query
        assert [label for label in labels if label[0] != "now" and label[2] > end] == [], query


@pytest.mark.whole("tests/web/home/test_table_list.py")
def test_a_new_table_comes_to_the_list_without_a_reload(watched: Any, tmp_path: Path) -> None:
    created = [small_logs.commit_info("CREATE TABLE"), small_logs.PROTOCOL, small_logs.metadata({"id": "long"})]
    small_logs.write_log(tmp_path / "lake" / "first", [created])
    with served(tmp_path / "lake", SERVE, tmp_path / "server.log") as address:
        page = opened(watched, address, "?q=newcomer")
        small_logs.write_log(tmp_path / "lake" / "newcomer", [created])
        page.locator("table.tables b", has_text="newcomer").wait_for(timeout=60_000)
        assert listed(page, {"newcomer"})
        page.goto("about:blank")  # before its server ends


@pytest.mark.whole("tests/e2e/test_accessibility.py")
@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("query", ["?show=timeline&range=30d", "?facet=finding%3Asilent-loader&col=id"])
@pytest.mark.parametrize("width", [375, 1440])
def test_axe_finds_nothing_with_open_filters(watched: Any, lake_address: str, query: str, width: int) -> None:
    watched.set_viewport_size({"width": width, "height": 900})
    page = opened(watched, lake_address, query)
    fold = page.locator("details.facets-fold summary")
    if fold.is_visible():
        fold.click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:120]) for each in found] == []
