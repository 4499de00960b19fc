"""Readings of a table's own expressions: where Spark and the writer of a rule may mean different things.

Protocol sections: CHECK Constraints, Generated Columns, Column Invariants, Default Columns. Spark takes ``"x"`` for a
text; DataFusion, and so deltalake, writes columns in double quotes. Invariants: nothing is evaluated; an ambiguous
rule never counts as satisfied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.sql.functions import REFUSED, why_refused
from explorer.core.protocol.sql.stored_expressions import double_quoted, expression_columns, unknown_columns
from explorer.core.protocol.sql.tokens import Token, tokens_of
from explorer.core.protocol.sql.vetting import called_functions

Subject = Literal["rows", "values", "default"]
"""The purpose of an expression: to check rows, to compute a column from other columns, or from none."""

_SHOWN: Final = 80
_MARKS: Final = frozenset("()[],.+-*/%&|^~:<>=!")
"""Marks of the grammar of Spark's expressions."""
_BEFORE_OPERANDS: Final = frozenset(["AND", "OR", "NOT", "WHEN", "THEN", "ELSE", "IN", "BETWEEN", "LIKE"])
_UNFINISHED: Final = frozenset(["AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "DIV"])
_OF_MANY_ROWS: Final = frozenset(["aggregate", "window", "generator", "unstable"])


def doubt(text: str, schema: StructType, *, of: Subject) -> str:
    """Return why a rule may not mean what it seems to, as a sentence; empty where Spark and others read it the same."""
    try:
        quoted = double_quoted(text)
        named = [path for path in expression_columns(text) if schema.field(path[0]) is not None]
        unknown = unknown_columns(text, schema)
        tokens = tokens_of(text)
        called = called_functions(text, tokens)
    except ExplorerError as error:
        return f"It cannot be read: {error.message}"
    if quoted:
        first = _shortened(quoted[0].text)
        other = "deltalake, which writes columns so, for the column"
        what = other if schema.field(_inside(quoted[0])) is not None else "other writers for a column"
        return f"Spark takes {first} in double quotes for a string, and {what}."
    if fault := _syntax(tokens[:-1], schema):
        return fault
    if unknown:
        return f"It names {_shortened(unknown[0])}, which is not a column of the table."
    if of != "default" and (fault := _calls(called, tokens)):
        return fault
    if of == "rows" and not named:
        return "It names no column, so it has the same result for every row."
    return ""


def _syntax(tokens: Sequence[Token], schema: StructType) -> str:
    """Return the part that Spark's grammar does not have, as a sentence; empty where nothing shows it."""
    for before, token in pairwise([Token("mark", "(", 0), *tokens]):
        opens = token.text == "[" and _precedes_operand(before, schema)
        matches = token.text in ("~", "!") and _is_value(before, schema)
        if token.kind == "mark" and (opens or matches or token.text not in _MARKS):
            return f"Spark cannot read {_shortened(token.text)} at character {token.start + 1}."
    last = tokens[-1] if tokens else None
    if last is None or last.kind == "operator" or last.text in ("+", "-", "*", "/", "%", ",", "."):
        return "It ends before an expression does, so Spark cannot read it." if last else ""
    if last.kind == "word" and last.text.upper() in _UNFINISHED and len(tokens) > 1 and not _is_operand(tokens, schema):
        return f"It ends after {last.text}, so Spark cannot read it."
    return ""


def _precedes_operand(token: Token, schema: StructType) -> bool:
    """Return whether an operand has to follow."""
    if token.kind == "word":
        return token.text.upper() in _BEFORE_OPERANDS and schema.field(token.text) is None
    return token.kind == "operator" or (token.kind == "mark" and token.text not in (")", "]"))


def _is_value(token: Token, schema: StructType) -> bool:
    """Return whether a value ends with a token: in Spark, ``~`` and ``!`` begin one, and compare nothing."""
    if token.kind == "word":
        return schema.field(token.text) is not None and token.text.upper() not in _BEFORE_OPERANDS
    return token.kind in ("name", "number", "string", "raw") or token.text in (")", "]")


def _is_operand(tokens: Sequence[Token], schema: StructType) -> bool:
    """Return whether the last word is a column of that name, where one can be."""
    return schema.field(tokens[-1].text) is not None and tokens[-2].kind in ("operator", "mark")


def _calls(functions: Mapping[str, Token], tokens: Sequence[Token]) -> str:
    """Return the function that Spark does not have, or does not allow in a rule, as a sentence."""
    # LIKE ANY (...) is not a call.
    compared = {after.start for before, after in pairwise(tokens) if before.text.upper() in ("LIKE", "ILIKE")}
    for name, token in functions.items():
        refused = why_refused(name)
        if refused is None or token.start in compared:
            continue
        if name.lower() not in REFUSED:
            return f"It calls {_shortened(name)}, which is not a function of Spark."
        if refused[0] in _OF_MANY_ROWS:
            return f"It calls {name}: {refused[1]}."
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
