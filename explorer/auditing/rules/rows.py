"""Rows that went: commits that removed a large share of them."""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, spans, time_text
from explorer.core.protocol.arrow.arrays import Float64s, Int64s
from explorer.core.transaction.intents.records import Restore
from explorer.core.versions.retention.version_states import VersionState

_SHARE: Final = 0.20
_FEWEST: Final = 100
_REFILLED: Final = 0.9
_SOON: Final = 5


def _bulk_loss(subject: Subject) -> tuple[Finding, ...]:
    """Report commits that lost many live rows; a rewrite is not a loss, nor is a reload soon after."""
    rows = subject.commits.numbers("num_rows")
    lost = _losses(rows)
    restores = subject.commits.where("operation", "RESTORE").tolist()
    restored = {at: back for at in lost if (back := _restored(restores, rows, at)) is not None}
    unresolved = [at for at in lost if at not in restored and not _reloaded(rows, at)]
    if unresolved:
        return (_lost(subject, rows, np.array(unresolved, np.int64)),)
    return (_came_back(subject, rows, *list(restored.items())[-1]),) if restored else ()


def _losses(rows: Float64s) -> list[int]:
    """Return the places of commits that lost many rows."""
    before, loss = rows[:-1], rows[:-1] - rows[1:]
    return (np.flatnonzero((loss >= _FEWEST) & (loss >= _SHARE * before)) + 1).tolist()


def _reloaded(rows: Float64s, at: int) -> bool:
    """Return whether the next commits bring about as many rows again."""
    return bool(np.any(rows[at + 1 : at + 1 + _SOON] >= _REFILLED * rows[at - 1]))


def _restored(restores: list[int], rows: Float64s, at: int) -> int | None:
    """Return the place of a later RESTORE that brought back at least half of the lost rows."""
    for back in restores:
        if back > at and rows[back] - rows[back - 1] >= (rows[at - 1] - rows[at]) / 2:
            return back
    return None


def _lost(subject: Subject, rows: Float64s, places: Int64s) -> Finding:
    versions = subject.commits.versions
    worst = int(places[np.argmax(rows[places - 1] - rows[places])])
    version, loss = int(versions[worst]), int(rows[worst - 1] - rows[worst])
    before = int(versions[worst - 1])
    state = subject.states.state(before)
    others = [int(versions[at]) for at in places.tolist() if at != worst]
    more = () if not others else (Evidence(f"also {spans([(other, other) for other in others])}"),)
    readable = state in ("readable", "at risk")
    deadline = subject.states.lost_at(before)
    return Finding(
        rule="bulk-loss",
        subject=f"v{version}",
        severity="warning" if readable else "info",
        label=f"bulk loss, v{version}",
        title=f"{fmt.plural(loss, 'row')} fewer after one commit",
        evidence=(
            commit_evidence(subject, version),
            Evidence(f"{fmt.percent(loss, rows[worst - 1])} of the rows", Place("difference", version, before)),
            *_both_ways(subject, version),
            *more,
        ),
        effect=_until(before, state, deadline, subject.now)
        if readable
        else f"v{before} can no longer be read: {state}.",
        remedy=Remedy(f"Restore v{before}\u2026", intent=Restore(version=before))
        if readable
        else see(subject, "See the commit, and ask its author", Place("commit", version)),
        versions=tuple((int(versions[at]),) * 2 for at in places.tolist()),
        rows=loss,
        cause=version if readable else None,
        deadline=deadline if readable else None,
    )


def _both_ways(subject: Subject, version: int) -> tuple[Evidence, ...]:
    """Return how many rows came and went, where a commit did both: its bar shows more than its loss."""
    commit = subject.commits.record(version)
    if commit is None or not commit.rows_added or not commit.rows_removed:
        return ()
    return (Evidence(f"{fmt.count(commit.rows_removed)} removed, {fmt.count(commit.rows_added)} added"),)


def _until(version: int, state: VersionState, deadline: int | None, now: int) -> str:
    if deadline is None and state == "at risk":
        return f"v{version} still has them according to the log; a log cleanup may delete it at any time."
    if deadline is None:
        return f"v{version} still has them, and nothing will delete it yet."
    if deadline < now:
        since = time_text(deadline)
        return f"v{version} still has them according to the log; a log cleanup may delete it at any time since {since}."
    return f"v{version} still has them, and stays readable until {time_text(deadline)}."


def _came_back(subject: Subject, rows: Float64s, at: int, back: int) -> Finding:
    versions = subject.commits.versions
    version, restored = int(versions[at]), int(versions[back])
    loss = int(rows[at - 1] - rows[at])
    between = back - at - 1
    return Finding(
        rule="bulk-loss",
        subject=f"v{version}",
        severity="info",
        label=f"rows lost and restored, v{version}",
        title=f"{fmt.plural(loss, 'row')} fewer after one commit, and restored",
        evidence=(
            commit_evidence(subject, version),
            *_both_ways(subject, version),
            commit_evidence(subject, restored),
        ),
        effect="Readers of the table in between missed them"
        + (f"; {fmt.plural(between, 'commit')} lie between." if between else "."),
        remedy=see(subject, "See the lost rows", Place("difference", version, int(versions[at - 1]))),
        versions=((version, restored - 1),),
        rows=loss,
    )


ROW_RULES: Final = (
    Rule(
        "bulk-loss",
        "warning",
        "commits that lost a fifth of the rows or more",
        "Rows lost by mistake can only be restored while the version before is readable.",
        _bulk_loss,
    ),
)
