"""A view of the widget in a browser: in its own style scope, as wide as its place, in its theme, beside another one.

The kernel's part is real, on a loop of its own; the comm between the two is the test's.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

import explorer
from explorer.jupyter.browser.page_kit import PAGE_KIT, packed_plotly
from explorer.jupyter.widget import TableExplorer
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, write_log
from tests.support.pages.shown_widget import shown_widget
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e

_PAGE: Final = """<!doctype html><body data-jp-theme-light="true"><style>
  h1 { color: rgb(255, 0, 0); } table { transform: rotate(3deg); } a { font-size: 40px; }
</style><div id="one" style="width: 1000px"></div><div id="other" style="width: 400px"></div></body>"""
ONE: Final = "document.getElementById('one').firstChild.shadowRoot"


@pytest.fixture
def widget(tmp_path: Path) -> TableExplorer:
    columns = {"order_id": "long", "amount": "double"}
    commits = [[commit_info("CREATE TABLE", user_name="ana"), PROTOCOL, metadata(columns)]]
    bounds = {"order_id": (1, 9)}
    commits += [[commit_info("WRITE"), add(f"part-{n}.parquet", n * 10, bounds=bounds)] for n in (1, 2, 3)]
    return explorer.open_table(write_log(tmp_path / "orders", commits)).explore(tab="statistics")


@pytest.fixture
def shown(watched: Any, widget: TableExplorer) -> Iterator[Any]:
    """Return a function that shows two views of the widget."""
    with ExitStack() as ends:

        def show(*, plotly: bytes | None = None) -> Any:
            ends.enter_context(shown_widget(watched, widget, _PAGE, plotly=plotly))
            return watched

        yield show


def test_two_views_are_drawn_with_their_figures_and_leave_the_page_as_it_was(shown: Any) -> None:
    page = shown()
    for place in ("one", "other"):
        root = f"document.getElementById('{place}').firstChild.shadowRoot"
        wait_until(page, f"{root}.querySelector('#strip-figure .bars') && {root}.querySelector('#chart-figure svg')")
        layers = "[...{root}.querySelectorAll('{name} .svg-container, {name} .main-svg')]"
        for name in ("#strip-figure", "#chart-figure"):
            found = layers.format(root=root, name=name)
            tops = page.evaluate(f"{found}.map((layer) => layer.getBoundingClientRect().top)")
            assert len(tops) > 2
            assert len(set(tops)) == 1, "notes and what is said of a mark lie over the marks"
    assert page.evaluate("'Plotly' in window") is False
    assert page.evaluate("document.head.querySelectorAll('style[nonce]').length") == 0
    assert page.evaluate("sent.filter(({ kind }) => kind === 'plotly').length") == 1
    names = page.evaluate("sent.filter(({ kind }) => kind === 'hello').map(({ view }) => view)")
    assert len(set(names)) == 2
    # The notebook's rules stay out, and the page's own stay in.
    assert page.evaluate(f"getComputedStyle({ONE}.querySelector('h1')).color") != "rgb(255, 0, 0)"
    assert page.evaluate(f"getComputedStyle({ONE}.querySelector('#tabs a')).fontSize") != "40px"
    assert page.evaluate("getComputedStyle(document.body).display") == "block"


@pytest.mark.whole("test_two_views_are_drawn_with_their_figures_and_leave_the_page_as_it_was")
def test_each_view_is_laid_out_for_its_own_width(shown: Any) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    sides = [
        page.evaluate(
            f"document.getElementById('{place}').firstChild.shadowRoot.querySelector('main').scrollWidth"
            f" - document.getElementById('{place}').clientWidth"
        )
        for place in ("one", "other")
    ]
    assert max(sides) <= 1, "nothing is wider than its place"
    columns = "getComputedStyle({0}.querySelector('.facts, main')).gridTemplateColumns"
    assert page.evaluate(columns.format(ONE)) != page.evaluate(
        columns.format("document.getElementById('other').firstChild.shadowRoot")
    )


@pytest.mark.whole("test_where_the_notebook_names_no_theme_the_color_behind_the_widget_decides")
def test_the_theme_is_the_notebooks_until_the_trait_says_another(shown: Any) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    theme = f"{ONE}.querySelector('.explorer').dataset.theme"
    assert page.evaluate(theme) == "light"
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    wait_until(page, f"{theme} === 'dark'")
    page.evaluate("model.set('theme', 'light')")
    wait_until(page, f"{theme} === 'light'")
    assert page.evaluate("sent.filter(({ kind }) => kind === 'theme').map(({ theme }) => theme)")[-1] == "light"


def test_where_the_notebook_names_no_theme_the_color_behind_the_widget_decides(shown: Any) -> None:
    page = shown()
    page.evaluate("delete document.body.dataset.jpThemeLight")
    for color, theme in at_least_one(
        [
            ("oklch(0.2 0 0)", "dark"), ("oklch(1 0 0)", "light"), ("#111", "dark"), ("color(srgb 0.9 1 1)", "light"),
            ("lab(9% 0 0)", "dark"), ("rgba(0, 0, 0, 0.05)", "light"), ("black", "dark"), ("transparent", "light"),
        ]
    ):  # fmt: skip
        page.evaluate("color => { document.body.style.background = color; }", color)
        wait_until(page, f"{ONE}.querySelector('.explorer').dataset.theme === '{theme}'")


@pytest.mark.whole("test_two_views_are_drawn_with_their_figures_and_leave_the_page_as_it_was")
def test_an_address_is_asked_for_by_a_click_and_a_key_in_its_view_alone(shown: Any) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    page.evaluate("sent.length = 0")
    page.locator("#one").get_by_role("link", name="Files", exact=True).click()
    page.locator("#one").get_by_role("heading", name="Live files").wait_for()
    page.locator("#one #timeline-slot").press("ArrowLeft")
    asked = page.evaluate("sent.filter(({ kind }) => kind === 'go').map(({ query, view }) => [query, view])")
    assert [query for query, _ in asked] == ["?t=orders&tab=files", "?t=orders&v=2&tab=files"]
    assert len({view for _, view in asked}) == 1


@pytest.mark.whole("test_charts.py, on the page of a browser")
def test_without_plotly_the_still_picture_stays_and_the_page_says_so(shown: Any) -> None:
    page = shown(plotly=b"\x01\x02\x03")
    note = f"{ONE}.querySelector('#timeline-slot .undrawn')"
    wait_until(page, f"{note} && getComputedStyle({note}).display !== 'none'")
    assert page.evaluate(f"{ONE}.querySelector('#still svg') !== null")


@pytest.mark.whole("test_a_cell_that_runs_again_draws_its_view_in_the_same_place")
def test_a_view_that_goes_says_so_and_is_silent_from_then_on(shown: Any) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    page.evaluate("gone.forEach((end) => end())")
    assert page.evaluate("sent.slice(-2).map(({ kind }) => kind)") == ["end", "end"]
    before = page.evaluate("sent.length")
    page.evaluate("model.set('theme', 'dark'); window.dispatchEvent(new Event('resize'))")
    assert page.evaluate("sent.length") == before


@pytest.mark.whole("test_a_cell_that_runs_again_draws_its_view_in_the_same_place")
def test_the_views_of_a_page_that_is_left_end_in_the_kernel_and_begin_again_if_it_comes_back(
    shown: Any, widget: TableExplorer
) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    assert len(widget._windows) == 2
    leave = "name => window.dispatchEvent(new PageTransitionEvent(name, { persisted: true }))"
    page.evaluate(leave, "pagehide")
    wait_until(page, "sent.filter(({ kind }) => kind === 'end').length === 2")
    page.wait_for_timeout(200)
    assert len(widget._windows) == 0
    before = page.evaluate(f"{ONE}.querySelector('.explorer').dataset.mark")
    page.evaluate(leave, "pageshow")
    wait_until(page, f"{ONE}.querySelector('.explorer').dataset.mark !== '{before}'")
    page.locator("#one").get_by_role("link", name="Files", exact=True).click()
    page.locator("#one").get_by_role("heading", name="Live files").wait_for()
    assert len(widget._windows) == 2


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("ended", ["before", "after"])
def test_a_cell_that_runs_again_draws_its_view_in_the_same_place(shown: Any, ended: str) -> None:
    page = shown()
    wait_until(page, f"{ONE}.querySelector('#strip-figure .bars')")
    one = "document.getElementById('one')"
    page.evaluate(f"{one}.firstChild.explorerPage.old = true")
    steps = ["gone[0]()", f"gone[0] = draw({one})"] if ended == "before" else [f"draw({one})", "gone[0]()"]
    page.evaluate(f"() => {{ {'; '.join(steps)} }}")
    wait_until(page, f"{one}.firstChild?.explorerPage?.old !== true && {ONE}?.querySelector('#strip-figure .bars')")
    assert page.evaluate(f"{one}.children.length") == 1


def test_the_kit_holds_what_it_says() -> None:
    kit = json.loads(gzip.decompress(PAGE_KIT))
    assert "export class Page" in kit["script"]
    assert ":root" not in kit["rules"]
    assert "@media (max-width" not in kit["rules"]
    assert gzip.decompress(packed_plotly())[:4] == b"/**\n"
