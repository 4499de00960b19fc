"""Variants as JSON text, the same as Spark's ``to_json``.

Format: Apache Parquet, Variant Binary Encoding; protocol section: Variant Data Type. Invariants: a byte outside of the
two binaries is never read; bytes that Spark refuses, or reads in a way of its own, are an error; the text has a
limit, as few bytes can refer to each other again and again. Times are in UTC.
"""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from typing import Final
from uuid import UUID

import numpy as np

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_INTEGERS: Final = {3: 1, 4: 2, 5: 4, 6: 8}
"""Bytes of integers, by the type of a primitive."""
_DECIMALS: Final = {8: (4, 9), 9: (8, 18), 10: (16, 38)}
"""Bytes and digits of decimals, by the type of a primitive."""
_NULL, _TRUE, _FALSE, _DOUBLE, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY, _STRING = (
    0, 1, 2, 7, 11, 12, 13, 14, 15, 16,
)  # fmt: skip
_UUID: Final = 20
_VERSION: Final = 1
_MOST_TEXT: Final = 16 << 20
_MOST_LENGTH: Final = (1 << 31) - 1
_DAY: Final = 24 * 3600 * 1_000_000
_ESCAPES: Final = {
    **{code: f"\\u{code:04X}" for code in range(0x20)},
    **{ord(each): "\\" + short for each, short in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)},
}


class MalformedVariant(ValueError):
    """The bytes of a variant are damaged, or have a value without a text in Spark."""


