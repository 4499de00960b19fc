"""Logical files as an Arrow table: one row a file, from commit lines or from a checkpoint.

Protocol section: Add File and Remove File. Invariants: every source gives the same columns (`SCHEMA`); ``path`` is
decoded once and ``raw_path`` stands as in the log; an unknown number is null, never 0 (STATS-002).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.columns import bools, int32s, int64s, string_maps, strings
from explorer.core.commits import AddLine
from explorer.core.errors import MalformedAction
from explorer.core.uris import canonical_key, needs_decoding

__all__ = [
    "PUBLIC_COLUMNS",
    "SCHEMA",
    "child",
    "decoded_paths",
    "empty_files",
    "from_checkpoint",
    "from_lines",
    "record_counts",
]

_MAP: Final = pa.map_(pa.string(), pa.string())

SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("raw_path", pa.string()),
        ("partition_values", _MAP),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("num_records", pa.int64()),
        ("dv_unique_id", pa.string()),
        ("dv_storage_type", pa.string()),
        ("dv_cardinality", pa.int64()),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("tags", _MAP),
        ("dv_path_or_inline", pa.string()),
        ("dv_offset", pa.int32()),
        ("dv_size_in_bytes", pa.int32()),
        ("stats", pa.string()),
    ]
)
"""Columns of a list of logical files; sizes in bytes, times in ms since the epoch."""

PUBLIC_COLUMNS: Final = SCHEMA.names[:13]
"""The columns that `Snapshot.files` shows."""


class _RecordCount(msgspec.Struct, rename="camel", gc=False):
    num_records: int | None = None


_STATS_TEXT: Final = msgspec.json.Decoder(str | None)
_RECORD_COUNT: Final = msgspec.json.Decoder(_RecordCount)
_VALUES: Final = msgspec.json.Decoder(dict[str, str | None] | None)


def empty_files() -> pa.Table:
    """A list of no files."""
    return SCHEMA.empty_table()


def from_lines(lines: Sequence[AddLine]) -> pa.Table:
    """Make the table of ``add`` lines, in their order.

    Raises:
        MalformedAction: Partition values, tags or statistics are not what the protocol says.
    """
    if not lines:
        return empty_files()
    stats = [_decode(_STATS_TEXT, line.stats, line, "stats") for line in lines]
    vectors = [line.deletion_vector for line in lines]
    raw_paths = strings([line.path for line in lines])
    arrays = [
        decoded_paths(raw_paths, [line.path for line in lines]),
        raw_paths,
        string_maps(_maps([line.partition_values for line in lines], lines, "partitionValues")),
        int64s([line.size for line in lines]),
        int64s([line.modification_time for line in lines]),
        bools([line.data_change is not False for line in lines]),
        int64s(record_counts(stats)),
        strings([None if dv is None else dv.unique_id for dv in vectors]),
        strings([None if dv is None else dv.storage_type for dv in vectors]),
        int64s([None if dv is None else dv.cardinality for dv in vectors]),
        int64s([line.base_row_id for line in lines]),
        int64s([line.default_row_commit_version for line in lines]),
        string_maps(_maps([line.tags for line in lines], lines, "tags", null=True)),
        strings([None if dv is None else dv.path_or_inline_dv for dv in vectors]),
        int32s([None if dv is None else dv.offset for dv in vectors]),
        int32s([None if dv is None else dv.size_in_bytes for dv in vectors]),
        strings(stats),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def from_checkpoint(adds: pa.StructArray, stats: pa.Array) -> pa.Table:
    """Make the table of a checkpoint's ``add`` structs (no null rows); a missing field reads as null (CKPT-010).

    Args:
        adds: The ``add`` column.
        stats: Statistics as JSON, one a row, rebuilt from ``stats_parsed`` where only these exist (CKPT-019).
    """
    count = len(adds)
    if not count:
        return empty_files()
    field = _FieldReader(adds)
    vectors = _FieldReader(field.struct("deletionVector"))
    raw_paths = field.get("path", pa.string())
    offsets = vectors.get("offset", pa.int32())
    kinds, places = vectors.get("storageType", pa.string()), vectors.get("pathOrInlineDv", pa.string())
    data_change = field.get("dataChange", pa.bool_())
    arrays = [
        decoded_paths(raw_paths, None),
        raw_paths,
        field.get("partitionValues", _MAP),
        field.get("size", pa.int64()),
        field.get("modificationTime", pa.int64()),
        data_change,
        int64s(record_counts(stats.to_pylist())),
        _unique_ids(kinds, places, offsets),
        kinds,
        vectors.get("cardinality", pa.int64()),
        field.get("baseRowId", pa.int64()),
        field.get("defaultRowCommitVersion", pa.int64()),
        field.get("tags", _MAP),
        places,
        offsets,
        vectors.get("sizeInBytes", pa.int32()),
        stats,
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def decoded_paths(raw_paths: pa.StringArray, texts: list[str] | None) -> pa.StringArray:
    """Decode a column of paths; the column itself where no path holds an escape, a scheme or a leading slash."""
    known = raw_paths.to_pylist() if texts is None else texts
    if not any(map(needs_decoding, known)):
        return raw_paths
    return strings([canonical_key(path) for path in known])


def record_counts(stats: Sequence[str | None]) -> list[int | None]:
    """``numRecords`` of statistics as JSON; null where they are absent, unreadable or lack it."""
    return [None if text is None else _record_count(text) for text in stats]


def _record_count(text: str) -> int | None:
    try:
        return _RECORD_COUNT.decode(text).num_records
    except msgspec.DecodeError:
        return None


def child(column: pa.StructArray, name: str) -> Any:
    """A member of a struct column with the parent's nulls applied."""
    import pyarrow.compute as pc

    return pc.struct_field(column, [column.type.get_field_index(name)])


