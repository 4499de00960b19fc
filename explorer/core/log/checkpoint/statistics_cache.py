"""Parsed statistics of one file of a checkpoint, cached between processes.

Protocol sections: Checkpoints, Per-file Statistics. Invariants: a cache serves only the very file that it was made of,
by name, size, time, and ETag of the part of the checkpoint; statistics are the same with it and without.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.log.index_cache import CachedIndex, IndexCache
from explorer.core.log.log_path import LOG_FOLDER, LogPath
from explorer.core.protocol.arrow.arrays import only_array
from explorer.core.protocol.statistics.json_statistics import Bounds, ParsedTexts, StatisticsLeaf

# Of more columns at once, nothing is cached: each would be a section of its own.
_MOST_LEAVES: Final = 128
_CONTENTS: Final = "contents"
_KEY: Final = b"contents"
_PROBLEMS: Final = b"problems"


class _Contents(msgspec.Struct, frozen=True):
    """What a cache was made of, and the names of its tables."""

    part: LogPath
    path: str
    tables: tuple[str, ...]


_DECODER: Final = msgspec.json.Decoder(_Contents)
_DECODE_PROBLEMS: Final = msgspec.json.Decoder(tuple[tuple[int, str], ...])


class StatisticsCache:
    """The cached statistics of one Parquet file of a checkpoint; it may be used on several threads at once.

    Args:
        open_indexes: Opens the cache of all tables; None caches nothing.
        place: Location of the table, and the number of the file among those of the checkpoint: the file of a newer
            checkpoint takes the place of that of an older one.
        part: The part of the checkpoint that the file is, or that names it.
        path: Key or location of the file.
        size: The file's size in bytes.
    """

    def __init__(
        self, open_indexes: Callable[[], IndexCache | None], place: tuple[str, int], part: LogPath, path: str, size: int
    ) -> None:
        self._open_indexes, self._part, self._path, self._size = open_indexes, part, path, size
        root, number = place
        self._location = f"{root.rstrip('/')}/{LOG_FOLDER}/checkpoint statistics {number}"
        self._lock = threading.Lock()
        self._opened: tuple[CachedIndex | None, frozenset[str]] | None = None
        self._parsed: dict[str, pa.Table] = {}

    def statistics(
        self, group: int, leaves: Sequence[StatisticsLeaf], parse: Callable[[Sequence[StatisticsLeaf]], ParsedTexts]
    ) -> ParsedTexts:
        """Return the statistics of a row group; those of leaves that are not cached are parsed in one go."""
        if len(leaves) > _MOST_LEAVES or self._indexes is None:
            return parse(leaves)
        totals = self._find(_name(group))
        cached = {leaf: self._find(_name(group, leaf)) for leaf in leaves}
        missing = [leaf for leaf in leaves if cached[leaf] is None]
        if totals is None or missing:
            tables = dict(_tables(group, parse(missing)))
            with self._lock:
                self._parsed |= tables
            totals = tables[_name(group)]
            cached |= {leaf: tables[_name(group, leaf)] for leaf in missing}
        return _joined(totals, {leaf: table for leaf, table in cached.items() if table is not None})

    def keep(self) -> None:
        """Cache what was parsed since, beside what was cached before."""
        with self._lock:
            if not self._parsed or self._indexes is None:
                return
            index, names = self._open()
            before = {name: None if index is None else index.table(name) for name in sorted(names)}
            tables = {name: table for name, table in before.items() if table is not None} | self._parsed
            contents = _Contents(self._part, self._path, tuple(tables))
            named = pa.schema([], {_KEY: msgspec.json.encode(contents)})
            self._indexes.keep(
                self._location,
                [self._part],
                lambda: {_CONTENTS: pa.Table.from_batches([], named), **tables},
            )
            self._parsed, self._opened = {}, None

    @cached_property
    def _indexes(self) -> IndexCache | None:
        indexes = self._open_indexes()
        return indexes if indexes is not None and indexes.wants(0, self._size) else None

    def _find(self, name: str) -> pa.Table | None:
        with self._lock:
            index, names = self._open()
            return index.table(name) if index is not None and name in names else None

    def _open(self) -> tuple[CachedIndex | None, frozenset[str]]:
        """Return what is cached of this very file, and the names of its tables."""
        if self._opened is None:
            self._opened = None, frozenset()
            index = None if self._indexes is None else self._indexes.find(self._location)
            table = None if index is None else index.table(_CONTENTS)
            if index is not None and table is not None:
                contents = _DECODER.decode(table.schema.metadata[_KEY])
                if (contents.part, contents.path) == (self._part, self._path):
                    self._opened = index, frozenset(contents.tables)
        return self._opened


def _name(group: int, leaf: StatisticsLeaf | None = None) -> str:
    return str(group) if leaf is None else f"{group} {msgspec.json.encode(leaf).decode()}"


def _tables(group: int, parsed: ParsedTexts) -> Iterator[tuple[str, pa.Table]]:
    """Yield the tables that cache the statistics of a row group, by name."""
    problems = {_PROBLEMS: msgspec.json.encode(parsed.problems)}
    yield _name(group), _table({"tight": parsed.tight, "records": parsed.num_records}, problems)
    for leaf, bounds in parsed.bounds.items():
        yield _name(group, leaf), _table({"low": bounds.low, "high": bounds.high, "nulls": bounds.nulls}, problems)


def _table(columns: Mapping[str, pa.Array], metadata: Mapping[bytes, bytes]) -> pa.Table:
    schema = pa.schema([(name, column.type) for name, column in columns.items()], metadata)
    return pa.Table.from_arrays(list(columns.values()), schema=schema)


def _joined(totals: pa.Table, leaves: Mapping[StatisticsLeaf, pa.Table]) -> ParsedTexts:
    tables = (*leaves.values(), totals)
    problems = (problem for table in tables for problem in _DECODE_PROBLEMS.decode(table.schema.metadata[_PROBLEMS]))
    return ParsedTexts(
        only_array(totals, "tight"),
        only_array(totals, "records"),
        {
            leaf: Bounds(only_array(table, "low"), only_array(table, "high"), only_array(table, "nulls"))
            for leaf, table in leaves.items()
        },
        tuple(dict.fromkeys(problems)),
    )
