"""The sections of a report: the opening sentence, clients, retention, and who changed the table's form and why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import numpy as np

from explorer import formatting as fmt
from explorer.auditing.document import ReportFinding
from explorer.auditing.finding import Severity
from explorer.auditing.subject import Subject
from explorer.core.compatibility.access import ClientVerdict
from explorer.core.compatibility.matrix import WORST_FIRST, MatrixRow
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.schema.column_mapping import mapping_mode
from explorer.core.versions.commit_times import moment
from explorer.core.versions.diff import ColumnChange, diff_metadata, diff_properties, diff_protocols
from explorer.core.versions.history import History
from explorer.core.versions.provenance import CommitRecord
from explorer.core.versions.retention.horizon import Horizon
from explorer.core.versions.retention.readable_until import FolderScan
from explorer.core.versions.retention.version_states import STATES
from explorer.report.document import ClientLine, LogCheck, Phrase, Retention, RetentionStep, TableChange, Tone
from explorer.report.history_marks import time_of

_DAY: Final = 86_400_000
_MOST_STEPS: Final = 90
_MOST_CHANGES: Final = 200


def client_lines(subject: Subject) -> tuple[ClientLine, ...]:
    """Return client access: your clients, then the newest release of others, most severe first."""
    mine = [row for row in subject.matrix if row.mine]
    named = {row.client for row in mine}
    rest = [each for each in subject.clients if each.client not in named]
    rest.sort(key=lambda each: (WORST_FIRST.index(each.read), WORST_FIRST.index(each.write)))
    return (*(_line(row, row) for row in mine), *(_line(each, None) for each in rest))


def _line(each: MatrixRow | ClientVerdict, used: MatrixRow | None) -> ClientLine:
    return ClientLine.of(
        each,
        version=None if used is None else used.version,
        in_use=used is not None,
        seen=used is not None and used.seen,
        owner="" if used is None else used.owner,
        note="" if used is None else used.note,
    )


def retention(subject: Subject, scan: FolderScan | None = None) -> Retention:
    """Return what a VACUUM now keeps and deletes, for the current retention and for others.

    Args:
        subject: The table.
        scan: The content of its folder; None uses only the log.
    """
    horizon = subject.log.horizon(moment(subject.now), scan=scan)
    counts = np.bincount(subject.states.codes, minlength=len(STATES)).tolist()
    in_force = horizon.what_if()
    log = subject.risks.terms.log
    return Retention(
        file_days=round(horizon.retention / _DAY, 4),
        log_days=None if log is None else round(log / _DAY, 4),
        readable=counts[STATES.index("readable")],
        at_risk=counts[STATES.index("at risk")],
        gone=counts[STATES.index("data gone")] + counts[STATES.index("log gone")],
        kept=in_force.kept,
        files=in_force.files,
        bytes=in_force.bytes,
        basis=horizon.basis,
        steps=_steps(horizon),
    )


def _steps(horizon: Horizon) -> tuple[RetentionStep, ...]:
    """Return the curve as steps, each exact at its hundredth of a day; of many, a sample and the last."""
    hundredths = -(-horizon.retentions * 100 // _DAY)
    # Of the steps in one hundredth of a day the last is what that retention keeps.
    exact = np.flatnonzero(np.append(np.diff(hundredths) > 0, True))
    places = exact[np.unique(np.linspace(0, len(exact) - 1, min(len(exact), _MOST_STEPS)).astype(np.int64))]
    return tuple(
        RetentionStep(
            days=int(hundredths[place]) / 100,
            versions=int(horizon.num_versions[place]),
            bytes=int(horizon.num_bytes[place]),
        )
        for place in places.tolist()
    )


def table_changes(subject: Subject) -> tuple[tuple[TableChange, ...], int]:
    """Return the newest commits that changed schema, protocol, properties, or description, and the omitted count."""
    history = subject.history
    changed = [record for record in history.commits if record.metadata is not None or record.protocol is not None]
    changes: list[TableChange] = []
    for record in reversed(changed):
        texts = tuple(_texts(history, record))
        if texts:
            changes.append(_change(subject, record, texts))
    return tuple(changes[:_MOST_CHANGES]), max(len(changes) - _MOST_CHANGES, 0)


def _change(subject: Subject, record: CommitRecord, texts: tuple[str, ...]) -> TableChange:
    def text(column: str) -> str:
        return subject.commits.text(record.version, column)

    return TableChange(
        version=record.version,
        time=time_of(subject, record.version),
        user=text("user_name"),
        engine=text("engine_info"),
        operation=text("operation"),
        reason=text("reason"),
        changes=texts,
    )


def _texts(history: History, record: CommitRecord) -> list[str]:
    """Return the changes of a commit, a text each; none if it repeated the current state."""
    version = record.version
    was, old = history.metadata_at(version - 1), history.protocol_at(version - 1)
    now, new = history.metadata_at(version), history.protocol_at(version)
    if was is None or old is None:
        created = version == 0 and now is not None and new is not None
        return [f"created, protocol {_protocol(new)}"] if created and new is not None else []
    texts: list[str] = []
    if now is not None and now != was:
        texts += _metadata(was, now, old, new or old)
    difference = diff_protocols(old, new)
    if difference is not None:
        if _protocol(old) != _protocol(difference.after):
            texts.append(f"protocol {_protocol(old)} \u2192 {_protocol(difference.after)}")
        texts += [f"feature {name} added" for name in difference.features_added]
        texts += [f"feature {name} removed" for name in difference.features_removed]
    return texts


def _metadata(was: Metadata, now: Metadata, old: Protocol, new: Protocol) -> list[str]:
    modes = mapping_mode(was.configuration, old), mapping_mode(now.configuration, new)
    texts = [_column(change) for change in diff_metadata(was, now, modes)]
    for change in diff_properties(was.configuration, now.configuration):
        if change.after is None:
            texts.append(f"{change.key} removed, was {change.before}")
        else:
            texts.append(f"{change.key} = {change.after}" + (f", was {change.before}" if change.before else ""))
    for name in ("name", "description", "partition_columns", "id"):
        before, after = getattr(was, name), getattr(now, name)
        if before != after:
            texts.append(f"{name.replace('_', ' ')}: {fmt.value_text(before)} \u2192 {fmt.value_text(after)}")
    return texts


def _column(change: ColumnChange) -> str:
    match change.kind:
        case "added":
            return f"column {change.column} added, {change.after}"
        case "dropped":
            return f"column {change.column} dropped"
        case _:
            return f"column {change.column} {change.kind}: {change.before} \u2192 {change.after}"


def _protocol(protocol: Protocol) -> str:
    return f"{protocol.min_reader_version}, {protocol.min_writer_version}"


_TONES: Final[dict[Severity, Tone]] = {"error": "danger", "warning": "strong", "info": "plain"}
_FIRST_WORDS: Final = ("The ", "A ", "An ", "No ", "Early ", "Removed ", "File ")


def first_deadline(findings: Sequence[ReportFinding], time: str) -> ReportFinding | None:
    """Return the finding with the first deadline that has not passed; None if there is none."""
    dated = [each for each in findings if each.deadline is not None and each.deadline >= time]
    return min(dated, key=lambda each: each.deadline or "", default=None)


def sentence(
    findings: Sequence[ReportFinding], time: str, *, silent: int, log: LogCheck | None, read_whole: bool
) -> tuple[Phrase, ...]:
    """Say how a table is.

    Args:
        findings: The findings, the worst first.
        time: The time of the report, as its document has it.
        silent: How many rules passed.
        log: The result of verifying the log; None if that was not possible.
        read_whole: Whether every part of the report could be made.
    """
    worst = findings[0] if findings else None
    grave = worst is not None and worst.severity == "error"
    doubtful = log is None or bool(log.problems) or not read_whole
    opening = "Damaged: " if grave else _doubt(log) if doubtful else "Whole"
    parts = [Phrase(text=opening, tone="danger" if grave or doubtful else "plain")]
    if worst is None:
        parts.append(Phrase(text=f"{', and' if doubtful else ':'} {fmt.plural(silent, 'rule')} passed"))
    else:
        if not grave:
            parts.append(Phrase(text=_joint(findings, doubtful=doubtful)))
        parts += [Phrase(text=_clause(worst), tone=_TONES[worst.severity]), *_deadline(findings, worst, time)]
    return (*parts, Phrase(text="."))


def _doubt(log: LogCheck | None) -> str:
    return "The log has problems" if log is not None and log.problems else "Some of it could not be read"


def _joint(findings: Sequence[ReportFinding], *, doubtful: bool) -> str:
    """Return the words from the opening to the first finding, which is not an error."""
    if doubtful:
        return ", and "
    if findings[0].severity == "warning":
        return ", but "
    first = "the note" if len(findings) == 1 else f"the first of {len(findings)} notes"
    return f", and no action is needed; {first}: "


def _clause(finding: ReportFinding) -> str:
    """Return a claim inside a sentence; a first word that may be a name stays as it is."""
    title = finding.title.rstrip(".")
    word = next((word for word in _FIRST_WORDS if title.startswith(word)), "")
    return word.lower() + title[len(word) :]


def _deadline(findings: Sequence[ReportFinding], worst: ReportFinding, time: str) -> list[Phrase]:
    """Return the first deadline, and its subject if that is not the most severe finding."""
    if worst.deadline is not None and worst.deadline < time:
        return [Phrase(text=f"; its next step may fail at any time since {_when(worst.deadline)}")]
    first = first_deadline(findings, time)
    if first is None:
        return []
    when = Phrase(text=_when(first.deadline), tone="strong")
    if first is worst:
        return [Phrase(text="; its next step is possible until "), when]
    if first.remedy is None:
        return [Phrase(text="; the first deadline is "), when]
    return [Phrase(text=f"; \u201c{first.remedy.label}\u201d is possible until "), when]


def _when(text: str | None) -> str:
    return fmt.day(None if text is None else datetime.fromisoformat(text))
