"""``snapshot`` and ``columns``: what the table is, and how its columns came to be named."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import (
    JsonFlag,
    LogSparkOption,
    SparkConfOption,
    TableArgument,
    TimestampOption,
    VersionOption,
    use_log_spark,
)
from explorer.cli.named_times import snapshot_named
from explorer.cli.output import check_agreed, emit, facts, listing, patience, warn_without_schema
from explorer.cli.tables import open_named
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.protocol.schema.data_types import UnreadColumn, format_column, parse_column, type_name
from explorer.core.versions.column_lineage import ColumnLine, ColumnSpan, Lineage, NameHazard


class SnapshotDocument(JsonRecord, frozen=True, kw_only=True):
    """A table at a version.

    Attributes:
        timestamp: When the version was committed, UTC.
        protocol, metadata: The actions as they are in the log.
        size_in_bytes: Bytes of the live files; null if the log does not record it for one of them.
        num_records: Physical rows of the live files, masked rows included; null if one file lacks the count.
        num_deleted_records: Masked rows.
        transactions: The last version of each application.
        domain_metadata: The configuration of each domain.
        unread_columns: Columns that are not read because of their types.
    """

    table: str
    version: int
    timestamp: datetime
    protocol: JsonObject
    metadata: JsonObject
    num_files: int
    size_in_bytes: int | None
    num_records: int | None
    num_deleted_records: int
    transactions: dict[str, int]
    domain_metadata: dict[str, str]
    unread_columns: tuple[UnreadColumn, ...]


class LineageLine(JsonRecord, frozen=True, kw_only=True):
    """A physical column over the versions.

    Attributes:
        physical_path: The physical names, from the top level down.
        column: Its present or last name.
        spans: Its name and type in ranges of versions, both ends included.
        dropped_at: The version that no longer has it; null if the newest has it.
        hazards: Its names under which a client that ignores column mapping reads another column.
    """

    field_id: int | None
    physical_name: str
    physical_path: tuple[str, ...]
    column: str
    spans: tuple[ColumnSpan, ...]
    dropped_at: int | None
    hazards: tuple[NameHazard, ...]


class SnapshotTotals(Protocol):
    """Totals of a version's live files: those of its snapshot, or those that Spark counted."""

    @property
    def num_files(self) -> int:
        """Live files."""

    @property
    def size_in_bytes(self) -> int | None:
        """Their bytes, if the log says."""

    @property
    def num_records(self) -> int | None:
        """Their physical rows, if the log says."""

    @property
    def num_deleted_records(self) -> int:
        """Rows that deletion vectors hide."""


