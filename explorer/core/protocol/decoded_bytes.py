"""The bytes that the Parquet files of a checkpoint may take in memory, counted over all of them.

Protocol: it sets no limits. Invariants: bytes are counted before they are decoded; all files that share a
budget share its bounds, so that many small files are not a way around them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping

import msgspec

from explorer.core.protocol import limits


class _CacheEntry(msgspec.Struct, frozen=True):
    size: int
    count: Callable[[int], int] | None


class DecodedBytes:
    """The budget of some files, and its use. It may be used on several threads at once.

    Args:
        what: A name for the files, for the error, such as "The checkpoint of version 3".
    """

    def __init__(self, what: str = "The file", version: int | None = None) -> None:
        self._what, self._version = what, version
        self._lock = threading.Lock()
        self._stored = 0
        self._taken: dict[Hashable, _CacheEntry] = {}
        self._sum = 0

    @property
    def allowed(self) -> int:
        """The bytes that may be decoded in all."""
        return limits.decoded_bytes(self._stored)

    @property
    def taken(self) -> int:
        """The bytes that were taken, or more."""
        return self._sum

    def stored(self, size: int) -> None:
        """Add another file with ``size`` stored bytes to the budget."""
        with self._lock:
            self._stored += size

    def take(self, path: str, sizes: Mapping[Hashable, int], count: Mapping[Hashable, Callable[[int], int]]) -> None:
        """Take the bytes that are about to be decoded, once for each key.

        Args:
            sizes: Key -> the maximum bytes.
            count: Key -> counts the bytes, where this may be far fewer; it gets the allowed bytes.

        Raises:
            LimitExceeded: It is more than is allowed.
        """
        with self._lock:
            for key, size in sizes.items():
                self._set(key, _CacheEntry(size, count.get(key)))
            if self._sum > self.allowed:
                self._count_all()
            if self._sum > self.allowed:
                sum_before = self._sum
                for key in sizes:
                    self._sum -= self._taken.pop(key).size
                raise limits.too_many_decoded(self._what, path, self._version, sum_before, self.allowed)

    def _set(self, key: Hashable, entry: _CacheEntry) -> None:
        earlier = self._taken.get(key)
        self._sum += entry.size - (0 if earlier is None else earlier.size)
        self._taken[key] = entry

    def _count_all(self) -> None:
        """Count bytes that were only bounded, the largest first, until all fits or certainly does not."""
        sure = sum(entry.size for entry in self._taken.values() if entry.count is None)
        for key, entry in sorted(self._taken.items(), key=lambda each: -each[1].size):
            if entry.count is None:
                continue
            counted = _CacheEntry(min(entry.size, entry.count(self.allowed - sure)), None)
            self._set(key, counted)
            sure += counted.size
            if sure > self.allowed or self._sum <= self.allowed:
                return
