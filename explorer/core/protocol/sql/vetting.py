"""Check the text of a predicate, word by word, before Spark sees it.

A predicate is SQL text from a user or a table. Spark's own expressions can run any Java method (``reflect``), read
other data (subqueries) and hide both behind quoted or computed names; Spark also replaces ``${...}`` by variables of
the environment before it reads anything else. Invariants: nothing is evaluated; a text that passes is one expression
that calls only allowed functions, has no query and no variable, and makes no value beyond a bound; anything
else is an ExpressionRefused with its position.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final

from explorer.core.errors import ExpressionRefused, RequestError
from explorer.core.protocol.sql.functions import (
    CLOCK_FUNCTIONS,
    CLOCK_WITHOUT_ARGUMENTS,
    similar_functions,
    why_refused,
)
from explorer.core.protocol.sql.growth import TooLarge, check_growth
from explorer.core.protocol.sql.tokens import (
    OPENING_WORDS,
    NormalizedExpression,
    Token,
    normalize_expression,
    tokens_of,
)

_REFUSED_WORDS: Final = frozenset({"select", "with"})
_BUILTIN: Final = frozenset({"builtin", "system.builtin"})
_MOST_DEPTH: Final = 200
_BEFORE_OPERANDS: Final = frozenset(
    {
        *("and", "or", "not", "in", "is", "between", "like", "ilike", "rlike", "regexp", "escape", "div", "distinct"),
        *("case", "when", "then", "else", "as", "from", "for"),
    }
)
_SHOWN: Final = 300
# A variable, also one that appears only once escapes are read or characters without a width are left out.
_VARIABLE: Final = re.compile(
    r"(?:\$|\\(?:u0024|U00000024|044))(?:[\s\\\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\x00-\x1f\x7f-\x9f])*"
    r"(?:\{|(?<=\\)(?:u007[bB]|U0000007[bB]|173))"
)
_COMMENT: Final = re.compile(r"--(?:\\\n|[^\r\n])*|/\*.*?\*/", re.DOTALL)
# Some functions take a type as text, also in JSON, which may contain expressions of its own.
_TYPED: Final = {"from_json": 1, "from_csv": 1, "variant_get": 2, "try_variant_get": 2}
_PLAIN_TYPE: Final = re.compile(r"[\w\s<>(),:`.]*")
_SCHEMA_FUNCTIONS: Final = frozenset({"schema_of_json", "schema_of_csv"})


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
    _check_variables(text)
    tokens = _tokens(text)
    if len(tokens) == 1:
        raise _refused(text, tokens[0], "empty", "has only comments", "write an expression")
    _check_parentheses(text, tokens)
    _check_gaps(text, tokens)
    before = Token("end", "", 0)
    for token, following in pairwise(tokens):
        if token.kind in ("word", "name"):
            _check_word(text, token, before, following)
        else:
            _check_mark(text, token, before, following)
        before = token
    for name, place in _calls(text, tokens):
        _check_call(text, tokens, place, name)
    try:
        check_growth(tokens)
    except TooLarge as error:
        raise _refused(text, error.token, "too large", error.what, error.advice) from error
    return tokens


def normalized_expression(text: str) -> NormalizedExpression:
    """Check a text as `check_text` does, and normalize it for Spark's parser.

    Raises:
        ExpressionRefused: Naming the word and its position (a character, from 1).
    """
    return normalize_expression(text, check_text(text))


def called_functions(text: str, tokens: Sequence[Token]) -> dict[str, Token]:
    """Return the called functions, in lower case, and their tokens; SQL words before a parenthesis are among them.

    Raises:
        ExpressionRefused: A call has a qualifier other than that of Spark's own functions.
    """
    calls: dict[str, Token] = {}
    for name, index in _calls(text, tokens):
        calls.setdefault(name, tokens[index])
    return calls


def _calls(text: str, tokens: Sequence[Token]) -> Iterator[tuple[str, int]]:
    """Yield each call: the function's name in lower case, and the index of its token."""
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
        yield token.value.lower(), place


