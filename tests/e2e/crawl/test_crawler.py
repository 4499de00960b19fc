"""Every control of every page is answered, and nothing goes wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from explorer.page.tabs import TABS as TAB_SPECS
from tests.e2e.crawl.crawler import Crawler
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.e2e

TABS = tuple(tab.key for tab in TAB_SPECS)
# Rows need Spark, which tests/e2e/tabs/test_rows.py and test_changes.py start.
SPARK = (
    "button erasure-go", "button do=rows", "button do=changes", "button do=differences", "button rows-go",
    "button differences-go",
)  # fmt: skip
# All of them under make prove, each alone; on every run those with the most kinds of controls, where a control that
# several of them have is pressed on the first.
PRESSED = [(tab,) for tab in TABS] if WHOLE_DOSE else [("statistics", "act")]
ODD = ("hostile", "broken", "future", "empty", "long") if WHOLE_DOSE else ("hostile",)


@pytest.fixture
def crawler(windows: Any, address: str) -> Iterator[Crawler]:
    """Crawl in a window of its own; what went wrong fails the test."""
    page = windows.new_page()
    page.set_default_timeout(30_000)
    crawler = Crawler(page, address, once=True, without=SPARK)
    yield crawler
    page.close()
    assert crawler.crawl.wrong == []


@pytest.mark.whole("tests/page/test_session.py, where every control of every tab draws it again")
@pytest.mark.parametrize("tabs", PRESSED, ids="+".join)
def test_every_control_of_a_tab_is_answered(crawler: Crawler, tabs: tuple[str, ...]) -> None:
    for tab in at_least_one(tabs):
        assert crawler.visit(f"?t=shop/reference/deletion-vectors&v=8&tab={tab}") > 20


@pytest.mark.whole(
    "tests/web/home/test_home.py, where the list is asked, and e2e/test_states.py, where it is looked at"
)
def test_every_control_of_the_list_of_tables_is_answered(crawler: Crawler) -> None:
    crawler.visit("?q=shop")
    assert crawler.crawl.pressed > 10


@pytest.mark.whole("tests/web/test_pages.py, where hostile strings become no element and no handler", cases=["hostile"])
@pytest.mark.parametrize("table", ODD)
def test_every_tab_of_an_odd_table_can_be_looked_at(crawler: Crawler, table: str) -> None:
    for tab in TABS:
        crawler.look(f"?t=shop/odd/{table}&tab={tab}")
    assert len(crawler.crawl.pages) == len(TABS)
