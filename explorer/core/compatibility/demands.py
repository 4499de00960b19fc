"""What a table requires of its clients besides versions and features: types, columns, properties, file locations.

Protocol sections: Schema Serialization Format, Partition Value Serialization, Change Metadata, Add File. Invariants: a
demand is derived from the metadata and the paths of files, also of a table that this program cannot read; each has a
name that facts of clients use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.log.contested import ContestedFiles
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.schema.data_types import KNOWN_TYPES, is_invalid_decimal
from explorer.core.protocol.table_features import supported_features
from explorer.core.protocol.table_properties import registry
from explorer.core.protocol.table_properties.table_property import (
    ChoiceProperty,
    Flag,
    Integer,
    Interval,
    TableProperty,
)

VOID_COLUMN: Final = "void column"
"""A column or a nested field of type void."""
PARTITION_CASE: Final = "partition column of another case"
"""A partition column that the schema spells in another case."""
NO_PARTITION_COLUMN: Final = "missing partition column"
"""A partition column that the schema does not have."""
PROPERTY_INTERVAL: Final = "property with an invalid interval"
"""A duration that every reader evaluates names months or years, or is not an interval."""
PROPERTY_VALUE: Final = "property with an invalid value"
"""A property that every writer needs has a value that cannot be read."""
PROPERTY_READ: Final = "property that readers need with an invalid value"
"""A property that delta-spark evaluates to read rows has a value that cannot be read."""
PARTITION_TWICE: Final = "partition column named twice"
"""The metadata names one column as a partition column more than once."""
ONLY_PARTITION_COLUMNS: Final = "no column beside partition columns"
"""Every column of the table is a partition column."""
EMPTY_STRING: Final = "empty partition string"
"""A live file has an empty string, which the protocol takes for NULL, as the value of a partition column of strings."""
LIKE_NAMES: Final = "columns that differ by case alone"
"""The schema has two columns of the same level whose names differ by case alone."""
UNSUPPORTED_MAPPING: Final = "column mapping without its feature"
"""The properties ask for a mapping of columns, and the protocol does not allow it."""
UNLISTED_TYPE: Final = "type without its feature"
"""A column has a type for which the protocol demands a feature, and the table does not list it."""
_FEATURE_OF_TYPE: Final = {"timestamp_ntz": "timestampNtz", "variant": "variantType"}
SCHEMA_MEMBER: Final = "schema without a required member"
"""A field, array or map of the schema lacks ``nullable``, ``containsNull`` or the like, or has it of another type."""
NO_FIELD_METADATA: Final = "field without metadata"
"""A field of the schema lacks ``metadata``."""
SCHEMA_EXTRA: Final = "schema with an unknown member"
"""A field of the schema has a member that the protocol does not define."""
_VOID: Final = ("void", "null")
_NEEDED: Final = (registry.COLUMN_MAPPING_MODE, registry.ROW_TRACKING)
_READ: Final = (registry.FILE_RETENTION, registry.SET_TRANSACTION_RETENTION)
_WRITTEN: Final = (
    registry.CHECKPOINT_INTERVAL, registry.NUM_INDEXED_COLS, registry.CHANGE_DATA_FEED, registry.ISOLATION_LEVEL,
)  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,9}")
FILE_FORMAT: Final = "file format other than Parquet"
"""The metadata names another format of data files."""
FILE_URL: Final = "file named by a URL"
"""A live file is named by a URL, as in a shallow clone, and not by its path below the table."""
OTHER_STORAGE: Final = "file in another storage"
"""The scheme of such a URL is that of another storage than the table's."""
UNKNOWN_STORAGE: Final = "file in an unknown storage"
"""The scheme of such a URL is none that this program opens."""
NO_URI: Final = "path that is not a URI"
"""The path of a live file is not the URI that the protocol requires."""
UNLISTED_CHANGE: Final = "type change that the protocol does not list"
"""A column was widened from a byte or a short to a decimal with fewer digits before the point than required."""
# What Java takes for no URI: characters that must be encoded, and a colon behind what is not a scheme.
_NO_URI: Final = (
    r"[\x00-\x20\"<>\\^`{|}\[\]\x7f]|%[^0-9A-Fa-f]|%[0-9A-Fa-f][^0-9A-Fa-f]|%[0-9A-Fa-f]?$"
    r"|^(?:[^A-Za-z/:][^/:]*|[A-Za-z][^/:]*[^A-Za-z0-9+.\-/:][^/:]*):"
)


