"""The strip's figure: what lies where, what a step changes, and that no text of a table is markup."""

import json
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa
import pytest

from explorer.core.versions.commits.commits import Commits
from explorer.views.figures.plotly import plain_json
from explorer.views.figures.strip_frame import BARS, CHARACTER, RIGHT, Frame, StripAxis, StripRows, most_marks
from explorer.views.figures.theme import DARK, LIGHT, Theme
from explorer.views.figures.timeline import timeline_ends, timeline_figure
from explorer.views.table.lanes import Span, VersionLane
from explorer.views.table.timeline import Signs, timeline_of
from tests.support.at_least_one import at_least_one
from tests.views.table.test_timeline import START, history, rows_of

LANES = (
    VersionLane("log", (Span(0, 899, "gone", "deleted from the log"), Span(900, 999, "readable"))),
    VersionLane("data", (Span(0, 499, "gone", "gone"), Span(500, 909, "at risk", "the next vacuum may delete it"))),
    VersionLane("feed", (Span(0, 99, "recorded", "recorded"), Span(100, 101, "hole", "not recorded"))),
)


def traces(count: int = 1_000, window: tuple[int, int] | None = None, **more: Any) -> dict[str, Any]:
    """The traces of a history by name, as drawn in 1,200 pixels."""
    timeline = timeline_of(history(rows_of(5, count)), window, marks=most_marks(1_200), signs=more.get("signs"))
    frame = Frame(whole=(0, count - 1))
    drawn = timeline_figure(
        timeline, more.get("theme", LIGHT), frame, lanes=more.get("lanes", ()), history=more.get("map")
    )
    return {str(trace["name"]): trace for trace in drawn["data"]}


def _at(commits: Commits, moments: list[datetime]) -> Commits:
    """The commits at other times, by their files and by what they state."""
    result = commits.history
    for name in ("timestamp", "commit_info_timestamp"):
        times = pa.array(moments, result.schema.field(name).type)
        result = result.set_column(result.schema.get_field_index(name), name, times)
    return Commits(result)


@pytest.mark.sampled(cases=8)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("count", [1, 2, 12, 500, 10_000])
@pytest.mark.parametrize("width", [343, 992, 1_408, 2_168])
def test_it_can_be_drawn_at_any_length_and_width(theme: Theme, count: int, width: int) -> None:
    commits = history(rows_of(6, count))
    timeline, whole = timeline_of(commits, marks=most_marks(width)), timeline_of(commits, marks=240)
    for folded in (False, True):
        frame = Frame(width, whole=(0, count - 1), folded=folded)
        drawn = timeline_figure(timeline, theme, frame, lanes=LANES, history=None if folded else whole)
        ends = timeline_ends(timeline, theme, frame, version=count - 1, compared=0, lanes=LANES, mapped=not folded)
        json.dumps(plain_json({**drawn, "ends": ends}), allow_nan=False)
        go.Figure(drawn)
    assert len(timeline.start) <= most_marks(width) + 1


def test_no_sign_lies_on_the_bars_and_all_signs_have_their_row() -> None:
    signs = Signs(np.array([100, 300]), ((300, "protocol 1 \u00b7 7"),), ((500, "close"),), (700,))
    by_name = traces(signs=signs)
    for name, versions in (("schema, protocol or properties", [100, 300]), ("tags", [500]), ("checkpoints", [700])):
        assert (by_name[name]["x"].tolist(), by_name[name]["yaxis"]) == (versions, "y3")
    assert by_name["signs in words"]["text"] == ["protocol 1 \u00b7 7", "close"]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_the_diamond_of_another_protocol_is_filled(theme: Theme) -> None:
    signs = Signs(np.array([100, 300]), ((300, "protocol 1 \u00b7 7"),))
    assert traces(signs=signs, theme=theme)["schema, protocol or properties"]["marker"]["color"] == [
        theme.surface,
        theme.ink,
    ]


def test_a_note_stands_beside_the_diamond_of_its_commit() -> None:
    signs = Signs(np.array([4, 8]), (), ((4, "names split"), (6, "usual")), ())
    by_name = traces(12, signs=signs)
    pixel = 12 / Frame().plot
    assert by_name["schema, protocol or properties"]["x"].tolist() == [4, 8]
    assert by_name["tags"]["x"].tolist() == [pytest.approx(4 + 11 * pixel), 6]


