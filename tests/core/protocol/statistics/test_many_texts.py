"""Statistics read many at once: the same values as one by one, whatever the texts beside one contain."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_type
from explorer.core.protocol.statistics.json_statistics import ParsedTexts, StatisticsLeaf, parse_texts

KINDS = {
    "byte": (["0", "-128", "127", "128", "-129", "5", "-0"], ["1.0", "true", '"1"', "null"]),
    "integer": (["0", "12", "-7", "2147483647", "-2147483648", "2147483648"], ["1e2", "01", "null", '"3"']),
    "long": (
        ["1", "999999999999999999", "-999999999999999999"],
        ["9223372036854775807", "-9223372036854775808", "1e3"],
    ),
    "float": (["1.5", "-0.0", "0.1", "16777217", "0.30000001192092896", "3.4028236"], ["3.5e38", '"NaN"', "NaN"]),
    "double": (
        ["1.5", "-0.0", "0", "652231.581", "0.1234567890123456", "123456789012345678", "-0.000000000000000001"],
        [
            "1e400",
            "1.0E10",
            '"Infinity"',
            "1.",
            ".5",
            "-",
            "0.12345678901234567890",
            "12345678901234567890.5",
            "Infinity",
        ],
    ),
    "decimal(9,2)": (["1.25", "-1.2", "0", "9999999.99", "-0.01", "00.1"], ["10000000", "1.255", "1e2", '"1.25"']),
    "decimal(38,18)": (["1.25", "-99999999999999999999.5", "0.000000000000000001"], ["0.0000000000000000015"]),
    "string": (
        ['"a"', '"zz zz"', '""', '"ä"', '"\U0001f600"', '"12"'],
        [r'"a\"b"', r'"\u0041"', "1", "null", '"\x7f"'],
    ),
    "boolean": (["true", "false"], ["null", '"true"', "1"]),
    "date": (['"2024-02-29"', '"1969-12-31"'], ['"2024-02-30"', '"2024-2-1"', '"+10000-01-01"', "7", '""']),
    "timestamp": (
        ['"2024-03-11T14:00:00.000Z"', '"1969-12-31T23:59:59.999-08:00"'],
        ['"2024-03-11T14:00:00.000"', '"2024-03-11 14:00:00Z"', '"2024-03-11T14:00:00.123456789Z"', '"x"', "5"],
    ),
    "timestamp_ntz": (['"2024-03-11T14:00:00.000"', '"2024-03-11T14:00:00"'], ['"2024-03-11T14:00:00.000Z"', '"2024"']),
}
"""By type: usual values in JSON, and values that do not fit, or are written otherwise."""


def leaf(kind: str, *path: str) -> StatisticsLeaf:
    found = parse_type(kind)
    assert isinstance(found, PrimitiveType)
    return StatisticsLeaf(path, found)


def text(low: str, high: str, *, counts: str = '{"c":0,"s":{"x":3}}', more: str = "", records: str = "12") -> str:
    bounds = f'"minValues":{{"c":{low},"s":{{"x":1}}}},"maxValues":{{"c":{high},"s":{{"x":2}}}}'
    return f'{{"numRecords":{records},{bounds},"nullCount":{counts}{more}}}'


def values(parsed: ParsedTexts) -> list[Any]:
    """Return everything that is known, floating-point numbers as their bits."""
    columns = [parsed.tight, parsed.num_records]
    for bounds in parsed.bounds.values():
        columns += [bounds.low, bounds.high, bounds.nulls]
    shown = [[(None if each is None else repr(each)) for each in column.to_pylist()] for column in columns]
    return [[str(column.type) for column in columns], shown, sorted(parsed.problems)]


def one_by_one(texts: list[str | None], leaves: list[StatisticsLeaf]) -> list[Any]:
    """Return the values of texts that are each read alone."""
    parts = [values(parse_texts(strings([each]), leaves)) for each in texts]
    shown = [[value for part in parts for value in part[1][place]] for place in range(len(parts[0][1]))]
    problems = [(row, reason) for row, part in enumerate(parts) for _, reason in part[2]]
    return [parts[0][0], shown, sorted(problems)]


@pytest.mark.parametrize("kind", KINDS)
def test_many_texts_have_the_values_that_each_has_by_itself(kind: str) -> None:
    usual, odd = KINDS[kind]
    chosen = random.Random(kind)
    leaves = [leaf(kind, "c"), leaf("long", "s", "x")]
    texts: list[str | None] = [text(chosen.choice(usual), chosen.choice(usual)) for _ in range(600)]
    texts += [text(chosen.choice(odd), chosen.choice(usual)) for _ in range(15)]
    texts += [text(chosen.choice(usual), chosen.choice(odd)) for _ in range(15)]
    texts += [None] * 9
    chosen.shuffle(texts)
    # Values that no text of its type has are unknown, with or without a reason.
    assert values(parse_texts(strings(texts), leaves))[:2] == one_by_one(texts, leaves)[:2]


def without_a_part(line: str, chosen: random.Random) -> str:
    start = chosen.randrange(len(line))
    return line[:start] + line[start + chosen.choice([1, 1, 2, 7]) :]


def with_a_part(line: str, chosen: random.Random) -> str:
    start = chosen.randrange(len(line) + 1)
    parts = [
        '"',
        "\\",
        "\n",
        " ",
        "{",
        "}",
        ",",
        ":",
        "0",
        "-",
        ".",
        "e5",
        "null",
        "\t",
        "\0",
        "ä",
        '"c":1,',
        "[]",
        '""',
    ]
    return line[:start] + chosen.choice(parts) + line[start:]


def with_another_part(line: str, chosen: random.Random) -> str:
    return without_a_part(with_a_part(line, chosen), chosen)


CHANGES: list[Callable[[str, random.Random], str]] = [without_a_part, with_a_part, with_another_part]


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_text_among_similar_ones_is_read_as_by_itself(seed: int) -> None:
    chosen = random.Random(seed)
    leaves = [leaf("double", "c"), leaf("long", "s", "x"), leaf("string", "t")]
    whole = [text(f"{chosen.random() * 99:.3f}", str(chosen.randrange(10**9))) for _ in range(500)]
    texts = [chosen.choice(CHANGES)(line, chosen) if row % 3 == 0 else line for row, line in enumerate(whole)]
    assert values(parse_texts(strings(texts), leaves)) == one_by_one([*texts], leaves)


ODD = [
    text("1", "2", more=',"tightBounds":false'),
    text("1", "2", more=',"tightBounds":"no"'),
    text("1", "2", more=',"tightBounds":null'),
    text("1", "2", counts='{"c":-1}'),
    text("1", "2", counts='{"c":9223372036854775808}'),
    text("1", "2", counts='{"c":1,"c":2}'),
    text("1", "2", counts="null"),
    text("1", "2", records="-1"),
    text("1", "2", records="1.0"),
    text("1", "2", records="null"),
    text('{"c":1}', "2"),
    text("1", "2", counts='{"c":0}', more=',"nullCounts":{"c":4,"s":{"x":5}}'),
    '{"numRecords":1,"minValues":{"s":5}}',
    '{"numRecords":1,"minValues":{"s":null,"c":7}}',
    '{"minValues":{"s":{"x":7}},"numRecords":1,"other":{"a":[1,2]}}',
    '{"minValues":{"s":{"x":7}},"numRecords":1,"other":{"a":1.5}}',
    '{ "numRecords" : 1 , "minValues" : { "c" : 2 } }',
    ' {"numRecords":1}',
    '{"numRecords":1}}',
    "{}",
    "[]",
    "",
    "null",
    '{"numRecords":null}',
]


@pytest.mark.parametrize("odd", ODD)
def test_texts_of_another_shape_beside_similar_ones_have_their_own_values(odd: str) -> None:
    leaves = [leaf("long", "c"), leaf("long", "s", "x")]
    texts = [odd if row % 2 else text(str(row), str(row + 1)) for row in range(400)]
    assert values(parse_texts(strings(texts), leaves)) == one_by_one([*texts], leaves)


@pytest.mark.parametrize("beyond", ["1e400", "-1e400", "Infinity"])
@pytest.mark.parametrize("count", [1, 40])
def test_a_finite_bound_beyond_its_type_is_no_infinity(beyond: str, count: int) -> None:
    low = parse_texts(strings([text(beyond, "1")] * count), [leaf("double", "c")]).bounds[leaf("double", "c")].low
    assert low.to_pylist() == [None] * count


def test_every_double_of_a_few_digits_is_rounded_as_python_rounds_it() -> None:
    chosen = random.Random(5)
    numbers = [
        f"{chosen.choice(['', '-'])}{chosen.randrange(10 ** chosen.randrange(1, 9))}.{chosen.randrange(10**6):06}"
        for _ in range(4000)
    ]
    low = parse_texts(strings([text(each, "1") for each in numbers]), [leaf("double", "c")]).bounds[leaf("double", "c")]
    assert np.array(low.low.to_pylist()).tobytes() == np.array([json.loads(each) for each in numbers]).tobytes()
