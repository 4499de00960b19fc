"""Retention: files that are gone, versions that a clean-up may take or has taken, retention that is short."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import NotAnswered, Rule, see, table_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, duration, named, runs, spans, time_text
from explorer.core.protocol.arrow.arrays import Int64s, exact_sum
from explorer.core.protocol.file_locations import next_step_for_missing
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, LOG_RETENTION, SET_TRANSACTION_RETENTION
from explorer.core.protocol.times import span_milliseconds
from explorer.core.transaction.intents.records import SetProperties, UnsetProperties
from explorer.core.versions.retention.expiry import FOREVER, UNTIMED
from explorer.core.versions.retention.missing_files import MissingFiles

_LOST: Final = "They can then no longer be read, compared, or restored."
_THERE: Final = "All their files still exist."
_UNKNOWN: Final = "According to the log. A vacuum may have run unrecorded."
_SOON: Final = 2 * 86_400_000
_SHORTEST: Final = 3_600_000
"""Below this file retention, in ms, a vacuum reaches the files of a writer that is still running."""


def _missing(subject: Subject) -> tuple[Finding, ...] | NotAnswered:
    """Report missing files of the newest version; older versions may lack files after a vacuum."""
    if subject.missing is None:
        return NotAnswered("Files were not checked. This requires listing the table\u2019s folder.")
    lost = MissingFiles(subject.risks.life, subject.missing)
    count = int(lost.count[-1])
    if not count:
        return ()
    names = lost.named[len(lost.count) - 1]
    return (
        Finding(
            rule="missing-files",
            severity="error",
            label=f"{fmt.plural(count, 'file')} missing",
            title=f"{fmt.plural(count, 'live file')} {'is' if count == 1 else 'are'} missing",
            evidence=(Evidence(named(names, count), Place("files", subject.version)),),
            effect=f"A query that needs {'it' if count == 1 else 'one of them'} fails. {next_step_for_missing(names)}",
            remedy=see(subject, "See the files", Place("files"))
            if subject.lists_files
            else Remedy("See the missing files of each version", command=table_command(subject, "retention")),
            versions=((subject.version, subject.version),),
            files=count,
        ),
    )


def _data_deleted(subject: Subject) -> tuple[Finding, ...]:
    """Report versions in the log whose data was deleted."""
    states = subject.states
    versions = states.versions("data gone")
    if not len(versions):
        return ()
    ranges = runs(versions)
    basis = tuple(_deletion_evidence(subject, versions))
    one = len(versions) == 1
    return (
        Finding(
            rule="versions-gone",
            severity="info",
            label=f"{fmt.plural(len(versions), 'version')} vacuumed",
            title=f"{fmt.plural(len(versions), 'version')} {'has' if one else 'have'} lost {'its' if one else 'their'} "
            "data",
            evidence=(Evidence(spans(ranges), Place("commit", ranges[0][0])), *basis),
            effect="The log still shows their changes, but their rows can no longer be read or restored.",
            remedy=Remedy("See which versions can be read", command=table_command(subject, "retention")),
            versions=ranges,
        ),
    )


def _deletion_evidence(subject: Subject, versions: Int64s) -> Iterator[Evidence]:
    """Yield why data counts as deleted: missing files, files deleted here, or the last VACUUM of the log."""
    states = subject.states
    if states.checked:
        yield Evidence("their files were checked")
    elif states.lost is not None and states.lost.named:
        last = max(states.lost.named)
        names, count = states.lost.named[last], int(states.lost.count[last])
        yield Evidence(f"v{last + states.readable_from} needs files that no longer exist: {named(names, count)}")
    vacuum = int(states.vacuums[versions - states.first].max())
    if vacuum >= 0:
        yield Evidence(
            f"v{vacuum} records that VACUUM deleted files removed before {_before(subject, vacuum)}; the files were "
            "not checked",
            Place("commit", vacuum),
        )


def _before(subject: Subject, version: int) -> str:
    """Return the time before which files were removed that a recorded VACUUM deleted."""
    return next(time_text(vacuum.before) for vacuum in subject.risks.vacuums if vacuum.version == version)


def _at_risk(subject: Subject) -> tuple[Finding, ...]:
    """Report versions that VACUUM may delete now, or within two days."""
    states, since = subject.states, _vacuumed_from(subject)
    risky = states.versions("at risk")
    uncertain = states.unfinished[risky - states.first] >= 0
    unsure = risky[uncertain]
    readable = np.union1d(risky[~uncertain], states.versions("readable"))
    lost_from = since[readable - states.first]
    now = readable[lost_from < subject.now]
    soon = readable[(lost_from >= subject.now) & (lost_from <= subject.now + _SOON)]
    versions = np.union1d(now, soon)
    unfinished = _unfinished(subject, unsure)
    if not len(versions):
        return unfinished
    ranges = runs(versions)
    files, size = _expiring(subject, now)
    period = duration(subject.risks.terms.files)
    deadline = int(since[soon - states.first].min()) if len(soon) else None
    evidence = [
        Evidence(spans(runs(now) if len(now) else ranges), Place("commit", ranges[0][0])),
        Evidence(f"{fmt.plural(files, 'data file')}{'' if size is None else f', {fmt.size(size)}'} "
                 f"{_removed(subject, now)}" if len(now) else f"{FILE_RETENTION} is {period}"),
    ]  # fmt: skip
    title = (
        f"A vacuum would now delete the data of {fmt.plural(len(now), 'version')}"
        if len(now)
        else f"{fmt.plural(len(soon), 'version')} can be vacuumed from {time_text(deadline or 0)}"
    )
    if len(now) and len(soon):
        evidence.append(Evidence(f"{len(soon):,} more, {spans(runs(soon))}, from {time_text(deadline or 0)}"))
    return (
        *unfinished,
        Finding(
            rule="versions-at-risk",
            severity="info",
            label=f"{fmt.plural(len(versions), 'version')} at risk",
            title=title,
            evidence=tuple(evidence),
            effect=_LOST if not len(now) else f"{_LOST} {_THERE if states.checked else _UNKNOWN}",
            remedy=_longer(subject, versions),
            versions=ranges,
            files=files if len(now) else None,
            size=size if len(now) else None,
            deadline=deadline,
        ),
    )


def _vacuumed_from(subject: Subject) -> Int64s:
    """Return from when VACUUM may delete the data of each version, whether or not log cleanup may do so before."""
    since, states = subject.risks.data.since, subject.states
    early = np.full(len(states.codes) - len(since), FOREVER)
    return np.concatenate([early, np.where(since == subject.risks.terms.files, UNTIMED, since)])


def _unfinished(subject: Subject, versions: Int64s) -> tuple[Finding, ...]:
    """Report versions whose data may have been deleted by a VACUUM without a recorded end."""
    if not len(versions):
        return ()
    vacuum = int(subject.states.unfinished[versions - subject.states.first].max())
    ranges = runs(versions)
    return (
        Finding(
            rule="versions-at-risk",
            severity="info",
            label=f"{fmt.plural(len(versions), 'version')} at risk",
            title=f"An unfinished VACUUM may have deleted the data of {fmt.plural(len(versions), 'version')}",
            evidence=(
                Evidence(spans(ranges), Place("commit", ranges[0][0])),
                Evidence(f"v{vacuum} records a VACUUM that is not known to have completed", Place("commit", vacuum)),
            ),
            effect="Some, all, or none of the files that it listed were deleted. The log does not record which.",
            remedy=Remedy("Check the files", command=table_command(subject, "retention")),
            versions=ranges,
        ),
    )


def _longer(subject: Subject, versions: Int64s) -> Remedy:
    """Return a step to a longer retention, which does not help files without a removal time."""
    if (_vacuumed_from(subject)[versions - subject.states.first] == UNTIMED).all():
        step = "Copy what you need of these versions before a vacuum runs"
        oldest = ("--version", str(int(versions[0])), "--output", "rows.parquet")
        return Remedy(step, command=table_command(subject, "rows", *oldest))
    if subject.risks.terms.files >= 30 * 86_400_000:
        return Remedy("See when each version can be vacuumed", command=table_command(subject, "retention"))
    return Remedy("Keep files longer\u2026", intent=_retention_properties(subject, 30 * 86_400_000))


def _removed(subject: Subject, versions: Int64s) -> str:
    """Return since when files that versions need are expired."""
    period = subject.risks.terms.files
    untimed = _vacuumed_from(subject)[versions - subject.states.first] == UNTIMED
    ago = f"removed more than {duration(period)} ago" if period > 0 else "removed"
    if untimed.all():
        return "removed at a time not recorded in the log"
    return f"{ago}, or at a time not recorded in the log" if untimed.any() else ago


def _expiring(subject: Subject, versions: Int64s) -> tuple[int, int | None]:
    """Return how many files of some versions VACUUM may delete now, and their bytes if all are known."""
    risks = subject.risks
    life = risks.life
    if not len(versions):
        return 0, 0
    places = np.minimum(np.searchsorted(versions, life.added), len(versions) - 1)
    needed = (life.added <= versions[places]) & (versions[places] < life.removed)
    rows = np.flatnonzero((risks.expiry < subject.now) & needed)
    _, first = np.unique(life.path_ids[rows], return_index=True)
    sizes, known = life.sizes
    return len(first), exact_sum(sizes[rows[first]]) if known[rows[first]].all() else None


def _short(subject: Subject) -> tuple[Finding, ...]:
    """File retention below the default, or below the log's; and retention that a commit shortened."""
    period = subject.risks.terms.files
    usual = span_milliseconds(FILE_RETENTION.of({}))
    shortened = _shortened(subject)
    version, before = shortened[-1] if shortened else (None, 0)
    if period >= usual and (version is None or period >= before):
        return ()
    better = max(usual, before)
    evidence = [Evidence(f"{FILE_RETENTION} is {duration(period)}", Place("state"))]
    if version is not None and period < before:
        evidence = [commit_evidence(subject, version), Evidence(f"before: {duration(before)}"), *evidence]
    return (
        Finding(
            rule="short-retention",
            severity="error" if period < _SHORTEST else "warning",
            label="negative file retention" if period < 0 else f"files kept {duration(period)}",
            title=_how_short(period, usual, before),
            evidence=tuple(evidence),
            effect="A vacuum can delete files that a running writer is about to commit, or that a running "
            "query still reads."
            if period < _SHORTEST
            else f"A restore, a comparison, or a slow feed consumer can go back {duration(period)}, and no "
            "further after a vacuum.",
            remedy=Remedy(
                f"Keep them for {duration(better)}\u2026",
                intent=_retention_properties(subject, better),
            ),
            versions=() if version is None else ((version, subject.version),),
            cause=version if version is not None and period < before else None,
        ),
    )


