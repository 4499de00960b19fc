"""Statistics of many files parsed into columns: texts in bulk and one by one, structs, and parts of both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.protocol.schema.data_types import PrimitiveType, parse_type
from explorer.core.protocol.statistics.json_statistics import (
    Bounds,
    Members,
    ParsedTexts,
    StatisticsLeaf,
    columns_of,
    concatenated,
    parse_either,
    parse_texts,
    some_of,
)


def leaf(kind: str, *path: str) -> StatisticsLeaf:
    found = parse_type(kind)
    assert isinstance(found, PrimitiveType)
    return StatisticsLeaf(path or ("c",), found)


LONG, TEXT, INNER, RAW = leaf("long"), leaf("string", "t"), leaf("date", "s", "d.x"), leaf("binary", "raw")
LEAVES = [LONG, TEXT, INNER, RAW]
ARROW = {LONG: pa.int64(), TEXT: pa.string(), INNER: pa.date32(), RAW: pa.binary()}
DAY = date(2024, 2, 29)

Row = tuple[Any, ...]
"""Tight, records, and of each leaf the least value, the greatest one and the nulls."""


def rows(parsed: ParsedTexts, leaves: Sequence[StatisticsLeaf] = LEAVES) -> list[Row]:
    assert list(parsed.bounds) == list(leaves)
    columns = [parsed.tight, parsed.num_records]
    for each in leaves:
        bounds = parsed.bounds[each]
        assert bounds.low.type == bounds.high.type
        columns += [bounds.low, bounds.high, bounds.nulls]
    for column in columns:
        column.validate(full=True)
    assert (parsed.tight.type, parsed.num_records.type) == (pa.bool_(), pa.int64())
    assert {bounds.nulls.type for bounds in parsed.bounds.values()} <= {pa.int64()}
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def text(low: Any = 1, high: Any = 2, *, counts: str = "nullCount", **more: Any) -> str:
    told = {
        "numRecords": 3,
        "minValues": {"c": low, "t": "a", "s": {"d.x": "2024-02-29"}, "raw": "x"},
        "maxValues": {"c": high, "t": "b", "s": {"d.x": "2024-02-29"}, "raw": "y"},
        counts: {"c": 0, "t": 1, "s": {"d.x": 2}, "raw": 3},
    }
    return json.dumps(told | more)


GOOD: Row = (True, 3, 1, 2, 0, "a", "b", 1, DAY, DAY, 2, None, None, 3)
NOTHING: Row = (None,) * 14
EMPTY: Row = (True, *NOTHING[1:])
TWICE = '{"numRecords":1,"numRecords":2}'


def test_texts_are_columns_of_the_types_of_the_schema() -> None:
    texts = [text(), "{}", None, text(tightBounds=False, mine={"x": [1]}), text(counts="nullCounts")]
    found = parse_texts(pa.array(texts), LEAVES)
    assert rows(found) == [GOOD, EMPTY, NOTHING, (False, *GOOD[1:]), GOOD]
    assert {each: bounds.low.type for each, bounds in found.bounds.items()} == ARROW
    assert found.problems == ()
    assert rows(parse_texts(pa.array(texts).slice(1, 3), LEAVES)) == [EMPTY, NOTHING, (False, *GOOD[1:])]


@pytest.mark.parametrize("count", [0, 2])
def test_where_no_file_has_statistics_nothing_is_known(count: int) -> None:
    found = parse_texts(pa.nulls(count, pa.string()), LEAVES)
    assert rows(found) == [NOTHING] * count
    assert {each: bounds.high.type for each, bounds in found.bounds.items()} == ARROW
    assert rows(parse_texts(pa.nulls(count, pa.string()), []), []) == [(None, None)] * count


@pytest.mark.parametrize("padding", [0, 1, 20, 100])
def test_one_text_that_is_refused_is_told_by_its_row_and_the_others_are_read(padding: int) -> None:
    """In a block of a few texts and of many, with and without files that have none."""
    texts = [*[text()] * padding, TWICE, text("x"), None, *[text()] * padding, "[]", text(counts="nullCounts")]
    found = parse_texts(pa.array(texts), LEAVES)
    odd = (True, 3, None, *GOOD[3:])
    assert rows(found) == [*[GOOD] * padding, NOTHING, odd, NOTHING, *[GOOD] * padding, NOTHING, GOOD]
    assert sorted(found.problems) == [
        (padding, "the key 'numRecords' occurs twice"),
        (padding + 1, "'x' is not a valid long, the type of c"),
        (2 * padding + 3, "not an object"),
    ]


def test_problems_beyond_the_first_block_are_told_by_their_rows() -> None:
    block, few = 1 << 16, [LONG]
    texts = ["{}"] * (2 * block + 3)
    for place in (0, block - 1, block, 2 * block + 2):
        texts[place] = "null"
    found = parse_texts(pa.array(texts), few)
    assert found.problems == tuple((place, "not an object") for place in (0, block - 1, block, 2 * block + 2))
    assert found.tight.null_count == 4
    assert len(found.tight) == len(texts)


@pytest.mark.parametrize(
    ("texts", "least"),
    [
        (['{"minValues":{"c":1}', ',"x":1}', "{}{}"], [None, None, None]),
        (['{"minValues":{"c":1},"x":', "{}}", "{}{}"], [None, None, None]),
        (['{"minValues":{"c":1}}{}', '{"minValues":{"c":2}}', ""], [None, 2, None]),
        (['{"minValues":{"c":1}}', '{"minValues":{"c":2}} '], [1, 2]),
        ([""], [None]),
        (['{"minValues":{"c":1}}', '\n{"minValues":{"c":2}}'], [1, 2]),
        (["{}", '{"minValues":{"c":"' + "9" * 3_000_000 + '"}}'], [None, None]),
    ],
)
def test_a_text_is_never_read_together_with_its_neighbours(texts: list[str], least: list[int | None]) -> None:
    for more in (0, 30):
        found = parse_texts(pa.array([*texts, *['{"minValues":{"c":7}}'] * more]), [LONG])
        assert found.bounds[LONG].low.to_pylist() == [*least, *[7] * more]


def test_a_long_text_is_read_in_bulk_like_any_other() -> None:
    long = "a" * 5_000_000
    found = parse_texts(pa.array([json.dumps({"minValues": {"t": long}, "numRecords": 2})] * 2), [TEXT])
    assert found.bounds[TEXT].low.to_pylist() == [long, long]
    assert found.num_records.to_pylist() == [2, 2]


def of_counts(first: int | None, second: int | None) -> Row:
    return (*GOOD[:4], first, *GOOD[5:7], second, DAY, DAY, *[None] * 4)


@pytest.mark.parametrize("beside", [[], [TWICE]])
@pytest.mark.parametrize(
    ("told", "row"),
    [
        (text(), GOOD),
        (text(numRecords=-1), (True, None, *GOOD[2:])),
        (text(nullCount={"c": -1, "t": 1, "s": {"d.x": 2}, "raw": 3}), (*GOOD[:4], None, *GOOD[5:])),
        (text(nullCount={"c": -1, "t": 1}, nullCounts={"c": 4}), of_counts(4, 1)),
        (text(nullCount={"t": 1}, nullCounts={"c": 4, "t": 2}), of_counts(4, 1)),
        (text(nullCount={"c": 5}, nullCounts={"c": -4}), of_counts(5, None)),
        (text(nullCount={"c": -5}, nullCounts={"c": -4}), of_counts(None, None)),
        (text(minValues={"c": 1, "s": {}}), (*GOOD[:5], None, "b", 1, None, *GOOD[9:])),
        (text(maxValues={"c": 2, "s": None}), (*GOOD[:6], None, 1, DAY, None, *GOOD[10:])),
        (text(tightBounds=None), GOOD),
        (text(tightBounds=True), GOOD),
        (text(tightBounds=False), (False, *GOOD[1:])),
        ("{}", EMPTY),
    ],
)
def test_in_bulk_and_one_by_one_texts_say_the_same(told: str, row: Row, beside: list[str]) -> None:
    found = rows(parse_texts(pa.array([told, *beside]), LEAVES))
    assert found == [row, *[NOTHING] * len(beside)]


@pytest.mark.parametrize("beside", [[], [TWICE]])
@pytest.mark.parametrize(
    ("kind", "given", "bounds", "problems"),
    [
        ("date", ("2024-02-30", "2024-02-29"), (None, DAY), ["'2024-02-30' is not a valid date, the type of s.c"]),
        ("date", ("2024-02-29", "noon" * 40), (DAY, None), [f"{'noon' * 25!r} is not a valid date, the type of s.c"]),
        ("decimal(5,2)", (1.005, 1.005), (Decimal("1.00"), Decimal("1.01")), []),
        ("double", ("NaN", "NaN"), (None, None), []),
        ("timestamp_ntz", ("x", None), (None, None), ["'x' is not a valid timestamp_ntz, the type of s.c"]),
        ("timestamp", ("2020-01-01T00:00:00Z", None), (datetime(2020, 1, 1, tzinfo=UTC), None), []),
        ("binary", ("a", "b"), (None, None), []),
    ],
)
def test_a_bound_that_does_not_fit_is_told_by_its_row_and_column(
    kind: str, given: tuple[Any, Any], bounds: tuple[Any, Any], problems: list[str], beside: list[str]
) -> None:
    one = leaf(kind, "s", "c")
    low, high = ({"s": {"c": value}} for value in given)
    told = json.dumps({"minValues": low, "maxValues": high})
    found = parse_texts(pa.array([None, "{}", told, *beside]), [one])
    assert rows(found, [one]) == [
        (None,) * 5,
        (True, *[None] * 4),
        (True, None, *bounds, None),
        *[(None,) * 5] * len(beside),
    ]
    doubled = [(3, "the key 'numRecords' occurs twice")] if beside else []
    assert sorted(found.problems) == [*((2, reason) for reason in problems), *doubled]


@pytest.mark.parametrize(
    ("kind", "fits", "beyond"),
    [
        ("decimal(5,2)", ["999.99", "-999.99", "0.00"], ["1000.00", "-1000.00", "12345.00"]),
        ("decimal(18,0)", [f"{10**18 - 1}", f"{1 - 10**18}", "-1"], [f"{10**18}", f"-{10**18}", f"{2**64 + 5}"]),
        ("decimal(19,0)", [f"{10**19 - 1}", f"{1 - 10**19}", "-1"], [f"{10**19}", f"-{10**19}"]),
        ("decimal(38,3)", ["9" * 35 + ".999", "0.001"], ["1" + "0" * 35]),
    ],
)
@pytest.mark.parametrize("start", [0, 1])
def test_decimals_with_more_digits_than_their_type_are_unknown(
    kind: str, fits: list[str], beyond: list[str], start: int
) -> None:
    one = leaf(kind)
    for numbers in ([fits[0], None, *fits], [fits[0], *beyond, None, *fits]):
        texts = ["{}" if each is None else f'{{"minValues":{{"c":{each}}}}}' for each in numbers]
        found = parse_texts(pa.array(texts).slice(start), [one]).bounds[one]
        expected = [None if each is None or each in beyond else Decimal(each) for each in numbers]
        assert found.low.to_pylist() == expected[start:]
        assert found.high.null_count == len(expected) - start


# --- structs ----------------------------------------------------------------------------------------------------------


def struct(*values: Any, kind: pa.DataType | None = None) -> pa.StructArray:
    bounds = pa.struct([("c", kind or pa.int32()), ("s", pa.struct([("d.x", pa.date32())]))])
    counts = pa.struct([("c", pa.int32()), ("s", pa.struct([("d.x", pa.string())]))])
    members = [("numRecords", pa.int64()), ("tightBounds", pa.bool_()), ("minValues", bounds), ("maxValues", bounds)]
    return pa.array(values, pa.struct([*members, ("nullCount", counts)]))


FULL = {
    "numRecords": 3,
    "minValues": {"c": 1, "s": {"d.x": DAY}},
    "maxValues": {"c": 2, "s": {"d.x": DAY}},
    "nullCount": {"c": 0, "s": {"d.x": "2"}},
}
PAIR = [LONG, INNER]


def test_structs_and_texts_are_read_beside_each_other() -> None:
    parsed = struct(FULL, None, {"tightBounds": False}, FULL | {"minValues": None}, None)
    full = (True, 3, 1, 2, 0, DAY, DAY, 2)
    nothing: Row = (None,) * 8
    expected = [full, nothing, (False, *nothing[1:]), (True, 3, None, 2, 0, None, DAY, 2), nothing]
    assert rows(parse_either(parsed, [pa.nulls(5, pa.string())], PAIR), PAIR) == expected
    told = '{"numRecords":7,"minValues":{"c":5},"maxValues":{"s":{"d.x":"x"}},"nullCounts":{"c":6}}'
    found = parse_either(parsed, [pa.array([told, told, None, None, None])], PAIR)
    expected[1] = (True, 7, 5, None, 6, None, None, None)
    assert rows(found, PAIR) == expected
    assert (1, "'x' is not a valid date, the type of s.d.x") in found.problems
    whole = parse_either(struct(FULL, FULL), [pa.array([told, told])], PAIR)
    assert rows(whole, PAIR) == [full, full]
    assert whole.problems == ()


def test_bounds_of_a_struct_that_do_not_fit_their_type_are_told_and_the_others_kept() -> None:
    first, second = ({"c": text} for text in ("2024-02-29", "2024-13-01"))
    told = {"minValues": first, "maxValues": second}, {"minValues": second, "maxValues": first}, None
    one = leaf("date")
    found = parse_either(struct(*told, kind=pa.string()), [pa.nulls(3, pa.string())], [one])
    assert rows(found, [one]) == [(True, None, DAY, None, None), (True, None, None, DAY, None), (None,) * 5]
    assert found.problems == tuple((row, "'2024-13-01' is not a valid date, the type of c") for row in (1, 0))


def test_members_of_statistics_that_are_not_there_are_unknown() -> None:
    counts = pa.array([{"c": -1}, {"c": 4}, None])
    second = pa.array([{"c": 7}, {"c": 8}, {"c": 9}])
    found = columns_of({"nullCount": counts, "nullCounts": second}, [LONG], 3)
    assert rows(found, [LONG]) == [(True, None, None, None, count) for count in (7, 4, 9)]
    assert rows(columns_of({}, [LONG, RAW], 2), [LONG, RAW]) == [(True, *[None] * 7)] * 2
    odd = columns_of({"numRecords": pa.array(["x", "1"]), "nullCount": pa.array(["a", "b"])}, [LONG], 2)
    assert rows(odd, [LONG]) == [(True, *[None] * 4)] * 2
    assert columns_of({"numRecords": pa.array(["5", "1"])}, [], 2).num_records.to_pylist() == [5, 1]
    raw = pa.array([{"raw": b"a"}])
    found = columns_of({"minValues": raw, "maxValues": raw, "nullCount": pa.array([{"raw": 2}])}, [RAW], 1)
    assert rows(found, [RAW]) == [(True, None, None, None, 2)]


def test_a_struct_is_taken_apart_step_by_step_with_its_nulls() -> None:
    column = pa.array([{"a": {"b": 1, "c": "x"}, "n": 5}, {"a": None, "n": 6}, None])
    members = Members(column)
    for _ in range(2):
        for path, expected in ((("a", "b"), [1, None, None]), (("a", "c"), ["x", None, None]), (("n",), [5, 6, None])):
            found = members.at(path)
            assert found is not None
            assert found.to_pylist() == expected
    assert members.at(()) is column
    absent: list[tuple[str, ...]] = [("z",), ("a", "z"), ("n", "z"), ("z", "a"), ("a", "b", "c", "d")]
    assert [members.at(path) for path in absent] == [None] * 5


# --- parts ------------------------------------------------------------------------------------------------------------


def parsed(*numbers: int | None, problems: tuple[tuple[int, str], ...] = ()) -> ParsedTexts:
    def column(step: int) -> pa.Array:
        return pa.array([None if each is None else each + step for each in numbers], pa.int64())

    tight = pa.array([None if each is None else each % 2 == 0 for each in numbers], pa.bool_())
    return ParsedTexts(tight, column(0), {LONG: Bounds(column(1), column(2), column(3))}, problems)


def test_results_come_one_after_the_other() -> None:
    parts = [parsed(10, None, problems=((1, "a"),)), parsed(21, problems=((2, "b"), (2, "c")))]
    whole = concatenated(parts, [LONG])
    assert rows(whole, [LONG]) == [(True, 10, 11, 12, 13), (None,) * 5, (False, 21, 22, 23, 24)]
    assert whole.problems == ((1, "a"), (2, "b"), (2, "c"))
    assert concatenated(parts[:1], [LONG]) is parts[0]
    none = concatenated([], LEAVES)
    assert rows(none) == []
    assert {each: bounds.low.type for each, bounds in none.bounds.items()} == ARROW
    assert {each: bounds.high.type for each, bounds in none.bounds.items()} == ARROW


def test_the_statistics_of_some_files_keep_their_problems() -> None:
    whole = parsed(10, 20, None, 41, 50, problems=((0, "a"), (2, "c"), (4, "e"), (4, "f")))
    assert some_of(whole, np.ones(5, bool)) is whole
    found = some_of(whole, np.array([False, True, True, False, True]))
    assert rows(found, [LONG]) == [(True, 20, 21, 22, 23), (None,) * 5, (True, 50, 51, 52, 53)]
    assert found.problems == ((1, "c"), (2, "e"), (2, "f"))
    assert rows(some_of(whole, np.zeros(5, bool)), [LONG]) == []
