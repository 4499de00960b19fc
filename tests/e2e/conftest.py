"""A served explorer and a browser that forgives nothing.

``watched`` is a page that fails its test on any request off this machine, any HTTP status from 400, any error in the
console and any uncaught error.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support import hostile_tables
from tests.support.shared_tables import REPOSITORY, reference_root
from tests.support.spark_tables import DataFile, column, write_table

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((path for name in BROWSERS if (path := shutil.which(name))), None)
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
]  # fmt: skip
LOOPBACK = ("http://127.0.0.1:", "http://localhost:", "ws://127.0.0.1:", "ws://localhost:", "data:", "blob:", "about:")
SERVE = "import sys; from explorer.web import serve; serve(sys.argv[1:], ready=lambda url: print(url, flush=True))"
TABLES = ("deletion-vectors", "column-mapping", "optimize", "change-feed", "log-cleanup")


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Launch the system's Chromium; skip where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install the package chromium")
    return {"executable_path": CHROMIUM, "args": ARGUMENTS}


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
    yield from served(warehouse)


def served(root: Path) -> Iterator[str]:
    """Serve the tables under a folder in a process of its own; yields the URL."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=REPOSITORY,
    )  # fmt: skip
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    if not url:
        assert process.stderr is not None
        pytest.fail(f"the server did not start: {process.stderr.read()}")
    yield url.rstrip("/")
    process.terminate()
    process.communicate(timeout=20)


@pytest.fixture(scope="session")
def windows(browser: Any) -> Iterator[Any]:
    """Yield one browser context for all tests: its cache spares each of them the loading of plotly."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    yield context
    context.close()


@pytest.fixture
def watched(windows: Any) -> Iterator[Any]:
    """Yield a page that fails its test when anything goes wrong in it."""
    wrong: list[str] = []
    windows.clear_cookies()
    page = windows.new_page()
    page.set_default_timeout(30_000)
    page.on(
        "request", lambda r: None if r.url.startswith(LOOPBACK) else wrong.append(f"request off the machine: {r.url}")
    )
    page.on(
        "websocket", lambda s: None if s.url.startswith(LOOPBACK) else wrong.append(f"socket off the machine: {s.url}")
    )
    page.on("response", lambda r: wrong.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
    page.on("pageerror", lambda e: wrong.append(f"page error: {e}"))
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


def settle(page: Any) -> None:
    """Wait until the server has answered all that the page asked for."""
    page.wait_for_function("window.explorerPage && explorerPage.answered >= explorerPage.sent")


def plotted(page: Any, slot: str) -> Any:
    """Wait until the figure in a slot is drawn; returns the plot."""
    plot = page.locator(f"#{slot} .js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    return plot
