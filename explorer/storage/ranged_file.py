"""An object that is fetched by ranges, as a file that can be read at random.

It imports nothing of this program: Spark's workers, which do not have it, get this module by value.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Final

__all__ = ["ranged_file"]

# What is fetched at once, in bytes.
_BLOCK: Final = 1 << 20


def ranged_file(fetch: Callable[[int, int], bytes], size: int) -> io.BufferedReader:
    """An object of a size in bytes; ``fetch`` returns its bytes from a start to an end that it has."""
    return io.BufferedReader(_Ranges(fetch, size), _BLOCK)


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
