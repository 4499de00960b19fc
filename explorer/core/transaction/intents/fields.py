"""Struct fields of new columns and new tables: what an intent may say of them.

Protocol sections: Schema Serialization Format, Identity Columns, Generated Columns, Default Columns. Invariants: keys
of field metadata that carry a meaning of the protocol are allowed only where named; CHAR and VARCHAR become strings
with their length in the metadata (SCHEMA-021); a void type is allowed only where files can do without it (SCHEMA-015);
the metadata of an identity column is complete (IDENT-001); a generated column is computed from plain columns of the
same row, always to the same value (GENCOL-001); a default is a constant and needs its feature (DEFCOL-001).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import JsonObject, JsonValue, decode_json, encode_json
from explorer.core.protocol.schema import field_metadata
from explorer.core.protocol.schema.char_types import char_type_text
from explorer.core.protocol.schema.data_types import (
    DataType,
    InvalidType,
    PrimitiveType,
    StructField,
    StructType,
    has_misplaced_void,
    parse_type,
)
from explorer.core.protocol.schema.field_metadata import (
    CHAR_VARCHAR,
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    IDENTITY_ALLOW_EXPLICIT_INSERT,
    IDENTITY_START,
    IDENTITY_STEP,
)
from explorer.core.protocol.schema.nested_types import nested_types
from explorer.core.protocol.sql.stored_expressions import check_stored_expression, expression_columns, unknown_columns
from explorer.core.protocol.table_features import feature_of_type
from explorer.core.protocol.table_properties.registry import FEATURE_PREFIX

_MEMBERS: Final = ("name", "type", "nullable", "metadata")
_DEFAULTS: Final = (field_metadata.CURRENT_DEFAULT, field_metadata.EXISTS_DEFAULT)


def read_field(value: JsonValue, place: str, allowed: Collection[str] = ()) -> StructField:
    """Read a struct field as in a schemaString.

    Args:
        value: The decoded JSON.

    Raises:
        InvalidIntent: It is not a field, or has a member that may not be given.
        UnsupportedFeature: It uses a type that this program does not know.
    """
    try:
        plain: JsonValue = decode_json(encode_json(value))
        return _field(plain, place, allowed)
    except (InvalidType, TypeError, UnicodeError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidIntent(f"The {place} cannot be read: {error}.", field=place) from error


def features_of_types(kinds: Iterable[DataType]) -> tuple[str, ...]:
    """Return the features that types need."""
    names = [part.name for kind in kinds for part in nested_types(kind) if isinstance(part, PrimitiveType)]
    return tuple(dict.fromkeys(needed for needed in map(feature_of_type, names) if needed is not None))


def _field(value: JsonValue, place: str, allowed: Collection[str]) -> StructField:
    if not isinstance(value, dict):
        raise InvalidIntent(f"A column must be an object with {', '.join(_MEMBERS)}, not {value!r}.", field=place)
    _check_members(value, place)
    name = value.get("name")
    if not isinstance(name, str) or "type" not in value:
        needs = f"A column needs name and type; its members are {', '.join(_MEMBERS)}."
        raise InvalidIntent(needs, field=place, allowed=_MEMBERS)
    nullable, metadata = value.get("nullable", True), value.get("metadata", {})
    if not isinstance(nullable, bool) or not isinstance(metadata, dict):
        raise InvalidIntent(f"In {name!r}, nullable must be true or false and metadata an object.", field=place)
    kind = parse_type(value["type"])
    _check_nested(value["type"], place)
    _check_keys(metadata, name, place, allowed)
    for inner in (field for part in nested_types(kind) if isinstance(part, StructType) for field in part.fields):
        _check_keys(inner.metadata, inner.name, place, ())
    _check_void(kind, name, place)
    text = char_type_text(value["type"])
    return StructField(name, kind, nullable, metadata if text is None else {**metadata, CHAR_VARCHAR: text})


def _check_members(field: JsonObject, place: str) -> None:
    unknown = [name for name in field if name not in _MEMBERS]
    if unknown:
        raise InvalidIntent(
            f"A column has no member {unknown[0]!r}; its members are {', '.join(_MEMBERS)}.",
            field=place,
            allowed=_MEMBERS,
        )


def _check_nested(kind: JsonValue, place: str) -> None:
    """Check that nested fields have no unknown member, such as a misspelt one."""
    match kind:
        case {"type": "array", "elementType": element}:
            _check_nested(element, place)
        case {"type": "map", "keyType": key, "valueType": item}:
            _check_nested(key, place)
            _check_nested(item, place)
        case {"type": "struct", "fields": [*fields]}:
            for field in fields:
                assert isinstance(field, dict), "the type was parsed, so its fields are objects"
                _check_members(field, place)
                _check_nested(field["type"], place)
        case _:
            return


def _check_keys(metadata: JsonObject, name: str, place: str, allowed: Collection[str]) -> None:
    for key, value in metadata.items():
        if key in allowed:
            continue
        if key in _DEFAULTS:
            raise InvalidIntent(
                f"A default cannot be given in the command that adds {name!r} (DEFCOL-002): existing rows would "
                "not have it. Add the column, then set its default with an engine that writes it.",
                field=place,
                found=key,
            )
        if key.startswith(field_metadata.PREFIX) or key == CHAR_VARCHAR:
            raise InvalidIntent(
                f"The metadata key {key!r} of {name!r} belongs to the protocol and cannot be given here.",
                field=place,
                found=key,
            )
        if not _is_read(value) or (key == "comment" and not isinstance(value, str | None)):
            kinds = "a text, a number, true, false, an object, or a list of one of these"
            what = "a text" if key == "comment" else kinds
            raise InvalidIntent(
                f"The metadata {key!r} of {name!r} must be {what}: engines cannot open a table with anything else.",
                field=place,
                found=key,
            )


def _is_read(value: JsonValue) -> bool:
    """Return whether engines read a value of field metadata: Spark types a list by its first item, which is no list."""
    match value:
        case dict():
            return all(map(_is_read, value.values()))
        case list():
            kinds = {float if isinstance(item, Decimal) else type(item) for item in value}
            return len(kinds) < 2 and not kinds & {list, type(None)} and all(map(_is_read, value))
        case _:
            return True


def _check_void(kind: DataType, name: str, place: str) -> None:
    is_empty = any(isinstance(part, StructType) and not part.fields for part in nested_types(kind))
    if is_empty or has_misplaced_void(kind):
        raise InvalidIntent(
            f"The type of {name!r} has void inside an array or a map, or a struct with nothing else: no file can "
            "hold it.",
            field=place,
        )


IDENTITY_KEYS: Final = (IDENTITY_START, IDENTITY_STEP, IDENTITY_ALLOW_EXPLICIT_INSERT)
SPECIAL_KEYS: Final = (*IDENTITY_KEYS, GENERATION_EXPRESSION, CURRENT_DEFAULT)
"""The protocol's keys that the metadata of a new table's top-level columns may hold."""

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_FIELD: Final = "schema"


def features_of_columns(schema: StructType) -> tuple[str, ...]:
    """Return the features that identity and generated columns of a schema need."""
    keys = {key for field in schema.fields for key in field.metadata}
    features = ["generatedColumns"] if GENERATION_EXPRESSION in keys else []
    return (*features, "identityColumns") if keys & {*IDENTITY_KEYS} else tuple(features)


def check_special_columns(schema: StructType, partition: Collection[str], features: Collection[str]) -> None:
    """Check the metadata of all top-level columns.

    Raises:
        InvalidIntent: A column's metadata is incomplete, contradicts itself, or is not allowed there.
    """
    for field in schema.fields:
        kinds = [
            name
            for name, keys in (
                ("identity", IDENTITY_KEYS),
                ("generated", (GENERATION_EXPRESSION,)),
                ("default", (CURRENT_DEFAULT,)),
            )
            if any(key in field.metadata for key in keys)
        ]
        if len(kinds) > 1:
            raise _bad(field, f"is {' and '.join(kinds)} at once")
        for kind in kinds:
            if kind == "identity":
                _check_identity(field, partition)
            elif kind == "generated":
                _check_generated(field, schema)
            else:
                _check_default(field, features)


def _check_identity(field: StructField, partition: Collection[str]) -> None:
    start, step, explicit = (field.metadata.get(key) for key in IDENTITY_KEYS)
    for key, value in ((IDENTITY_START, start), (IDENTITY_STEP, step)):
        if not isinstance(value, int) or isinstance(value, bool) or not _LEAST <= value <= _GREATEST:
            raise _bad(field, f"needs an integer as {key}, not {value!r} (IDENT-001)")
    if step == 0:
        raise _bad(field, "cannot count in steps of 0 (IDENT-001)")
    if not isinstance(explicit, bool):
        raise _bad(field, f"needs true or false as {IDENTITY_ALLOW_EXPLICIT_INSERT} (IDENT-001)")
    if field.type != PrimitiveType("long"):
        raise _bad(field, "is an identity column, which has the type long")
    if field.name in partition:
        raise _bad(field, "is an identity column, which cannot be a partition column")


def _check_generated(field: StructField, schema: StructType) -> None:
    text = _text(field, GENERATION_EXPRESSION)
    clock = check_stored_expression(text, _FIELD)
    if clock:
        raise _bad(field, f"calls {clock[0]}, so its value would change from one reading to the next")
    unknown = unknown_columns(text, schema)
    if unknown:
        raise _bad(field, f"is computed from {unknown[0]}, which the table does not have")
    if field.type == PrimitiveType("variant"):
        raise _bad(field, "cannot be computed: the result may not be a variant (GENCOL-003)")
    computed = {other.name.lower() for other in schema.fields if GENERATION_EXPRESSION in other.metadata}
    used = [path[0] for path in expression_columns(text) if path[0].lower() in computed]
    if used:
        raise _bad(field, f"is computed from {used[0]}, which is itself computed")


def _check_default(field: StructField, features: Collection[str]) -> None:
    text = _text(field, CURRENT_DEFAULT)
    if "allowColumnDefaults" not in features:
        raise InvalidIntent(
            f"The column {field.name!r} has a default, which needs the feature allowColumnDefaults: add the property "
            f"{FEATURE_PREFIX}allowColumnDefaults = supported.",
            field=_FIELD,
        )
    check_stored_expression(text, _FIELD)
    unknown = unknown_columns(text, StructType())
    if unknown:
        raise _bad(field, f"has a default that is not a constant: {text!r} names {unknown[0]} (DEFCOL-001)")
    if field.type == PrimitiveType("variant") and text.strip().lower() != "null":
        raise _bad(field, "is a variant, whose only default is null (DEFCOL-004)")


def _text(field: StructField, key: str) -> str:
    value = field.metadata[key]
    if not isinstance(value, str):
        raise _bad(field, f"needs SQL text as {key}, not {value!r}")
    return value


def _bad(field: StructField, why: str) -> InvalidIntent:
    return InvalidIntent(f"The column {field.name!r} {why}.", field=_FIELD, column=field.name)
