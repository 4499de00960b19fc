"""Check the text of a predicate, word by word, before Spark sees it.

A predicate is SQL text from a person or a table. Spark's own expressions can run any Java method (``reflect``), read
other data (subqueries) and hide both behind quoted or computed names. Invariants: nothing is evaluated; what passes is
one expression that calls no refused function and holds no query; anything else is an ExpressionRefused with its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.sql.functions import CLOCK_FUNCTIONS, CLOCK_WITHOUT_ARGUMENTS, why_refused
from explorer.core.protocol.sql.tokens import Token, tokens_of

__all__ = ["called_functions", "check_clock", "check_text", "quoted_text"]

_REFUSED_WORDS: Final = frozenset({"select", "with"})
_REFUSED_AFTER_PARENTHESIS: Final = frozenset({"from", "table", "values", "map", "reduce", "execute"})
_BUILTIN: Final = frozenset({"builtin", "system.builtin"})
_MOST_DEPTH: Final = 200
_SHOWN: Final = 300


def check_text(text: str) -> list[Token]:
    """Refuse a text that is not a single expression, or names something that must not run; evaluates nothing.

    Returns:
        The tokens; the last one is the end.

    Raises:
        ExpressionRefused: Naming the word and its position (a character, from 1).
    """
    if not text.strip():
        raise ExpressionRefused(
            "The condition is empty. Give a boolean expression such as amount > 0, or leave it out.",
            expression=text,
            reason="empty",
        )
    tokens = _tokens(text)
    _check_parentheses(text, tokens)
    before = Token("end", "", 0)
    for token, following in pairwise(tokens):
        if token.kind in ("word", "name"):
            _check_word(text, token, before, following)
        elif token.kind == "mark" and not token.text.isprintable():
            raise _refused(text, token, "syntax", f"holds the character {token.text!r}", "write it without")
        elif token.text in (";", "$"):
            raise _refused(text, token, "syntax", f"holds '{token.text}'", "give one plain expression only")
        elif token.text == "*" and before.text in ("", "(", ",", "."):
            raise _refused(text, token, "star", "means all columns by '*'", "name the columns")
        elif token.kind in ("string", "raw") and following.text == "(":
            # With the setting that double quotes enclose names, this would be a call.
            raise _refused(text, token, "syntax", f"calls {token.text}", "write a function's name without quotes")
        before = token
    return tokens


def called_functions(text: str, tokens: Sequence[Token]) -> dict[str, Token]:
    """The functions that are called, in lower case, and where; words of SQL before a parenthesis are among them.

    Raises:
        ExpressionRefused: A call has a qualifier other than that of Spark's own functions.
    """
    found: dict[str, Token] = {}
    for place, token in enumerate(tokens[:-1]):
        if token.kind not in ("word", "name") or tokens[place + 1].text != "(":
            continue
        qualifier = ".".join(reversed(list(_qualifiers(tokens, place)))).lower()
        if qualifier and qualifier not in _BUILTIN:
            raise _refused(
                text,
                token,
                "user function",
                f"calls {qualifier}.{token.value}",
                "only Spark's own functions may be called: other readers of the table lack any others",
            )
        found.setdefault(token.value.lower(), token)
    return found


def check_clock(text: str, tokens: Sequence[Token], columns: Collection[str]) -> None:
    """Refuse what depends on the time or the session, so that an answer stays true.

    Args:
        text: The predicate.
        tokens: Its tokens.
        columns: Names of the columns in lower case: a column that is called ``user`` is one.

    Raises:
        ExpressionRefused: Naming the word and its position.
    """
    for place, token in enumerate(tokens[:-1]):
        name, following = token.value.lower(), tokens[place + 1]
        if token.kind not in ("word", "name"):
            continue
        if following.text == "(":
            empty = place + 2 < len(tokens) and tokens[place + 2].text == ")"
            asks = name in CLOCK_FUNCTIONS or (empty and name in CLOCK_WITHOUT_ARGUMENTS)
        else:
            asks = name in CLOCK_FUNCTIONS and name not in columns and (place == 0 or tokens[place - 1].text != ".")
            asks |= name in ("date", "timestamp", "timestamp_ltz", "timestamp_ntz") and _is_moment(following)
        if asks:
            raise _refused(
                text, token, "clock", f"asks for {token.text}", "its result changes with the time or the session"
            )


def quoted_text(text: str) -> str:
    """A predicate as messages show it: in quotes, a long one by its beginning."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _is_moment(token: Token) -> bool:
    """A text that Spark reads as the present, such as ``'today'``."""
    words = token.text[1:-1].strip().lower().split() if token.kind == "string" else []
    return bool(words) and words[0] in ("now", "today", "tomorrow", "yesterday")


def _tokens(text: str) -> list[Token]:
    try:
        return tokens_of(text)
    except RequestError as error:
        raise ExpressionRefused(
            error.message, expression=text, position=error.position, reason=error.reason or "too long"
        ) from error


def _check_parentheses(text: str, tokens: Sequence[Token]) -> None:
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0:
            raise _refused(text, token, "syntax", "closes a parenthesis that was never opened")
        if depth > _MOST_DEPTH:
            raise _refused(text, token, "too deep", f"is nested more than {_MOST_DEPTH} times")
    if depth > 0:
        raise _refused(text, tokens[-1], "syntax", "leaves a parenthesis open")


def _check_word(text: str, token: Token, before: Token, following: Token) -> None:
    name = token.value.lower()
    if following.text == "(" and (refused := why_refused(name)) is not None:
        reason, why = refused
        raise _refused(text, token, reason, f"calls {name}", f"it is refused because {why}. Use plain functions")
    if token.kind == "name" or before.text == ".":
        return
    opens = before.text == "(" and name in _REFUSED_AFTER_PARENTHESIS and following.text != "("
    if name in _REFUSED_WORDS or opens:
        advice = f"subqueries are refused, a condition sees one row only. If {token.text} is a column, write"
        raise _refused(text, token, "subquery", f"holds {token.text}", f"{advice} `{token.text}`")


def _qualifiers(tokens: Sequence[Token], place: int) -> Iterator[str]:
    while place >= 2 and tokens[place - 1].text == "." and tokens[place - 2].kind in ("word", "name"):
        place -= 2
        yield tokens[place].value


def _refused(text: str, token: Token, reason: str, what: str, advice: str | None = None) -> ExpressionRefused:
    return ExpressionRefused(
        f"The condition {quoted_text(text)} {what} at position {token.start + 1}{f': {advice}' if advice else ''}.",
        expression=text,
        position=token.start + 1,
        reason=reason,
        found=token.value or None,
    )
