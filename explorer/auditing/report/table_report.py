"""The report of one table, and of several: every part of it, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec
import numpy as np

from explorer import formatting as fmt
from explorer.auditing.document import audit_document
from explorer.auditing.finding import SEVERITIES, Severity
from explorer.auditing.report.case_file import CaseFile
from explorer.auditing.report.document import (
    Figures,
    FoundFinding,
    LogCheck,
    MissingPart,
    NotAnsweredRule,
    Phrase,
    RuleLine,
    Signer,
    TableReport,
    TablesReport,
    Tone,
    Unread,
    sealed,
)
from explorer.auditing.report.history_marks import history_marks, time_of
from explorer.auditing.report.pins import case as case_of
from explorer.auditing.report.sections import client_lines, retention, table_changes
from explorer.auditing.report.since import EarlierReport
from explorer.auditing.report.since import since as compared
from explorer.auditing.subject import Subject
from explorer.auditing.verdict import Audit
from explorer.core.errors import ExplorerError
from explorer.core.versions.commit_times import moment
from explorer.version import VERSION

__all__ = ["table_report", "tables_report"]

_PROGRAM: Final = f"Delta Table Explorer {VERSION}"
_TONES: Final[dict[Severity, Tone]] = {"error": "danger", "warning": "strong", "info": "plain"}
_Part = TypeVar("_Part")


def table_report(
    subject: Subject,
    audit: Audit,
    *,
    by: str | None = None,
    since: Sequence[EarlierReport] | None = None,
    case: CaseFile | None = None,
    signer: Signer | None = None,
    one_of_many: bool = False,
) -> TableReport:
    """Make the report of a table.

    Args:
        subject: The table.
        audit: What the rules answered on it.
        by: Who makes the report; None if that is not known.
        since: The reports of an earlier file, to compare with.
        case: Evidence that somebody pinned.
        signer: The key that will sign the report.
        one_of_many: The report will stand beside others: pins that name no table are of none of them, and a table that
            the earlier file does not have is new.

    Raises:
        RequestError: The earlier report is not of this table.
    """
    parts = _Parts()
    document = audit_document(audit, subject.log.location)
    findings = tuple(msgspec.convert(document["findings"], list[FoundFinding]))
    table_id = parts.made("id of the table", lambda: subject.snapshot.metadata.id)
    changes = parts.made("who changed what", lambda: table_changes(subject))
    log = parts.made("check of the log", lambda: _log_check(subject))
    earlier = since if since is None or not one_of_many else _of_table(since, subject, table_id)
    deadline = min((each.deadline for each in findings if each.deadline is not None), default=None)
    return sealed(
        TableReport(
            program=_PROGRAM,
            title=_title(subject.log.location),
            table=subject.log.location,
            table_id=table_id,
            version=audit.version,
            time=moment(audit.now).isoformat(),
            by=by,
            basis=str(document["basis"]),
            verdict=str(document["verdict"]),
            sentence=_sentence(audit, findings, log),
            deadline=deadline,
            findings=findings,
            not_answered=tuple(msgspec.convert(document["notAnswered"], list[NotAnsweredRule])),
            found_nothing=tuple(msgspec.convert(document["foundNothing"], list[str])),
            rules=tuple(_rule(each.rule.id, audit) for each in audit.results),
            figures=parts.made("key figures", lambda: _figures(subject)),
            history=parts.made("history", lambda: history_marks(subject)),
            clients=parts.made("who can read it", lambda: client_lines(subject)),
            retention=parts.made("retention", lambda: retention(subject)),
            changes=None if changes is None else changes[0],
            changes_left_out=0 if changes is None else changes[1],
            log=log,
            missing=tuple(parts.missing),
            since=None if not earlier else compared(earlier, subject.log.location, table_id, audit.version, findings),
            case=None if case is None else case_of(case, subject, findings, only_named=one_of_many),
            signer=signer,
        )
    )


def tables_report(
    reports: Sequence[TableReport],
    unread: Sequence[tuple[str, ExplorerError]],
    now: datetime,
    title: str,
    *,
    by: str | None = None,
    signer: Signer | None = None,
) -> TablesReport:
    """Make the report of several tables, the worst first.

    Args:
        reports: The report of each.
        unread: The location of each that could not be read, and the error.
        now: The present, with a zone.
        title: What holds them.
        by, signer: As in `table_report`.
    """
    return sealed(
        TablesReport(
            program=_PROGRAM,
            title=title,
            time=now.isoformat(),
            by=by,
            tables=tuple(sorted(reports, key=_badness)),
            unread=tuple(
                Unread(table=location, error=type(error).__name__, message=str(error)) for location, error in unread
            ),
            signer=signer,
        )
    )


class _Parts:
    """The parts that could not be made, with the reasons."""

    def __init__(self) -> None:
        self.missing: list[MissingPart] = []

    def made(self, part: str, make: Callable[[], _Part]) -> _Part | None:
        try:
            return make()
        except ExplorerError as error:
            self.missing.append(MissingPart(part=part, reason=str(error)))
            return None


def _of_table(earlier: Sequence[EarlierReport], subject: Subject, table_id: str | None) -> list[EarlierReport]:
    location = subject.log.location
    return [each for each in earlier if each.table == location or (table_id is not None and each.table_id == table_id)]


def _badness(report: TableReport) -> tuple[object, ...]:
    counts = [-sum(each.severity == level for each in report.findings) for level in SEVERITIES]
    return (*counts, report.deadline or "~", report.table)


def _title(location: str) -> str:
    """The last folders of a location, as a path that people read."""
    return " / ".join([part for part in location.rstrip("/").split("/") if part][-3:]) or location


def _rule(rule: str, audit: Audit) -> RuleLine:
    found = next(each.rule for each in audit.results if each.rule.id == rule)
    return RuleLine(id=found.id, severity=found.severity, title=found.title, meaning=found.meaning)


def _sentence(audit: Audit, findings: Sequence[FoundFinding], log: LogCheck | None) -> tuple[Phrase, ...]:
    """The verdict in one sentence: whole or not, the worst that was found, and the first deadline."""
    faulty = log is None or log.problems
    worst = findings[0] if findings else None
    grave = worst is not None and worst.severity == "error"
    opening = "Not sound: " if grave else "The log has faults" if faulty else "Whole"
    parts = [Phrase(text=opening, tone="danger" if grave or faulty else "plain")]
    if worst is None:
        rules = fmt.plural(len(audit.silent), "rule")
        parts.append(Phrase(text=f"{', and' if faulty else ':'} {rules} found nothing"))
    else:
        if not grave:
            parts.append(Phrase(text=_joint(findings, faulty=bool(faulty))))
        claim = _clause(worst)
        parts.append(Phrase(text=claim, tone=_TONES[worst.severity]))
        parts += _deadline(findings, worst)
    return (*parts, Phrase(text="."))


def _joint(findings: Sequence[FoundFinding], *, faulty: bool) -> str:
    """What leads from the opening to the first finding, which is no error."""
    if faulty:
        return ", and "
    if findings[0].severity == "warning":
        return ", but "
    first = "the note" if len(findings) == 1 else f"the first of {len(findings)} notes"
    return f", and nothing asks for action; {first}: "


def _clause(finding: FoundFinding) -> str:
    """A claim inside a sentence; only its article is known not to be a name."""
    title = finding.title.rstrip(".")
    for word in ("The ", "A ", "An ", "No "):
        if title.startswith(word):
            return word.lower() + title[len(word) :]
    return title


def _deadline(findings: Sequence[FoundFinding], worst: FoundFinding) -> list[Phrase]:
    """The first deadline, and what ends then where it is not that of the worst finding."""
    dated = [each for each in findings if each.deadline is not None]
    if not dated:
        return []
    first = min(dated, key=lambda each: each.deadline or "")
    when = Phrase(text=fmt.day(datetime.fromisoformat(first.deadline or "")), tone="strong")
    if first is worst:
        return [Phrase(text="; its remedy works until "), when]
    if first.remedy is None:
        return [Phrase(text="; the first deadline is "), when]
    return [Phrase(text=f"; \u201c{first.remedy.label}\u201d has time until "), when]


def _figures(subject: Subject) -> Figures:
    history, commits = subject.history, subject.commits
    life = history.lifetimes
    first, last = int(commits.versions[0]), subject.version
    sizes, known = life.sizes
    snapshot, live = subject.snapshot, subject.live
    rows = commits.numbers("num_rows")[-1]
    return Figures(
        rows=int(rows) if np.isfinite(rows) else None,
        masked_rows=snapshot.num_deleted_records,
        files=len(live),
        bytes=int(sizes[live].sum()) if known[live].all() else None,
        first_version=first,
        first_time=time_of(subject, first),
        last_time=time_of(subject, last),
    )


def _log_check(subject: Subject) -> LogCheck:
    found = subject.log.verify()
    problems = (
        f"{'' if each.version is None else f'v{each.version}: '}{each.kind}, {each.detail}" for each in found.problems
    )
    return LogCheck(
        first_version=found.first_version,
        last_version=found.last_version,
        problems=tuple(problems),
        chain_head=found.chain_head,
    )
