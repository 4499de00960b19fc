"""Every control of the widget in JupyterLab: every tab of tables of the demo and of an odd one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import nbformat
import pytest

from explorer.demo import build_warehouse
from explorer.page.tabs import TABS
from tests.e2e.crawl.crawler import Crawler, WidgetView
from tests.notebooks.lab import TOKEN, running_lab
from tests.notebooks.places import jupyter_places
from tests.notebooks.test_tour_in_lab import run_all
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.notebook,
    pytest.mark.skipif(
        not WHOLE_DOSE, reason="takes long: only under make prove; tests/e2e/crawl/test_widget_controls.py is a part"
    ),
]

_TABLES = ("demo/sales/orders", "demo/crm/customers", "demo/archive/sensors-damaged", "odd/hostile")
_CELL = "import explorer\nexplorer.open_table({table!r}).explore(allow_commits=True)"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the demo and an odd table."""
    root = tmp_path_factory.mktemp("crawl") / "lake"
    build_warehouse(root / "demo", date(2026, 4, 23))
    hostile_tables.hostile_table(root / "odd" / "hostile")
    return root


@pytest.fixture(scope="module")
def lab(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a notebook for each table in JupyterLab; the address of the notebooks."""
    home = tmp_path_factory.mktemp("lab")
    (home / "served").mkdir()
    for table in _TABLES:
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(_CELL.format(table=str(lake / table)))],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        nbformat.write(notebook, home / "served" / f"{Path(table).name}.ipynb")
    with jupyter_places(home, lake / "demo"), running_lab(home / "served", home / "runtime") as address:
        yield f"{address}lab/tree"


@pytest.fixture(params=["Light", "Dark"])
def page(request: pytest.FixtureRequest, browser: Any, lab: str, table: str) -> Iterator[Any]:
    """A table's notebook in a window of its own and in one of the themes, after its run."""
    window = browser.new_context(viewport={"width": 1440, "height": 900})
    page = window.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{lab}/{Path(table).name}.ipynb?token={TOKEN}&reset")
    run_all(page)
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", f"JupyterLab {request.param}"
    )
    page.locator(".dte-view main").wait_for()
    page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    yield page
    window.close()


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("table", _TABLES)
def test_every_control_of_every_tab_in_the_widget(request: pytest.FixtureRequest, page: Any, table: str) -> None:
    crawler = Crawler(page, WidgetView(page), every=True)
    for tab in TABS:
        crawler.visit(f"?t={Path(table).name}&tab={tab.key}")
    found = {"controls and keys pressed": crawler.crawl.pressed, "pages": len(crawler.crawl.pages)}
    request.node.user_properties.append(("found", found))
    assert crawler.crawl.wrong == []
    assert len(crawler.crawl.pages) == len(TABS)
