"""A report as a browser shows it: alone, without script, of a table whose every text is hostile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import explorer
from explorer.report import render, tables_report
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.hostile_tables import HOSTILE, broken_table, hostile_table

pytestmark = [pytest.mark.e2e, pytest.mark.whole("tests/report/test_report.py, and test_accessibility.py of the pages")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a hostile table and of a broken one."""
    folder = tmp_path_factory.mktemp("reports")
    made = (hostile_table(folder / "hostile"), broken_table(folder / "broken"))
    tables = [explorer.open_table(table).report(NOW, by=HOSTILE, one_of_many=True) for table in made]
    file = folder / "report.html"
    file.write_bytes(render(tables_report(tables, [], NOW, HOSTILE, by=HOSTILE)).encode())
    return file


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_report_asks_for_nothing_runs_nothing_and_is_accessible(browser: Any, report: Path, theme: str) -> None:
    page = browser.new_page(viewport={"width": 1024, "height": 900}, color_scheme=theme)
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(report.as_uri())
    assert (asked, said) == ([report.as_uri()], [])
    assert page.evaluate("window.hacked") is None
    assert page.locator("img, iframe, object, script:not([type='application/json'])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The structure is the same in both themes.
    rules = {"runOnly": ["color-contrast"]} if theme == "dark" else None
    violations = Axe().run(page, options=rules).response["violations"]
    assert [f"{each['id']}: {node['html'][:120]}" for each in violations for node in each["nodes"]] == []
    page.close()


def test_a_report_prints_light_on_pages_of_its_width(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 680, "height": 900}, color_scheme="dark")
    page.goto(report.as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 31, 36)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
