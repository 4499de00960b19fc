"""The constants of a predicate, and whether a value or a text of the log holds one.

Protocol section: Per-file Statistics (string bounds may be cut off). Invariants: a constant is compared as text, as a
number, or as a time, whatever the spelling; a bound that is a cut-off beginning of the constant counts; in longer texts
only whole words count, escaped or not; predicates whose rows need not contain its constants are recognized.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

import msgspec

from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.sql.tokens import Token, literal_of, tokens_of

_CUT: Final = 32
"""From so many bytes of UTF-8 on a text may be cut off: writers count 32 UTF-16 units, or 64 bytes."""

_RUN: Final = re.compile(r"[A-Za-z0-9]{2,}")
_TIME: Final = re.compile(r"(\d{4,}-\d{2}-\d{2})(?:[ T](\d{2}:\d{2}(?::\d{2})?)(?:\.(\d+))?)?(Z|[+-]\d{2}:?\d{2})?\Z")
_CONSTANT: Final = frozenset(["string", "raw", "number"])
_EQUALS: Final = frozenset(["=", "==", "<=>"])
_JOINING: Final = frozenset(["AND", "OR", "IN"])
_TYPES: Final = frozenset(["DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"])
_VALUES: Final = frozenset(["TRUE", "FALSE", "NULL"])
_OTHER: Final = frozenset(
    {
        *("NOT", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ESCAPE", "COLLATE", "BETWEEN", "IS", "DISTINCT", "DIV"),
        *("CASE", "EXISTS", "SELECT", "INTERVAL"),
    }
)


class Constants(msgspec.Struct, frozen=True):
    """Texts and numbers to search for.

    Attributes:
        texts: As written, without quotes.
        numbers: By value.
        columns: Columns that the predicate names, under every name they had, in lower case.
        padded: A column that the predicate names is of type CHAR: texts are equal whatever spaces follow them.
    """

    texts: tuple[str, ...]
    numbers: tuple[Decimal, ...]
    columns: frozenset[str]
    padded: bool = False

    def __bool__(self) -> bool:
        return bool(self.texts or self.numbers)

    @property
    def needles(self) -> tuple[str, ...]:
        """Texts one of which is in everything that holds a constant, except where it is escaped; none if there is no
        such text."""
        needles = []
        for text in self.texts:
            runs = _RUN.findall(text)
            if not runs or _TIME.match(text) or may_be_cut(text):
                return ()
            needles.append(max(runs, key=len))
        return () if self.numbers else tuple(needles)

    def equal(self, value: JsonValue, *, bound: bool = False, numbers: bool = True) -> bool:
        """Return whether a value is one of them.

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
                if self.padded and any(value.rstrip(" ") == text.rstrip(" ") for text in self.texts):
                    return True
                if bound and may_be_cut(value) and any(_begins(text, value) for text in self.texts):
                    return True
                return numbers and bool(self.numbers) and _number(value) in self.numbers
            case _:
                number = _number(str(value)) if numbers else None
                return number is not None and (number in self.numbers or number in map(_number, self.texts))

    def within(self, text: str, *, numbers: bool = True) -> bool:
        """Return whether a text contains one of them as a whole word; ``numbers`` includes numeric constants."""
        texts = tuple(each.rstrip(" ") for each in self.texts) if self.padded else self.texts
        escaped = (spelling for each in texts for spelling in _escaped(each))
        spelled = (*texts, *escaped, *(format(number, "f") for number in self.numbers if numbers))
        return any(re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text) for each in spelled if each)


def may_be_cut(text: str) -> bool:
    """Return whether a bound may be only the beginning of the text, or a text may have such a bound."""
    return len(text.encode("utf-8", "replace")) >= _CUT


def constants_of(predicate: str, columns: frozenset[str], *, padded: bool = False) -> Constants:
    """Find the constants of a predicate.

    Args:
        predicate: SQL.
        columns, padded: As in `Constants`.

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
    return Constants(tuple(dict.fromkeys(filter(None, texts))), tuple(dict.fromkeys(numbers)), columns, padded)


def only_equalities(predicate: str) -> bool:
    """Return whether each matching row contains the predicate's constants: columns equal them, and no more.

    Raises:
        RequestError: It cannot be split into words.
    """
    tokens = tokens_of(predicate)
    ends = tokens[-1:]
    return all(map(_is_of_equality, ends + tokens, tokens[:-1], tokens[1:]))


def _is_of_equality(before: Token, token: Token, after: Token) -> bool:
    """Return whether a token is allowed in a predicate of equalities, by its neighbors."""
    word = token.text.upper() if token.kind == "word" else ""
    match token.kind:
        case "operator":
            # A sign or the name of a type may stand before a constant.
            constant = after.kind in _CONSTANT or after.text == "-" or after.text.upper() in _TYPES | _VALUES
            return token.text in _EQUALS and (constant or before.kind in _CONSTANT)
        case "mark":
            return token.text in "().," or (token.text == "-" and after.kind == "number")
        case "word" if word in _OTHER or (after.kind == "string" and word not in _TYPES | _JOINING):
            return False  # `X'1F'` is bytes, which the log spells in another way.
        case "word" | "name":
            return after.text != "(" or word in _JOINING
        case _:
            return True


@lru_cache
def _escaped(text: str) -> frozenset[str]:
    """Return the spellings of a text inside other texts of the log: in JSON, and between quotes of SQL."""
    in_json = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    in_sql = (text.replace("'", "''"), text.replace("'", "\\'"), text.replace('"', '""'))
    return frozenset((*in_json, *in_sql)) - {text}


def _spellings(token: Token) -> list[str]:
    """Return what a quoted text may mean: settings decide about doubled quotes and backslashes."""
    if token.kind == "raw":
        return [token.text[2:-1]]
    quote, inner = token.text[0], token.text[1:-1]
    variants = [inner, inner.replace(quote * 2, quote), inner.replace(quote * 2, "")]
    return variants + [re.sub(r"\\(.)", r"\1", each) for each in variants if "\\" in each]


def _begins(text: str, bound: str) -> bool:
    """Return whether a bound is the text cut off; the greatest one ends with a character that sorts after it."""
    return text.startswith(bound[:-1])


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _same_time(one: str, other: str) -> bool:
    """Return whether two texts are the same local time or instant (default UTC), cut off to milliseconds."""
    first, second = _TIME.match(one), _TIME.match(other)
    if first is None or second is None:
        return False
    clocks, moments = [], []
    for match in (first, second):
        day, clock, fraction, zone = match.groups()
        shown = (clock or "00:00") + ("" if clock and len(clock) == len("00:00:00") else ":00")
        clocks.append(f"{day}T{shown}.{(fraction or '').ljust(3, '0')[:3]}")
        moments.append(_moment(clocks[-1], zone))
    return clocks[0] == clocks[1] or (moments[0] is not None and moments[0] == moments[1])


def _moment(clock: str, zone: str | None) -> datetime | None:
    """Return the moment at which a clock of a zone shows a time; None for no time, and for years past 9999."""
    try:
        return datetime.fromisoformat(f"{clock}{zone or 'Z'}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