class _FieldReader:
    """Reads the fields of a struct column by name, casting to the wanted type."""

    def __init__(self, column: pa.StructArray | None) -> None:
        self._column = column
        self._names = set() if column is None else {field.name for field in column.type}
        self._length = 0 if column is None else len(column)

    def get(self, name: str, kind: pa.DataType) -> pa.Array:
        if self._column is None or name not in self._names:
            return pa.nulls(self._length, kind)
        values = child(self._column, name)
        return values if values.type.equals(kind) else values.cast(kind)

    def struct(self, name: str) -> pa.StructArray:
        if self._column is None or name not in self._names:
            return pa.nulls(self._length, pa.struct([]))
        return child(self._column, name)


def _unique_ids(kinds: pa.StringArray, places: pa.StringArray, offsets: pa.Int32Array) -> pa.StringArray:
    if kinds.null_count == len(kinds):
        return pa.nulls(len(kinds), pa.string())
    rows = zip(kinds.to_pylist(), places.to_pylist(), offsets.to_pylist(), strict=True)
    return strings([None if k is None else f"{k}{p}" if o is None else f"{k}{p}@{o}" for k, p, o in rows])


def _maps(
    raws: list[msgspec.Raw], lines: Sequence[AddLine], name: str, *, null: bool = False
) -> list[dict[str, str | None] | None]:
    """Decode map members, each distinct text once."""
    known: dict[bytes, dict[str, str | None] | None] = {b"": None if null else {}}
    values = []
    for raw, line in zip(raws, lines, strict=True):
        text = bytes(raw)
        if text not in known:
            value = _decode(_VALUES, raw, line, name)
            known[text] = value if value is not None or null else {}
        values.append(known[text])
    return values


def _decode(decoder: msgspec.json.Decoder[Any], raw: msgspec.Raw, line: AddLine, name: str) -> Any:
    if not raw:
        return None
    try:
        return decoder.decode(raw)
    except msgspec.DecodeError as error:
        raise MalformedAction(
            f"The {name} of the file {line.path} is not what the protocol says: {error}. The add action is broken.",
            path=line.path,
        ) from error
