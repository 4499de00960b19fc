"""What the log says of the value of a row: between which two values of its type it lies.

Protocol sections: Per-file Statistics, Partition Value Serialization. Invariants: the value of the row is never outside
of what is given for it: a text that may be cut off stands for every text that begins so, a time in statistics for what
is within a millisecond of it, a time without a zone for that of every zone; what does not fit the type is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from explorer.auditing.erasure.constants import may_be_cut
from explorer.core.errors import CorruptTable
from explorer.core.protocol.json_values import JsonValue
from explorer.core.protocol.partition_values import parse_partition_value
from explorer.core.protocol.schema.data_types import PrimitiveType, PrimitiveValue
from explorer.core.protocol.statistics.bounds import bound_value
from explorer.core.protocol.statistics.skipping_truth import successor

LoggedPlace: TypeAlias = Literal["least value", "greatest value", "partition value"]
Range: TypeAlias = tuple[PrimitiveValue | None, PrimitiveValue | None]
"""The least and the greatest value that it can be; None where that is not known."""

NUMBERS: Final = frozenset(["byte", "short", "integer", "long", "float", "double", "decimal"])
TIMES: Final = frozenset(["timestamp", "timestamp_ntz"])
_UNKNOWN: Final[Range] = (None, None)
_LASTS: Final = ("\U0010ffff", "\x7f", "\ufffd")
"""What writers put after a greatest text that they cut off."""
_MILLISECOND: Final = timedelta(milliseconds=1)
_FURTHEST_ZONE: Final = timedelta(hours=18)
_ZONE: Final = re.compile(r":\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})\Z", re.ASCII)
_NUMBER: Final = re.compile(
    r"(?<![\w.])(?<!\w#)(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?=(?:[LlSsYyDdFf]|BD)?(?!\w))", re.ASCII
)
_DAY: Final = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)", re.ASCII)
_TIME: Final = re.compile(_DAY.pattern + r"(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)
_EDGE: Final = re.compile(r"(?<!\w)|(?!\w)")
_MANY_EDGES: Final = 200
_MOST_EDGES: Final = 16
_LONGEST: Final = 20_000


def has_zone(time: str) -> bool:
    """Return whether a text of a time names its zone."""
    return _ZONE.search(time) is not None


def range_of(value: JsonValue, kind: PrimitiveType, place: LoggedPlace, *, any_zone: bool = False) -> Range:
    """Return between which values of a type the value of a row lies.

    Args:
        value: As in the log.
        kind: Type of the column.
        place: Where the log has it.
        any_zone: Whether it is compared with times without a zone, which the settings of a session place.
    """
    try:
        if place == "partition value":
            text = value if isinstance(value, str) else str(value)
            typed = parse_partition_value(text, kind, "")
            return _around(typed, timedelta(), any_zone or not has_zone(text), kind)
        if kind.name == "string":
            return _of_text(value, place)
        exact = Decimal(repr(value)) if isinstance(value, float) else value
        low, high = (bound_value(exact, kind, upper=upper) for upper in (False, True))
        if kind.name not in TIMES:
            return low, high
        return _around(low, _MILLISECOND, any_zone or not has_zone(str(value)), kind)
    except (CorruptTable, ValueError, ArithmeticError):
        return _UNKNOWN


def quoted_values(text: str, kind: PrimitiveType) -> Iterator[Range]:
    """Yield possible row values in a text: numbers, times, or runs of whole words, escaped or not.

    A text that is too long to be taken apart may quote anything.
    """
    if len(text) > _LONGEST:
        yield _UNKNOWN
    elif kind.name in NUMBERS:
        for match in _NUMBER.finditer(text):
            number = Decimal(match.group())
            yield from _fitting(number, kind)
            if text[: match.start()].rstrip().removesuffix("(").rstrip().endswith("-"):
                yield from _fitting(-number, kind)
    elif kind.name == "date":
        for day in _DAY.findall(text):
            yield from _fitting(day, kind)
    elif kind.name in TIMES:
        for match in _TIME.finditer(text):
            yield range_of(match.group(), kind, "least value", any_zone=True)
    elif kind.name == "string":
        for spelled in {text, _unescaped(text)}:
            yield from _runs(spelled)
    else:
        yield _UNKNOWN


def _fitting(value: Decimal | str, kind: PrimitiveType) -> Iterator[Range]:
    """Yield the value if it has the type; other values cannot be the value of a row."""
    low, high = (bound_value(value, kind, upper=upper) for upper in (False, True))
    if low is not None and high is not None:
        yield low, high


def _runs(text: str) -> Iterator[Range]:
    """Yield runs of whole words; of a text of very many, a longer run is known by its beginning."""
    edges = [edge.start() for edge in _EDGE.finditer(text)]
    most = _MOST_EDGES if len(edges) > _MANY_EDGES else len(edges)
    for place, start in enumerate(edges):
        ends = edges[place + 1 : place + 1 + most]
        for end in ends:
            yield text[start:end], text[start:end]
        if len(ends) == _MOST_EDGES == most:
            yield text[start : ends[-1]], successor(text[start : ends[-1]])


def _unescaped(text: str) -> str:
    """Return a text without the escapes of JSON and SQL."""
    known = re.sub(r"(?:\\u[0-9a-fA-F]{4})+", lambda match: str(json.loads(f'"{match.group()}"')), text)
    complete = known.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(r"\\(.)", r"\1", complete).replace("''", "'").replace('""', '"')


def _of_text(value: JsonValue, place: LoggedPlace) -> Range:
    if not isinstance(value, str):
        return _UNKNOWN
    upper = place == "greatest value"
    if not may_be_cut(value) and not (upper and value.endswith(_LASTS)):
        return value, value
    # The last character may be one that was put there, or half of one.
    return value[:-1], successor(value[:-1])


def _around(value: PrimitiveValue | None, slack: timedelta, zoneless: bool, kind: PrimitiveType) -> Range:
    if not isinstance(value, datetime):
        return value, value
    wide = slack + (_FURTHEST_ZONE if zoneless and kind.name == "timestamp" else timedelta())
    return _shifted(value, -wide), _shifted(value, wide)


def _shifted(moment: datetime, by: timedelta) -> datetime | None:
    try:
        return moment + by
    except OverflowError:
        return None
