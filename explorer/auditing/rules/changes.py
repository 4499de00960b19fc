"""The change feed: versions that changed rows while it was off, and recorded changes that do not last."""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, duration, runs, spans
from explorer.core.protocol.table_properties.registry import CHANGE_DATA_FEED, FILE_RETENTION, LOG_RETENTION
from explorer.core.transaction.intents.records import SetProperties
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.horizon import horizon


def _gaps(subject: Subject) -> tuple[Finding, ...]:
    """Report versions without a change feed since it was first enabled."""
    commits = subject.commits
    on = commits.flags("change_feed")
    first = int(np.argmax(on)) if on.any() else len(on)
    since = np.arange(len(on)) > first
    off = since & ~on
    missed = off & commits.flags("data_change")
    # A version without changes of data needs no feed, but its commit is where the feed went off.
    if not missed.any():
        return ()
    without = runs(commits.versions[np.flatnonzero(off)])
    lost = commits.versions[np.flatnonzero(missed)]
    gap = tuple(run for run in without if np.any((run[0] <= lost) & (lost <= run[1])))
    rows = commits.numbers("rows_added") + commits.numbers("rows_removed") - 2 * commits.numbers("rows_rewritten")
    rows += np.abs(commits.numbers("rows_masked"))
    count, amount = int(missed.sum()), rows[missed].sum()
    off_now = not on[-1] and gap[-1] == without[-1]
    went = gap[-1][0]
    known = bool(np.isfinite(amount))
    lacking = f", {fmt.plural(int(amount), 'change')} of rows," if known else ""
    return (
        Finding(
            rule="feed-hole",
            subject=f"v{went}",
            severity="warning",
            label=f"feed off since v{went}" if off_now else f"feed has a gap, {spans(gap[-1:])}",
            title=f"The change feed is off since v{went}" if off_now else f"The change feed has a gap, {spans(gap)}",
            evidence=(
                commit_evidence(subject, went),
                Evidence(
                    f"{fmt.plural(count, 'commit')}{lacking} not in it",
                    Place("changes", gap[-1][1], gap[-1][0] - 1),
                ),
            ),
            effect="Consumers of the feed have missed these changes. You can still read them as inferred changes.",
            remedy=Remedy("Turn it on\u2026", intent=SetProperties(properties={CHANGE_DATA_FEED.key: "true"}))
            if off_now
            else see(subject, "Show the inferred changes", Place("changes", gap[-1][1], gap[-1][0] - 1)),
            versions=gap,
            rows=int(amount) if known else None,
            cause=went if off_now else None,
        ),
    )


def _short(subject: Subject) -> tuple[Finding, ...]:
    """Report recorded changes that the log still promises, and whose files a vacuum deleted or may delete now."""
    if not subject.commits.flags("change_feed").any():
        return ()
    feed = horizon(subject.history, subject.risks, moment(subject.now)).feed
    period = subject.risks.terms.files
    deleted, dying = feed.versions[feed.lost], feed.dying(subject.now, period)
    if not len(deleted) and not len(dying):
        return ()
    lost = np.union1d(deleted, dying)
    count, log = len(lost), subject.risks.terms.log
    if not len(dying):
        which = "are deleted"
    else:
        which = "are deleted or can be vacuumed" if len(deleted) else "can be vacuumed now"
    worth = log is not None and log > period
    return (
        Finding(
            rule="feed-reach",
            severity="info",
            label=f"feed of {fmt.plural(count, 'version')} short",
            title=f"The changes of {fmt.plural(count, 'version')} {which}; the log still has the versions",
            evidence=(
                Evidence(spans(runs(lost)), Place("commit", int(lost[0]))),
                Evidence(f"{FILE_RETENTION} is {duration(period)}", Place("state")),
                *((Evidence(f"{LOG_RETENTION} is {duration(log)}"),) if log is not None else ()),
            ),
            effect="Consumers of the feed that read later than that fail and must read the full table again.",
            remedy=Remedy(
                f"Keep files for {duration(log)}\u2026",
                intent=SetProperties(properties={FILE_RETENTION.key: f"interval {-(-log // 86_400_000)} days"}),
            )
            if worth and log is not None
            else see(subject, "Let consumers of the feed read the table again, from here", Place("state")),
            versions=runs(lost),
        ),
    )


CHANGE_RULES: Final = (
    Rule(
        "feed-hole",
        "warning",
        "gaps in the change feed",
        "Consumers of the feed miss the changes made while it was off, without an error.",
        _gaps,
    ),
    Rule(
        "feed-reach",
        "info",
        "retention shorter than consumers of the feed need",
        "A consumer that reads after the retention period must start again.",
        _short,
    ),
)
