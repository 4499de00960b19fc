"""An expression normalized from its tokens, which Spark's parser gets in place of the text.

Invariants: between two tokens there is one blank where the text had blanks or a comment, and nothing where they touch,
so that no token joins or leaves another; comments are dropped; each of its positions maps to one in the text; a column
that it begins with stays one in parentheses, where ``values IN (1)`` would be a query.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.protocol.sql.tokens import Token

__all__ = ["OPENING_WORDS", "NormalizedExpression", "normalize_expression"]

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
    """Normalize an expression.

    Args:
        text: The text.
        tokens: Its tokens, the last of which is the end.
    """
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
