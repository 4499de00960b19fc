"""The tabs in a browser: what a key, a click, a printer and a narrow window do to them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.e2e.conftest import plotted, settle
from tests.support.dose import WHOLE_DOSE, some_of
from tests.support.pages.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.sampled(tests=2)]
VECTORS = "?t=shop/reference/deletion-vectors"
MAPPING = "?t=shop/reference/column-mapping"
PAPER = 1032  # px between the margins of a landscape A4 page


def test_escape_closes_an_open_menu_and_leaves_the_focus_at_it(opened: Any) -> None:
    page = opened(f"{VECTORS}&tab=files&v=6")
    menu = page.locator("#lead details.menu")
    menu.locator("summary").click()
    assert menu.get_attribute("open") is not None
    page.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    assert page.evaluate("document.activeElement.textContent") == "Export"


def test_the_space_bar_ticks_a_check_and_the_focus_stays_on_it(opened: Any) -> None:
    page = opened(f"{VECTORS}&tab=audit")
    check = page.get_by_role("checkbox", name="stored files")
    check.focus()
    for ticked in ("true", "false"):
        page.keyboard.press(" ")
        page.locator(f"#check-files[aria-checked={ticked}]").wait_for()
        settle(page)
        assert page.evaluate("[document.activeElement.id, scrollY]") == ["check-files", 0]


def test_the_list_of_commits_scrolls_to_the_chosen_one_and_the_page_stays(opened: Any) -> None:
    page = opened(f"{VECTORS}&view=table&v=1")
    inside = """() => {
        const row = document.querySelector('#commits tr[aria-current]').getBoundingClientRect();
        const box = document.querySelector('#commits .tall').getBoundingClientRect();
        return row.top >= box.top && row.bottom <= box.bottom && scrollY === 0;
    }"""
    assert page.evaluate(inside)
    page.keyboard.press("End")
    settle(page)
    assert "v17" in page.locator("#commits tr[aria-current]").inner_text()
    assert page.evaluate(inside)


def test_commits_are_filtered_while_typing_and_by_a_choice(opened: Any) -> None:
    page = opened(f"{VECTORS}&view=table")
    page.get_by_label("Operation", exact=True).select_option("MERGE")
    settle(page)
    assert "cop=MERGE" in page.url
    rows = page.locator("#commits tbody tr")
    assert rows.count() < 18
    page.locator("#commits-find").fill("no such commit")
    page.get_by_text("No commit matches.").wait_for()
    page.get_by_role("link", name="show all").click()
    settle(page)
    assert rows.count() == 18


def test_a_click_on_a_line_of_the_river_chooses_its_column(opened: Any) -> None:
    page = opened(f"{MAPPING}&tab=columns")
    plot = plotted(page, "chart-slot")
    place = plot.evaluate("""plot => {
        const points = plot.data.find(trace => trace.customdata && trace.x.length);
        const area = plot._fullLayout._size;
        return {
            x: area.l + plot._fullLayout.xaxis.d2p(points.x[0]), y: area.t + plot._fullLayout.yaxis.d2p(points.y[0]),
            name: decodeURIComponent(points.customdata[0]),
        };
    }""")
    box = plot.bounding_box()
    page.mouse.move(box["x"] + place["x"] - 2, box["y"] + place["y"])
    page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    page.wait_for_timeout(150)
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    wait_until(page, "location.search.includes('col=')")
    settle(page)
    assert place["name"] in page.locator("#side").inner_text()


@pytest.mark.parametrize("width", [1440, 2560] if WHOLE_DOSE else [2560])
def test_no_page_is_cut_on_paper(opened: Any, width: int) -> None:
    page = opened(f"{VECTORS}&tab=diff&v=6&c=2")
    page.set_viewport_size({"width": width, "height": 900})
    plotted(page, "timeline-slot")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PAPER, "height": 720})
    beyond = """paper => [...document.querySelectorAll('#time *, main *')].filter(
        part => part.getClientRects().length && part.getBoundingClientRect().right > paper + 1
    ).map(part => part.outerHTML.slice(0, 120))"""
    with contextlib.suppress(PlaywrightTimeout):  # the strip is drawn anew for the paper: what is too wide then is told
        wait_until(page, f"paper => !({beyond})(paper).length", PAPER, within=10_000)
    assert page.evaluate(beyond, PAPER) == []
    drawn = page.locator("#timeline-slot .js-plotly-plot .main-svg").first.bounding_box()
    assert drawn["x"] + drawn["width"] <= PAPER + 1
    assert page.locator("#lead .tools").count() == 0 or not page.locator("#lead .tools").first.is_visible()
    page.emulate_media(media="screen")


def test_on_a_very_wide_window_the_header_stands_over_the_content(opened: Any) -> None:
    page = opened(VECTORS)
    page.set_viewport_size({"width": 2560, "height": 900})
    left = page.evaluate("""() => ['.brand', '#strip .step', '#tabs a', '#lead .card'].map(
        place => document.querySelector(place).getBoundingClientRect().left)""")
    assert max(left) - min(left) <= 1


@pytest.mark.parametrize("width", [1440, 375])
def test_another_tab_begins_at_its_top_and_another_version_keeps_the_place(opened: Any, width: int) -> None:
    page = opened(VECTORS)
    page.set_viewport_size({"width": width, "height": 600})
    settle(page)
    page.evaluate("window.scrollTo(0, 350)")
    # Of what is read, not how far the window is scrolled: the browser keeps that place as the strip gets lower.
    place = "document.querySelector('#main').getBoundingClientRect().top"
    before = page.evaluate(place)
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert abs(page.evaluate(place) - before) < 100
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    page.locator("#tabs a", has_text="Audit").dispatch_event("click")
    settle(page)
    head = page.locator("#main h2").first
    assert head.evaluate("""part => {
        const box = part.getBoundingClientRect();
        return part.contains(document.elementFromPoint(box.left + 2, (box.top + box.bottom) / 2));
    }"""), "the first heading is seen"


@pytest.mark.parametrize("width", [1024, 375])
def test_a_long_sentence_of_a_commit_leaves_its_time_in_sight(opened: Any, width: int) -> None:
    page = opened(VECTORS)
    page.set_viewport_size({"width": width, "height": 800})
    long = "+1,234,567 rows, 7,654,321 rows updated, 1,234 rows masked, schema and protocol changed"
    page.evaluate("text => { document.querySelector('#strip .effect').textContent = text; }", long)
    ends = page.evaluate("""() => ['#strip .happened time', '#strip .happened'].map(
        place => document.querySelector(place).getBoundingClientRect().right)""")
    assert ends[0] <= ends[1] + 1
    effect = page.locator("#strip .effect")
    assert effect.evaluate("part => part.scrollWidth > part.clientWidth")
    assert effect.bounding_box()["width"] > 60, "some ten letters of it are left"


def test_on_a_telephone_the_strip_s_buttons_stand_in_one_row(opened: Any) -> None:
    for address in (VECTORS, f"{VECTORS}&v=2&c=1"):
        page = opened(address)
        page.set_viewport_size({"width": 375, "height": 800})
        rows = page.evaluate("""() => [...document.querySelectorAll('#strip > :is(a, .button, details)')].filter(
                part => part.checkVisibility()).map(part => {
            const box = part.getBoundingClientRect();
            return Math.round((box.top + box.bottom) / 2);
        })""")
        assert len(rows) >= 6, rows
        assert max(rows) - min(rows) <= 2, rows


def test_how_long_ago_gives_way_before_what_a_commit_did(opened: Any) -> None:
    page = opened(VECTORS)
    page.set_viewport_size({"width": 1440, "height": 800})
    sizes = """letters => {
        document.querySelector('#strip .happened b').textContent = 'W'.repeat(letters);
        const [time, age, effect] = ['time', '.age', '.effect'].map(place => document.querySelector('#strip ' + place));
        const [whole, part] = [time.getBoundingClientRect(), age.getBoundingClientRect()];
        const away = part.top >= whole.bottom - 1, seen = part.bottom <= whole.bottom + 1;
        return [away, seen && part.right <= whole.right + 1, effect.scrollWidth - effect.clientWidth];
    }"""
    cut = [page.evaluate(sizes, letters) for letters in range(5, 60)]
    assert all(away != seen for away, seen, _ in cut), "it is there whole, or not at all"
    age = next(place for place, (away, _, _) in enumerate(cut) if away)
    effect = next(place for place, (_, _, hidden) in enumerate(cut) if hidden > 1)
    assert age < effect


def test_a_wide_table_keeps_its_first_column_in_sight(opened: Any) -> None:
    page = opened(f"{VECTORS}&view=table")
    page.set_viewport_size({"width": 700, "height": 800})
    places = page.evaluate("""() => {
        const box = document.querySelector('#commits .tall');
        box.scrollLeft = 400;
        return [box.scrollLeft > 0, document.querySelector('#commits tbody td').getBoundingClientRect().left
            - box.getBoundingClientRect().left];
    }""")
    assert places == [True, 0]


NARROW = ["overview", "diff", "files", "columns", "deletion-vectors", "statistics", "changes"]


def test_on_a_telephone_the_table_of_commits_needs_no_sideways_scrolling(opened: Any) -> None:
    page = opened(f"{VECTORS}&view=table")
    page.set_viewport_size({"width": 375, "height": 800})
    table = page.locator("#commits .scroll")
    assert table.evaluate("part => part.scrollWidth <= part.clientWidth")
    assert (
        page.locator("#commits tbody td").first.evaluate("cell => getComputedStyle(cell, '::before').content")
        == '"version"'
    )


@pytest.mark.whole("other tabs, which start no Spark", cases=["changes"])
@pytest.mark.parametrize("tab", some_of(NARROW, 4))
def test_on_a_telephone_nothing_is_wider_than_the_window(opened: Any, tab: str) -> None:
    page = opened(f"{VECTORS}&v=6&c=2&tab={tab}")
    page.set_viewport_size({"width": 375, "height": 800})
    wait_until(page, "document.documentElement.scrollWidth <= innerWidth")
