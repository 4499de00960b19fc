"""Rows of a data file inside Spark's tasks, as many at once as the memory for them allows.

It is sent to the workers by value. Invariants: no page is decoded before what it becomes was measured; what is measured
and what Arrow decodes are the same bytes, fetched once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from explorer.core.protocol.arrow.chunk_sizes import Chunk, chunk_of
from explorer.core.protocol.arrow.rows_at_once import chunk_rows, rows_at_once
from explorer.storage.ranged_file import ranged_file

_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Room:
    """How much memory a file may take, in bytes.

    Attributes:
        footer: Its footer.
        least: The rows of it that are decoded at once, however small it is.
        ratio: The same for each byte as stored.
        most: The same, however large it is.
    """

    footer: int
    least: int
    ratio: int
    most: int

    def rows(self, stored: int) -> int:
        """Return how many bytes the rows of a file that are decoded at once may take."""
        return max(self.least, min(stored * self.ratio, self.most))


class TooManyBytes(Exception):
    """A row of a file would take more memory than it may.

    Args:
        needed: How many bytes, or more.
        allowed: How many it may take.
    """

    def __init__(self, needed: int, allowed: int) -> None:
        super().__init__(needed, allowed)
        self.needed, self.allowed = needed, allowed


def measured_batches(source: Any, parquet: Any, columns: list[str] | None, room: Room) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file, in their order.

    Args:
        source: The file.
        parquet: The ``ParquetFile`` that was opened on it.
        columns: Which columns to read, none of which has a dot in its name; None reads all.
        room: How much memory it may take.

    Raises:
        TooManyBytes: Later: some rows take more.
        pa.ArrowException, OSError, ValueError: Later: a page is damaged.
    """
    import pyarrow.parquet as pq

    metadata, size = parquet.metadata, source.size()
    described = metadata.schema
    leaves = [leaf for leaf in range(len(described)) if _is_wanted(described.column(leaf).path, columns)]
    for group in range(metadata.num_row_groups):
        of_group = metadata.row_group(group)
        chunks = [chunk_of(of_group.column(leaf), described.column(leaf), size) for leaf in leaves]
        held = _held(source, chunks, size, room.rows(size))
        rows = _rows_at_once(held, chunks, room.rows(size))
        reader = pq.ParquetFile(held, metadata=metadata, coerce_int96_timestamp_unit="us")
        yield from reader.iter_batches(batch_size=rows, row_groups=[group], columns=columns)


def _is_wanted(path: str, columns: list[str] | None) -> bool:
    return columns is None or path.partition(".")[0] in columns


def _rows_at_once(held: Any, chunks: Sequence[Chunk], allowed: int) -> int:
    measured = [
        chunk_rows(chunk, lambda length, start: bytes(held.read_at(length, start)), allowed) for chunk in chunks
    ]
    rows, decoded = rows_at_once(measured, _BATCH_ROWS, allowed)
    if decoded > allowed:
        raise TooManyBytes(decoded, allowed)
    return rows


def _held(source: Any, chunks: Sequence[Chunk], size: int, allowed: int) -> Any:
    """The same file with the bytes of some chunks in memory; chunks that share bytes share them there."""
    spans = spans_of(chunks)
    stored = sum(end - start for start, end in spans)
    if stored > allowed:
        raise TooManyBytes(stored, allowed)
    return held_parts(source, size, spans, [bytes(source.read_at(end - start, start)) for start, end in spans])


def held_parts(source: Any, size: int, spans: Sequence[tuple[int, int]], parts: Sequence[bytes]) -> Any:
    """Return the same file with some of its bytes in memory; the others are read when they are needed.

    Args:
        source: The file.
        size: Its bytes.
        spans: Where the parts begin and end, ascending.
        parts: Their bytes.
    """
    starts = [start for start, _ in spans]

    def fetch(start: int, end: int) -> bytes:
        place = bisect_right(starts, start) - 1
        if place >= 0 and (part := parts[place][start - starts[place] : end - starts[place]]):
            return part
        return bytes(source.read_at(end - start, start))

    return pa.PythonFile(ranged_file(fetch, size), mode="r")


def spans_of(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Return where the bytes of chunks begin and end, those together that touch."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted((chunk.start, chunk.start + chunk.length) for chunk in chunks):
        if spans and start <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((start, end))
    return spans
