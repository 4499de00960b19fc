"""Values -> JSON, without loss if JSON allows it.

Decimals are numbers with all their digits, timestamps and dates ISO 8601 text (``Z`` for UTC), binary base64. NaN and
the infinities, which JSON does not know, are the texts ``NaN``, ``Infinity`` and ``-Infinity``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

__all__ = ["encode", "exact"]

_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def encode(value: Any) -> bytes:
    """Encode a value made of builtins, datetimes and decimals as one line, without the newline."""
    return _ENCODER.encode(exact(value))


def exact(value: Any) -> Any:
    """Replace the numbers that JSON does not know, at any depth."""
    match value:
        case float():
            return value if math.isfinite(value) else _name(value)
        case Mapping():
            return {key: exact(item) for key, item in value.items()}
        case list() | tuple():
            return [exact(item) for item in value]
        case _:
            return value


def _name(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
