"""Unusual commits: at odd hours, by new writers, with a clock that moved backward, missing, or of a replaced table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place
from explorer.auditing.rhythm import rhythm_of
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, duration, runs, spans
from explorer.core.protocol.arrow.arrays import Int64s

_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_RECENT: Final = 30 * _DAY
_KNOWN: Final = 30
"""Number of commits from which an author's usual hours are known."""
_OPEN: Final = 14
"""Authors who commit in more hours of the day than these have no unusual ones."""
_HISTORY: Final = 20


def _hours(subject: Subject) -> tuple[Finding, ...]:
    """Report recent commits more than an hour of the day from any earlier one of the same author."""
    times, users = subject.times, subject.commits.values("user_name")
    hours = times // _HOUR % 24
    unusual: list[int] = []
    for user in {user for user in users if user}:
        places = np.flatnonzero(np.array(users, object) == user)
        unusual += _odd_hours(places, hours, times > subject.now - _RECENT)
    if not unusual:
        return ()
    versions = subject.commits.versions[np.array(sorted(unusual))]
    version = int(versions[-1])
    return (
        Finding(
            rule="out-of-hours",
            severity="info",
            label=f"odd hour, v{version}",
            title=f"{fmt.plural(len(unusual), 'commit')} at an hour at which {'its' if len(unusual) == 1 else 'their'} "
            "author never committed before",
            evidence=(commit_evidence(subject, version), *_more(versions)),
            effect="The author may be in another place, a job may have moved, or someone else may use the name.",
            remedy=see(subject, "See the commit, and ask its author", Place("commit", version)),
            versions=runs(versions),
        ),
    )


