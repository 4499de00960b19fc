"""The words of a SQL condition, and its constants.

Invariants: every character belongs to a token or is space; a constant whose meaning depends on settings (a text with
a backslash or a doubled quote) counts as none. Texts and comments end where Spark's own lexer ends them: a comment at
any end of a line without a backslash before it, a raw text (``r'...'``) at the next quote, whatever is before it; a
comment inside a comment, which Spark nests, is refused. Otherwise a call could be hidden in an apparent text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.errors import RequestError

_LONGEST: Final = 100_000
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\r\n])*|/\*(?:(?!/\*|\*/).)*\*/)
      | (?P<raw>[rR]'[^']*'|[rR]"[^"]*")
      | (?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
      | (?P<word>\w+)
      | (?P<operator><=>|<=|>=|<>|!=|==|=|<|>)
      | (?P<open>['"`]|/\*)
      | (?P<mark>.)""",
    re.VERBOSE | re.DOTALL,
)
_NO_COLUMNS: Final = frozenset({"NULL", "TRUE", "FALSE", "CURRENT_PATH"})
_TYPED_INTEGER: Final = re.compile(r"\d+(?=[lsy]\Z)", re.IGNORECASE | re.ASCII)
"""The digits of a whole number whose type is written after it, such as ``1L``."""


class Token(msgspec.Struct, frozen=True):
    """A piece of the text and its position."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The position of the next character."""
        return self.start + len(self.text)

    @property
    def value(self) -> str:
        """The text, of a quoted name without its backticks."""
        return self.text[1:-1].replace("``", "`") if self.kind == "name" else self.text

    def is_word(self, word: str) -> bool:
        """Return whether it is this keyword, in any case."""
        return self.kind == "word" and self.text.upper() == word

    def is_column(self, following: Token) -> bool:
        """Return whether Spark takes the token for a column, or for the first part of its path, before another token.

        Unless its setting ``spark.sql.ansi.enforceReservedKeywords`` is on, Spark reserves no word but these: ``date``,
        ``interval``, even ``case`` are columns where a column can be. A call or a typed text (``DATE '2026-05-01'``)
        begins with a word too, and the next token shows that.
        """
        if self.kind != "word":
            return self.kind == "name"
        word = self.text.upper()
        return word not in _NO_COLUMNS and not (word == "NOT" and following.kind in ("word", "name"))


def tokens_of(text: str) -> list[Token]:
    """Split a condition; the last token is the end.

    Raises:
        RequestError: A quote or a comment is not closed, or the text is too long.
    """
    if len(text) > _LONGEST:
        raise RequestError(f"The condition has {len(text)} characters; at most {_LONGEST} are read.")
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        if kind == "open":
            what = "the comment" if match.group() == "/*" else f"the quote {match.group()}"
            nested = " or contains another one" if match.group() == "/*" else ""
            raise RequestError(
                f"The condition cannot be read at character {match.start() + 1}: {what} is not closed{nested}.",
                position=match.start() + 1,
                reason="syntax",
            )
        if kind != "space":
            tokens.append(Token(kind, match.group(), match.start()))
    return [*tokens, Token("end", "", len(text))]


def literal_of(tokens: list[Token], place: int) -> tuple[str, str, int] | None:
    """Return the constant that begins at a token: its kind, its text, and the index after it; None without one."""
    token = tokens[place]
    sign = ""
    if token.kind == "mark" and token.text in "+-" and _is_number(tokens[place + 1]):
        sign, place = token.text.strip("+"), place + 1
        token = tokens[place]
    match token.kind:
        case "number":
            return _number_kind(token.text), sign + token.text, place + 1
        case "string" if _is_plain(token.text):
            return "string", token.text[1:-1], place + 1
        case "word" if digits := _TYPED_INTEGER.match(token.text):
            return "integer", sign + digits.group(), place + 1
        case "word":
            return _word_literal(tokens, place)
    return None


def _is_number(token: Token) -> bool:
    return token.kind == "number" or (token.kind == "word" and _TYPED_INTEGER.match(token.text) is not None)


def _word_literal(tokens: list[Token], place: int) -> tuple[str, str, int] | None:
    word, following = tokens[place].text.upper(), tokens[place + 1]
    match word:
        case "NULL":
            return "null", "null", place + 1
        case "TRUE" | "FALSE":
            return "boolean", word.lower(), place + 1
        case "DATE" | "TIMESTAMP" | "TIMESTAMP_NTZ" if following.kind == "string" and _is_plain(following.text):
            return word.lower(), following.text[1:-1], place + 2
    return None


def _number_kind(text: str) -> str:
    if "e" in text.lower():
        return "double"
    return "decimal" if "." in text else "integer"


def _is_plain(quoted: str) -> bool:
    return "\\" not in quoted and quoted[0] * 2 not in quoted[1:-1]


OPENING_WORDS: Final = frozenset({"from", "table", "values", "map", "reduce", "execute"})
"""Words that are columns elsewhere, and begin a query after a parenthesis."""


class NormalizedExpression(msgspec.Struct, frozen=True):
    """A normalized expression.

    Attributes:
        original: The text as it was written.
        text: The same with one blank between tokens, without comments.
        tokens: The tokens of the original; the last one is the end.
        starts: Where each token begins in ``text``.
    """

    original: str
    text: str
    tokens: tuple[Token, ...]
    starts: tuple[int, ...]

    def original_position(self, place: int) -> int:
        """Return where a character of ``text`` is in the original, both from 0; past the end, the original's length."""
        if place >= len(self.text):
            return len(self.original)
        number = max(bisect_right(self.starts, place) - 1, 0)
        token = self.tokens[number]
        return min(token.start + place - self.starts[number], max(token.end - 1, token.start))

    def holds(self, kind: str, mark: str) -> bool:
        """Return whether a token of a kind, other than its first and last character, has such a mark in it."""
        return any(token.kind == kind and mark in token.text[1:-1] for token in self.tokens)


def normalize_expression(text: str, tokens: Sequence[Token]) -> NormalizedExpression:
    """Normalize an expression."""
    pieces: list[str] = []
    starts: list[int] = []
    length, end = 0, 0
    for token in tokens:
        if pieces and token.start > end and token.kind != "end":
            pieces.append(" ")
            length += 1
        starts.append(length)
        piece = f"`{token.text}`" if len(starts) == 1 and _would_open(tokens) else token.text
        pieces.append(piece)
        length += len(piece)
        end = token.end
    return NormalizedExpression(text, "".join(pieces), tuple(tokens), tuple(starts))


def _would_open(tokens: Sequence[Token]) -> bool:
    """Return whether the first token is a column that would begin a query in parentheses."""
    first, following = tokens[0], tokens[min(1, len(tokens) - 1)]
    return first.kind == "word" and first.text.lower() in OPENING_WORDS and following.text != "("
