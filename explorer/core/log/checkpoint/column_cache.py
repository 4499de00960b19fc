"""A cache of the columns of checkpoints, for other versions that begin with the same one.

Protocol section: Checkpoints. Invariants: a checkpoint is identified by its store and by name, size, time and ETag of
its parts, so that one written again is another one; the cache never has more bytes than its limit, and drops the least
recently used first; results are the same with it and without.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final, cast

import msgspec
import pyarrow as pa

from explorer.core.protocol.logical_files import FileSource
from explorer.core.protocol.statistics.json_statistics import ParsedTexts, StatisticsLeaf

_MOST_BYTES: Final = 1 << 28
_TOTALS: Final = "totals"
# A file counts as much as this in addition to its columns: its footer and its objects.
_FILE: Final = 1 << 20


class ColumnCache:
    """The columns used last, of any number of tables; it may be used on several threads at once.

    Args:
        most_bytes: The size of the cache. A column with more than half of it is not cached.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._bytes = 0

    @property
    def num_bytes(self) -> int:
        """The cached bytes."""
        return self._bytes

    def find(self, key: Hashable) -> object | None:
        """Return the value cached under a key; None if there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: object, num_bytes: int) -> None:
        """Cache a value of so many bytes, if it is not too large."""
        with self._lock:
            if num_bytes > self._most // 2:
                return
            self._bytes += num_bytes - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, num_bytes
            while self._bytes > self._most:
                self._bytes -= self._values.popitem(last=False)[1][1]

    def opened(self, key: Hashable, open_files: Callable[[], Sequence[FileSource]]) -> Sequence[FileSource]:
        """Return the files of a checkpoint, opened once; they store the paths, and cache other columns here."""
        known = self.find(key)
        if known is not None:
            return cast("Sequence[FileSource]", known)
        sources = open_files()
        self.put(key, sources, sum(source.num_bytes + _FILE for source in sources))
        return sources

    def part(self, *identity: object) -> PartCache:
        """Return the cache of one file of a checkpoint."""
        return PartCache(self, identity)


class PartCache:
    """The cache of one file of a checkpoint, row group by row group, about all files in it."""

    def __init__(self, columns: ColumnCache, identity: tuple[object, ...]) -> None:
        self._columns, self._identity = columns, identity

    def columns(
        self, group: int, names: Sequence[str], make: Callable[[Sequence[str]], Sequence[pa.Array]]
    ) -> list[pa.Array]:
        """Return columns of a row group; those that are not cached are made in one go."""
        cached = {name: self._columns.find((*self._identity, group, name)) for name in names}
        missing = [name for name, column in cached.items() if column is None]
        for name, column in zip(missing, make(missing) if missing else (), strict=True):
            self._columns.put((*self._identity, group, name), column, column.nbytes)
            cached[name] = column
        return [cast("pa.Array", cached[name]) for name in names]

    def statistics(
        self, group: int, leaves: Sequence[StatisticsLeaf], make: Callable[[Sequence[StatisticsLeaf]], ParsedTexts]
    ) -> ParsedTexts:
        """Return the statistics of a row group; those of leaves that are not cached are parsed in one go."""
        wanted: tuple[StatisticsLeaf | str, ...] = (*leaves, _TOTALS)
        cached = {leaf: self._columns.find((*self._identity, group, leaf)) for leaf in wanted}
        missing = [leaf for leaf in leaves if cached[leaf] is None]
        if missing or cached[_TOTALS] is None:
            cached.update(self._put(group, make(missing)))
        parts = [cast("ParsedTexts", cached[leaf]) for leaf in wanted]
        problems = dict.fromkeys(problem for part in parts for problem in part.problems)
        bounds = {leaf: part.bounds[leaf] for leaf, part in zip(leaves, parts, strict=False)}
        return msgspec.structs.replace(parts[-1], bounds=bounds, problems=tuple(problems))

    def _put(self, group: int, parsed: ParsedTexts) -> dict[StatisticsLeaf | str, object | None]:
        totals = msgspec.structs.replace(parsed, bounds={})
        parts: dict[StatisticsLeaf | str, object | None] = {_TOTALS: totals}
        self._columns.put((*self._identity, group, _TOTALS), totals, parsed.tight.nbytes + parsed.num_records.nbytes)
        for leaf, bounds in parsed.bounds.items():
            part = parts[leaf] = msgspec.structs.replace(parsed, bounds={leaf: bounds})
            size = bounds.low.nbytes + bounds.high.nbytes + bounds.nulls.nbytes
            self._columns.put((*self._identity, group, leaf), part, size)
        return parts
