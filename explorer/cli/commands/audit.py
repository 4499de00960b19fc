"""``audit``: what rules over the whole log find in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer

from explorer import formatting as fmt
from explorer.auditing.document import audit_document
from explorer.auditing.finding import Severity
from explorer.auditing.options import AuditOptions
from explorer.cli.arguments import (
    ClientsOption,
    JsonFlag,
    SparkConfOption,
    SparkOption,
    grouped,
    use_clients,
    use_spark,
)
from explorer.cli.errors import exit_code, facts_of
from explorer.cli.in_force import roots_of
from explorer.cli.output import complain, counting, emit, listing, note
from explorer.cli.report_files import check_place
from explorer.cli.reports import ReportOptions, is_severe, print_findings, report
from explorer.cli.tables import location_of, open_root
from explorer.core.errors import EngineUnavailable, ExplorerError, RequestError
from explorer.fleet import SCHEMA, TableAudit, audits, ranked, row_of
from explorer.storage.schemes import spellings
from explorer.storage.served_root import ServedRoot, named_roots

_FINDINGS: Final = 1
_check_option = partial(typer.Option, rich_help_panel="Further checks")
_many_option = partial(typer.Option, rich_help_panel="Many tables")

Tables = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TABLE|ROOT]...",
        help="Tables, or places that contain tables, at any depth: folders, "
        f"{spellings(persistent=True)} URLs, or uc://[CATALOG[.SCHEMA]] (default: the roots of the configuration).",
        show_default=False,
    ),
]
FailOn = Annotated[
    Severity | None, typer.Option("--fail-on", help="Exit with code 1 if any finding has this severity or higher.")
]


@dataclass(frozen=True, slots=True)
class Checks:
    """What an audit checks in addition to the actions of the logs."""

    files: Annotated[
        bool, _check_option("--files", help="Also list the table folders to find missing, resized and orphaned files.")
    ] = False
    verify: Annotated[
        bool, _check_option("--verify", help="Also verify checksums and checkpoints by replaying the logs.")
    ] = False
    rows: Annotated[bool, _check_option("--rows", help="Also check constraints against all rows (one table only).")] = (
        False
    )
    footers: Annotated[
        bool,
        _check_option(
            "--footers", help="Also compare the statistics in the log with the Parquet footers of live files."
        ),
    ] = False
    chain_head: Annotated[
        str | None,
        _check_option(
            "--chain-head", metavar="HEAD", help="Check that the log still matches this chain head (one table only)."
        ),
    ] = None

    def options(self) -> AuditOptions:
        """Return them as the options of an audit."""
        return AuditOptions(
            check_files=self.files,
            verify=self.verify,
            check_rows=self.rows,
            check_footers=self.footers,
            chain_head=self.chain_head,
        )


@dataclass(frozen=True, slots=True)
class ManyTables:
    """How many tables are audited."""

    resume: Annotated[
        Path | None,
        _many_option(
            "--resume",
            metavar="FILE",
            help="Record progress in FILE, and skip tables already audited today that have no new version.",
        ),
    ] = None
    processes: Annotated[
        int | None,
        _many_option(
            "--processes",
            metavar="N",
            min=1,
            help="Number of processes (default: that of the configuration, otherwise one per core).",
        ),
    ] = None

    @property
    def any(self) -> bool:
        """Whether one of them is given."""
        return self.resume is not None or self.processes is not None


@grouped
def audit(
    tables: Tables = None,
    *,
    checks: Checks,
    many: ManyTables,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
    fail_on: FailOn = None,
    clients: ClientsOption = None,
    wanted: ReportOptions,
) -> int:
    """Check tables against every audit rule: lost rows, reused names, clients, gaps, files.

    Reads only the logs, unless an option requests more.

    Many tables are read in several processes, and a line is printed when a table is done. With --spark they are read by
    Spark, and the lines are printed at the end. A table that cannot be read does not stop the others: its error is
    printed to stderr, and the exit code is that of the first error. Otherwise it is 1 if a finding is as severe as
    --fail-on.

    With --clients, findings name your clients first, and wrong results in one of them are an error.

    --html, --since, --case, --sign and --details make the full report, which also verifies the log.
    """
    if many.resume is not None:
        check_place(many.resume)
    use_clients(clients)
    use_spark(spark, spark_conf)
    roots, refused = _located(tables or ())
    options = checks.options()
    if refused and (wanted.any or options.of_one_table) and refused[0].error is not None:
        raise refused[0].error
    if wanted.any:
        if many.any:
            raise RequestError(
                "Reports read tables one at a time. Remove --resume and --processes, or remove the report options.",
                field="--html",
            )
        return report(roots, options, wanted, as_json=json, fail_on=fail_on)
    if options.of_one_table and many.any:
        raise RequestError("--resume and --processes are for many tables; leave them out.", field="--resume")
    broken, severe, done = 0, False, list[TableAudit]()
    rank = list[dict[str, Any]]()
    with counting("Auditing") as counts:
        if options.of_one_table:
            audited = iter([_one(roots, options)])
        else:
            begun = audits(
                roots, options=options, processes=many.processes, spark=spark is not None, resume=many.resume,
                searched=counts.searched,
            )  # fmt: skip
            audited = chain(refused, begun if roots else ())
        for each in audited:
            counts.done()
            if each.error is not None:
                complain(facts_of(each.error), as_json=json)
                broken = broken or exit_code(each.error)
            elif each.document is not None:
                severe = severe or is_severe(each.document.findings, fail_on)
            if json and each.document is not None:
                emit(each.document)
            rank.append(row_of(each))
            done = done[:1] or [each]
    if not json:
        _print(rank, done)
    return broken or (_FINDINGS if severe else 0)


def _located(texts: Sequence[str]) -> tuple[list[ServedRoot], list[TableAudit]]:
    """Return where tables are, those of the configuration if none is named; and an error for each wrong name.

    Raises:
        EngineUnavailable: A name needs Spark, and Spark does not start.
    """
    if not texts:
        return roots_of(None, "TABLE"), []
    roots, refused = list[ServedRoot](), list[TableAudit]()
    for text in texts:
        try:
            roots += named_roots([location_of(text)])
        except EngineUnavailable:
            raise
        except ExplorerError as error:
            refused.append(TableAudit(text, error=error))
    return roots, refused


def _one(roots: Sequence[ServedRoot], options: AuditOptions) -> TableAudit:
    """Return the audit of the one table that is named, with what is asked of one table alone."""
    if len(roots) != 1:
        raise RequestError("--rows and --chain-head are for one table. Name one.", field="TABLE")
    table = open_root(roots[0])
    return TableAudit(roots[0].place, audit_document(table.audit(**msgspec.structs.asdict(options)), table.location))


def _print(rows: list[dict[str, Any]], done: list[TableAudit]) -> None:
    """Print the findings of one table, or many tables, the worst first."""
    if len(rows) > 1:
        headings = ["table", "errors", "warnings", "notes", "the worst"]
        shown = zip(*(ranked(rows).column(name).to_pylist() for name in SCHEMA.names), strict=True)
        named = (dict(zip(SCHEMA.names, row, strict=True)) for row in shown)
        cells = [
            (each["table"], each["errors"], each["warnings"], each["notes"], each["message"] or each["worst"] or "")
            for each in named
        ]
        listing(headings, cells, "No tables.", numbers=headings[1:4])
        broken = sum(row["error"] is not None for row in rows)
        note(f"{fmt.plural(len(rows), 'table')}" + (f", {broken:,} of them could not be read." if broken else "."))
    elif done and done[0].document is not None:
        document = done[0].document
        print_findings(document.findings)
        note(f"{document.table}, v{document.version}: {document.verdict}")
