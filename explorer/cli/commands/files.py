"""``files``, ``deletion-vectors`` and ``statistics``: what the log knows of the data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import pyarrow as pa
import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import (
    SCREEN,
    JsonFlag,
    LogSparkOption,
    SparkConfOption,
    TableArgument,
    VersionOption,
    use_log_spark,
)
from explorer.cli.named_times import snapshot_named
from explorer.cli.output import check_agreed, emit, encode, listing, note, patience, warn_without_schema
from explorer.cli.row_output import limited
from explorer.cli.tables import open_named
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.json_values import JsonRecord, JsonValue
from explorer.core.protocol.logical_files import PUBLIC_COLUMNS
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.protocol.statistics.data_skipping import answerable, unsplittable_in

if TYPE_CHECKING:
    from explorer.core.protocol.statistics.column_summary import ColumnSummary
    from explorer.core.protocol.statistics.data_skipping import SkippingCounts

_AT_ONCE: Final = 5_000
_NONE_LISTED: Final = "No file is listed: --limit is 0."
WhereOption = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", help="Only the files that a query with this condition would read."),
]
FilesOption = Annotated[int | None, typer.Option("--limit", metavar="N", min=0, help="At most N files.")]


class FileVector(JsonRecord, frozen=True, kw_only=True):
    """The deletion vector of a live file; ``storage_type`` as in `MaskedFileLine`, ``cardinality`` in rows."""

    storage_type: str
    unique_id: str
    cardinality: int | None
    size_in_bytes: int | None


class FileLine(JsonRecord, frozen=True, kw_only=True):
    """A live file.

    Attributes:
        path: As in the log, percent-encoded.
        size: Bytes.
        modification_time: ms since the epoch.
        num_records: Physical rows; null if the log does not record them.
    """

    path: str
    partition_values: dict[str, str | None]
    size: int | None
    modification_time: int | None
    num_records: int | None
    deletion_vector: FileVector | None


class MaskedFileLine(JsonRecord, frozen=True, kw_only=True):
    """A live file with masked rows.

    Attributes:
        path: As in the log, percent-encoded.
        storage_type: ``u`` (file in the table's folder), ``p`` (absolute path) or ``i`` (inline).
        file: The file of the deletion vector; null when inline.
        offset: Where the vector begins in it, in bytes.
        cardinality: Masked rows.
        num_records: Physical rows; null if the log does not record them.
    """

    path: str
    storage_type: str
    unique_id: str
    file: str | None
    offset: int | None
    size_in_bytes: int | None
    cardinality: int | None
    num_records: int | None


class StatisticsLine(JsonRecord, frozen=True, kw_only=True):
    """The statistics of a column in a file; null where the log does not record them.

    Attributes:
        path: As in the log, percent-encoded.
        type: The column's type, as in SQL.
        num_records: Physical rows of the file.
        tight: False if the bounds may be wider than the values of the remaining rows.
    """

    path: str
    column: str
    type: str
    min: JsonValue
    max: JsonValue
    null_count: int | None
    num_records: int | None
    tight: bool | None


class ColumnSummaryLine(JsonRecord, frozen=True, kw_only=True):
    """A column over all live files, by their statistics.

    Attributes:
        type: The column's type, as in SQL.
        partition: It is a partition column.
        files: Live files that may hold live rows.
        files_bounded: Of those, the ones with a minimum and a maximum, or with nulls alone.
        files_counted: Of those, the ones with a null count.
        rows: Live rows of the files with a null count; null if there are none.
        least_nulls: At least so many of these rows are null; as many as most_nulls where that is exact.
        most_nulls: At most so many are.
        min_tight: Whether a live row has the minimum, if it was not cut; null without one.
        max_tight: The same of the maximum.
        wide_files: Files whose statistics are wide.
    """

    column: str
    type: str
    partition: bool
    files: int
    files_bounded: int
    files_counted: int
    rows: int | None
    least_nulls: int
    most_nulls: int
    min: JsonValue
    max: JsonValue
    min_tight: bool | None
    max_tight: bool | None
    wide_files: int


class UndecidedPart(JsonRecord, frozen=True, kw_only=True):
    """A part of a condition that statistics cannot decide, and why."""

    text: str
    reason: str


class UndecidedParts(JsonRecord, frozen=True, kw_only=True):
    """The parts of a condition that statistics cannot decide; they skip no file."""

    unsplittable: tuple[UndecidedPart, ...]


def files(
    table: TableArgument,
    version: VersionOption = None,
    *,
    where: WhereOption = None,
    limit: FilesOption = None,
    layout: Annotated[
        bool,
        typer.Option(
            "--layout",
            help="Print sizes, writers, small files, and what OPTIMIZE would do, instead of the files. Not with "
            "--where, --limit, or --spark.",
        ),
    ] = False,
    spark: LogSparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """List the live files of a version, or those that a query with a condition would read.

    Stderr names the parts of a condition that statistics cannot decide. If the log contradicts itself, so that clients
    read different rows, an error with both counts follows, and the exit code is 3.
    """
    use_log_spark(spark, spark_conf)
    with patience("Reading the log"):
        opened = open_named(table)
        snapshot = snapshot_named(opened, version)
    warn_without_schema(snapshot)
    if layout:
        if where is not None or limit is not None or spark is not None:
            raise RequestError("--layout describes all files, without Spark; leave out --where, --limit, and --spark.")
        from explorer.cli.layout_output import print_layout

        print_layout(opened, snapshot.version, as_json=json)
        return
    if where is not None:
        _say_unsplittable(snapshot, where, as_json=json)
    most = SCREEN if spark is not None and limit is None and not json else limit
    listed = _listed(snapshot, where) if spark is None else _replayed(opened, snapshot, where, most)
    if json:
        for row in _rows(limited(listed, limit)):
            emit(_file(row))
        if spark is None:
            check_agreed(snapshot)
        return
    if where is not None:
        note(_needed(opened, snapshot, where, by_spark=spark is not None))
    listing(
        ["path", "size", "rows", "masked", "partition"],
        (
            (
                row["path"],
                fmt.size(row["size"]),
                fmt.count(row["num_records"]),
                fmt.count(row["dv_cardinality"] or 0),
                _partition(row["partition_values"]),
            )
            for row in _rows(limited(listed, most))
        ),
        _NONE_LISTED
        if limit == 0
        else f"Version {snapshot.version} has no files{'' if where is None else ' that the condition has to read'}.",
        numbers=("size", "rows", "masked"),
    )
    if most != limit:
        note(f"These are {SCREEN} files at most; --limit lists more, --json all.")
    if spark is None:
        check_agreed(snapshot)


def deletion_vectors(table: TableArgument, version: VersionOption = None, json: JsonFlag = False) -> None:
    """List the files with masked rows, and where their deletion vectors are."""
    with patience("Reading the log"):
        snapshot = snapshot_named(open_named(table), version)
        rows = snapshot.deletion_vectors()
    if json:
        for row in _rows(rows.to_batches(max_chunksize=_AT_ONCE)):
            emit(MaskedFileLine.of(row, path=row["raw_path"]))
        return
    listing(
        ["path", "masked", "of rows", "size", "vector"],
        (
            (
                row["path"],
                fmt.count(row["cardinality"]),
                fmt.count(row["num_records"]),
                fmt.size(row["size_in_bytes"]),
                "inline" if row["file"] is None else f"{row['file']} at byte {row['offset'] or 0}",
            )
            for row in _rows(rows.to_batches(max_chunksize=_AT_ONCE))
        ),
        f"No rows are masked at version {snapshot.version}.",
        numbers=("masked", "of rows", "size"),
    )


def statistics(
    table: TableArgument,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="C", help="Only this column, for example address.city. Repeatable."),
    ] = None,
    version: VersionOption = None,
    *,
    limit: FilesOption = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="One line for each column, over all live files. Not with --limit.")
    ] = False,
    spark: LogSparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the minimum, maximum and null count of each column in each file, or over all files."""
    use_log_spark(spark, spark_conf)
    if summary:
        if spark is not None or limit is not None:
            raise RequestError("--summary reads all files without Spark; leave out --limit and --spark.")
        _print_summaries(table, column, version, as_json=json)
        return
    with patience("Reading the log"):
        opened = open_named(table)
        snapshot = snapshot_named(opened, version)
        rows = _statistics(snapshot, column, limit)
        if spark is not None:
            rows = _replayed_statistics(opened, snapshot, column, SCREEN if limit is None and not json else limit)
        first = next(rows, None)
    if json:
        while first is not None:
            emit(first)
            first = next(rows, None)
        return
    chosen = [] if first is None else [first, *rows]
    listing(
        ["column", "path", "min", "max", "nulls", "rows", "bounds"],
        (
            (
                row.column,
                row.path,
                _bound(row.min),
                _bound(row.max),
                fmt.count(row.null_count),
                fmt.count(row.num_records),
                {True: "tight", False: "wide", None: fmt.UNKNOWN}[row.tight],
            )
            for row in chosen
        ),
        _NONE_LISTED
        if limit == 0
        else f"Version {snapshot.version} has no files, or no column that can have statistics.",
        numbers=("nulls", "rows"),
    )


def _print_summaries(table: str, names: list[str] | None, version: str | None, *, as_json: bool) -> None:
    """Print a line for each column."""
    with patience("Reading the log"):
        snapshot = snapshot_named(open_named(table), version)
        summaries = snapshot.column_summaries(names)
    if as_json:
        for each in summaries:
            emit(ColumnSummaryLine.of(each))
        return
    listing(
        ["column", "type", "min", "max", "bounds", "nulls", "of rows", "files"],
        (
            (
                each.column,
                each.type,
                _bound(each.min),
                _bound(each.max),
                _sureness(each),
                _nulls(each),
                fmt.count(each.rows),
                f"{fmt.count(each.files_bounded)} of {fmt.count(each.files)}",
            )
            for each in summaries
        ),
        "The table has no column that can have statistics.",
        numbers=("nulls", "of rows"),
    )


def _sureness(summary: ColumnSummary) -> str:
    """Return whether both ends are those of live rows; empty without ends."""
    if summary.min_tight is None:
        return ""
    return "tight" if summary.min_tight and summary.max_tight else "wide"


def _nulls(summary: ColumnSummary) -> str:
    if summary.rows is None:
        return fmt.UNKNOWN
    least, most = fmt.count(summary.least_nulls), fmt.count(summary.most_nulls)
    return least if least == most else f"{least} to {most}"


def _listed(snapshot: explorer.Snapshot, where: str | None) -> Iterator[pa.RecordBatch]:
    """Return the files, or those that a condition has to read."""
    with patience("Reading the log"):
        rows = snapshot.logical_files
        if where is not None:
            rows = rows.filter(snapshot.skipping(where).files.column("kept"))
    return iter(rows.to_batches(max_chunksize=_AT_ONCE))


def _replayed(
    opened: explorer.Table, snapshot: explorer.Snapshot, where: str | None, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Return the same by Spark."""
    from explorer.cli.row_output import followed
    from explorer.spark.log.live_files import FileDecisions, FilesToRead, plain_files
    from explorer.spark.rows.batches import row_batches
    from explorer.spark.rows.row_streams import file_stream

    plain = partial(plain_files, PUBLIC_COLUMNS)
    made = plain if where is None else FilesToRead(FileDecisions.of(snapshot, where))
    return row_batches(file_stream(opened, snapshot, made, limit), followed)


def _needed(opened: explorer.Table, snapshot: explorer.Snapshot, where: str, *, by_spark: bool) -> str:
    """Return how many files a condition has to read."""
    if by_spark:
        from explorer.cli.row_output import waiting
        from explorer.spark.log.live_files import needed_counts

        counts: SkippingCounts = waiting(needed_counts(opened, snapshot, where))
    else:
        counts = snapshot.skipping(where).counts
    return (
        f"{fmt.count(counts.after_statistics)} of {fmt.plural(counts.total, 'file')} have to be read; partition values "
        f"leave {fmt.count(counts.after_partitions)}, and statistics leave {fmt.count(counts.after_statistics)}, of "
        f"which {fmt.count(counts.kept_without_statistics)} only for lack of statistics."
    )


def _say_unsplittable(snapshot: explorer.Snapshot, where: str, *, as_json: bool) -> None:
    """Say which parts of a condition leave out no file, and why."""
    condition, _ = answerable(where, snapshot.schema, snapshot.statistics_columns)
    parts = unsplittable_in(condition)
    if parts and as_json:
        undecided = tuple(UndecidedPart(text=part.text, reason=part.reason) for part in parts)
        note(encode(UndecidedParts(unsplittable=undecided)).decode())
        return
    for part in parts:
        note(f"{part.text!r} leaves out no file: {part.reason}.")


def _replayed_statistics(
    opened: explorer.Table, snapshot: explorer.Snapshot, names: list[str] | None, limit: int | None
) -> Iterator[StatisticsLine]:
    """Yield one record a file and column, by Spark."""
    from explorer.cli.row_output import followed
    from explorer.spark.log.live_files import AllFiles
    from explorer.spark.rows.batches import row_batches
    from explorer.spark.rows.row_streams import file_stream

    made = AllFiles.of(snapshot, names)
    chosen = [column for column in made.columns if names is None or column in map(snapshot.statistics_column, names)]
    for row in _rows(limited(row_batches(file_stream(opened, snapshot, made, limit), followed), limit)):
        parts = row["statistics"]
        for column in chosen:
            value = row["partition"][column.path[0]] if column.partition else None
            low, high, nulls = (
                (value, value, 0 if value is not None else row["num_records"])
                if column.partition
                else (_inner(parts[part], column.path) for part in ("min", "max", "null_count"))
            )
            yield StatisticsLine(
                path=row["raw_path"],
                column=column.name,
                type=type_name(column.type),
                min=low,
                max=high,
                null_count=nulls,
                num_records=row["num_records"],
                tight=True if column.partition else parts["tight"],
            )


def _inner(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def _statistics(snapshot: explorer.Snapshot, names: list[str] | None, limit: int | None) -> Iterator[StatisticsLine]:
    """Yield one record a file and column; every column asked for is looked up before the first record."""
    paths = snapshot.logical_files.column("raw_path")
    for column, table in snapshot.column_ranges_of(names):
        rows = _rows(limited(iter(table.to_batches(max_chunksize=_AT_ONCE)), limit))
        for path, row in zip(paths, rows, strict=limit is None):
            yield StatisticsLine.of(row, path=path.as_py(), column=column.name, type=type_name(column.type))


def _file(row: dict[str, Any]) -> FileLine:
    vector = None
    if row["dv_unique_id"] is not None:
        vector = FileVector(
            storage_type=row["dv_storage_type"],
            unique_id=row["dv_unique_id"],
            cardinality=row["dv_cardinality"],
            size_in_bytes=row["dv_size_in_bytes"],
        )
    return FileLine.of(
        row, path=row["raw_path"], partition_values=row["partition_values"] or {}, deletion_vector=vector
    )


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """Yield the rows of Arrow batches."""
    for batch in batches:
        yield from records(pa.Table.from_batches([batch]))


def _partition(values: dict[str, str | None] | None) -> str:
    return ", ".join(f"{name}={fmt.value_text(value)}" for name, value in (values or {}).items())


def _bound(value: object) -> str:
    return fmt.UNKNOWN if value is None else fmt.value_text(value, 40)