def _odd_hours(places: Int64s, hours: Int64s, recent: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[int]:
    """Yield the places among an author's commits that are recent and at odd hours."""
    seen = np.zeros(24, np.int64)
    for order, place in enumerate(places.tolist()):
        hour = int(hours[place])
        near = seen[[(hour - 1) % 24, hour, (hour + 1) % 24]].sum()
        if order >= _KNOWN and recent[place] and not near and np.count_nonzero(seen) <= _OPEN:
            yield place
        seen[hour] += 1


def _newcomers(subject: Subject) -> tuple[Finding, ...]:
    """Report authors and engines whose first commit is recent, in a table with a long history."""
    times = subject.times
    users = subject.commits.values("user_name")
    engines = [None if text is None else _engine(text) for text in subject.commits.values("engine_info")]
    newcomers = [
        (place, kind, name)
        for kind, names in (("author", users), ("engine", engines))
        for place, name in _first(names)
        if place >= _HISTORY and times[place] > subject.now - _RECENT and any(names[:place])
    ]
    if not newcomers:
        return ()
    newcomers.sort()
    place, kind, name = newcomers[-1]
    version = int(subject.commits.versions[place])
    others = [f"{each} {fmt.shorten(fmt.plain(str(person), 200), 40)}" for _, each, person in newcomers[:-1]]
    return (
        Finding(
            rule="new-writer",
            severity="info",
            label=f"new {kind}, v{version}",
            title=f"{fmt.shorten(fmt.plain(str(name), 200), 40)} wrote for the first time at v{version}",
            evidence=(
                commit_evidence(subject, version),
                *((Evidence(f"also new: {', '.join(others[:4])}"),) if others else ()),
            ),
            effect=f"This is the first commit by this {kind}. Check that it may write, and that it supports the "
            "table’s features.",
            remedy=see(subject, f"See the commit, and check whether this {kind} may write", Place("commit", version)),
            versions=runs(np.unique(subject.commits.versions[[each[0] for each in newcomers]])),
        ),
    )


def _engine(text: str) -> str:
    return text.partition("/")[0].partition(" ")[0]


def _first(names: list[str | None]) -> Iterator[tuple[int, str]]:
    """Yield the place of the first commit of each name."""
    seen = set()
    for place, name in enumerate(names):
        if name and name not in seen:
            seen.add(name)
            yield place, name


def _clock(subject: Subject) -> tuple[Finding, ...]:
    """Report commits whose writer's clock was more than an hour behind the previous commit's."""
    clocks = subject.commits.numbers("commit_info_timestamp")
    steps = np.diff(clocks)
    back = np.flatnonzero(steps < -_HOUR) + 1
    if not len(back):
        return ()
    versions = subject.commits.versions[back]
    version, step = int(versions[-1]), -int(steps[back[-1] - 1])
    return (
        Finding(
            rule="clock-back",
            severity="info",
            label=f"clock went back, v{version}",
            title=f"The clock of a writer went back by {_about(step)} at v{version}",
            evidence=(commit_evidence(subject, version), *_more(versions)),
            effect="Two writers disagree about the time, so times in the log are uncertain by that amount.",
            remedy=see(subject, "Find the writer in the commit, and correct its clock", Place("commit", version)),
            versions=runs(versions),
        ),
    )


def _silence(subject: Subject) -> tuple[Finding, ...]:
    """Report regular writers that have been silent for three times as long as ever before."""
    times = subject.times
    keys = list(zip(subject.commits.values("user_name"), subject.commits.values("operation"), strict=True))
    silences = []
    for key in set(keys):
        places = [place for place, other in enumerate(keys) if other == key]
        rhythm = None if key[1] is None else rhythm_of(times[places])
        late = None if rhythm is None else rhythm.silent_for(subject.now)
        if rhythm is not None and late is not None:
            silences.append((late, rhythm.usual, places[-1]))
    if not silences:
        return ()
    late, usual, place = max(silences)
    version = int(subject.commits.versions[place])
    alive = place < len(times) - 1 or late < _KNOWN * usual
    return (
        Finding(
            rule="silent-loader",
            severity="warning" if alive else "info",
            label=f"silent for {_full(late)}",
            title=f"A writer that committed about every {_about(usual).removeprefix('1 ')} has been silent for "
            f"{_full(late)}",
            evidence=(commit_evidence(subject, version), Evidence(f"its last commit is v{version}")),
            effect="Rows it should have loaded are missing, and no query shows it."
            if alive
            else "The table may no longer be loaded.",
            remedy=see(subject, "See its last commit, and check the job", Place("commit", version)),
            versions=((version, version),),
        ),
    )


def _about(milliseconds: int) -> str:
    """Return a duration in its largest unit, rounded."""
    size = _unit(milliseconds)
    return duration(max(1, round(milliseconds / size)) * size)


def _full(milliseconds: int) -> str:
    """Return a duration in its largest unit, rounded down."""
    size = _unit(milliseconds)
    return duration(max(1, milliseconds // size) * size)


def _unit(milliseconds: int) -> int:
    """Return the largest unit of which a duration has at least two, or a minute."""
    return next((size for size in (_DAY, _HOUR) if milliseconds >= 2 * size), 60_000)


def _replaced(subject: Subject) -> tuple[Finding, ...]:
    """Report commits that changed the table ID: streams treat it as another table."""
    ids = [(each.version, each.metadata.id) for each in subject.history.commits if each.metadata is not None]
    replaced = [version for (_, before), (version, after) in pairwise(ids) if before != after]
    if not replaced:
        return ()
    version = replaced[-1]
    return (
        Finding(
            rule="another-id",
            severity="info",
            label=f"another id since v{version}",
            title=f"The table has another id since v{version}",
            evidence=(commit_evidence(subject, version), *_more(np.array(replaced))),
            effect="Streams treat it as a different table: they stop and must be restarted from scratch.",
            remedy=see(subject, "See the commit, and restart streams that read the table", Place("commit", version)),
            versions=((version, version),),
        ),
    )


def _more(versions: Int64s) -> tuple[Evidence, ...]:
    others = runs(versions[:-1])
    return (Evidence(f"also {spans(others)}"),) if others else ()


COMMIT_RULES: Final = (
    Rule(
        "silent-loader",
        "warning",
        "regular writers that have stopped",
        "Rows that never arrive go unnoticed.",
        _silence,
    ),
    Rule(
        "out-of-hours",
        "info",
        "commits at hours that are unusual for their author",
        "They may be a sign of misuse.",
        _hours,
    ),
    Rule(
        "new-writer",
        "info",
        "authors and engines that are new",
        "Each of them should be known to the table's owner.",
        _newcomers,
    ),
    Rule("clock-back", "info", "clocks that went back", "They make times in the log uncertain.", _clock),
    Rule("another-id", "info", "tables that replaced another", "Streams that read the table stop there.", _replaced),
)
