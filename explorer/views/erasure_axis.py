"""The time axis of an erasure: the bars of the files of each place, the steps above it, the law's date beside them.

In: times in ms since the epoch. Out: shares of the axis, 0 at the search and 1 at its end. Invariants: no bar ends
before the last of its files can be gone; a bar that ends beyond the axis says so; no two labels lie on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from explorer import formatting as fmt
from explorer.auditing.erasure.proof import ErasureStep, MatchedPlace
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.commit_times import moment

DAY: Final = 86_400_000
"""ms."""
_MOST_BARS: Final = 5
_MOST_FILES: Final = 6
_APART: Final = 0.15
# A date of the law that is further away than so many times the last file would leave no room for the files.
_FURTHEST: Final = 4


@dataclass(frozen=True, slots=True)
class ErasureAxis:
    """From the search to the last date that is drawn, ms since the epoch; ``due`` is the end of the due day."""

    now: int
    end: int
    due: int | None

    def share(self, time: int) -> float:
        """Return the position of a time, 0 to 1; a time beyond an end is at that end."""
        return min(max(time - self.now, 0) / (self.end - self.now), 1.0)


@dataclass(frozen=True, slots=True)
class AxisBar:
    """Files that can be gone from one day on.

    Attributes:
        share: Where it ends; 1 for files that stay.
        words: What stands beside it.
        title: The files, each with its rows and its time.
        form: ``plain``, ``planned`` (rows that a step has yet to write), ``stays``, or ``beyond`` (it ends after the
            axis).
    """

    share: float
    words: str
    title: str
    form: str = "plain"

    @property
    def inside(self) -> bool:
        """Whether its words lie on it, as there is no room behind it."""
        return self.share > 0.62


@dataclass(frozen=True, slots=True)
class DayTick:
    """A day on the axis; ``text`` is empty where another day's would be in its way; the due day has a tone."""

    share: float
    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class StepMark:
    """Steps that can be done from one time on: their numbers, and when and what they do."""

    share: float
    numbers: str
    words: str


def axis_of(now: int, dates: Sequence[int], due: date | None) -> ErasureAxis:
    """Return the axis from a search to the last of some dates, at least a day long.

    Args:
        now: Of the search.
        dates: From when files can be gone.
        due: The day by which the rows must be gone.
    """
    end = max([*dates, now + DAY])
    last = None if due is None else end_of(due)
    if last is not None and end < last <= now + _FURTHEST * (end - now):
        end = last
    return ErasureAxis(now, end, last if last is not None and now < last <= end else None)


def end_of(day: date) -> int:
    """Return the end of a day in UTC, ms since the epoch."""
    return milliseconds(datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1))


def place_bars(places: Sequence[MatchedPlace], axis: ErasureAxis, waits: str = "") -> tuple[AxisBar, ...]:
    """Return the bars of the files of one place: one for those of a day, the first to go first; those that stay last.

    Args:
        places: The rows of one state.
        axis: Where they are drawn.
        waits: What becomes of the rows at once, before their files wait, where a step has to come first.
    """
    groups: dict[int, list[MatchedPlace]] = {}
    for place in places:
        if place.gone_from is not None:
            groups.setdefault(place.gone_from // DAY if place.gone_from > axis.now else 0, []).append(place)
    drawn = [_dated(group, axis, waits) for group in _few([groups[day] for day in sorted(groups)])]
    staying = [place for place in places if place.gone_from is None]
    return (*drawn, AxisBar(1.0, f"{_files(staying)}, stays", _title(staying), "stays")) if staying else tuple(drawn)


def bar_to(time: int | None, axis: ErasureAxis, words: str, title: str, form: str = "plain") -> AxisBar:
    """Return a bar that ends at a time, or has no end."""
    if time is None:
        return AxisBar(1.0, words, title, "stays")
    return AxisBar(axis.share(time), words, title, "beyond" if time > axis.end else form)


def ticks(axis: ErasureAxis, bars: Iterable[AxisBar], *, late: bool) -> tuple[DayTick, ...]:
    """Return the days of the axis: the due day, today and its end, then those at which bars end, where there is room.

    Args:
        axis: Of the drawing.
        bars: All of them.
        late: Whether a copy is left after the due day.
    """
    marks: list[DayTick] = []
    if axis.due is not None:
        # The due day ends at midnight: its label names the day itself.
        tone = "danger" if late else "ok"
        marks.append(DayTick(axis.share(axis.due), f"due {_day(axis.due - 1)}", tone))
    ends = sorted({bar.share for bar in bars if bar.form in ("plain", "planned")})
    for share in (0.0, 1.0, *ends):
        text = "today" if share == 0 else _day(round(axis.now + share * (axis.end - axis.now)))
        if all(abs(share - other.share) >= _APART for other in marks if other.text):
            marks.append(DayTick(share, text))
        elif all(share != other.share for other in marks):
            marks.append(DayTick(share, ""))
    return tuple(sorted(marks, key=lambda tick: tick.share))


def step_marks(axis: ErasureAxis, steps: Iterable[tuple[int, str, ErasureStep]]) -> tuple[StepMark, ...]:
    """Return the steps that can be done while the axis lasts.

    Args:
        axis: Of the drawing.
        steps: The number, the title and the step.
    """
    groups: dict[int, list[tuple[int, str]]] = {}
    for number, title, step in steps:
        time = axis.now if step.not_before is None else max(step.not_before, axis.now)
        if step.intent is not None and time <= axis.end:
            groups.setdefault(time, []).append((number, title))
    return tuple(
        StepMark(
            axis.share(time),
            " \u00b7 ".join(str(number) for number, _ in group),
            f"{'today' if time == axis.now else _day(time)}: {', '.join(title for _, title in group)}",
        )
        for time, group in sorted(groups.items())
    )


def _day(time: int) -> str:
    """Return a day without its year."""
    return f"{moment(time):%d %b}".lstrip("0")


def _few(groups: list[list[MatchedPlace]]) -> list[list[MatchedPlace]]:
    """Return at most so many groups: the days that follow each other are drawn together."""
    size = -(-len(groups) // _MOST_BARS) or 1
    return [[place for group in groups[at : at + size] for place in group] for at in range(0, len(groups), size)]


def _dated(places: Sequence[MatchedPlace], axis: ErasureAxis, waits: str) -> AxisBar:
    last = max(place.gone_from or 0 for place in places)
    words = _files(places)
    if last <= axis.now:
        words = f"{words}, with the next vacuum"
    elif waits:
        words = f"{waits}, {'its file waits' if len(places) == 1 else 'files wait'} {_days(last - axis.now)}"
    return bar_to(last, axis, words, _title(places))


def _files(places: Sequence[MatchedPlace]) -> str:
    return fmt.plural(len({place.path for place in places}), "file")


def _days(time: int) -> str:
    return "less than a day" if time < DAY else fmt.plural(round(time / DAY), "day")


def _title(places: Sequence[MatchedPlace]) -> str:
    lines = [
        f"{fmt.shorten_path(place.path)}: {fmt.plural(place.rows, 'row')}, "
        f"{'stays' if place.gone_from is None else fmt.day(moment(place.gone_from))}"
        for place in places[:_MOST_FILES]
    ]
    more = len(places) - _MOST_FILES
    return "\n".join([*lines, f"and {more:,} more"] if more > 0 else lines)
