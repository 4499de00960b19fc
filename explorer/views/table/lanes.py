"""The lanes of the strip: which versions can be read, which are at risk or gone, and where the feed was recorded.

Retention is judged from the log, and from what is known of missing files: a drawing searches for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import Int64s, Mask
from explorer.core.protocol.times import in_calendar
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.expiry import FOREVER, UNTIMED
from explorer.core.versions.retention.version_states import STATES, VersionStates

State = Literal["readable", "at risk", "gone", "hole", "recorded", "unknown"]
_STATES: Final[tuple[State, ...]] = ("readable", "at risk", "gone", "at risk", "at risk", "at risk")
_BOTH: Final = {
    4: "a vacuum may delete it {}, a log cleanup {}",
    5: "a log cleanup may delete it {}, a vacuum {}",
}
"""What is said where both are due, the earlier first."""


@dataclass(frozen=True, slots=True)
class Span:
    """Versions of one state, both ends included, and what to say of them."""

    first: int
    last: int
    state: State
    label: str = ""


@dataclass(frozen=True, slots=True)
class VersionLane:
    """A stripe under the bars: a name, and the state of the versions it covers."""

    name: str
    spans: tuple[Span, ...]


def retention_lanes(states: VersionStates) -> tuple[VersionLane, VersionLane]:
    """Return the lanes of the log and of the data.

    Where both a vacuum and a cleanup of the log are due, each lane names the two, the earlier first.
    """
    versions = states.first + np.arange(len(states.codes))
    status = np.array(STATES)[states.codes]
    risky, no_log = status == "at risk", status == "log gone"
    by_log, unfinished = ~states.by_data, states.unfinished >= 0
    both = np.where(states.both & ~unfinished, np.where(by_log, 5, 4), 0)
    log = np.where(no_log, 2, np.where(both > 0, both, (risky & by_log) | states.both))
    at_risk = np.where(both > 0, both, np.where(risky & ~by_log, np.where(unfinished, 3, 1), 0))
    data = np.where((status == "data gone") | no_log, 2, at_risk)
    log_words = ("", "the next log cleanup may delete it", "deleted from the log")
    data_words = ("", "the next vacuum may delete it", "gone", "an unfinished vacuum may have deleted it")
    return (
        VersionLane("log", _spans(versions, log, np.where(by_log, states.since, FOREVER), states, log_words)),
        VersionLane("data", _spans(versions, data, np.where(by_log, FOREVER, states.since), states, data_words)),
    )


def feed_lane(versions: Int64s, on: Mask) -> VersionLane | None:
    """Return where commits recorded the change feed, and the holes between; None if the feed was never on."""
    places = np.flatnonzero(on)
    if not len(places):
        return None
    first = places[0]
    codes = np.where(on[first:], 0, 1)
    states: tuple[State, State] = ("recorded", "hole")
    spans = [
        Span(a, b, states[code], "recorded" if code == 0 else "not recorded")
        for a, b, code in spans_of(versions[first:], codes)
    ]
    before = [Span(int(versions[0]), int(versions[first]) - 1, "gone", "never recorded")] if first else []
    return VersionLane("feed", (*before, *spans))


def spans_of(versions: Int64s, codes: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    """Return runs of successive versions with one code: first, last, code."""
    if not len(versions):
        return []
    breaks = np.flatnonzero((np.diff(codes) != 0) | (np.diff(versions) != 1))
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(versions) - 1]])
    return [
        (int(versions[start]), int(versions[end]), int(codes[start])) for start, end in zip(starts, ends, strict=True)
    ]


def _spans(
    versions: Int64s, codes: npt.NDArray[np.int64], since: Int64s, states: VersionStates, words: Sequence[str]
) -> tuple[Span, ...]:
    start = int(versions[0]) if len(versions) else 0
    spans = []
    for first, last, code in spans_of(versions, codes):
        shown = slice(first - start, last - start + 1)
        if code in _BOTH:
            label = _BOTH[code].format(*(_from(int(when[shown].min())) for when in (states.since, states.later)))
        else:
            label = words[code] or _safe(int(since[shown].min()))
        spans.append(Span(first, last, _STATES[code], label))
    return tuple(spans)


def _from(milliseconds: int) -> str:
    return "at any time" if milliseconds == UNTIMED else f"since {_date(milliseconds)}"


def _safe(soonest: int) -> str:
    """Return until when versions are safe; an absurd retention leads past the calendar."""
    if soonest == FOREVER:
        return ""
    return f"readable at least until {_date(soonest)}" if in_calendar(soonest) else "readable past the year 9999"


def _date(milliseconds: int) -> str:
    return " ".join(fmt.day(moment(milliseconds)).split(" ")[:3])
