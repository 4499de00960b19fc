"""Rows of one data file from a place on: no more pages of it are fetched and decoded than hold them.

Format: Apache Parquet. Invariants: no page is decoded before what it becomes was measured; of a remote file the
beginnings of all column chunks are fetched at once; a file that is missing or of another size than the log records is
an error that names it.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate
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
from explorer.core.protocol.log_store import WITH_ITS_END
from explorer.core.protocol.schema.data_types import StructField
from explorer.data_files.arrow_columns import (
    Shape,
    check_field_ids,
    columns_of,
    in_96_bits,
    stored_names,
    without_views,
)
from explorer.first_rows.held_pages import file_with_pages
from explorer.first_rows.live_files import LiveFile, MaskedRows
from explorer.first_rows.shapes import unread_file

_Places = npt.NDArray[np.int64]
MOST_BYTES: Final = 64 << 20
"""Bytes that the rows of a page may take, decoded."""
_BUFFER: Final = 1 << 16
_MOST_ROWS: Final = 1 << 16
# Decoding rows in so many parts takes less time than searching a dictionary.
_FEW_PARTS: Final = 16
# Bytes that the lists of a file may become for each byte of it, and at most.
_LIST_RATIO: Final = 8
_MOST_LIST_BYTES: Final = 1 << 30
# Headers of pages that are read of a row group, besides some of each column: a page without values costs time too.
_MOST_HEADERS: Final = 1 << 14
_MOST_PLACES: Final = 1 << 62
_HEADERS_OF_COLUMN: Final = 8
# What Spark decompresses and decodes; Arrow does more.
_CODECS: Final = ("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4")
_UNREAD_ENCODINGS: Final = ("BYTE_STREAM_SPLIT",)


class NotReadHere(Exception):
    """Only Spark reads a file, or it takes more than is read here.

    Args:
        reason: Why, for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PageMemory:
    """The memory that the files of a page share, while some of them are read at the same time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._decoding = 0
        self._kept = 0

    @contextmanager
    def decoding(self, size: int) -> Iterator[None]:
        """Wait until rows of a size in bytes may be decoded beside those of other files."""
        with self._changed:
            self._changed.wait_for(lambda: not self._decoding or self._decoding + size <= MOST_BYTES)
            self._decoding += size
        try:
            yield
        finally:
            with self._changed:
                self._decoding -= size
                self._changed.notify_all()

    def keep(self, size: int) -> None:
        """Count rows that are kept, in bytes.

        Raises:
            NotReadHere: The rows of the page take too much.
        """
        with self._changed:
            self._kept += size
            kept = self._kept
        if kept > MOST_BYTES:
            raise NotReadHere(f"its rows take more than {MOST_BYTES >> 20} MB")


@dataclass(frozen=True, slots=True)
class FileRows:
    """Some rows of a file.

    Attributes:
        columns: Its stored columns.
        places: The place of each row.
        masked: The places of the rows that were left out, of the whole file.
    """

    columns: list[Any]
    places: _Places
    masked: MaskedRows


def read_rows_from(
    file: LiveFile,
    start: int,
    masked: Callable[[], MaskedRows],
    *,
    columns: Sequence[StructField],
    shapes: Sequence[Shape],
    limit: int,
    memory: PageMemory,
    inside: bool = False,
) -> FileRows:
    """Return the first rows from a place on.

    Args:
        file: The file.
        start: The first place.
        masked: Returns places of the rows to leave out, ascending.
        columns, shapes: Which columns to give, and how to read them.
        limit: Rows at most.
        memory: What the page may take.
        inside: Give the masked rows alone; otherwise all others.

    Raises:
        StorageError: The file is missing, or cannot be fetched.
        CorruptTable: It has another size than the log records.
        LimitExceeded: Its footer is too large.
        NotReadHere: Spark must read it.
    """
    opened = _opened(file)
    try:
        footer = opened.metadata
        reason = unread_file(opened.schema, footer.metadata, in_96_bits(footer.schema), columns, shapes)
        if reason is not None:
            raise NotReadHere(f"the file {file.raw_path}: {reason}")
        check_field_ids(opened.schema, shapes)
        # Spark counts the rows of the groups too, whatever the footer records of all of them.
        ends = _group_ends(opened)
        hidden = masked()
        wanted = _places(int(ends[-1]) if len(ends) else 0, hidden, start, limit, inside=inside)
        names = stored_names(opened.schema, shapes)
        with closing(_batches(file, opened, names, wanted, ends, memory=memory)) as batches:
            parts, rows = _columns(batches, shapes, memory)
        if rows != len(wanted):
            raise NotReadHere(f"the file {file.raw_path} has fewer rows than its footer records")
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
    return FileRows(arrays, wanted, hidden)


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
        f"The data file {raw_path} of version {version} has {size} bytes, but the log records {expected}. "
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
        source = file.store.open_sized(file.key, file.size)
    except FileNotFoundError as error:
        raise missing_file(file.raw_path, file.version, os.strerror(errno.ENOENT)) from error
    size = int(source.size())
    if size != file.size:
        raise wrong_size(file.raw_path, file.version, size, file.size)
    try:
        return OpenFile(source, file.raw_path, buffer=_BUFFER)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NotReadHere(f"the file {file.raw_path} has no readable footer: {_first_line(error)}") from error


def _columns(
    batches: Iterator[pa.RecordBatch], shapes: Sequence[Shape], memory: PageMemory
) -> tuple[list[list[Any]], int]:
    """The parts of each column, and the number of rows."""
    parts: list[list[Any]] = [[] for _ in shapes]
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        made = columns_of(batch, shapes)
        # Values may be indices of a dictionary until now.
        memory.keep(sum(part.nbytes for part in made))
        for column, part in zip(parts, made, strict=True):
            column.append(part)
    return parts, rows


def _places(rows: int, masked: MaskedRows, start: int, limit: int, *, inside: bool) -> _Places:
    """The first places from a start on that are not masked, or that are."""
    if inside:
        begin, stop = np.searchsorted(masked, np.array([start, max(start, rows)], np.uint64))
        return masked[begin:stop][:limit].astype(np.int64)
    first, last = (int(place) for place in np.searchsorted(masked, np.array([start, max(start, rows)], np.uint64)))
    end = max(start, min(rows, start + limit + last - first))
    is_live = np.ones(end - start, bool)
    hidden = masked[first : np.searchsorted(masked, np.uint64(end))]
    is_live[(hidden - np.uint64(start)).astype(np.int64)] = False
    return (np.flatnonzero(is_live)[:limit] + start).astype(np.int64)


def _group_ends(opened: OpenFile) -> _Places:
    """The number of rows up to the end of each row group."""
    metadata = opened.metadata
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    ends = list(accumulate(rows))
    if min(rows, default=0) < 0 or max(ends, default=0) > _MOST_PLACES:
        raise NotReadHere("its footer records an impossible number of rows")
    return np.array(ends, np.int64)


def _batches(
    file: LiveFile,
    opened: OpenFile,
    names: list[str] | None,
    wanted: _Places,
    ends: _Places,
    *,
    memory: PageMemory,
) -> Generator[pa.RecordBatch, None, None]:
    """The rows at some places of a file, ascending."""
    groups = np.searchsorted(ends, wanted, side="right")
    for group in np.unique(groups).tolist():
        first = int(ends[group - 1]) if group else 0
        yield from _of_group(file, opened, group, names, wanted[groups == group] - first, memory=memory)


def _of_group(
    file: LiveFile,
    opened: OpenFile,
    group: int,
    names: list[str] | None,
    wanted: _Places,
    *,
    memory: PageMemory,
) -> Iterator[pa.RecordBatch]:
    needed = int(wanted[-1]) + 1
    described, of_group = opened.metadata.schema, opened.metadata.row_group(group)
    needed_names = None if names is None else frozenset(names)
    leaves = [place for place in range(len(described)) if _is_needed(described.column(place).path, needed_names)]
    stored = [of_group.column(place) for place in leaves]
    for column in stored:
        _check_readable(column)
    chunks = [
        chunk_of(column, described.column(place), opened.size) for column, place in zip(stored, leaves, strict=True)
    ]
    values_at = [column.data_page_offset for column in stored]
    source = _source(file, opened, [_first_values(chunk, needed) for chunk in chunks], values_at)
    at_once, taken = _rows_at_once(source, opened.size, chunks, needed)
    begin = 0
    with memory.decoding(taken), _lent(opened, source) as reader:
        for batch in reader.iter_batches(batch_size=at_once, row_groups=[group], columns=names, use_threads=False):
            mine = wanted[(wanted >= begin) & (wanted < begin + batch.num_rows)] - begin
            begin += batch.num_rows
            if len(mine):
                yield without_views(batch).take(int64s(mine))
            if begin >= needed:
                return


@contextmanager
def _lent(opened: OpenFile, source: Any) -> Iterator[Any]:
    """A reader of the file, or of the same file with some of its pages in memory."""
    if source is not opened.file:
        yield opened.reader(source, buffer=_BUFFER)
        return
    with opened.lent(source) as reader:
        yield reader


def _check_readable(stored: Any) -> None:
    """Check that Spark decompresses and decodes a column chunk.

    Raises:
        NotReadHere: It does not.
    """
    if stored.compression not in _CODECS:
        raise NotReadHere(f"the column {stored.path_in_schema} is compressed with {stored.compression}")
    if any(encoding in _UNREAD_ENCODINGS for encoding in stored.encodings):
        raise NotReadHere(f"the column {stored.path_in_schema} is encoded as {', '.join(stored.encodings)}")


def _rows_at_once(source: Any, size: int, chunks: Sequence[Chunk], needed: int) -> tuple[int, int]:
    """How many rows may be decoded at once, of so many that are needed of a row group, and the bytes they take."""
    remaining = _MOST_HEADERS + _HEADERS_OF_COLUMN * len(chunks)

    @cache
    def read(length: int, start: int) -> bytes:
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise NotReadHere(f"the rows are in more than {_MOST_HEADERS:,} pages")
        return bytes(source.read_at(length, start))

    def measured(chunk: Chunk, searched: int = MOST_BYTES) -> ChunkRows:
        rows = chunk_rows(chunk, read, searched)
        # The chunk is read page by page here, and not held.
        return replace(rows, around=rows.around - chunk.length)

    # Where each row has one value of a column, the pages after the last row that is needed are not looked at.
    single = [_first_values(chunk, needed) for chunk in chunks if chunk.levels < 2]
    most = min(needed, _MOST_ROWS)
    # To find the longest value of a dictionary takes time; a few rows have room if each value is all of it.
    rows, taken = rows_at_once([measured(chunk, 0) for chunk in single], most, MOST_BYTES)
    if rows < most // _FEW_PARTS or taken > MOST_BYTES:
        rows, taken = rows_at_once([measured(chunk) for chunk in single], most, MOST_BYTES)
    # A row may have all values of a list's column: what these take is compared with what is stored of them.
    repeated = sum(measured(chunk).size(rows) for chunk in chunks if chunk.levels > 1)
    if taken > MOST_BYTES or repeated > min(max(MOST_BYTES, size * _LIST_RATIO), _MOST_LIST_BYTES):
        raise NotReadHere(f"one of its rows may take more than {MOST_BYTES >> 20} MB")
    return rows, taken + repeated


def _first_values(chunk: Chunk, needed: int) -> Chunk:
    """A chunk that ends with the values of the rows that are needed, unless a row has any number of them."""
    return replace(chunk, values=min(chunk.values, needed)) if chunk.levels < 2 else chunk


def _source(file: LiveFile, opened: OpenFile, chunks: Sequence[Chunk], values_at: Sequence[int]) -> Any:
    """The file; of a remote one, the pages that are needed in memory."""
    if opened.is_local or opened.size <= WITH_ITS_END:
        return opened.file
    fetch = partial(file.store.read_parts, file.key)
    return file_with_pages(opened.file, opened.size, list(zip(chunks, values_at, strict=True)), fetch, MOST_BYTES)


def _is_needed(path: str, names: frozenset[str] | None) -> bool:
    return names is None or path.partition(".")[0] in names


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
