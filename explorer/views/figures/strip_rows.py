"""The rows under the bars of the version strip: signs, and dates and versions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.views.figures.calendar import Tick, apart, calendar_ticks, clock_ticks
from explorer.views.figures.plotly import Part, round_versions
from explorer.views.figures.strip_frame import CHARACTER, RIGHT, Axis, Frame, Rows
from explorer.views.figures.strip_traces import points, words
from explorer.views.figures.theme import Theme
from explorer.views.table.timeline import Timeline

__all__ = ["LowerRows"]

_SIGN: Final = 11
"""Pixels of a sign, with the space around it."""


class LowerRows:
    """The traces of the rows under the bars."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame, rows: Rows) -> None:
        self._t, self._theme, self._frame, self._rows = timeline, theme, frame, rows
        self._axis = Axis.of(timeline, frame)

    def signs(self) -> list[Part]:
        """Diamonds and flags in their own row, thinned to what there is room for; words where they fit.

        The diamond of another protocol is filled.
        """
        t, theme, y = self._t, self._theme, self._rows.sign
        form = self._apart(t.signs.form)
        flags = self._flag_places([version for version, _ in t.signs.tags], list(form.values()))
        room = len(t.signs.checkpoints) * 26 < self._axis.plot
        taken = [*form.values(), *flags.values()]
        places = self._places(t.signs.checkpoints if room else ()).tolist()
        checks = [place for place in places if all(abs(place - other) > self._near for other in taken)]
        jumps = {version for version, _ in t.signs.protocols}
        diamond: Part = {
            "symbol": "diamond", "size": 8.5, "line": {"color": theme.ink, "width": 1.4},
            "color": [theme.ink if version in jumps else theme.surface for version in form],
        }  # fmt: skip
        return [
            points("schema, protocol or properties", _floats(list(form.values())), y, diamond, lower=True),
            self._flags("tags", list(flags.values()), theme.accent, "\u2691"),
            self._flags("checkpoints", checks, theme.idle, "\u2690"),
            *self._sign_words(form, flags, checks),
        ]

    @property
    def _near(self) -> float:
        """How close two signs may be, in units of the axis."""
        return _SIGN * self._axis.pixel

    def _places(self, versions: Sequence[float] | Int64s) -> Float64s:
        return self._t.axis.places(np.array(versions, np.float64))

    def _apart(self, versions: Int64s) -> dict[int, float]:
        """Return the versions whose signs have room, and where they are."""
        places = self._places(versions)
        return {int(versions[index]): float(places[index]) for index in apart(places, self._near)}

    def _flag_places(self, versions: Sequence[int], diamonds: Sequence[float]) -> dict[int, float]:
        """Return the places of tags: at their version, or next to its diamond; those without room have no flag."""
        near, form, last = self._near, _floats(diamonds), -np.inf
        places: dict[int, float] = {}
        for version, at in zip(versions, self._places(versions).tolist(), strict=True):
            near_form = form[np.abs(form - at) <= near]
            place = float(near_form.max()) + near if len(near_form) else at
            if place - last > near and not np.any(np.abs(form - place) < 0.99 * near):
                places[version] = last = place
        return places

    def _flags(self, name: str, places: Sequence[float], colour: str, sign: str) -> Part:
        texts = [sign] * len(places)
        return words(name, _floats(places), self._rows.sign, texts, colour=colour, position="middle center", size=13)

    def _sign_words(self, form: dict[int, float], flags: dict[int, float], checks: Sequence[float]) -> list[Part]:
        """Return the texts of tags and protocols next to their signs, where there is room."""
        tags = dict(self._t.signs.tags)
        protocols = {form[version]: text for version, text in self._t.signs.protocols if version in form}
        protocols |= {place: tags[version] for version, place in flags.items()}
        texts: dict[float, str] = {}
        for place, after in pairwise([*sorted({*form.values(), *flags.values(), *checks}), np.inf]):
            text = fmt.plotly_text(protocols.get(place, ""), 26)
            right = self._axis.x(place) + 12 + CHARACTER * len(text)
            if text and right < min(self._axis.plot, self._axis.x(after) - 7):
                texts[place] = text
        if not texts:
            return []
        x = _floats(list(texts)) + 8 * self._axis.pixel
        ink, shown = self._theme.ink, list(texts.values())
        return [words("signs in words", x, self._rows.sign, shown, colour=ink, position="middle right")]

    def axes(self) -> list[Part]:
        """Dates and versions in two rows; or, where there is room, what each version is in three."""
        if self._rows.named:
            return [self._names()]
        t, axis = self._t, self._axis
        most = max(axis.plot // 74, 1)
        timed = t.axis.kind == "time"
        ticks = self._free(clock_ticks(*t.range, most) if timed else calendar_ticks(t.versions, t.times, most))
        places = _floats([tick.place for tick in ticks])
        numbers = self._numbers()
        bar: Part = {"symbol": "line-ns", "size": 9, "line": {"color": self._theme.faint, "width": 1}}
        return [
            self._words("dates", places + 2 * axis.pixel, 0, list(map(self._inside, ticks)), "right"),
            points("date ticks", places, self._rows.lower[0], bar, lower=True),
            self._words(
                "version ticks", _floats(list(numbers.values())), 1, [f"v{number}" for number in numbers], "center"
            ),
        ]

    def _numbers(self) -> dict[int, float]:
        """Round versions where they have room, and where they are."""
        t, axis = self._t, self._axis
        numbers = round_versions(t.first, t.last, max(axis.plot // 64, 1))
        places = self._places(numbers)
        chosen = [index for index in apart(places, 56 * axis.pixel) if axis.x(float(places[index])) > 16]
        return {numbers[index]: float(places[index]) for index in chosen}

    def _free(self, ticks: Sequence[Tick]) -> list[Tick]:
        """Return the ticks whose labels do not touch the previous one."""
        free: list[Tick] = []
        end = -np.inf
        for tick in ticks:
            if tick.place >= end:
                free.append(tick)
                end = tick.place + (CHARACTER * len(tick.text) + 14) * self._axis.pixel
        return free

    def _inside(self, tick: Tick) -> str:
        """Return the words of a tick, if they do not end outside of the figure."""
        end = self._axis.x(tick.place) + 2 + CHARACTER * len(tick.text)
        return tick.text if end <= self._axis.plot + RIGHT else ""

    def _names(self) -> Part:
        t = self._t
        room = int(self._axis.slot / 7.2)
        texts = [
            f"<b>v{version}</b><br>{fmt.plotly_text(operation, room)}<br>{fmt.plotly_text(time, room)}"
            for version, (operation, time) in zip(t.start.tolist(), t.names, strict=True)
        ]
        return self._words("names", t.middles, 1, texts, "center")

    def _words(self, name: str, x: Float64s, row: int, texts: Sequence[str], side: str) -> Part:
        y = self._rows.lower[row]
        return words(name, x, y, texts, colour=self._theme.muted, position=f"middle {side}")


def _floats(places: Sequence[float]) -> Float64s:
    return np.array(places, np.float64)
