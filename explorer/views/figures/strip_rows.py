"""The rows under the bars of the version strip: signs, lanes, and dates and versions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.views.figures.calendar import Tick, apart, calendar_ticks
from explorer.views.figures.plotly import Part, round_versions
from explorer.views.figures.strip_frame import CHARACTER, Frame, Rows, axis_range
from explorer.views.figures.strip_traces import points, stripes, words
from explorer.views.figures.theme import Theme
from explorer.views.table.lanes import Lane, Span, State
from explorer.views.table.timeline import Timeline

__all__ = ["LowerRows"]

_SIGN: Final = 11
"""Pixels of a sign, with the space around it."""


class LowerRows:
    """The traces of the rows under the bars."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame, rows: Rows) -> None:
        self._t, self._theme, self._frame, self._rows = timeline, theme, frame, rows
        first, last = axis_range(timeline, frame)
        self._pixel = (last - first) / frame.plot
        self._slot = timeline.width / self._pixel

    def signs(self) -> list[Part]:
        """Diamonds and flags in their own row, thinned to what there is room for; words where they fit."""
        t, theme, y = self._t, self._theme, self._rows.sign
        near = self._pixel * _SIGN
        form = _apart_values(t.signs.form, near)
        flags = self._flag_places([version for version, _ in t.signs.tags], form)
        room = len(t.signs.checkpoints) * 26 < self._frame.plot
        taken = [*form, *flags.values()]
        checks = [v for v in t.signs.checkpoints if room and all(abs(v - other) > near for other in taken)]
        diamond: Part = {
            "symbol": "diamond", "size": 8.5, "color": theme.surface, "line": {"color": theme.ink, "width": 1.4},
        }  # fmt: skip
        return [
            points("schema, protocol or properties", _places(form), y, diamond, lower=True),
            self._flags("tags", list(flags.values()), theme.accent, "\u2691"),
            self._flags("checkpoints", checks, theme.idle, "\u2690"),
            *self._sign_words(form, flags, checks),
        ]

    def _flag_places(self, versions: Sequence[int], form: Sequence[int]) -> dict[int, float]:
        """Where tags stand: at their version, or beside its diamond; those without room have no flag."""
        near = self._pixel * _SIGN
        diamonds, last = np.array(form, np.float64), -np.inf
        found: dict[int, float] = {}
        for version in versions:
            beside = diamonds[np.abs(diamonds - version) <= near]
            place = float(beside.max()) + near if len(beside) else float(version)
            if place - last > near and not np.any(np.abs(diamonds - place) < 0.99 * near):
                found[version] = last = place
        return found

    def _flags(self, name: str, places: Sequence[float], colour: str, sign: str) -> Part:
        texts = [sign] * len(places)
        return words(name, _places(places), self._rows.sign, texts, colour=colour, position="middle center", size=13)

    def _sign_words(self, form: Sequence[int], flags: dict[int, float], checks: Sequence[int]) -> list[Part]:
        """What tags and protocols say, beside their sign, where nothing else is."""
        tags = dict(self._t.signs.tags)
        said = {float(v): text for v, text in self._t.signs.protocols if v in form}
        said |= {place: tags[version] for version, place in flags.items()}
        taken = sorted({*map(float, form), *flags.values(), *map(float, checks)})
        first, _ = axis_range(self._t, self._frame)
        texts: dict[float, str] = {}
        for place, after in pairwise([*taken, np.inf]):
            text = fmt.plotly_text(said.get(place, ""), 26)
            right = (place - first) / self._pixel + 12 + CHARACTER * len(text)
            if text and right < min(self._frame.plot, (after - first) / self._pixel - 7):
                texts[place] = text
        if not texts:
            return []
        x = _places(list(texts)) + 8 * self._pixel
        ink, shown = self._theme.ink, list(texts.values())
        return [words("signs in words", x, self._rows.sign, shown, colour=ink, position="middle right")]

    def stripes(self, lanes: tuple[Lane, ...]) -> list[Part]:
        """The lanes: solid readable, hatched amber at risk, dotted gone, hatched red a hole."""
        theme = self._theme
        plain: Part = {"line": {"width": 0}}
        looks: tuple[tuple[State, Part, int], ...] = (
            ("readable", plain | {"color": theme.ok}, 0),
            ("recorded", plain | {"color": theme.accent}, 0),
            ("unknown", plain | {"color": theme.idle}, 0),
            # What is a warning is drawn wide enough to be seen.
            ("at risk", stripes(theme.warning_mark, theme.warning_ground), 4),
            ("hole", stripes(theme.danger, theme.danger_ground), 4),
        )
        return [*(self._lane(state, marker, lanes, least) for state, marker, least in looks), self._gone(lanes)]

    def _lane(self, state: State, marker: Part, lanes: tuple[Lane, ...], least: int) -> Part:
        first, last = axis_range(self._t, self._frame)
        spans = self._spans(lanes, state)
        left = np.array([max(span.first - 0.5, first) for _, span in spans])
        right = np.array([min(span.last + 0.5, last) for _, span in spans])
        return {
            "type": "bar", "orientation": "h", "name": state, "x": np.maximum(right - left, least * self._pixel),
            "base": left, "y": np.array([y for y, _ in spans], np.float64), "width": 5, "yaxis": "y3", "marker": marker,
            "hoverinfo": "skip", "showlegend": False,
        }  # fmt: skip

    def _gone(self, lanes: tuple[Lane, ...]) -> Part:
        first, last = axis_range(self._t, self._frame)
        spans = self._spans(lanes, "gone")
        return {
            "type": "scatter", "mode": "lines", "name": "gone",
            "x": [end for _, span in spans for end in (max(span.first - 0.5, first), min(span.last + 0.5, last), None)],
            "y": [place for y, _ in spans for place in (y, y, None)], "yaxis": "y3",
            "line": {"color": self._theme.idle, "width": 1.4, "dash": "1px,3px"},
            "hoverinfo": "skip", "showlegend": False,
        }  # fmt: skip

    def _spans(self, lanes: tuple[Lane, ...], state: str) -> list[tuple[float, Span]]:
        return [
            (place, span)
            for lane, place in zip(lanes, self._rows.lanes, strict=True)
            for span in lane.spans
            if span.state == state
            and span.last + 0.5 > axis_range(self._t, self._frame)[0]
            and span.first <= self._t.last
        ]

    def axes(self) -> list[Part]:
        """Dates and versions in two rows; or, where there is room, what each version is in three."""
        if self._rows.named:
            return [self._names()]
        t, frame = self._t, self._frame
        ticks = self._free(calendar_ticks(t.versions, t.times, max(frame.plot // 74, 1)))
        places = _places([tick.place for tick in ticks])
        first, _ = axis_range(t, frame)
        numbers = [tick for tick in round_versions(t.first, t.last, max(frame.plot // 64, 1))
                   if (tick - first) / self._pixel > 16]  # fmt: skip
        bar: Part = {"symbol": "line-ns", "size": 9, "line": {"color": self._theme.faint, "width": 1}}
        return [
            self._words("dates", places + 2 * self._pixel, 0, [tick.text for tick in ticks], "right"),
            points("date ticks", places, self._rows.lower[0], bar, lower=True),
            self._words("version ticks", _places(numbers), 1, [f"v{number}" for number in numbers], "center"),
        ]

    def _free(self, ticks: Sequence[Tick]) -> list[Tick]:
        """Those whose words do not touch those before."""
        found: list[Tick] = []
        end = -np.inf
        for tick in ticks:
            if tick.place >= end:
                found.append(tick)
                end = tick.place + (CHARACTER * len(tick.text) + 14) * self._pixel
        return found

    def _names(self) -> Part:
        t = self._t
        room = int(self._slot / 7.2)
        texts = [
            f"<b>v{version}</b><br>{fmt.plotly_text(operation, room)}<br>{fmt.plotly_text(time, room)}"
            for version, (operation, time) in zip(t.start.tolist(), t.names, strict=True)
        ]
        return self._words("names", t.middles, 1, texts, "center")

    def _words(self, name: str, x: Float64s, row: int, texts: Sequence[str], side: str) -> Part:
        y = self._rows.lower[row]
        return words(name, x, y, texts, colour=self._theme.muted, position=f"middle {side}")


def _places(versions: Sequence[float]) -> Float64s:
    return np.array(versions, np.float64)


def _apart_values(versions: Int64s, gap: float) -> list[int]:
    return [int(versions[index]) for index in apart(versions.astype(np.float64), gap)]
