"""Changes of one column that rewrite no file: its comment, its position, a wider type; and the table's description.

Protocol sections: Change Metadata, Schema Serialization Format, Type Widening. Invariants: files stay as they are,
since readers match columns by name or by id, and readers widen narrow values; a column keeps its metadata; only type
changes that lose no value are allowed (TYPEWIDEN-003), only while the table allows them, and each is recorded in the
nearest struct field, where earlier ones stay (TYPEWIDEN-004). Lengths of CHAR and VARCHAR and the void type are not
covered by that feature and need none (SCHEMA-016, SCHEMA-021).
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.char_types import is_char_type, lengthens
from explorer.core.protocol.schema.data_types import (
    VOID,
    DataType,
    InvalidType,
    PrimitiveType,
    StructField,
    parse_type,
    type_name,
)
from explorer.core.protocol.schema.edit import (
    Column,
    children,
    edit_fields,
    find_column,
    position,
    position_text,
    replace_field,
    replace_type,
    struct_field,
    with_schema,
)
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, GENERATION_EXPRESSION, TYPE_CHANGES
from explorer.core.protocol.schema.type_widening import recorded_changes, widens
from explorer.core.protocol.table_features import missing_features
from explorer.core.protocol.table_properties.registry import TYPE_WIDENING
from explorer.core.transaction.guards.columns import char_guard, constraint_guard, generated_guard
from explorer.core.transaction.intents.fields import IDENTITY_KEYS, features_of_types
from explorer.core.transaction.intents.records import MoveColumn, SetColumnComment, SetDescription, WidenType
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.entry import change_parameters, column_document, parameter_text, proposes_alone
from explorer.core.versions.snapshot import Snapshot


def set_description(intent: SetDescription, snapshot: Snapshot) -> Proposal:
    """Set or remove the description; the reference writes it as a property named ``comment``."""
    before = snapshot.metadata.description
    text = intent.description or ""
    return Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": msgspec.json.encode({"comment": text}).decode()},
        metadata=msgspec.structs.replace(snapshot.metadata, description=intent.description),
        undo=f"Set the description to {before!r} again." if before else "Remove the description again.",
    )


def set_column_comment(intent: SetColumnComment, snapshot: Snapshot) -> Proposal:
    """Set or remove a column's comment.

    Raises:
        InvalidIntent: There is no such column, or it already has this comment.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    before = field.metadata.get("comment")
    if before == intent.comment:
        raise InvalidIntent(f"The comment of {column.name} is already {before!r}.", field="comment")
    metadata = {key: value for key, value in field.metadata.items() if key != "comment"}
    if intent.comment is not None:
        metadata["comment"] = intent.comment
    after = msgspec.structs.replace(field, metadata=metadata)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, after),
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        undo=f"Set the comment to {before!r} again." if before else "Remove the comment again.",
    )


