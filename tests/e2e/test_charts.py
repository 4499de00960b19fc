"""The chart of a tab in a browser: pointer, window, theme, paper, and a page whose plotly does not come."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.e2e.conftest import plotted, settle
from tests.support.pages.waiting import wait_until

pytestmark = pytest.mark.e2e
MAPPING = "?t=shop/reference/column-mapping"
FITS = """() => {
    const slot = document.getElementById('chart-slot'), drawn = document.getElementById('chart-figure')._fullLayout;
    return slot.clientWidth > 0 && drawn && Math.abs(drawn.width - slot.clientWidth) <= 1;
}"""
LABELS = """() => [...document.querySelectorAll('#chart-figure .annotation-text')]
    .map(label => [label.textContent, label.getBoundingClientRect()])
    .filter(([, box]) => box.width)
    .map(([said, box]) => [said, box.left, box.right, box.top, box.bottom])"""
WIDTH = "document.getElementById('chart-slot').clientWidth"
INK = "document.getElementById('chart-figure')._fullLayout.font.color"


def test_a_chart_follows_the_pointer_its_place_the_theme_and_the_paper(opened: Any) -> None:
    page = opened(f"{MAPPING}&tab=columns")
    plot = plotted(page, "chart-slot")
    place = plot.evaluate("""plot => {
        const points = plot.data.find(trace => trace.customdata && trace.x.length);
        const area = plot._fullLayout._size;
        return [area.l + plot._fullLayout.xaxis.d2p(points.x[0]), area.t + plot._fullLayout.yaxis.d2p(points.y[0])];
    }""")
    box = plot.bounding_box()
    page.mouse.move(box["x"] + place[0] - 2, box["y"] + place[1])
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    page.locator("#chart-slot .hoverlayer .hovertext").first.wait_for()
    page.set_viewport_size({"width": 900, "height": 900})
    wait_until(page, FITS)
    # A place that is hidden stays as wide: a figure is not drawn again for it, and fits when the place is shown.
    shown = page.evaluate(WIDTH)
    page.evaluate("document.getElementById('chart-card').classList.add('off')")
    assert page.evaluate(WIDTH) == shown
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate("document.getElementById('chart-card').classList.remove('off')")
    wait_until(page, FITS)
    light = page.evaluate(INK)
    page.locator("#bar [data-do=theme]").click()
    settle(page)
    wait_until(page, f"light => {INK} !== light", light)
    page.emulate_media(media="print")
    width = page.evaluate("document.getElementById('chart-slot').style.getPropertyValue('--print-zoom')")
    assert 0.5 < float(width) <= 1
    page.emulate_media(media="screen")


@pytest.mark.whole("tests/views/figures/test_timeline.py")
def test_no_label_of_a_chart_on_a_telephone_is_on_another(opened: Any, watched: Any) -> None:
    watched.set_viewport_size({"width": 375, "height": 812})
    for query in (f"{MAPPING}&tab=columns", "?t=shop/reference/deletion-vectors&tab=deletion-vectors&v=6"):
        page = opened(query)
        plotted(page, "chart-slot")
        wait_until(page, FITS)
        labels = page.evaluate(LABELS)
        on_another = [
            (one[0], other[0])
            for one, other in itertools.combinations(labels, 2)
            if min(one[2], other[2]) - max(one[1], other[1]) > 1 and min(one[4], other[4]) - max(one[3], other[3]) > 3
        ]
        assert (on_another, len(labels) > 1) == ([], True), query


def test_a_page_without_plotly_keeps_the_still_picture_says_so_and_works(windows: Any, address: str) -> None:
    windows.clear_cookies()
    page, errors = windows.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/plotly.min.js*", lambda route: route.abort())
    page.goto(f"{address}/{MAPPING}&tab=columns")
    settle(page)
    for slot, words in (
        ("timeline-slot", "The timeline is a still picture"),
        ("chart-slot", "This chart is not drawn"),
    ):
        note = page.locator(f"#{slot} .undrawn")
        note.wait_for()
        assert words in note.inner_text()
        assert note.get_by_role("button", name="Reload the page").is_visible()
    assert page.locator("#still svg").is_visible()
    assert not page.locator("#silence").is_visible()
    version = page.locator("h1.version").inner_text()
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.locator("h1.version").inner_text() != version
    assert errors == []
    page.close()


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(
    "script", ["page/*/script/page.js", "page/*/script/strip.js", "static/start.js", "bokeh.min.js"]
)
def test_a_page_whose_script_does_not_come_says_so_with_a_way_on(windows: Any, address: str, script: str) -> None:
    windows.clear_cookies()
    page = windows.new_page()
    page.route(f"**/{script}*", lambda route: route.abort())
    page.goto(f"{address}/{MAPPING}")
    page.get_by_text("A script of this page did not load.").wait_for()
    page.unroute_all()
    page.locator("#silence").get_by_role("button", name="Reload the page").click()
    page.wait_for_selector("html[data-live]")
    settle(page)
    assert not page.locator("#silence").is_visible()
    page.close()
