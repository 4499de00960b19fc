"""SQL expressions that a table stores: the columns they mention, forbidden parts, and their canonical text.

Protocol sections: CHECK Constraints, Generated Columns, Column Invariants. Invariants: nothing is evaluated; a column
that the text may mention counts as mentioned; a text that cannot be split into words is refused, never read in part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

from explorer.core.errors import ExpressionRefused, InvalidIntent, RequestError
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, StructType
from explorer.core.protocol.schema.path_sets import PathSet
from explorer.core.protocol.sql.expression_scopes import lambda_scopes, type_scopes
from explorer.core.protocol.sql.functions import CLOCK_FUNCTIONS, CLOCK_WITHOUT_ARGUMENTS
from explorer.core.protocol.sql.tokens import Token, tokens_of
from explorer.core.protocol.sql.vetting import check_text


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MOST_SHOWN: Final = 200
_NUMBER: Final = re.compile(r"\d+\w*\.?\w*")
_LITERAL: Final = re.compile(r"\d+(e\d+)?(bd|[lsyfd])?", re.IGNORECASE | re.ASCII)
"""A number; any other word that begins with a digit is a name."""
_NO_COLUMNS: Final = frozenset(["and", "or", "not", "null", "true", "false"])
_JOINING: Final = frozenset(["and", "or", "not"])
"""Of these, those that Spark takes for columns before an operator."""
_COMPOUND: Final = frozenset(["||", "->", "=>", "::", "<<", ">>", ">>>"])
_WORDS: Final = _split(
    """
    and or not in is between like ilike rlike regexp escape div distinct all any some case when then else end cast
    try_cast as exists interval null true false date timestamp timestamp_ntz timestamp_ltz time from for both leading
    trailing over extract current_date current_timestamp current_user current_time localtimestamp session_user user
    int integer bigint long smallint short tinyint byte float real double decimal dec numeric string char varchar
    boolean binary array map struct void variant year years month months week weeks day days hour hours minute minutes
    second seconds millisecond milliseconds microsecond microseconds to collate quarter dayofyear unknown placing
    """
)
"""Words of SQL that are not columns; if a column of such a name exists, the word counts as the column."""


def expression_columns(text: str) -> tuple[tuple[str, ...], ...]:
    """Return every name that may be a column in an expression, as written, without the names of called functions.

    A path may end in the fields of a struct; a word of SQL that could be a column (``date``) is among them. Names
    that the expression binds itself are not, inside of their scope (``x -> x > 0``), nor are fields of the result of
    an expression (``items[0].price``) or of a type that it is cast to.

    Raises:
        InvalidIntent: A quote or a comment is not closed.
    """
    tokens = _tokens(text)
    bound, types = lambda_scopes(tokens), type_scopes(tokens)
    columns: dict[tuple[str, ...], None] = {}
    index = 0
    while index < len(tokens):
        path, after = _path(tokens, index)
        if path and not _is_no_column(tokens, index, path, after) and not types.hold(index):
            name = path[0].lower()
            if name not in bound or not bound[name].hold(index):
                columns[path] = None
        index = max(after, index + 1)
    return tuple(columns)


def double_quoted(text: str) -> tuple[Token, ...]:
    """Return the texts in double quotes of an expression, which writers other than Spark mean as columns.

    Raises:
        InvalidIntent: A quote or a comment is not closed.
    """
    return tuple(
        token for token in _tokens(text) if token.kind in ("string", "raw") and token.text.lstrip("rR").startswith('"')
    )


def mentions(text: str, path: tuple[str, ...], schema: StructType | None = None) -> bool:
    """Return whether an expression may read a column, a part of it, or a column that it is a part of.

    Args:
        text: The expression; one that cannot be split counts as mentioning every column, and a text in double quotes
            as the column of that name.
        path: Logical path; the steps ``element``, ``key`` and ``value`` into arrays and maps need not be written.
        schema: Distinguishes these steps from fields of such names; without it, such a field counts as its struct.
    """
    return Mentions([text], schema).of(path)


class Mentions:
    """The columns that some expressions may read, as `mentions` says for one: looked up at once, however many they are.

    Args:
        texts: The expressions.
        schema: As in `mentions`.
    """

    def __init__(self, texts: Iterable[str], schema: StructType | None = None) -> None:
        self._schema = schema
        written = [_written(text, schema) for text in texts]
        self._everything = None in written
        self._paths = PathSet(path for paths in written for path in paths or ())

    def of(self, path: tuple[str, ...]) -> bool:
        """Return whether one of the expressions may read a column, a part of it, or a column that it is a part of."""
        return self._everything or self._paths.touches(_folded(path, self._schema))


class Mentioned:
    """Columns to look for in expressions: how many they are costs no expression anything.

    Args:
        paths: Logical paths.
        schema: As in `mentions`.
    """

    def __init__(self, paths: Iterable[tuple[str, ...]], schema: StructType | None = None) -> None:
        self._schema = schema
        self._paths = PathSet(_folded(path, schema) for path in paths)

    def by(self, text: str) -> bool:
        """Return whether an expression may read one of them, as `mentions` says."""
        written = _written(text, self._schema)
        return bool(self._paths) and (written is None or any(map(self._paths.touches, written)))


def unknown_columns(text: str, schema: StructType) -> tuple[str, ...]:
    """Return names in an expression that are neither columns of the schema nor words of SQL, as written, each once.

    Raises:
        InvalidIntent: A quote or a comment is not closed.
    """
    names: dict[str, None] = {}
    for path in expression_columns(text):
        field = schema.field(path[0])
        if field is None and not (len(path) == 1 and path[0].lower() in _WORDS):
            names[path[0]] = None
        elif field is not None and not _has(field.type, path[1:]):
            names[".".join(path)] = None
    return tuple(names)


def check_stored_expression(text: str, field: str) -> tuple[str, ...]:
    """Refuse an expression that no table may store; returns the functions in it that read the clock or the user.

    Raises:
        InvalidIntent: It is empty, unbalanced or more than one expression, has a subquery, an aggregate, runs code,
            or gives a different result each time.
    """
    tokens = _tokens(text, field)[:-1]
    if not tokens:
        raise InvalidIntent("The expression is empty: give a condition such as amount > 0.", field=field)
    try:
        check_text(text)
    except ExpressionRefused as error:
        message = error.message.replace("The condition", "The expression", 1)
        raise InvalidIntent(message, field=field, found=error.found) from error
    called = [token.value.lower() for token, after in pairwise(tokens) if after.text == "("]
    words = {token.text.lower() for token in tokens if token.kind == "word"}
    calls = zip(tokens, tokens[1:], tokens[2:], strict=False)
    bare = {name.value.lower() for name, opens, closes in calls if (opens.text, closes.text) == ("(", ")")}
    return tuple(sorted(({*called, *words} & CLOCK_FUNCTIONS) | (bare & CLOCK_WITHOUT_ARGUMENTS)))


def expression_text(text: str) -> str:
    """Return an expression as the reference writer writes it: its tokens with one blank between them.

    Texts stay as they are (the reference splits ``'it''s'`` in two, which means something else), and so do operators
    and numbers.

    Raises:
        InvalidIntent: A quote or a comment is not closed.
    """
    pieces: list[str] = []
    end = -1
    for token in _tokens(text)[:-1]:
        joined = f"{pieces[-1]}{token.text}" if pieces and token.start == end else ""
        if joined in _COMPOUND or (joined and _NUMBER.fullmatch(joined) and token.kind != "name"):
            pieces[-1] = joined
        else:
            pieces.append(token.text)
        end = token.end
    return " ".join(pieces)


def _written(text: str, schema: StructType | None) -> frozenset[tuple[str, ...]] | None:
    """Return the columns that an expression names, as `_folded` has them; None if it cannot be split."""
    try:
        written = (*expression_columns(text), *((token.text[1:-1],) for token in double_quoted(text)))
    except InvalidIntent:
        return None
    return frozenset(_folded(path, schema) for path in written)


def _tokens(text: str, field: str | None = None) -> list[Token]:
    try:
        return tokens_of(text)
    except RequestError as error:
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}\u2026"
        message = error.message.replace("The condition", f"The expression {shown!r}")
        raise InvalidIntent(message, field=field, found=text) from error


def _path(tokens: list[Token], place: int) -> tuple[tuple[str, ...], int]:
    """Return the dotted name that begins at a token, and the index after it; empty if none does."""
    if tokens[place].kind not in ("word", "name") or _LITERAL.fullmatch(tokens[place].text):
        return (), place + 1
    parts = [tokens[place].value]
    place += 1
    while place + 1 < len(tokens) and tokens[place].text == "." and tokens[place + 1].kind in ("word", "name"):
        parts.append(tokens[place + 1].value)
        place += 2
    return tuple(parts), place


def _is_no_column(tokens: list[Token], place: int, path: tuple[str, ...], after: int) -> bool:
    """Return whether a name is not a column: a function, a field of the value before it, a typed text
    (``DATE '2020-01-01'``, ``X'1F'``), a collation, a part of a time, or a word that cannot be a column.

    In backticks every word can be one.
    """
    following = tokens[after]
    earlier, before = tokens[place - 2 : place] if place > 1 else (None, tokens[max(place - 1, 0)])
    field = earlier is not None and earlier.text in {"]", ")"} and before.text == "."
    part = earlier is not None and earlier.is_word("EXTRACT") and before.text == "(" and following.is_word("FROM")
    if following.text == "(" or field or part or (place and before.is_word("COLLATE")):
        return True
    first = path[0].lower()
    typed = following.kind == "string" and (first in _WORDS or first == "x")
    joins = first in _NO_COLUMNS and not (first in _JOINING and following.kind == "operator")
    return len(path) == 1 and tokens[place].kind == "word" and (typed or joins)


def _folded(path: tuple[str, ...], schema: StructType | None) -> tuple[str, ...]:
    """Return a path in lower case without the steps into arrays and maps, which SQL does not always write.

    Where the type is not known, every part of such a name counts as a step.
    """
    kind: DataType | None = schema
    parts = []
    for index, part in enumerate(path):
        name = part.lower()
        while isinstance(kind, ArrayType | MapType):
            steps = {"element": kind.element_type} if isinstance(kind, ArrayType) else _entry(kind)
            if name in steps:
                kind, name = steps[name], ""
                break
            kind = next(reversed(steps.values()))
        if name:
            field = kind.field(part) if isinstance(kind, StructType) else None
            kind = None if field is None else field.type
            if index == 0 or field is not None or name not in ("element", "key", "value"):
                parts.append(name)
    return tuple(parts)


def _entry(kind: MapType) -> dict[str, DataType]:
    return {"key": kind.key_type, "value": kind.value_type}


def _has(kind: DataType, path: tuple[str, ...]) -> bool:
    """Return whether a type has such a field; the contents of arrays and maps are not checked."""
    if not path:
        return True
    match kind:
        case StructType():
            field = kind.field(path[0])
            return field is not None and _has(field.type, path[1:])
        case ArrayType() | MapType():
            return True
        case _:
            return False
