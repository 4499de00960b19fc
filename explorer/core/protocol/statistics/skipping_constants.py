"""Constants of a condition in the type of a column.

Invariants: a constant is given only where Spark compares it with the column exactly, or in doubles on both sides;
times without a zone are UTC; everything else is None, which leaves the condition unanswered.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any, Final

import numpy as np

from explorer.core.protocol.arrow.typed_arrays import micros
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.sql.predicates import LiteralValue

__all__ = ["constant_of", "thresholds"]

_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64, "date": 64, "timestamp": 64, "timestamp_ntz": 64}
_EXACT: Final = Context(prec=2_000)
_MOST_DIGITS: Final = 300
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIME: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?(?P<zone>Z|[+-]\d{2}:\d{2})?\Z", re.ASCII
)


def constant_of(value: LiteralValue, kind: PrimitiveType) -> Any:
    """The constant as it is compared with a column of a type, or None if that needs a conversion that may round.

    Returns:
        A Decimal for whole numbers, decimals and booleans, days or microseconds since the epoch as Decimal for times, a
        float for floats, a str for texts.
    """
    if len(value.text) > _MOST_DIGITS and value.kind != "string":
        return None
    try:
        return _constant(value, kind)
    except (ValueError, ArithmeticError):
        return None


def thresholds(constant: Decimal, operator: str, kind: PrimitiveType) -> tuple[bool, Any, bool]:
    """The constant as a value of the type that gives the same answer.

    Returns:
        Whether the constant is below every value of the type; the value (an int; a Decimal for a decimal type) to be
        compared by the same operator; whether the constant is above every value of the type.
    """
    step = Decimal(1).scaleb(-kind.scale)
    rounding = ROUND_CEILING if operator in {"<", ">="} else ROUND_FLOOR
    value = constant.quantize(step, rounding, _EXACT)
    if kind.name == "decimal":
        limit = Decimal(10) ** (kind.precision - kind.scale)
        return value <= -limit, value, value >= limit
    half = 1 << (_BITS.get(kind.name, 64) - 1)
    whole = int(value)
    return whole < -half, whole, whole >= half


def _constant(value: LiteralValue, kind: PrimitiveType) -> Any:
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
            return Decimal(date.fromisoformat(value.text).toordinal() - _EPOCH_DAY) if fits else None
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
    found = _TIME.match(value.text)
    if value.kind not in kinds or found is None or (found["zone"] and not zoned):
        return None
    if value.kind == "date" and not _DATE.match(value.text):
        return None
    moment = datetime.fromisoformat(value.text)
    return Decimal(micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))
