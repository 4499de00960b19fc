"""Which versions had the rows of a key, and with what values.

Every file that was live at a version of the range and that may hold the key, by its statistics, is read once; the
lifetimes of the file and of its deletion vectors, not a scan of each version, then give the versions in which a row
that matches was visible. Invariants: columns are those of the last version of the range, matched as
`explorer.core.versions.column_matching` says; a column that some file cannot give is left out and named; keys and
values are the same as `explorer.spark.changes.comparable` says; the driver holds at most `MAX_ROWS` rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import VOID, PrimitiveType, StructType, format_column, type_name
from explorer.core.versions.column_matching import ComparedSide, UncomparedColumn, compare_columns
from explorer.core.versions.key_files import KeyFiles, key_condition, live_between
from explorer.data_files.column_sources import case_collides
from explorer.job import Job
from explorer.spark.changes.comparable import by_place, comparable
from explorer.spark.changes.source_rows import FilePart, SourceRows, failure_of_reads, source_rows
from explorer.spark.engine.expressions import joined
from explorer.spark.engine.job import submit
from explorer.spark.rows.row_key import checked_key, literal
from explorer.spark.rows.version_spans import row_spans
from explorer.spark.scan.layout import layout_of_schema
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["MAX_ROWS", "RowHistory", "key_history", "row_history"]

MAX_ROWS: Final = 10_000
"""Rows of all files together that a key may have; values with more rows are not a key."""

_FILE: Final = "__explorer_history_file"
_ROW: Final = "__explorer_history_row"


@dataclass(frozen=True, slots=True)
class RowHistory:
    """The rows of a key over a range of versions.

    Attributes:
        key: The key: column names and values.
        from_version, to_version: The range, both inclusive.
        spans: One row for each time in which there was a row of certain values: ``from_version``, ``to_version`` (both
            inclusive), ``copies`` (such rows), ``row`` (a struct of the columns of the last version; variants as JSON
            text). Ascending by ``from_version``. A version in no span had no row of the key.
        left_out: Columns that could not be shown over the whole range, and why.
        files_read: Files that were read.
        files_total: Files that were live at a version of the range.
    """

    key: dict[str, Any]
    from_version: int
    to_version: int
    spans: pa.Table
    left_out: tuple[UncomparedColumn, ...]
    files_read: int
    files_total: int

    def __repr__(self) -> str:
        versions = f"versions {self.from_version} to {self.to_version}"
        return f"RowHistory(key={list(self.key)}, {versions}, {self.spans.num_rows} spans)"


@dataclass(frozen=True, slots=True)
class _Epoch:
    """Files that are read in one way, columns as of `live_between`."""

    side: ComparedSide
    files: pa.Table


def row_history(
    log: DeltaLog, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
) -> RowHistory:
    """Follow the rows of a key.

    Args:
        key: Values by column name, names of ``to_version``; None is null. Types are those that PyArrow has for the
            columns: int, str, Decimal, date, datetime (with a zone for ``timestamp``), float, bool, bytes.
        from_version: The first version; None is the oldest that can be read.
        to_version: The last version; None is the newest.

    Raises:
        RequestError: The key names no column or one that cannot be a key, a value does not fit its column, the key has
            more than `MAX_ROWS` rows, or the range runs backwards.
        VersionNotFound: A version cannot be read.
        StorageError, CorruptTable, UnsupportedFeature: As of `explorer.spark.scan.scan.rows`.
        EngineUnavailable: Spark or Java is missing.
    """
    first = log.version_range()[0] if from_version is None else from_version
    last = log.latest_version() if to_version is None else to_version
    if first > last:
        raise RequestError(f"The range {first} to {last} runs backwards. Give the earlier version first.")
    shown = log.snapshot(last)
    values = checked_key(key, shown)
    files = live_between(log.history_record().lifetimes, first, last)
    epochs, left_out = _epochs(log, files, first, shown)
    schema = _common_schema(shown, epochs, left_out)
    _check_followed(key, schema, left_out, first, last)
    epochs = _that_may_hold(log, epochs, values, shown, first)
    rows, read = _rows(log, epochs, schema, values)
    if rows.num_rows > MAX_ROWS:
        raise RequestError(
            f"More than {MAX_ROWS:,} rows of the files of versions {first} to {last} have these values: they are not a "
            "key. Add columns to the key, or take a shorter range.",
            columns=list(key),
        )
    read_from = [epoch.files for epoch in epochs] or [files.slice(0, 0)]
    given = {format_column((field.name,)) for field in schema.fields}
    left_out = [column for column in left_out if column.version != last or column.column not in given]
    spans = row_spans(log.store, pa.concat_tables(read_from), rows)
    total = len(set(files.column("path").to_pylist()))
    return RowHistory(dict(key), first, last, spans, tuple(left_out), read, total)


def key_history(
    log: DeltaLog, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
) -> Job[RowHistory]:
    """Follow the rows of a key over a range of versions, as a job; arguments and errors as of `row_history`."""

    def work(job: Job[RowHistory]) -> RowHistory:
        job.report("Reading the files that may hold the key")
        return row_history(log, key, from_version, to_version)

    return submit(f"History of a row of {log.name}", work)


def _epochs(log: DeltaLog, files: pa.Table, first: int, shown: Snapshot) -> tuple[list[_Epoch], list[UncomparedColumn]]:
    """Group files by the schema under which they were last live; also return columns that some of these lack."""
    history = log.history_record()
    starts = history.layout_changes(first, shown.version)
    ends = [start - 1 for start in starts[1:]] + [shown.version]
    lasts = files.column("last").to_pylist()
    epochs: list[_Epoch] = []
    left_out: dict[tuple[str, int], UncomparedColumn] = {}
    for start, end in zip(starts, ends, strict=True):
        chosen = files.filter(pa.array([start <= last <= end for last in lasts], pa.bool_()))
        then = shown if end == shown.version else log.snapshot(start)
        compared = compare_columns(history, then, shown)
        for column in compared.left_out:
            left_out.setdefault((column.column, column.version), column)
        if not chosen.num_rows:
            continue
        side = msgspec.structs.replace(compared.before, version=shown.version)
        same_side = next((place for place, epoch in enumerate(epochs) if epoch.side == side), None)
        if same_side is None:
            epochs.append(_Epoch(side, chosen))
        else:
            epochs[same_side] = _Epoch(side, pa.concat_tables([epochs[same_side].files, chosen]))
    return epochs, list(left_out.values())


def _common_schema(shown: Snapshot, epochs: Sequence[_Epoch], left_out: list[UncomparedColumn]) -> StructType:
    """Return the columns of the last version that all files have; add to ``left_out`` those that narrowed."""
    common = []
    for field in shown.schema.fields:
        kinds = [there.type for epoch in epochs if (there := epoch.side.schema.field(field.name)) is not None]
        wider = next((kind for kind in kinds if kind != VOID and type_name(kind) != type_name(field.type)), None)
        if wider is not None:
            reason = f"it was {type_name(wider)}, which holds more than its {type_name(field.type)}"
            left_out.append(UncomparedColumn(format_column((field.name,)), shown.version, reason))
        elif len(kinds) == len(epochs):
            common.append(field)
    return StructType(tuple(common))


def _check_followed(
    key: Mapping[str, Any], schema: StructType, left_out: Sequence[UncomparedColumn], first: int, last: int
) -> None:
    for name in key:
        if schema.field(name) is None:
            reason = next((c.reason for c in left_out if c.column == format_column((name,))), "not in all of them")
            raise RequestError(
                f"The key column {name!r} cannot be followed from version {first} to {last}: {reason}. Take a shorter "
                "range.",
                column=name,
            )


def _that_may_hold(
    log: DeltaLog, epochs: list[_Epoch], values: dict[str, Any], shown: Snapshot, first: int
) -> list[_Epoch]:
    """Return the epochs with only those files that may hold the key."""
    # A timestamp as a partition value depends on a zone; statistics and all other values do not.
    zoned = {field.name for field in shown.schema.fields if field.type == PrimitiveType("timestamp")}
    where = key_condition({name: value for name, value in values.items() if name not in zoned})
    if where is None:
        return epochs
    known = KeyFiles(log.snapshot(first).file_columns, first, log.commits(first + 1, shown.version))
    by_partition = len({epoch.side.partition_columns for epoch in epochs}) <= 1
    candidates = [
        replace(epoch, files=known.candidates(epoch.files, epoch.side, where, by_partition=by_partition))
        for epoch in epochs
    ]
    return [epoch for epoch in candidates if epoch.files.num_rows]


def _rows(
    log: DeltaLog, epochs: Sequence[_Epoch], schema: StructType, values: Mapping[str, Any]
) -> tuple[pa.Table, int]:
    """Return the rows of the key in all files: columns, file, row index; and how many files were read."""
    names = [field.name for field in schema.fields] + [_FILE, _ROW]
    if not epochs:
        kinds = [field.type for field in arrow_schema(schema)] + [pa.string(), pa.int64()]
        return pa.Table.from_arrays([pa.array([], kind) for kind in kinds], names=names), 0
    collides = any(case_collides(epoch.side.schema) for epoch in epochs)
    reads = [_read(log, epoch, schema, collides=collides) for epoch in epochs]
    frames = [by_place(read.frame, schema, keep=2).where(_condition(schema, values)) for read in reads]
    reading = Reading(reduce(DataFrame.union, frames), lambda error: failure_of_reads(reads, error))
    read = {address.metadata_path for part in reads for address in part.addresses}
    return to_arrow(reading, MAX_ROWS + 1, readable=True).rename_columns(names), len(read)


def _read(log: DeltaLog, epoch: _Epoch, schema: StructType, *, collides: bool) -> SourceRows:
    fields = tuple(field for field in epoch.side.schema.fields if schema.field(field.name) is not None)
    partitions = tuple(name for name in epoch.side.partition_columns if schema.field(name) is not None)
    layout = layout_of_schema(StructType(fields), partitions, epoch.side.version, by_id=epoch.side.by_id)
    sources = epoch.files.append_column("version", epoch.files.column("last"))
    parts = {path: place for place, path in enumerate(sources.column("path").to_pylist())}
    chosen = [FilePart(place, None, None, inside=False) for place in parts.values()]
    zone = log.snapshot(epoch.side.version).time_zone
    return source_rows(log, replace(layout, case_sensitive=collides, zone=zone, marks=_places()), sources, chosen)


def _condition(schema: StructType, values: Mapping[str, Any]) -> Column:
    places = {field.name: (f"c{place}", field.type) for place, field in enumerate(schema.fields)}
    same = []
    for name, value in values.items():
        column, kind = places[name]
        # Of floats the comparable form: Parquet's own filters, which see a bare column, distinguish the two zeros.
        stored, wanted = (comparable(side, kind) for side in (sf.col(column), literal(value, kind)))
        same.append(stored.eqNullSafe(wanted))
    return joined(same, Column.__and__)


def _places() -> RowMarks:
    """Return marks with the place of a row: its file, as the log has it, and its index there."""
    given = {_FILE: ("string", lambda _: sf.col(_FILE)), _ROW: ("long", lambda row_index: row_index)}
    return RowMarks(given, {_FILE: (st.StringType(), lambda files: files.column("path"))})
