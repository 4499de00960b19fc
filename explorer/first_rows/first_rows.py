"""A page of a version's rows, read in this process where that costs little and gives what Spark gives.

Protocol sections: Deletion Vectors, Column Mapping, Partition Value Serialization. Invariants: every live row is on
exactly one page, whatever the size of a page and whoever reads it; no file before the one that a page begins in is
read; what is not read here is said with its reason, never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import CorruptTable, RequestError, UnsupportedFeature
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.arrow.arrow_types import json_variant_schema
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.data_files.column_sources import ColumnSources, column_sources
from explorer.data_files.partition_columns import partition_columns
from explorer.first_rows.file_rows import LiveFile, NotReadHere, PageMemory, in_parallel, read_rows_from
from explorer.first_rows.logical_columns import logical_columns
from explorer.first_rows.row_page import RowPage, RowPosition, files_holding, page_of
from explorer.first_rows.shapes import shapes_of, unread_table

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["MOST_FILES", "MOST_ROWS", "SparkOnly", "first_rows", "head"]

MOST_FILES: Final = 128
"""Files that are opened for a page."""
MOST_ROWS: Final = 10_000
"""Rows of a page."""
MOST_MASKED: Final = 1 << 22
"""Rows that the deletion vectors of these files mask, of eight bytes each."""
_GROWTH: Final = 4
_FILE: Final = "__explorer_file"
_PLACE: Final = "__explorer_place"


@dataclass(frozen=True, slots=True)
class SparkOnly:
    """Spark must read a page, and why, for people."""

    reason: str


def head(log: DeltaLog, snapshot: Snapshot, limit: int) -> RowPage:
    """Return the first live rows of a version.

    Args:
        log: The table's log.
        snapshot: The version.
        limit: Rows at most.

    Raises:
        RequestError: ``limit`` is negative.
        UnsupportedFeature: Only Spark reads them; the message says why.
        StorageError, CorruptTable: As for `first_rows`.
    """
    if limit < 0:
        raise RequestError(f"The number of rows is {limit}; give 0 or more.", field="limit")
    page = first_rows(log, snapshot, None, limit)
    if isinstance(page, SparkOnly):
        raise UnsupportedFeature(
            f"The first rows of version {snapshot.version} are not read without Spark, as {page.reason}. Read them "
            "with Spark: Table.rows in Python, delta-explorer rows on the command line.",
            features=[],
            operation="read rows without Spark",
            version=snapshot.version,
        )
    return page


def first_rows(
    log: DeltaLog,
    snapshot: Snapshot,
    begin: RowPosition | None = None,
    limit: int = 100,
    *,
    masked: bool = False,
) -> RowPage | SparkOnly:
    """Return a page of rows, or why Spark must read it.

    Args:
        log: The table's log.
        snapshot: The version.
        begin: Where to begin; None begins with the first row.
        limit: Rows at most.
        masked: Give masked rows too, marked.

    Raises:
        StorageError: A data file is missing, or the store does not answer.
        CorruptTable: A data file's size, a partition value or a deletion vector contradicts the log.
        UnsupportedFeature, NotAllowed: The location of a file cannot be read.
        LimitExceeded: The footer of a file is too large.
    """
    columns = column_sources(snapshot)
    reason = f"more than {MOST_ROWS:,} rows are asked for" if limit > MOST_ROWS else unread_table(columns)
    if reason is not None:
        return SparkOnly(reason)
    try:
        return _Reading(log, snapshot, columns, begin or RowPosition(), limit, masked).page()
    except NotReadHere as error:
        return SparkOnly(error.reason)


@dataclass(frozen=True, slots=True)
class _Reading:
    log: DeltaLog
    snapshot: Snapshot
    columns: ColumnSources
    begin: RowPosition
    limit: int
    masked: bool

    def page(self) -> RowPage:
        all_files = self.snapshot.logical_files
        files = all_files.slice(self.begin.file)
        check_listed_once(files, self.snapshot.version)
        memory = PageMemory()
        # No more files are opened than these, so that the others need not be counted.
        nearest = files.slice(0, MOST_FILES + 1)
        first, count = 0, max(1, files_holding(nearest, self.begin.row + self.limit + 1, masked=self.masked))
        parts, rows = [self._no_rows()], 0
        while first < files.num_rows and rows <= self.limit:
            end = min(first + count, files.num_rows)
            if end > MOST_FILES:
                raise NotReadHere(f"the rows are in more than {MOST_FILES} files")
            if (pc.sum(files.column("dv_cardinality").slice(0, end)).as_py() or 0) > MOST_MASKED:
                raise NotReadHere(f"the deletion vectors mask more than {MOST_MASKED:,} rows")
            # One row more than wanted shows where the next page begins.
            part, number = files.slice(first, end - first), self.begin.file + first
            parts += self._read(part, number, self.limit + 1 - rows, memory)
            rows = sum(part.num_rows for part in parts)
            first, count = end, count * _GROWTH
        table = pa.concat_tables(parts)
        return page_of(self.snapshot, table, self.begin, self.limit, files_read=first, by_spark=False)

    def _read(self, files: pa.Table, number: int, limit: int, memory: PageMemory) -> list[pa.Table]:
        """The rows of some files, one table each, of which the last ones may not be needed."""
        live = self._live_files(files)
        values = partition_columns(self.columns, files)
        starts = [self.begin.row if number + place == self.begin.file else 0 for place in range(len(live))]
        stored = self.columns.stored
        shapes = shapes_of(stored, by_id=self.columns.by_id)
        read = partial(read_rows_from, columns=stored, shapes=shapes, limit=limit, memory=memory)
        found = in_parallel(lambda place: read(live[place], start=starts[place]), range(len(live)))
        schema = self._schema()
        return [
            self._table(schema, arrays, places, {name: array[place] for name, array in values.items()}, number + place)
            for place, (arrays, places) in enumerate(found)
        ]

    def _live_files(self, files: pa.Table) -> list[LiveFile]:
        locations, version = FileLocations(self.log.store), self.snapshot.version
        none = np.empty(0, np.uint64)
        listed = zip(
            *(files.column(name).to_pylist() for name in ("raw_path", "path", "size")),
            vector_descriptors(files),
            strict=True,
        )
        found = []
        for raw_path, path, size, vector in listed:
            store, key = locations.place_of(path)
            hidden = vector is None or self.masked
            masked = none if hidden else read_rows(self.log.store, vector, raw_path, version)
            found.append(LiveFile(store, key, raw_path, size, version, masked))
        return found

    def _table(
        self,
        schema: pa.Schema,
        arrays: Sequence[Any],
        places: npt.NDArray[np.int64],
        values: dict[str, Any],
        number: int,
    ) -> pa.Table:
        given = logical_columns(self.columns, schema, arrays, values, len(places))
        marks = [int64s(np.full(len(places), number, np.int64)), int64s(places)]
        return pa.table([*given, *marks], schema=schema)

    def _schema(self) -> pa.Schema:
        marks = [pa.field(name, pa.int64()) for name in (_FILE, _PLACE)]
        return pa.schema([*json_variant_schema(self.columns.schema), *marks])

    def _no_rows(self) -> pa.Table:
        schema = self._schema()
        return pa.Table.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)


def check_listed_once(files: pa.Table, version: int) -> None:
    """Check that no file is listed twice: readers would give its rows once or several times.

    Raises:
        CorruptTable: One is.
    """
    paths = files.column("path")
    if pc.count_distinct(paths).as_py() == len(paths):
        return
    path = next(each["values"] for each in pc.value_counts(paths).to_pylist() if each["counts"] > 1)
    raise CorruptTable(
        f"The file {path} is listed more than once at version {version}, so that readers give its rows once or several "
        "times. A checkpoint is broken: run verify to find it, and restore it, or the commits before it.",
        path=path,
        version=version,
    )