def check_clock(text: str, tokens: Sequence[Token], columns: Collection[str]) -> None:
    """Refuse expressions that depend on the time or the session, so that a result stays true.

    Args:
        columns: Names of the columns in lower case: a column named ``user`` is one.

    Raises:
        ExpressionRefused: Naming the word and its position.
    """
    for place, token in enumerate(tokens[:-1]):
        name, following = token.value.lower(), tokens[place + 1]
        if token.kind not in ("word", "name"):
            continue
        if following.text == "(":
            empty = place + 2 < len(tokens) and tokens[place + 2].text == ")"
            reads_clock = name in CLOCK_FUNCTIONS or (empty and name in CLOCK_WITHOUT_ARGUMENTS)
        else:
            reads_clock = (
                name in CLOCK_FUNCTIONS and name not in columns and (place == 0 or tokens[place - 1].text != ".")
            )
            reads_clock |= name in ("date", "timestamp", "timestamp_ltz", "timestamp_ntz") and _is_moment(following)
        if reads_clock:
            raise _refused(
                text, token, "clock", f"asks for {token.text}", "its result changes with the time or the session"
            )


def quoted_text(text: str) -> str:
    """Return a predicate as messages show it: in quotes, a long one by its beginning."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _is_moment(token: Token) -> bool:
    """Return whether Spark reads a text as the present, such as ``'today'``."""
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


def _check_variables(text: str) -> None:
    variable = _VARIABLE.search(text)
    if variable is not None:
        token = Token("mark", variable.group(), variable.start())
        advice = "Spark would put a variable of the environment there. For these two characters write concat('$', '{')"
        raise _refused(text, token, "variable", "contains '$' followed by '{'", advice)
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate is not None:
        token = Token("mark", surrogate.group(), surrogate.start())
        raise _refused(text, token, "syntax", f"contains half of a character, {token.text!r},", "write it without")


def _check_gaps(text: str, tokens: Sequence[Token]) -> None:
    """Refuse a hint, which looks like a comment, and characters that are blanks either here or in Spark only."""
    end = 0
    for token in tokens:
        gap = text[end : token.start]
        if "/*+" in gap:
            raise _refused(
                text, Token("mark", "/*+", end + gap.index("/*+")), "syntax", "contains a hint, /*+", "write it without"
            )
        blanks = _COMMENT.sub(lambda comment: " " * len(comment.group()), gap)
        odd = re.search(r"(?![ \t\r\n])\s", blanks)
        if odd is not None:
            space = Token("mark", odd.group(), end + odd.start())
            raise _refused(text, space, "syntax", f"contains the character {odd.group()!r}", "write a plain space")
        end = token.end


def _check_mark(text: str, token: Token, before: Token, following: Token) -> None:
    if token.kind == "mark" and not (token.text.isprintable() and token.text.isascii()):
        raise _refused(text, token, "syntax", f"contains the character {token.text!r}", "write it without")
    if token.text in (";", "$"):
        raise _refused(text, token, "syntax", f"contains '{token.text}'", "give one plain expression only")
    if token.text == "*" and text[token.end : token.end + 1] == "/":
        # Spark takes these two for the end of a hint, also before a comment.
        raise _refused(text, token, "syntax", "contains '*/'", "write a space after '*'")
    if token.text == "*" and not _ends_operand(before):
        raise _refused(text, token, "star", "means all columns by '*'", "name the columns")
    if token.kind in ("string", "raw") and following.text == "(":
        # With the setting that double quotes enclose names, this would be a call.
        raise _refused(text, token, "syntax", f"calls {token.text}", "write a function's name without quotes")
    named = token.text == ":" and not _ends_operand(before) and (before.text, before.end) != (":", token.start)
    if token.text == "?" or named:
        raise _refused(text, token, "parameter", f"contains '{token.text}'", "write the value itself")
    if token.text == ":" and (following.text, following.start) == ("/", token.end):
        raise _refused(text, token, "syntax", "contains ':/'", "write an address in quotes")
    if token.text == "|" and (following.text, following.start) == (">", token.end):
        raise _refused(text, token, "syntax", "contains '|>'", "give one plain expression only")


def _ends_operand(token: Token) -> bool:
    """Return whether a value can end with a token, so that an operator follows."""
    if token.kind == "word":
        return token.text.lower() not in _BEFORE_OPERANDS
    return token.kind in ("number", "string", "raw", "name") or token.text in (")", "]")


def _check_word(text: str, token: Token, before: Token, following: Token) -> None:
    name = token.value.lower()
    if token.kind == "word" and name != token.value.upper().lower():
        # Spark reads words in capitals, where this one turns into another.
        raise _refused(text, token, "syntax", f"contains {token.text}", f"if it is a column, write `{token.text}`")
    if token.kind == "name" or before.text == ".":
        return
    is_value = following.kind == "operator" or following.text in ("(", ")", ".")
    opens = before.text == "(" and name in OPENING_WORDS and not is_value
    if name in _REFUSED_WORDS or opens:
        advice = f"subqueries are refused, a condition sees one row only. If {token.text} is a column, write"
        raise _refused(text, token, "subquery", f"contains {token.text}", f"{advice} `{token.text}`")


def _check_call(text: str, tokens: Sequence[Token], place: int, name: str) -> None:
    token, before = tokens[place], tokens[place - 1].text.lower() if place else ""
    quantified = name in ("any", "some") and before in ("like", "ilike")
    refused = None if quantified else why_refused(name)
    if refused is not None:
        reason, why = refused
        nearest = similar_functions(name) if reason == "unknown function" else []
        advice = f"Did you mean {' or '.join(nearest)}?" if nearest else "Use plain functions"
        error = _refused(text, token, reason, f"calls {name}", f"it is refused because {why}. {advice}")
        raise error.with_facts(found=name, nearest=nearest or None)
    if name in _TYPED:
        _check_type(text, tokens, place, name)


def _check_type(text: str, tokens: Sequence[Token], place: int, name: str) -> None:
    """Check that a type given as text is plain: as JSON it can have defaults, which Spark evaluates."""
    depth, commas = 0, 0
    for number in range(place + 1, len(tokens)):
        token, before = tokens[number], tokens[number - 1]
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if not depth:
            return
        commas += depth == 1 and token.text == ","
        if commas != _TYPED[name] or token.text == ",":
            continue
        if before.text == "," and _is_schema_call(tokens, number):
            return
        plain = token.kind in ("string", "raw") and _PLAIN_TYPE.fullmatch(token.text.lstrip("rR")[1:-1])
        if depth != 1 or before.text != "," or not plain or tokens[number + 1].text not in (",", ")"):
            raise _refused(
                text,
                token,
                "schema",
                f"gives {name} a type that is not written plainly",
                "write it in one pair of quotes, such as 'a INT, b ARRAY<STRING>', or use schema_of_json",
            )


def _is_schema_call(tokens: Sequence[Token], start: int) -> bool:
    """Return whether an argument is a call of a function that returns a schema, and nothing else."""
    if tokens[start].text.lower() not in _SCHEMA_FUNCTIONS or tokens[start + 1].text != "(":
        return False
    depth = 0
    for later in range(start + 1, len(tokens) - 1):
        depth += (tokens[later].text == "(") - (tokens[later].text == ")")
        if not depth:
            return tokens[later + 1].text in (",", ")")
    return False


def _qualifiers(tokens: Sequence[Token], place: int) -> Iterator[str]:
    while place >= 2 and tokens[place - 1].text == "." and tokens[place - 2].kind in ("word", "name"):
        place -= 2
        yield tokens[place].value


def _refused(text: str, token: Token, reason: str, what: str, advice: str | None = None) -> ExpressionRefused:
    return ExpressionRefused(
        _sentence(f"The condition {quoted_text(text)} {what} at position {token.start + 1}", advice),
        expression=text,
        position=token.start + 1,
        reason=reason,
        found=token.value or None,
    )


def _sentence(what: str, advice: str | None) -> str:
    sentence = f"{what}: {advice}" if advice else what
    return sentence if sentence.endswith("?") else f"{sentence}."
