"""The tour in JupyterLab, Notebook 7 and Voila, in a real browser: run it, move, link, cancel."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, Playwright, expect

from tests.notebooks.lab import TOKEN, running_lab, running_voila
from tests.notebooks.stories import NOTEBOOKS, java_is_there
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.served_pages import watch

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = " OR ".join(f"sha2(repeat(customer_id, {100_000 - number}), 512) = ''" for number in range(4))
"""A condition that no row meets, and that takes minutes on the rows of the demo."""
PATIENCE = 60_000
"""What a busy machine may take for an answer, in ms."""
TRAIT = """
import ipywidgets

trait = ipywidgets.Label("the trait is 30")
panel.observe(lambda change: setattr(trait, "value", f"the trait is {change['new']}"), "version")
trait
"""
THEIRS: Final[dict[str, tuple[str, ...]]] = {
    "jupyterlab": (),
    # Its shortcuts hear that other settings are loaded before their own are, with any notebook and with none.
    "notebook": ("script: Cannot read properties of undefined (reading 'schema')",),
    "voila": (),
}
"""What goes wrong in a program whatever it shows."""

pytestmark = [pytest.mark.e2e, pytest.mark.notebook, pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.mark.skipif(not WHOLE_DOSE, reason="part of the whole dose: make prove; test_widget_in_lab.py is the small one")
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium on this machine: install the package chromium")
@pytest.mark.skipif(not java_is_there(), reason="Spark needs Java 17 or 21, and there is none")
@pytest.mark.parametrize("program", THEIRS)
def test_tour_runs_moves_links_and_cancels(program: str, jupyter_home: Path, playwright: Playwright) -> None:
    if find_spec(program) is None:
        pytest.skip(f"{program} is not installed: pip install {program}")
    folder = jupyter_home / "served"
    folder.mkdir()
    import nbformat

    tour = nbformat.read(NOTEBOOKS / "1-tour.ipynb", as_version=4)
    tour.cells.append(nbformat.v4.new_code_cell(TRAIT, id="trait"))
    nbformat.write(tour, folder / "1-tour.ipynb")
    with _served(program, folder, jupyter_home / "runtime") as address:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            wrong = watch(page)
            page.goto(address, timeout=240_000, wait_until="commit")  # Voila runs all cells before it ends the page
            if program != "voila":
                run_all(page)
            _drive(page)
        finally:
            browser.close()
    assert [line for line in wrong if line not in THEIRS[program]] == []


@contextmanager
def _served(program: str, folder: Path, runtime: Path) -> Iterator[str]:
    """Serve the folder, and yield the address of the tour."""
    if program == "voila":
        with running_voila(folder / "1-tour.ipynb") as address:
            yield address
        return
    with running_lab(folder, runtime, program=program) as address:
        yield f"{address}{'lab/tree' if program == 'jupyterlab' else 'notebooks'}/1-tour.ipynb?token={TOKEN}"


def _drive(page: Page) -> None:
    """Move one widget, see the table, the trait and the other widget follow; ask for rows and take it back."""
    panel, linked = (page.locator(".dte-view").nth(place).locator(".explorer") for place in (0, 1))
    expect(page.get_by_text("the trait is 30", exact=True)).to_be_visible(timeout=240_000)  # all cells have run
    for widget in (panel, linked):
        _expect_version(widget, 30)
    strip = panel.locator("#timeline-slot")
    strip.press("ArrowRight")
    for widget in (panel, linked):
        _expect_version(widget, 31)
    expect(page.get_by_text("the trait is 31", exact=True)).to_be_visible(timeout=PATIENCE)
    linked.locator("#timeline-slot").press("ArrowLeft")
    _expect_version(panel, 30)
    linked.locator("#timeline-slot").press("ArrowLeft")
    _expect_version(panel, 29)
    expect(page.get_by_text("the trait is 29", exact=True)).to_be_visible(timeout=PATIENCE)
    panel.get_by_role("link", name="Data", exact=True).click()
    condition = panel.locator("#rows-where")
    condition.fill(SLOW)
    condition.press("Enter")
    cancel = panel.get_by_role("button", name=re.compile("Cancel|Stop"))
    cancel.click(timeout=PATIENCE)
    expect(cancel).to_be_hidden(timeout=PATIENCE)
    condition.fill("order_id = 104447")
    condition.press("Enter")
    expect(panel.locator("table.list tbody tr")).to_have_count(1, timeout=120_000)


def _expect_version(widget: Locator, version: int) -> None:
    expect(widget.locator("h1.version")).to_have_text(f"v{version}", timeout=PATIENCE)


def run_all(page: Page) -> None:
    """Run all cells of the notebook that is open."""
    page.wait_for_function(
        "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel", timeout=90_000
    )
    page.wait_for_timeout(500)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
