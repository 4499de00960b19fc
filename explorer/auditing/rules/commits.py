"""Unusual commits: at odd hours, by somebody new, by a clock that went back, lacking, or in place of another table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place
from explorer.auditing.rule import Rule
from explorer.auditing.steps import see
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, duration, runs, spans
from explorer.core.protocol.arrow.arrays import Int64s

__all__ = ["COMMIT_RULES"]

_HOUR: Final = 3_600_000
_DAY: Final = 24 * _HOUR
_RECENT: Final = 30 * _DAY
_KNOWN: Final = 30
"""So many commits of an author show their hours."""
_OPEN: Final = 14
"""Whoever commits in more hours of the day than these has none that are unusual."""
_HISTORY: Final = 20
_REGULAR: Final = 10
_SHORTEST: Final = 600_000


def _hours(subject: Subject) -> tuple[Finding, ...]:
    """Recent commits more than an hour of the day away from any earlier one of the same author."""
    times, users = subject.times, subject.commits.values("user_name")
    hours = times // _HOUR % 24
    odd: list[int] = []
    for user in {user for user in users if user}:
        places = np.flatnonzero(np.array(users, object) == user)
        odd += _odd_hours(places, hours, times > subject.now - _RECENT)
    if not odd:
        return ()
    versions = subject.commits.versions[np.array(sorted(odd))]
    version = int(versions[-1])
    return (
        Finding(
            rule="out-of-hours",
            severity="info",
            label=f"odd hour, v{version}",
            title=f"{fmt.plural(len(odd), 'commit')} at an hour at which {'its' if len(odd) == 1 else 'their'} author "
            "never committed before",
            evidence=(commit_evidence(subject, version), *_more(versions)),
            effect="A person at another place, a job that was moved, or somebody else under that name.",
            remedy=see(subject, "See the commit, and ask its author", Place("commit", version)),
            versions=runs(versions),
        ),
    )


def _odd_hours(places: Int64s, hours: Int64s, recent: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Iterator[int]:
    """The places among an author's commits that are recent and at odd hours."""
    seen = np.zeros(24, np.int64)
    for order, place in enumerate(places.tolist()):
        hour = int(hours[place])
        near = seen[[(hour - 1) % 24, hour, (hour + 1) % 24]].sum()
        if order >= _KNOWN and recent[place] and not near and np.count_nonzero(seen) <= _OPEN:
            yield place
        seen[hour] += 1


def _newcomers(subject: Subject) -> tuple[Finding, ...]:
    """Authors and engines whose first commit is recent, in a table that others have written for long."""
    times = subject.times
    users = subject.commits.values("user_name")
    engines = [None if text is None else _engine(text) for text in subject.commits.values("engine_info")]
    found = [
        (place, what, name)
        for what, names in (("author", users), ("engine", engines))
        for place, name in _first(names)
        if place >= _HISTORY and times[place] > subject.now - _RECENT and any(names[:place])
    ]
    if not found:
        return ()
    found.sort()
    place, what, name = found[-1]
    version = int(subject.commits.versions[place])
    others = [f"{each} {fmt.shorten(fmt.plain(str(who), 200), 40)}" for _, each, who in found[:-1]]
    return (
        Finding(
            rule="new-writer",
            severity="info",
            label=f"new {what}, v{version}",
            title=f"{fmt.shorten(fmt.plain(str(name), 200), 40)} wrote for the first time at v{version}",
            evidence=(
                commit_evidence(subject, version),
                *((Evidence(f"also new: {', '.join(others[:4])}"),) if others else ()),
            ),
            effect=f"Nobody wrote the table as this {what} before; see that it may, and that it knows the table\u2019s "
            "features.",
            remedy=see(subject, f"See the commit, and whether this {what} may write", Place("commit", version)),
            versions=runs(np.unique(subject.commits.versions[[each[0] for each in found]])),
        ),
    )


def _engine(text: str) -> str:
    return text.partition("/")[0].partition(" ")[0]


def _first(names: list[str | None]) -> Iterator[tuple[int, str]]:
    """The place of the first commit of each name."""
    seen = set()
    for place, name in enumerate(names):
        if name and name not in seen:
            seen.add(name)
            yield place, name


