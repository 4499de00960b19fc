"""File actions as columns of a checkpoint, one struct for ``add`` and one for ``remove``.

Protocol sections: Checkpoints, Sidecar Files, Checkpoint Schema. Invariants: removes carry neither statistics nor tags
(CKPT-023); ``dataChange`` is false, because a checkpoint changes nothing; ``stats`` and ``stats_parsed`` exist as the
table's properties require (CKPT-016 to 018). Fields that this program does not know are preserved where a column can:
plain values and maps of texts, all of one type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from explorer.core.log.checkpoint.file_columns import texts_of
from explorer.core.log.writing.parsed_columns import TypedColumns, typed_columns
from explorer.core.log.writing.small_action_columns import column_type, value_column
from explorer.core.log.writing.writer_state import CarriedActions
from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.core.protocol.arrow.arrays import as_type, bools, int32s, int64s, mask, numbers, string_maps, strings
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.logical_files import MAP, LineSource, decode_map
from explorer.core.protocol.raw_actions import AddLine, RemoveLine, unknown_members
from explorer.core.protocol.table_properties.registry import STATS_AS_JSON, STATS_AS_STRUCT

_VECTOR: Final = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
        ("maxRowIndex", pa.int64()),
    ]
)
_ROW_IDS: Final = {"baseRowId": pa.int64(), "defaultRowCommitVersion": pa.int64()}
_ADD: Final = {
    "path": pa.string(),
    "partitionValues": MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "tags": MAP,
    "deletionVector": _VECTOR,
    **_ROW_IDS,
    "clusteringProvider": pa.string(),
}
_REMOVE: Final = {
    "path": pa.string(),
    "deletionTimestamp": pa.int64(),
    "dataChange": pa.bool_(),
    "extendedFileMetadata": pa.bool_(),
    "partitionValues": MAP,
    "size": pa.int64(),
    "deletionVector": _VECTOR,
    **_ROW_IDS,
}
_KNOWN_MEMBERS: Final = {
    "add": {*_ADD, "stats", "stats_parsed", "partitionValues_parsed"},
    "remove": {*_REMOVE, "stats", "stats_parsed", "partitionValues_parsed", "tags"},
}
"""Members that this program knows; all others are preserved as unknown."""


class CheckpointFileColumns:
    """Makes the file columns of one checkpoint.

    Raises:
        CorruptTable: A property that it uses has no readable value, or the schema is not readable.
        UnsupportedFeature: Typed statistics are due and the schema has a type this program does not read.
    """

    def __init__(self, carried: CarriedActions) -> None:
        properties = carried.state.metadata.configuration
        self._as_json = STATS_AS_JSON.of(properties)
        self._typed: TypedColumns | None = typed_columns(carried.state) if STATS_AS_STRUCT.of(properties) else None
        members = dict(_ADD)
        if self._as_json:
            members["stats"] = pa.string()
        if self._typed is not None:
            if self._typed.partitions:
                members["partitionValues_parsed"] = self._typed.partition_type()
            members["stats_parsed"] = self._typed.statistics_type()
        extra = {name: _unknown_types(carried, name) for name in ("add", "remove")}
        self.add_type = pa.struct([*members.items(), *extra["add"].items()])
        self.remove_type = pa.struct([*_REMOVE.items(), *extra["remove"].items()])

    def adds(self, chunk: pa.StructArray | list[AddLine]) -> pa.StructArray:
        """Return rows of ``add``.

        Raises:
            CorruptTable: A partition value is not of its column's type.
        """
        members = _of_adds(chunk) if isinstance(chunk, list) else _of_struct(chunk)
        texts, parsed = members.pop("stats", None), members.pop("stats_parsed", None)
        texts = pa.nulls(len(members["path"]), pa.string()) if texts is None else as_type(texts, pa.string())
        if self._as_json:
            members["stats"] = texts_of(texts, parsed)
        if self._typed is not None:
            members["stats_parsed"] = self._typed.statistics(texts, parsed)
            if self._typed.partitions:
                values = as_type(members["partitionValues"], MAP)
                members["partitionValues_parsed"] = self._typed.partition_values(values)
        return _struct(members, self.add_type)

    def removes(self, chunk: pa.StructArray | list[RemoveLine], after: int) -> pa.StructArray:
        """Return rows of ``remove``, without the tombstones whose time (ms since the epoch) is not after ``after``."""
        members = _of_removes(chunk) if isinstance(chunk, list) else _of_struct(chunk)
        rows = _struct(members, self.remove_type)
        times, _ = numbers(rows.field("deletionTimestamp"))
        return rows if (times > after).all() else rows.filter(mask(times > after))


def _struct(members: Mapping[str, pa.Array], kind: pa.DataType) -> pa.StructArray:
    length = len(members["path"])
    arrays = []
    for field in kind:
        member = members.get(field.name)
        if field.name == "dataChange":
            arrays.append(mask(np.zeros(length, bool)))
        elif member is None:
            arrays.append(pa.nulls(length, field.type))
        else:
            arrays.append(_vectors(member) if field.name == "deletionVector" else as_type(member, field.type))
    return pa.StructArray.from_arrays(arrays, fields=list(kind))


def _of_struct(chunk: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip([field.name for field in chunk.type], chunk.flatten(), strict=True))


def _vectors(column: pa.StructArray) -> pa.StructArray:
    """Return descriptors with all members; a struct of nulls, which some writers write for none, is null."""
    members = _of_struct(column)
    known = {
        field.name: as_type(members[field.name], field.type)
        if field.name in members
        else pa.nulls(len(column), field.type)
        for field in _VECTOR
    }
    return pa.StructArray.from_arrays(list(known.values()), fields=list(_VECTOR), mask=known["storageType"].is_null())


# --- of lines ---------------------------------------------------------------------------------------------------------

_OF_LINES: Final = {
    "path": "raw_path",
    "partitionValues": "partition_values",
    "size": "size",
    "modificationTime": "modification_time",
    "tags": "tags",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
    "stats": "stats",
}


def _of_adds(lines: list[AddLine]) -> dict[str, pa.Array]:
    plain = dict(zip(_OF_LINES, LineSource(lines).columns(list(_OF_LINES.values())), strict=True))
    return {
        **plain,
        "deletionVector": _descriptors([line.deletion_vector for line in lines]),
        "clusteringProvider": strings([line.clustering_provider for line in lines]),
        **_unknown_columns(lines),
    }


def _of_removes(lines: list[RemoveLine]) -> dict[str, pa.Array]:
    return {
        "path": strings([line.path for line in lines]),
        "deletionTimestamp": int64s([_storable(line.deletion_timestamp) for line in lines]),
        "extendedFileMetadata": bools([line.extended_file_metadata for line in lines]),
        "partitionValues": string_maps([decode_map(line.partition_values, line, "partitionValues") for line in lines]),
        "size": int64s([line.size for line in lines]),
        "deletionVector": _descriptors([line.deletion_vector for line in lines]),
        "baseRowId": int64s([line.base_row_id for line in lines]),
        "defaultRowCommitVersion": int64s([line.default_row_commit_version for line in lines]),
        **_unknown_columns(lines),
    }


def _storable(time: int | None) -> int | None:
    """Return a time, or None, which counts as missing (FILE-003), for one that does not fit 64 bits."""
    return time if time is None or -(1 << 63) <= time < 1 << 63 else None


def _descriptors(vectors: Sequence[DeletionVectorDescriptor | None]) -> pa.StructArray:
    arrays = [
        strings([None if vector is None else vector.storage_type for vector in vectors]),
        strings([None if vector is None else vector.path_or_inline_dv for vector in vectors]),
        int32s([None if vector is None else vector.offset for vector in vectors]),
        int32s([None if vector is None else vector.size_in_bytes for vector in vectors]),
        int64s([None if vector is None else vector.cardinality for vector in vectors]),
        int64s([None if vector is None else vector.max_row_index for vector in vectors]),
    ]
    return pa.StructArray.from_arrays(arrays, fields=list(_VECTOR), mask=arrays[0].is_null())


# --- unknown fields ---------------------------------------------------------------------------------------------------


def _unknown_types(carried: CarriedActions, action: str) -> dict[str, pa.DataType]:
    """Return names and types of the unknown fields of an action; one that would need two types is left out."""
    kinds_by_member: dict[str, set[pa.DataType | None]] = {}
    for name, part in carried.parts():
        if name == action:
            for member, kind in part.members_with_values().items():
                kinds_by_member.setdefault(member, set()).add(kind)
    for name, line in carried.lines():
        if name == action:
            for member, value in unknown_members(line).items():
                kinds_by_member.setdefault(member, set()).add(column_type(value))
    single = {member: kinds.pop() for member, kinds in kinds_by_member.items() if len(kinds) == 1}
    return {
        member: kind for member, kind in single.items() if kind is not None and member not in _KNOWN_MEMBERS[action]
    }


def _unknown_columns(lines: Sequence[AddLine | RemoveLine]) -> dict[str, pa.Array]:
    names = dict.fromkeys(name for line in lines for name in unknown_members(line))
    return {name: _unknown_column([unknown_members(line).get(name) for line in lines]) for name in names}


def _unknown_column(values: Sequence[JsonValue]) -> pa.Array:
    """Return a column of the values that have the type of the first; `_unknown_types` decides whether it is used."""
    return value_column(values, next(column_type(value) for value in values if value is not None))
