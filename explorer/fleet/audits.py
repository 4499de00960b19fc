"""The audit of many tables: those below some places, each audited once its folder is listed, and their ranking."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.auditing.finding import SEVERITIES
from explorer.auditing.options import AuditOptions
from explorer.configuration.in_force import in_force
from explorer.core.errors import RequestError
from explorer.fleet.one_table import TableAudit, answer
from explorer.fleet.places import places
from explorer.fleet.processes import in_processes
from explorer.fleet.record import AuditRecord
from explorer.fleet.spark_tasks import on_spark
from explorer.storage.served_root import GivenRoots, configured_roots, with_options

SCHEMA: Final = pa.schema(
    [
        ("table", pa.string()),
        ("version", pa.int64()),
        ("errors", pa.int64()),
        ("warnings", pa.int64()),
        ("notes", pa.int64()),
        ("not_answered", pa.int64()),
        ("worst", pa.string()),
        ("findings", pa.list_(pa.string())),
        ("error", pa.string()),
        ("message", pa.string()),
    ]
)
"""A row of a fleet: counts by severity, ``worst`` the claim of the worst finding, ``findings`` the ids of all;
``error`` is the class of the error of a table that could not be read, ``message`` says why."""


def audit(
    roots: GivenRoots | None = None,
    storage_options: Mapping[str, Any] | None = None,
    *,
    check_files: bool = False,
    verify: bool = False,
    check_footers: bool = False,
    processes: int | None = None,
    spark: bool = False,
    resume: str | os.PathLike[str] | None = None,
    each: Callable[[TableAudit], None] | None = None,
) -> pa.Table:
    """Audit every table at or below some places, and rank them.

    Call it below ``if __name__ == "__main__":`` in a script: other processes load the script too.

    Args:
        roots: Tables, or places that hold tables: folders, or URLs of object stores; None for the roots of the
            configuration file.
        storage_options: Options of the object stores; None for those of the configuration file. A `ServedRoot` has its
            own.
        check_files, verify, check_footers: As in `explorer.Table.audit`.
        processes: How many processes read, one reads here; None for the number in the configuration file, otherwise as
            many as there are processors.
        spark: Read in Spark's tasks instead.
        resume: A file of JSON lines: tables that it says were read today, with the same options and as they are now,
            are not read again, and each table that is done is added to it.
        each: Called with each table as it is done.

    Returns:
        A row a table with the columns of `SCHEMA`, the worst first, tables that cannot be read before all others.

    Raises:
        RequestError: ``resume`` is no such file; or there are no roots.
        EngineUnavailable: Spark is asked for and missing.
    """
    given = configured_roots() if roots is None else with_options(roots, storage_options)
    if not given:
        raise RequestError(
            "There is nothing to audit. Name a table or a place, or put it into the configuration as [[roots]].",
            field="roots",
        )
    rows = []
    options = AuditOptions(check_files=check_files, verify=verify, check_footers=check_footers)
    for audited in audits(given, options=options, processes=processes, spark=spark, resume=resume):
        if each is not None:
            each(audited)
        rows.append(row_of(audited))
    return ranked(rows)


def audits(
    roots: GivenRoots,
    storage_options: Mapping[str, Any] | None = None,
    *,
    options: AuditOptions = AuditOptions(),  # noqa: B008 - it is frozen
    processes: int | None = None,
    spark: bool = False,
    resume: str | os.PathLike[str] | None = None,
    now: datetime | None = None,
    searched: Callable[[int], None] | None = None,
) -> Iterator[TableAudit]:
    """Audit every table at or below some places; yield each as it is done. Arguments and errors as of `audit`.

    Args:
        roots, storage_options, processes, spark, resume: As in `audit`.
        options: Additional inputs.
        now: The present of all of them, with a zone; else that of this machine at the start.
        searched: As of `places`.
    """
    present = datetime.now(UTC) if now is None else now
    task = partial(answer, options=options, now=present)

    def answered(known: Mapping[str, Container[str]] | None) -> Iterator[TableAudit]:
        known_task, table_places = partial(task, known=known), places(roots, storage_options, searched=searched)
        if spark:
            return on_spark(table_places, known_task)
        return in_processes(table_places, known_task, processes or _configured_processes() or os.cpu_count() or 1)

    if resume is None:
        yield from answered(None)
        return
    with AuditRecord(Path(resume), options, present) as record:
        for audited in answered(record.states):
            if audited.known:
                yield msgspec.structs.replace(audited, document=record.document(audited.location, audited.state))
                continue
            if audited.document is not None:
                record.add(audited.location, audited.state, audited.document)
            yield audited


def _configured_processes() -> int | None:
    file = in_force().file
    return None if file is None else file.values.audit.processes


def ranked(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows of `SCHEMA`, the worst first: unreadable tables, then by errors, warnings and notes."""

    def rank(row: Mapping[str, Any]) -> tuple[object, ...]:
        return row["error"] is None, -row["errors"], -row["warnings"], -row["notes"], row["table"]

    return pa.Table.from_pylist(sorted(rows, key=rank), schema=SCHEMA)


def row_of(audited: TableAudit) -> dict[str, Any]:
    """Return the row of a table, with the columns of `SCHEMA`."""
    row: dict[str, Any] = dict.fromkeys(SCHEMA.names) | {"table": audited.location, "findings": []}
    counts = dict.fromkeys(SEVERITIES, 0)
    if audited.error is not None:
        row |= {"error": type(audited.error).__name__, "message": audited.error.message}
    elif audited.document is not None:
        findings = audited.document.findings
        for each in findings:
            counts[each.severity] += 1
        row |= {
            "table": audited.document.table,
            "version": audited.document.version,
            "not_answered": len(audited.document.not_answered),
            "worst": findings[0].title if findings else None,
            "findings": [each.id for each in findings],
        }
    return row | {"errors": counts["error"], "warnings": counts["warning"], "notes": counts["info"]}
