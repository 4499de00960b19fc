"""Members of the file actions of a checkpoint -> columns of `explorer.core.protocol.logical_files.SCHEMA`.

Protocol sections: Checkpoints, Checkpoint Schema. Invariants: a missing member reads as null (CKPT-010), but
``dataChange`` as true; where only ``stats_parsed`` exists, statistics are rebuilt from it (CKPT-019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import as_type, string_maps, strings, validity
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.logical_files import MAP, SCHEMA
from explorer.core.protocol.record_counts import counts_of_column

Values = dict[str, pa.Array]
"""Members of an action by name, each an array with the action's nulls applied."""

_MEMBERS: Final[dict[str, tuple[str, ...]]] = {
    "path": ("path",),
    "raw_path": ("path",),
    "partition_values": ("partitionValues",),
    "size": ("size",),
    "modification_time": ("modificationTime",),
    "data_change": ("dataChange",),
    "num_records": ("stats_parsed.numRecords",),
    "dv_unique_id": ("deletionVector",),
    "dv_storage_type": ("deletionVector",),
    "dv_cardinality": ("deletionVector",),
    "base_row_id": ("baseRowId",),
    "default_row_commit_version": ("defaultRowCommitVersion",),
    "tags": ("tags",),
    "dv_path_or_inline": ("deletionVector",),
    "dv_offset": ("deletionVector",),
    "dv_size_in_bytes": ("deletionVector",),
    "stats": ("stats", "stats_parsed"),
}
"""The members of the ``add`` struct that each column is made of; ``num_records`` may also need ``stats``."""

# The number of bytes of the paths' text that are searched at once.
_SLICE: Final = 1 << 16
_SLASH, _DOT = b"/."

_EMPTY: Final = strings([""])[0]

_OF_VECTOR: Final = {
    "dv_storage_type": "storageType",
    "dv_cardinality": "cardinality",
    "dv_path_or_inline": "pathOrInlineDv",
    "dv_offset": "offset",
    "dv_size_in_bytes": "sizeInBytes",
}


def members_of(names: Sequence[str], members: frozenset[str]) -> list[str]:
    """Return members of ``add`` that columns are made of, except paths.

    Args:
        names: Columns of `explorer.core.protocol.logical_files.SCHEMA`.
        members: What the file has, members of ``stats_parsed`` with a dot.
    """
    wanted = {member for name in names for member in _MEMBERS[name]} - {"path"}
    if "stats_parsed" in wanted:
        wanted -= {"stats_parsed.numRecords"}
    return sorted(wanted & members)


def column_of(name: str, length: int, values: Values, read_counts: Callable[[], pa.Array]) -> pa.Array:
    """Make a column, other than a path.

    Args:
        values: The members that `members_of` asks for, as far as the file has them.
        read_counts: Reads the counts in the member ``stats``, called only if needed.
    """
    match name:
        case "num_records":
            return _counts(values, read_counts)
        case "stats":
            return texts_of(plain("stats", pa.string(), length, values), values.get("stats_parsed"))
        case "dv_unique_id":
            vectors = _vectors(values)
            return pa.nulls(length, pa.string()) if vectors is None else unique_ids(vectors)
        case "data_change":
            flags = plain("dataChange", pa.bool_(), length, values)
            return flags.fill_null(True) if flags.null_count else flags
        case "partition_values":
            return _empty_for_null(plain("partitionValues", MAP, length, values))
        case "tags":
            return plain("tags", MAP, length, values)
        case _ if name in _OF_VECTOR:
            kind, vectors = SCHEMA.field(name).type, _vectors(values)
            return pa.nulls(length, kind) if vectors is None else _member(vectors, _OF_VECTOR[name], kind)
        case _:
            return plain(_MEMBERS[name][0], SCHEMA.field(name).type, length, values)


def plain(member: str, kind: pa.DataType, length: int, values: Values) -> pa.Array:
    """Return a member as it is, null where the file does not have it."""
    if member not in values:
        return pa.nulls(length, kind)
    return as_type(values[member], kind)


def struct_with_nulls(parsed: pa.StructArray) -> pa.StructArray:
    """Return the column ``stats_parsed``, also null where all its members are, which some writers use for null."""
    counts = _member(parsed, "numRecords", pa.int64())
    if not counts.null_count:
        return parsed
    import pyarrow.compute as pc

    return pc.if_else(counts.is_valid(), parsed, pa.nulls(1, parsed.type)[0])


def texts_of(texts: pa.StringArray, parsed: pa.StructArray | None) -> pa.StringArray:
    """Return statistics as texts, rebuilt from ``stats_parsed`` where there is none (CKPT-019)."""
    if parsed is None or not texts.null_count:
        return texts
    import pyarrow.compute as pc

    rebuilt = pc.and_(texts.is_null(), parsed.is_valid())
    values = strings([_as_json(value) for value in parsed.filter(rebuilt).to_pylist()])
    return pc.replace_with_mask(texts, rebuilt, values) if len(values) else texts


