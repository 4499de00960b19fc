"""A hundred rows in a browser: those in sight are painted first, and no column changes its width for the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.e2e.conftest import settle
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.served_pages import SERVE, served
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e
FIELDS = [column("id", "long"), column("short", "string"), column("long", "string"), column("amount", "double")]
FRAMES = """() => {
  window.frames_of_rows = [];
  const look = () => {
    const rows = [...document.querySelectorAll("#lead .grid tbody tr")];
    const heads = [...document.querySelectorAll("#lead .grid thead tr:first-child th")];
    const widths = heads.map((cell) => cell.offsetWidth);
    if (rows.length) frames_of_rows.push([rows.filter((row) => row.offsetHeight).length, widths]);
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.fixture(scope="module")
def warehouse_of_rows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("rows") / "w"
    for name, count in (("hundred", 150), ("few", 40)):
        rows = {
            "id": range(count),
            "short": [f"w{row}" for row in range(count)],
            "long": [{97: "i" * 45, 98: "W" * 30}.get(row, "a") for row in range(count)],
            "amount": [10.0 ** (row // 10) if row < 100 else 0.0 for row in range(count)],
        }
        write_table(root / name, FIELDS, [DataFile("a.parquet", pa.table(rows))])
    with served(root, SERVE, Path(root).parent / "server.log") as url:
        yield url


def _opened(page: Any, url: str, table: str) -> Any:
    page.goto(f"{url}/?t=w/{table}")
    settle(page)
    page.evaluate(FRAMES)
    page.locator("a[data-nav][href*='tab=data']").first.click()
    settle(page, "#lead .grid tbody tr")
    return page


def test_rows_below_the_edge_come_after_the_others_and_change_no_width(watched: Any, warehouse_of_rows: str) -> None:
    page = _opened(watched, warehouse_of_rows, "hundred")
    wait_until(page, "frames_of_rows.length && frames_of_rows.at(-1)[0] === 100")
    frames = page.evaluate("frames_of_rows")
    assert frames[0][0] < 50
    assert {tuple(widths) for _, widths in frames} == {tuple(frames[0][1])}
    rows = page.locator("#lead .grid tbody tr")
    assert rows.count() == 100
    assert page.locator("#lead tr.room").count() == 0
    assert page.locator("#lead .grid tbody td:nth-child(2)").all_inner_texts() == [str(row) for row in range(100)]
    # The same again for rows that come for others.
    page.get_by_role("button", name="Next 100 rows").click()
    page.get_by_role("button", name="Rows before").wait_for()
    wait_until(page, "document.querySelectorAll('#lead .grid tbody tr').length === 50")
    assert page.locator("#lead .grid tbody td:nth-child(2)").last.inner_text() == "149"


def test_the_focus_stays_on_a_row_below_the_edge_when_rows_are_drawn_again(
    watched: Any, warehouse_of_rows: str
) -> None:
    page = _opened(watched, warehouse_of_rows, "hundred")
    wait_until(page, "document.querySelectorAll('#lead .grid tbody tr').length === 100")
    link = page.locator("#lead .grid tbody tr").nth(60).locator(".follow a")
    link.focus()
    # As it came: what the page's script has styled says so by attributes, which the page refuses.
    page.evaluate(
        """() => {
            const html = document.getElementById("lead").innerHTML.replace(/ style="[^"]*"/g, "");
            explorerPage.replace("lead", html);
        }"""
    )
    assert page.evaluate("document.activeElement.getAttribute('href')") == link.get_attribute("href")
    assert page.locator("#lead .grid tbody tr").count() == 100


def test_a_table_of_few_rows_is_painted_at_once(watched: Any, warehouse_of_rows: str) -> None:
    page = _opened(watched, warehouse_of_rows, "few")
    assert {count for count, _ in page.evaluate("frames_of_rows")} == {40}
