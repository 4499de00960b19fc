"""Comments: the description of a table, and the comments of its columns.

Protocol sections: Change Metadata, Struct Field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.edit import (
    Column,
    children,
    edit_fields,
    find_column,
    position,
    position_text,
    replace_field,
)
from explorer.core.transaction.guards.column_dependents import char_guard
from explorer.core.transaction.intents.records import MoveColumn, SetColumnComment, SetDescription
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.operation_parameters import column_document, parameter_text
from explorer.core.versions.snapshot import Snapshot

__all__ = ["change_parameters", "move_column", "set_column_comment", "set_description", "struct_field", "with_schema"]


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
        InvalidIntent: There is no such column, or its comment is that already.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    before = field.metadata.get("comment")
    if before == intent.comment:
        raise InvalidIntent(f"The comment of {column.name} is {before!r} already.", field="comment")
    metadata = {key: value for key, value in field.metadata.items() if key != "comment"}
    if intent.comment is not None:
        metadata["comment"] = intent.comment
    after = msgspec.structs.replace(field, metadata=metadata)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, after),
        metadata=with_schema(snapshot, replace_field(snapshot.schema, column.path, lambda _: after)),
        undo=f"Set the comment to {before!r} again." if before else "Remove the comment again.",
    )


def move_column(intent: MoveColumn, snapshot: Snapshot) -> Proposal:
    """Move a column among its siblings.

    Raises:
        InvalidIntent: There is no such column or position, or it stands there already.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    siblings = children(snapshot.schema, column.path[:-1])
    others = [other for other in siblings if other.name != field.name]
    names = [other.name for other in others]
    place = position(intent.at, names)
    before = [other.name for other in siblings].index(field.name)
    if place == before:
        raise InvalidIntent(f"{column.name} stands there already.", field="at")
    moved = [*others[:place], field, *others[place:]]
    spelt = char_guard(snapshot.schema, [column.path])
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, field) | {"position": position_text(place, names)},
        metadata=with_schema(snapshot, edit_fields(snapshot.schema, column.path[:-1], lambda _: moved)),
        guards=() if spelt is None else (spelt,),
        undo=f"Move it back: {position_text(before, names).lower() if not before else position_text(before, names)}.",
    )


def struct_field(schema: StructType, column: str) -> tuple[Column, StructField]:
    """Find a column that is a field of a struct.

    Raises:
        InvalidIntent: There is none, or it is the element of an array, or the key or value of a map.
    """
    found = find_column(schema, column)
    if found.field is None:
        raise InvalidIntent(
            f"{found.name} is inside an array or a map and no column of its own: only fields of a struct can be "
            "changed so.",
            field="column",
        )
    return found, found.field


def change_parameters(column: Column, field: StructField) -> JsonObject:
    """The parameters of a commit that changes one column."""
    document = column_document(column.path, field.type, nullable=field.nullable, metadata=field.metadata)
    return {"column": parameter_text(document)}


def with_schema(snapshot: Snapshot, schema: StructType, **more: Any) -> Metadata:
    """The metadata in force with another schema; whatever is not named stays (META-009)."""
    return msgspec.structs.replace(snapshot.metadata, schema_string=schema.to_json(), **more)
