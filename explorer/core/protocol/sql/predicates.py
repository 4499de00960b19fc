"""Conditions of a WHERE clause on single columns: SQL text -> a small expression tree.

Protocol: none; this is the part of SQL that per-file statistics can answer. Invariants: a form that this parser
understands has Spark's meaning; any other becomes `Unsplittable`, which may be true, false or null of
any row; only text that no SQL parser accepts (an open quote, a lone parenthesis, a missing operand) is an error,
with its position.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

import msgspec

from explorer.core.errors import RequestError
from explorer.core.protocol.sql.tokens import Token, literal_of, tokens_of
from explorer.core.protocol.sql.vetting import check_text

Operator = Literal["=", "<", "<=", ">", ">=", "<=>"]
_MOST_DEPTH: Final = 100
_WILDCARD: Final = re.compile("[%_]")
_PLAIN: Final = "only a comparison of a column with plain constants can be answered"


class LiteralValue(msgspec.Struct, frozen=True):
    """A constant: its kind and its text; the column's type determines the value.

    ``kind`` is integer, decimal, double, string, boolean, date, timestamp, timestamp_ntz or null.
    """

    kind: str
    text: str


class SqlComparison(msgspec.Struct, frozen=True):
    """A column compared with a constant, the column on the left."""

    column: tuple[str, ...]
    operator: Operator
    value: LiteralValue


class Like(msgspec.Struct, frozen=True):
    """A column of texts that match a pattern: at least one ``%`` (any characters) or ``_`` (one), and no escapes."""

    column: tuple[str, ...]
    pattern: str

    @property
    def prefix(self) -> str:
        """The beginning of each such text."""
        return _WILDCARD.split(self.pattern, maxsplit=1)[0]

    @property
    def exact(self) -> bool:
        """Whether each text with this beginning matches."""
        return not self.pattern[len(self.prefix) :].strip("%")


class IsNull(msgspec.Struct, frozen=True):
    """A column that is null."""

    column: tuple[str, ...]


class Constant(msgspec.Struct, frozen=True):
    """TRUE, FALSE or NULL (None)."""

    value: bool | None


class Unsplittable(msgspec.Struct, frozen=True):
    """A part that statistics cannot answer: its text, where it begins (from 1), and the reason."""

    text: str
    position: int
    reason: str


class Not(msgspec.Struct, frozen=True):
    """Negation; of null it is null."""

    part: Expression


class And(msgspec.Struct, frozen=True):
    """Conjunction."""

    parts: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True):
    """Disjunction."""

    parts: tuple[Expression, ...]


Expression = SqlComparison | Like | IsNull | Constant | Unsplittable | Not | And | Or


def parts_of(condition: Expression) -> Iterator[Expression]:
    """Yield a condition and all its parts, in the order in which it is written."""
    yield condition
    match condition:
        case And() | Or():
            for part in condition.parts:
                yield from parts_of(part)
        case Not():
            yield from parts_of(condition.part)


def parse_predicate(text: str) -> Expression:
    """Parse a boolean SQL expression.

    Raises:
        RequestError: The text is not an expression, or one that may not be evaluated on rows either; the message has
            the position of the character.
    """
    parser = _Parser(text)
    condition = parser.disjunction(0)
    if parser.token.kind != "end":
        raise parser.error(f"{parser.token.text!r} does not belong here")
    check_text(text)
    return condition


class _NotUnderstood(Exception):
    """Inside the parser: statistics cannot answer this form."""


_FLIPPED: Final[dict[str, str]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class _Parser:
    """Recursive descent: OR below AND below NOT below a single condition."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._place = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._place]

    def error(self, reason: str) -> RequestError:
        return RequestError(f"The condition cannot be read at character {self.token.start + 1}: {reason}.")

    def disjunction(self, depth: int) -> Expression:
        return self._joined("OR", lambda: self._joined("AND", lambda: self._negation(depth), And), Or)

    def _joined(
        self, word: str, part: Callable[[], Expression], make: Callable[[tuple[Expression, ...]], Expression]
    ) -> Expression:
        parts = [part()]
        while self.token.is_word(word):
            self._place += 1
            parts.append(part())
        return parts[0] if len(parts) == 1 else make(tuple(parts))

    def _negation(self, depth: int) -> Expression:
        if depth > _MOST_DEPTH:
            raise self.error(f"it is nested deeper than {_MOST_DEPTH}")
        if self.token.is_word("NOT"):
            self._place += 1
            return Not(self._negation(depth + 1))
        start = self._place
        try:
            condition = self._condition(depth)
            if not self._at_border():
                raise _NotUnderstood(_PLAIN)
        except _NotUnderstood as reason:
            self._place = start
            return self._unsplittable(str(reason))
        return condition

    def _at_border(self) -> bool:
        token = self.token
        return token.kind == "end" or token.text == ")" or token.is_word("AND") or token.is_word("OR")

    def _condition(self, depth: int) -> Expression:
        if self.token.text == "(" and self.token.kind == "mark":
            self._place += 1
            condition = self.disjunction(depth + 1)
            if self.token.text != ")":
                raise self.error("a parenthesis is not closed")
            self._place += 1
            return condition
        value = self._literal()
        if value is not None:
            return self._from_literal(value)
        column = self._column()
        if self.token.kind == "operator":
            return self._comparison(column)
        return self._after_column(column)

    def _from_literal(self, value: LiteralValue) -> Expression:
        if self.token.kind == "operator":
            operator = self._take()
            return _compare(self._column(), _FLIPPED.get(operator, operator), value)
        if value.kind in {"boolean", "null"}:
            return Constant(None if value.kind == "null" else value.text == "true")
        raise _NotUnderstood("a constant alone is not a condition")

    def _comparison(self, column: tuple[str, ...]) -> Expression:
        operator = self._take()
        return _compare(column, operator, self._needed_literal())

    def _after_column(self, column: tuple[str, ...]) -> Expression:
        if self._word("IS"):
            negated = self._word("NOT")
            for word, kind in (("NULL", "null"), ("TRUE", "boolean"), ("FALSE", "boolean")):
                if self._word(word):
                    known = SqlComparison(column, "<=>", LiteralValue(kind, word.lower()))
                    return _negated(IsNull(column) if word == "NULL" else known, negated)
            raise _NotUnderstood("only IS NULL, IS TRUE and IS FALSE are understood")
        negated = self._word("NOT")
        if self._word("IN"):
            return _negated(self._list(column), negated)
        if self._word("BETWEEN"):
            return _negated(self._between(column), negated)
        if self._word("LIKE"):
            return _negated(self._like(column), negated)
        if negated or not self._at_border():
            raise _NotUnderstood(_PLAIN)
        return SqlComparison(column, "=", LiteralValue("boolean", "true"))

    def _list(self, column: tuple[str, ...]) -> Expression:
        self._mark("(")
        values = [self._needed_literal()]
        while self.token.text == ",":
            self._place += 1
            values.append(self._needed_literal())
        self._mark(")")
        parts = tuple(_compare(column, "=", value) for value in values)
        return parts[0] if len(parts) == 1 else Or(parts)

    def _between(self, column: tuple[str, ...]) -> Expression:
        low = self._needed_literal()
        if not self._word("AND"):
            raise _NotUnderstood("BETWEEN is understood only with two constants")
        return And((_compare(column, ">=", low), _compare(column, "<=", self._needed_literal())))

    def _like(self, column: tuple[str, ...]) -> Expression:
        pattern = self._needed_literal()
        if pattern.kind == "null":
            return Constant(None)
        if pattern.kind != "string":
            raise _NotUnderstood("LIKE is understood only with a plain text")
        return Like(column, pattern.text) if _WILDCARD.search(pattern.text) else SqlComparison(column, "=", pattern)

    def _needed_literal(self) -> LiteralValue:
        if self._at_border():
            raise self.error("a value is missing")
        value = self._literal()
        if value is None:
            raise _NotUnderstood(_PLAIN)
        return value

    def _literal(self) -> LiteralValue | None:
        literal = literal_of(self._tokens, self._place)
        if literal is None:
            return None
        kind, text, self._place = literal
        return LiteralValue(kind, text)

    def _column(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            field = bool(parts) and self.token.kind in ("word", "name")
            if not field and not self.token.is_column(self._tokens[min(self._place + 1, len(self._tokens) - 1)]):
                raise _NotUnderstood(_PLAIN)
            parts.append(self._take())
            if self.token.text != "." or self.token.kind != "mark":
                return tuple(parts)
            self._place += 1

    def _take(self) -> str:
        self._place += 1
        return self._tokens[self._place - 1].value

    def _word(self, word: str) -> bool:
        matches = self.token.is_word(word)
        self._place += matches
        return matches

    def _mark(self, mark: str) -> None:
        if self.token.text != mark:
            raise _NotUnderstood(_PLAIN)
        self._place += 1

    def _unsplittable(self, reason: str) -> Expression:
        """Skip everything up to the AND, OR or parenthesis that ends this condition."""
        first = self.token
        if self._at_border():
            raise self.error(f"a condition is missing before {repr(first.text) if first.text else 'the end'}")
        depth = betweens = case_ends = 0
        while self.token.kind != "end":
            token = self.token
            if depth == 0 and token.text == ")":
                break
            if depth == 0 and self._place >= case_ends and betweens == 0 and self._at_border():
                break
            depth += (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))
            if depth == 0 and token.is_word("CASE"):
                case_ends = self._last_end()
            betweens += token.is_word("BETWEEN") - (betweens > 0 and token.is_word("AND") and depth == 0)
            self._place += 1
        if depth != 0:
            raise self.error("a parenthesis is not closed")
        last = self._tokens[self._place - 1]
        return Unsplittable(self._text[first.start : last.end], first.start + 1, reason)

    def _last_end(self) -> int:
        """Return the index of the last END inside the parentheses here: an earlier one may be a column of that name."""
        depth, last = 0, self._place
        for place in range(self._place, len(self._tokens)):
            token = self._tokens[place]
            depth += (token.kind == "mark") * ((token.text in "([") - (token.text in ")]"))
            if depth < 0:
                break
            last = place if depth == 0 and token.is_word("END") else last
        return last


def _compare(column: tuple[str, ...], operator: str, value: LiteralValue) -> Expression:
    match operator:
        case "<>" | "!=":
            return Not(SqlComparison(column, "=", value))
        case "==":
            return SqlComparison(column, "=", value)
        case "=" | "<" | "<=" | ">" | ">=" | "<=>":
            return SqlComparison(column, operator, value)
    raise _NotUnderstood(f"the operator {operator} cannot be answered")


def _negated(part: Expression, negated: bool) -> Expression:
    return Not(part) if negated else part
