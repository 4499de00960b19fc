"""The version strip: what each version did to the rows, its signs, its lanes, its dates, and the whole history below.

Above zero are rows added, below rows removed (hatched) and masked (outlined). In a bin solid is the median commit and
pale the largest; a commit far above the median stands alone. Schema, protocol and properties, tags and checkpoints
have a row of their own. The two ends of the comparison are shapes and annotations: moving them redraws nothing else.

A figure is made for a width in pixels, so that bars, labels and ticks have their size; it can be shown at another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.views.figures.calendar import apart, calendar_ticks
from explorer.views.figures.plotly import Figure, Part, axis, base_layout, nice_ticks, version_ticks
from explorer.views.figures.theme import FONT_FAMILY, Theme
from explorer.views.table.lanes import Lane, Span
from explorer.views.table.timeline import Timeline

__all__ = ["LEAST_NAMED", "Frame", "most_marks", "timeline_ends", "timeline_figure"]

LEAST_NAMED: Final = 76
"""Pixels of a version from which its operation and time are written below it."""
_BAR: Final = 38
_BIN: Final = 4
_TAGS, _BARS, _SIGNS, _LANE, _ROW, _MAP, _FOLDED = 22, 96, 18, 11, 13, 26, 28
_CHARACTER: Final = 5.7
_LABELS: Final = 5


@dataclass(frozen=True, slots=True)
class Frame:
    """The size of the strip and what it shows.

    Attributes:
        width: Pixels, labels included.
        left: Pixels for the labels of the rows.
        folded: The bars alone, in one low row.
        whole: The table's first and last version, if the map of all is drawn below.
        lead: Whether versions before the first one are gone from the log.
    """

    width: int = 1200
    left: int = 76
    folded: bool = False
    whole: tuple[int, int] | None = None
    lead: bool = False

    @property
    def plot(self) -> int:
        """Pixels of the axis."""
        return max(self.width - self.left - _RIGHT, 80)


_RIGHT: Final = 12


def most_marks(width: int, left: int = 76) -> int:
    """Return how many marks a strip of a width has room for."""
    return max(40, (width - left - _RIGHT) // _BIN)


def timeline_figure(
    timeline: Timeline, theme: Theme, frame: Frame, *, lanes: tuple[Lane, ...] = (), history: Timeline | None = None
) -> Figure:
    """Draw the strip without the ends of the comparison: see `timeline_ends`.

    Args:
        timeline: The marks.
        theme: Colours.
        frame: The size.
        lanes: Stripes under the bars.
        history: All versions, for the map below; none is drawn without it.
    """
    rows = _Rows.of(timeline, frame, lanes, mapped=history is not None)
    scale = _Scale.of(timeline)
    drawing = _Drawing(timeline, theme, frame, rows, scale)
    data = drawing.amounts()
    if not frame.folded:
        data += [*drawing.signs(), *drawing.stripes(lanes), *drawing.axes()]
        data += _map(history, theme, frame) if history is not None else []
    data.append(drawing.targets())
    layout = base_layout(theme, rows.height, margin={"l": frame.left, "r": _RIGHT, "t": rows.top, "b": 0})
    first, last = _range(timeline, frame)
    layout |= {
        "width": frame.width,
        "meta": {
            "first": timeline.first, "last": timeline.last, "width": timeline.width, "whole": frame.whole,
            "alone": timeline.alone.versions if timeline.width > 1 else [], "left": frame.left, "right": _RIGHT,
            "bottom": rows.height - _MAP if history is not None else rows.height,
        },
        "barmode": "overlay",
        "bargap": 0,
        "xaxis": axis(theme, range=[first, last], showticklabels=False, anchor="free", position=0),
        "yaxis": axis(
            theme, range=[-scale.low, scale.high], domain=[rows.share(rows.bars), 1], **_row_ticks(timeline, scale, frame)
        ),
        "yaxis3": axis(
            theme, range=[rows.mapped, rows.bars], domain=[rows.share(rows.mapped), rows.share(rows.bars)], anchor="x",
            ticklabelstandoff=5, tickvals=[place for _, place in rows.names], ticktext=[name for name, _ in rows.names],
        ),
    }  # fmt: skip
    if history is not None and frame.whole is not None:
        start, end = frame.whole
        layout |= {
            "xaxis2": axis(theme, range=[start - 0.5, end + 0.5], showticklabels=False, anchor="y2"),
            "yaxis2": axis(theme, range=[0, 1], domain=[0, rows.share(_MAP)], anchor="x2", showticklabels=False),
        }
    return {"data": data, "layout": layout}


def timeline_ends(
    timeline: Timeline, theme: Theme, frame: Frame, *, version: int, compared: int | None = None,
    lanes: tuple[Lane, ...] = (), mapped: bool = False,
) -> Part:  # fmt: skip
    """Return the parts of the layout that show the state: the comparison's two ends, the range between, all labels.

    Args:
        timeline, theme, frame, lanes: As for the figure.
        version: The chosen end (yellow).
        compared: The other end (dashed).
        mapped: The figure has the map of the whole history.
    """
    rows = _Rows.of(timeline, frame, lanes, mapped=mapped)
    first, last = _range(timeline, frame)
    pixel = (last - first) / frame.plot
    half = max(timeline.width / 2, 4 * pixel)
    floor = rows.share(rows.bars - (0 if frame.folded else _SIGNS))
    shapes: list[Part] = []
    seen = {end: timeline.first <= end <= timeline.last for end in (version, version if compared is None else compared)}
    at = timeline.position(version)
    other = None if compared is None or compared == version else compared
    if other is not None:
        left, right = sorted((timeline.position(other), at))
        left, right = max(left + half, first), min(right - half, last)
        if right > left:
            shapes.append(_band(left, right, floor, fill=theme.between))
        if seen[other]:
            place = timeline.position(other)
            shapes.append(_band(place - half, place + half, floor, fill="rgba(0,0,0,0)", outline=theme.accent))
    if seen[version]:
        shapes.append(_band(at - half, at + half, floor, fill=theme.cursor))
        if timeline.width < 8 * pixel:
            shapes.append(_line(at, floor, theme.cursor_line, 1.2))
    brush: list[int] = []
    if mapped and frame.whole is not None:
        brush = [len(shapes), len(shapes) + 1, len(shapes) + 2]
        shapes += _brush(timeline, theme, rows, version, other)
    annotations: list[Part] = []
    if not frame.folded:
        annotations = [_unit_label(timeline, theme), *_lane_labels(timeline, frame, lanes, rows, theme)]
        annotations += _tags(timeline, frame, theme, version, other)
    return {"shapes": shapes, "annotations": annotations, "brush": brush}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where things are, in pixels above the bottom of the figure."""

    height: int
    top: int
    bars: int
    sign: float
    lanes: tuple[float, ...]
    lower: tuple[float, ...]
    mapped: int
    named: bool
    names: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, timeline: Timeline, frame: Frame, lanes: tuple[Lane, ...], *, mapped: bool) -> _Rows:
        if frame.folded:
            return cls(_FOLDED + 4, 2, 2, 0, (), (), 0, False, ())
        named = bool(timeline.names) and frame.plot / max(len(timeline.start), 1) >= LEAST_NAMED
        below = _ROW * (3 if named else 2) + 4
        floor = _MAP + 5 if mapped else 2
        bars = floor + below + _LANE * len(lanes) + 4 + _SIGNS
        sign = bars - _SIGNS / 2
        stripes = tuple(bars - _SIGNS - 6 - _LANE * index for index in range(len(lanes)))
        lower = tuple(floor + below - 4 - _ROW * (index + 0.5) for index in range(3 if named else 2))
        names = [("signs", sign), *zip((lane.name for lane in lanes), stripes, strict=True)]
        names += [] if named else [("date", lower[0]), ("version", lower[1])]
        return cls(bars + _BARS + _TAGS, _TAGS, bars, sign, stripes, lower, floor if mapped else 0, named, tuple(names))

    def share(self, pixels: float) -> float:
        """A height above the bottom as a share of the plot, as plotly's domains and paper coordinates count."""
        return pixels / (self.height - self.top)


