"""The log: what cannot be read of it, missing commits, history that was cleaned away, overdue checkpoints."""

from __future__ import annotations

from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.finding import Evidence, Finding, Place, Remedy
from explorer.auditing.rule import Rule, see, verify_command
from explorer.auditing.subject import Subject
from explorer.auditing.words import commit_evidence, span, spans
from explorer.core.errors import ExplorerError, MalformedAction, TableError, VersionGap
from explorer.core.log.verify.file_values import FileValues
from explorer.core.protocol.table_properties.registry import CHECKPOINT_INTERVAL
from explorer.core.transaction.intents.records import Checkpoint

_OVERDUE: Final = 3
_FEWEST: Final = 30
_MOST_FAULTS: Final = 4


def _unreadable(subject: Subject) -> tuple[Finding, ...]:
    """Report a newest version, or a history, that the log does not give."""
    try:
        subject.snapshot.files(["path"])
        subject.read()
        subject.snapshot.require_schema()
        return _undecodable(subject)
    except TableError as error:
        lacking = _lacking(subject)
        if lacking is not None:
            return (_nameless(subject, lacking, error),)
        version = getattr(error, "version", None)
        known = isinstance(version, int)
        return (
            Finding(
                rule="unreadable-log",
                severity="error",
                label=f"unreadable from v{version}" if known else "unreadable",
                title=f"The log cannot be read from v{version} on" if known else "The log cannot be read",
                evidence=(Evidence(str(error)),),
                effect="Other readers refuse the table too, or return wrong results.",
                remedy=_next_step(subject, error),
                versions=((version, subject.version),) if isinstance(version, int) else (),
            ),
        )


def _next_step(subject: Subject, error: TableError) -> Remedy:
    """Return the next step for an unreadable log: its files come from a backup, or were moved."""
    command = verify_command(subject)
    if isinstance(error, VersionGap) and error.latest is not None:
        step = f"Read v{error.latest} until the missing log files are restored"
        return see(subject, step, Place("state", error.latest))
    if isinstance(error, MalformedAction):
        return Remedy("Repair the commit as the evidence shows, or restore it from a backup", command=command)
    return Remedy("List the damaged log files, and restore them from a backup", command=command)


def _undecodable(subject: Subject) -> tuple[Finding, ...]:
    """Report live files whose log records cannot be decoded."""
    snapshot = subject.snapshot
    values = FileValues()
    files, version = snapshot.file_columns, snapshot.version
    faults = list(values.of_files(files, snapshot.protocol, snapshot.metadata, version, inline=True))
    if not faults:
        return ()
    return (
        Finding(
            rule="unreadable-log",
            severity="error",
            label=fmt.plural(len(faults), "unreadable file"),
            title=f"What the log records of {fmt.plural(len(faults), 'live file')} cannot be decoded",
            evidence=tuple(Evidence(fmt.shorten(fmt.plain(each, 400), 300)) for each in faults[:_MOST_FAULTS]),
            effect="A query over these files fails here; other clients fail too, or read different rows.",
            remedy=Remedy("List the files, and add them again with valid values", command=verify_command(subject)),
            versions=((snapshot.version, snapshot.version),),
            files=len(faults),
        ),
    )


def _lacking(subject: Subject) -> str | None:
    """Return what the log never defines, so that no version can be read; None if nothing, or unreadable."""
    try:
        history = subject.history
    except ExplorerError:
        return None
    metadata = history.metadata_at(subject.version)
    if history.protocol_at(subject.version) is None:
        return "protocol"
    if metadata is None:
        return "metadata"
    return "schema" if metadata.schema_string is None else None


def _nameless(subject: Subject, lacking: str, error: TableError) -> Finding:
    """Report a log without protocol or metadata: its commits are known, its rows are not."""
    return Finding(
        rule="unreadable-log",
        severity="error",
        label=f"no {lacking}",
        title=f"The log has no {lacking}",
        evidence=(Evidence(str(error)), commit_evidence(subject, int(subject.commits.versions[0]))),
        effect="Readers must not return rows. The commits and their files can still be shown.",
        remedy=Remedy("Restore the commit that names it from a backup", command=verify_command(subject)),
        versions=((subject.history.first_readable, subject.version),),
    )


