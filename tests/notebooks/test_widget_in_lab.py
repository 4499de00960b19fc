"""The widget in a real browser: it draws, it answers, it asks no other machine.

In JupyterLab, and in the whole dose in Notebook 7 and Voila too.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, Playwright, expect

from tests.e2e.conftest import FAST
from tests.notebooks.lab import TOKEN, running_lab, running_voila
from tests.notebooks.test_tour_in_lab import PATIENCE, THEIRS, run_all
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import PROTOCOL, add, metadata, write_log
from tests.support.pages.served_pages import watch
from tests.support.shared_tables import REPOSITORY

BROWSER_OPTIONS = [
    *FAST,
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FITS = """() => {
  const view = document.querySelector(".jp-OutputArea-output .dte-view, .dte-view");
  const figure = view.shadowRoot.getElementById("strip-figure");
  return Math.abs(figure._fullLayout.width - figure.parentElement.clientWidth) < 60;
}"""
INKED = """dark => {
  const { shadowRoot } = document.querySelector(".dte-view");
  const isLabel = ({ textContent: said }) => /\\d|[a-z]/.test(said) && !/^v\\d+$/.test(said);
  const labels = [...shadowRoot.querySelectorAll("#strip-figure text")].filter(isLabel);
  const parts = (label) => getComputedStyle(label).fill.match(/\\d+/g).slice(0, 3);
  const light = (label) => parts(label).reduce((sum, part) => sum + Number(part), 0) / 3 > 120;
  return labels.length > 9 && labels.every((label) => light(label) === dark);
}"""
"""Every label of the timeline can be read on the ground of the theme; those of versions may have a ground of theirs."""
PLACE = """(version) => {
  const figure = document.querySelector(".dte-view").shadowRoot.getElementById("strip-figure");
  const { left, top } = figure.getBoundingClientRect();
  const { xaxis, _size } = figure._fullLayout;
  return { x: left + _size.l + xaxis.d2p(version), y: top + _size.t + 3 };
}"""
TOUCHING = """width => {
  const view = document.querySelector(".dte-view");
  const figure = view.shadowRoot.getElementById("strip-figure");
  const edge = figure.getBoundingClientRect();
  if (Math.abs(view.clientWidth - width) > 3) return ["the cell is not as wide as it should be"];
  if (Math.abs(figure._fullLayout.width - figure.parentElement.clientWidth) > 60) return ["the figure does not fit"];
  const boxes = [...figure.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const shown = boxes.filter(([said, { width }]) => said.trim() && width);
  const across = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = (one, other) => Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const touch = (one, other) => across(one, other) > 1 && down(one, other) > 3;
  const off = shown.filter(([, box]) => box.left < edge.left - 1 || box.right > edge.right + 1);
  const over = shown.flatMap(([said, box], at) =>
    shown.slice(at + 1).filter(([, other]) => touch(box, other)).map(([also]) => `${said} on ${also}`));
  const sideways = view.scrollWidth > view.clientWidth + 1 ? ["the widget scrolls sideways"] : [];
  return [...off.map(([said]) => `${said} is cut off`), ...over, ...sideways];
}"""
"""Labels of the timeline that are on others, or end outside of it."""
STRIP = ".dte-view #strip-figure .bars"


@pytest.mark.e2e
@pytest.mark.notebook
@pytest.mark.timeout(420)
def test_widget_draws_and_answers_in_every_program(jupyter_home: Path, playwright: Playwright) -> None:
    import nbformat

    expect.set_options(timeout=PATIENCE)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    folder = jupyter_home / "served"
    folder.mkdir()
    story = nbformat.read(REPOSITORY / "notebooks" / "1-tour.ipynb", as_version=4)
    story.cells = [cell for cell in story.cells if cell["id"] in {"open", "explore"}]
    story.cells += [nbformat.v4.new_code_cell(text, id=name) for name, text in _MORE.items()]
    _damaged(folder / "damaged")
    nbformat.write(story, folder / "story.ipynb")
    with running_lab(folder, jupyter_home / "runtime", theme="JupyterLab Dark") as address:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER_OPTIONS)
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 1000})
            wrong = watch(page)
            _run_all(page, f"{address}lab/tree/story.ipynb?token={TOKEN}")
            _drive(page)
            if WHOLE_DOSE:
                _narrow(page)
            _look_at_the_others(page)
            _restart_the_kernel(page)
            page.close()
            assert wrong == []
            if WHOLE_DOSE:
                _elsewhere(browser, "notebook", f"{address}notebooks/story.ipynb?token={TOKEN}")
                with running_voila(folder / "story.ipynb") as voila:
                    _elsewhere(browser, "voila", voila)
        finally:
            browser.close()


_AFTER_LAB = "script: Command 'filebrowser:open-path' not registered."
"""What Notebook says with any notebook where JupyterLab was open before: it takes up its folder."""
_MORE = {
    "broken": "import explorer\nbroken = explorer.open_table('damaged').explore()\nbroken.theme = 'dark'\nbroken",
    "own-theme": "dark = orders.explore(tab='columns')\ndark.theme = 'dark'\ndark",
    "same": "panel",
}


def _damaged(folder: Path) -> None:
    """A table with a line that is cut off."""
    write_log(folder, [[PROTOCOL, metadata({"a": "long"})], [add("a.parquet")]])
    last = folder / "_delta_log" / f"{1:020}.json"
    last.write_text(last.read_text()[:40])


def _view(page: Page, number: int = 0) -> Locator:
    return page.locator(".dte-view").nth(number).locator(".explorer")


def _look_at_the_others(page: Page) -> None:
    """A table that cannot be read says why; a dark widget stays dark in a lab that is light by now."""
    expect(_view(page, 1).get_by_text("A line of the log cannot be read")).to_be_visible(timeout=30_000)
    dark = _view(page, 2)
    expect(dark).to_have_attribute("data-theme", "dark")
    field = dark.locator("input:visible").first
    assert field.evaluate("field => getComputedStyle(field).backgroundColor") == "rgb(25, 28, 32)"
    # The same widget in another cell is where the first one is.
    expect(_view(page, 3).locator("h1.version")).to_have_text(_view(page).locator("h1.version").inner_text())
    assert page.evaluate("() => 'Plotly' in window") is False, "plotly is no name of the notebook's page"


def _restart_the_kernel(page: Page) -> None:
    """The widget says that nothing answers it any more, and what to do."""
    silence = _view(page).locator("#silence")
    expect(silence).to_be_hidden()
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    expect(silence).to_be_visible(timeout=30_000)
    expect(silence).to_contain_text("No kernel answers.")
    expect(silence).to_contain_text("Run the cell to use it.")
    _view(page).get_by_role("link", name="Files", exact=True).click()
    expect(silence).to_contain_text("No kernel answers.")


def _elsewhere(browser: Browser, program: str, address: str) -> None:
    """Run the story in another program, and step with a key; Voila's page runs the cells itself."""
    page = browser.new_page(viewport={"width": 1440, "height": 1000})
    wrong = watch(page)
    page.goto(address, timeout=120_000, wait_until="commit")
    if program != "voila":
        run_all(page)
    page.locator(STRIP).first.wait_for(state="attached", timeout=120_000)
    version = _view(page).locator("h1.version")
    last = int(version.inner_text().removeprefix("v"))
    _view(page).locator("#timeline-slot").press("ArrowLeft")
    expect(version).to_have_text(f"v{last - 1}")
    page.close()
    assert [line for line in wrong if line not in (*THEIRS[program], _AFTER_LAB)] == [], program


def _run_all(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".jp-StatusBar-Widget").get_by_text("| Idle").wait_for(timeout=60_000)
    page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
    page.locator(STRIP).first.wait_for(state="attached", timeout=60_000)


def _drive(page: Page) -> None:
    root = _view(page)
    version, compared = root.locator("h1.version"), root.locator("#strip summary.chip").first
    last = int(version.inner_text().removeprefix("v"))
    expect(root).to_have_attribute("data-theme", "dark")
    page.wait_for_function(INKED, arg=True, timeout=PATIENCE)
    _point(page, 10)
    expect(version).to_have_text("v10")
    expect(compared).to_contain_text("v9")
    _point(page, 4, "Shift")
    expect(compared).to_contain_text("v4")
    expect(version).to_have_text("v10")
    root.locator("#timeline-slot").press("ArrowRight")
    expect(version).to_have_text("v11")
    root.locator("#timeline-slot").press("End")
    expect(version).to_have_text(f"v{last}")
    root.locator("#timeline-slot").press("ArrowLeft")
    _select_a_file(root)
    for name in ("Statistics", "Erasure", "Case", "Edit"):
        root.get_by_role("link", name=name, exact=True).click()
        expect(root.locator("#tabs a[aria-current]")).to_have_text(name)
    if WHOLE_DOSE:
        # It starts a JVM in the kernel.
        _read_rows(root)
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' })")
    expect(root).to_have_attribute("data-theme", "light")
    page.wait_for_function(INKED, arg=False, timeout=PATIENCE)


def _narrow(page: Page) -> None:
    """No label of the timeline touches another one in cells down to 360 pixels."""
    for side in ("Left", "Right"):
        page.evaluate(f"() => window.jupyterapp.shell.collapse{side}()")
    root = page.locator(".dte-view").first
    for wanted in (850, 500, 360):
        for _ in range(4):  # Lab's own margins follow the window
            beside = wanted - root.evaluate("root => root.clientWidth")
            page.set_viewport_size({"width": page.viewport_size["width"] + beside, "height": 1000})
            page.wait_for_timeout(500)
        page.wait_for_function(f"width => ({TOUCHING})(width).length === 0", arg=wanted, timeout=10_000)
    page.set_viewport_size({"width": 1440, "height": 1000})


def _select_a_file(root: Locator) -> None:
    """Tick the box in front of a file: the kernel says that it is selected, and marks it."""
    root.get_by_role("link", name="Files", exact=True).click()
    box = root.get_by_role("checkbox").first
    box.click()
    expect(root.get_by_text("1 selected")).to_be_visible(timeout=30_000)
    expect(box).to_be_checked()


def _read_rows(root: Locator) -> None:
    """Ask for rows, as far as there is a Java to read them with."""
    root.get_by_role("link", name="Data", exact=True).click()
    condition = root.locator("#rows-where")
    condition.fill("order_id > 0")
    condition.press("Enter")
    answer = root.locator("#lead table.list, #rest table.list, .inline-problem")
    expect(answer.first).to_be_visible(timeout=180_000)


def _point(page: Page, version: int, *keys: Literal["Shift"]) -> None:
    """Click over a version where its column has no bar, when the figure has taken the width of the widget."""
    page.wait_for_function(FITS)
    place = page.evaluate(PLACE, version)
    page.mouse.move(place["x"] - 3, place["y"])
    page.mouse.move(place["x"], place["y"])
    for key in keys:
        page.keyboard.down(key)
    page.mouse.click(place["x"], place["y"])
    for key in keys:
        page.keyboard.up(key)
