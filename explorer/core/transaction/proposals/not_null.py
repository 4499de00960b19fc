"""NOT NULL: refused for columns whose rows hold nulls, and removed without a check of any row.

Protocol sections: Schema Serialization Format (nullable), Column Invariants. Invariants: existing rows are checked
before nulls are refused, so that every row fits the schema (SCHEMA-006, CONSTR-014); the protocol then
binds writers to it (feature ``invariants``).
"""

from __future__ import annotations

from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.edit import Column, find_column, replace_field, struct_field, with_schema
from explorer.core.transaction.intents.records import DropNotNull, SetNotNull
from explorer.core.transaction.proposal import GuardResult, Proposal, RowCheck
from explorer.core.transaction.proposals.entry import proposes_alone
from explorer.core.transaction.proposals.operation_parameters import change_parameters
from explorer.core.versions.snapshot import Snapshot

__all__ = ["PROPOSALS", "drop_not_null", "set_not_null"]

_GUARD = "existing-rows"


def set_not_null(intent: SetNotNull, snapshot: Snapshot) -> Proposal:
    """Refuse nulls in a column from now on.

    Raises:
        InvalidIntent: There is no such column, it is inside an array or a map, or it already refuses nulls.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    _check_in_structs(snapshot, column)
    if not field.nullable:
        raise InvalidIntent(f"{column.name} already refuses nulls.", field="column")
    after = msgspec.structs.replace(field, nullable=False)
    protocol = with_features(snapshot.protocol, ["invariants"])
    empty = snapshot.num_files == 0
    check = RowCheck(
        guard=_GUARD,
        name=f"{column.name} is not null",
        expression=f"{_quoted(column.path)} IS NOT NULL",
        remedy=f"Give the rows without {column.name} a value, or delete them, and plan again.",
    )
    nothing = GuardResult(_GUARD, "pass", {"files": 0, "detail": "The table has no rows."})
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, after),
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        protocol=None if protocol is snapshot.protocol else protocol,
        is_blind_append=False,
        reads_files=True,
        row_checks=() if empty else (check,),
        guards=(nothing,) if empty else (),
        undo=f"Allow nulls in {column.name} again (drop-not-null).",
    )


def drop_not_null(intent: DropNotNull, snapshot: Snapshot) -> Proposal:
    """Allow nulls in a column.

    Raises:
        InvalidIntent: There is no such column, or it already allows nulls.
    """
    column, field = struct_field(snapshot.schema, intent.column)
    if field.nullable:
        raise InvalidIntent(f"{column.name} already allows nulls.", field="column")
    after = msgspec.structs.replace(field, nullable=True)
    return Proposal(
        operation="CHANGE COLUMN",
        parameters=change_parameters(column, after),
        metadata=with_schema(snapshot.metadata, replace_field(snapshot.schema, column.path, lambda _: after)),
        undo=f"Refuse nulls in {column.name} again (set-not-null), while no row holds one.",
    )


def _check_in_structs(snapshot: Snapshot, column: Column) -> None:
    for depth in range(1, len(column.path)):
        if find_column(snapshot.schema, column.path[:depth]).field is None:
            raise InvalidIntent(
                f"{column.name} is inside an array or a map, where no writer enforces NOT NULL. Use a CHECK "
                "constraint: forall(column, x -> x IS NOT NULL).",
                field="column",
            )


def _quoted(path: tuple[str, ...]) -> str:
    """A column in SQL, every part quoted: names may be words of SQL."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in path)


PROPOSALS: Final = (
    proposes_alone(SetNotNull, set_not_null),
    proposes_alone(DropNotNull, drop_not_null),
)
"""What the intents of this module propose."""