def _how_short(period: int, usual: int, before: int) -> str:
    if period < 0:
        return f"File retention is negative: {duration(period)}"
    if period < usual:
        return f"Removed files are kept only for {duration(period)}"
    return f"File retention fell from {duration(before)} to {duration(period)}"


def _log_short(subject: Subject) -> tuple[Finding, ...]:
    """Report a log retention shorter than the file retention."""
    terms = subject.risks.terms
    if terms.log is None or (terms.log >= terms.files and terms.log >= 0):
        return ()
    if terms.log < 0:
        return (_negative_log(terms.log, terms.files),)
    return (
        Finding(
            rule="short-log-retention",
            severity="warning",
            label=f"log kept {duration(terms.log)}",
            title=f"The log is kept for {duration(terms.log)}, the files for {duration(terms.files)}",
            evidence=(Evidence(f"{LOG_RETENTION} and {FILE_RETENTION}", Place("state")),),
            effect="Versions become unreadable when their log is deleted, although their files still cost storage.",
            remedy=Remedy(
                f"Keep the log for {duration(terms.files)}\u2026",
                intent=SetProperties(properties={LOG_RETENTION.key: _interval(terms.files)}),
            ),
        ),
    )


def _negative_log(period: int, files: int) -> Finding:
    better = max(span_milliseconds(LOG_RETENTION.of({})), files)
    return Finding(
        rule="short-log-retention",
        severity="error",
        label="negative log retention",
        title=f"Log retention is negative: {duration(period)}",
        evidence=(Evidence(f"{LOG_RETENTION} is {duration(period)}", Place("state")),),
        effect="A cleanup can delete the log of every version before the last checkpoint at once.",
        remedy=Remedy(
            f"Keep the log for {duration(better)}\u2026",
            intent=SetProperties(properties={LOG_RETENTION.key: _interval(better)}),
        ),
    )