def demands_of(metadata: Metadata) -> frozenset[str]:
    """Name what the metadata requires of clients besides the protocol."""
    schema = _schema(metadata)
    types = frozenset(_type_names(schema))
    demands = {f"type {name}" for name in types if name not in KNOWN_TYPES}
    if not types.isdisjoint(_VOID):
        demands.add(VOID_COLUMN)
    demands |= set(_oddities(schema))
    names = _columns(schema)
    columns = {column.lower() for column in names}
    if respelled_partitions(metadata):
        demands.add(PARTITION_CASE)
    if any(name.lower() not in columns for name in metadata.partition_columns):
        demands.add(NO_PARTITION_COLUMN)
    if len({name.lower() for name in metadata.partition_columns}) < len(metadata.partition_columns):
        demands.add(PARTITION_TWICE)
    if columns and columns <= {name.lower() for name in metadata.partition_columns}:
        demands.add(ONLY_PARTITION_COLUMNS)
    if len(columns) < len(names):
        demands.add(LIKE_NAMES)
    if _bad(metadata.configuration, _NEEDED):
        demands.add(PROPERTY_READ)
    if _bad(metadata.configuration, _READ):
        demands.add(PROPERTY_INTERVAL)
    if any(_stops_writes(row, metadata.configuration) for row in _WRITTEN):
        demands.add(PROPERTY_VALUE)
    if metadata.format.provider.lower() != "parquet":
        demands.add(FILE_FORMAT)
    return frozenset(demands)


def demands_beyond(protocol: Protocol, metadata: Metadata) -> frozenset[str]:
    """Name what the metadata uses and the protocol does not list, which clients take differently."""
    features, demands = supported_features(protocol), set[str]()
    if any(feature not in features for feature in _features_of_types(_schema(metadata))):
        demands.add(UNLISTED_TYPE)
    if "columnMapping" not in features and registry.COLUMN_MAPPING_MODE.of(metadata.configuration) in {"name", "id"}:
        demands.add(UNSUPPORTED_MAPPING)
    return frozenset(demands)


def _features_of_types(schema: JsonValue) -> Iterator[str]:
    return (_FEATURE_OF_TYPE[name] for name in _type_names(schema) if name in _FEATURE_OF_TYPE)


def demands_of_paths(paths: pa.ChunkedArray, root: str, storages: Mapping[str, str]) -> frozenset[str]:
    """Name what the paths of files demand of clients.

    Args:
        storages: The schemes that this program opens, in lower case, and the storage of each.
    """
    unencoded = frozenset({NO_URI} if len(paths_without_uri(paths)) else ())
    urls = pc.filter(paths, pc.match_substring_regex(paths, r"^[A-Za-z][A-Za-z0-9+.\-]*:/"))
    if not len(urls):
        return unencoded
    schemes = pc.list_element(pc.split_pattern(urls, ":", max_splits=1), 0).unique().to_pylist()
    used, home = {storages.get(scheme.lower()) for scheme in schemes}, storages.get(root.partition(":")[0].lower())
    demands = {OTHER_STORAGE: used != {home}, UNKNOWN_STORAGE: None in used}
    return unencoded | {FILE_URL, *(name for name, true in demands.items() if true)}


def demands_of_contested(contested: ContestedFiles | None) -> frozenset[str]:
    """Name what files demand of clients that some clients take differently."""
    return frozenset({EMPTY_STRING} if contested is not None and contested.column else ())