def _clock(subject: Subject) -> tuple[Finding, ...]:
    """Commits whose writer's clock was more than an hour behind that of the commit before."""
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
            effect="Two writers disagree about the time, so when things happened is not certain to that extent.",
            remedy=see(subject, "See which writer, and set its clock", Place("commit", version)),
            versions=runs(versions),
        ),
    )


def _silence(subject: Subject) -> tuple[Finding, ...]:
    """Loaders that came regularly and have not come for three times as long as they ever took."""
    times = subject.times
    keys = list(zip(subject.commits.values("user_name"), subject.commits.values("operation"), strict=True))
    found = []
    for key in set(keys):
        places = [place for place, other in enumerate(keys) if other == key]
        silence = None if key[1] is None else _silent_for(times[places], subject.now)
        if silence is not None:
            found.append((*silence, places[-1]))
    if not found:
        return ()
    late, usual, place = max(found)
    version = int(subject.commits.versions[place])
    alive = place < len(times) - 1 or late < _KNOWN * usual
    return (
        Finding(
            rule="silent-loader",
            severity="warning" if alive else "info",
            label=f"silent for {_full(late)}",
            title=f"A loader that came about every {_about(usual).removeprefix('1 ')} has not come for {_full(late)}",
            evidence=(commit_evidence(subject, version), Evidence(f"its last commit is v{version}")),
            effect="Rows that it should have brought are lacking, and no query says so."
            if alive
            else "The table looks as if nobody loads it any more.",
            remedy=see(subject, "See its last commit, and look after the job", Place("commit", version)),
            versions=((version, version),),
        ),
    )


def _silent_for(times: Int64s, now: int) -> tuple[int, int] | None:
    """For how long a regular series has been silent, and its usual gap, in ms; None if it is not, or not regular."""
    if len(times) < _REGULAR:
        return None
    gaps = np.diff(times)[-_KNOWN:]
    usual, late = int(np.median(gaps)), now - int(times[-1])
    regular = usual >= _SHORTEST and float(np.quantile(gaps, 0.9)) <= 1.5 * usual
    return (late, usual) if regular and late > 3 * max(int(gaps.max()), usual) else None


def _about(milliseconds: int) -> str:
    """A duration in its largest unit, rounded."""
    size = _unit(milliseconds)
    return duration(max(1, round(milliseconds / size)) * size)


def _full(milliseconds: int) -> str:
    """A duration in its largest unit, as far as that has passed: as everywhere a time ago is said."""
    size = _unit(milliseconds)
    return duration(max(1, milliseconds // size) * size)


def _unit(milliseconds: int) -> int:
    """The largest unit of which a duration has at least two, or a minute."""
    return next((size for size in (_DAY, _HOUR) if milliseconds >= 2 * size), 60_000)


def _replaced(subject: Subject) -> tuple[Finding, ...]:
    """Commits that gave the table another id: it names the same place, but is another table to whoever follows it."""
    ids = [(each.version, each.metadata.id) for each in subject.history.commits if each.metadata is not None]
    found = [version for (_, before), (version, after) in pairwise(ids) if before != after]
    if not found:
        return ()
    version = found[-1]
    return (
        Finding(
            rule="another-id",
            severity="info",
            label=f"another id since v{version}",
            title=f"The table has another id since v{version}",
            evidence=(commit_evidence(subject, version), *_more(np.array(found))),
            effect="To a stream that reads it, it is another table: the stream stops, and has to begin anew.",
            remedy=see(subject, "See the commit, and start streams that read the table anew", Place("commit", version)),
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
        "regular loaders that stay away",
        "Rows that never came are noticed by nobody.",
        _silence,
    ),
    Rule(
        "out-of-hours",
        "info",
        "commits at hours that are unusual for their author",
        "They are worth a question.",
        _hours,
    ),
    Rule("new-writer", "info", "authors and engines that are new", "Somebody should know who they are.", _newcomers),
    Rule("clock-back", "info", "clocks that went back", "Times in the log are then less certain.", _clock),
    Rule("another-id", "info", "a table in place of another", "Whoever follows the table stops there.", _replaced),
)
