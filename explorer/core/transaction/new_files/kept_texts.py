"""The SQL that a table keeps: constraints, invariants, generated columns and defaults, as people read of them.

Protocol sections: CHECK Constraints, Column Invariants, Generated Columns, Default Columns. Invariants: nothing is
evaluated; each has a name that begins a sentence, and advice that can be followed where it is in doubt or fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import msgspec

from explorer.core.protocol.schema.data_types import StructField, StructType, format_column
from explorer.core.protocol.schema.field_metadata import CURRENT_DEFAULT, GENERATION_EXPRESSION
from explorer.core.protocol.sql.rule_readings import Subject, doubt, in_backticks
from explorer.core.protocol.table_features import active_features
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.snapshot import Snapshot

__all__ = [
    "StoredExpression",
    "check_expression",
    "column_expression",
    "default_expressions",
    "default_guards",
    "generated_expression",
]


class StoredExpression(msgspec.Struct, frozen=True):
    """An expression that a table keeps.

    Attributes:
        name: What it is, as the subject of a sentence: ``The constraint c``.
        text: Its SQL.
        doubt: Why Spark may not read it as its writer meant it, as a sentence; empty where nothing suggests that.
        advice: What to do where it is in doubt, or cannot be evaluated.
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
        """What to do where rows cannot be said to keep it."""
        return f"{self.advice} If its meaning is right as Spark reads it, accept this guard by name."


def default_expressions(snapshot: Snapshot) -> dict[str, StoredExpression]:
    """Return the default expressions in force at a version, by column."""
    if "allowColumnDefaults" not in active_features(snapshot.protocol):
        return {}
    found = {}
    for field in snapshot.schema.fields:
        text, column = field.metadata.get(CURRENT_DEFAULT), format_column((field.name,))
        if text is not None:
            unclear = doubt(str(text), snapshot.schema, of="default")
            advice = f"Give {column} a value in the rows, or set another default with the engine that wrote this one."
            found[field.name] = StoredExpression(f"The default of {column}", str(text), unclear, advice, column)
    return found


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
    """Judge the defaults that new rows take: those in doubt are unknown.

    Args:
        snapshot: The version.
        given: The columns that have a value in all of the rows.
        rows: How many rows there are.
    """
    for name, kept in default_expressions(snapshot).items():
        if rows and name not in given and kept.doubt:
            evidence = {"rule": kept.text, "rows": rows, "detail": kept.doubt}
            yield GuardResult(f"new-rows:default:{kept.column}", "unknown", evidence, kept.remedy)