@dataclass(frozen=True, slots=True)
class _Scale:
    """How far the bars reach, and from an amount to a height."""

    square_root: bool
    high: float
    low: float
    floor: float

    @classmethod
    def of(cls, timeline: Timeline) -> _Scale:
        up, down = (float(np.sqrt(top)) if timeline.square_root else top for top in timeline.top)
        up = max(up, 1e-9 if down else 1.0)
        floor = 0.03 * (up + down)
        # A side with little on it still has room for its least bar and for a label.
        return cls(timeline.square_root, max(up * 1.06, 3 * floor), max(down * 1.06, 3 * floor), floor)

    def heights(self, amounts: Float64s) -> Float64s:
        """Heights of amounts; what is not zero is never too low to be seen."""
        scaled = np.sqrt(amounts) if self.square_root else amounts
        return np.where(amounts > 0, np.maximum(scaled, self.floor), 0)


class _Drawing:
    """The traces of one figure."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame, rows: _Rows, scale: _Scale) -> None:
        self._t, self._theme, self._frame, self._rows, self._scale = timeline, theme, frame, rows, scale
        first, last = _range(timeline, frame)
        self._pixel = (last - first) / frame.plot
        slot = timeline.width / self._pixel
        self._slot = slot
        share = 1.0 if slot < 3 else 0.84 if slot < 12 else 0.72
        self._bar = min(share * slot, _BAR) * self._pixel
        self._alone = max(self._bar, 6 * self._pixel)

    def amounts(self) -> list[Part]:
        """The bars of each mark, those that stand alone, stubs of what is unknown, ticks of what changed no row."""
        t, theme = self._t, self._theme
        x = t.middles
        colours = self._colours(t.group, theme.added)
        if t.width == 1:
            up = self._scale.heights(t.added + np.maximum(-t.masked, 0))
            removed = self._scale.heights(t.removed)
            below = self._scale.heights(t.removed + np.maximum(t.masked, 0)) - removed
            hidden = np.where(t.masked > 0, np.maximum(below, self._scale.floor), 0)
            parts = [
                self._bars("added", x, up, np.zeros(len(x)), {"color": colours}),
                self._bars("removed", x, -removed, np.zeros(len(x)), self._hatched(self._slot)),
                self._bars("masked", x, -hidden, -removed, _outlined(theme)),
            ]
            parts += self._labels()
        else:
            parts = self._binned(x, colours)
        return [*parts, *self._still(x), *self._gaps()]

    def _binned(self, x: Float64s, colours: object) -> list[Part]:
        t, theme = self._t, self._theme
        zero = np.zeros(len(x))
        up, down = t.up, t.down
        low = -self._scale.heights(down.largest)
        masked = np.flatnonzero(t.masked > 0)
        return [
            self._bars("largest added", x, self._scale.heights(up.largest), zero, {"color": colours, "opacity": 0.42}),
            self._bars("added", x, self._scale.heights(up.median), zero, {"color": colours}),
            self._bars("largest removed", x, low, zero, {"color": theme.removed, "opacity": 0.42}),
            self._bars("removed", x, -self._scale.heights(down.median), zero, {"color": theme.removed}),
            _points(
                "masked", x[masked], low[masked] - 1.4 * self._scale.floor,
                {"symbol": "square-open", "size": 5, "color": theme.remasked, "line": {"width": 1.3}},
            ),
            *self._lonely(),
            *self._labels(),
        ]  # fmt: skip

    def _lonely(self) -> list[Part]:
        alone, theme = self._t.alone, self._theme
        up, down = alone.amounts > 0, (alone.amounts < 0) & ~alone.masked
        masked = (alone.amounts < 0) & alone.masked
        x, height = alone.versions.astype(np.float64), np.sign(alone.amounts) * self._scale.heights(abs(alone.amounts))
        zero = np.zeros(len(x))
        colours = self._colours(alone.groups[up], theme.added)
        kinds = ((up, {"color": colours}), (down, self._hatched(8)), (masked, _outlined(theme)))
        return [
            self._bars(name, x[chosen], height[chosen], zero[chosen], marker, width=self._alone)
            for name, (chosen, marker) in zip(("one added", "one removed", "one masked"), kinds, strict=True)
        ]

    def _labels(self) -> list[Part]:
        """Words beside the largest of the commits that stand alone, where they do not touch."""
        if self._frame.folded or self._rows.named or self._frame.plot < 420:
            return []
        alone, texts, boxes = self._t.alone, [], []
        first, last = _range(self._t, self._frame)
        per_pixel = (self._scale.high + self._scale.low) / _BARS
        for index in np.argsort(-abs(alone.amounts), kind="stable")[: 3 * _LABELS].tolist():
            amount, at = float(alone.amounts[index]), float(alone.versions[index])
            head, detail = fmt.plotly_text(alone.labels[index], 30), fmt.plotly_text(alone.details[index], 44)
            tip = float(np.sign(amount) * self._scale.heights(np.array([abs(amount)]))[0])
            if abs(tip) < 0.3 * max(self._scale.high, self._scale.low):
                continue
            wide = _CHARACTER * max(len(head) + 1, len(detail))
            x = (at - first) / self._pixel
            right = x + wide + 10 < self._frame.plot
            left_edge = x + 6 if right else x - 6 - wide
            middle = tip - np.sign(tip) * 13 * per_pixel
            box = (left_edge, middle / per_pixel - 13, left_edge + wide, middle / per_pixel + 13)
            if left_edge < 0 or any(_touch(box, other) for other in boxes):
                continue
            boxes.append(box)
            texts.append((at + (6 if right else -6) * self._pixel, middle, f"<b>{head}</b><br>{detail}", right))
            if len(texts) == _LABELS:
                break
        if not texts:
            return []
        label = _points("labels", np.array([text[0] for text in texts]), np.array([text[1] for text in texts]), {})
        return [label | {
            "mode": "text", "text": [text[2] for text in texts], "cliponaxis": False,
            "textposition": ["middle right" if text[3] else "middle left" for text in texts],
            "textfont": {"size": 10.5, "color": self._theme.ink, "family": FONT_FAMILY},
        }]  # fmt: skip

    def _still(self, x: Float64s) -> list[Part]:
        """Commits whose rows the log does not state: a grey stub; that changed no row at all: a tick on the zero."""
        t, theme = self._t, self._theme
        moved = (t.added != 0) | (t.removed != 0) | (t.masked != 0)
        height = np.where(t.unknown & ~moved, 2 * self._scale.floor, 0)
        stubs = self._bars("rows unknown", x, height, -height / 2, {"color": theme.idle, "opacity": 0.55})
        if self._slot < 5:
            return [stubs]
        gone = np.zeros(len(x), dtype=bool)
        for start, end in t.gaps:
            gone |= (t.start >= start) & (t.start + t.width - 1 <= end)
        quiet = np.flatnonzero(~(moved | t.unknown | gone))
        tick = {"symbol": "line-ns", "size": 6, "line": {"color": theme.idle, "width": 1.4}}
        return [stubs, _points("no row changed", x[quiet], np.zeros(len(quiet)), tick)]

    def _gaps(self) -> list[Part]:
        """Commits that the log lacks: hatched from top to bottom."""
        t, theme = self._t, self._theme
        spans = [(start - 0.5, end + 0.5, f"v{start} to v{end}: {fmt.plural(end - start + 1, 'commit')} missing")
                 for start, end in t.gaps]  # fmt: skip
        if self._frame.lead and not self._frame.folded:
            spans.append((_range(t, self._frame)[0], t.first - 0.5, f"v{t.first - 1} and before: gone from the log"))
        if not spans:
            return []
        left, right = np.array([span[0] for span in spans]), np.array([span[1] for span in spans])
        width = np.maximum(right - left, 8 * self._pixel)
        pattern = {"shape": "/", "fgcolor": theme.faint, "bgcolor": theme.surface, "size": 6, "solidity": 0.25}
        return [{
            "type": "bar", "name": "gaps", "x": (left + right) / 2, "y": np.full(len(spans), self._scale.high + self._scale.low),
            "base": -self._scale.low, "width": width, "marker": {"color": theme.surface, "pattern": pattern, "line": {"width": 0}},
            "hovertext": [span[2] for span in spans], "hoverinfo": "text", "showlegend": False,
        }]  # fmt: skip

    def signs(self) -> list[Part]:
        """Diamonds and flags in their own row, thinned to what there is room for; words where they fit."""
        t, theme, y = self._t, self._theme, self._rows.sign
        tags = [version for version, _ in t.signs.tags]
        near = self._pixel * 11
        form = _apart_values(t.signs.form, near)
        flags = [version for version in _apart_values(np.array(tags, np.int64), near)]
        taken = {*form, *flags}
        room = len(t.signs.checkpoints) * 26 < self._frame.plot
        checks = [v for v in t.signs.checkpoints if room and all(abs(v - other) > near for other in taken)]
        return [
            _points("schema, protocol or properties", np.array(form, np.float64), np.full(len(form), y),
                    {"symbol": "diamond", "size": 8.5, "color": theme.surface, "line": {"color": theme.ink, "width": 1.4}}),
            self._flags("tags", flags, y, theme.accent, "\u2691"),
            self._flags("checkpoints", checks, y, theme.idle, "\u2690"),
            *self._sign_words(form, flags, checks),
        ]  # fmt: skip

    def _flags(self, name: str, versions: Sequence[int], y: float, colour: str, sign: str) -> Part:
        found = _points(name, np.array(versions, np.float64), np.full(len(versions), y), {})
        font = {"size": 13, "color": colour, "family": FONT_FAMILY}
        return found | {"mode": "text", "text": [sign] * len(versions), "textposition": "middle center", "textfont": font}

    def _sign_words(self, form: Sequence[int], flags: Sequence[int], checks: Sequence[int]) -> list[Part]:
        words = dict(self._t.signs.protocols) | dict(self._t.signs.tags)
        taken = sorted({*form, *flags, *checks})
        first, _ = _range(self._t, self._frame)
        texts = []
        free = -np.inf
        for version in taken:
            if version not in words:
                continue
            text = fmt.plotly_text(words[version], 26)
            left = (version - first) / self._pixel + 8
            right = left + _CHARACTER * len(text) + 4
            after = next((other for other in taken if other > version), None)
            blocked = after is not None and (after - first) / self._pixel - 7 < right
            if left > free and not blocked and right < self._frame.plot:
                texts.append((version + 8 * self._pixel, text))
                free = right
        if not texts:
            return []
        label = _points("signs in words", np.array([t[0] for t in texts]), np.full(len(texts), self._rows.sign), {})
        font = {"size": 10.5, "color": self._theme.ink, "family": FONT_FAMILY}
        return [label | {"mode": "text", "text": [t[1] for t in texts], "textposition": "middle right", "textfont": font}]

    def stripes(self, lanes: tuple[Lane, ...]) -> list[Part]:
        """The lanes: solid readable, hatched amber at risk, dotted gone, hatched red a hole."""
        theme, parts = self._theme, []
        looks = {
            "readable": {"color": theme.ok},
            "recorded": {"color": theme.accent},
            "unknown": {"color": theme.idle},
            "at risk": _hatch(theme.warning_mark, theme.warning_ground),
            "hole": _hatch(theme.danger, theme.danger_ground),
        }
        first, last = _range(self._t, self._frame)
        for state, marker in looks.items():
            spans = self._spans(lanes, state)
            left = np.array([max(span.first - 0.5, first) for _, span in spans])
            right = np.array([min(span.last + 0.5, last) for _, span in spans])
            # A span too thin to be seen is drawn wide enough; a line of one colour has no need of it.
            wide = np.maximum(right - left, (0 if state in ("readable", "recorded", "unknown") else 4) * self._pixel)
            parts.append({
                "type": "bar", "orientation": "h", "name": state, "x": wide, "base": left,
                "y": np.array([y for y, _ in spans], np.float64), "width": 5, "yaxis": "y3", "marker": marker | {"line": {"width": 0} | marker.get("line", {})},
                "hoverinfo": "skip", "showlegend": False,
            })  # fmt: skip
        gone = self._spans(lanes, "gone")
        x = [end for _, span in gone for end in (max(span.first - 0.5, first), min(span.last + 0.5, last), None)]
        y = [place for place, _ in gone for place in (place, place, None)]
        dotted = {"color": theme.idle, "width": 1.4, "dash": "1px,3px"}
        parts.append({"type": "scatter", "mode": "lines", "name": "gone", "x": x, "y": y, "yaxis": "y3", "line": dotted,
                      "hoverinfo": "skip", "showlegend": False})  # fmt: skip
        return parts

    def _spans(self, lanes: tuple[Lane, ...], state: str) -> list[tuple[float, Span]]:
        return [
            (place, span)
            for lane, place in zip(lanes, self._rows.lanes, strict=True)
            for span in lane.spans
            if span.state == state and span.last >= self._t.first and span.first <= self._t.last
        ]

    def axes(self) -> list[Part]:
        """Dates and versions in two rows; or, where there is room, what each version is in three."""
        if self._rows.named:
            return [self._names()]
        t, frame = self._t, self._frame
        ticks = calendar_ticks(t.versions, t.times, max(frame.plot // 74, 1))
        places = np.array([tick.place for tick in ticks], np.float64)
        kept = apart(places, 66 * self._pixel)
        steps = version_ticks(t.first, t.last, max(frame.plot // 64, 1))
        at = np.array(steps["tickvals"], np.float64)
        return [
            self._words("dates", places[kept], 0, [ticks[index].text for index in kept], "middle right"),
            _points("date ticks", places[kept], np.full(len(kept), self._rows.lower[0]),
                    {"symbol": "line-ns", "size": 9, "line": {"color": self._theme.faint, "width": 1}}),
            self._words("version ticks", at, 1, steps["ticktext"], "middle center"),
        ]  # fmt: skip

    def _names(self) -> Part:
        t = self._t
        room = int(self._slot / 6.1)
        texts = [
            f"<b>v{version}</b><br>{fmt.plotly_text(operation, room)}<br>{fmt.plotly_text(time, room)}"
            for version, (operation, time) in zip(t.start.tolist(), t.names, strict=True)
        ]
        return self._words("names", t.middles, 1, texts, "middle center")

    def _words(self, name: str, x: Float64s, row: int, texts: object, position: str) -> Part:
        found = _points(name, x, np.full(len(x), self._rows.lower[row]), {})
        font = {"size": 10.5, "color": self._theme.muted, "family": FONT_FAMILY}
        return found | {"mode": "text", "text": texts, "textposition": position, "textfont": font}

    def targets(self) -> Part:
        """An invisible bar over each mark: what is pointed at, also where no bar is drawn."""
        t, scale = self._t, self._scale
        return {
            "type": "bar",
            "name": "versions",
            "x": t.middles,
            "y": np.full(len(t.start), scale.high + scale.low),
            "base": -scale.low,
            "width": t.width,
            "marker": {"color": "rgba(0,0,0,0)", "line": {"width": 0}},
            "hovertext": ["<br>".join(fmt.plotly_text(line, 90) for line in text.split("\n")) for text in t.labels],
            "hoverinfo": "text",
            "showlegend": False,
        }

    def _bars(self, name: str, x: Float64s, height: Float64s, base: Float64s, marker: Part, width: float = 0.0) -> Part:
        there = np.flatnonzero(height)
        colour = marker.get("color")
        if isinstance(colour, list):
            marker = marker | {"color": [colour[index] for index in there.tolist()]}
        return {
            "type": "bar", "name": name, "x": x[there], "y": height[there], "base": base[there], "marker": marker,
            "width": width or self._bar, "hoverinfo": "skip", "showlegend": False,
        }  # fmt: skip

    def _colours(self, groups: Int64s, plain: str) -> object:
        """One colour, or one for each mark where authors or operations have colours."""
        if not self._t.groups:
            return plain
        return [self._theme.series[group] if group >= 0 else self._theme.idle for group in groups.tolist()]

    def _hatched(self, slot: float) -> Part:
        theme = self._theme
        if slot < 6:
            return {"color": theme.removed}
        pattern = {"shape": "/", "fgcolor": theme.removed, "bgcolor": theme.surface, "size": 5, "solidity": 0.5}
        return {"color": theme.removed, "pattern": pattern, "line": {"color": theme.removed, "width": 1}}


def _range(timeline: Timeline, frame: Frame) -> tuple[float, float]:
    """What the axis covers: the versions, and a strip before them for commits that are gone."""
    span = timeline.last - timeline.first + 1
    lead = frame.lead and not frame.folded
    return timeline.first - 0.5 - (span * 26 / (frame.plot - 26) if lead else 0), timeline.last + 0.5


def _points(name: str, x: Float64s, y: Float64s, marker: Part) -> Part:
    lower = name in _LOWER
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker, "hoverinfo": "skip",
        "showlegend": False, "cliponaxis": not lower,
    } | ({"yaxis": "y3"} if lower else {})  # fmt: skip


_LOWER: Final = {
    "schema, protocol or properties", "tags", "checkpoints", "signs in words", "dates", "date ticks", "version ticks", "names",
}  # fmt: skip


def _apart_values(versions: Int64s, gap: float) -> list[int]:
    return [int(versions[index]) for index in apart(versions.astype(np.float64), gap)]


def _touch(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] + 6 and other[0] < one[2] + 6 and one[1] < other[3] and other[1] < one[3]


def _outlined(theme: Theme) -> Part:
    return {"color": theme.surface, "line": {"color": theme.remasked, "width": 1.6}}


def _hatch(colour: str, ground: str) -> Part:
    return {
        "color": ground,
        "pattern": {"shape": "/", "fgcolor": colour, "bgcolor": ground, "size": 5, "solidity": 0.5},
        "line": {"color": colour, "width": 1},
    }


def _map(history: Timeline, theme: Theme, frame: Frame) -> list[Part]:
    """The whole history: live rows as a ground, commits that stand alone as ticks, the years."""
    x = history.middles
    live = np.nan_to_num(history.live)
    top = max(float(live.max()), 1.0)
    alone = history.alone
    _, reach = max(history.top), max(*history.top, 1.0)
    height = np.sqrt(abs(alone.amounts) / reach)
    pixel = (history.last - history.first + 1) / frame.plot
    ticks = calendar_ticks(history.versions, history.times, max(frame.plot // 200, 1))
    shared = {"xaxis": "x2", "yaxis": "y2", "hoverinfo": "skip", "showlegend": False}
    colours = [theme.added if amount > 0 else theme.removed for amount in alone.amounts.tolist()]
    font = {"size": 10.5, "color": theme.muted, "family": FONT_FAMILY}
    return [
        {"type": "scatter", "mode": "lines", "name": "live rows", "x": x, "y": 0.62 * live / top, "fill": "tozeroy",
         "fillcolor": theme.line, "line": {"width": 0, "shape": "hv"}} | shared,
        {"type": "bar", "name": "large commits", "x": alone.versions, "y": 0.25 + 0.75 * height, "width": 3 * pixel,
         "marker": {"color": colours, "line": {"width": 0}}} | shared,
        {"type": "scatter", "mode": "text", "name": "years", "x": [tick.place for tick in ticks],
         "y": [0.6] * len(ticks), "text": [tick.text for tick in ticks], "textposition": "middle right",
         "textfont": font} | shared,
    ]  # fmt: skip


def _brush(timeline: Timeline, theme: Theme, rows: _Rows, version: int, other: int | None) -> list[Part]:
    top = rows.share(_MAP)
    left, right = timeline.first - 0.5, timeline.last + 0.5
    box = {"xref": "x2", "yref": "paper", "y0": 0, "y1": top}
    handle = box | {"type": "rect", "xsizemode": "pixel", "y0": 0.25 * top, "y1": 0.75 * top, "fillcolor": theme.surface,
                    "line": {"color": theme.accent, "width": 1.4}, "x0": -3, "x1": 3}  # fmt: skip
    parts: list[Part] = [
        box | {"type": "rect", "x0": left, "x1": right, "fillcolor": theme.between,
               "line": {"color": theme.accent, "width": 1.4}},
        handle | {"xanchor": left},
        handle | {"xanchor": right},
    ]  # fmt: skip
    if other is not None:
        line = {"color": theme.accent, "width": 1.4, "dash": "2px,2px"}
        parts.append(box | {"type": "line", "x0": other, "x1": other, "line": line})
    return [*parts, box | {"type": "line", "x0": version, "x1": version, "line": {"color": theme.cursor_line, "width": 3}}]


def _row_ticks(timeline: Timeline, scale: _Scale, frame: Frame) -> Part:
    if frame.folded:
        return {"showticklabels": False, "zeroline": True}
    square, (up, down) = timeline.square_root, timeline.top
    top = nice_ticks(up, square)
    bottom = nice_ticks(down, square) if scale.low > 0.28 * scale.high else []
    # Rows are whole: there is no tick at half a row.
    values = [-value for value in reversed(bottom) if value >= 1] + [0.0, *(value for value in top if value >= 1)]
    at = [float(np.sign(value) * np.sqrt(abs(value))) if square else value for value in values]
    at, values = _apart(at, values, 0.15 * (scale.high + scale.low))
    texts = [fmt.compact(value) if value else "0" for value in values]
    return {"tickvals": at, "ticktext": texts, "zeroline": True, "showgrid": True}


def _apart(places: list[float], values: list[float], gap: float) -> tuple[list[float], list[float]]:
    """Drop ticks whose labels would touch; zero and the outermost stay."""
    kept: list[tuple[float, float]] = [(0.0, 0.0)]
    for place, value in sorted(zip(places, values, strict=True), key=lambda tick: -abs(tick[0])):
        if all(abs(place - other) >= gap for other, _ in kept):
            kept.append((place, value))
    kept.sort()
    return [place for place, _ in kept], [value for _, value in kept]


def _unit_label(timeline: Timeline, theme: Theme) -> Part:
    """The axis' unit, and its scale where that is not linear."""
    text = f"{timeline.unit}<br>\u221a scale" if timeline.square_root else timeline.unit
    return {
        "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xshift": -74, "yshift": 14,
        "xanchor": "left", "yanchor": "top",
        "showarrow": False, "align": "left", "text": text, "font": {"size": 10, "color": theme.muted},
    }  # fmt: skip


