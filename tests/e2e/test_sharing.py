"""What a person takes along from a page, and two tables side by side, in a browser."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.e2e.conftest import plotted, settle

pytestmark = pytest.mark.e2e
VECTORS = "?t=shop/reference/deletion-vectors"


def _saved(page: Any, button: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        button.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


@pytest.mark.whole("test_a_saved_page_shows_the_same_and_asks_for_nothing")
def test_a_chart_and_the_timeline_are_saved_as_pictures(opened: Any, tmp_path: Path) -> None:
    page = opened(f"{VECTORS}&tab=overview")
    plotted(page, "chart-slot")
    for menu, slot in (("#chart-card .save-chart", "chart"), ("#strip details.menu:has([data-of])", "strip")):
        for form in ("svg", "png"):
            page.locator(f"{menu} > summary").click()
            path = _saved(page, page.locator(f"{menu} [data-format={form}]"), tmp_path)
            assert re.fullmatch(rf"deletion-vectors-v\d+-{slot}\.{form}", path.name)
            content = path.read_bytes()
            if form == "svg":
                assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  # our own
                continue
            assert content[:8] == b"\x89PNG\r\n\x1a\n"
            width, height = struct.unpack(">II", content[16:24])
            assert min(width, height) > 200


def test_a_saved_page_shows_the_same_and_asks_for_nothing(opened: Any, windows: Any, tmp_path: Path) -> None:
    page = opened(f"{VECTORS}&tab=overview")
    plotted(page, "chart-slot")
    words = page.locator("#lead").inner_text().split()
    page.locator("#bar details.menu > summary").click()
    path = _saved(page, page.locator("[data-do=save-page]"), tmp_path)
    text = path.read_text("utf-8")
    assert "<script" not in text
    assert "Content-Security-Policy" in text
    saved = windows.new_page()
    asked: list[str] = []
    saved.on("request", lambda request: asked.append(request.url))
    saved.goto(path.as_uri())
    assert saved.locator("#lead").inner_text().split() == words
    assert saved.locator("#chart-figure img").evaluate("image => image.naturalWidth") > 200
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    saved.close()


@pytest.mark.whole("tests/page/tabs, without a browser")
def test_two_tables_are_chosen_in_the_list_and_compared_and_a_step_leads_to_its_plan(opened: Any, watched: Any) -> None:
    page = opened()
    for name in ("deletion-vectors", "optimize"):
        row = page.locator(f"tr:has(a[href='?t=shop/reference/{name}'])").first
        row.hover()
        row.locator("[data-do=pick]").click()
    page.locator("#home-pair a").click()
    page.locator("#pair").wait_for()
    settle(watched)
    assert page.locator("#pair .verdict").inner_text().startswith("The definition differs")
    assert page.locator("#pair-rows").count() == 1
    page.locator("#pair-steps a").first.click()
    page.locator("#lead .act").wait_for()
    assert "t=shop/reference/optimize" in page.url
    assert "tab=act" in page.url


@pytest.mark.whole("tests/page, without a browser")
def test_folders_of_the_path_lead_to_their_tables(opened: Any) -> None:
    page = opened(VECTORS)
    page.locator(".crumbs a", has_text="reference").click()
    page.locator(".list.tables").wait_for()
    assert page.url.endswith("?facet=folder%3Ashop/reference")
    assert page.locator("#home-facets [aria-checked=true]").inner_text().startswith("shop/reference")
