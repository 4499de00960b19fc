"""CHECK constraints and NOT NULL: conditions that every row must satisfy.

Protocol sections: CHECK Constraints, Schema Serialization Format (nullable), Column Invariants. Invariants: a condition
is added only when every row satisfies it, null counting as broken (CONSTR-008, SCHEMA-006, CONSTR-014), and together
with the protocol that demands it of all writers (CONSTR-010); names of constraints differ in more than case
(CONSTR-011); an expression names columns that exist (CONSTR-009).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.protocol_evolution import with_features
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.edit import (
    Column,
    choices,
    find_column,
    first_names,
    replace_field,
    similar_names,
    struct_field,
    with_schema,
)
from explorer.core.protocol.sql.constants import quoted_column
from explorer.core.protocol.sql.stored_expressions import (
    check_stored_expression,
    expression_columns,
    expression_text,
    unknown_columns,
)
from explorer.core.protocol.table_properties.values import CONSTRAINT_PREFIX, constraint_name
from explorer.core.transaction.intents.records import AddConstraint, DropConstraint, DropNotNull, SetNotNull
from explorer.core.transaction.new_files.row_constraints import StoredExpression, check_expression
from explorer.core.transaction.proposal import GuardResult, Proposal, RowCheck
from explorer.core.transaction.proposals.entry import change_parameters, proposes_alone
from explorer.core.versions.snapshot import Snapshot

_LONGEST: Final = 255
_UNSEEN: Final = (
    "Nor was the expression: if it is not valid SQL, no writer can add rows until the constraint is dropped."
)


def add_constraint(intent: AddConstraint, snapshot: Snapshot) -> Proposal:
    """Add a constraint; Spark checks that every row satisfies it.

    Raises:
        InvalidIntent: The name is taken or empty, or a table may not keep the expression.
    """
    name = intent.name.lower()
    _check_name(intent.name, snapshot)
    clock = check_stored_expression(intent.expression, "expression")
    unknown = unknown_columns(intent.expression, snapshot.schema)
    if unknown:
        raise _no_column(unknown[0], intent.expression, snapshot)
    text = expression_text(intent.expression)
    columns = [format_column(path) for path in expression_columns(intent.expression) if _is_column(path, snapshot)]
    protocol = with_features(snapshot.protocol, ["checkConstraints"])
    configuration = {**snapshot.metadata.configuration, f"{CONSTRAINT_PREFIX}{name}": text}
    return Proposal(
        operation="ADD CONSTRAINT",
        parameters={"name": intent.name, "expr": text},
        metadata=msgspec.structs.replace(snapshot.metadata, configuration=configuration),
        protocol=None if protocol == snapshot.protocol else protocol,
        is_blind_append=False,
        reads_files=True,
        row_checks=(
            RowCheck(
                "existing-rows",
                name,
                text,
                "Correct or delete the rows that do not satisfy it.",
                _UNSEEN,
                "It is NULL for some of them: add OR ... IS NULL if these should pass.",
            ),
        ),
        guards=(_expression_guard(check_expression(name, text, snapshot.schema), columns, clock),),
        undo=f"Drop the constraint {name!r}.",
    )


def drop_constraint(intent: DropConstraint, snapshot: Snapshot) -> Proposal:
    """Drop a constraint, whatever the case of its name; the protocol stays.

    Raises:
        InvalidIntent: There is no such constraint.
    """
    configuration = snapshot.metadata.configuration
    key = _key_of(intent.name, configuration)
    expression = configuration[key]
    left = {other: value for other, value in configuration.items() if other != key}
    return Proposal(
        operation="DROP CONSTRAINT",
        parameters={"name": intent.name, "expr": expression, "existed": "true"},
        metadata=msgspec.structs.replace(snapshot.metadata, configuration=left),
        undo=f"Add the constraint {key[len(CONSTRAINT_PREFIX) :]!r} again with the expression {expression}, as long as "
        "all rows satisfy it.",
    )


def _key_of(wanted: str, configuration: Mapping[str, str]) -> str:
    """Return the key of the constraint of a name: the same name, else one that differs in case or by the prefix."""
    names = {key: name for key in configuration if (name := constraint_name(key)) is not None}
    same = [key for key, name in names.items() if name == wanted]
    keys = same or [key for key in names if key[len(CONSTRAINT_PREFIX) :].lower() == wanted.lower()]
    if len(keys) == 1:
        return keys[0]
    known = list(names.values())
    near = [names[key] for key in keys] or similar_names(wanted.lower(), known, 1)
    several = (
        f"Several constraints differ from {wanted!r} in case alone" if keys else f"There is no constraint {wanted!r}"
    )
    raise InvalidIntent(
        f"{several}. Constraints: {first_names(known) or 'none'}.",
        field="name",
        allowed=choices(known),
        nearest=near[0] if near else None,
    )


def _check_name(name: str, snapshot: Snapshot) -> None:
    if not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise InvalidIntent(
            f"A constraint's name must have 1 to {_LONGEST} printable characters, unlike {name[:_LONGEST]!r}.",
            field="name",
        )
    keys = {key: other for key in snapshot.metadata.configuration if (other := constraint_name(key)) is not None}
    taken = [other for key, other in keys.items() if key[len(CONSTRAINT_PREFIX) :].lower() == name.lower()]
    if taken:
        raise InvalidIntent(
            f"There is already a constraint {taken[0]!r}. Drop it first, or choose another name.",
            field="name",
            found=taken[0],
        )


def _is_column(path: tuple[str, ...], snapshot: Snapshot) -> bool:
    return snapshot.schema.field(path[0]) is not None


def _no_column(name: str, expression: str, snapshot: Snapshot) -> InvalidIntent:
    names = [field.name for field in snapshot.schema.fields]
    near = similar_names(name, names, 1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return InvalidIntent(
        f"The expression {expression!r} names {name!r}, which is not a column of the table.{hint} "
        f"Columns: {first_names(format_column((column,)) for column in names)}.",
        field="expression",
        column=name,
        allowed=choices(names),
        nearest=near[0] if near else None,
    )


def _expression_guard(rule: StoredExpression, columns: list[str], clock: tuple[str, ...]) -> GuardResult:
    evidence: dict[str, object] = {"expression": rule.text, "columns": columns}
    if rule.doubt:
        remedy = (
            "Write columns in backticks, and texts in single quotes. If its meaning is right as Spark reads it, "
            "accept this guard by name."
        )
        return GuardResult("expression", "unknown", evidence | {"detail": rule.doubt}, remedy)
    if not clock:
        return GuardResult("expression", "pass", evidence | {"detail": "All that it names are columns of the table."})
    detail = f"It calls {', '.join(clock)}: a row that passes today may not pass tomorrow."
    remedy = "Compare with a fixed value, or with another column, unless you intend this."
    return GuardResult("expression", "warn", evidence | {"detail": detail}, remedy)


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
        expression=f"{quoted_column(column.path)} IS NOT NULL",
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
        undo=f"Require values in {column.name} again (set-not-null), while no row holds one.",
    )


def _check_in_structs(snapshot: Snapshot, column: Column) -> None:
    for depth in range(1, len(column.path)):
        if find_column(snapshot.schema, column.path[:depth]).field is None:
            raise InvalidIntent(
                f"{column.name} is inside an array or a map, where no writer enforces NOT NULL. Use a CHECK "
                "constraint: forall(column, x -> x IS NOT NULL).",
                field="column",
            )


PROPOSALS: Final = (
    proposes_alone(AddConstraint, add_constraint),
    proposes_alone(DropConstraint, drop_constraint),
    proposes_alone(SetNotNull, set_not_null),
    proposes_alone(DropNotNull, drop_not_null),
)
"""What the intents of this module propose."""