def _transactions_short(subject: Subject) -> tuple[Finding, ...]:
    """Identifiers of transactions that expire before the writer that they protect can come back."""
    configuration = subject.metadata.configuration
    if not SET_TRANSACTION_RETENTION.is_set(configuration):
        return ()
    period = span_milliseconds(SET_TRANSACTION_RETENTION.of(configuration))
    if period >= _SHORTEST:
        return ()
    return (
        Finding(
            rule="short-transaction-retention",
            severity="error",
            label="negative transaction retention" if period < 0 else f"transactions kept {duration(period)}",
            title=f"Transaction retention is negative: {duration(period)}"
            if period < 0
            else f"Transaction identifiers are kept only for {duration(period)}",
            evidence=(Evidence(f"{SET_TRANSACTION_RETENTION} is {duration(period)}", Place("state")),),
            effect="The next checkpoint drops the identifiers. A restarted stream then writes its last batch twice.",
            remedy=Remedy(
                "Keep them without limit\u2026", intent=UnsetProperties(keys=(SET_TRANSACTION_RETENTION.key,))
            ),
        ),
    )


def _retention_properties(subject: Subject, files: int) -> SetProperties:
    """Keep files for so long, and the log at least as long as them, without which the step is refused."""
    log = subject.risks.terms.log
    properties = {FILE_RETENTION.key: _interval(files)}
    if log is not None and log < files:
        properties[LOG_RETENTION.key] = _interval(files)
    return SetProperties(properties=properties)


