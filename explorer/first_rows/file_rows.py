"""Rows of one data file from a place on: no more pages of it are fetched and decoded than hold them.

Format: Apache Parquet. Invariants: no page is decoded before what it becomes was measured; of a remote file the
beginnings of all column chunks are fetched at once; a file that is missing or of another size than the log records is
an error that names it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import CorruptTable, StorageError
from explorer.core.protocol.arrow.arrays import int64s
from explorer.core.protocol.arrow.chunk_sizes import Chunk, chunk_of
from explorer.core.protocol.arrow.open_parquet import OpenFile
from explorer.core.protocol.arrow.rows_at_once import ChunkRows, chunk_rows, rows_at_once
from explorer.core.protocol.file_locations import next_step_for_missing, sizeless
from explorer.core.protocol.log_store import LogStore
from explorer.data_files.arrow_columns import Shape, check_field_ids, column_of, stored_names
from explorer.data_files.column_sources import ColumnSources
from explorer.data_files.measured_batches import held_parts, spans_of
from explorer.first_rows.shapes import shapes_of, unread_file

__all__ = ["LiveFile", "NotReadHere", "missing_file", "read_rows_from", "wrong_size"]

MOST_BYTES: Final = 64 << 20
"""Bytes that the rows of a page may take of one file, decoded."""
# Of so many bytes at the start of a column chunk, most pages with the first hundred rows are part.
_BEGINNING: Final = 1 << 18
_BUFFER: Final = 1 << 16
_MOST_ROWS: Final = 1 << 16
# Bytes that the lists of a file may become for each byte of it, and at most.
_LIST_RATIO: Final = 8
_MOST_LIST_BYTES: Final = 1 << 30


class NotReadHere(Exception):
    """Only Spark reads a file, or it takes more than is read here.

    Args:
        reason: Why, for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of a version.

    Attributes:
        store, key: Where it is.
        raw_path: Its path as the log has it.
        size: Its bytes by the log; None if it does not say.
        version: The version, for errors.
        masked: Places of the rows to leave out, ascending.
    """

    store: LogStore
    key: str
    raw_path: str
    size: int | None
    version: int
    masked: npt.NDArray[np.uint64]


def read_rows_from(
    file: LiveFile, columns: ColumnSources, start: int, limit: int
) -> tuple[list[Any], npt.NDArray[np.int64]]:
    """Return the stored columns of the first rows from a place on, and the places of these rows.

    Args:
        file: The file.
        columns: Which columns to give.
        start: The first place.
        limit: Rows at most.

    Raises:
        StorageError: The file is missing, or cannot be fetched.
        CorruptTable: It has another size than the log records.
        LimitExceeded: Its footer is too large.
        NotReadHere: Spark must read it.
    """
    opened = _opened(file)
    shapes = shapes_of(columns.stored, by_id=columns.by_id)
    try:
        reason = unread_file(opened.schema, opened.metadata.metadata, lambda name: _is_int96(opened, name), columns)
        if reason is not None:
            raise NotReadHere(f"the file {file.raw_path}: {reason}")
        check_field_ids(opened.schema, shapes)
        wanted = _places(opened.metadata.num_rows, file.masked, start, limit)
        parts = _columns(_batches(file, opened, stored_names(opened.schema, shapes), wanted), shapes)
        arrays = [
            pa.concat_arrays(part) if part else pa.nulls(0, shape.whole())
            for part, shape in zip(parts, shapes, strict=True)
        ]
        for array in arrays:
            array.validate(full=True)
    except (pa.ArrowException, ValueError) as error:
        raise NotReadHere(f"the file {file.raw_path} is not read here: {_first_line(error)}") from error
    except OSError as error:
        raise NotReadHere(f"the file {file.raw_path} cannot be decoded here: {_first_line(error)}") from error
    return arrays, wanted


def missing_file(raw_path: str, version: int, why: str) -> StorageError:
    """Return the error for a data file that is not there."""
    return StorageError(
        f"The data file {raw_path} of version {version} does not exist ({why}). "
        f"It was removed after the commit, by VACUUM or by hand. {next_step_for_missing([raw_path])}",
        path=raw_path,
        version=version,
    )


def wrong_size(raw_path: str, version: int, size: int, expected: int) -> CorruptTable:
    """Return the error for a data file of another size than the log records, in bytes."""
    return CorruptTable(
        f"The data file {raw_path} of version {version} has {size} bytes, but the log says {expected}. "
        "It was overwritten or truncated; data files are never changed in place.",
        path=raw_path,
        version=version,
        expected=expected,
        found=size,
    )


def _opened(file: LiveFile) -> OpenFile:
    if file.size is None:
        raise sizeless(file.raw_path)
    try:
        source = file.store.open_input(file.key)
    except FileNotFoundError as error:
        raise missing_file(file.raw_path, file.version, os.strerror(errno.ENOENT)) from error
    size = int(source.size())
    if size != file.size:
        raise wrong_size(file.raw_path, file.version, size, file.size)
    try:
        return OpenFile(source, file.raw_path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NotReadHere(f"the file {file.raw_path} has no readable footer: {_first_line(error)}") from error


def _columns(batches: Iterator[pa.RecordBatch], shapes: Sequence[Shape]) -> list[list[Any]]:
    """The parts of each column."""
    parts: list[list[Any]] = [[] for _ in shapes]
    taken = 0
    for batch in batches:
        for column, shape in zip(parts, shapes, strict=True):
            column.append(column_of(batch, shape))
            # Values may be indices of a dictionary until now.
            taken += column[-1].nbytes
        if taken > MOST_BYTES:
            raise NotReadHere(f"its rows take more than {MOST_BYTES >> 20} MB")
    return parts


def _places(rows: int, masked: npt.NDArray[np.uint64], start: int, limit: int) -> npt.NDArray[np.int64]:
    """The first places from a start on that are not masked."""
    hidden = masked.astype(np.int64)
    end = min(rows, start + limit + len(hidden))
    return np.setdiff1d(np.arange(start, max(start, end), dtype=np.int64), hidden, assume_unique=True)[:limit]


def _batches(
    file: LiveFile, opened: OpenFile, names: list[str] | None, wanted: npt.NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """The rows at some places of a file, ascending."""
    metadata, first = opened.metadata, 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        mine = wanted[(wanted >= first) & (wanted < first + rows)] - first
        if len(mine):
            yield from _of_group(file, opened, group, names, mine)
        first += rows


def _of_group(
    file: LiveFile, opened: OpenFile, group: int, names: list[str] | None, wanted: npt.NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    needed = int(wanted[-1]) + 1
    described, of_group = opened.metadata.schema, opened.metadata.row_group(group)
    leaves = [place for place in range(len(described)) if _is_needed(described.column(place).path, names)]
    chunks = [chunk_of(of_group.column(place), described.column(place), opened.size) for place in leaves]
    source = _source(file, opened, chunks)
    at_once = _rows_at_once(source, opened.size, chunks, needed)
    begin = 0
    reader = opened.reader(source, buffer=_BUFFER)
    for batch in reader.iter_batches(batch_size=at_once, row_groups=[group], columns=names, use_threads=False):
        mine = wanted[(wanted >= begin) & (wanted < begin + batch.num_rows)] - begin
        begin += batch.num_rows
        if len(mine):
            yield batch.take(int64s(mine))
        if begin >= needed:
            return


def _rows_at_once(source: Any, size: int, chunks: Sequence[Chunk], needed: int) -> int:
    """How many rows may be decoded at once, of so many that are needed of a row group."""

    def measured(chunk: Chunk) -> ChunkRows:
        found = chunk_rows(chunk, lambda length, start: bytes(source.read_at(length, start)), MOST_BYTES)
        # The chunk is read page by page here, and not held.
        return replace(found, around=found.around - chunk.length)

    # Where each row has one value of a column, the pages after the last row that is needed are not looked at.
    single = [replace(chunk, values=min(chunk.values, needed)) for chunk in chunks if chunk.levels < 2]
    rows, taken = rows_at_once(list(map(measured, single)), min(needed, _MOST_ROWS), MOST_BYTES)
    # A row may have all values of a list's column: what these take is compared with what is stored of them.
    repeated = sum(measured(chunk).size(rows) for chunk in chunks if chunk.levels > 1)
    if taken > MOST_BYTES or repeated > min(max(MOST_BYTES, size * _LIST_RATIO), _MOST_LIST_BYTES):
        raise NotReadHere(f"one of its rows may take more than {MOST_BYTES >> 20} MB")
    return rows


def _source(file: LiveFile, opened: OpenFile, chunks: Sequence[Chunk]) -> Any:
    """The file; of a remote one, the beginnings of the chunks in memory, fetched at the same time."""
    if opened.is_local:
        return opened.file
    spans = spans_of([replace(chunk, length=min(chunk.length, _BEGINNING)) for chunk in chunks])
    return held_parts(opened.file, opened.size, spans, file.store.read_parts(file.key, spans))


def _is_needed(path: str, names: list[str] | None) -> bool:
    return names is None or path.partition(".")[0] in names


def _is_int96(opened: OpenFile, name: str) -> bool:
    """Whether all times of a top-level column are stored in 96 bits."""
    described = opened.metadata.schema
    leaves = [described.column(place) for place in range(len(described))]
    times = [leaf for leaf in leaves if leaf.path.partition(".")[0] == name and _is_time(leaf)]
    return bool(times) and all(leaf.physical_type == "INT96" for leaf in times)


def _is_time(leaf: Any) -> bool:
    return bool(leaf.physical_type == "INT96" or leaf.logical_type.type == "TIMESTAMP")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
