"""The constants of a predicate, and whether a value or a text of the log holds one.

Protocol section: Per-file Statistics (string bounds may be cut off). Invariants: a constant is compared as text, as a
number, or as a time, whatever the spelling; a bound that is a cut-off beginning of the constant counts; in longer texts
only whole words count.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.sql.tokens import Token, literal_of, tokens_of

__all__ = ["Constants", "constants_of"]

_CUT: Final = 32
"""Writers cut text bounds off after so many characters."""

_RUN: Final = re.compile(r"[A-Za-z0-9]{2,}")
_TIME: Final = re.compile(r"(\d{4,}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?)?(?:Z|[+-]\d{2}:?\d{2})?\Z")


class Constants(msgspec.Struct, frozen=True):
    """Texts and numbers to look for.

    Attributes:
        texts: As written, without quotes.
        numbers: By value.
        columns: Columns that the predicate names, under every name they had, in lower case.
    """

    texts: tuple[str, ...]
    numbers: tuple[Decimal, ...]
    columns: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.texts or self.numbers)

    @property
    def needles(self) -> tuple[str, ...]:
        """Texts one of which is in everything that holds a constant, except where it is escaped; none if there is no
        such text."""
        found = []
        for text in self.texts:
            runs = _RUN.findall(text)
            if not runs or _TIME.match(text) or len(text) >= _CUT:
                return ()
            found.append(max(runs, key=len))
        return () if self.numbers else tuple(found)

    def equal(self, value: JsonValue, *, bound: bool = False, numbers: bool = True) -> bool:
        """Whether a value is one of them.

        Args:
            value: A value of the log.
            bound: It is a least or greatest value, which may be a cut-off text.
            numbers: Compare numbers too: of other columns they are equal by chance alone.
        """
        match value:
            case None | bool() | list() | dict():
                return False
            case str():
                if any(value == text or _same_time(value, text) for text in self.texts):
                    return True
                if bound and len(value) >= _CUT and any(_begins(text, value) for text in self.texts):
                    return True
                return numbers and bool(self.numbers) and _number(value) in self.numbers
            case _:
                number = _number(str(value)) if numbers else None
                return number is not None and (number in self.numbers or number in map(_number, self.texts))

    def within(self, text: str, *, numbers: bool = True) -> bool:
        """Whether a text holds one of them as a whole word; ``numbers`` also those that are no texts."""
        spelled = (*self.texts, *(format(number, "f") for number in self.numbers if numbers))
        return any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in spelled if each)


def constants_of(predicate: str, columns: frozenset[str]) -> Constants:
    """Find the constants of a predicate.

    Args:
        predicate: SQL.
        columns: As in `Constants`.

    Raises:
        RequestError: It cannot be split into words.
    """
    tokens = tokens_of(predicate)
    texts: list[str] = []
    numbers: list[Decimal] = []
    for place, token in enumerate(tokens):
        if token.kind in ("string", "raw"):
            texts += _spellings(token)
        elif token.kind == "number":
            signed = literal_of(tokens, place - 1) if place else None
            text = token.text if signed is None or signed[2] != place + 1 else signed[1]
            number = _number(text)
            numbers += [] if number is None else [number]
    return Constants(tuple(dict.fromkeys(filter(None, texts))), tuple(dict.fromkeys(numbers)), columns)


def _spellings(token: Token) -> list[str]:
    """What a quoted text may mean: settings decide about doubled quotes and backslashes."""
    if token.kind == "raw":
        return [token.text[2:-1]]
    quote, inner = token.text[0], token.text[1:-1]
    variants = [inner, inner.replace(quote * 2, quote), inner.replace(quote * 2, "")]
    return variants + [re.sub(r"\\(.)", r"\1", each) for each in variants if "\\" in each]


def _begins(text: str, bound: str) -> bool:
    """Whether a bound is the text cut off; the greatest one ends with a character that sorts after it."""
    return text.startswith(bound[:-1])


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _same_time(one: str, other: str) -> bool:
    """Whether two texts are the same day or time, both read in UTC; what follows the milliseconds may be cut off."""
    first, second = _TIME.match(one), _TIME.match(other)
    if first is None or second is None:
        return False
    parts = []
    for found in (first, second):
        day, clock, fraction = found.groups()
        parts.append((day, (clock or "00:00:00").ljust(8, "0")[:8], (fraction or "").ljust(3, "0")[:3]))
    return parts[0] == parts[1]
