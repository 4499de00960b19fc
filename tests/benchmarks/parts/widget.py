"""How soon the notebook's widget shows a large table, and turns a page of a million files, in JupyterLab in Chromium.

A cell is run in a kernel that has shown a widget of another table. *Shown* is when its strip and its findings' place
are drawn; *again* is the same in a new kernel, with what the first kept of the table. A page is turned by a click, and
has turned when the list's first row is another one.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import nbformat
import pytest

from explorer.variables import CACHE_VARIABLE
from tests.benchmarks.sets import FOLDER, REPOSITORY, prepared, prepared_demo
from tests.e2e.conftest import ARGUMENTS, CHROMIUM
from tests.notebooks.lab import TOKEN, running_lab
from tests.notebooks.places import jupyter_places

SHOWN: Final = {"first": 2.0, "again": 1.0}
"""Seconds until the widget of M is shown."""
TURNED: Final = 0.2
TURNS: Final = 7
ROUNDS: Final = 3
MOST_KILOBYTES: Final = 100

_CELLS: Final = {
    "warm": "import explorer\nexplorer.open_table({demo!r}).explore(tab='files')",
    "M": "explorer.open_table({M!r}).explore()",
    "L": "explorer.open_table({L!r}).explore(tab='files')",
}
_READY: Final = "() => window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
_SHOWN: Final = """number => {
    const root = document.querySelectorAll('.dte-view')[number]?.shadowRoot;
    return root && root.querySelector('#strip-figure .bars .point') && root.querySelector('h1.version')
        && root.querySelector('#lead table tbody tr, #rest table tbody tr') && performance.now();
}"""
_RUN: Final = """() => {
    window.asked = performance.now();
    window.jupyterapp.commands.execute('notebook:run-cell-and-select-next');
}"""
_TURN: Final = """async number => {
    const root = document.querySelectorAll('.dte-view')[number].shadowRoot;
    const first = () => root.querySelector("#lead table.list tbody tr").innerText;
    const before = first(), begun = performance.now();
    [...root.querySelectorAll('.pager a')].find(link => link.textContent === 'Next').click();
    while (first() === before) await new Promise(requestAnimationFrame);
    return performance.now() - begun;
}"""


def measure() -> Iterator[dict[str, Any]]:
    """One record a widget or a movement: what, and seconds; and the kilobytes of the notebook that is saved."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise SystemExit("There is no Chromium on this machine.")
    tables = {name: str(prepared(name)) for name in ("M", "L")} | {"demo": str(prepared_demo() / "crm" / "customers")}
    shown: dict[tuple[str, str], list[float]] = {}
    turns: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as kept:
                for turn in SHOWN:
                    with _opened(browser, Path(kept), _cells(tables)) as (page, _):
                        for number, name in enumerate(_CELLS):
                            page.evaluate(_RUN)
                            page.wait_for_function(_SHOWN, arg=number, polling=20)
                            seconds = page.evaluate("performance.now() - asked") / 1e3
                            shown.setdefault((name, turn), []).append(seconds)
                            page.wait_for_timeout(1_500)
                        turns += [page.evaluate(_TURN, len(_CELLS) - 1) / 1e3 for _ in range(TURNS)]
        one = [nbformat.v4.new_code_cell(_CELLS["warm"].format(**tables))]
        saved = {
            "a notebook of one widget": _saved(browser, one, 1),
            "the tour, of two widgets": _saved(
                browser, nbformat.read(REPOSITORY / "notebooks" / "1-tour.ipynb", as_version=4).cells, 2
            ),
        }
        browser.close()
    for (name, turn), seconds in shown.items():
        if name != "warm":
            goal = SHOWN[turn] if name == "M" else None
            yield {"of": "widget", "what": name, "turn": turn, "goal": goal, "seconds": statistics.median(seconds)}
    yield {"of": "page", "what": "L", "goal": TURNED, "seconds": statistics.median(turns), "slowest": max(turns)}
    for what, kilobytes in saved.items():
        yield {"of": "saved", "what": what, "goal": MOST_KILOBYTES, "kilobytes": kilobytes}


def _saved(browser: Any, cells: list[Any], widgets: int) -> float:
    """Kilobytes of a notebook after a run, saved with its outputs and the state of its widgets."""
    with tempfile.TemporaryDirectory() as kept, _opened(browser, Path(kept), cells) as (page, notebook):
        page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        page.wait_for_function(_SHOWN, arg=widgets - 1, polling=100)
        page.locator(".jp-StatusBar-Widget").get_by_text("| Idle").wait_for()
        page.wait_for_timeout(3_000)
        page.evaluate("() => window.jupyterapp.commands.execute('@jupyter-widgets/jupyterlab-manager:saveWidgetState')")
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        page.wait_for_timeout(3_000)
        text = notebook.read_text("utf-8")
        assert '"application/vnd.jupyter.widget-state+json"' in text, "the state of the widgets is not saved"
        return len(text.encode()) / 1e3


def _cells(tables: dict[str, str]) -> list[Any]:
    return [nbformat.v4.new_code_cell(text.format(**tables), id=name) for name, text in _CELLS.items()]


@contextmanager
def _opened(browser: Any, kept: Path, cells: list[Any]) -> Iterator[tuple[Any, Path]]:
    """A notebook in a new JupyterLab with a kernel that has run nothing, and its file."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as variables:
        served = Path(folder, "served")
        served.mkdir()
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
        notebook.cells = cells
        nbformat.write(notebook, served / "measured.ipynb")
        variables.setenv("XDG_CACHE_HOME", str(kept))
        variables.delenv(CACHE_VARIABLE, raising=False)
        with (
            jupyter_places(Path(folder), FOLDER / "demo"),
            running_lab(served, Path(folder, "runtime")) as address,
            _window(browser) as page,
        ):
            page.goto(f"{address}lab/tree/measured.ipynb?token={TOKEN}")
            page.wait_for_function(_READY)
            page.locator(".jp-StatusBar-Widget").get_by_text("| Idle").wait_for()
            yield page, served / "measured.ipynb"


@contextmanager
def _window(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(120_000)
    yield page
    context.close()
