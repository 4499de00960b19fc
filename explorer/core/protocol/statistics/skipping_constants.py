"""Constants of a condition as values of a column's type.

Protocol section: Per-file Statistics. Invariants: whole numbers, decimals and times keep all their digits, never going
through a float; a comparison that Spark would make through a conversion that may round has no constant here.
"""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final, TypeAlias

import msgspec
import numpy as np

from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.sql.predicates import LiteralValue, Operator
from explorer.core.protocol.times import days, microseconds

ComparedConstant: TypeAlias = Decimal | float | str
"""A Decimal for whole numbers, decimals and booleans, and for days or microseconds since the epoch; a float for floats;
a str for texts."""

_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64, "date": 64, "timestamp": 64, "timestamp_ntz": 64}
_EXACT: Final = Context(prec=2_000)
_MOST_DIGITS: Final = 300
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?(?P<zone>Z|[+-]\d{2}:\d{2})?\Z", re.ASCII
)


class Threshold(msgspec.Struct, frozen=True):
    """A constant as a value of a column's type; every value of the type compares with both in the same way.

    Attributes:
        value: That value: a Decimal for a decimal type, else an int.
        below: The constant is below every value of the type.
        above: The constant is above every value of the type.
    """

    value: int | Decimal
    below: bool
    above: bool


def constant_of(value: LiteralValue, kind: PrimitiveType) -> ComparedConstant | None:
    """Return the constant as it is compared with a column, or None if that needs a conversion that may round."""
    if len(value.text) > _MOST_DIGITS and value.kind != "string":
        return None
    try:
        return _constant(value, kind)
    except (ValueError, ArithmeticError):
        return None


def threshold(constant: Decimal, operator: Operator, kind: PrimitiveType) -> Threshold:
    """Return the value of a type that replaces a constant under an operator: a whole number for integer types."""
    step = Decimal(1).scaleb(-kind.scale)
    rounding = ROUND_CEILING if operator in {"<", ">="} else ROUND_FLOOR
    value = constant.quantize(step, rounding, _EXACT)
    if kind.name == "decimal":
        limit = Decimal(10) ** (kind.precision - kind.scale)
        return Threshold(value, below=value <= -limit, above=value >= limit)
    half = 1 << (_BITS.get(kind.name, 64) - 1)
    integer = int(value)
    return Threshold(integer, below=integer < -half, above=integer >= half)


def _constant(value: LiteralValue, kind: PrimitiveType) -> ComparedConstant | None:
    match kind.name:
        case "byte" | "short" | "integer" if value.kind == "double":
            number = float(value.text)
            return Decimal(number) if math.isfinite(number) else None
        case "byte" | "short" | "integer" | "long" | "decimal":
            return Decimal(value.text) if value.kind in {"integer", "decimal"} else None
        case "float" | "double":
            return _float(value, kind.name == "float")
        case "string":
            return _text(value.text) if value.kind == "string" else None
        case "boolean":
            return Decimal(value.text == "true") if value.kind == "boolean" else None
        case "date":
            fits = value.kind in {"date", "string"} and _DATE.match(value.text)
            return Decimal(days(date.fromisoformat(value.text))) if fits else None
        case "timestamp" | "timestamp_ntz":
            return _moment(value, zoned=kind.name == "timestamp")
    return None


def _float(value: LiteralValue, single: bool) -> float | None:
    if value.kind not in {"integer", "decimal", "double"}:
        return None
    number = float(value.text)
    if not math.isfinite(number):
        return None
    # Whether Spark compares a float with a whole number as floats or as doubles depends on its settings.
    rounds = single and value.kind == "integer" and Decimal(float(np.float32(number))) != Decimal(value.text)
    return None if rounds else number


def _text(text: str) -> str | None:
    return text if text.encode("utf-8", "ignore").decode() == text else None


def _moment(value: LiteralValue, *, zoned: bool) -> Decimal | None:
    kinds = {"string", "date", "timestamp" if zoned else "timestamp_ntz"}
    match = _TIME.match(value.text)
    if value.kind not in kinds or match is None or (match["zone"] and not zoned):
        return None
    if value.kind == "date" and not _DATE.match(value.text):
        return None
    moment = datetime.fromisoformat(value.text)
    return Decimal(microseconds(moment))
