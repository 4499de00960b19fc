"""Every control of the widget is answered, and leaves the notebook around it as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.page.tabs import TABS
from tests.e2e.crawl.crawler import Crawler, WidgetView
from tests.support.at_least_one import at_least_one
from tests.support.dose import WHOLE_DOSE
from tests.support.logs import hostile_tables
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.shown_widget import shown_widget
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e

_NOTEBOOK = '<!doctype html><body data-jp-theme-light="true"><div style="width: 1100px"></div></body>'
# Rows need Spark.
_SPARK = (
    "button erasure-go", "button do=rows", "button do=changes", "button do=differences", "button rows-go",
    "button differences-go",
)  # fmt: skip
_PLAN = "tab=act&act=enable-feature&f.feature=deletionVectors&step=plan"
# All under make prove; on every run those with the most kinds of controls.
PRESSED = [*(f"tab={tab.key}" for tab in TABS), _PLAN] if WHOLE_DOSE else ["tab=statistics"]

Show = Callable[[Path], Any]


@pytest.fixture
def show(windows: Any) -> Iterator[Show]:
    """Return a function that shows a table's widget in a page of its own."""
    page = windows.new_page()
    page.set_default_timeout(30_000)
    with ExitStack() as ends:

        def show(table: Path) -> Any:
            ends.enter_context(shown_widget(page, explorer.open_table(table).explore(allow_commits=True), _NOTEBOOK))
            page.locator(".explorer main").wait_for()
            return page

        yield show
    page.close()


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    commits = [[commit_info("CREATE TABLE"), PROTOCOL, metadata({"order_id": "long", "amount": "double"})]]
    bounds = {"order_id": (1, 9)}
    commits += [[commit_info("WRITE"), add(f"part-{n}.parquet", n * 10, bounds=bounds)] for n in (1, 2, 3)]
    return write_log(tmp_path / "orders", commits)


@pytest.mark.whole("the other tests of this file, and tests/e2e/test_widget_view.py")
def test_every_control_of_the_widget_is_answered(show: Show, orders: Path) -> None:
    page = show(orders)
    crawler = Crawler(page, WidgetView(page), once=True, without=_SPARK)
    for query in at_least_one(PRESSED):
        assert crawler.visit(f"?t=orders&v=2&{query}") > 20
    assert crawler.crawl.wrong == []


def test_nothing_on_the_page_of_a_table_that_cannot_be_read_leads_out_of_the_notebook(
    show: Show, tmp_path: Path
) -> None:
    page = show(hostile_tables.broken_table(tmp_path / "broken"))
    page.get_by_role("button", name="Try again").wait_for()
    shown = [link.inner_text() for link in page.locator("a:not([data-nav])").all() if link.is_visible()]
    assert shown == []


def test_a_link_to_a_part_of_the_page_leads_there_and_not_the_notebook(show: Show, orders: Path) -> None:
    page = show(orders)
    before = page.url
    WidgetView(page).open(f"?t=orders&{_PLAN}")
    page.locator('main a[href="#losses"]').first.click()
    root = "document.querySelector('.dte-view').shadowRoot"
    wait_until(page, f"Math.abs({root}.getElementById('losses').getBoundingClientRect().top) < 300")
    assert page.evaluate(f"{root}.activeElement.id") == "losses"
    assert page.url == before
