"""Moving a column among its siblings.

Protocol section: Schema Serialization Format. Invariants: files stay as they are, since columns are found by name or
by id; the column keeps its metadata.
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.edit import (
    children,
    edit_fields,
    position,
    position_text,
    struct_field,
    with_schema,
)
from explorer.core.transaction.guards.column_dependents import char_guard
from explorer.core.transaction.intents.records import MoveColumn
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.entry import proposes_alone
from explorer.core.transaction.proposals.operation_parameters import change_parameters
from explorer.core.versions.snapshot import Snapshot

__all__ = ["PROPOSALS", "move_column"]


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


PROPOSALS: Final = (proposes_alone(MoveColumn, move_column),)
"""What the intents of this module propose."""
