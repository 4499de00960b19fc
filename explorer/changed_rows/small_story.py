"""The story of a row of a small table, read in this process where that gives what Spark gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from explorer.changed_rows.comparable import comparable_values
from explorer.changed_rows.followed_range import Epoch, FollowedRange
from explorer.changed_rows.part_rows import check_budget
from explorer.changed_rows.parts import SourcePart
from explorer.changed_rows.row_story import RowStory, row_story
from explorer.changed_rows.small_differences import side_rows
from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.arrow.arrow_types import json_variant_schema
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.first_rows.file_rows import NotReadHere, PageMemory
from explorer.first_rows.first_rows import SparkOnly

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

MOST_ROWS: Final = 250_000
"""Rows of the files that may hold the row: of each, the key is compared."""
_FILE: Final = "__explorer_story_file"
_ROW: Final = "__explorer_story_row"


def small_story(log: DeltaLog, followed: FollowedRange) -> RowStory | SparkOnly:
    """Return the story of a row, or why Spark must read it.

    Args:
        log: The table's log.
        followed: The range, and by what the row is followed.

    Raises:
        StorageError: A file is missing, or the store does not answer.
        CorruptTable: A file's size, a partition value or a deletion vector contradicts the log.
        UnsupportedFeature, NotAllowed: The location of a file cannot be read.
    """
    memory, parts = PageMemory(), []
    try:
        check_budget(_each_once(all_rows_of(followed.may_hold)), MOST_ROWS)
        parts = [_rows(log, followed, epoch, memory) for epoch in followed.epochs]
    except NotReadHere as error:
        return SparkOnly(error.reason)
    kinds = [*json_variant_schema(followed.schema), pa.field(_FILE, pa.string()), pa.field(_ROW, pa.int64())]
    schema = pa.schema(kinds)
    none = pa.Table.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
    rows = pa.concat_tables([none, *(pa.Table.from_arrays(part, schema=schema) for part in parts)])
    read = len(set(followed.may_hold.column("path").to_pylist()))
    return row_story(log.store, followed, rows, files_read=read, by_spark=False)


def _rows(log: DeltaLog, followed: FollowedRange, epoch: Epoch, memory: PageMemory) -> list[Any]:
    """The rows of the key in some files: columns, file, place."""
    sources = _each_once(all_rows_of(epoch.files))
    paths, none = sources.column("path").to_pylist(), np.empty(0, np.uint64)
    parts = [SourcePart(place, None, none, inside=False) for place in range(len(paths))]
    side = epoch.side
    schema = followed.schema
    fields = tuple(field for field in side.schema.fields if schema.field(field.name) is not None)
    names = {field.name for field in fields}
    partitions = tuple(name for name in side.partition_columns if name in names)
    narrowed = type(side)(side.version, StructType(fields), side.by_id, partitions)
    more = [StructField(name, PrimitiveType("long")) for name in [followed.row_id_column] if name is not None]
    rows = side_rows(log, narrowed, schema, sources, parts, memory=memory, more=more, most_rows=MOST_ROWS)
    if followed.row_id is not None:
        chosen = [id_ == followed.row_id for id_ in rows.row_ids(sources.column("base_row_id").to_pylist())]
    else:
        chosen = _of_key(schema, rows.columns, rows.rows, followed.key)
    taken = int64s(np.flatnonzero(np.array(chosen, bool)))
    files = strings([paths[rows.places[row][0]] for row in taken.to_pylist()])
    places = [rows.places[row][1] for row in taken.to_pylist()]
    return [*(column.take(taken) for column in rows.columns), files, int64s(places)]


def _of_key(schema: StructType, columns: list[Any], rows: int, key: Mapping[str, Any]) -> list[bool]:
    chosen = [True] * rows
    for place, field in enumerate(schema.fields):
        if field.name in key:
            column = columns[place]
            wanted = comparable_values(pa.array([key[field.name]], column.type))[0]
            same = (value == wanted for value in comparable_values(column))
            chosen = [was and now for was, now in zip(chosen, same, strict=True)]
    return chosen


def _each_once(sources: pa.Table) -> pa.Table:
    """The sources without those of a file that comes again, with another vector."""
    last = {path: place for place, path in enumerate(sources.column("path").to_pylist())}
    return sources.take(int64s(sorted(last.values())))


def all_rows_of(files: pa.Table, version: int | None = None) -> pa.Table:
    """Return files as sources, all of whose rows are read.

    Args:
        files: Columns of `explorer.core.protocol.logical_files.SCHEMA`, and ``last`` where no version is given.
        version: The version that needs them.
    """
    rows = files.num_rows
    versions = files.column("last") if version is None else int64s([version] * rows)
    return (
        files.append_column("version", versions)
        .append_column("kind", strings(["insert"] * rows))
        .append_column("before_dv_cardinality", pa.nulls(rows, pa.int64()))
    )
