"""Every control of every page: of all tables of the demo and of odd ones, in both themes, where commits are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from explorer.web.tabs import TABS
from tests.e2e.crawler import Crawler
from tests.e2e.odd_warehouse import write_odd_tables
from tests.support.dose import WHOLE_DOSE
from tests.support.served_pages import SERVE_COMMITS, served

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not WHOLE_DOSE, reason="takes an hour: only under make prove; tests/e2e/test_crawler.py is a part"
    ),
]

DEMO = ("archive/sensors-damaged", "crm/customers", "finance/ledger", "sales/orders", "web/events")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Build the demo and the odd tables; the folder and the names of all tables."""
    from explorer.demo import build_warehouse

    root = tmp_path_factory.mktemp("crawl") / "lake"
    build_warehouse(root / "demo", date(2026, 4, 23))
    odd = write_odd_tables(root / "odd")
    return root, [f"lake/demo/{name}" for name in DEMO] + [f"lake/odd/{name}" for name in odd]


@pytest.fixture(scope="module")
def lake_served(lake: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the tables; the address, and the file that the server's log goes to."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with served(lake[0], SERVE_COMMITS, log) as url:
        yield url, log


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_control_of_every_page(
    theme: str, browser: Any, lake_served: tuple[str, Path], lake: tuple[Path, list[str]]
) -> None:
    address, log = lake_served
    window = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme)
    page = window.new_page()
    page.set_default_timeout(60_000)
    crawler = Crawler(page, address)
    crawler.visit("?q=lake")
    for table in lake[1]:
        for tab in TABS:
            crawler.visit(f"?t={table}&tab={tab.key}")
            print(
                f"{theme} {table} {tab.key}: {crawler.crawl.pressed} pressed, {len(crawler.crawl.wrong)} wrong",
                flush=True,
            )
    window.close()
    assert crawler.crawl.wrong == []
    assert "ERROR:" not in log.read_text()
    print(f"{theme}: {crawler.crawl.pressed} controls and keys pressed on {len(crawler.crawl.pages)} pages")
