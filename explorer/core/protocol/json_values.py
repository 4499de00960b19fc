"""JSON as it is decoded and encoded: the types of a value and of an object, and numbers.

Protocol section: Delta Log Entries (an entry is newline-delimited JSON). Invariant: an alias names the decoder's
output and the encoder's input; the meaning of a member, and its type, is checked where it is read. A number
that is decoded and encoded again is the same number, however long it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, DecimalException
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import msgspec

from explorer.core.protocol.limits import check_json_values

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # msgspec reads the annotations of its records at run time, and does not support an alias that names itself.
    JsonValue = Any

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object: the value of an action, of ``schemaString``, of ``stats``."""


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A JSON document of this program, or a part of one: written and read by the same record."""

    @classmethod
    def of(cls, source: object, **others: object) -> Self:
        """Return the record with the fields of the same names of an object or a row; ``others`` come first."""
        read = source.__getitem__ if isinstance(source, Mapping) else partial(getattr, source)
        return cls(**{name: others[name] if name in others else read(name) for name in cls.__struct_fields__})


def exact_number(text: str) -> float | Decimal:
    """Return a JSON number with a point or an exponent: a double if it is the same number when it is written again.

    Raises:
        ValueError: Its exponent has more digits than any number needs.
    """
    double = float(text)
    try:
        number = Decimal(text)
    except DecimalException as error:
        raise ValueError(f"the number {text[:40]} is out of range") from error
    return double if Decimal(repr(double)) == number else number


_DECODER: Final = msgspec.json.Decoder(float_hook=exact_number)
# Shorter JSON is decoded without a check of its contents.
_LONG: Final = 1 << 20
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def decode_json(data: bytes | str | msgspec.Raw) -> Any:
    """Decode JSON of any kind, its numbers as they are.

    Raises:
        msgspec.DecodeError: It is not JSON.
        UnicodeDecodeError: It is not UTF-8.
        RecursionError: It is nested too deeply.
        LimitExceeded: It has too many values.
    """
    if len(memoryview(data) if isinstance(data, msgspec.Raw) else data) > _LONG:
        check_json_values(bytes(data) if isinstance(data, msgspec.Raw) else data, "A JSON document")
    return _DECODER.decode(data)


def encode_json(value: object) -> bytes:
    """Encode a value as JSON, decimals as numbers; output of `decode_json` becomes the same JSON.

    Raises:
        UnicodeEncodeError: A text contains an unpaired surrogate.
    """
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        raise
    except ValueError:
        # Newer releases of msgspec refuse a decimal that is not finite, which a schema of another writer may have.
        return _ENCODER.encode(_with_constants(value))


def _with_constants(value: Any) -> Any:
    """Return builtins whose decimals that are not finite are the constants that other writers take for numbers."""
    match value:
        case Decimal() if not value.is_finite():
            return msgspec.Raw(json.dumps(float(value)).encode())
        case dict():
            return {name: _with_constants(item) for name, item in value.items()}
        case list() | tuple():
            return [_with_constants(item) for item in value]
        case _:
            return value


def plain_number(text: str) -> str:
    """Return the text of a number, to be read by Python, which would accept ``1_0`` and digits of other scripts too.

    Raises:
        ValueError: It is not a number that another client would read.
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return text
