"""Logical files as Arrow columns, each read at first need.

Protocol sections: Add File and Remove File, Checkpoints. Invariants: every source gives the same columns (`SCHEMA`);
``path`` is decoded once and ``raw_path`` is the text in the log; an unknown number is null, never 0 (STATS-002).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, Protocol, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import CorruptTable, MalformedAction
from explorer.core.protocol.actions import Add, DeletionVectorDescriptor
from explorer.core.protocol.arrow.arrays import (
    Int64s,
    Integers,
    bools,
    flags,
    int32s,
    int64s,
    one_array,
    string_maps,
    strings,
)
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.protocol.record_counts import count_of_line
from explorer.core.protocol.statistics.json_statistics import ParsedTexts, StatisticsLeaf, parse_texts
from explorer.core.protocol.statistics.present_leaves import present_leaves

_T = TypeVar("_T")

MAP: Final = pa.map_(pa.string(), pa.string())

SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("raw_path", pa.string()),
        ("partition_values", MAP),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("num_records", pa.int64()),
        ("dv_unique_id", pa.string()),
        ("dv_storage_type", pa.string()),
        ("dv_cardinality", pa.int64()),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("tags", MAP),
        ("dv_path_or_inline", pa.string()),
        ("dv_offset", pa.int32()),
        ("dv_size_in_bytes", pa.int32()),
        ("stats", pa.string()),
    ]
)
"""Columns of a list of logical files; sizes in bytes, times in ms since the epoch."""

_FEW_PATHS: Final = 1 << 14
"""So many paths are compared in Python in less time than Arrow's functions take to load."""
_OF_DESCRIPTOR: Final = ("storage_type", "path_or_inline", "size_in_bytes", "cardinality", "offset")

PUBLIC_COLUMNS: Final = tuple(SCHEMA.names[:13])
"""The columns that `Snapshot.files` shows."""


class FileSource(Protocol):
    """Some files, whose columns can be read one by one."""

    @property
    def num_rows(self) -> int:
        """The number of files."""
        ...

    @property
    def num_bytes(self) -> int:
        """The approximate memory of the source."""
        ...

    def chunks(self, names: Sequence[str]) -> list[list[pa.Array]]:
        """Read columns of `SCHEMA`, in the requested order, each in one array or several."""
        ...

    def statistics(self, leaves: Sequence[StatisticsLeaf]) -> Iterator[ParsedTexts]:
        """Read the statistics of some columns, some files at a time."""
        ...

    def present(self, leaves: Sequence[StatisticsLeaf]) -> Sequence[StatisticsLeaf]:
        """Return the columns of which a file may state something: of many columns, those that are in statistics."""
        ...

    def may_have_empty_values(self) -> bool:
        """Return False if no file has an empty string as a partition value."""
        ...

    def find(self, keys: Collection[str]) -> list[tuple[int, str, str | None]]:
        """Return the files whose path is one of the keys: row, path, deletion-vector id."""
        ...

    def without(self, places: Sequence[int]) -> FileSource:
        """Return the same files without those at some rows that `find` returned."""
        ...

    def around(self, start: int, stop: int) -> tuple[FileSource, int]:
        """Return a smaller source that has the files from a row on, up to another, and the row of its first file."""
        ...


