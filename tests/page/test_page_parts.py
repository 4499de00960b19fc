"""The parts of a window, each alone: its tasks, its drawing, its watch, its chart."""

from __future__ import annotations

import json
import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import explorer
from explorer.page.drawing import Drawing
from explorer.page.pages import Rendered
from explorer.page.session import Tasks
from explorer.page.strip import ChartFigure
from explorer.page.table_session import TableSession
from explorer.page.version_watch import Changed, Lost, Newer, TableBack, TableReplaced, VersionWatch
from explorer.views import TableFacts
from explorer.views.figures.plotly import Figure
from explorer.web.served_tables import Catalog
from tests.support.logs import hostile_tables
from tests.support.pages.page_host import PageHost

PAGE = Path(explorer.__file__).parent / "page"
CHANGE = {"kind": "set-transaction", "appId": "other", "version": 1}


class Loop:
    """Tasks of a window, what they said, and a thread."""

    def __init__(self) -> None:
        self.host = PageHost()
        self.told: list[tuple[str, int]] = []
        self.orphans = 0
        self.tasks = Tasks(self.host, lambda error, number: self.told.append((repr(error), number)), self._orphaned)

    def _orphaned(self) -> None:
        self.orphans += 1

    def compute(self, work: object, *, closed: bool = False) -> list[object]:
        """What continues on the loop with a result."""
        results: list[object] = []
        with ThreadPoolExecutor(1) as threads:
            if closed:
                self.host.close()
            self.tasks.compute(threads, 4, work, results.append)  # type: ignore[arg-type]  # called
        assert results == []  # nothing happens on a thread
        self.host.turn()
        return results


def test_a_result_of_a_thread_comes_at_a_turn_of_the_loop() -> None:
    loop = Loop()
    assert loop.compute(lambda: 3) == [3]
    assert (loop.told, loop.orphans) == ([], 0)


def test_what_a_thread_raises_is_told_with_the_number_of_its_request() -> None:
    loop = Loop()
    assert loop.compute(lambda: 1 / 0) == []
    assert loop.told == [("ZeroDivisionError('division by zero')", 4)]


def test_what_a_callback_raises_on_the_loop_is_told_too() -> None:
    loop = Loop()

    def breaks() -> None:
        raise KeyError("shapes")

    loop.tasks.later(breaks, 7)
    loop.host.turn()
    loop.tasks.guarded(breaks, 8)
    assert loop.told == [("KeyError('shapes')", 7), ("KeyError('shapes')", 8)]


def test_work_that_ends_after_its_window_was_closed_is_orphaned_and_continues_nowhere() -> None:
    loop = Loop()
    assert loop.compute(lambda: 3, closed=True) == []
    assert (loop.told, loop.orphans) == ([], 1)


def test_a_watch_decides_itself_what_an_error_means() -> None:
    loop, seen = Loop(), list[BaseException | None]()

    def looked(done: Future[float]) -> None:
        seen.append(done.exception())

    with ThreadPoolExecutor(1) as threads:
        loop.tasks.watch(threads, 1, lambda: 1 / 0, looked)
    loop.host.turn()
    assert [type(each) for each in seen] == [ZeroDivisionError]
    assert loop.told == []


def figure(*shapes: float, height: int = 150) -> Figure:
    layout: Figure | dict[str, object] = {"height": height}
    if shapes:
        layout["shapes"] = [{"type": "line", "x0": place, "x1": place, "y0": 0, "y1": 1} for place in shapes]  # type: ignore[typeddict-unknown-key]
    return {"data": [{"type": "bar", "x": [1, 2], "y": [3, 4]}], "layout": layout}  # type: ignore[typeddict-item]


@pytest.mark.parametrize("before", [(), (1.0,)])
@pytest.mark.parametrize("after", [(), (2.0,), (1.0, 3.0)])
def test_shapes_of_a_chart_come_move_and_go_without_its_data(
    before: tuple[float, ...], after: tuple[float, ...]
) -> None:
    first, second = ChartFigure(("a",), figure(*before)), ChartFigure(("a",), figure(*after))
    message = second.message(first)
    if before == after:
        assert message is None
    else:
        assert isinstance(message, dict)
        assert set(message) == {"shapes"}
        assert [shape["x0"] for shape in message["shapes"]] == list(after)


def test_a_chart_of_other_data_is_sent_whole() -> None:
    first, second = ChartFigure(("a",), figure()), ChartFigure(("b",), figure(height=300))
    assert second.message(first) == second.message(None) == second.figure
    assert second.height == 300