def test_few_commits_over_weeks_are_dated_by_days() -> None:
    moments = [START + timedelta(days=2 * n, hours=3) for n in range(15)]
    timeline = timeline_of(_at(history([5] * 15), moments))
    dates = next(t for t in timeline_figure(timeline, LIGHT, Frame())["data"] if t["name"] == "dates")
    assert dates["text"][:2] == ["Sat 3 Jan 2026", "Wed 7"]  # type: ignore[index]
    # The first label is longer than a day is wide: the day after it has no room.
    assert dates["x"][1] - dates["x"][0] == 2  # type: ignore[index]


def test_lanes_carry_form_as_well_as_colour() -> None:
    by_name = traces(lanes=LANES)
    assert by_name["at risk"]["marker"]["pattern"]["shape"] == by_name["hole"]["marker"]["pattern"]["shape"] == "/"
    assert "pattern" not in by_name["readable"]["marker"]
    assert by_name["gone"]["line"]["dash"]
    # A mark has four versions: spans end where marks do.
    assert (by_name["at risk"]["base"].tolist(), by_name["at risk"]["x"].tolist()) == ([499.5], [412.0])
    assert (by_name["hole"]["base"].tolist(), by_name["hole"]["x"].tolist()) == ([99.5], [4.0])
    assert by_name["at risk"]["width"].tolist() == [5.0]


def test_a_lane_shows_the_share_of_a_mark_that_is_at_risk() -> None:
    spans = [
        Span(v, v, "at risk" if v % 40 == 0 else "readable", "the next vacuum may delete it") for v in range(9_600)
    ]
    spans += [Span(9_600, 9_999, "at risk", "the next vacuum may delete it")]
    by_name = traces(10_000, lanes=(VersionLane("data", tuple(spans)),))
    risk, safe = by_name["at risk"], by_name["readable"]
    # One version of forty is a thin line over the whole of them, and those of the end are the whole height.
    assert (risk["base"].tolist(), risk["x"].tolist()) == ([-0.5, 9_599.5], [9_600.0, 400.0])
    assert (risk["width"].tolist(), safe["width"].tolist()) == ([1.25, 5.0], [3.75])
    # Nothing of the lane is drawn twice: the line is below what is safe.
    assert risk["y"][0] + risk["width"][0] / 2 == pytest.approx(safe["y"][0] - safe["width"][0] / 2)
    timeline, frame = timeline_of(history(rows_of(5, 10_000)), marks=most_marks(1_200)), Frame()
    notes: Any = timeline_ends(timeline, LIGHT, frame, version=1, lanes=(VersionLane("data", tuple(spans)),))[
        "annotations"
    ]
    said = [note["text"].strip("\u00a0") for note in notes]
    assert "240 of 9,600 versions: the next vacuum may delete it" in said


@pytest.mark.parametrize("width", [375, 700, 1_024, 1_440])
def test_the_words_of_a_lane_are_whole_or_not_there(width: int) -> None:
    label = "a vacuum may delete it since 20 Mar 2026, a log cleanup since 12 May 2026"
    lanes = (VersionLane("data", (Span(0, 29, "at risk", label),)),)
    timeline = timeline_of(history(rows_of(5, 30)), marks=most_marks(width))
    notes: Any = timeline_ends(timeline, LIGHT, Frame(width=width), version=1, lanes=lanes)["annotations"]
    said = [note["text"].strip("\u00a0") for note in notes if "vacuum" in note["text"]]
    assert said == ([label] if width > 375 else [])


def test_words_beside_a_bar_lie_over_neither_end_of_the_comparison() -> None:
    rows = rows_of(8, 1_000)
    rows[500] = 90_000
    timeline, frame = timeline_of(history(rows), marks=most_marks(1_200)), Frame()
    axis = StripAxis.of(timeline, frame)
    for compared in range(400, 640, 5):
        ends = timeline_ends(timeline, LIGHT, frame, version=900, compared=compared)
        notes: Any = ends["annotations"]
        note = next(note for note in notes if note["text"].startswith("<b>+90 k"))
        wide = 5.7 * len("v500 \u00b7 WRITE by ana")
        begin = axis.x(note["x"]) - (wide if note["xanchor"] == "right" else 0)
        assert not begin < axis.x(timeline.position(compared)) < begin + wide


def _crowded(count: int, every: int, *, removed: bool) -> Commits:
    """Many commits that stand alone, of many sizes, so that the words of most have bars beside them."""
    chance = np.random.default_rng(count + every)
    rows, gone = rows_of(8, count), rows_of(9, count) if removed else [0] * count
    for version in range(3, count, every):
        rows[version] = int(chance.integers(2_000, 90_000))
        gone[version - 2] = int(chance.integers(2_000, 90_000)) if removed else 0
    return history(rows, gone)


