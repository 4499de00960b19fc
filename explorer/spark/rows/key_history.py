"""Which versions had the rows of a key, and with what values.

Every file that was live at a version of the range and that may hold the key, by its statistics, is read once; the
lifetimes of the file and of its deletion vectors, not a scan of each version, then give the versions in which a row
that matches was visible. Invariants: columns are those of the last version of the range, matched as
`explorer.core.versions.column_matching` says; a column that some file cannot give is left out and named; keys and
values are the same as `explorer.spark.changes.comparable` says; the driver holds at most `MAX_ROWS` rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.changed_rows.followed_range import Epoch, FollowedRange, followed_range
from explorer.changed_rows.row_story import RowStory, row_story
from explorer.changed_rows.version_spans import row_spans
from explorer.core.errors import RequestError
from explorer.core.protocol.arrow.arrow_types import arrow_schema
from explorer.core.protocol.schema.data_types import DataType, StructType
from explorer.core.versions.column_matching import UncomparedColumn
from explorer.data_files.column_sources import case_collides
from explorer.job import Job
from explorer.spark.changes.comparable import by_place, comparable
from explorer.spark.changes.source_rows import FilePart, SourceRows, failure_of_reads, source_rows
from explorer.spark.engine.expressions import joined
from explorer.spark.engine.job import submit
from explorer.spark.scan.layout import layout_of_schema
from explorer.spark.scan.physical import spark_type
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.row_marks import RowMarks

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

MAX_ROWS: Final = 10_000
"""Rows of all files together that a key may have; values with more rows are not a key."""

_FILE: Final = "__explorer_history_file"
_ROW: Final = "__explorer_history_row"
_ID: Final = "__explorer_history_id"
_BASE: Final = "__explorer_history_base"


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
    followed = followed_range(log, key, from_version, to_version)
    rows, read = rows_followed(log, followed)
    spans = row_spans(log.store, followed.may_hold, rows)
    first, last, left_out = followed.first, followed.last, followed.left_out
    return RowHistory(dict(key), first, last, spans, left_out, read, followed.files_total)


def key_history(
    log: DeltaLog, key: Mapping[str, Any], from_version: int | None = None, to_version: int | None = None
) -> Job[RowHistory]:
    """Follow the rows of a key over a range of versions, as a job; arguments and errors as of `row_history`."""

    def work(job: Job[RowHistory]) -> RowHistory:
        job.report("Reading the files that may hold the key")
        return row_history(log, key, from_version, to_version)

    return submit(f"History of a row of {log.name}", work)


def story_job(log: DeltaLog, followed: FollowedRange, reason: str = "") -> Job[RowStory]:
    """Follow a row through every version of a range, as a job.

    Args:
        log: The table's log.
        followed: The range, and by what the row is followed.
        reason: Why Spark must read it.

    Returns:
        A job; its errors are those of `rows_followed`, and Cancelled.
    """

    def work(job: Job[RowStory]) -> RowStory:
        job.report("Reading the files that may hold the row")
        rows, read = rows_followed(log, followed)
        return row_story(log.store, followed, rows, files_read=read, by_spark=True, reason=reason)

    return submit(f"Story of a row of {log.name}", work)


def rows_followed(log: DeltaLog, followed: FollowedRange) -> tuple[pa.Table, int]:
    """Return the rows that are followed in all files: columns, file, row index; and how many files were read.

    Raises:
        RequestError: There are more than `MAX_ROWS`.
        StorageError, CorruptTable, UnsupportedFeature: As of `explorer.spark.scan.scan.rows`.
    """
    rows, read = _rows(log, followed)
    if rows.num_rows > MAX_ROWS:
        raise RequestError(
            f"More than {MAX_ROWS:,} rows of the files of versions {followed.first} to {followed.last} have these "
            "values: they are not a key. Add columns to the key, or take a shorter range.",
            columns=list(followed.key),
        )
    return rows, read


def _rows(log: DeltaLog, followed: FollowedRange) -> tuple[pa.Table, int]:
    schema, epochs = followed.schema, followed.epochs
    names = [field.name for field in schema.fields] + [_FILE, _ROW]
    if not epochs:
        kinds = [field.type for field in arrow_schema(schema)] + [pa.string(), pa.int64()]
        return pa.Table.from_arrays([pa.array([], kind) for kind in kinds], names=names), 0
    collides = any(case_collides(epoch.side.schema) for epoch in epochs)
    reads = [_read(log, epoch, followed, collides=collides) for epoch in epochs]
    frames = [by_place(read.frame, schema, keep=3).where(_condition(followed)).drop(_ID) for read in reads]
    reading = Reading(reduce(DataFrame.union, frames), lambda error: failure_of_reads(reads, error))
    read = {address.metadata_path for part in reads for address in part.addresses}
    return to_arrow(reading, MAX_ROWS + 1, readable=True).rename_columns(names), len(read)


def _read(log: DeltaLog, epoch: Epoch, followed: FollowedRange, *, collides: bool) -> SourceRows:
    schema = followed.schema
    fields = tuple(field for field in epoch.side.schema.fields if schema.field(field.name) is not None)
    partitions = tuple(name for name in epoch.side.partition_columns if schema.field(name) is not None)
    layout = layout_of_schema(StructType(fields), partitions, epoch.side.version, by_id=epoch.side.by_id)
    sources = epoch.files.append_column("version", epoch.files.column("last"))
    parts = {path: place for place, path in enumerate(sources.column("path").to_pylist())}
    chosen = [FilePart(place, None, None, inside=False) for place in parts.values()]
    zone = log.snapshot(epoch.side.version).time_zone
    return source_rows(
        log, replace(layout, case_sensitive=collides, zone=zone, marks=_places(followed.row_id_column)), sources, chosen
    )


def _condition(followed: FollowedRange) -> Column:
    if followed.row_id is not None:
        return sf.col(_ID).eqNullSafe(sf.lit(followed.row_id))
    places = {field.name: (f"c{place}", field.type) for place, field in enumerate(followed.schema.fields)}
    same = []
    for name, value in followed.key.items():
        column, kind = places[name]
        # Of floats the comparable form: Parquet's own filters, which see a bare column, distinguish the two zeros.
        stored, wanted = (comparable(side, kind) for side in (sf.col(column), _literal(value, kind)))
        same.append(stored.eqNullSafe(wanted))
    return joined(same, Column.__and__)


def _places(row_ids: str | None) -> RowMarks:
    """Return marks with the place of a row: its file, as the log has it, and its index there; and its ID, or null."""
    given: dict[str, tuple[str, Callable[[Column], Column]]] = {
        _FILE: ("string", lambda _: sf.col(_FILE)),
        _ROW: ("long", lambda row_index: row_index),
        _ID: ("long", lambda _: sf.lit(None).cast("long")),
    }
    known: dict[str, tuple[st.DataType, Callable[[pa.Table], Any]]] = {
        _FILE: (st.StringType(), lambda files: files.column("path"))
    }
    if row_ids is None:
        return RowMarks(given, known)
    given[_ID] = ("long", lambda row_index: sf.coalesce(sf.col(_ID), sf.col(_BASE) + row_index))
    known[_BASE] = (st.LongType(), lambda files: files.column("base_row_id"))
    return RowMarks(given, known, {_ID: (row_ids, st.LongType())})


def _literal(value: Any, kind: DataType) -> Column:
    """Return the value as a constant of a primitive type."""
    match value:
        case bytes():
            return sf.unhex(sf.lit(value.hex()))
        case None | bool() | int() | float() | str():
            constant = sf.lit(value)
        case datetime():
            constant = sf.lit(value.isoformat(" "))
        case _:
            # A decimal or a date: its text is exact, where a Java object might bring a scale or a zone of its own.
            constant = sf.lit(str(value))
    return constant.cast(spark_type(kind))