class LogicalFiles:
    """Files of several sources, one after the other; each column is read once and stays in memory.

    Args:
        overlaid: Returns the other files that readers take for live: see
            `explorer.core.log.contested.ContestedFiles`.
        respelled: Files that other readers take for live, as their path was spelled otherwise where it was replaced or
            removed.
    """

    def __init__(
        self,
        sources: Iterable[FileSource],
        overlaid: Callable[[], Sequence[FileSource]] = lambda: (),
        respelled: FileSource | None = None,
    ) -> None:
        self._sources = tuple(sources)
        self.respelled = respelled if respelled is not None and respelled.num_rows else None
        self._find_overlaid = overlaid
        self._known: dict[str, pa.ChunkedArray] = {}
        self.num_rows = sum(source.num_rows for source in self._sources)

    @property
    def sources(self) -> tuple[FileSource, ...]:
        """The sources, for callers that read each in its own form."""
        return self._sources

    @property
    def overlaid(self) -> tuple[FileSource, ...]:
        """The other files that readers take for live."""
        return tuple(self._find_overlaid())

    def select(self, names: Sequence[str]) -> pa.Table:
        """Return a table of these columns of `SCHEMA`, in as many chunks as they were read in."""
        missing = [name for name in names if name not in self._known]
        if missing:
            parts = [source.chunks(missing) for source in self.sources]
            for place, name in enumerate(missing):
                chunks = [chunk for part in parts for chunk in part[place] if len(chunk)]
                self._known[name] = pa.chunked_array(chunks, SCHEMA.field(name).type)
        return pa.Table.from_arrays(
            [self._known[name] for name in names], schema=pa.schema([SCHEMA.field(name) for name in names])
        )

    def part(self, start: int, stop: int, names: Sequence[str]) -> pa.Table:
        """Return these columns of the files from a row on, up to another; few others are read for them."""
        schema = pa.schema([SCHEMA.field(name) for name in names])
        if all(name in self._known for name in names):
            return self.select(names).slice(start, max(0, stop - start))
        chunks: list[list[pa.Array]] = [[] for _ in names]
        before = 0
        for source in self.sources:
            first, end = max(start - before, 0), min(stop - before, source.num_rows)
            before += source.num_rows
            if first < end:
                some, at = source.around(first, end)
                for place, made in enumerate(some.chunks(names)):
                    chunks[place] += pa.chunked_array(made, schema.types[place]).slice(first - at, end - first).chunks
        columns = [pa.chunked_array(part, kind) for part, kind in zip(chunks, schema.types, strict=True)]
        return pa.Table.from_arrays(columns, schema=schema)

    def repeated_path(self) -> str | None:
        """Return the path of a file that is listed twice; None without any.

        A checkpoint may list one twice. Of what commits add, replay keeps the newest of each path, unless escapes hide
        that two are one.
        """
        match self.sources:
            case (LineSource() as added,) if not added.has_escapes:
                return None
        return repeated_text(self.select(["path"]).column(0))

    def rows_at(self, paths: pa.StringArray) -> npt.NDArray[np.int64]:
        """Return rows of the files whose path is one of these, ascending."""
        return rows_among(self.select(["path"]).column(0), paths)

    def take(self, rows: Integers, names: Sequence[str]) -> pa.Table:
        """Return these columns of some files, in the requested order."""
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        columns = [_taken(column.chunks, ordered, column.type) for column in self.select(names).columns]
        table = pa.Table.from_arrays(columns, schema=pa.schema([SCHEMA.field(name) for name in names]))
        return table if (np.diff(order) == 1).all() else table.take(int64s(np.argsort(order)))

    def column(self, name: str) -> pa.Array:
        """Return one column as a single array, which replaces its chunks.

        Raises:
            LimitExceeded: Its texts are more than one array can store.
        """
        (column,) = self.select([name]).columns
        if column.num_chunks != 1:
            column = self._known[name] = pa.chunked_array([one_array(column.chunks, column.type)])
        return column.chunk(0)


class LaterFiles(LogicalFiles):
    """Files that are opened at first need.

    Raises:
        CorruptTable: When they are opened: there are more or fewer of them.
    """

    def __init__(self, num_rows: int, open_files: Callable[[], LogicalFiles]) -> None:
        super().__init__(())
        self.num_rows = num_rows
        self._open = open_files

    @property
    def sources(self) -> tuple[FileSource, ...]:
        """The sources, for callers that read each in its own form."""
        if not self._sources and self.num_rows:
            opened = self._open()
            if opened.num_rows != self.num_rows:
                raise CorruptTable(
                    f"A checkpoint had {self.num_rows:,} files and has {opened.num_rows:,} now, though its name, size "
                    "and time are the same: it was rewritten in place. Clear the cache of the table with "
                    "`delta-explorer cache clear`, and read it again."
                )
            self._sources = opened.sources
        return self._sources


