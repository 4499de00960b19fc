"""The rows of parts of files, read in this process within a budget.

Invariants: what the log says of the cost is looked at before a file is opened; a part is read whole or not at all; a
file that is missing, or of another size than the log records, is an error that names it and its version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.changed_rows.comparable import MOST_VALUES, value_count
from explorer.changed_rows.parts import SourcePart
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.arrow.arrow_types import json_variant_schema
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.schema.data_types import StructField
from explorer.core.protocol.schema.nested_types import holds
from explorer.core.versions.change_feed.sources import read_estimate
from explorer.data_files.column_sources import ColumnSources
from explorer.data_files.partition_columns import partition_columns
from explorer.first_rows.file_rows import FileRows, NotReadHere, PageMemory, read_rows_from
from explorer.first_rows.live_files import LiveFile, MaskedRows, read_side_by_side
from explorer.first_rows.logical_columns import logical_columns
from explorer.first_rows.shapes import shapes_of, unread_table

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

MOST_FILES: Final = 128
"""Files that are opened for one answer."""
MOST_BYTES: Final = 32 << 20
"""Bytes of these files by the log."""
MOST_ROWS: Final = 10_000
"""Rows that are compared, as Python compares them one by one."""
MOST_MASKED: Final = 1 << 22
"""Rows that deletion vectors mask, of eight bytes each."""


@dataclass(frozen=True, slots=True)
class PartRows:
    """The rows of a part.

    Attributes:
        part: Which rows these are.
        columns: The table's columns.
        more: The other columns that were to be read from the file.
        places: Where each row is in the file.
    """

    part: SourcePart
    columns: list[Any]
    more: list[Any]
    places: npt.NDArray[np.int64]


def rows_schema(columns: ColumnSources) -> pa.Schema:
    """Return the names and types of the rows' columns."""
    return json_variant_schema(columns.schema)


def check_budget(files: pa.Table, most_rows: int = MOST_ROWS) -> None:
    """Check by the log that sources cost little.

    Args:
        files: Sources, columns as in `explorer.core.versions.change_feed.feed.ChangeSources`.
        most_rows: Rows at most.

    Raises:
        NotReadHere: They do not.
    """
    estimate = read_estimate(files)
    if estimate.files > MOST_FILES:
        raise NotReadHere(f"the rows are in more than {MOST_FILES} files")
    if estimate.bytes is not None and estimate.bytes > MOST_BYTES:
        raise NotReadHere(f"the files have more than {MOST_BYTES >> 20} MB")
    names = ("kind", "num_records", "dv_cardinality", "before_dv_cardinality")
    rows = masked = 0
    for kind, records, hidden, before in zip(*(files.column(name).to_pylist() for name in names), strict=True):
        masked += (hidden or 0) + (before or 0)
        rows += abs((hidden or 0) - (before or 0)) if kind == "difference" else (records or 0) - (hidden or 0)
    if rows > most_rows:
        raise NotReadHere(_too_many(most_rows))
    if masked > MOST_MASKED:
        raise NotReadHere(f"the deletion vectors mask more than {MOST_MASKED:,} rows")


def read_parts(
    log: DeltaLog,
    columns: ColumnSources,
    files: pa.Table,
    parts: Sequence[SourcePart],
    memory: PageMemory,
    *,
    more: Sequence[StructField] = (),
    most_rows: int = MOST_ROWS,
) -> list[PartRows]:
    """Read the rows of some parts of files, all of which have the same columns.

    Args:
        log: The table's log.
        columns: How to read the table's columns.
        files: Sources, columns as in `explorer.core.versions.change_feed.feed.ChangeSources`.
        parts: Which of their rows.
        memory: What all rows of one answer may take.
        more: Other columns to read from the files, by their names there.
        most_rows: Rows at most.

    Raises:
        StorageError: A file is missing, or the store does not answer.
        CorruptTable: A file's size or a partition value contradicts the log.
        UnsupportedFeature, NotAllowed: The location of a file cannot be read.
        NotReadHere: Spark must read them.
    """
    reason = unread_table(columns) or _variants(columns)
    taken = {field.physical_name.lower() for field in columns.schema.fields}
    if reason is not None:
        raise NotReadHere(reason)
    if any(field.name.lower() in taken for field in more):
        raise NotReadHere("files hold a column of the table under a name that the protocol uses")
    live = _live_files(log, files, parts)
    chosen = files.take(int64s([part.source for part in parts]))
    values = partition_columns(columns, chosen)
    fields = [*columns.stored, *more]
    shapes = shapes_of(fields, by_id=columns.by_id)

    def read(number: int, _: Callable[[], MaskedRows]) -> FileRows:
        part = parts[number]
        return read_rows_from(
            live[number],
            0,
            lambda: part.places,
            columns=fields,
            shapes=shapes,
            limit=most_rows + 1,
            memory=memory,
            inside=part.inside,
        )

    # The places of the parts stand where the vectors of the files do elsewhere.
    files_read = read_side_by_side(live, read, masked=True)
    if sum(len(each.places) for each in files_read) > most_rows:
        raise NotReadHere(_too_many(most_rows))
    schema, own = rows_schema(columns), len(columns.stored)
    rows = []
    for number, (part, read_rows) in enumerate(zip(parts, files_read, strict=True)):
        of_file = {name: array[number] for name, array in values.items()}
        given = logical_columns(columns, schema, read_rows.columns[:own], of_file, len(read_rows.places))
        rows.append(PartRows(part, given, read_rows.columns[own:], read_rows.places))
    return rows


def _variants(columns: ColumnSources) -> str | None:
    """Return why rows with variants are left to Spark: the same text may be of values of two types."""
    names = (field.name for field in columns.schema.fields if holds(field.type, "variant"))
    return next((f"the column {name} holds variants" for name in names), None)


def _live_files(log: DeltaLog, files: pa.Table, parts: Sequence[SourcePart]) -> list[LiveFile]:
    locations = FileLocations(log.store)
    raw_paths, paths, sizes, versions = (
        files.column(name).to_pylist() for name in ("raw_path", "path", "size", "version")
    )
    chunks = []
    for part in parts:
        store, key = locations.place_of(paths[part.source])
        raw_path, size, version = (each[part.source] for each in (raw_paths, sizes, versions))
        chunks.append(LiveFile(store, key, raw_path, size, version, None, log.store))
    return chunks


def check_values(columns: Sequence[Any]) -> None:
    """Check that columns have few enough values to be compared here.

    Raises:
        NotReadHere: They have too many.
    """
    if sum(map(value_count, columns)) > MOST_VALUES:
        raise NotReadHere(f"there are more than {MOST_VALUES:,} values to compare")


def _too_many(most: int) -> str:
    return f"there are more than {most:,} rows to compare"
