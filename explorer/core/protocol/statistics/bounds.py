"""Single bounds of statistics: JSON values -> exact Python values.

Protocol section: Per-file Statistics. Invariants: a bound that does not fit its column's type is unknown, never an
error (STATS-002); a number keeps all its digits; a truncated bound is rounded outwards, and so stays a bound.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from explorer.core.errors import LimitExceeded
from explorer.core.protocol.json_values import plain_number
from explorer.core.protocol.limits import check_json_values
from explorer.core.protocol.schema.data_types import PrimitiveType, PrimitiveValue

SKIPPING_TYPES: Final = frozenset(
    ["byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz", "string"]
)
"""The types whose bounds let every version of Spark skip files."""

_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_EXACT: Final = Context(prec=400)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_LARGEST_FLOAT: Final = 3.4028235677973366e38


def decode_statistics(text: str) -> dict[str, object] | str:
    """Decode one file's statistics; return the reason, as text, where they cannot be used.

    A key that occurs twice makes them unusable: it is unknown which of the two counts.
    """
    try:
        check_json_values(text, "The statistics of a file")
        value = json.loads(text, object_pairs_hook=_unique, parse_float=_number, parse_constant=_nothing)
    except (ValueError, LimitExceeded) as error:
        return str(error)
    except RecursionError:
        return "nested too deeply"
    return value if isinstance(value, dict) else "not an object"


def bound_value(value: object, kind: PrimitiveType, *, upper: bool) -> PrimitiveValue | None:
    """Return one bound as a Python value of its type; None where it is absent or does not fit.

    Args:
        value: As decoded from JSON.
        upper: Whether it is a maximum: rounding then raises it, else lowers it.
    """
    if value is None:
        return None
    try:
        return _convert(value, kind, upper)
    except (ValueError, TypeError, ArithmeticError):
        return None


def count_value(value: object) -> int | None:
    """Return a count of rows or nulls, None where the value is not a count."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    return None


def _convert(value: object, kind: PrimitiveType, upper: bool) -> PrimitiveValue | None:
    match kind.name:
        case "byte" | "short" | "integer" | "long":
            return _integer(value, _BITS[kind.name])
        case "float" | "double":
            return _float(value, kind.name == "float")
        case "decimal":
            return _decimal(value, kind, upper)
        case "string":
            return value if isinstance(value, str) and value.encode("utf-8") is not None else None
        case "boolean":
            return value if isinstance(value, bool) else _BOOLEANS.get(_text(value))
        case "date":
            text = _text(value)
            return date.fromisoformat(text) if _DATE.fullmatch(text) else _moment(text).date()
        case "timestamp":
            moment = _moment(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        case "timestamp_ntz":
            return _moment(value).replace(tzinfo=None)
    return None


_BOOLEANS: Final = {"true": True, "false": False}


def _integer(value: object, bits: int) -> int | None:
    if isinstance(value, Decimal) and value == value.to_integral_value():
        value = int(value) if value.adjusted() < 40 else None
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        return value
    return None


def _float(value: object, single: bool) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    number = float(plain_number(value) if isinstance(value, str) else value)
    # Beyond the type's range a finite bound would become an infinity, which does not bound finite values.
    limit = _LARGEST_FLOAT if single else math.inf
    beyond = not isinstance(value, str) and abs(number) >= limit
    return None if math.isnan(number) or beyond else number


def _decimal(value: object, kind: PrimitiveType, upper: bool) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    number = Decimal(plain_number(value) if isinstance(value, str) else value)
    if not number.is_finite() or (number and number.adjusted() >= kind.precision - kind.scale):
        return None
    step = Decimal(1).scaleb(-kind.scale)
    cut = number.quantize(step, ROUND_CEILING if upper else ROUND_FLOOR, _EXACT)
    return cut if cut.adjusted() < kind.precision - kind.scale or not cut else None


def _moment(value: object) -> datetime:
    """Return a time without digits beyond microseconds; the rule for truncated times makes up for that (D-37)."""
    text = _text(value)
    if not _DATE.match(text):
        raise ValueError("it does not begin with yyyy-MM-dd: ISO 8601 has other forms too")
    return datetime.fromisoformat(_FRACTION.sub(r"\1", text))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except ArithmeticError as error:
        raise ValueError(f"the number {text[:40]} is out of range") from error


def _nothing(_: str) -> None:
    """Return None for NaN and the infinities, which are not JSON and no bounds (STATS-016)."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return value
