"""The version strip in a browser: it stays on top, fits its place, zooms, and shows both versions at any zoom."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from explorer.core.protocol.actions import CommitInfo
from tests.e2e.conftest import plotted, settle
from tests.support.logs.small_logs import LONG_AGO, PROTOCOL, add, metadata, write_log
from tests.support.pages.served_pages import SERVE, served
from tests.support.pages.waiting import wait_until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.whole("test_table_page.py, which goes by the strip, and tests/views/figures"),
]
LONG, SHORT, SINGLE, CROWDED = "?t=strip/long", "?t=strip/short", "?t=strip/single", "?t=strip/crowded"
HOUR = 3_600_000


def _log(folder: Path, count: int, large: Mapping[int, int]) -> None:
    def info(version: int) -> CommitInfo:
        who = "ana" if version % 7 else "ben"
        return CommitInfo(timestamp=LONG_AGO + version * HOUR, operation="WRITE", user_name=who)

    first = [info(0), PROTOCOL, metadata({"id": "long"})]
    rows = {version: 100 + version % 13 for version in range(count)} | large
    write_log(folder, [first, *[[info(v), add(f"part-{v}.parquet", rows[v])] for v in range(1, count)]])


@pytest.fixture(scope="module")
def strip_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve tables with 700, 12 and 1 versions, and one with 1,200 of which many stand alone."""
    root = tmp_path_factory.mktemp("strip") / "strip"
    for name, count in (("long", 700), ("short", 12), ("single", 1)):
        _log(root / name, count, {300: 90_000})
    _log(root / "crowded", 1_200, {v: 800 + v * 7_919 % 3_200 for v in range(6, 1_200, 67)})
    with served(root, SERVE, root.parent / "server.log") as url:
        yield url


@pytest.fixture
def at(watched: Any, strip_address: str) -> Any:
    """Return a function that opens a query in a window of a size."""

    def open_query(query: str, width: int = 1440, height: int = 900) -> Any:
        watched.set_viewport_size({"width": width, "height": height})
        watched.goto(f"{strip_address}/{query}")
        settle(watched)
        watched.wait_for_timeout(300)
        return watched

    return open_query


def _layout(page: Any, name: str) -> Any:
    return page.evaluate(f"document.getElementById('strip-figure').layout.{name}")


def _window(page: Any) -> tuple[int, int]:
    first, last = _layout(page, "xaxis.range")
    return round(first + 0.5), round(last - 0.5)


def _drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()
    page.wait_for_timeout(50)
    settle(page)


def _on(page: Any, share: float, *, mapped: bool = False) -> tuple[float, float]:
    """A place on the axis, or on the overview below it, as a share of its width."""
    box = page.locator("#strip-figure").bounding_box()
    size = page.evaluate("document.getElementById('strip-figure')._fullLayout._size")
    return box["x"] + size["l"] + share * size["w"], box["y"] + (box["height"] - 12 if mapped else 60)


def test_the_line_of_the_version_and_the_tabs_stay_on_top_and_the_timeline_goes(at: Any) -> None:
    page = at(f"{LONG}&tab=files")
    before = page.locator("#strip").bounding_box()
    page.evaluate("scrollTo(0, 600)")
    wait_until(page, "scrollY > 400")
    assert page.locator("#strip").bounding_box() == before
    assert page.locator("#tabs").bounding_box()["y"] == pytest.approx(before["y"] + before["height"], abs=2)
    timeline = page.locator("#timeline-slot").bounding_box()
    assert timeline["y"] + timeline["height"] < before["y"]