class LineSource:
    """Files as recorded in commits, in the order given."""

    def __init__(self, lines: list[AddLine]) -> None:
        self._lines = lines

    @property
    def lines(self) -> list[AddLine]:
        """The files as lines."""
        return self._lines

    @property
    def num_rows(self) -> int:
        """The number of files."""
        return len(self._lines)

    @property
    def has_escapes(self) -> bool:
        """Whether a path of them is percent-encoded."""
        return any("%" in line.path for line in self._lines)

    @property
    def num_bytes(self) -> int:
        """The approximate memory of the texts of the lines."""
        return sum(len(line.path) + len(line.stats) + len(line.partition_values) for line in self._lines)

    def chunks(self, names: Sequence[str]) -> list[list[pa.Array]]:
        """Return the same as `columns`, each in a list of one."""
        return [[column] for column in self.columns(names)]

    def columns(self, names: Sequence[str]) -> list[pa.Array]:
        """Build columns of `SCHEMA`.

        Raises:
            MalformedAction: Partition values, tags or statistics are not valid by the protocol.
        """
        return [_BUILDERS[name](self._lines) for name in names]

    def statistics(self, leaves: Sequence[StatisticsLeaf]) -> Iterator[ParsedTexts]:
        """Yield the statistics of some columns, of all files at once."""
        if self._lines:
            yield parse_texts(_stats(self._lines), leaves)

    def present(self, leaves: Sequence[StatisticsLeaf]) -> Sequence[StatisticsLeaf]:
        """Return the columns that are in the texts of the files."""
        return present_leaves(_stats(self._lines).drop_null(), leaves) if self._lines else ()

    def may_have_empty_values(self) -> bool:
        """Return False if no file has an empty string as a partition value."""
        return any(b'""' in bytes(line.partition_values) for line in self._lines)

    def find(self, keys: Collection[str]) -> list[tuple[int, str, str | None]]:
        """Return the files whose path is one of the keys: row, path, deletion-vector id."""
        keyed = ((row, canonical_key(line.path), line) for row, line in enumerate(self._lines))
        return [(row, key, line.vector_id) for row, key, line in keyed if key in keys]

    def around(self, start: int, stop: int) -> tuple[LineSource, int]:
        """Return the files from a row on, up to another."""
        return LineSource(self._lines[start:stop]), start

    def without(self, rows: Sequence[int]) -> LineSource:
        """Return the same files without those at some rows."""
        removed = set(rows)
        return LineSource([line for row, line in enumerate(self._lines) if row not in removed])


def files_to_come(adds: Iterable[Add]) -> pa.Table:
    """Return files that are stored for the table and in no version yet, in the columns of `SCHEMA`."""
    lines = [msgspec.json.decode(msgspec.json.encode(add.to_wire()), type=AddLine) for add in adds]
    return pa.Table.from_arrays(LineSource(lines).columns(SCHEMA.names), schema=SCHEMA)


def _taken(chunks: Sequence[pa.Array], rows: Integers, kind: pa.DataType) -> pa.Array:
    """Return rows, ascending, of a column in chunks; Arrow itself would read every chunk in full."""
    starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])
    bounds = np.searchsorted(rows, starts).tolist()
    parts = [
        chunk.take(int64s(rows[begin:end] - start))
        for chunk, start, begin, end in zip(chunks, starts, bounds, bounds[1:], strict=False)
        if begin < end
    ]
    return one_array(parts, kind)


def vector_descriptors(files: pa.Table, prefix: str = "") -> list[DeletionVectorDescriptor | None]:
    """Return the descriptor of each file's deletion vector, None without one.

    Args:
        files: With the columns of `SCHEMA` for location and size of the vector.
        prefix: The text before ``dv_`` in their names.
    """
    rows = zip(*(files.column(f"{prefix}dv_{name}").to_pylist() for name in _OF_DESCRIPTOR), strict=True)
    return [None if row[0] is None else DeletionVectorDescriptor(*row) for row in rows]


def repeated_text(column: pa.ChunkedArray) -> str | None:
    """Return a text that a column has more than once; None without any."""
    import pyarrow.compute as pc

    if pc.count_distinct(column).as_py() == len(column):
        return None
    return next((str(each["values"]) for each in column.value_counts().to_pylist() if each["counts"] > 1), None)


def rows_among(paths: pa.ChunkedArray, keys: pa.StringArray) -> Int64s:
    """Return rows of a column of paths that equal one of the keys, ascending, as a NumPy array."""
    if len(paths) <= _FEW_PATHS:
        wanted = frozenset(keys.to_pylist())
        return np.array([row for row, path in enumerate(paths.to_pylist()) if path in wanted], np.int64)
    import pyarrow.compute as pc

    matches = [flags(chunk) for chunk in pc.is_in(paths, value_set=keys).chunks]
    return np.flatnonzero(np.concatenate([np.zeros(0, bool), *matches]))


