"""``python -m tests.notebooks.picture FOLDER``: pictures of the tour in JupyterLab, light and dark, after a run."""

from __future__ import annotations

import argparse
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import nbformat
from playwright.sync_api import sync_playwright

from explorer.demo import build_warehouse
from tests.notebooks.lab import TOKEN, running_lab
from tests.notebooks.places import jupyter_places
from tests.notebooks.stories import read
from tests.notebooks.test_tour_in_lab import CHROMIUM, OPTIONS, run_all

parser = argparse.ArgumentParser(prog="python -m tests.notebooks.picture", description="Take pictures of the tour.")
parser.add_argument("folder", type=Path, metavar="FOLDER", help="where to; notebook-light.png and notebook-dark.png")
target = parser.parse_args().folder
target.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
    folder, warehouse = Path(home, "served"), Path(home, "demo")
    build_warehouse(warehouse, datetime.now(UTC).date())
    folder.mkdir()
    tour = read("1-tour")
    tour.cells = [cell for cell in tour.cells if not cell["id"].startswith("rows")]
    nbformat.write(tour, folder / "1-tour.ipynb")
    with jupyter_places(Path(home), warehouse), running_lab(folder, Path(home, "runtime")) as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.goto(f"{address}lab/tree/1-tour.ipynb?token={TOKEN}", timeout=240_000)
        run_all(page)
        page.locator(".dte-view h1.version").nth(1).wait_for(timeout=240_000)
        page.locator(".dte-view #strip-figure .bars").first.wait_for(state="attached", timeout=240_000)
        for part in ("Overview", "Diff"):  # what the tour was refused goes when another part is opened
            page.locator(".dte-view").first.get_by_role("link", name=part, exact=True).click()
        for side in ("left", "right"):
            page.evaluate(f"() => window.jupyterapp.shell.collapse{side.title()}()")
        for theme in ("light", "dark"):
            page.evaluate(
                "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
                f"JupyterLab {theme.title()}",
            )
            page.wait_for_timeout(8_000)
            page.locator(".dte-view").first.evaluate("view => view.scrollIntoView({ block: 'start' })")
            page.wait_for_timeout(4_000)
            page.screenshot(path=target / f"notebook-{theme}.png")
        browser.close()
