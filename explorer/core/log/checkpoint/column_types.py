"""Types of the columns of checkpoints, compared with those that other clients accept.

Protocol section: Checkpoint Schema. This program casts what it reads; delta-spark takes a 32-bit integer for a 64-bit
one and no other substitute, and clients built on delta-kernel take none. Invariant: a missing column is unusual only
where the protocol requires it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

_LONG: Final = (pa.int64(), pa.int32())
_INTEGER: Final = (pa.int32(),)
_FLAG: Final = (pa.bool_(),)
_STRING: Final = (pa.string(), pa.large_string(), pa.string_view())
_EXPECTED: Final[dict[tuple[str, str], tuple[pa.DataType, ...]]] = {
    ("add", "path"): _STRING,
    ("add", "size"): _LONG,
    ("add", "modificationTime"): _LONG,
    ("add", "dataChange"): _FLAG,
    ("add", "stats"): _STRING,
    ("add", "baseRowId"): _LONG,
    ("add", "defaultRowCommitVersion"): _LONG,
    ("remove", "path"): _STRING,
    ("remove", "deletionTimestamp"): _LONG,
    ("remove", "dataChange"): _FLAG,
    ("remove", "size"): _LONG,
    ("protocol", "minReaderVersion"): _INTEGER,
    ("protocol", "minWriterVersion"): _INTEGER,
    ("metaData", "id"): _STRING,
    ("metaData", "schemaString"): _STRING,
    ("metaData", "createdTime"): _LONG,
    ("txn", "appId"): _STRING,
    ("txn", "version"): _LONG,
    ("txn", "lastUpdated"): _LONG,
    ("domainMetadata", "domain"): _STRING,
    ("domainMetadata", "configuration"): _STRING,
    ("domainMetadata", "removed"): _FLAG,
}
_REQUIRED: Final = {
    "add": ("path", "partitionValues", "size", "modificationTime", "dataChange"),
    "protocol": ("minReaderVersion", "minWriterVersion"),
}


def unusual_columns(schema: pa.Schema) -> Iterator[str]:
    """Yield the unusual type of each column of a file of a checkpoint."""
    for (action, member), kinds in _EXPECTED.items():
        kind = _member(schema, action, member)
        if kind is not None and not pa.types.is_null(kind) and _plain(kind) not in kinds:
            yield f"{action}.{member} is of type {kind}, but {kinds[0]} in the protocol; other clients refuse it"
    for action, members in _REQUIRED.items():
        for member in members if schema.get_field_index(action) >= 0 else ():
            if _member(schema, action, member) is None:
                yield f"{action} has no {member}, which the protocol requires; other clients refuse it"
    maps = _member(schema, "add", "partitionValues")
    if maps is not None and pa.types.is_map(maps) and {_plain(maps.key_type), _plain(maps.item_type)} - {*_STRING}:
        yield f"add.partitionValues is of type {maps}, and not a map of strings; other clients refuse it"


def _member(schema: pa.Schema, action: str, member: str) -> pa.DataType | None:
    place = schema.get_field_index(action)
    kind = schema.field(place).type if place >= 0 else None
    if kind is None or not pa.types.is_struct(kind) or kind.get_field_index(member) < 0:
        return None
    return kind.field(member).type


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
