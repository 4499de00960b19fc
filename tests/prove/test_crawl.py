"""Every control of every page: of all tables of the demo and of odd ones, in both themes, where commits are allowed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from explorer.page.tabs import TABS
from tests.e2e.crawl.crawler import Crawler
from tests.e2e.crawl.odd_warehouse import ODD_TABLES, write_odd_tables
from tests.support.dose import WHOLE_DOSE
from tests.support.pages.served_pages import SERVE_COMMITS, served

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not WHOLE_DOSE, reason="takes an hour: only under make prove; tests/e2e/crawl/test_crawler.py is a part"
    ),
]

DEMO = (
    *("archive/sensors-damaged", "crm/customers", "finance/invoices", "finance/ledger"),
    *("sales/orders", "web/events"),
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the demo and the odd tables."""
    from explorer.demo import build_warehouse

    root = tmp_path_factory.mktemp("crawl") / "lake"
    build_warehouse(root / "demo", date(2026, 4, 23))
    write_odd_tables(root / "odd")
    return root


@pytest.fixture(scope="module")
def lake_served(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Serve the tables; the address, and the file that the server's log goes to."""
    log = tmp_path_factory.mktemp("log") / "server.log"
    with served(lake, SERVE_COMMITS, log) as url:
        yield url, log


@pytest.fixture(params=["light", "dark"])
def crawler(request: pytest.FixtureRequest, browser: Any, lake_served: tuple[str, Path]) -> Iterator[Crawler]:
    """Crawl in a window of its own, in one of the themes; what went wrong there or in the server fails the test."""
    address, log = lake_served
    before = len(log.read_text())
    window = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=request.param)
    page = window.new_page()
    page.set_default_timeout(60_000)
    crawler = Crawler(page, address, every=True)
    yield crawler
    window.close()
    found = {"controls and keys pressed": crawler.crawl.pressed, "pages": len(crawler.crawl.pages)}
    request.node.user_properties.append(("found", found))
    assert crawler.crawl.wrong == []
    assert "ERROR:" not in log.read_text()[before:]


def _press_every_tab(crawler: Crawler, table: str) -> None:
    for tab in TABS:
        crawler.visit(f"?t=lake/{table}&tab={tab.key}")
    assert len(crawler.crawl.pages) == len(TABS)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("table", DEMO)
def test_every_control_of_every_tab_of_a_demo_table(crawler: Crawler, table: str) -> None:
    _press_every_tab(crawler, f"demo/{table}")


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("table", ODD_TABLES)
def test_every_control_of_every_tab_of_an_odd_table(crawler: Crawler, table: str) -> None:
    _press_every_tab(crawler, f"odd/{table}")


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("query", ["?q=lake", "?show=activity"])
def test_every_control_of_the_list_of_tables(crawler: Crawler, query: str) -> None:
    crawler.visit(query)
    assert crawler.crawl.pressed > 10