@pytest.mark.parametrize("width", [536, 850, 1_024, 1_440])
@pytest.mark.parametrize("removed", [False, True], ids=["added", "added-and-removed"])
def test_words_beside_a_bar_lie_over_no_bar(width: int, removed: bool) -> None:
    seen = 0
    for count, every in ((60, 7), (150, 9), (1_200, 31), (1_200, 97), (1_200, 251), (1_200, 590)):
        timeline = timeline_of(_crowded(count, every, removed=removed), marks=most_marks(width))
        frame = Frame(width)
        figure: Any = timeline_figure(timeline, LIGHT, frame)
        axis, (low, high) = StripAxis.of(timeline, frame), figure["layout"]["yaxis"]["range"]
        pixel = (high - low) / BARS
        bars = [
            (x - w / 2, x + w / 2, min(base, base + y), max(base, base + y))
            for trace in figure["data"] if trace["type"] == "bar" and trace["name"] != "versions"
            for x, y, w, base in np.broadcast(trace["x"], trace["y"], trace["width"], trace["base"])
        ]  # fmt: skip
        assert len(bars) > 20
        notes: Any = timeline_ends(timeline, LIGHT, frame, version=count - 1)["annotations"]
        for note in (note for note in notes if note["yref"] == "y"):
            seen += 1
            wide = CHARACTER * max(
                len(line) for line in note["text"].replace("<b>", "").replace("</b>", "").split("<br>")
            )
            left = note["x"] - (wide * axis.pixel if note["xanchor"] == "right" else 0)
            box = left, left + wide * axis.pixel, note["y"] - 13 * pixel, note["y"] + 13 * pixel
            assert [
                bar for bar in bars if bar[0] < box[1] and box[0] < bar[1] and bar[2] < box[3] and box[2] < bar[3]
            ] == []
    assert seen >= 2


def test_the_box_of_the_compared_version_ends_above_the_words_of_the_signs() -> None:
    signs = Signs(np.array([9]), (), ((9, "first and last name the wrong way round"),), ())
    timeline, frame = timeline_of(history([40] * 12), signs=signs), Frame()
    shapes: Any = timeline_ends(timeline, LIGHT, frame, version=11, compared=10)["shapes"]
    (box,) = [shape for shape in shapes if shape["line"].get("dash")]
    words = next(t for t in timeline_figure(timeline, LIGHT, frame)["data"] if t["name"] == "signs in words")
    rows = StripRows.of(timeline, frame, (), mapped=False)
    assert box["y0"] * (rows.height - rows.top) >= words["y"][0] + 8  # type: ignore[index]


def test_updated_rows_are_as_far_above_zero_as_below() -> None:
    commits = history([100] * 12, [100] * 12, updated=[0] * 10 + [100, 40])
    by_name = {str(trace["name"]): trace for trace in timeline_figure(timeline_of(commits), LIGHT, Frame())["data"]}
    bars: Any = by_name["updated"]
    assert bars["x"].tolist() == [10, 11]
    assert (bars["base"] + bars["y"] / 2).tolist() == pytest.approx([0, 0])
    assert bars["marker"]["pattern"]["shape"] == "."
    added: Any = by_name["added"]
    assert added["x"].tolist() == [*range(10), 11]


@pytest.mark.parametrize("count", [2, 12, 500, 10_000])
@pytest.mark.parametrize("width", [343, 1_408])
def test_it_can_be_drawn_by_the_time_of_the_commits(count: int, width: int) -> None:
    commits = history(rows_of(9, count))
    timeline = timeline_of(commits, marks=most_marks(width), axis="time")
    whole, frame = timeline_of(commits, marks=240, axis="time"), Frame(width, whole=(0, count - 1))
    drawn = timeline_figure(timeline, LIGHT, frame, lanes=LANES, history=whole)
    ends = timeline_ends(timeline, LIGHT, frame, version=count - 1, compared=0, lanes=LANES, mapped=True)
    json.dumps(plain_json({**drawn, "ends": ends}), allow_nan=False)
    go.Figure(drawn)
    axis = StripAxis.of(timeline, frame)
    by_name = {str(trace["name"]): trace for trace in drawn["data"]}
    for name in ("dates", "version ticks"):
        places: Any = by_name[name]["x"]
        assert all(0 <= axis.x(place) <= axis.plot + 2 for place in at_least_one(places.tolist()))