def test_a_chart_is_json_whatever_its_numbers_are() -> None:
    odd = figure()
    odd["data"][0] |= {
        "x": np.array(["2026-04-23", "NaT"], dtype="datetime64[D]"),
        "y": np.array([1.5, np.nan]),
        "z": [float("inf"), np.float64("nan"), np.int64(3)],
    }
    sent = json.loads(json.dumps(ChartFigure((), odd).message(None), allow_nan=False))
    assert sent["data"][0]["x"] == ["2026-04-23", None]
    assert sent["data"][0]["y"] == [1.5, None]
    assert sent["data"][0]["z"] == [None, None, 3]


def page(chart: ChartFigure | None = None, **regions: str) -> Rendered:
    return Rendered(dict(regions), {}, "t", chart=chart)


def test_a_page_is_sent_as_its_differences_from_the_page_before() -> None:
    host, chart = PageHost(), ChartFigure(("a",), figure())
    drawing = Drawing(host, page(lead="a", rest="b"), complete=True)
    drawing.draw(page(chart, lead="a", rest="c"), 2)
    drawing.draw(page(None, lead="a", rest="c"), 3)  # a chart that is hidden stays as it was
    drawing.draw(page(replace(chart, figure=figure(1.0)), lead="a", rest="c"), 4)
    assert [(message["regions"], message["number"]) for message in host.heard] == [({"rest": "c"}, 2), ({}, 3), ({}, 4)]
    assert [set(message.get("chart", ())) for message in host.heard] == [{"data", "layout"}, set(), {"shapes"}]


def test_a_part_that_was_patched_in_its_inside_is_sent_with_the_next_page() -> None:
    host = PageHost()
    drawing = Drawing(host, page(lead="a"), complete=True)
    drawing.patch({"row-1": "x"}, 0)
    drawing.send_again("lead")
    drawing.draw(page(lead="a"), 1)
    assert host.heard[-1]["regions"] == {"lead": "a"}


@pytest.mark.parametrize("known", [True, False])
def test_a_script_that_begins_again_lost_what_was_drawn_since(known: bool) -> None:
    host, chart = PageHost(), ChartFigure(("a",), figure())
    drawing = Drawing(host, page(chart, lead="a"), complete=True)
    assert drawing.begin_again(known=True) is False
    drawing.draw(page(chart, lead="b"), 1)
    assert drawing.begin_again(known=known) is True
    drawing.draw(page(chart, lead="a"), 2)
    # The page that came with the window has its lead and its chart; of another session's nothing is known.
    assert host.heard[-1]["regions"] == ({} if known else {"lead": "a"})
    assert ("chart" in host.heard[-1]) is not known


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return hostile_tables.empty_table(tmp_path / "t")


def facts(folder: Path) -> TableFacts:
    return TableFacts(explorer.open_table(folder), "t")


def test_a_newer_version_another_table_and_the_same_are_told_apart(folder: Path, tmp_path: Path) -> None:
    shown = facts(folder)
    watch = VersionWatch()
    assert watch.news(shown, shown) is None
    table = explorer.open_table(folder)
    table.commit(table.plan(CHANGE))
    seen = facts(folder)
    assert watch.news(shown, seen) == Newer(1)
    assert watch.news(seen, facts(folder)) == Changed()
    assert watch.news(seen, facts(hostile_tables.empty_table(tmp_path / "u"))) == TableReplaced(1, 0)


def test_a_table_that_is_lost_is_said_once_for_each_cause_and_comes_back(folder: Path) -> None:
    shown, watch, error = facts(folder), VersionWatch(), OSError("away")
    assert watch.news(shown, error) == Lost(error)
    assert watch.news(shown, OSError("away")) is None
    other = OSError("still away")
    assert watch.news(shown, other) == Lost(other)
    assert watch.news(shown, shown) == TableBack()
    watch.forget()
    assert watch.news(shown, shown) is None
    assert watch.news(shown, error) == Lost(error)


def test_a_page_without_a_table_says_itself_why_and_is_drawn_once_when_there_is_one(folder: Path) -> None:
    watch, seen = VersionWatch(), facts(folder)
    assert watch.news(None, OSError("away")) is None
    assert watch.news(None, seen) == TableBack()
    assert watch.news(None, seen) is None


def test_every_control_of_a_page_is_heard(tmp_path: Path) -> None:
    templates = "".join(path.read_text("utf-8") for path in (PAGE / "templates").iterdir())
    asked = set(re.findall(r'data-(?:do|send|upload|suggest)="([\w-]+)"', templates))
    by_script = set(re.findall(r'name === "([\w-]+)"', (PAGE / "script" / "page.js").read_text("utf-8")))
    hostile_tables.empty_table(tmp_path / "w" / "t")
    heard = TableSession(Catalog([str(tmp_path / "w")]), PageHost(), "?t=w/t", "light").handlers()
    assert len(asked) > 50
    assert asked - by_script - set(heard) == set()
