"""Where in an expression names are its own: the parameters of its lambdas, and the fields of types that it casts to.

Invariant: finding these places, and asking for one, costs time in proportion to the expression, whatever is nested in
it: a log may hold any text.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from explorer.core.protocol.sql.tokens import Token

_NESTED: Final = frozenset(["array", "map", "struct"])
"""Types that are written with other types, and with names of fields, in angle brackets."""


class Scopes:
    """Ranges of tokens, which may overlap.

    Args:
        ranges: Of each its first token and the one after its last.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        in_order = sorted(ranges)
        self._begins = [begin for begin, _ in in_order]
        # Up to each of them, the furthest end.
        self._ends = list(accumulate((end for _, end in in_order), max))

    def hold(self, index: int) -> bool:
        """Return whether a token is in one of them."""
        place = bisect_right(self._begins, index)
        return place > 0 and index < self._ends[place - 1]


def lambda_scopes(tokens: Sequence[Token]) -> dict[str, Scopes]:
    """Return where the parameters of lambdas, ``x -> ...`` or ``(x, y) -> ...``, hold, by their names in lower case."""
    scopes: dict[str, list[tuple[int, int]]] = {}
    ends: list[int] | None = None
    for index, token in enumerate(tokens[:-2]):
        if not (token.text == "-" and tokens[index + 1].text == ">" and tokens[index + 1].start == token.end):
            continue
        begin = _parameters(tokens, index)
        ends = ends or _ends(tokens)
        for each in tokens[begin:index]:
            if each.text not in ("(", ")", ","):
                scopes.setdefault(each.value.lower(), []).append((begin, ends[index]))
    return {name: Scopes(ranges) for name, ranges in scopes.items()}


def type_scopes(tokens: Sequence[Token]) -> Scopes:
    """Return the places of the types in angle brackets that an expression casts to."""
    types, closed = [], _closed(tokens)
    for index, (before, token, after) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        nested = token.kind == "word" and token.text.lower() in _NESTED and after.text == "<"
        if nested and (before.is_word("AS") or before.text == ":"):
            types.append((index + 2, closed.get(index + 2, len(tokens))))
    return Scopes(types)


def _parameters(tokens: Sequence[Token], arrow: int) -> int:
    """Return where the parameters before an arrow begin; the arrow itself if there are none."""
    begin = max(arrow - 1, 0)
    if tokens[begin].text != ")":
        return begin
    begin -= 1
    while begin > 0 and (tokens[begin].kind in ("word", "name") or tokens[begin].text == ","):
        begin -= 1
    return max(begin, 0) if begin <= 0 or tokens[begin].text == "(" else arrow


def _ends(tokens: Sequence[Token]) -> list[int]:
    """Return where the argument of each token ends: at a comma, or at the parenthesis that closes the call."""
    ends, open_ends = [0] * len(tokens), [len(tokens)]
    for index in range(len(tokens) - 1, -1, -1):
        match tokens[index].text:
            case ")":
                open_ends.append(index)
            case "(" if len(open_ends) > 1:
                open_ends.pop()
            case "(":
                open_ends = [len(tokens)]  # it is never closed
            case ",":
                open_ends[-1] = index
        ends[index] = open_ends[-1]
    return ends


def _closed(tokens: Sequence[Token]) -> dict[int, int]:
    """Return where each angle bracket is closed, for those that are."""
    closed: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token.text == "<":
            opened.append(index)
        elif token.text == ">" and opened:
            closed[opened.pop()] = index
    return closed
