"""The two drawings of a report as shapes: the history strip, and how many versions a retention keeps.

Invariants: amounts are as tall as on the timeline of the page; shapes follow from the document alone, with rounded
coordinates, so the same document gives the same text; no meaning rests on colour alone: what was removed is hatched,
what was masked is an outline, each state has its form.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.report.document import CommitLabel, HistoryMark, ReportHistory, Retention, StateLine
from explorer.views.table.timeline import Scale

WIDTH: Final = 720
_UP: Final = 40
_DOWN: Final = 34
_BASE: Final = _UP + 4
_WIDEST: Final = 26
_LABEL: Final = 13
_STATES: Final = {"readable": "readable", "at risk": "at-risk", "data gone": "data-gone", "log gone": "log-gone"}


@dataclass(frozen=True, slots=True)
class DrawnShape:
    """A rectangle, and the class of its style."""

    style: str
    x: float
    y: float
    width: float
    height: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class DrawnPoint:
    """A point, such as a diamond."""

    x: float
    y: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class DrawnText:
    """A text at a point: ``anchor`` is start, middle or end."""

    x: float
    y: float
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class StripDrawing:
    """The history strip.

    Attributes:
        height, base: Of the drawing, and of the line between what came and what went.
        bars, lanes: Rectangles.
        diamonds: Versions that changed form.
        labels: Commits that stand out, each with the line from its bar: x, top, bottom.
        leaders: Those lines.
        ticks: Versions on the axis.
        scale: In words.
        states: The lane in words.
        has_masked, has_updated, has_form: Whether the legend names them.
    """

    height: float
    base: float
    bars: tuple[DrawnShape, ...]
    lanes: tuple[DrawnShape, ...]
    diamonds: tuple[DrawnPoint, ...]
    labels: tuple[DrawnText, ...]
    leaders: tuple[tuple[float, float, float], ...]
    ticks: tuple[DrawnText, ...]
    scale: str
    states: str
    has_masked: bool
    has_updated: bool
    has_form: bool


@dataclass(frozen=True, slots=True)
class HorizonDrawing:
    """Versions readable by days of retention: an area, its edge, grid lines, and the retention in force."""

    area: str
    edge: str
    grid: tuple[DrawnText, ...]
    days: tuple[DrawnText, ...]
    now: DrawnText
    caption: str


def draw_history(history: ReportHistory) -> StripDrawing:
    """Draw a history."""
    marks = history.marks
    count = (history.last - history.first) // history.width + 1
    slot = WIDTH / max(count, 1)
    wide = min(slot * 0.82, _WIDEST) if slot > 2.5 else slot
    amounts = [
        amount for mark in marks for amount in (mark.added + mark.unmasked, mark.removed + mark.masked, mark.updated)
    ]
    heights = _Heights.of(amounts)

    def middle(version: int) -> float:
        return ((version // history.width - history.first // history.width) + 0.5) * slot

    bars = [shape for mark in marks for shape in _bars(mark, middle(mark.first), wide, heights, history.unit)]
    rows = max(len(history.labels), 1 if any(mark.removed or mark.masked for mark in marks) else 0)
    below = _BASE + (_DOWN if any(mark.removed or mark.masked or mark.updated for mark in marks) else 4)
    diamonds_at = below + _LABEL * len(history.labels) + 10
    lane_at = diamonds_at + 9
    labels, leaders = _labels(history, middle, below, heights) if rows else ([], [])
    changed = tuple(
        DrawnPoint(_r(middle(mark.first)), diamonds_at, f"{_span(mark.first, mark.last)}: metadata or protocol changed")
        for mark in marks
        if mark.form
    )
    per = "" if history.width == 1 else f", the largest of each {history.width:,} versions"
    return StripDrawing(
        height=lane_at + 20,
        base=_BASE,
        bars=tuple(bars),
        lanes=tuple(_lane(history, state, slot, lane_at) for state in history.states if state.last >= history.first),
        diamonds=changed,
        labels=tuple(labels),
        leaders=tuple(leaders),
        ticks=_ticks(history, middle, lane_at + 17),
        scale=f"{history.unit} by version{per}{heights.scale.words}",
        states=_states_in_words(history),
        has_masked=any(mark.masked or mark.unmasked for mark in marks),
        has_updated=any(mark.updated for mark in marks),
        has_form=bool(changed),
    )


def draw_retention(retention: Retention) -> HorizonDrawing:
    """Draw how many versions each retention keeps readable."""
    left, right, top, bottom = 26.0, 340.0, 8.0, 96.0
    days = retention.file_days
    reach = max([step.days for step in retention.steps], default=0.0)
    end = max(2 * days, min(1.1 * reach, 8 * days), 1.0)
    most = max([step.versions for step in retention.steps], default=0)
    tick = _round_step(max(most, 1) / 3)
    top_value = tick * -(-max(most, 1) // tick)

    def x(value: float) -> float:
        return _r(left + (right - left) * min(value, end) / end)

    def y(value: float) -> float:
        return _r(bottom - (bottom - top) * value / top_value)

    path = [f"M{x(0)} {y(0)}"]
    for step in retention.steps:
        if step.days > end:
            break
        path.append(f"H{x(step.days)}V{y(step.versions)}")
    edge = "".join([*path, f"H{x(end)}"])
    readable = retention.kept
    unit = _round_step(end / 4)
    return HorizonDrawing(
        area=f"{edge}V{y(0)}Z",
        edge=edge,
        grid=tuple(DrawnText(left, y(value), "end", f"{value:,}") for value in range(0, int(top_value) + 1, int(tick))),
        days=tuple(
            DrawnText(x(value), bottom + 14, "middle", f"{value:,}" + (" d" if value + unit > end else ""))
            for value in range(0, int(end) + 1, int(unit))
        ),
        now=DrawnText(
            x(days), y(readable), "end" if x(days) > (left + right) / 2 else "start", f"{days:g} days, current"
        ),
        caption=f"Versions that a vacuum now leaves, by days of retention. {days:g} days keep {readable:,} of the "
        f"{fmt.plural(most, 'version')} with data, and free {fmt.plural(retention.files, 'file')}, "
        f"{fmt.size(retention.bytes)}"
        + (", including orphaned files." if retention.basis == "folder" else ", by the log."),
    )


@dataclass(frozen=True, slots=True)
class _Heights:
    """How tall amounts are drawn, by the scale of the timeline; ``top`` is the largest amount."""

    scale: Scale
    top: int

    @classmethod
    def of(cls, amounts: list[int]) -> _Heights:
        return cls(Scale.of(np.array(amounts, np.float64)), max(amounts, default=0))

    def of_amount(self, amount: int, room: float) -> float:
        """Return the height of an amount in the room that the largest fills."""
        if not amount:
            return 0.0
        height, top = self.scale.heights(np.array([amount, self.top], np.float64)).tolist()
        return _r(max(height / top * room, 1.0))

    def above(self, amount: int, below: int, room: float) -> float:
        """Return the height of an amount that is stacked on another, so that both together are as tall as their sum."""
        return max(_r(self.of_amount(amount + below, room) - self.of_amount(below, room)), 5.0)


def _bars(mark: HistoryMark, middle: float, wide: float, heights: _Heights, unit: str) -> list[DrawnShape]:
    x, name = _r(middle - wide / 2), _span(mark.first, mark.last)
    shapes: list[DrawnShape] = []
    if mark.updated:
        up, down = (heights.of_amount(mark.updated, room) for room in (_UP, _DOWN))
        title = f"{name}: {mark.updated:,} {unit} updated"
        shapes.append(DrawnShape("updated", x, _r(_BASE - up), _r(wide), _r(up + down), title))
    high = heights.of_amount(mark.added, _UP)
    if mark.added:
        shapes.append(DrawnShape("added", x, _r(_BASE - high), _r(wide), high, f"{name}: +{mark.added:,} {unit}"))
    if mark.unmasked:
        tall = heights.above(mark.unmasked, mark.added, _UP)
        title = f"{name}: {mark.unmasked:,} {unit} shown again"
        shapes.append(DrawnShape("masked", x, _r(_BASE - high - tall), _r(wide), tall, title))
    deep = heights.of_amount(mark.removed, _DOWN)
    if mark.removed:
        shapes.append(DrawnShape("removed", x, _BASE, _r(wide), deep, f"{name}: \u2212{mark.removed:,} {unit}"))
    if mark.masked:
        tall = heights.above(mark.masked, mark.removed, _DOWN)
        shapes.append(
            DrawnShape("masked", x, _r(_BASE + deep), _r(wide), tall, f"{name}: {mark.masked:,} {unit} masked")
        )
    if mark.unknown and not shapes:
        shapes.append(DrawnShape("unknown", x, _BASE - 4, _r(wide), 8, f"{name}: {unit} unknown"))
    return shapes


def _labels(
    history: ReportHistory, middle: object, below: float, heights: _Heights
) -> tuple[list[DrawnText], list[tuple[float, float, float]]]:
    assert callable(middle)
    labels: list[DrawnText] = []
    leaders: list[tuple[float, float, float]] = []
    for row, label in enumerate(history.labels):
        at, y = _r(middle(label.version)), below + _LABEL * (row + 1) - 3
        anchor = "end" if at > WIDTH / 2 else "start"
        labels.append(DrawnText(_r(at + (-5 if anchor == "end" else 5)), y, anchor, _label(label, history.unit)))
        leaders.append((at, _BASE + heights.of_amount(-label.amount, _DOWN), y))
    return labels, leaders


def _label(label: CommitLabel, unit: str) -> str:
    parts = [
        f"{fmt.count(label.amount)} {unit}",
        f"v{label.version}",
        fmt.shorten(label.operation, 20),
        fmt.shorten(label.user, 24),
        "" if label.time is None else fmt.day(datetime.fromisoformat(label.time)),
    ]
    return " \u00b7 ".join(part for part in parts if part)


def _lane(history: ReportHistory, state: StateLine, slot: float, y: float) -> DrawnShape:
    first, last = max(state.first, history.first), min(state.last, history.last)
    base = history.first // history.width * history.width
    start = max((first - base) / history.width, 0) * slot
    stop = (last + 1 - base) / history.width * slot
    style = _STATES[state.state]
    return DrawnShape(style, _r(start), y, _r(max(stop - start, 1.5)), 5, f"{_span(first, last)}: {state.state}")


def _states_in_words(history: ReportHistory) -> str:
    """Return the states with their versions; of many, the first ones."""
    words: dict[str, list[str]] = {}
    for state in history.states:
        text = _span(state.first, state.last)
        if state.state == "readable" and state.since is not None:
            text += f" (safe until {fmt.day(datetime.fromisoformat(state.since))})"
        words.setdefault(state.state, []).append(text)
    listed = [
        f"{name}: {', '.join(ranges[:4])}{f' and {len(ranges) - 4} more runs' if len(ranges) > 4 else ''}"
        for name, ranges in words.items()
    ]
    basis = "files were checked" if history.files_checked else "according to the log; files were not checked"
    return f"Lane: {'; '.join(listed)} ({basis})."


def _ticks(history: ReportHistory, middle: object, y: float) -> tuple[DrawnText, ...]:
    assert callable(middle)
    step = max(int(_round_step((history.last - history.first + 1) / 7)), history.width)
    inner = [
        version
        for version in range(-(-history.first // step) * step, history.last + 1, step)
        if version - history.first >= step * 0.6 and history.last - version >= step * 0.6
    ]
    edges = [history.first, *inner, *([history.last] if history.last > history.first else [])]
    anchors = (
        {history.first: "start", history.last: "end"} if len(edges) > 1 and history.last - history.first > 20 else {}
    )
    ticks = []
    for version in edges:
        anchor = anchors.get(version, "middle")
        at = {"start": 0.0, "end": float(WIDTH)}.get(anchor, _r(middle(version)))
        ticks.append(DrawnText(at, y, anchor, f"v{version}"))
    return tuple(ticks)


def _round_step(least: float) -> int:
    step = 1
    while step < least:
        step = step * 2 if str(step)[0] in "15" else step * 5 // 2
    return step


def _span(first: int, last: int) -> str:
    return f"v{first}" if first == last else f"v{first} to v{last}"


def _r(value: float) -> float:
    return round(value, 2)
