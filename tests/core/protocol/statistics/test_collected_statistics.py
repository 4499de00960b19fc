"""Statistics of a new data file: which columns they describe, and the text of what bounds their rows."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_type,
)
from explorer.core.protocol.schema.nested_types import Path
from explorer.core.protocol.statistics.collect import (
    indexed_fields,
    known_statistics,
    loosened,
    split_columns,
    statistics_text,
    written_statistics,
)

LONG, TEXT = PrimitiveType("long"), PrimitiveType("string")


def field(name: str, kind: DataType = LONG, physical: str | None = None) -> StructField:
    keys: dict[str, Any] = {} if physical is None else {"delta.columnMapping.physicalName": physical}
    return StructField(name, kind, metadata=keys)


FIELDS = (
    field("a", physical="col-a"),
    field("s", StructType((field("x", physical="col-x"), field("T", StructType((field("y"), field("z"))), "col-t")))),
    field("nothing", VOID),
    field("list", ArrayType(StructType((field("in"),)))),
    field("map", MapType(TEXT, LONG)),
    field("odd,`name", TEXT),
    *(field(f"c{place}") for place in range(40)),
)
LEAVES = [("col-a",), ("s", "col-x"), ("s", "col-t", "y"), ("s", "col-t", "z"), ("list",), ("map",), ("odd,`name",)]
LEAVES += [(f"c{place}",) for place in range(40)]


@pytest.mark.parametrize(
    ("properties", "clustering", "indexed"),
    [
        ({}, (), LEAVES[:32]),
        ({"numIndexedCols": "-1"}, (), LEAVES),
        ({"numIndexedCols": "0"}, (), []),
        ({"numIndexedCols": "1"}, (), LEAVES[:1]),
        ({"numIndexedCols": "3"}, (), LEAVES[:3]),
        ({"numIndexedCols": "100"}, (), LEAVES),
        ({"numIndexedCols": "1"}, [("c39",), ("s", "x"), ("a",)], [LEAVES[0], LEAVES[1], ("c39",)]),
        ({"numIndexedCols": "1"}, [("s",), ("S", "x"), ("s", "col-x"), ("gone",)], LEAVES[:1]),
        ({"statsColumns": "S.t"}, (), LEAVES[2:4]),
        ({"statsColumns": "c5 , A,gone,"}, (), [LEAVES[0], ("c5",)]),
        ({"statsColumns": "s, `s`.x", "numIndexedCols": "0"}, (), LEAVES[1:4]),
        ({"statsColumns": "`odd,``name`,list"}, (), [("list",), ("odd,`name",)]),
        ({"statsColumns": "list.element"}, (), []),
        ({"statsColumns": ""}, (), []),
        ({"statsColumns": ""}, [("s", "T", "z")], LEAVES[3:4]),
        ({"statsColumns": "c1"}, [("c1",)], [("c1",)]),
    ],
)
def test_columns_get_statistics_as_the_properties_and_the_clustering_say(
    properties: dict[str, str], clustering: list[Path], indexed: list[Path]
) -> None:
    found = indexed_fields(
        FIELDS, {f"delta.dataSkipping{key[0].upper()}{key[1:]}": properties[key] for key in properties}, clustering
    )
    assert [path for path, _ in found] == indexed
    assert [(each.physical_name, isinstance(each.type, StructType)) for _, each in found] == [
        (path[-1], False) for path in indexed
    ]


@pytest.mark.parametrize("names", ["a..b", "`a", "a,b`"])
def test_a_list_of_columns_that_is_none_is_refused(names: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        indexed_fields(FIELDS, {"delta.dataSkippingStatsColumns": names})
    assert str(refused.value) == (
        f"The table property delta.dataSkippingStatsColumns is {names!r}, which is not a list of columns. Set it again."
    )
    assert refused.value.found == names


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a, b ,c", ["a", "b", "c"]),
        ("a,,b,", ["a", "", "b", ""]),
        ("`a,b`,c", ["`a,b`", "c"]),
        ("`a``,b` , `c`.d", ["`a``,b`", "`c`.d"]),
    ],
)
def test_a_list_of_columns_is_split_at_the_commas_outside_quotes(names: str, parts: list[str]) -> None:
    assert split_columns(names) == parts


def text_of(kind: DataType, values: pa.Array) -> tuple[Any, Any]:
    """The bounds in the statistics of a file with these values, numbers as their digits."""
    text = statistics_text(len(values), [(("c",), field("c", kind))], [values], [values.null_count])
    found = json.loads(text, parse_float=str, parse_int=str)
    assert found["nullCount"] == {"c": str(values.null_count)}
    assert list(found["minValues"]) == list(found["maxValues"])
    return found["minValues"].get("c"), found["maxValues"].get("c")


LAST = "\U0010ffff"
LONGEST = "a" * 32
DAY = datetime(1970, 1, 1)  # noqa: DTZ001
ZONED = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "values", "bounds"),
    [
        ("long", pa.array([5, None, -7, 2]), ("-7", "5")),
        ("byte", pa.array([127], pa.int8()), ("127", "127")),
        ("long", pa.array([None, None], pa.int64()), (None, None)),
        ("long", pa.array([], pa.int64()), (None, None)),
        ("decimal(5,2)", pa.array([Decimal("1.50"), Decimal("-2.00")]), ("-2.00", "1.50")),
        ("double", pa.array([0.5, 2.5]), ("0.5", "2.5")),
        ("double", pa.array([0.0, None]), ("-0.0", "0.0")),
        ("double", pa.array([-0.0, 3.0]), ("-0.0", "3.0")),
        ("float", pa.array([-1.0, -0.0], pa.float32()), ("-1.0", "0.0")),
        ("double", pa.array([1.0, float("inf")]), (None, None)),
        ("double", pa.array([1.0, float("nan")]), (None, None)),
        ("boolean", pa.array([True, False]), (None, None)),
        ("binary", pa.array([b"a", b"b"]), (None, None)),
        ("variant", pa.array([b"a", b"b"]), (None, None)),
        ("date", pa.array([date(1, 1, 1), date(9999, 12, 31)]), ("0001-01-01", "9999-12-31")),
        ("date", pa.array([date(1969, 12, 31), None]), ("1969-12-31", "1969-12-31")),
        ("date", pa.array([-719_163, 0], pa.int32()).view(pa.date32()), (None, None)),
        ("date", pa.array([0, 2_932_897], pa.int32()).view(pa.date32()), (None, None)),
        (
            "timestamp",
            pa.array([1_000_001, 1_000_999, None], pa.int64()).view(ZONED),
            ("1970-01-01T00:00:01.000Z", "1970-01-01T00:00:01.001Z"),
        ),
        (
            "timestamp",
            pa.array([-1, -1_000], pa.int64()).view(ZONED),
            ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
        ),
        ("timestamp_ntz", pa.array([DAY], pa.timestamp("us")), ("1970-01-01T00:00:00.000", "1970-01-01T00:00:00.000")),
        ("timestamp", pa.array([datetime(9999, 12, 31, 23, 59, 59, 999_001, UTC)], ZONED), (None, None)),
        ("timestamp", pa.array([-62_135_596_800_000_001, 0], pa.int64()).view(ZONED), (None, None)),
        ("string", pa.array(["b", None, "a", "c"]), ("a", "c")),
        ("string", pa.array([LONGEST]), (LONGEST, LONGEST)),
        ("string", pa.array([f"{LONGEST}b"]), (LONGEST, LONGEST + LAST)),
        ("string", pa.array([f"{LONGEST}{LAST}"]), (LONGEST, LONGEST + LAST)),
        ("string", pa.array([f"{LONGEST}{LAST}b"]), (LONGEST, LONGEST + 2 * LAST)),
        ("string", pa.array([f"{LONGEST}{LAST}{LAST}bc"]), (LONGEST, LONGEST + 3 * LAST)),
        ("string", pa.array([40 * LAST]), (32 * LAST, 40 * LAST)),
        ("string", pa.array(["\u00e9" * 33]), ("\u00e9" * 32, "\u00e9" * 32 + LAST)),
    ],
)
def test_the_bounds_of_a_column_enclose_every_value(
    kind: str, values: pa.Array, bounds: tuple[str | None, str | None]
) -> None:
    assert text_of(parse_type(kind), values) == bounds


def test_a_column_that_is_not_simple_has_a_count_of_nulls_alone() -> None:
    assert text_of(ArrayType(LONG), pa.array([[1], None])) == (None, None)


def test_the_text_of_statistics_has_an_object_for_each_struct() -> None:
    indexed = indexed_fields(FIELDS, {"delta.dataSkippingNumIndexedCols": "4"})
    values = [pa.array([1, 2]), pa.array([3, 3]), pa.nulls(2, pa.int64()), pa.array([4, None])]
    assert statistics_text(2, indexed, values, [0, 0, 2, 1]) == (
        '{"numRecords":2,"minValues":{"col-a":1,"s":{"col-x":3,"col-t":{"z":4}}},'
        '"maxValues":{"col-a":2,"s":{"col-x":3,"col-t":{"z":4}}},'
        '"nullCount":{"col-a":0,"s":{"col-x":0,"col-t":{"y":2,"z":1}}},"tightBounds":true}'
    )
    assert statistics_text(0, [], [], []) == (
        '{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{},"tightBounds":true}'
    )


@pytest.mark.parametrize(
    ("stats", "known"),
    [
        (None, {}),
        ('{"numRecords":1,"x":1.50}', {"numRecords": 1, "x": Decimal("1.50")}),
        ('{"a":1,"a":1}', {}),
        ('{"a":"\\ud800"}', {}),
        ('{"a":{"b":NaN}}', {"a": {"b": None}}),
        ("[]", {}),
    ],
)
def test_what_statistics_say_is_kept_to_the_digit_or_not_at_all(stats: str | None, known: dict[str, object]) -> None:
    found = known_statistics(stats)
    assert found == known
    assert repr(found) == repr(known)


def test_statistics_are_written_again_without_spaces_and_with_their_digits() -> None:
    told = {"numRecords": 1, "minValues": {"c": Decimal("1.50")}, "s": "\u00e9"}
    assert written_statistics(told) == '{"numRecords":1,"minValues":{"c":1.50},"s":"\u00e9"}'
    assert loosened('{"maxValues":{"c":2.10},"tightBounds":true,"numRecords":9}', 3) == (
        '{"maxValues":{"c":2.10},"tightBounds":false,"numRecords":3}'
    )
    assert loosened(None, 3) == '{"numRecords":3,"tightBounds":false}'
