"""An object that is fetched by ranges, as a file that can be read at random, on several threads at once.

Each thread has a place of its own in the file: Arrow finds the size of a Python file by seeking to its end, without the
lock under which other threads read. This imports nothing of the program: Spark's workers, which do not have it, get
this module by value.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Final

# What is fetched at once, in bytes.
_BLOCK: Final = 1 << 20


def ranged_file(fetch: Callable[[int, int], bytes], size: int) -> io.RawIOBase:
    """Return an object of a size in bytes; ``fetch`` returns its bytes from a start to an end that it has."""
    return _OfThreads(lambda: io.BufferedReader(_Ranges(fetch, size), _BLOCK))


class _OfThreads(io.RawIOBase):
    """A file that each thread reads for itself."""

    def __init__(self, make: Callable[[], io.BufferedReader]) -> None:
        self._make, self._local = make, threading.local()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._mine().tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._mine().seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        return self._mine().read(size)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # as Arrow gives it
        return self._mine().readinto(buffer)

    def _mine(self) -> io.BufferedReader:
        mine: io.BufferedReader | None = getattr(self._local, "file", None)
        if mine is None:
            mine = self._local.file = self._make()
        return mine


class _Ranges(io.RawIOBase):
    """Each read is one request."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int) -> None:
        self._fetch, self._size, self._position = fetch, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what BufferedReader gives
        view = memoryview(buffer)
        end = min(self._position + len(view), self._size)
        if end <= self._position:
            return 0
        data = self._fetch(self._position, end)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)
