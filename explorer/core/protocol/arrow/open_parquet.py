"""Parquet files that are open: few at a time, each with a reader for one thread alone.

Format: Apache Parquet's footer. Invariants: of a file that is far away, the chunks that are needed are fetched once, in
as few requests as there are stretches of them, and read from memory; a footer is measured before it is decoded.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from mmap import mmap
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from explorer.core.protocol.arrow.chunk_sizes import Chunk
from explorer.core.protocol.arrow.footer_sizes import footer_size
from explorer.core.protocol.limits import check_footer, footer_bytes, too_large_footer

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = ["LATEST", "OpenFile", "bytes_at", "in_parallel", "read_footer"]

_T = TypeVar("_T")
_S = TypeVar("_S")

# The end of a file: the footer's length, and a mark. Arrow reads as much at first, in the same request if it may.
_TAIL: Final = struct.Struct("<I4s")
_END: Final = 1 << 16
# What lies between two chunks is fetched too if it is shorter than this, as it is less than a request costs.
_GAP: Final = 1 << 13
# How many files stay open that nobody reads at the moment: a process may have a few hundred.
_MOST_OPEN: Final = 64


class OpenFile:
    """A file that is open, and a reader of it that nobody uses at the moment.

    Args:
        file: The file.
        name: What it is called, for the error.

    Raises:
        LimitExceeded: Its footer is too long.
        pa.ArrowException, OSError, ValueError: It is not a Parquet file.
    """

    def __init__(self, file: pa.NativeFile, name: str) -> None:
        self._file = file
        self.size = int(file.size())
        _check_footer(file, self.size, name)
        self._is_local = isinstance(file, pa.OSFile)
        first = self.reader(file)
        self.metadata = first.metadata
        self.schema: pa.Schema = first.schema_arrow
        self._idle = [first]

    def source(self, chunks: Sequence[Chunk]) -> pa.NativeFile:
        """The file, or what is needed of one that is far away, each piece of which would be a request."""
        return self._file if self._is_local else _fetched(self._file, self.size, chunks)

    @contextmanager
    def lent(self, source: pa.NativeFile) -> Iterator[pq.ParquetFile]:
        """A reader for one thread alone, because Arrow's are not thread-safe; one costs less than a millisecond."""
        if not self._is_local:
            yield self.reader(source)
            return
        try:
            reader = self._idle.pop()
        except IndexError:
            reader = self.reader(source)
        try:
            yield reader
        finally:
            if not self._idle:
                self._idle.append(reader)

    def reader(self, source: pa.NativeFile, as_dictionary: Sequence[str] = ()) -> pq.ParquetFile:
        """A new reader of a source, which leaves some columns as indices of a dictionary."""
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            source,
            metadata=getattr(self, "metadata", None),
            coerce_int96_timestamp_unit="us",
            pre_buffer=False,
            read_dictionary=list(as_dictionary) or None,
        )


class _Latest:
    """The open files that were read last, up to so many; a file that is being read stays open until that is done."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._files: WeakKeyDictionary[Any, OpenFile] = WeakKeyDictionary()

    def find(self, rows: Any) -> OpenFile | None:
        """The open file of some row groups; None if it was closed."""
        with self._lock:
            found = self._files.pop(rows, None)
            if found is not None:
                self._files[rows] = found
            return found

    def put(self, rows: Any, opened: OpenFile) -> None:
        """Keep a file open, and let the one that was not read for longest go."""
        with self._lock:
            self._files[rows] = opened
            if len(self._files) > self._most:
                del self._files[next(iter(self._files))]


LATEST: Final = _Latest(_MOST_OPEN)


def read_footer(file: pa.NativeFile, name: str) -> pq.FileMetaData:
    """Read the footer of a file, after a look at its length.

    Raises:
        LimitExceeded: It is too long.
        pa.ArrowException, OSError, ValueError: It is not a Parquet file.
    """
    import pyarrow.parquet as pq

    _check_footer(file, int(file.size()), name)
    return pq.read_metadata(file)


def bytes_at(source: pa.NativeFile, size: int, start: int) -> bytes:
    """Bytes of a source from a place on, fewer at its end."""
    return bytes(source.read_at(size, start))


def in_parallel(action: Callable[[_S], _T], items: Sequence[_S]) -> list[_T]:
    """Results of an action that spends most of its time outside Python, on as many threads as there are processors."""
    workers = min(len(items), pa.cpu_count())
    if workers < 2:
        return [action(item) for item in items]
    # Imported late: it imports logging, which opening a table does not need.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(action, items))


def _fetched(file: pa.NativeFile, size: int, chunks: Sequence[Chunk]) -> pa.NativeFile:
    """A file of the same size that has the bytes of some chunks, and zeros elsewhere, which take no memory."""
    room = mmap(-1, max(size, 1))
    view = memoryview(room)

    def fetch(span: tuple[int, int]) -> None:
        start, end = span
        data = file.read_at(end - start, start)
        view[start : start + len(data)] = data

    in_parallel(fetch, _spans(chunks))
    return pa.BufferReader(pa.py_buffer(room))


def _spans(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Where chunks begin and end, those together that lie close to each other."""
    spans: list[tuple[int, int]] = []
    for chunk in sorted(chunks, key=lambda each: each.start):
        end = chunk.start + chunk.length
        if spans and chunk.start - spans[-1][1] <= _GAP:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((chunk.start, end))
    return spans


def _check_footer(file: pa.NativeFile, size: int, name: str) -> None:
    """Check a file's footer, which may be many times as large in memory, before Arrow decodes it.

    Raises:
        LimitExceeded: It is too long, or would take too much memory.
    """
    start = max(0, size - _END)
    tail = file.read_at(min(size, _END), start)
    length = _TAIL.unpack(tail[-_TAIL.size :])[0] if len(tail) >= _TAIL.size else size
    end = size - _TAIL.size
    if length > end:
        return
    check_footer(name, length)
    begin = end - length
    footer = tail[begin - start : end - start] if begin >= start else file.read_at(length, begin)
    allowed = footer_bytes()
    found = footer_size(footer, allowed)
    if found > allowed:
        raise too_large_footer(name, found, allowed)