def _counts(values: Values, read_counts: Callable[[], pa.Array]) -> pa.Array:
    """Return counts of ``stats_parsed``, and of ``stats`` where these are null."""
    texts = values.get("stats")
    of_texts = read_counts if texts is None else partial(counts_of_column, as_type(texts, pa.string()))
    parsed = values.get("stats_parsed")
    if parsed is None:
        return of_texts()
    counts = _member(parsed, "numRecords", pa.int64())
    return _or_else(counts, of_texts()) if counts.null_count else counts


def _empty_for_null(maps: pa.MapArray) -> pa.MapArray:
    """Return the same with an empty map for null, as for an ``add`` of a commit without one."""
    if not maps.null_count:
        return maps
    offsets = np.frombuffer(maps.buffers()[1], np.int32)[maps.offset : maps.offset + len(maps) + 1]
    if (np.diff(offsets)[~validity(maps)] == 0).all():
        entries = pa.StructArray.from_arrays([maps.keys, maps.items], fields=[MAP.key_field, MAP.item_field])
        return pa.Array.from_buffers(MAP, len(maps), [None, pa.py_buffer(offsets)], children=[entries])
    return string_maps([dict(entries or ()) for entries in maps.to_pylist()])


def _vectors(values: Values) -> pa.StructArray | None:
    """Return the member ``deletionVector``, None where no file has one.

    Raises:
        ValueError: One has no location of its vector; reading without it would show masked rows.
    """
    vectors = values.get("deletionVector")
    if vectors is None or vectors.null_count == len(vectors):
        return None
    import pyarrow.compute as pc

    kinds, places = (_member(vectors, name, pa.string()).is_valid() for name in ("storageType", "pathOrInlineDv"))
    masks = _member(vectors, "cardinality", pa.int64()).is_valid()
    if pc.any(pc.or_(pc.xor(kinds, places), pc.and_not(masks, kinds))).as_py():
        raise ValueError("a deletion vector lacks its storageType or pathOrInlineDv")
    return vectors


def _member(struct: pa.StructArray, name: str, kind: pa.DataType) -> pa.Array:
    """Return a member of a struct column with the struct's nulls applied."""
    if struct.type.get_field_index(name) < 0:
        return pa.nulls(len(struct), kind)
    values = struct.flatten()[struct.type.get_field_index(name)]
    return as_type(values, kind)


def _or_else(first: pa.Array, second: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    return pc.coalesce(first, second)


def decoded_paths(paths: pa.StringArray) -> pa.StringArray:
    """Decode a column of paths; the column itself where nothing needs decoding."""
    if not len(paths) or not _any_special(paths):
        return paths
    return strings([None if path is None else canonical_key(path) for path in paths.to_pylist()])


def _any_special(paths: pa.StringArray) -> bool:
    """Return whether any path may have an escape, a scheme, or a segment that is empty or of dots, by its raw bytes."""
    offsets = np.frombuffer(paths.buffers()[1], np.int32)[paths.offset : paths.offset + len(paths) + 1]
    data = memoryview(paths.buffers()[2] or b"")
    slices = (bytes(data[start : start + _SLICE + 1]) for start in range(int(offsets[0]), int(offsets[-1]), _SLICE))
    return any(b"%" in part or b":" in part or _has_odd_segments(part) for part in slices)


def _has_odd_segments(part: bytes) -> bool:
    letters = np.frombuffer(part, np.uint8)
    slashes = letters == _SLASH
    return bool((slashes[1:] & (slashes[:-1] | (letters[:-1] == _DOT))).any())


def unique_ids(vectors: pa.StructArray) -> pa.Array:
    """Return the identity of each deletion vector of a column, null where there is none."""
    import pyarrow.compute as pc

    kinds, locations = (_member(vectors, name, pa.string()) for name in ("storageType", "pathOrInlineDv"))
    offsets = _member(vectors, "offset", pa.int32())
    heads = pc.binary_join_element_wise(kinds, locations, _EMPTY)
    if offsets.null_count == len(offsets):
        return heads
    with_offsets = pc.binary_join_element_wise(heads, offsets.cast(pa.string()), strings(["@"])[0])
    return pc.if_else(offsets.is_valid(), with_offsets, heads)


_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def _as_json(parsed: dict[str, object] | None) -> str | None:
    """Return statistics of a struct as JSON; both spellings of the null counter are read (D-09)."""
    statistics = {name: _prune(item) for name, item in (parsed or {}).items() if item is not None}
    if "nullCounts" in statistics:
        statistics.setdefault("nullCount", statistics.pop("nullCounts"))
    return _ENCODER.encode(statistics).decode() if statistics else None


def _prune(value: object) -> object:
    """Drop nulls at every depth and encode typed values as statistics in JSON do."""
    match value:
        case dict():
            return {name: _prune(item) for name, item in value.items() if item is not None}
        case bytes():
            return value.decode("latin-1")
        case _:
            return value
