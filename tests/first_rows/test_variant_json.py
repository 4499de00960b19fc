"""Variants as JSON: values of every type by their bytes, and damaged bytes refused in words."""

from __future__ import annotations

import random

import pytest

from explorer.first_rows.variant_json import MalformedVariant, variant_json
from tests.support.at_least_one import at_least_one
from tests.support.logs.variants import array, metadata, nested, objekt, primitive, short, variant_bytes

EMPTY = metadata()
# By the Parquet format's Variant Binary Encoding; texts as Java writes them.
VALUES = [
    (primitive(0), "null"),
    (primitive(1), "true"),
    (primitive(2), "false"),
    (primitive(3, -1, 1), "-1"),
    (primitive(4, 300, 2), "300"),
    (primitive(5, -70_000, 4), "-70000"),
    (primitive(6, 1 << 62, 8), "4611686018427387904"),
    (primitive(7, 1.5), "1.5"),
    (primitive(7, 1e7), "1.0E7"),
    (primitive(7, 9999999.0), "9999999.0"),
    (primitive(7, 0.001), "0.001"),
    (primitive(7, 0.0001), "1.0E-4"),
    (primitive(7, -0.0), "-0.0"),
    (primitive(7, 123456789.125), "1.23456789125E8"),
    (primitive(7, float("nan")), '"NaN"'),
    (primitive(7, float("-inf")), '"-Infinity"'),
    (primitive(8, (2, 12340), 4), "123.4"),
    (primitive(9, (0, 1200), 8), "1200"),
    (primitive(10, (38, -1), 16), "-0." + "0" * 37 + "1"),
    (primitive(8, (2, 0), 4), "0"),
    (primitive(11, 19782, 4), '"2024-02-29"'),
    (primitive(11, -719529, 4), '"-0001-12-31"'),
    (primitive(11, 2932897, 4), '"+10000-01-01"'),
    (primitive(12, 1, 8), '"1970-01-01 00:00:00.000001+00:00"'),
    (primitive(12, -1_500_000, 8), '"1969-12-31 23:59:58.5+00:00"'),
    (primitive(13, 0, 8), '"1970-01-01 00:00:00"'),
    (primitive(14, 0.1), "0.1"),
    (primitive(15, b"\0\xff"), '"AP8="'),
    (primitive(16, b"a" * 70), '"' + "a" * 70 + '"'),
    (primitive(20, bytes(range(16))), '"00010203-0405-0607-0809-0a0b0c0d0e0f"'),
    (short('q"\\\n\x01/é'), '"q\\"\\\\\\n\\u0001/é"'),
    (short(""), '""'),
    (array([]), "[]"),
    (array([primitive(0), array([short("x")])]), '[null,["x"]]'),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[text[:24] for _, text in VALUES])
def test_a_value_of_each_type_is_the_json_of_spark(value: bytes, text: str) -> None:
    assert variant_json(EMPTY, value) == text


def test_members_have_the_names_of_the_metadata() -> None:
    value = objekt([(1, primitive(3, 7, 1)), (0, objekt([(2, short("y"))]))])
    assert variant_json(metadata("b", "a", "ü"), value) == '{"a":7,"b":{"ü":"y"}}'


@pytest.mark.parametrize(
    ("names", "value", "why"),
    [
        (b"", primitive(0), "version 1"),
        (b"\2\0\0", primitive(0), "version 1"),
        (EMPTY, b"", "does not exist"),
        (EMPTY, primitive(6, 1, 8)[:-1], "does not exist"),
        (EMPTY, short("abc")[:-1], "does not exist"),
        (EMPTY, objekt([(0, primitive(0))]), "no name 0"),
        (EMPTY, bytes([25 << 2]), "unknown type 25"),
        (EMPTY, primitive(8, (10, 1), 4), "more than 9 digits"),
        (EMPTY, primitive(9, (0, 10**18), 8), "more than 18 digits"),
        (EMPTY, bytes([1 << 2 | 1, 0xFF]), "UTF-8"),
        (EMPTY, nested(100_000), "nested too deeply"),
    ],
)
def test_a_damaged_variant_is_refused_with_its_reason(names: bytes, value: bytes, why: str) -> None:
    with pytest.raises(MalformedVariant, match=why):
        variant_json(names, value)


def test_a_few_bytes_that_refer_to_each_other_become_no_endless_text() -> None:
    # A text of fifty thousand characters, so that nine elements are enough of it.
    value = primitive(16, b"x" * 50_000)
    for _ in range(40):
        # Both elements begin at the same byte.
        value = bytes([3 | 1 << 2, 2, *(0).to_bytes(2, "little") * 2, *len(value).to_bytes(2, "little"), *value])
    with pytest.raises(MalformedVariant, match="16 million characters"):
        variant_json(EMPTY, value)


def _outcome(names: bytes, value: bytes) -> str:
    try:
        return variant_json(names, value)
    except MalformedVariant as error:
        return str(error)


def test_any_damaged_byte_gives_a_text_or_a_reason() -> None:
    chosen = random.Random(3)
    for _ in at_least_one(range(3000)):
        names, value = variant_bytes(chosen)
        damaged = bytearray(value)
        damaged[chosen.randrange(len(damaged))] = chosen.randrange(256)
        assert _outcome(names, bytes(damaged))
