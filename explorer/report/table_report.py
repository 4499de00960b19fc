"""The report of one table, and of several: every part of it, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from explorer import formatting as fmt
from explorer.auditing.document import audit_document, sealed
from explorer.auditing.finding import SEVERITIES
from explorer.auditing.subject import Subject
from explorer.auditing.verdict import Audit
from explorer.core.errors import ExplorerError
from explorer.core.maintenance.journal import MaintenanceEntry
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.readable_until import FolderScan
from explorer.report.case_file import CaseFile
from explorer.report.document import (
    Figures,
    LogCheck,
    MissingPart,
    ReportedMaintenance,
    RuleLine,
    Signer,
    TableReport,
    TablesReport,
    Unread,
    title_of,
)
from explorer.report.history_marks import history_marks, time_of
from explorer.report.pins import case as case_of
from explorer.report.sections import client_lines, first_deadline, retention, sentence, table_changes
from explorer.report.since import EarlierReport
from explorer.report.since import since as compared
from explorer.version import VERSION
from explorer.views.card import MOST, TONES, Card, first_rows, stated
from explorer.views.cards import card_of
from explorer.views.table.overview import totals_of

_PROGRAM: Final = f"Delta Table Explorer {VERSION}"
_MOST_MAINTENANCE: Final = 50
_Part = TypeVar("_Part")


def table_report(
    subject: Subject,
    audit: Audit,
    *,
    by: str | None = None,
    since: Sequence[EarlierReport] | None = None,
    case: CaseFile | None = None,
    signer: Signer | None = None,
    scan: Callable[[], FolderScan] | None = None,
    maintenance: Callable[[], Sequence[MaintenanceEntry]] | None = None,
    one_of_many: bool = False,
) -> TableReport:
    """Make the report of a table.

    Args:
        subject: The table.
        audit: What the rules answered on it.
        by: Who makes the report; None if that is not known.
        since: The reports of an earlier file, to compare with.
        case: Pinned evidence.
        signer: The key that will sign the report.
        scan: Lists the folder of the table, for what a vacuum frees; None uses only the log.
        maintenance: Lists the maintenance of the table, the newest first; None leaves it out.
        one_of_many: The report will stand beside others: pins that name no table are of none of them, and a table that
            the earlier file does not have is new.

    Raises:
        RequestError: The earlier report is not of this table.
    """
    parts = _Parts()
    document = audit_document(audit, subject.log.location)
    findings = document.findings
    table_id = parts.made("table ID", lambda: subject.snapshot.metadata.id)
    changes = parts.made("who changed what", lambda: table_changes(subject))
    log = parts.made("log check", lambda: _log_check(subject))
    earlier = since if since is None or not one_of_many else _of_table(since, subject, table_id)
    figures = parts.made("key figures", lambda: _figures(subject))
    history = parts.made("history", lambda: history_marks(subject))
    clients = parts.made("client compatibility", lambda: client_lines(subject))
    horizon = parts.made("retention", lambda: retention(subject, None if scan is None else scan()))
    time = moment(audit.now).isoformat()
    upkeep = None if maintenance is None else parts.made("maintenance", lambda: _maintenance(maintenance()))
    due = first_deadline(findings, time)
    return sealed(
        TableReport(
            program=_PROGRAM,
            title=title_of(subject.log.location),
            table=subject.log.location,
            table_id=table_id,
            version=audit.version,
            time=time,
            by=by,
            basis=document.basis,
            verdict=document.verdict,
            sentence=sentence(findings, time, silent=len(audit.silent), log=log, read_whole=not parts.missing),
            deadline=None if due is None else due.deadline,
            findings=findings,
            not_answered=document.not_answered,
            found_nothing=document.found_nothing,
            rules=tuple(_rule(each.rule.id, audit) for each in audit.results),
            figures=figures,
            history=history,
            clients=clients,
            retention=horizon,
            changes=None if changes is None else changes[0],
            changes_left_out=0 if changes is None else changes[1],
            log=log,
            missing=tuple(parts.missing),
            since=None if not earlier else compared(earlier, subject.log.location, table_id, audit.version, findings),
            case=None if case is None else case_of(case, subject, findings, only_named=one_of_many),
            signer=signer,
            maintenance=upkeep or msgspec.UNSET,
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


def _maintenance(entries: Sequence[MaintenanceEntry]) -> tuple[ReportedMaintenance, ...]:
    return tuple(ReportedMaintenance.of(each, time=each.time.isoformat()) for each in entries[:_MOST_MAINTENANCE])


def _rule(rule: str, audit: Audit) -> RuleLine:
    rule_record = next(each.rule for each in audit.results if each.rule.id == rule)
    return RuleLine.of(rule_record)


def _figures(subject: Subject) -> Figures:
    totals, first = totals_of(subject.commits, subject.snapshot), subject.listing.earliest()
    return Figures(
        rows=totals.rows,
        masked_rows=totals.masked,
        files=totals.files,
        bytes=totals.size,
        first_version=first,
        first_time=time_of(subject, first),
        last_time=time_of(subject, subject.version),
    )


def _log_check(subject: Subject) -> LogCheck:
    integrity = subject.inputs.integrity or subject.log.verify()
    problems = (
        f"{'' if each.version is None else f'v{each.version}: '}{each.kind}, {each.detail}"
        for each in integrity.problems
    )
    return LogCheck.of(integrity, problems=tuple(problems))


@card_of.register
def report_card(report: TableReport) -> Card:
    """Return the sentence, the findings and the digest of a report."""
    cells = [
        (each.severity, each.title, "; ".join(piece.text for piece in each.evidence), each.effect)
        for each in report.findings
    ]
    log = report.log
    facts = (
        ("summary", "".join(phrase.text for phrase in report.sentence)),
        ("table", report.table),
        ("made", f"{_time(report.time)}{'' if report.by is None else f' by {report.by}'}, from {report.basis}"),
        ("first deadline", "" if report.deadline is None else _time(report.deadline)),
        ("log", "" if log is None else fmt.plural(len(log.problems), "problem") if log.problems else "no problems"),
        ("passed", fmt.plural(len(report.found_nothing), "rule")),
        ("not checked", fmt.plural(len(report.not_answered), "rule")),
        *((f"without {each.part}", each.reason) for each in report.missing[:MOST]),
        ("digest", report.digest),
    )
    worst = TONES[report.findings[0].severity] if cells else "ok"
    if worst in ("info", "ok") and (log is None or log.problems or report.missing):
        worst = "warning"
    title = f"Report of {report.title}, v{report.version}: {fmt.plural(len(cells), 'finding')}"
    rows = first_rows(("severity", "finding", "evidence", "effect"), cells) if cells else None
    return Card(title, stated(facts), rows, worst)


def _time(text: str) -> str:
    """Return a time of a document for cards; texts that are not times are unchanged."""
    try:
        return fmt.moment(datetime.fromisoformat(text))
    except ValueError:
        return text