def variant_json(metadata: bytes, value: bytes) -> str:
    """Return a variant as JSON.

    Raises:
        MalformedVariant: The bytes are damaged, of a later version, or become too long a text.
    """
    if not metadata or metadata[0] & 0x0F != _VERSION:
        raise MalformedVariant("its metadata is not of version 1")
    writer = _VariantText(metadata, value)
    try:
        writer.write(0)
    except RecursionError as error:
        raise MalformedVariant("it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise MalformedVariant("a text in it is not UTF-8") from error
    return "".join(writer.parts)


class _VariantText:
    """The text of a variant, part by part.

    Attributes:
        parts: The text so far.
    """

    def __init__(self, metadata: bytes, value: bytes) -> None:
        self._metadata, self._value = metadata, value
        self._length = 0
        self._keys: dict[int, str] = {}
        self.parts: list[str] = []

    def write(self, at: int) -> None:
        """Write the value that begins at a byte."""
        head = _bytes(self._value, at, 1)[0]
        kind, of_kind = head & 3, head >> 2
        match kind:
            case 0:
                self._add(self._primitive(of_kind, at + 1))
            case 1:
                self._add(_quoted(_bytes(self._value, at + 1, of_kind).decode()))
            case 2:
                self._object(of_kind, at + 1)
            case _:
                self._array(of_kind, at + 1)

    def _add(self, text: str) -> None:
        self._length += len(text)
        if self._length > _MOST_TEXT:
            raise MalformedVariant(f"its text has more than {_MOST_TEXT >> 20} million characters")
        self.parts.append(text)

    def _object(self, head: int, at: int) -> None:
        size_width, id_width, offset_width = 4 if head & 16 else 1, (head >> 2 & 3) + 1, (head & 3) + 1
        count = _number(self._value, at, size_width)
        ids = at + size_width
        offsets = ids + count * id_width
        begin = offsets + (count + 1) * offset_width
        self._add("{")
        for place in range(count):
            key = self._key(_number(self._value, ids + place * id_width, id_width))
            self._add(f"{',' * (place > 0)}{key}:")
            self.write(begin + _number(self._value, offsets + place * offset_width, offset_width))
        self._add("}")

    def _array(self, head: int, at: int) -> None:
        size_width, offset_width = 4 if head & 4 else 1, (head & 3) + 1
        count = _number(self._value, at, size_width)
        offsets = at + size_width
        begin = offsets + (count + 1) * offset_width
        self._add("[")
        for place in range(count):
            self._add("," * (place > 0))
            self.write(begin + _number(self._value, offsets + place * offset_width, offset_width))
        self._add("]")

    def _key(self, number: int) -> str:
        """Return a name of a member, in quotes."""
        if number not in self._keys:
            width = (self._metadata[0] >> 6) + 1
            count = _number(self._metadata, 1, width)
            if number >= count:
                raise MalformedVariant(f"it has no name {number} of a member")
            begin = 1 + (count + 2) * width
            start, end = (_number(self._metadata, 1 + (number + 1 + each) * width, width) for each in (0, 1))
            if start > end:
                raise MalformedVariant(f"the name {number} of a member ends before it begins")
            self._keys[number] = _quoted(_bytes(self._metadata, begin + start, end - start).decode())
        return self._keys[number]

    def _primitive(self, kind: int, at: int) -> str:
        value = self._value
        if kind in _INTEGERS:
            return str(_signed(value, at, _INTEGERS[kind]))
        if kind in _DECIMALS:
            return _decimal(value, at, *_DECIMALS[kind])
        read = _READERS.get(kind)
        if read is None:
            raise MalformedVariant(f"it has a value of the unknown type {kind}")
        return read(value, at)


def _bytes(data: bytes, start: int, length: int) -> bytes:
    # The byte before an empty text must exist, as for Spark.
    if start + length > len(data) or start < 1 - bool(length):
        raise MalformedVariant(f"byte {start + length:,} of {len(data):,} does not exist")
    return data[start : start + length]


def _number(data: bytes, start: int, width: int) -> int:
    number = int.from_bytes(_bytes(data, start, width), "little")
    if number > _MOST_LENGTH:
        raise MalformedVariant("a length in it is too large")
    return number


def _signed(data: bytes, start: int, width: int) -> int:
    return int.from_bytes(_bytes(data, start, width), "little", signed=True)


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _decimal(data: bytes, at: int, width: int, digits: int) -> str:
    """Return a decimal without an exponent, and without zeros at its end."""
    scale, unscaled = _bytes(data, at, 1)[0], _signed(data, at + 1, width)
    if scale > digits or abs(unscaled) >= 10**digits:
        raise MalformedVariant(f"a decimal in it has more than {digits} digits")
    while unscaled and scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    if not unscaled:
        return "0"
    return f"{Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale)):f}"


def _double(data: bytes, at: int) -> str:
    (number,) = struct.unpack("<d", _bytes(data, at, 8))
    return _floating(number, repr(number))


def _float(data: bytes, at: int) -> str:
    (number,) = struct.unpack("<f", _bytes(data, at, 4))
    return _floating(number, np.format_float_scientific(np.float32(number), unique=True))


def _floating(number: float, shortest: str) -> str:
    """Return a floating-point number as Java writes it, from any text with its shortest digits."""
    if not math.isfinite(number):
        return '"NaN"' if math.isnan(number) else f'"{"-" * (number < 0)}Infinity"'
    sign, digits, exponent = Decimal(shortest).as_tuple()
    minus, text = "-" * sign, "".join(map(str, digits)).rstrip("0")
    if not text:
        return f"{minus}0.0"
    # The power of ten of the first digit.
    power = len(digits) + int(exponent) - 1
    if -3 <= power < 7:
        whole = text[: power + 1].ljust(power + 1, "0") if power >= 0 else "0"
        rest = text[power + 1 :] if power >= 0 else "0" * (-power - 1) + text
        return f"{minus}{whole}.{rest or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{power}"


def _date(data: bytes, at: int) -> str:
    return f'"{_day(_signed(data, at, 4))}"'


def _moment(data: bytes, at: int) -> str:
    day, microseconds = divmod(_signed(data, at, 8), _DAY)
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, hours = seconds // 60, seconds // 3600
    point = f".{fraction:06}".rstrip("0").rstrip(".")
    return f"{_day(day)} {hours:02}:{minutes % 60:02}:{seconds % 60:02}{point}"


def _timestamp(data: bytes, at: int) -> str:
    return f'"{_moment(data, at)}+00:00"'


def _timestamp_ntz(data: bytes, at: int) -> str:
    return f'"{_moment(data, at)}"'


def _day(days: int) -> str:
    """Return a day in ISO 8601, of any year, by the number of days since the epoch."""
    day = np.datetime64(days, "D")
    year = int(day.astype("datetime64[Y]").astype(np.int64)) + 1970
    month = int(day.astype("datetime64[M]").astype(np.int64)) % 12 + 1
    first = day.astype("datetime64[M]").astype("datetime64[D]")
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{int((day - first).astype(np.int64)) + 1:02}"


def _binary(data: bytes, at: int) -> str:
    return f'"{b64encode(_bytes(data, at + 4, _number(data, at, 4))).decode()}"'


def _string(data: bytes, at: int) -> str:
    return _quoted(_bytes(data, at + 4, _number(data, at, 4)).decode())


def _uuid(data: bytes, at: int) -> str:
    return f'"{UUID(bytes=_bytes(data, at, 16))}"'


_READERS: Final[dict[int, Callable[[bytes, int], str]]] = {
    _NULL: lambda *_: "null",
    _TRUE: lambda *_: "true",
    _FALSE: lambda *_: "false",
    _DOUBLE: _double,
    _DATE: _date,
    _TIMESTAMP: _timestamp,
    _TIMESTAMP_NTZ: _timestamp_ntz,
    _FLOAT: _float,
    _BINARY: _binary,
    _STRING: _string,
    _UUID: _uuid,
}