def move_column(intent: MoveColumn, snapshot: Snapshot) -> Proposal:
    """Move a column among its siblings.

    Raises:
        InvalidIntent: There is no such column or position, or it is there already.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    siblings = children(snapshot.schema, column.path[:-1])
    others = [other for other in siblings if other.name != field.name]
    names = [other.name for other in others]
    place = position(intent.at, names)
    before = [other.name for other in siblings].index(field.name)
    if place == before:
        raise InvalidIntent(f"{column.name} is there already.", field="at")
    moved = [*others[:place], field, *others[place:]]
    spelt = char_guard(snapshot.schema, [column.path])
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, field) | {"position": position_text(place, names)},
        metadata=with_schema(snapshot.metadata, edit_fields(snapshot.schema, column.path[:-1], lambda _: moved)),
        guards=() if spelt is None else (spelt,),
        undo=f"Move it back: {position_text(before, names).lower() if not before else position_text(before, names)}.",
    )


_WIDEST_INTEGERS = {"byte": 10, "short": 10, "integer": 10, "long": 20}


def widen_type(intent: WidenType, snapshot: Snapshot) -> Proposal:
    """Change a column to a wider type.

    Raises:
        InvalidIntent: There is no such column or type, or the column has that type.
        UnsupportedFeature: The type is one that this program does not know.
    """
    column = find_column(snapshot.schema, intent.column)
    text = intent.type.strip().lower()
    kind = _read_type(text)
    if is_char_type(text) or (column.field is not None and is_char_type(column.field.metadata.get(CHAR_VARCHAR))):
        return _lengthened(snapshot, column, text)
    if kind == column.type:
        raise InvalidIntent(f"{column.name} is already {type_name(kind)}.", field="type")
    if column.type == VOID:
        return _retyped(snapshot, column, kind, ())
    guards = (_change_guard(column, kind), _switch_guard(snapshot), *_dependents(snapshot, column))
    return _retyped(snapshot, column, kind, guards)


def _read_type(text: str) -> DataType:
    try:
        return parse_type(text)
    except InvalidType as error:
        raise InvalidIntent(
            f"{text!r} is not a type that a column can be widened to. Write a simple type such as long, double, "
            "decimal(12,2) or varchar(20).",
            field="type",
        ) from error


def _retyped(snapshot: Snapshot, column: Column, kind: DataType, guards: tuple[GuardResult, ...]) -> Proposal:
    owner = find_column(snapshot.schema, column.owner).field
    assert owner is not None
    schema = replace_type(snapshot.schema, column.path, kind)
    if column.type != VOID:
        change: dict[str, object] = {"toType": type_name(kind), "fromType": type_name(column.type)}
        if column.path != column.owner:
            change["fieldPath"] = ".".join(column.path[len(column.owner) :])
        metadata = {**owner.metadata, TYPE_CHANGES: [*recorded_changes(owner), change]}
        schema = replace_field(schema, column.owner, lambda field: msgspec.structs.replace(field, metadata=metadata))
    protocol = with_features(snapshot.protocol, missing_features(features_of_types([kind]), snapshot.protocol))
    before = {} if column.field is None else column.field.metadata
    document = column_document(column.path, kind, nullable=column.nullable, metadata=before)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": parameter_text(document)},
        metadata=with_schema(snapshot.metadata, schema),
        protocol=None if protocol is snapshot.protocol else protocol,
        guards=guards,
        undo="A type cannot be narrowed again; restoring an earlier version gives the column its old type back.",
    )


def _lengthened(snapshot: Snapshot, column: Column, text: str) -> Proposal:
    """Return a longer VARCHAR, a CHAR as VARCHAR, or either as a plain string."""
    field = column.field
    before = str(field.metadata.get(CHAR_VARCHAR, type_name(column.type))) if field is not None else ""
    if field is None or len(column.path) > 1:
        raise InvalidIntent(
            f"{column.name} is inside another column, which spells out its CHAR and VARCHAR parts. Change it with "
            "the engine that created it.",
            field="column",
        )
    if before == text:
        raise InvalidIntent(f"{column.name} is already {before}.", field="type")
    metadata: JsonObject = {key: value for key, value in field.metadata.items() if key != CHAR_VARCHAR}
    if text != "string":
        metadata[CHAR_VARCHAR] = text
    after = StructField(field.name, PrimitiveType("string"), field.nullable, metadata)
    document = column_document(column.path, after.type, nullable=after.nullable, metadata=metadata)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": parameter_text(document)},
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        guards=(_length_guard(column, before, text),),
        undo="A length cannot be shortened again; restoring an earlier version gives the column its old length back.",
    )


def _length_guard(column: Column, before: str, after: str) -> GuardResult:
    evidence = {"column": column.name, "from": before, "to": after}
    if lengthens(before, after):
        return GuardResult("type-change", "pass", evidence | {"detail": "Every value stays valid."})
    detail = f"{before} cannot become {after}: existing values may not fit, or would have to be padded."
    remedy = "Choose varchar of at least the same length, or string."
    return GuardResult("type-change", "fail", evidence | {"detail": detail}, remedy)


def _change_guard(column: Column, kind: DataType) -> GuardResult:
    evidence = {"column": column.name, "from": type_name(column.type), "to": type_name(kind)}
    if widens(column.type, kind) and _wide_enough(column.type, kind):
        return GuardResult("type-change", "pass", evidence | {"detail": "No value is lost (TYPEWIDEN-003)."})
    detail = f"{evidence['from']} to {evidence['to']} is not a change that readers carry out on existing files."
    remedy = (
        "Integers grow to wider integers, to decimals with ten digits before the point (twenty from long) and, up to "
        "integer, to double; float to double; date to timestamp_ntz; decimals gain digits before and after the point. "
        "For any other change rewrite the table."
    )
    return GuardResult("type-change", "fail", evidence | {"detail": detail}, remedy)


def _wide_enough(before: DataType, after: DataType) -> bool:
    """Check that a decimal has the digits of the widest integer of the kind that it was, as the protocol demands."""
    if not (isinstance(before, PrimitiveType) and isinstance(after, PrimitiveType)) or after.name != "decimal":
        return True
    return after.precision - after.scale >= _WIDEST_INTEGERS.get(before.name, 0)


def _switch_guard(snapshot: Snapshot) -> GuardResult:
    on = TYPE_WIDENING.of(snapshot.metadata.configuration)
    supported = not missing_features(["typeWidening"], snapshot.protocol)
    evidence: dict[str, object] = {TYPE_WIDENING.key: str(on).lower(), "feature": supported}
    if on and supported:
        return GuardResult("type-widening", "pass", evidence | {"detail": "The table allows wider types."})
    return GuardResult(
        "type-widening",
        "fail",
        evidence | {"detail": "The table does not allow wider types (TYPEWIDEN-004)."},
        f"Set {TYPE_WIDENING} to true first; clients must then be able to read tables with this feature.",
    )


def _dependents(snapshot: Snapshot, column: Column) -> tuple[GuardResult, ...]:
    own = find_column(snapshot.schema, column.owner).field
    if own is not None and any(key in own.metadata for key in IDENTITY_KEYS):
        evidence = {"column": column.name, "detail": f"{column.name} is an identity column, which has the type long."}
        return (
            GuardResult("identity-columns", "fail", evidence, "Keep the type, or drop the column and add it again."),
        )
    if own is not None and GENERATION_EXPRESSION in own.metadata:
        evidence = {
            "expression": str(own.metadata[GENERATION_EXPRESSION]),
            "detail": f"{column.name} is computed, and its expression has that type.",
        }
        return (GuardResult("generated-columns", "fail", evidence, "Drop the generated column, and add it again."),)
    spelt = char_guard(snapshot.schema, [column.path])
    guards = (constraint_guard(snapshot, [column.path]), generated_guard(snapshot, [column.path]))
    return guards if spelt is None else (*guards, spelt)


PROPOSALS: Final = (
    proposes_alone(SetDescription, set_description),
    proposes_alone(SetColumnComment, set_column_comment),
    proposes_alone(MoveColumn, move_column),
    proposes_alone(WidenType, widen_type),
)
"""What the intents of this module propose."""
