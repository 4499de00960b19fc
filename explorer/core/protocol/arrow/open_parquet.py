"""Open Parquet files: few at a time, each with a reader for one thread alone.

Format: Apache Parquet's footer. Invariants: of a remote file, the needed chunks are fetched once, in
as few requests as there are stretches of them, and read from memory; a footer is measured before it is decoded.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from mmap import mmap
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa

from explorer.core.protocol.arrow.chunk_sizes import Chunk
from explorer.core.protocol.arrow.footer_sizes import footer_size
from explorer.core.protocol.arrow.threads import in_parallel
from explorer.core.protocol.limits import check_footer, footer_bytes, too_large_footer

if TYPE_CHECKING:
    import pyarrow.parquet as pq


# The end of a file: the footer's length, and a mark. Arrow reads as much at first, in the same request if it may.
_TAIL: Final = struct.Struct("<I4s")
_END: Final = 1 << 16
# Bytes between two chunks are fetched too if they are fewer than this, as it is less than a request costs.
_GAP: Final = 1 << 13
# The number of unused files that stay open: a process may have a few hundred.
_MOST_OPEN: Final = 64


class OpenFile:
    """An open file, and an unused reader of it.

    Args:
        file: The file.
        name: Its name, for the error.
        buffer: Bytes of a column chunk that its unused reader reads at once; 0 reads the full chunk.

    Attributes:
        file: As given.
        is_local: Whether it is a file of this machine.
        size: Its bytes.
        metadata, schema: Its footer, and its columns as Arrow reads them.

    Raises:
        LimitExceeded: Its footer is too long.
        pa.ArrowException, OSError, ValueError: It is not a Parquet file.
    """

    def __init__(self, file: pa.NativeFile, name: str, *, buffer: int = 0) -> None:
        self.file = file
        self.size = int(file.size())
        _check_footer(file, self.size, name)
        self.is_local = isinstance(file, pa.OSFile)
        first = self.reader(file, buffer=buffer)
        self.metadata = first.metadata
        self.schema: pa.Schema = first.schema_arrow
        self._idle = [first]

    def source(self, chunks: Sequence[Chunk]) -> pa.NativeFile:
        """Return the file, or the needed parts of a remote one, each of which would be a request."""
        return self.file if self.is_local else _fetched(self.file, self.size, chunks)

    @contextmanager
    def lent(self, source: pa.NativeFile) -> Iterator[pq.ParquetFile]:
        """Yield a reader for one thread, because Arrow's are not thread-safe; one costs less than a millisecond."""
        if not self.is_local:
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

    def reader(self, source: pa.NativeFile, as_dictionary: Sequence[str] = (), *, buffer: int = 0) -> pq.ParquetFile:
        """Return a new reader.

        Args:
            source: The file, as `source` returns it.
            as_dictionary: Columns that are left as indices of a dictionary.
            buffer: Bytes of a column chunk that are read at once; 0 reads the full chunk.
        """
        import pyarrow.parquet as pq

        return pq.ParquetFile(
            source,
            metadata=getattr(self, "metadata", None),
            coerce_int96_timestamp_unit="us",
            pre_buffer=False,
            buffer_size=buffer,
            read_dictionary=list(as_dictionary) or None,
        )


class _Latest:
    """The open files that were read last, up to ``most``; a file that is being read stays open until that is done."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self.files: WeakKeyDictionary[Any, OpenFile] = WeakKeyDictionary()

    def find(self, rows: Any) -> OpenFile | None:
        """Return the open file of some row groups; None if it was closed."""
        with self._lock:
            opened = self.files.pop(rows, None)
            if opened is not None:
                self.files[rows] = opened
            return opened

    def put(self, rows: Any, opened: OpenFile) -> None:
        """Add an open file, and close the least recently read one."""
        with self._lock:
            self.files[rows] = opened
            if len(self.files) > self._most:
                del self.files[next(iter(self.files))]


LATEST: Final = _Latest(_MOST_OPEN)


def read_footer(file: pa.NativeFile, name: str) -> pq.FileMetaData:
    """Read the footer of a file, after a check of its length.

    Raises:
        LimitExceeded: It is too long.
        pa.ArrowException, OSError, ValueError: It is not a Parquet file.
    """
    import pyarrow.parquet as pq

    _check_footer(file, int(file.size()), name)
    return pq.read_metadata(file)


def bytes_at(source: pa.NativeFile, size: int, start: int) -> bytes:
    """Return bytes of a source from an offset on, fewer at its end."""
    return bytes(source.read_at(size, start))


def _fetched(file: pa.NativeFile, size: int, chunks: Sequence[Chunk]) -> pa.NativeFile:
    """Return a file of the same size with the bytes of some chunks; the rest is zeros, which take no memory."""
    room = mmap(-1, max(size, 1))
    view = memoryview(room)

    def fetch(span: tuple[int, int]) -> None:
        start, end = span
        data = file.read_at(end - start, start)
        view[start : start + len(data)] = data

    in_parallel(fetch, _spans(chunks))
    return pa.BufferReader(pa.py_buffer(room))


def _spans(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    """Return where chunks begin and end, those together that are close to each other."""
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
    decoded_size = footer_size(footer, allowed)
    if decoded_size > allowed:
        raise too_large_footer(name, decoded_size, allowed)