def _shortened(subject: Subject) -> list[tuple[int, int]]:
    """Yield each commit that shortened file retention, and the previous period in ms."""
    known = [
        (version, span_milliseconds(FILE_RETENTION.of(metadata.configuration)))
        for version, metadata in subject.history.metadata_changes()
    ]
    return [(version, before) for (_, before), (version, after) in pairwise(known) if after < before]


def _interval(milliseconds: int) -> str:
    days, rest = divmod(milliseconds, 86_400_000)
    return f"interval {days} days" if not rest else f"interval {-(-milliseconds // 1000)} seconds"


RETENTION_RULES: Final = (
    Rule("missing-files", "error", "missing live files", "A query that needs one fails.", _missing),
    Rule(
        "short-retention",
        "warning",
        "short or shortened file retention",
        "It limits how far back a restore and the change feed can go.",
        _short,
    ),
    Rule(
        "short-log-retention",
        "warning",
        "log retention shorter than file retention",
        "A version without its log cannot be read, even if its files exist.",
        _log_short,
    ),
    Rule(
        "short-transaction-retention",
        "error",
        "negative or near-zero transaction retention",
        "Transaction identifiers prevent streams from writing a batch twice.",
        _transactions_short,
    ),
    Rule(
        "versions-at-risk", "info", "versions at risk from a vacuum", "They can then no longer be restored.", _at_risk
    ),
    Rule("versions-gone", "info", "versions whose data was deleted", "They can no longer be read.", _data_deleted),
)
