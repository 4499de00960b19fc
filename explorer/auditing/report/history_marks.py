"""The history as marks over its versions: what came and what went, what is still readable, and commits that stand out.

Invariants: a bin shows its largest commit, so it hides no extreme; an amount that no commit states is unknown and not
0; rows that a commit only rewrote or updated count neither as added nor as removed.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer.auditing.report.document import CommitLabel, History, HistoryMark, StateLine
from explorer.auditing.subject import Commits, Subject
from explorer.core.errors import VersionNotFound
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask
from explorer.core.versions.commit_times import moment

__all__ = ["history_marks", "time_of"]

_MOST: Final = 124
_STANDS_OUT: Final = 5
_MOST_LABELS: Final = 3
_MOST_STATES: Final = 40


def history_marks(subject: Subject) -> History:
    """Measure the history of a table.

    Raises:
        VersionNotFound: The log holds no commit.
    """
    commits = subject.commits
    if not len(commits.versions):
        raise VersionNotFound(
            f"The log holds no commit, only a checkpoint of version {subject.version}: what led to it is not known.",
            version=subject.version,
        )
    first, last = int(commits.versions[0]), int(commits.versions[-1])
    width = _width(last - first + 1)
    unit, added, removed, masked, updated = _amounts(commits)
    form = commits.flags("metadata_changed") | commits.flags("protocol_changed")
    unknown = ~(np.isfinite(added) & np.isfinite(removed))
    bins = commits.versions // width
    starts = np.unique(bins)
    places = np.searchsorted(starts, bins)
    marks = [
        HistoryMark(
            first=max(int(start) * width, first),
            last=min((int(start) + 1) * width - 1, last),
            added=int(came),
            removed=int(went),
            masked=int(hidden),
            updated=int(changed),
            unknown=bool(open_),
            form=bool(formed),
        )
        for start, came, went, hidden, changed, open_, formed in zip(
            starts,
            _largest(added, places, len(starts)),
            _largest(removed, places, len(starts)),
            _largest(masked, places, len(starts)),
            _largest(updated, places, len(starts)),
            _any(unknown, places, len(starts)),
            _any(form, places, len(starts)),
            strict=True,
        )
    ]
    return History(
        first=first,
        last=last,
        width=width,
        unit="rows" if unit == "rows" else "files",
        marks=tuple(marks),
        labels=tuple(_labels(subject, added, removed)),
        states=_states(subject),
        files_checked=subject.states.checked,
    )


def time_of(subject: Subject, version: int) -> str | None:
    """The time of a commit as ISO 8601 text; None if it is gone."""
    found = subject.when(version)
    return None if found is None else found.isoformat()


def _width(count: int) -> int:
    """Versions of a mark: a round number."""
    width, factors = 1, (2, 2.5, 2)
    step = 0
    while -(-count // width) + 1 > _MOST:
        width = int(width * factors[step % 3])
        step += 1
    return width


def _amounts(commits: Commits) -> tuple[str, Float64s, Float64s, Float64s, Float64s]:
    """What each commit added, removed, masked and updated: rows, or files where no commit states its rows."""
    rewritten, updated = commits.rewritten, commits.updated.astype(np.float64)
    added = np.maximum(commits.numbers("rows_added") - rewritten, 0)
    removed = np.maximum(commits.numbers("rows_removed") - rewritten, 0)
    if np.isfinite(added).any() or np.isfinite(removed).any():
        hidden = np.maximum(updated - np.nan_to_num(removed), 0)  # the old values of the rest are masked, not removed
        masked = np.maximum(np.nan_to_num(commits.numbers("rows_masked")) - hidden, 0)
        return "rows", np.maximum(added - updated, 0), np.maximum(removed - updated, 0), masked, updated
    added, removed, masked = (commits.numbers(f"num_files_{what}") for what in ("added", "removed", "remasked"))
    return "files", added, removed, masked, np.zeros(len(added))


def _largest(values: Float64s, places: Int64s, count: int) -> Float64s:
    found = np.zeros(count)
    np.maximum.at(found, places, np.nan_to_num(values))
    return found


def _any(flags: Mask, places: Int64s, count: int) -> Mask:
    found = np.zeros(count, bool)
    np.logical_or.at(found, places, flags)
    return found


def _labels(subject: Subject, added: Float64s, removed: Float64s) -> list[CommitLabel]:
    """The commits that removed far more than a usual commit adds or removes, the largest first."""
    amounts = np.concatenate([added, removed])
    some = amounts[np.nan_to_num(amounts) > 0]
    limit = _STANDS_OUT * float(np.median(some)) if len(some) > 2 else 0.0
    went = np.nan_to_num(removed)
    places = np.flatnonzero((went > 0) & (went >= limit))
    chosen = places[np.argsort(-went[places], kind="stable")][:_MOST_LABELS]
    commits = subject.commits
    return [
        CommitLabel(
            version=int(commits.versions[place]),
            amount=-int(went[place]),
            operation=commits.text(int(commits.versions[place]), "operation"),
            user=commits.text(int(commits.versions[place]), "user_name"),
            time=time_of(subject, int(commits.versions[place])),
        )
        for place in chosen.tolist()
    ]


def _states(subject: Subject) -> tuple[StateLine, ...]:
    """The states in runs; of many the newest ones."""
    spans = subject.states.spans()[-_MOST_STATES:]
    return tuple(
        StateLine(
            first=span.first,
            last=span.last,
            state=span.state,
            since=None if span.since is None else moment(span.since).isoformat(),
        )
        for span in spans
    )
