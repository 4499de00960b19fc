"""A served explorer and a browser that forgives nothing.

``watched`` is a page that fails its test on any request off this machine, any HTTP status from 400, any error in the
console and any uncaught error.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.served_pages import SERVE, served, watch
from tests.support.pages.waiting import wait_until
from tests.support.shared_tables import reference_root

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), None)
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
# A page of a test runs its scripts once: compiling them well takes longer than it saves.
FAST = [] if WHOLE_DOSE else ["--js-flags=--no-turbofan --no-maglev"]
TABLES = ("deletion-vectors", "column-mapping", "optimize", "change-feed", "log-cleanup")


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Launch the system's Chromium; skip where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package chromium")
    return {"executable_path": CHROMIUM, "args": ARGUMENTS + FAST}


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy tables of the reference writer, and write hostile and broken ones beside them."""
    root = tmp_path_factory.mktemp("e2e") / "shop"
    for name in TABLES:
        shutil.copytree(reference_root() / "tables" / name, root / "reference" / name)
    hostile_tables.hostile_table(root / "odd" / "hostile")
    hostile_tables.broken_table(root / "odd" / "broken")
    hostile_tables.future_table(root / "odd" / "future")
    hostile_tables.empty_table(root / "odd" / "empty")
    write_table(
        root / "odd" / "long", [column("text", "string")], [DataFile("a.parquet", pa.table({"text": ["e" * 500]}))]
    )
    hostile_tables.empty_table(root.parent / "outside")
    (root / "escape").symlink_to(root.parent / "outside")
    return root


@pytest.fixture(scope="session")
def address(warehouse: Path) -> Iterator[str]:
    """Serve the warehouse; yields the URL."""
    with served(warehouse, SERVE, warehouse.parent / "server.log") as url:
        yield url


@pytest.fixture(scope="session")
def windows(
    browser_type: Any, browser_type_launch_args: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """Yield one browser context for all tests, with a profile on the disk.

    Its cache spares each test the loading of plotly, and keeps the scripts as compiled: a page costs a third. Nothing
    moves by itself: what does so while a server works is drawn at each frame.
    """
    profile = tmp_path_factory.mktemp("browser")
    viewport = {"width": 1440, "height": 900}
    context = browser_type.launch_persistent_context(
        profile, viewport=viewport, reduced_motion="reduce", **browser_type_launch_args
    )
    yield context
    context.close()


@pytest.fixture
def watched(windows: Any) -> Iterator[Any]:
    """Yield a page that fails its test when anything goes wrong in it."""
    windows.clear_cookies()
    page = windows.new_page()
    page.set_default_timeout(30_000)
    wrong = watch(page)
    yield page
    page.close()
    assert wrong == []


@pytest.fixture
def opened(watched: Any, address: str) -> Any:
    """Return a function that opens a query and waits until the page answers."""

    def open_query(query: str = "") -> Any:
        watched.goto(f"{address}/{query}")
        settle(watched)
        return watched

    return open_query


def settle(page: Any, result: str = "") -> None:
    """Wait until the server has answered all that the page asked for.

    Args:
        page: The browser's page.
        result: A selector of what comes by itself after these answers: rows that a tab reads when it is opened.
    """
    # Not at each frame, as is the default: the browser would draw as fast as it can while the server works.
    wait_until(page, "window.explorerPage && explorerPage.answered >= explorerPage.sent")
    if result:
        page.locator(result).first.wait_for()


def plotted(page: Any, slot: str) -> Any:
    """Wait until the figure in a slot is drawn; returns the plot."""
    plot = page.locator(f"#{slot} .js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    return plot
