"""The report that ``audit`` writes: one HTML file for one table or many, compared, with a case, and signed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from explorer import formatting as fmt
from explorer.auditing.document import ReportFinding
from explorer.auditing.finding import SEVERITIES, Severity
from explorer.auditing.options import AuditOptions
from explorer.cli.errors import exit_code, facts_of
from explorer.cli.output import complain, counting, emit, listing, note, patience
from explorer.cli.report_files import (
    PASSPHRASE,
    check_signed_place,
    read_case_file,
    read_whole,
    save_signed,
    signing_key,
)
from explorer.cli.tables import open_root
from explorer.core.errors import ExplorerError, RequestError
from explorer.fleet import TableAudit, places
from explorer.storage.served_root import ServedRoot

if TYPE_CHECKING:
    from explorer.report import TableReport
    from explorer.report.case_file import CaseFile
    from explorer.report.signature import SigningKey
    from explorer.report.since import EarlierReport

_FINDINGS: Final = 1
_report_option = partial(typer.Option, rich_help_panel="Report")


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report contains, and where it is written."""

    html: Annotated[
        Path | None, _report_option("--html", metavar="FILE", help="Write the report as one self-contained HTML file.")
    ] = None
    since: Annotated[
        Path | None,
        _report_option(
            "--since", metavar="REPORT", help="Compare with an earlier report, .html or .json: new, gone, same."
        ),
    ] = None
    case: Annotated[
        Path | None,
        _report_option("--case", metavar="FILE", help="Case file (.json or .toml) with evidence to include."),
    ] = None
    sign: Annotated[
        Path | None,
        _report_option(
            "--sign",
            metavar="KEY",
            help="Sign the file of --html with this private Ed25519 key, OpenSSH or PEM; writes FILE.sig. The "
            f"passphrase is that in {PASSPHRASE}, or you are asked for it.",
        ),
    ] = None
    user: Annotated[
        str | None, _report_option("--user", metavar="NAME", help="Name of the author, shown in the report.")
    ] = None
    details: Annotated[
        bool, _report_option("--details", help="With --json: all that the report states, without writing HTML.")
    ] = False

    @property
    def any(self) -> bool:
        """Whether a report is wanted at all, not the findings alone."""
        return self.details or any(path is not None for path in (self.html, self.since, self.case, self.sign))


def report(
    tables: Sequence[ServedRoot],
    checks: AuditOptions,
    options: ReportOptions,
    *,
    as_json: bool,
    fail_on: Severity | None,
) -> int:
    """Make the report of tables: write it, sign it, and print what it says.

    Args:
        checks: What the audits check.

    Returns:
        The exit code, as ``audit`` has it.
    """
    now = datetime.now(UTC)
    if options.sign is not None and options.html is None:
        raise RequestError("--sign signs the file of --html. Give both.", field="--sign")
    if options.html is not None:
        check_signed_place(options.html, options.sign)
    key = signing_key(options.sign)
    earlier, case = _earlier(options), _case(options)
    with counting("Searching for tables") as counts:
        given = list(places(tables, searched=counts.searched))
    roots = [place for place in given if isinstance(place, ServedRoot)]
    unread = [(place.location, place.error) for place in given if isinstance(place, TableAudit) and place.error]
    many = len(roots) + len(unread) > 1
    if many and checks.of_one_table:
        raise RequestError("--rows and --chain-head are for one table. Name one.", field="TABLE")
    made: list[TableReport] = []
    for root in roots:
        try:
            with patience(f"Reading {fmt.plain(root.place)}"):
                table = open_root(root)
                table_report = table.report(
                    now,
                    check_files=checks.check_files,
                    check_rows=checks.check_rows,
                    check_footers=checks.check_footers,
                    chain_head=checks.chain_head,
                    by=options.user,
                    since=earlier,
                    case=case,
                    signer=None if key is None or many else key.signer,
                    one_of_many=many,
                )
        except ExplorerError as error:
            if isinstance(error, RequestError) and not many:
                raise
            unread.append((root.place, error))
            continue
        made.append(table_report)
        if as_json:
            emit(table_report)
        else:
            _print(table_report)
    for _, problem in unread:
        complain(facts_of(problem), as_json=as_json)
    if options.html is not None and (made or many):
        _write(
            options.html,
            made,
            unread,
            now,
            key,
            title=" and ".join(_full_path(root.place) for root in tables) if many else "",
            user=options.user,
        )
    broken = next((exit_code(problem) for _, problem in unread), 0)
    return broken or (_FINDINGS if is_severe((each for table in made for each in table.findings), fail_on) else 0)


def _full_path(place: str) -> str:
    """Return a place as other machines can name it: a folder with its full path."""
    return place if "://" in place else str(Path(place).resolve())


def _write(
    path: Path,
    made: Sequence[TableReport],
    unread: Sequence[tuple[str, ExplorerError]],
    now: datetime,
    key: SigningKey | None,
    *,
    title: str,
    user: str | None,
) -> None:
    """Write the report, and its signature beside it."""
    from explorer.report import render, tables_report

    document = (
        tables_report(made, unread, now, title, by=user, signer=None if key is None else key.signer)
        if title
        else made[0]
    )
    data = render(document).encode()
    save_signed(path, data, document.digest, key)


def _print(table_report: TableReport) -> None:
    print_findings(table_report.findings)
    note(f"{table_report.table}, v{table_report.version}: {''.join(each.text for each in table_report.sentence)}")
    if table_report.since is not None:
        since = table_report.since
        counts = f"{len(since.new)} new, {len(since.gone)} gone, {len(since.unchanged)} unchanged"
        note(f"Since v{since.version}: {counts}.")


def print_findings(findings: Sequence[ReportFinding]) -> None:
    """Print the findings of one table."""
    rows = [(each.severity, each.title, each.effect, each.remedy.label if each.remedy else "") for each in findings]
    listing(["severity", "finding", "effect", "next step"], rows, "No findings.")


def is_severe(findings: Iterable[ReportFinding], level: Severity | None) -> bool:
    """Return whether a finding has a severity or a higher one; None asks for none."""
    return level is not None and any(SEVERITIES.index(each.severity) <= SEVERITIES.index(level) for each in findings)


def _earlier(options: ReportOptions) -> tuple[EarlierReport, ...] | None:
    if options.since is None:
        return None
    from explorer.report.since import earlier_reports

    return earlier_reports(read_whole(options.since), str(options.since))


def _case(options: ReportOptions) -> CaseFile | None:
    return None if options.case is None else read_case_file(options.case)
