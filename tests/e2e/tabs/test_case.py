"""A case in the browser: pinned with a click, kept over a reload, downloaded, and opened in another window."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import settle

pytestmark = pytest.mark.e2e

TABLE = "?t=shop/reference/deletion-vectors"


def _wait_for_pins(page: Any, count: int) -> None:
    page.locator("#tabs sup.count", has_text=str(count)).wait_for(timeout=20_000)


@pytest.mark.whole("tests/web, where a case is kept")
def test_a_case_outlives_a_reload_and_is_a_file_that_another_window_opens(opened: Any, tmp_path: Path) -> None:
    page = opened(f"{TABLE}&v=3")
    page.locator("#side [data-pin=commit]").click()
    _wait_for_pins(page, 1)
    page.reload()
    _wait_for_pins(page, 1)
    page.get_by_role("link", name="Diff", exact=True).click()
    settle(page)
    page.locator("#side [data-pin=diff]").click()
    _wait_for_pins(page, 2)
    page.get_by_role("link", name="Case").click()
    settle(page)
    assert page.locator("article.pin").count() == 2
    page.locator('[id^="pin-note-"]').first.fill("the first loss")
    page.get_by_role("button", name="Save note").first.click()
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download case file").click()
    download.value.save_as(tmp_path / "case.json")
    pins = json.loads((tmp_path / "case.json").read_text())["pins"]
    assert [(pin["kind"], pin.get("note", "")) for pin in pins] == [("commit", "the first loss"), ("diff", "")]
    page.evaluate("sessionStorage.clear()")
    other = opened(f"{TABLE}&tab=case")
    assert other.locator("article.pin").count() == 0
    other.locator("input[data-upload]").set_input_files(tmp_path / "case.json")
    _wait_for_pins(other, 2)
    assert other.locator('[id^="pin-note-"]').first.input_value() == "the first loss"