def snapshot(
    table: TableArgument,
    version: VersionOption = None,
    timestamp: TimestampOption = None,
    *,
    spark: LogSparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the table at a version: protocol, metadata, totals.

    If the log contradicts itself, so that clients read different rows, an error with both counts follows, and the
    exit code is 3.
    """
    use_log_spark(spark, spark_conf)
    with patience("Reading the log"):
        opened = open_named(table)
        opened_snapshot = snapshot_named(opened, version, timestamp)
    totals = opened_snapshot if spark is None else _counted(opened, opened_snapshot)
    with patience("Reading the log"):
        document = _document(opened, opened_snapshot, totals)
    warn_without_schema(opened_snapshot)
    if json:
        emit(document)
    else:
        _print_snapshot(opened_snapshot, totals, document)
    if spark is None:
        check_agreed(opened_snapshot)


def columns(table: TableArgument, json: JsonFlag = False) -> None:
    """Show the names and types of every column over the versions, and reused and swapped names."""
    with patience("Reading the log"):
        lineage = open_named(table).column_lineage()
    if json:
        for line in lineage.columns:
            emit(_lineage_line(line, lineage))
        return
    listing(
        ["column", "id", "physical name", "type", "nullable", "versions", "before"],
        (_column_row(line, lineage) for line in lineage.columns),
        "The table has no columns.",
        numbers=("id",),
    )
    if lineage.hazards:
        hazards = ((hazard.name, f"v{hazard.version}", hazard.detail) for hazard in lineage.hazards)
        listing(["take care with", "from", "because"], hazards, "")


def _counted(table: explorer.Table, snapshot: explorer.Snapshot) -> SnapshotTotals:
    """Return the totals, counted by Spark."""
    from explorer.cli.row_output import waiting
    from explorer.spark.log.live_files import file_totals

    totals: SnapshotTotals = waiting(file_totals(table, snapshot))
    return totals


def _document(table: explorer.Table, snapshot: explorer.Snapshot, totals: SnapshotTotals) -> SnapshotDocument:
    return SnapshotDocument.of(
        snapshot,
        table=table.location,
        protocol=snapshot.protocol.to_wire(),
        metadata=snapshot.metadata.to_wire(),
        num_files=totals.num_files,
        size_in_bytes=totals.size_in_bytes,
        num_records=totals.num_records,
        num_deleted_records=totals.num_deleted_records,
    )


def _print_snapshot(snapshot: explorer.Snapshot, totals: SnapshotTotals, document: SnapshotDocument) -> None:
    protocol, metadata = snapshot.protocol, snapshot.metadata
    records, deleted = totals.num_records, totals.num_deleted_records
    rows = fmt.count(None if records is None else records - deleted)
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    pairs: list[tuple[str, object]] = [
        ("version", f"{snapshot.version}, committed {fmt.timestamp(snapshot.timestamp)}"),
        ("rows", f"{rows} ({fmt.count(deleted)} more masked by deletion vectors)" if deleted else rows),
        ("files", f"{fmt.count(totals.num_files)}, {fmt.size(totals.size_in_bytes)}"),
        ("reader, writer", f"{protocol.min_reader_version}, {protocol.min_writer_version}"),
        ("features", ", ".join(features) or "none listed"),
        ("partitioned by", ", ".join(snapshot.partition_columns) or "nothing"),
        ("id", metadata.id),
    ]
    for name, value in (("name", metadata.name), ("description", metadata.description)):
        if value is not None:
            pairs.append((name, value))
    pairs += [(f"property {key}", value) for key, value in sorted(metadata.configuration.items())]
    pairs += [(f"transaction {app}", f"version {number}") for app, number in sorted(snapshot.transactions.items())]
    pairs += [(f"domain {name}", value) for name, value in sorted(snapshot.domain_metadata.items())]
    facts(document.table, pairs)
    if not snapshot.has_schema:
        return
    listing(
        ["column", "type", "nullable"],
        ((format_column((f.name,)), type_name(f.type), f.nullable) for f in snapshot.schema.fields),
        "The table has no columns.",
    )


def _lineage_line(line: ColumnLine, lineage: Lineage) -> LineageLine:
    names = {span.name for span in line.spans}
    return LineageLine.of(
        line,
        physical_name=_physical(line)[-1],
        physical_path=_physical(line),
        column=format_column(line.path),
        hazards=tuple(hazard for hazard in lineage.hazards if hazard.name in names),
    )


def _column_row(line: ColumnLine, lineage: Lineage) -> tuple[object, ...]:
    last = line.spans[-1]
    until = "now" if last.to_version == lineage.last_version else f"v{last.to_version}"
    return (
        format_column(line.path),
        "" if line.field_id is None else line.field_id,
        _physical(line)[-1],
        last.type,
        last.nullable,
        f"v{line.spans[0].from_version} to {until}",
        ", ".join(_earlier(line)),
    )


def _physical(line: ColumnLine) -> tuple[str, ...]:
    return parse_column(line.physical_name)


def _earlier(line: ColumnLine) -> Iterator[str]:
    """Yield the earlier names and types of a column."""
    for before, after in zip(line.spans, line.spans[1:], strict=False):
        parts = [before.name] if before.name != after.name else []
        parts += [before.type] if before.type != after.type else []
        yield f"{' '.join(parts) or 'other nullability'} to v{before.to_version}"
