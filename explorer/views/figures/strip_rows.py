"""The rows under the bars of the version strip: signs, lanes, dates and versions.

A lane is solid where versions are readable, hatched amber where they are at risk, dotted where they are deleted, and
hatched red in a gap. Of a mark of many versions it shows the share of each state; a warning is never too thin to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.views.figures.plotly import Part, Tick, apart, calendar_ticks, clock_ticks, round_versions
from explorer.views.figures.strip_frame import CHARACTER, RIGHT, Frame, StripAxis, StripRows, points, stripes, words
from explorer.views.figures.theme import Theme
from explorer.views.table.lanes import State, VersionLane, spans_of
from explorer.views.table.timeline import Timeline

_SIGN: Final = 11
"""Pixels of a sign, with the space around it."""


class LowerRows:
    """The traces of the rows under the bars."""

    def __init__(self, timeline: Timeline, theme: Theme, frame: Frame, rows: StripRows) -> None:
        self._t, self._theme, self._frame, self._rows = timeline, theme, frame, rows
        self._axis = StripAxis.of(timeline, frame)

    def signs(self) -> list[Part]:
        """Return diamonds and flags in their own row, thinned to the space; words where they fit.

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
        """Return dates and versions in two rows; or, if there is space, the names of versions in three."""
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
        """Return round versions that have space, and their places."""
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


_HIGH: Final = 5.0
_LEAST: Final = 1.25
"""Pixels of a lane, and of the thinnest part of one."""
_ABOVE: Final = 8
"""Pixels from the middle of a lane to that of its words."""
_STEPS: Final = 8
_LABELS: Final = 8
_ROOM: Final = 46
"""Pixels of a lane that stay to be seen beside its words."""
_LONGEST: Final = 120
"""Characters of a lane's words: all that this program says there, as a date that is cut is none."""
_STATES: Final[tuple[State, ...]] = ("readable", "recorded", "unknown", "gone", "at risk", "hole")
"""From the top of a lane to its bottom."""
_DRAWN: Final = tuple(state for state in _STATES if state != "gone")


@dataclass(frozen=True, slots=True)
class _Piece:
    """Marks after each other with the same shares: their versions, and the parts of each state, in eighths."""

    first: int
    last: int
    shares: tuple[int, ...]

    def parts(self) -> Iterator[tuple[State, float, float]]:
        """Yield each state with where its part is above the lane's middle and how high it is, in pixels."""
        least = [max(_HIGH * share / _STEPS, _LEAST) if share else 0.0 for share in self.shares]
        free = _HIGH - sum(least)
        main = int(np.argmax(self.shares))
        heights = [height + (free if place == main else 0.0) for place, height in enumerate(least)]
        top = _HIGH / 2
        for state, height in zip(_STATES, heights, strict=True):
            if height > 0:
                yield state, top - height / 2, height
            top -= height


def lane_traces(
    timeline: Timeline, theme: Theme, axis: StripAxis, rows: StripRows, lanes: tuple[VersionLane, ...]
) -> list[Part]:
    """Return the lanes as bars, one trace for each state, and the dotted lines of what is gone."""
    styles: dict[State, Part] = {
        "readable": {"color": theme.ok},
        "recorded": {"color": theme.accent},
        "unknown": {"color": theme.idle},
        "at risk": stripes(theme.warning_mark, theme.warning_ground),
        "hole": stripes(theme.danger, theme.danger_ground),
    }
    boxes: dict[State, list[tuple[float, float, float, float]]] = {state: [] for state in _STATES}
    for lane, place in zip(lanes, rows.lanes, strict=True):
        for piece in _pieces(timeline, lane):
            left, right = axis.clip(*timeline.edges(piece.first, piece.last))
            for state, middle, height in piece.parts():
                boxes[state].append((left, right, place + middle, height))
    return [*(_bars(state, boxes[state], {"line": {"width": 0}} | styles[state]) for state in _DRAWN),
            _dots(boxes["gone"], theme)]  # fmt: skip