def test_the_drawing_is_as_wide_as_its_place_always(at: Any) -> None:
    page = at(LONG)
    for width in (1024, 2560, 375, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(
            page,
            """() => {
                const figure = document.getElementById('strip-figure');
                const style = getComputedStyle(figure.parentElement);
                const room = figure.parentElement.clientWidth - 2 * parseFloat(style.paddingLeft);
                return Math.abs(figure._fullLayout.width - room) < 1 && Math.abs(explorerPage.strip.drawn - room) < 5;
            }""",
        )
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # As after a step of a form on a busy machine: the place changes while nothing is drawn.
    page.evaluate("Plotly.relayout(document.getElementById('strip-figure'), {width: 700})")
    page.evaluate("document.getElementById('timeline-slot').style.paddingRight = '17px'")
    wait_until(page, "document.getElementById('strip-figure')._fullLayout.width > 1300")


def test_the_wheel_zooms_a_drag_moves_and_a_double_click_shows_all(at: Any) -> None:
    page = at(LONG)
    assert _window(page) == (0, 699)
    page.mouse.move(*_on(page, 0.5))
    page.mouse.wheel(0, -300)
    wait_until(page, "location.search.includes('zoom=')")
    settle(page)
    first, last = _window(page)
    assert 0 < first < 350 < last < 699
    assert f"zoom={first}-{last}" in page.url
    _drag(page, _on(page, 0.5), _on(page, 0.6))
    moved = _window(page)
    assert moved[0] < first
    assert moved[1] - moved[0] == last - first
    page.mouse.dblclick(*_on(page, 0.5))
    wait_until(page, "!location.search.includes('zoom=')")
    settle(page)
    assert _window(page) == (0, 699)


def test_a_zoomed_window_survives_a_reload_and_is_drawn_commit_by_commit(at: Any) -> None:
    page = at(f"{LONG}&zoom=250-349")
    assert _window(page) == (250, 349)
    assert _layout(page, "meta.middles.length") == 100
    page.reload()
    settle(page)
    assert _window(page) == (250, 349)


def test_the_map_shows_the_window_and_moves_it(at: Any) -> None:
    page = at(f"{LONG}&zoom=0-99&v=650")
    brush = page.evaluate("explorerPage.strip.brush")
    box = page.evaluate(f"document.getElementById('strip-figure').layout.shapes[{brush[0]}]")
    assert (box["x0"], box["x1"]) == (-0.5, 99.5)
    _drag(page, _on(page, 0.05, mapped=True), _on(page, 0.55, mapped=True))
    first, last = _window(page)
    assert (last - first, 330 < first < 370) == (99, True)
    _drag(page, _on(page, 0.8, mapped=True), _on(page, 0.9, mapped=True))
    first, last = _window(page)
    assert (abs(first - 560) < 5, abs(last - 629) < 5) == (True, True)


def test_keys_and_buttons_zoom(at: Any) -> None:
    page = at(f"{LONG}&v=200")
    page.keyboard.press("+")
    settle(page)
    first, last = _window(page)
    assert (last - first + 1, first <= 200 <= last) == (350, True)
    page.get_by_role("link", name="Zoom in").click()
    settle(page)
    assert _window(page)[1] - _window(page)[0] + 1 == 175
    page.keyboard.press("-")
    settle(page)
    assert _window(page)[1] - _window(page)[0] + 1 == 350
    page.get_by_role("link", name="All versions").click()
    settle(page)
    assert _window(page) == (0, 699)


def test_a_step_out_of_the_window_takes_the_window_along_and_sends_no_bars_inside(at: Any) -> None:
    page = at(f"{LONG}&zoom=100-199&v=198")
    drawn = page.evaluate("document.getElementById('strip-figure').dataset.drawn")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate("document.getElementById('strip-figure').dataset.drawn") == drawn
    page.keyboard.press("ArrowRight")
    settle(page)
    assert _window(page)[0] <= 200 <= _window(page)[1]
    assert _window(page) != (100, 199)


def test_both_versions_have_a_tag_and_a_least_width_and_are_told_where_they_are_outside(at: Any) -> None:
    page = at(f"{LONG}&v=400&c=100")
    pixel = page.evaluate("document.getElementById('strip-figure')._fullLayout.xaxis._length") / 700
    bands = [shape for shape in _layout(page, "shapes") if shape.get("xref") == "x" and "xanchor" not in shape]
    cursor, other = bands[0], bands[2]
    assert (cursor["x1"] - cursor["x0"]) * pixel >= 7.9
    assert (other["x1"] - other["x0"]) * pixel >= 7.9
    assert page.locator(".version-tag").all_inner_texts() == ["v400", "v100"]
    page = at(f"{LONG}&v=400&c=100&zoom=150-250")
    assert page.locator(".version-tag").all_inner_texts() == ["v400 \u203a", "\u2039 v100"]


def test_a_step_draws_the_cursor_anew_and_no_mark(at: Any) -> None:
    page = at(f"{LONG}&v=400")
    page.evaluate("""() => {
        window.redrawn = 0;
        const marks = document.querySelector("#strip-figure .cartesianlayer");
        const look = new MutationObserver((changes) => { window.redrawn += changes.length; });
        look.observe(marks, { subtree: true, childList: true, attributes: true });
    }""")
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.locator(".version-tag.chosen").inner_text() == "v399"
    assert page.evaluate("redrawn") == 0
    cursor = next(shape["xanchor"] for shape in _layout(page, "shapes") if shape.get("xanchor") is not None)
    assert cursor == pytest.approx(399, abs=2)
    page.keyboard.press("+")
    settle(page)
    assert page.evaluate("redrawn") > 0


def test_a_lonely_commit_is_chosen_by_a_click_on_its_bar(at: Any) -> None:
    page = at(LONG, width=900)
    assert _layout(page, "meta.middles.length") < 350
    page.mouse.click(*_on(page, 300.5 / 700))
    wait_until(page, "location.search.includes('v=')")
    settle(page)
    assert page.locator("h1.version").inner_text() == "v300"


@pytest.mark.parametrize("width", [1440, 1024, 850])
def test_the_words_of_lonely_commits_lie_over_no_bar(at: Any, width: int) -> None:
    page = at(CROWDED, width=width)
    words, bars = page.evaluate("""() => {
        const place = (one) => one.getBoundingClientRect();
        const of = (all) => [...all].map(place).map(box => [box.left, box.right, box.top, box.bottom]);
        const figure = document.getElementById('strip-figure');
        const said = [...figure.querySelectorAll('.annotation-text')].filter(one => one.textContent.startsWith('+'));
        return [of(said), of(figure.querySelectorAll('.xy .barlayer .trace path'))];
    }""")
    assert (len(words) > 0, len(bars) > 150) == (True, True)
    targets = max(bar[3] - bar[2] for bar in bars)
    drawn = [bar for bar in bars if 0 < bar[3] - bar[2] < targets]
    over = [
        (word, bar) for word in words for bar in drawn
        if bar[0] < word[1] and word[0] < bar[1] and bar[2] < word[3] and word[2] < bar[3]
    ]  # fmt: skip
    assert over == []


def test_a_short_history_names_every_commit_and_has_no_zoom(at: Any) -> None:
    page = at(SHORT)
    names = page.evaluate("document.getElementById('strip-figure').data.find(trace => trace.name === 'names').text")
    assert [name.split("<br>")[:2] for name in names] == [[f"<b>v{n}</b>", "WRITE"] for n in range(12)]
    assert page.locator(".zooms").count() == 0
    bars = page.evaluate("document.getElementById('strip-figure').data.find(trace => trace.name === 'added').width")
    assert bars * page.evaluate("document.getElementById('strip-figure')._fullLayout.xaxis._length") / 12 < 40


def test_one_version_has_facts_and_no_chart(at: Any) -> None:
    page = at(SINGLE)
    assert not page.locator("#timeline-slot").is_visible()
    shown = page.locator("#opening").inner_text()
    for text in ("columns", "protocol", "1 \u00b7 2", "retention", "none yet", "next commits appear here"):
        assert text in shown


def test_a_low_window_begins_folded_and_leaves_most_of_it_to_the_content(at: Any) -> None:
    page = at(LONG, width=720, height=450)
    assert page.locator("#timeline-slot").bounding_box()["height"] < 40
    top = page.locator("#main").bounding_box()["y"]
    assert top < 0.45 * 450
    page.get_by_role("link", name="Unfold the timeline").click()
    settle(page)
    assert page.locator("#timeline-slot").bounding_box()["height"] > 150
    page.keyboard.press("f")
    settle(page)
    assert page.locator("#timeline-slot").bounding_box()["height"] < 40


@pytest.mark.parametrize("width", [375, 1024, 1440, 1800])
def test_every_sign_is_named_at_any_width(opened: Any, width: int) -> None:
    page = opened("?t=shop/reference/deletion-vectors")
    page.set_viewport_size({"width": width, "height": 800})
    named = page.locator("#strip .legend .chip")
    words = {text.split()[-1] for text in named.all_inner_texts()}
    assert words >= {"added", "removed", "masked", "metadata", "checkpoint"}
    assert all(chip.is_visible() for chip in named.all())


def test_colours_follow_the_author_by_choice(at: Any) -> None:
    page = at(LONG)
    page.get_by_role("button", name="Signs, colors and axis").click()
    page.get_by_role("link", name="color by author").click()
    settle(page)
    assert "colour=author" in page.url
    assert {"ana", "ben", "others"} == set(page.locator(".legend .chip").all_inner_texts())
    colours = page.evaluate(
        "document.getElementById('strip-figure').data.find(trace => trace.name === 'added').marker.color"
    )
    assert isinstance(colours, list)


def test_by_time_the_same_ways_lead_to_the_same_versions(at: Any) -> None:
    page = at(f"{LONG}&v=400")
    page.get_by_role("button", name="Signs, colors and axis").click()
    page.get_by_role("link", name="by commit time").click()
    settle(page)
    assert "axis=time" in page.url
    times = page.evaluate("explorerPage.strip.meta.times")
    box = page.locator("#strip-figure").bounding_box()
    size = page.evaluate("document.getElementById('strip-figure')._fullLayout._size")

    def click_on(version: int) -> None:
        axis = "document.getElementById('strip-figure')._fullLayout.xaxis"
        at = page.evaluate(f"{axis}.d2p(explorerPage.strip.placeOf({version}))")
        page.mouse.click(box["x"] + size["l"] + at, box["y"] + 60)
        settle(page)

    assert times == sorted(times)
    click_on(300)
    chosen = int(page.locator("h1.version").inner_text()[1:])
    assert abs(chosen - 300) <= 60  # the files of a log are written in bursts, so a mark may hold many
    page.mouse.move(*_on(page, 0.5))
    page.mouse.wheel(0, -400)
    wait_until(page, "location.search.includes('zoom=')")
    settle(page)
    first, last = page.evaluate("[explorerPage.strip.meta.first, explorerPage.strip.meta.last]")
    assert 0 < first < last < 699
    assert f"zoom={first}-{last}" in page.url
    page.keyboard.press("0")
    settle(page)
    assert page.evaluate("[explorerPage.strip.meta.first, explorerPage.strip.meta.last]") == [0, 699]
    few = at(f"{SHORT}&axis=time&v=5")
    assert few.locator("h1.version").inner_text() == "v5"


def test_a_figure_that_was_taken_away_is_not_laid_out(at: Any) -> None:
    page = at(LONG)
    plotted(page, "chart-slot")
    url, sent = page.url, page.evaluate("explorerPage.sent")
    # The page ends, as a view of a notebook does, in the frame in which the wheel has moved the axis.
    page.evaluate("""() => {
        const box = document.getElementById('strip-figure').getBoundingClientRect();
        const place = {clientX: box.x + box.width / 2, clientY: box.y + 60, deltaY: -400};
        document.getElementById('timeline-slot').dispatchEvent(new WheelEvent('wheel', {...place, cancelable: true}));
        window.moved = explorerPage.strip.window;
        explorerPage.close();
    }""")
    assert page.evaluate("moved[1] - moved[0]") < 699, "the wheel moved the axis"
    page.set_viewport_size({"width": 1000, "height": 900})
    page.wait_for_timeout(500)  # longer than the strip waits after the last turn of the wheel
    assert page.locator(".main-svg").count() == 0
    assert (page.url, page.evaluate("explorerPage.sent")) == (url, sent), "nothing is asked for a page that ended"


def test_the_name_of_the_table_is_whole_on_a_phone(at: Any) -> None:
    page = at(LONG, width=375)
    assert page.locator(".crumbs b").evaluate("name => name.scrollWidth <= name.clientWidth || !name.clientWidth")
    assert page.locator(".crumbs").evaluate("all => all.scrollWidth <= all.clientWidth")


def test_the_strip_is_drawn_in_the_colours_of_the_theme(at: Any) -> None:
    page = at(SHORT)
    colour = "document.getElementById('strip-figure').data.find(trace => trace.name === 'added').marker.color"
    light = page.evaluate(colour)
    page.get_by_role("button", name="Switch between light and dark").click()
    settle(page)
    assert page.evaluate(colour) != light


def test_print_has_the_whole_strip(at: Any) -> None:
    page = at(LONG)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.wait_for_timeout(200)
    assert page.locator(".zooms").is_hidden()
    assert (
        page.evaluate("document.getElementById('strip-figure')._fullLayout.width") == 960
    )  # of 1,032 on A4, landscape
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    wait_until(page, "document.getElementById('strip-figure')._fullLayout.width > 1300")