def decode_map(raw: msgspec.Raw, line: AddLine | RemoveLine, name: str) -> dict[str, str | None] | None:
    """Decode a map member of a file action; an absent one is None.

    A number or a boolean in place of a string is read as its text, as all clients do.

    Raises:
        MalformedAction: It is not an object of strings, numbers and booleans.
    """
    try:
        return _decode(_VALUES, raw, line, name)
    except MalformedAction:
        scalars = _scalars(raw)
        if scalars is None:
            raise
        return scalars


_STATS_TEXT: Final = msgspec.json.Decoder(str | None)
_VALUES: Final = msgspec.json.Decoder(dict[str, str | None] | None)
_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _scalars(raw: msgspec.Raw) -> dict[str, str | None] | None:
    """Return the texts of an object whose values are strings, numbers, booleans and nulls; None for anything else."""
    try:
        members = _MEMBERS.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    texts = {name: bytes(value) for name, value in members.items()}
    if any(text[:1] in (b"{", b"[") for text in texts.values()):
        return None
    return {
        name: _STATS_TEXT.decode(text) if text[:1] in (b'"', b"n") else text.decode() for name, text in texts.items()
    }


def _paths(lines: Sequence[AddLine]) -> pa.Array:
    return strings([canonical_key(line.path) for line in lines])


def _partition_values(lines: Sequence[AddLine]) -> pa.Array:
    return string_maps([value or {} for value in _maps(lines, "partition_values", "partitionValues")])


def _stats(lines: Sequence[AddLine]) -> pa.Array:
    return strings([_decode(_STATS_TEXT, line.stats, line, "stats") for line in lines])


def _of_vector(
    member: Callable[[DeletionVectorDescriptor], _T], column: Callable[[Sequence[_T | None]], pa.Array]
) -> Callable[[Sequence[AddLine]], pa.Array]:
    def build(lines: Sequence[AddLine]) -> pa.Array:
        vectors = (line.deletion_vector for line in lines)
        return column([None if vector is None else member(vector) for vector in vectors])

    return build


_BUILDERS: Final[dict[str, Callable[[Sequence[AddLine]], pa.Array]]] = {
    "path": _paths,
    "raw_path": lambda lines: strings([line.path for line in lines]),
    "partition_values": _partition_values,
    "size": lambda lines: int64s([line.size for line in lines]),
    "modification_time": lambda lines: int64s([line.modification_time for line in lines]),
    "data_change": lambda lines: bools([line.data_change is not False for line in lines]),
    "num_records": lambda lines: int64s([count_of_line(line.stats) for line in lines]),
    "dv_unique_id": _of_vector(lambda vector: vector.unique_id, strings),
    "dv_storage_type": _of_vector(lambda vector: vector.storage_type, strings),
    "dv_cardinality": _of_vector(lambda vector: vector.cardinality, int64s),
    "base_row_id": lambda lines: int64s([line.base_row_id for line in lines]),
    "default_row_commit_version": lambda lines: int64s([line.default_row_commit_version for line in lines]),
    "tags": lambda lines: string_maps(_maps(lines, "tags", "tags")),
    "dv_path_or_inline": _of_vector(lambda vector: vector.path_or_inline_dv, strings),
    "dv_offset": _of_vector(lambda vector: vector.offset, int32s),
    "dv_size_in_bytes": _of_vector(lambda vector: vector.size_in_bytes, int32s),
    "stats": _stats,
}


def _maps(lines: Sequence[AddLine], member: str, name: str) -> list[dict[str, str | None] | None]:
    """Decode map members, each distinct text once."""
    known: dict[bytes, dict[str, str | None] | None] = {b"": None}
    values = []
    for line in lines:
        raw = getattr(line, member)
        text = bytes(raw)
        if text not in known:
            known[text] = decode_map(raw, line, name)
        values.append(known[text])
    return values


def _decode(decoder: msgspec.json.Decoder[_T], raw: msgspec.Raw, line: AddLine | RemoveLine, name: str) -> _T | None:
    if not raw:
        return None
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedAction(
            f"The {name} of the file {line.path} is not valid by the protocol: {error}. Run verify to find the "
            "commit with the action, and restore it from a backup.",
            path=line.path,
        ) from error