def lane_labels(
    timeline: Timeline, theme: Theme, axis: StripAxis, rows: StripRows, lanes: tuple[VersionLane, ...]
) -> list[Part]:
    """Return what a state is, written above its span where it is wide enough; of scattered ones, how many there are."""
    labels: list[Part] = []
    for lane, y in zip(lanes, rows.lanes, strict=True):
        for first, last, label in [*_span_texts(timeline, axis, lane), *_scattered(timeline, lane)]:
            left, right = axis.clip(*timeline.edges(first, last))
            text = fmt.plotly_text(label, _LONGEST)
            if text and (right - left) / axis.pixel >= CHARACTER * len(text) + _ROOM:
                labels.append({
                    "x": left, "y": rows.share(y + _ABOVE), "xref": "x", "yref": "paper", "xshift": 2,
                    "xanchor": "left",
                    "yanchor": "middle", "showarrow": False, "text": text,
                    "borderpad": 0, "height": 11, "font": {"size": 10, "color": theme.muted},
                })  # fmt: skip
    return labels[:_LABELS]


def _span_texts(timeline: Timeline, axis: StripAxis, lane: VersionLane) -> list[tuple[int, int, str]]:
    """Return the labels of spans that have room for one."""
    ends = np.array([timeline.edges(span.first, span.last) for span in lane.spans], np.float64).reshape(-1, 2)
    wide = np.flatnonzero(np.diff(ends, axis=1)[:, 0] >= _ROOM * axis.pixel)
    return [(span.first, span.last, span.label) for span in (lane.spans[index] for index in wide.tolist())]


def _scattered(timeline: Timeline, lane: VersionLane) -> Iterator[tuple[int, int, str]]:
    """Yield how many versions are at risk, or in a gap, for each run of marks of several states."""
    if timeline.single:
        return
    for piece in _pieces(timeline, lane):
        if sum(share > 0 for share in piece.shares) < 2:
            continue
        for state in ("hole", "at risk"):
            spans = [span for span in lane.spans if span.state == state and span.last >= piece.first]
            within = [span for span in spans if span.first <= piece.last]
            number = sum(min(span.last, piece.last) - max(span.first, piece.first) + 1 for span in within)
            if number:
                of = f"{fmt.count(number)} of {fmt.count(piece.last - piece.first + 1)} versions"
                yield piece.first, piece.last, f"{of}: {within[0].label}"
                break


def _pieces(timeline: Timeline, lane: VersionLane) -> list[_Piece]:
    """Return the lane mark by mark; similar neighbors are joined."""
    first, last = timeline.first, timeline.last
    codes = np.full(last - first + 1, -1, np.int64)
    for span in lane.spans:
        codes[max(span.first - first, 0) : max(span.last - first + 1, 0)] = _STATES.index(span.state)
    starts = np.clip(timeline.start, first, last)
    ends = np.clip(timeline.bins.ends, first, last)
    # The sums before each version, of each state: those of a mark are the difference of two.
    before = np.zeros((len(_STATES), len(codes) + 1))
    np.cumsum(codes == np.arange(len(_STATES))[:, None], axis=1, out=before[:, 1:])
    counts = before[:, ends - first + 1] - before[:, starts - first]
    shares = _eighths(counts)
    _, similar = np.unique(shares, axis=1, return_inverse=True)
    runs = spans_of(np.arange(len(starts)), np.asarray(similar, np.int64).reshape(-1))
    return [
        _Piece(int(starts[begin]), int(ends[end]), tuple(shares[:, begin].tolist()))
        for begin, end, _ in runs
        if shares[:, begin].any()
    ]


def _eighths(counts: Float64s) -> npt.NDArray[np.int64]:
    """Return the share of each state in each mark, in eighths; a present state has at least one."""
    total = np.maximum(counts.sum(axis=0), 1)
    rounded = np.rint(_STEPS * counts / total)
    return np.where(counts > 0, np.maximum(rounded, 1), 0).astype(np.int64)


def _bars(state: State, parts: list[tuple[float, float, float, float]], marker: Part) -> Part:
    left, right, middle, height = np.array(parts, np.float64).reshape(-1, 4).T
    return {
        "type": "bar", "orientation": "h", "name": state, "x": right - left, "base": left, "y": middle,
        "width": height, "yaxis": "y3", "marker": marker, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip


def _dots(parts: list[tuple[float, float, float, float]], theme: Theme) -> Part:
    return {
        "type": "scatter", "mode": "lines", "name": "gone",
        "x": [end for left, right, _, _ in parts for end in (left, right, None)],
        "y": [place for _, _, middle, _ in parts for place in (middle, middle, None)], "yaxis": "y3",
        "line": {"color": theme.idle, "width": 1.4, "dash": "1px,3px"}, "hoverinfo": "skip", "showlegend": False,
    }  # fmt: skip
