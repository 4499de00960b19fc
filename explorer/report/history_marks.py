"""The history as marks over its versions: what came and what went, what is still readable, and commits that stand out.

Invariants: the bins are those of the timeline, and the amounts those of `explorer.core.versions.commits.amounts`; a bin
shows its largest commit, so it hides no extreme; an amount that no commit states is unknown and not 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.auditing.subject import Subject
from explorer.core.errors import VersionNotFound
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.core.versions.commit_times import moment
from explorer.core.versions.commits.commits import Commits
from explorer.report.document import CommitLabel, HistoryMark, ReportHistory, StateLine
from explorer.views.table.timeline import ALONE
from explorer.views.table.version_axis import VersionAxis

_MOST: Final = 124
_STANDS_OUT: Final = ALONE
_MOST_LABELS: Final = 3
_MOST_STATES: Final = 40


def history_marks(subject: Subject) -> ReportHistory:
    """Measure the history of a table.

    Raises:
        VersionNotFound: The log holds no commit.
    """
    commits = subject.commits
    if not len(commits):
        raise VersionNotFound(
            f"The log holds no commit, only a checkpoint of version {subject.version}: the commits before it are "
            "unknown.",
            version=subject.version,
        )
    first, last = commits.first, commits.last
    bins = VersionAxis("version", commits.versions, commits.times).bins((first, last), _MOST)
    amounts, count = commits.amounts, len(bins.starts)
    kinds = (amounts.added, amounts.removed, amounts.masked, amounts.unmasked, amounts.updated)
    largest = (_largest(values, bins.of, count) for values in kinds)
    marks = [
        HistoryMark(
            first=max(int(start), first),
            last=min(int(end), last),
            added=int(came),
            removed=int(went),
            masked=int(hidden),
            unmasked=int(shown),
            updated=int(changed),
            unknown=bool(unknown),
            form=bool(formed),
        )
        for start, end, came, went, hidden, shown, changed, unknown, formed, commits_of in zip(
            bins.starts,
            bins.ends,
            *largest,
            _any(amounts.unknown, bins.of, count),
            _any(commits.form, bins.of, count),
            np.bincount(bins.of, minlength=count),
            strict=True,
        )
        if commits_of
    ]
    return ReportHistory(
        first=first,
        last=last,
        width=bins.width,
        unit=amounts.unit,
        marks=tuple(marks),
        labels=tuple(_labels(commits)),
        states=_states(subject),
        files_checked=subject.states.checked,
    )


def time_of(subject: Subject, version: int) -> str | None:
    """Return the time of a commit as ISO 8601 text; None if it was deleted."""
    time = subject.when(version)
    return None if time is None else time.isoformat()


def _largest(values: Float64s, places: Int64s, count: int) -> Float64s:
    maximums = np.zeros(count)
    np.maximum.at(maximums, places, np.nan_to_num(values))
    return maximums


def _any(flags: Mask, places: Int64s, count: int) -> Mask:
    marked = np.zeros(count, bool)
    np.logical_or.at(marked, places, flags)
    return marked


def _labels(commits: Commits) -> list[CommitLabel]:
    """Yield the commits that removed far more rows than a usual commit changes, the largest first."""
    went = commits.amounts.down
    amounts = np.concatenate([commits.amounts.up, went])
    some = amounts[amounts > 0]
    limit = _STANDS_OUT * float(np.median(some)) if len(some) > 2 else 0.0
    places = np.flatnonzero((went > 0) & (went >= limit))
    chosen = places[np.argsort(-went[places], kind="stable")][:_MOST_LABELS]
    return [_label(commits, place) for place in chosen.tolist()]


def _label(commits: Commits, place: int) -> CommitLabel:
    commit = commits.record(int(commits.versions[place]))
    assert commit is not None, "it is one of the commits"
    return CommitLabel(
        version=commit.version,
        amount=-int(commits.amounts.down[place]),
        operation=commits.text(commit.version, "operation"),
        user=commit.user_name,
        time=None if commit.timestamp is None else commit.timestamp.isoformat(),
    )


def _states(subject: Subject) -> tuple[StateLine, ...]:
    """Return the states in runs; of many the newest ones."""
    spans = subject.states.spans()[-_MOST_STATES:]
    return tuple(
        StateLine.of(span, since=None if span.since is None else moment(span.since).isoformat()) for span in spans
    )
