"""Values -> constants of SQL that Spark reads as those values, in any session.

Protocol: none. Invariants: a text never ends its own quotes, and has no character that a field of one line, a variable
of Spark or a screen would take for something else; a floating-point number keeps all its digits, and is no decimal; a
time names its zone. A value without such a constant has none, and is never written nearly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from explorer.core.protocol.schema.data_types import PrimitiveType

_NOT_FINITE: Final = {math.inf: "Infinity", -math.inf: "-Infinity"}
_MOST_DIGITS: Final = 38


def quoted_column(path: Sequence[str]) -> str:
    """Return a column, or another name of several parts, as SQL: every part in backticks."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in path)


def equality_text(path: tuple[str, ...], value: object, kind: PrimitiveType) -> str | None:
    """Return the condition that a column has a value, null included; None where SQL has no constant for it."""
    if value is None:
        return f"{quoted_column(path)} IS NULL"
    constant = constant_text(value, kind)
    return None if constant is None else f"{quoted_column(path)} = {constant}"


def range_text(path: tuple[str, ...], low: object, high: object, kind: PrimitiveType) -> str | None:
    """Return the condition that a column is from one value to before another; None without constants for them.

    An end beyond every value of the type has no constant, and needs none.
    """
    column = quoted_column(path)
    ends = ((">=", constant_text(low, kind)), ("<", constant_text(high, kind)))
    parts = [f"{column} {operator} {constant}" for operator, constant in ends if constant is not None]
    return " AND ".join(parts) or None


def constant_text(value: object, kind: PrimitiveType) -> str | None:
    """Return a value as a constant of SQL; None where there is none.

    Args:
        value: As Arrow gives it in Python.
        kind: The column's type.
    """
    match value:
        case bool():
            return str(value).upper() if kind.name == "boolean" else None
        case int() | Decimal() if kind.name in {"byte", "short", "integer", "long", "decimal"}:
            return _number(value)
        case float() | int() if kind.name in {"float", "double"}:
            return _floating(float(value), kind.name)
        case str() if kind.name == "string":
            return _string(value)
        case bytes() if kind.name == "binary":
            return f"X'{value.hex().upper()}'"
        case datetime() if kind.name == "timestamp":
            return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')}Z'"
        case datetime() if kind.name == "timestamp_ntz":
            return f"TIMESTAMP_NTZ '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
        case date() if kind.name == "date" and not isinstance(value, datetime):
            return f"DATE '{value.isoformat()}'"
    return None


def _number(value: int | Decimal) -> str | None:
    digits = str(value) if isinstance(value, int) else format(value, "f")
    # Spark counts all digits but a lone zero before the point.
    return digits if len(digits.lstrip("-0").replace(".", "")) <= _MOST_DIGITS else None


def _floating(value: float, name: str) -> str:
    if math.isnan(value):
        return f"CAST('NaN' AS {name.upper()})"
    if math.isinf(value):
        return f"CAST('{_NOT_FINITE[value]}' AS {name.upper()})"
    digits = repr(value or 0.0)
    # With an exponent it is a double; without, Spark would take it for a decimal.
    return digits if "e" in digits else f"{digits}E0"


def _string(value: str) -> str:
    # Spark would put a variable where these two characters are next to each other.
    first, *rest = value.split("${")
    if rest:
        parts = [f"{first}$", *(f"{{{part}$" for part in rest[:-1]), f"{{{rest[-1]}"]
        return f"concat({', '.join(map(_string, parts))})"
    return f"'{''.join(map(_character, value))}'"


def _character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():  # of the spaces, only that of the keyboard is
        return character
    code = ord(character)
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
