"""How a table's own expressions are read: where Spark and the writer of a rule may not mean the same.

Protocol sections: CHECK Constraints, Generated Columns, Column Invariants, Default Columns. Spark takes ``"x"`` for a
text; DataFusion, and so deltalake, writes columns in double quotes. Invariants: nothing is evaluated; a rule in doubt
is never counted as kept.
"""

from __future__ import annotations

from typing import Final, Literal

from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.sql.stored_expressions import double_quoted, expression_columns, unknown_columns
from explorer.core.protocol.sql.tokens import Token

__all__ = ["Subject", "doubt", "in_backticks"]

Subject = Literal["rows", "values", "default"]
"""What an expression is for: it judges rows, gives the value of a column from other columns, or gives it from none."""

_SHOWN: Final = 80


def doubt(text: str, schema: StructType, *, of: Subject) -> str:
    """Return why a rule may not mean what it seems to, as a sentence; empty where Spark and others read it alike.

    Args:
        text: The expression.
        schema: The table's columns.
        of: What it is for.
    """
    try:
        quoted = double_quoted(text)
        named = [path for path in expression_columns(text) if schema.field(path[0]) is not None]
        unknown = unknown_columns(text, schema)
    except ExplorerError as error:
        return f"It cannot be read: {error.message}"
    if quoted:
        first = _shortened(quoted[0].text)
        other = "deltalake, which writes columns so, for the column"
        what = other if schema.field(_inside(quoted[0])) is not None else "other writers for a column"
        return f"Spark takes {first} in double quotes for a text, and {what}."
    if unknown:
        return f"It names {_shortened(unknown[0])}, which is not a column of the table."
    if of == "rows" and not named:
        return "It names no column, so it says the same of every row."
    return ""


def in_backticks(text: str, schema: StructType) -> str | None:
    """Return a rule with its columns in backticks where they are in double quotes; None where a text is quoted so."""
    try:
        quoted = double_quoted(text)
    except InvalidIntent:
        return None
    if not quoted or any(schema.field(_inside(token)) is None for token in quoted):
        return None
    pieces, end = [], 0
    for token in quoted:
        pieces += [text[end : token.start], f"`{_inside(token).replace('`', '``')}`"]
        end = token.end
    return "".join([*pieces, text[end:]])


def _inside(token: Token) -> str:
    return token.text.lstrip("rR")[1:-1]


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