def test_no_date_ends_outside_of_the_figure() -> None:
    hours = history([5] * 38)
    shown = set[bool]()
    for days in range(7):
        timeline = timeline_of(_at(hours, [START + timedelta(days=n + days) for n in range(38)]))
        for width in (600, 1024, 1440):
            frame = Frame(width)
            dates = next(t for t in timeline_figure(timeline, LIGHT, frame)["data"] if t["name"] == "dates")
            pixel = 38 / frame.plot
            said = zip(dates["x"], dates["text"], strict=True)
            assert all((x + 0.5) / pixel + CHARACTER * len(text) <= frame.plot + RIGHT for x, text in said if text)
            shown.add(bool(dates["text"][-1]))
    assert shown == {True, False}


def test_a_pause_is_as_long_as_it_was_on_an_axis_of_time() -> None:
    moments = [START + timedelta(days=n if n < 6 else n + 24) for n in range(12)]
    timeline = timeline_of(_at(history([5] * 12), moments), axis="time")
    day = 86_400_000
    assert timeline.single
    assert np.rint(np.diff(timeline.middles) / day).tolist() == [1] * 5 + [25] + [1] * 5
    assert [timeline.version_at(timeline.position(version)) for version in range(12)] == list(range(12))
    dates = next(t for t in timeline_figure(timeline, LIGHT, Frame())["data"] if t["name"] == "dates")
    assert dates["text"][:2] == ["Mon 5 Jan 2026", "Mon 12"]  # type: ignore[index]


def test_the_ends_have_a_least_width_and_a_tag_at_any_zoom() -> None:
    timeline = timeline_of(history(rows_of(7, 10_000)), marks=most_marks(1_200))
    frame = Frame(whole=(0, 9_999))
    ends = timeline_ends(timeline, LIGHT, frame, version=9_000, compared=100, mapped=True)
    pixel = StripAxis.of(timeline, frame).pixel
    shapes: Any = ends["shapes"]
    bands = [s for s in shapes if s["xref"] == "x" and s["type"] == "rect" and s.get("xsizemode") != "pixel"]
    assert all((band["x1"] - band["x0"]) / pixel >= 7.9 for band in bands)
    on_map = [s for s in shapes if s["xref"] == "x2" and s["type"] == "line"]
    assert [line["x0"] for line in on_map] == [100, 9_000]
    notes: Any = ends["annotations"]
    assert {"<b>v9000</b>", "v100"} <= {note["text"] for note in notes}


def test_tags_beside_each_other_do_not_touch() -> None:
    timeline, pairs = timeline_of(history([1] * 12)), 0
    for version, compared in ((11, 10), (0, 1), (5, 5)):
        notes: Any = timeline_ends(timeline, LIGHT, Frame(343), version=version, compared=compared)["annotations"]
        places = [note["x"] * Frame(343).plot for note in notes if note["yref"] == "paper" and note["y"] == 1][1:]
        assert all(0 < place < Frame(343).plot for place in places)
        if len(places) == 2:
            assert abs(places[0] - places[1]) > 25
            pairs += 1
    assert pairs == 2


def test_dates_and_versions_are_in_two_rows_and_apart() -> None:
    by_name = traces(10_000)
    pixel = 10_000 / Frame().plot
    for name, gap in (("dates", 30), ("version ticks", 50)):
        assert len(by_name[name]["x"]) > 4
        assert np.diff(by_name[name]["x"]).min() / pixel >= gap
    assert by_name["dates"]["y"][0] > by_name["version ticks"]["y"][0]
    # An hour a version from 1 January 2026: the months begin at these versions.
    assert by_name["dates"]["text"][:2] == ["Jan 2026", "Feb"]
    assert by_name["date ticks"]["x"][1] == 31 * 24 - 0.5


def test_texts_of_a_table_are_no_markup() -> None:
    hostile = "<b>x</b><a href='javascript:1'>"
    signs = Signs(np.array([], np.int64), (), ((5, hostile),), ())
    for trace in traces(12, signs=signs).values():
        texts = trace.get("text") or trace.get("hovertext") or []
        assert not any("<a" in text or "<b>x" in text for text in texts)
    lane = VersionLane("log", (Span(0, 11, "readable", hostile),))
    ends = timeline_ends(timeline_of(history([1] * 12)), LIGHT, Frame(), version=1, lanes=(lane,))
    assert "<a" not in json.dumps(plain_json(ends))


def test_a_gap_is_hatched_from_top_to_bottom() -> None:
    timeline = timeline_of(history([5] * 20, versions=[*range(10), *range(15, 25)]))
    gaps = next(t for t in timeline_figure(timeline, LIGHT, Frame())["data"] if t["name"] == "gaps")
    assert gaps["hovertext"] == ["v10 to v14: 5 commits missing"]
    assert (gaps["x"].tolist(), gaps["width"].tolist()) == ([12.0], [5.0])  # type: ignore[attr-defined]
