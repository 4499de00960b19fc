"""Columns that fill themselves in a new table: identity, generated and default columns.

Protocol sections: Identity Columns, Generated Columns, Default Columns. Invariants: their metadata is complete and
is valid (IDENT-001); a generated column is computed from plain columns of the same row, always to the same value
(GENCOL-001); a default is a constant and needs its feature (DEFCOL-001); only Spark can determine the type of an
expression.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField, StructType
from explorer.core.protocol.schema.field_metadata import (
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    IDENTITY_ALLOW_EXPLICIT_INSERT,
    IDENTITY_START,
    IDENTITY_STEP,
)
from explorer.core.protocol.sql.stored_expressions import check_stored_expression, expression_columns, unknown_columns
from explorer.core.protocol.table_properties.registry import FEATURE_PREFIX

__all__ = ["IDENTITY_KEYS", "SPECIAL_KEYS", "check_special_columns", "features_of_columns"]

IDENTITY_KEYS: Final = (IDENTITY_START, IDENTITY_STEP, IDENTITY_ALLOW_EXPLICIT_INSERT)
SPECIAL_KEYS: Final = (*IDENTITY_KEYS, GENERATION_EXPRESSION, CURRENT_DEFAULT)
"""The protocol's keys that the metadata of a new table's top-level columns may hold."""

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_FIELD: Final = "schema"


def features_of_columns(schema: StructType) -> tuple[str, ...]:
    """The features that identity and generated columns of a schema need."""
    keys = {key for field in schema.fields for key in field.metadata}
    found = ["generatedColumns"] if GENERATION_EXPRESSION in keys else []
    return (*found, "identityColumns") if keys & {*IDENTITY_KEYS} else tuple(found)


def check_special_columns(schema: StructType, partition: Collection[str], features: Collection[str]) -> None:
    """Check the metadata of all top-level columns.

    Args:
        schema: The schema of a new table.
        partition: Its partition columns.
        features: Features that were asked for by name.

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
            raise _bad(field, f"needs a whole number as {key}, not {value!r} (IDENT-001)")
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
