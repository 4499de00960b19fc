"""Variants by hand, in the Variant Binary Encoding of Apache Parquet."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any


def metadata(*names: str) -> bytes:
    """The names of members, with offsets of two bytes."""
    texts = [name.encode() for name in names]
    offsets = [sum(map(len, texts[:place])) for place in range(len(texts) + 1)]
    numbers = b"".join(number.to_bytes(2, "little") for number in (len(texts), *offsets))
    return bytes([1 | 1 << 6]) + numbers + b"".join(texts)


def primitive(kind: int, value: Any = None, width: int = 0) -> bytes:
    """A primitive of a type; a decimal is its scale and its digits."""
    head = bytes([kind << 2])
    match value:
        case None:
            return head
        case float():
            return head + struct.pack("<d" if kind == 7 else "<f", value)
        case bytes():
            return head + (b"" if kind == 20 else len(value).to_bytes(4, "little")) + value
        case (scale, unscaled):
            return head + bytes([scale]) + unscaled.to_bytes(width, "little", signed=True)
    return head + value.to_bytes(width, "little", signed=True)


def short(text: str) -> bytes:
    """A short string."""
    data = text.encode()
    return bytes([len(data) << 2 | 1]) + data


def array(items: Sequence[bytes]) -> bytes:
    """An array, with offsets of four bytes."""
    offsets = [sum(map(len, items[:place])) for place in range(len(items) + 1)]
    numbers = b"".join(number.to_bytes(4, "little") for number in offsets)
    return bytes([3 | 3 << 2, len(items)]) + numbers + b"".join(items)


def objekt(members: Sequence[tuple[int, bytes]]) -> bytes:
    """An object of names, by their numbers, and values, in the given order; numbers and offsets of four bytes."""
    values = [value for _, value in members]
    offsets = [sum(map(len, values[:place])) for place in range(len(values) + 1)]
    numbers = b"".join(number.to_bytes(4, "little") for number in (*(name for name, _ in members), *offsets))
    return bytes([2 | 0b1111 << 2, len(members)]) + numbers + b"".join(values)


def nested(depth: int) -> bytes:
    """Arrays in arrays, of one element each."""
    begin = bytes([3, 1, 0, 0])
    return begin * depth + primitive(0)


def variant_bytes(chosen: random.Random) -> tuple[bytes, bytes]:
    """A random variant: its metadata and its value."""
    names = sorted({chosen.choice(["a", "b", "ü", "long name", "", 'q"', "\n", "z" * 70]) for _ in range(6)})
    return metadata(*names), _value(chosen, len(names), 3)


def _value(chosen: random.Random, names: int, depth: int) -> bytes:
    if depth and chosen.random() < 0.5:
        values = [_value(chosen, names, depth - 1) for _ in range(chosen.randrange(4))]
        if chosen.random() < 0.5:
            return array(values)
        return objekt(list(zip(sorted(chosen.sample(range(names), min(names, len(values)))), values, strict=False)))
    return chosen.choice(_SCALARS)(chosen)


_SCALARS = (
    lambda _: primitive(0),
    lambda _: primitive(1),
    lambda _: primitive(2),
    lambda chosen: primitive(3, chosen.randrange(-128, 128), 1),
    lambda chosen: primitive(4, chosen.randrange(-(1 << 15), 1 << 15), 2),
    lambda chosen: primitive(5, chosen.randrange(-(1 << 31), 1 << 31), 4),
    lambda chosen: primitive(6, chosen.randrange(-(1 << 63), 1 << 63), 8),
    lambda chosen: primitive(7, chosen.choice([0.1, -0.0, 1e-3, 9.99e-4, 1e7, 1e300, float("inf"), chosen.random()])),
    lambda chosen: primitive(7, float(chosen.randrange(10 ** chosen.randrange(1, 16))) / 8),
    lambda chosen: primitive(8, (chosen.randrange(10), chosen.randrange(-(10**9) + 1, 10**9)), 4),
    lambda chosen: primitive(9, (chosen.randrange(19), chosen.randrange(10**18)), 8),
    lambda chosen: primitive(10, (chosen.randrange(39), chosen.choice([0, 100, -(10**37), 10**38 - 1])), 16),
    lambda chosen: primitive(11, chosen.choice([0, -719529, 2932897, 2**31 - 1, chosen.randrange(30_000)]), 4),
    lambda chosen: primitive(12, chosen.choice([0, -1, 10**6, chosen.randrange(-(10**17), 10**17)]), 8),
    lambda chosen: primitive(13, chosen.choice([120_000_000, 253402300800_000_000, chosen.randrange(10**15)]), 8),
    lambda chosen: primitive(14, chosen.choice([0.1, -2.5, 1e10, float("nan"), 16777216.0])),
    lambda chosen: primitive(15, bytes(chosen.randrange(256) for _ in range(chosen.randrange(5)))),
    lambda chosen: primitive(16, ("x" * chosen.randrange(80)).encode()),
    lambda chosen: primitive(20, chosen.randbytes(16)),
    lambda chosen: short(chosen.choice(["", "text", 'q"\\/\b\x0b\x7f', "ä\u2028\U0001f600"])),
)