def _lane_labels(
    timeline: Timeline, frame: Frame, lanes: tuple[Lane, ...], rows: _Rows, theme: Theme
) -> list[Part]:
    """What a state is, written over its span where it is wide enough."""
    first, last = _range(timeline, frame)
    pixel = (last - first) / frame.plot
    found = []
    for lane, y in zip(lanes, rows.lanes, strict=True):
        for span in lane.spans:
            left, right = max(span.first - 0.5, first), min(span.last + 0.5, last)
            if not span.label or (right - left) / pixel < _CHARACTER * len(span.label) + 46:
                continue
            found.append({
                "x": left, "y": rows.share(y), "xref": "x", "yref": "paper", "xshift": 14, "xanchor": "left",
                "yanchor": "middle", "showarrow": False, "text": f"\u00a0{fmt.plotly_text(span.label, 60)}\u00a0", "bgcolor": theme.surface,
                "borderpad": 0, "height": 11, "font": {"size": 10, "color": theme.ink},
            })  # fmt: skip
    return found[:8]


def _tags(timeline: Timeline, frame: Frame, theme: Theme, version: int, other: int | None) -> list[Part]:
    """The numbers of the two ends above them; of one that is out of the window, at the edge it is behind."""
    first, last = _range(timeline, frame)
    pixel = (last - first) / frame.plot
    places: list[tuple[float, Part]] = []
    for end, chosen in ((version, True), (other, False)):
        if end is None:
            continue
        text = f"\u2039 v{end}" if end < timeline.first else f"v{end} \u203a" if end > timeline.last else f"v{end}"
        half = (_CHARACTER * len(text) + 12) / 2
        at = float(np.clip((timeline.position(end) - first) / pixel, half, frame.plot - half))
        if places and abs(at - places[0][0]) < 2 * half + 4:
            beside = places[0][0] + (2 * half + 4) * (-1 if end < version else 1)
            at = beside if half <= beside <= frame.plot - half else places[0][0] - (beside - places[0][0])
        look = (
            {"bgcolor": theme.cursor_solid, "bordercolor": theme.cursor_solid, "font": {"size": 11, "color": theme.on_cursor}}
            if chosen
            else {"bgcolor": theme.surface, "bordercolor": theme.accent, "font": {"size": 11, "color": theme.accent}}
        )
        places.append((at, look | {
            "xref": "paper", "yref": "paper", "x": at / frame.plot, "y": 1, "yanchor": "bottom", "xanchor": "center",
            "yshift": 3, "showarrow": False, "text": f"<b>{text}</b>" if chosen else text, "borderpad": 2, "height": 12,
        }))  # fmt: skip
    return [part for _, part in places]


def _band(left: float, right: float, floor: float, *, fill: str, outline: str | None = None) -> Part:
    line = {"width": 1.4, "color": outline, "dash": "3px,2px"} if outline else {"width": 0}
    box = {"type": "rect", "xref": "x", "yref": "paper", "x0": left, "x1": right, "y0": floor, "y1": 1}
    return box | {"fillcolor": fill, "line": line, "layer": "above" if outline else "below"}


def _line(at: float, floor: float, colour: str, half: float) -> Part:
    return {
        "type": "rect", "xref": "x", "yref": "paper", "xsizemode": "pixel", "xanchor": at, "x0": -half, "x1": half,
        "y0": floor, "y1": 1, "fillcolor": colour, "line": {"width": 0}, "layer": "above",
    }  # fmt: skip