def paths_without_uri(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the paths, as the log has them, that are not URIs."""
    return paths.filter(pc.match_substring_regex(paths, _NO_URI))


def respelled_partitions(metadata: Metadata) -> dict[str, str]:
    """Return partition columns that differ from the schema's by case alone -> as the schema spells them."""
    if not metadata.partition_columns:
        return {}
    columns = _columns(_schema(metadata))
    by_case = {column.lower(): column for column in columns}
    return {
        name: by_case[name.lower()]
        for name in metadata.partition_columns
        if name not in columns and name.lower() in by_case
    }


def is_unreadable(row: TableProperty, value: str) -> bool:
    """Return whether a value of a property is one that not every client takes."""
    match row:
        case Interval():
            return not row.is_taken(value)
        case ChoiceProperty():
            return row.why_fixed is None and not row.is_taken(value)
        case Flag() | Integer():
            return row.why_fixed is None and bool(row.refusal(value))
        case _:
            return False


def _stops_writes(row: TableProperty, configuration: Mapping[str, str]) -> bool:
    """Whether delta-spark fails on a value at each write; numbers out of range it takes, but for a 0 to divide by."""
    if not row.is_set(configuration):
        return False
    value = configuration[row.key]
    if isinstance(row, Integer) and _NUMBER.fullmatch(value):
        return row == registry.CHECKPOINT_INTERVAL and int(value) == 0
    return is_unreadable(row, value)


def _bad(configuration: Mapping[str, str], rows: Iterable[TableProperty]) -> bool:
    return any(is_unreadable(row, configuration[row.key]) for row in rows if row.is_set(configuration))


def _schema(metadata: Metadata) -> JsonValue:
    try:
        decoded: JsonValue = json.loads(metadata.schema_string or "null")
    except (ValueError, RecursionError):
        return None
    return decoded


def _columns(schema: JsonValue) -> tuple[str, ...]:
    match schema:
        case {"fields": [*fields]}:
            return tuple(str(field["name"]) for field in fields if isinstance(field, dict) and "name" in field)
        case _:
            return ()


def _oddities(schema: JsonValue) -> Iterator[str]:
    """Yield what is odd about the form of a schema, which this program reads all the same."""
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case {"fields": [*fields]}:
                waiting += fields
            case {"name": str(), "type": kind, **rest}:
                waiting.append(kind)
                if not isinstance(rest.get("nullable"), bool) or rest.get("metadata", {}) is None:
                    yield SCHEMA_MEMBER
                if "metadata" not in rest:
                    yield NO_FIELD_METADATA
                if rest.keys() - {"nullable", "metadata"}:
                    yield SCHEMA_EXTRA
            case {"elementType": element, **rest}:
                waiting.append(element)
                if not isinstance(rest.get("containsNull"), bool):
                    yield SCHEMA_MEMBER
            case {"keyType": key, "valueType": item, **rest}:
                waiting += [key, item]
                if not isinstance(rest.get("valueContainsNull"), bool):
                    yield SCHEMA_MEMBER
            case _:
                continue


def _kind(name: str) -> str:
    """Return the name of a type without its parameters, and without the units of an interval."""
    if name == "decimal":
        return "decimal without digits"
    kind = name.partition("(")[0].strip()
    return "interval" if kind.startswith("interval ") else kind


def _type_names(schema: JsonValue) -> Iterator[str]:
    """Yield the names of all types of a schema, those of nested fields too."""
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case str() as name:
                yield name if is_invalid_decimal(name) else _kind(name)
            case {"fields": [*fields]}:
                waiting += [field.get("type") for field in fields if isinstance(field, dict)]
            case {"elementType": element}:
                waiting.append(element)
            case {"keyType": key, "valueType": item}:
                waiting += [key, item]
            case {"type": str() as name}:
                waiting.append(name)
            case _:
                continue
