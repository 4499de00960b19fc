"""What every new row of a table must satisfy, as SQL predicates, and the SQL that the table stores for it.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Default Columns, Nullability. Invariants: a
rule is met only by rows for which it is TRUE (CONSTR-007); a rule whose feature the protocol lacks does not apply
(CONSTR-005); one that cannot be read refuses the write (CONSTR-004, CONSTR-013); nothing is evaluated here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.char_types import Step, text_lengths
from explorer.core.protocol.schema.data_types import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
)
from explorer.core.protocol.schema.field_metadata import (
    CHAR_VARCHAR,
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    INVARIANTS,
)
from explorer.core.protocol.schema.nested_types import walk_structs
from explorer.core.protocol.sql.constants import quoted_column
from explorer.core.protocol.sql.rule_readings import Subject, doubt, in_backticks
from explorer.core.protocol.table_features import active_features
from explorer.core.protocol.table_properties.values import constraints
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.snapshot import Snapshot


class StoredExpression(msgspec.Struct, frozen=True):
    """An expression that a table keeps.

    Attributes:
        name: What it is, as the subject of a sentence: ``The constraint c``.
        text: Its SQL.
        doubt: Why Spark may not read it as its writer meant it, as a sentence; empty if nothing suggests that.
        advice: What to do where it is ambiguous, or cannot be evaluated.
        column: The column that it belongs to; None of a constraint.
        constraint: The name of the constraint; None of a column's expression.
    """

    name: str
    text: str
    doubt: str
    advice: str
    column: str | None = None
    constraint: str | None = None

    @property
    def remedy(self) -> str:
        """What to do where it is unknown whether rows satisfy it."""
        return f"{self.advice} If its meaning is right as Spark reads it, accept this guard by name."


def default_expressions(snapshot: Snapshot) -> dict[str, StoredExpression]:
    """Return the default expressions in force at a version, by column."""
    if "allowColumnDefaults" not in active_features(snapshot.protocol):
        return {}
    expressions = {}
    for field in snapshot.schema.fields:
        text, column = field.metadata.get(CURRENT_DEFAULT), format_column((field.name,))
        if text is not None:
            unclear = doubt(str(text), snapshot.schema, of="default")
            advice = f"Give {column} a value in the rows, or set another default with the engine that wrote this one."
            expressions[field.name] = StoredExpression(f"The default of {column}", str(text), unclear, advice, column)
    return expressions


def check_expression(name: str, text: str, schema: StructType) -> StoredExpression:
    """Return a CHECK constraint as an expression that the table keeps."""
    better = in_backticks(text, schema)
    again = " with columns in backticks and texts in single quotes" if better is None else f" as {better}"
    advice = f"Drop the constraint (drop-constraint), and add it again{again}."
    return StoredExpression(f"The constraint {name}", text, doubt(text, schema, of="rows"), advice, constraint=name)


def column_expression(what: str, column: str, text: str, schema: StructType, *, of: Subject) -> StoredExpression:
    advice = f"Have the engine that wrote it change {column}, or create the table again from its rows without it."
    return StoredExpression(f"The {what} {column}", text, doubt(text, schema, of=of), advice, column)


def generated_expression(field: StructField, schema: StructType) -> StoredExpression:
    """Return the expression of a generated column."""
    column, text = format_column((field.name,)), str(field.metadata[GENERATION_EXPRESSION])
    return column_expression("generated column", column, text, schema, of="values")


def default_guards(snapshot: Snapshot, given: Collection[str], rows: int) -> Iterator[GuardResult]:
    """Judge the defaults that new rows take: ambiguous ones are unknown."""
    for name, stored in default_expressions(snapshot).items():
        if rows and name not in given and stored.doubt:
            evidence = {"rule": stored.text, "rows": rows, "detail": stored.doubt}
            yield GuardResult(f"new-rows:default:{stored.column}", "unknown", evidence, stored.remedy)


_BARE: Final = "It is SQL, not JSON with SQL in it as the protocol has it, and delta-spark refuses every write."


class RowRule(msgspec.Struct, frozen=True):
    """One rule.

    Attributes:
        kind: ``not-null``, ``check``, ``invariant``, ``generated`` or ``length``.
        name: The column, or the constraint's name.
        expression: SQL over logical column names.
        stored: The SQL that the table stores for it; None of a rule that the table states otherwise.
    """

    kind: str
    name: str
    expression: str
    stored: StoredExpression | None = None


def row_rules(snapshot: Snapshot) -> tuple[RowRule, ...]:
    """Return the rules in force at a version.

    Raises:
        CorruptTable: An invariant cannot be read.
    """
    features = active_features(snapshot.protocol)
    rules = list(_nullability(snapshot.schema))
    rules += _lengths(snapshot.schema)
    if "checkConstraints" in features:
        checks = constraints(snapshot.metadata.configuration)
        rules += [
            RowRule("check", name, text, check_expression(name, text, snapshot.schema)) for name, text in checks.items()
        ]
    if "invariants" in features:
        rules += _invariants(snapshot.schema)
    if "generatedColumns" in features:
        rules += _generated(snapshot.schema)
    return tuple(rules)


def named_rules(snapshot: Snapshot) -> dict[str, str]:
    """Return the expressions of `row_rules` by kind and name, as rows are checked against them.

    Raises:
        CorruptTable: An invariant cannot be read.
    """
    return {f"{rule.kind} {rule.name}": rule.expression for rule in row_rules(snapshot)}


def stored_expressions(snapshot: Snapshot) -> tuple[StoredExpression, ...]:
    """Return the expressions in force at a version: those of `row_rules`, and the defaults.

    Raises:
        CorruptTable: An invariant cannot be read.
    """
    rules = [rule.stored for rule in row_rules(snapshot) if rule.stored is not None]
    return (*rules, *default_expressions(snapshot).values())


def _nullability(schema: StructType) -> Iterator[RowRule]:
    for path, _, field in walk_structs(schema):
        if not field.nullable:
            yield RowRule("not-null", format_column(path), f"{quoted_column(path)} IS NOT NULL")
        if isinstance(field.type, PrimitiveType):
            continue
        if (inside := _no_null_inside(field.type, quoted_column(path), 0)) is not None:
            yield RowRule("not-null", format_column(path), inside)


def _no_null_inside(kind: DataType, value: str, depth: int) -> str | None:
    """Return a predicate against the nulls that arrays and maps in a value do not allow; None if they allow all."""
    item = f"item{depth}"
    match kind:
        case ArrayType():
            return _for_all(value, item, kind.element_type, kind.contains_null, depth)
        case MapType():
            return _for_all(f"map_values({value})", item, kind.value_type, kind.value_contains_null, depth)
        case StructType() if depth:
            parts = []
            for field in kind.fields:
                member = f"{value}.{quoted_column((field.name,))}"
                if not field.nullable:
                    parts.append(f"{member} IS NOT NULL")
                if (inside := _no_null_inside(field.type, member, depth)) is not None:
                    parts.append(inside)
            return f"({value} IS NULL OR ({' AND '.join(parts)}))" if parts else None
        case _:
            return None


def _for_all(values: str, item: str, kind: DataType, may_be_null: bool, depth: int) -> str | None:
    parts = [] if may_be_null else [f"{item} IS NOT NULL"]
    if (inside := _no_null_inside(kind, item, depth + 1)) is not None:
        parts.append(inside)
    return f"coalesce(forall({values}, {item} -> {' AND '.join(parts)}), true)" if parts else None


def _lengths(schema: StructType) -> Iterator[RowRule]:
    limited = [(path, field) for path, _, field in walk_structs(schema) if CHAR_VARCHAR in field.metadata]
    spelt = {path for path, _ in limited}
    for path, field in limited:
        text = field.metadata[CHAR_VARCHAR]
        if text is None:
            continue
        column = format_column(path)
        try:
            limits = text_lengths(str(text), field.type)
        except ValueError as error:
            raise CorruptTable(
                f"The column {column} limits lengths by {text!r}, which this program does not check: {error}. "
                "Write to the table with its own engine.",
                column=column,
            ) from error
        for steps, length in limits:
            inside = [name for _, name in takewhile(_into_field, steps)]
            if any((*path, *inside[:depth]) in spelt for depth in range(1, len(inside) + 1)):
                continue
            yield RowRule("length", column, _no_longer(quoted_column(path), steps, length, 0))


def _into_field(step: Step) -> bool:
    return step[0] == "field"


def _no_longer(value: str, steps: Sequence[Step], length: int, depth: int) -> str:
    """Return a predicate that forbids longer texts at the end of steps into a value; nulls are allowed."""
    match steps:
        case []:
            return f"coalesce(length({value}) <= {length}, true)"
        case [("field", name), *rest]:
            return _no_longer(f"{value}.{quoted_column((name,))}", rest, length, depth)
        case [(kind, _), *rest]:
            values = {"key": f"map_keys({value})", "value": f"map_values({value})"}.get(kind, value)
            item = f"item{depth}"
            return f"coalesce(forall({values}, {item} -> {_no_longer(item, rest, length, depth + 1)}), true)"
    raise AssertionError(steps)


def _invariants(schema: StructType) -> Iterator[RowRule]:
    for path, _, field in walk_structs(schema):
        text = field.metadata.get(INVARIANTS)
        if text is not None:
            column = format_column(path)
            rule = _invariant(str(text), column)
            stored = column_expression("invariant of", column, rule, schema, of="rows")
            if rule == text and not stored.doubt:
                stored = msgspec.structs.replace(stored, doubt=_BARE)
            yield RowRule("invariant", column, rule, stored)


def _invariant(text: str, column: str) -> str:
    """Return the SQL of an invariant: ``{"expression": {"expression": SQL}}``, or bare SQL."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    inner = value.get("expression") if isinstance(value, dict) else None
    expression = inner.get("expression") if isinstance(inner, dict) else None
    if not isinstance(expression, str):
        raise CorruptTable(
            f"The invariant of column {column} cannot be read: {text!r}. Write rows with a client that knows it.",
            column=column,
            found=text,
        )
    return expression


def _generated(schema: StructType) -> Iterator[RowRule]:
    for field in schema.fields:
        text = field.metadata.get(GENERATION_EXPRESSION)
        if text is not None:
            column = format_column((field.name,))
            rule = f"{quoted_column((field.name,))} <=> (\n{text}\n)"
            yield RowRule("generated", column, rule, generated_expression(field, schema))