def _gaps(subject: Subject) -> tuple[Finding, ...]:
    """Report commits missing between others; a checkpoint after them lets later versions be read."""
    versions = np.array(sorted(subject.listing.commits), np.int64)
    places = np.flatnonzero(np.diff(versions) > 1)
    gaps = [(int(versions[at]) + 1, int(versions[at + 1]) - 1) for at in places.tolist()]
    if not gaps:
        return ()
    count = sum(last - first + 1 for first, last in gaps)
    readable = subject.listing.earliest()
    return (
        Finding(
            rule="log-hole",
            severity="warning",
            label=f"log has a gap, {span(*gaps[-1])}",
            title=f"{fmt.plural(count, 'commit')} {'is' if count == 1 else 'are'} missing from the middle of the log",
            evidence=(
                Evidence(spans(gaps)),
                Evidence(f"the oldest readable version is v{readable}", Place("state", readable)),
            ),
            effect="Their changes are unknown. History and change feed are not available across the gap.",
            remedy=Remedy("Restore the commits from a backup", command=verify_command(subject)),
            versions=tuple(gaps),
        ),
    )


def _cleaned(subject: Subject) -> tuple[Finding, ...]:
    """History before everything that is left."""
    checkpoints = [checkpoint.version for checkpoint in subject.listing.checkpoints]
    oldest = min([*subject.listing.commits, *checkpoints], default=0)
    if not oldest:
        return ()
    readable = subject.listing.earliest()
    return (
        Finding(
            rule="history-cleaned",
            severity="info",
            label=f"history from v{readable}",
            title="Early history was deleted by a log cleanup",
            evidence=(Evidence(span(0, oldest - 1)),),
            effect=f"The oldest readable version is v{readable}.",
            remedy=see(subject, "See the oldest version", Place("state", readable)),
            versions=((0, oldest - 1),),
        ),
    )


def _overdue(subject: Subject) -> tuple[Finding, ...]:
    """Report many intervals without a checkpoint, in a table whose writers usually do not wait so long."""
    listing = subject.listing
    made = [checkpoint.version for checkpoint in listing.checkpoints]
    newest = made[-1] if made else -1
    since = subject.version - newest
    interval = CHECKPOINT_INTERVAL.of(subject.metadata.configuration)
    rhythm = int(np.median(np.diff(made))) if len(made) > 1 else 0
    if since < max(_FEWEST, _OVERDUE * interval, 2 * rhythm):
        return ()
    size = sum(path.size for version, path in listing.commits.items() if version > newest)
    return (
        Finding(
            rule="checkpoint-overdue",
            severity="warning",
            label=f"no checkpoint for {since:,} commits",
            title=f"No checkpoint for {fmt.plural(since, 'commit')}",
            evidence=(
                Evidence(f"the newest checkpoint is of v{newest}", Place("commit", newest))
                if newest >= 0
                else Evidence("the log has none"),
                Evidence(f"{CHECKPOINT_INTERVAL} is {interval}"),
            ),
            effect=f"Every reader opens {fmt.plural(since, 'file')} ({fmt.size(size)}) of the log to find the newest "
            "version.",
            remedy=Remedy("Write a checkpoint\u2026", intent=Checkpoint()),
            versions=((newest + 1, subject.version),),
            files=since,
            size=size,
        ),
    )


LOG_RULES: Final = (
    Rule(
        "unreadable-log",
        "error",
        "a log that cannot be read",
        "The current state of the table cannot be determined.",
        _unreadable,
    ),
    Rule("log-hole", "warning", "commits missing from the log", "Their changes can no longer be determined.", _gaps),
    Rule(
        "checkpoint-overdue",
        "warning",
        "overdue checkpoints",
        "Without one, every reader reads all commits since.",
        _overdue,
    ),
    Rule("history-cleaned", "info", "cleaned history", "Versions before it cannot be read.", _cleaned),
)
