"""Bounds of columns as values: read from JSON, told of every file, and compared with the constants of conditions."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.protocol.schema.data_types import PrimitiveType, parse_type
from explorer.core.protocol.sql.predicates import LiteralValue, Operator
from explorer.core.protocol.statistics.bounds import bound_value, count_value, decode_statistics
from explorer.core.protocol.statistics.column_facts import ColumnFacts, Side, _raised
from explorer.core.protocol.statistics.skipping_constants import Threshold, constant_of, threshold
from tests.core.protocol.statistics.test_statistics import snapshot
from tests.support.at_least_one import at_least_one


def primitive(name: str) -> PrimitiveType:
    found = parse_type(name)
    assert isinstance(found, PrimitiveType)
    return found


# --- from JSON --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"b":1,"a":2,"a":3}', "the key 'a' occurs twice"),
        ('{"b":1,"a":2,"c":2,"a":3,"c":1}', "the key 'a' occurs twice"),
        ('{"a":1e5,"b":-0.10,"c":7,"d":"NaN"}', {"a": Decimal("1e5"), "b": Decimal("-0.10"), "c": 7, "d": "NaN"}),
        ('{"a":1e99999999999999999999}', "the number 1e99999999999999999999 is out of range"),
        (f'{{"a":-1.5e{"9" * 50}}}', f"the number -1.5e{'9' * 35} is out of range"),
        ("null", "not an object"),
        ('"x"', "not an object"),
    ],
)
def test_a_text_keeps_the_digits_of_its_numbers(text: str, found: Any) -> None:
    decoded = decode_statistics(text)
    assert decoded == found
    assert repr(decoded) == repr(found)


UP, DOWN = True, False
NOON = datetime(2020, 1, 2, 12, tzinfo=UTC)
SINGLE = Decimal("3.4028235677973366e38")


@pytest.mark.parametrize(
    ("kind", "value", "bound"),
    [
        ("byte", 127, 127),
        ("byte", 128, None),
        ("byte", -128, -128),
        ("byte", -129, None),
        ("short", 2**15 - 1, 2**15 - 1),
        ("short", 2**15, None),
        ("integer", -(2**31), -(2**31)),
        ("integer", -(2**31) - 1, None),
        ("long", 2**63 - 1, 2**63 - 1),
        ("long", 2**63, None),
        ("long", Decimal("1E+3"), 1_000),
        ("long", Decimal("1.50"), None),
        ("long", Decimal("9223372036854775807.0"), 2**63 - 1),
        ("long", Decimal("1E+999999"), None),
        ("long", True, None),
        ("long", "1", None),
        ("double", 1, 1.0),
        ("double", Decimal("0.1"), 0.1),
        ("double", "Infinity", float("inf")),
        ("double", "-Infinity", float("-inf")),
        ("double", "0.5", 0.5),
        ("double", "1_0", None),
        ("double", "NaN", None),
        ("double", True, None),
        ("double", [1], None),
        ("double", 10**400, None),
        ("double", Decimal("1E+400"), None),
        ("double", Decimal("-1E+400"), None),
        ("double", Decimal("1E+300"), 1e300),
        ("float", Decimal("1E+300"), None),
        ("float", SINGLE, None),
        ("float", -SINGLE, None),
        ("float", Decimal("3.4028234E+38"), 3.4028234e38),
        ("float", "Infinity", float("inf")),
        ("string", "", ""),
        ("string", "a", "a"),
        ("string", "\ud800", None),
        ("string", 1, None),
        ("boolean", True, True),
        ("boolean", False, False),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("boolean", "TRUE", None),
        ("boolean", 1, None),
        ("date", "2020-01-02", date(2020, 1, 2)),
        ("date", "2020-01-02T23:00:00Z", date(2020, 1, 2)),
        ("date", "2020-01-32", None),
        ("date", "20200102", None),
        ("date", 5, None),
        ("timestamp", "2020-01-02T12:00:00", NOON),
        ("timestamp", "2020-01-02T12:00:00Z", NOON),
        ("timestamp", "2020-01-02 14:00:00+02:00", NOON),
        ("timestamp", "2020-01-02T12:00:00.1234569Z", NOON.replace(microsecond=123456)),
        ("timestamp", "2020-01-02T12:00:00.123456789+00:00", NOON.replace(microsecond=123456)),
        ("timestamp", "2020-W01-4T12:00:00Z", None),
        ("timestamp", 5, None),
        ("timestamp_ntz", "2020-01-02T12:00:00", NOON.replace(tzinfo=None)),
        ("timestamp_ntz", "2020-01-02T12:00:00+02:00", NOON.replace(tzinfo=None)),
        ("binary", "a", None),
        ("variant", {}, None),
        ("void", None, None),
    ],
)
def test_a_bound_is_a_value_of_its_type_or_unknown(kind: str, value: object, bound: object) -> None:
    for upper in (UP, DOWN):
        found = bound_value(value, primitive(kind), upper=upper)
        assert (type(found), found) == (type(bound), bound)
        assert bound_value(None, primitive(kind), upper=upper) is None
    if isinstance(bound, datetime):
        assert isinstance(found, datetime)
        assert found.tzinfo == bound.tzinfo


@pytest.mark.parametrize(
    ("kind", "value", "low", "high"),
    [
        ("decimal(5,2)", 1, "1.00", "1.00"),
        ("decimal(5,2)", "1.5", "1.50", "1.50"),
        ("decimal(5,2)", Decimal("1.001"), "1.00", "1.01"),
        ("decimal(5,2)", Decimal("-1.001"), "-1.01", "-1.00"),
        ("decimal(5,2)", 0.5, "0.50", "0.50"),
        ("decimal(5,2)", 0, "0.00", "0.00"),
        ("decimal(5,2)", Decimal("0E+9"), "0.00", "0.00"),
        ("decimal(5,2)", Decimal("999.991"), "999.99", None),
        ("decimal(5,2)", Decimal("-999.991"), None, "-999.99"),
        ("decimal(5,2)", 1_000, None, None),
        ("decimal(5,2)", -1_000, None, None),
        ("decimal(2,2)", Decimal("0.99"), "0.99", "0.99"),
        ("decimal(2,2)", Decimal("0.991"), "0.99", None),
        ("decimal(2,2)", 1, None, None),
        ("decimal(38,0)", 10**38 - 1, str(10**38 - 1), str(10**38 - 1)),
        ("decimal(38,0)", 10**38, None, None),
        ("decimal(5,2)", True, None, None),
        ("decimal(5,2)", [], None, None),
        ("decimal(5,2)", "Infinity", None, None),
        ("decimal(5,2)", "NaN", None, None),
        ("decimal(5,2)", "x", None, None),
    ],
)
def test_a_decimal_with_too_many_places_is_cut_outwards(
    kind: str, value: object, low: str | None, high: str | None
) -> None:
    for upper, expected in ((DOWN, low), (UP, high)):
        found = bound_value(value, primitive(kind), upper=upper)
        assert (None if found is None else str(found)) == expected


@pytest.mark.parametrize(
    ("value", "count"),
    [(0, 0), (7, 7), (2**63 - 1, 2**63 - 1), (2**63, None), (-1, None), (True, None), ("1", None), (None, None)],
)
def test_a_count_is_a_whole_number_that_rows_can_have(value: object, count: int | None) -> None:
    assert count_value(value) == count


# --- constants of conditions ------------------------------------------------------------------------------------------

DIGITS = "1" * 300


@pytest.mark.parametrize(
    ("kind", "given", "text", "constant"),
    [
        ("byte", "integer", "300", Decimal(300)),
        ("short", "decimal", "0.50", Decimal("0.5")),
        ("integer", "double", "1e3", Decimal(1_000)),
        ("integer", "double", "1e999", None),
        ("long", "integer", DIGITS, Decimal(DIGITS)),
        ("long", "integer", f"{DIGITS}1", None),
        ("long", "double", "1e3", None),
        ("long", "string", "1", None),
        ("byte", "string", "1", None),
        ("decimal(5,2)", "decimal", "1.005", Decimal("1.005")),
        ("decimal(5,2)", "double", "1e0", None),
        ("double", "integer", "16777217", 16777217.0),
        ("double", "double", "1e999", None),
        ("double", "string", "1", None),
        ("float", "integer", "16777216", 16777216.0),
        ("float", "integer", "16777217", None),
        ("float", "decimal", "0.1", 0.1),
        ("float", "double", "1e-1", 0.1),
        ("string", "string", "a" * 301, "a" * 301),
        ("string", "string", "\ud800", None),
        ("string", "integer", "1", None),
        ("boolean", "boolean", "true", Decimal(1)),
        ("boolean", "boolean", "false", Decimal(0)),
        ("boolean", "string", "true", None),
        ("date", "date", "1970-01-03", Decimal(2)),
        ("date", "string", "1969-12-31", Decimal(-1)),
        ("date", "timestamp", "1970-01-03", None),
        ("date", "string", "1970-01-03 00:00:00", None),
        ("date", "date", "1970-02-30", None),
        ("timestamp", "timestamp", "1970-01-01 00:00:01", Decimal(1_000_000)),
        ("timestamp", "timestamp", "1970-01-01T01:00:00.000001+01:00", Decimal(1)),
        ("timestamp", "string", "1970-01-01 00:00:00.5Z", Decimal(500_000)),
        ("timestamp", "string", "1970-01-01 00:00:00.1234567Z", None),
        ("timestamp", "date", "1970-01-02", Decimal(86_400_000_000)),
        ("timestamp", "date", "1970-01-02 00:00", None),
        ("timestamp", "timestamp_ntz", "1970-01-02 00:00:00", None),
        ("timestamp_ntz", "timestamp_ntz", "1970-01-01 00:01", Decimal(60_000_000)),
        ("timestamp_ntz", "string", "1970-01-02", Decimal(86_400_000_000)),
        ("timestamp_ntz", "date", "1970-01-02", Decimal(86_400_000_000)),
        ("timestamp_ntz", "timestamp", "1970-01-02", None),
        ("timestamp_ntz", "string", "1970-01-02 00:00:00Z", None),
        ("timestamp_ntz", "string", "noon", None),
        ("binary", "string", "a", None),
        ("variant", "integer", "1", None),
    ],
)
def test_a_constant_is_compared_as_a_value_of_the_column_or_not_at_all(
    kind: str, given: str, text: str, constant: object
) -> None:
    found = constant_of(LiteralValue(given, text), primitive(kind))
    assert (type(found), found) == (type(constant), constant)


@pytest.mark.parametrize(
    ("kind", "constant", "operator", "found"),
    [
        ("long", "2.5", "<", Threshold(3, False, False)),
        ("long", "2.5", ">=", Threshold(3, False, False)),
        ("long", "2.5", "<=", Threshold(2, False, False)),
        ("long", "2.5", ">", Threshold(2, False, False)),
        ("long", "-2.5", "<", Threshold(-2, False, False)),
        ("byte", "127", "<=", Threshold(127, False, False)),
        ("byte", "128", "<=", Threshold(128, False, True)),
        ("byte", "-128", ">=", Threshold(-128, False, False)),
        ("byte", "-129", ">=", Threshold(-129, True, False)),
        ("date", str(2**63 - 1), "<=", Threshold(2**63 - 1, False, False)),
        ("date", str(2**63), "<=", Threshold(2**63, False, True)),
        ("boolean", str(2**63 - 1), "<", Threshold(2**63 - 1, False, False)),
        ("boolean", str(2**63), "<", Threshold(2**63, False, True)),
        ("boolean", str(-(2**63)), "<", Threshold(-(2**63), False, False)),
        ("boolean", str(-(2**63) - 1), "<", Threshold(-(2**63) - 1, True, False)),
        ("decimal(5,2)", "1.005", "<", Threshold(Decimal("1.01"), False, False)),
        ("decimal(5,2)", "1.005", ">", Threshold(Decimal("1.00"), False, False)),
        ("decimal(5,2)", "999.99", ">", Threshold(Decimal("999.99"), False, False)),
        ("decimal(5,2)", "1000", ">", Threshold(Decimal("1000.00"), False, True)),
        ("decimal(5,2)", "-1000", ">", Threshold(Decimal("-1000.00"), True, False)),
        ("decimal(5,2)", "-999.99", ">", Threshold(Decimal("-999.99"), False, False)),
    ],
)
def test_a_value_of_the_type_stands_for_a_constant_under_an_operator(
    kind: str, constant: str, operator: Operator, found: Threshold
) -> None:
    made = threshold(Decimal(constant), operator, primitive(kind))
    assert made == found
    assert (type(made.value), str(made.value)) == (type(found.value), str(found.value))


# --- of every file ----------------------------------------------------------------------------------------------------


def facts(kind: str, *files: str, partitions: list[str | None] | None = None) -> ColumnFacts:
    """Of a column ``c``; each file is the JSON of its least and its greatest value, and its nulls, of three rows."""
    made = []
    for file in files:
        low, high, nulls = file.split(" | ")
        counted = f',"nullCount":{{"c":{nulls}}}' if nulls else ""
        bounds = f'"minValues":{{"c":{low or "null"}}},"maxValues":{{"c":{high or "null"}}}'
        made.append(f'{{"numRecords":3,{bounds}{counted}}}')
    found = snapshot(
        [("c", kind)] if partitions is None else [("c", kind), ("d", "long")],
        made or ['{"numRecords":3}'] * len(partitions or []),
        partition_columns=() if partitions is None else ("c",),
        partition_values=[{"c": value} for value in partitions or []],
    )
    return ColumnFacts.of(found._statistics, found.statistics_column("c"))


def told(side: Side) -> list[Any]:
    values = side.values.to_pylist() if isinstance(side.values, pa.Array) else side.values.tolist()
    return [value if known else None for value, known in zip(values, side.known.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("kind", "file", "low", "high"),
    [
        ("byte", "1 | 2 | ", 1, 2),
        ("long", f"{-(2**63)} | {2**63 - 1} | ", -(2**63), 2**63 - 1),
        ("long", "2 | 1 | ", None, None),
        # What delta-rs writes of 123456789012345.12345, and what the reference does.
        ("decimal(20,5)", "123456789012345.12 | 123456789012345.12 | ", None, None),
        ("decimal(20,5)", "123456789012345.12345 | 1.5 | ", None, None),
        (
            "decimal(20,5)",
            "-123456789012345.12345 | 123456789012345.12345 | ",
            Decimal("-123456789012345.12345"),
            Decimal("123456789012345.12345"),
        ),
        ("decimal(20,5)", "1.5 | 12345.67891 | ", Decimal("1.50000"), Decimal("12345.67891")),
        ("decimal(15,5)", "1234567890.12 | 1234567890.12 | ", Decimal("1234567890.12000"), Decimal("1234567890.12000")),
        ("long", "2 | 2 | ", 2, 2),
        ("long", "2 |  | ", 2, None),
        ("long", " | 1 | ", None, 1),
        ("double", '0.5 | "NaN" | ', 0.5, None),
        ("float", "0.5 | 2 | ", 0.5, 2.0),
        ("double", "2 | 1 | ", None, None),
        ("boolean", "false | true | ", 0, 1),
        ("boolean", "true | false | ", None, None),
        ("date", '"1970-01-02" | "1970-01-03" | ', 1, 2),
        ("string", '"a" | "b" | ', "a", "b"),
        ("string", '"b" | "a" | ', None, None),
        ("decimal(5,2)", "1.5 | 2 | ", Decimal("1.50"), Decimal("2.00")),
        ("decimal(5,2)", "2 | 1.5 | ", None, None),
        ("timestamp", '"1970-01-01T00:00:01Z" | "1970-01-01T00:00:01Z" | ', 1_000_000, 1_001_000),
        ("timestamp_ntz", '"1970-01-01T00:00:01" | "1970-01-01T00:00:00.999" | ', 1_000_000, 1_000_000),
        ("binary", '"a" | "b" | ', None, None),
        ("variant", '"a" | "b" | ', None, None),
        ("void", " |  | ", None, None),
    ],
)
def test_the_bounds_of_a_column_are_known_where_they_are_in_order(kind: str, file: str, low: Any, high: Any) -> None:
    found = facts(kind, file, " |  | ")
    assert (told(found.low), told(found.high)) == ([low, None], [high, None])
    assert (found.type.name, found.partition) == (kind.partition("(")[0], False)


def test_a_null_count_of_none_and_of_all_rows_is_told_apart_from_none_at_all() -> None:
    found = facts("long", "1 | 2 | 0", "1 | 2 | 1", " |  | 3", "1 | 2 | ")
    assert found.all_null.tolist() == [False, False, True, False]
    assert found.none_null.tolist() == [True, False, False, False]
    assert found.uncounted.tolist() == [False, False, False, True]
    counted = found.by_null_counts()
    assert (told(counted.low), told(counted.high)) == ([None] * 4, [None] * 4)
    assert (counted.all_null.tolist(), counted.none_null.tolist()) == (
        found.all_null.tolist(),
        found.none_null.tolist(),
    )
    nothing = found.by_partition_values()
    assert (told(nothing.low), told(nothing.high)) == ([None] * 4, [None] * 4)
    assert not (nothing.all_null | nothing.none_null).any()
    assert nothing.uncounted.tolist() == found.uncounted.tolist()


def test_a_partition_column_is_known_whatever_may_be_used() -> None:
    found = facts("long", partitions=["5", None, ""])
    assert (told(found.low), told(found.high)) == ([5, None, None], [5, None, None])
    assert found.partition is True
    assert found.all_null.tolist() == [False, True, True]
    assert found.none_null.tolist() == [True, False, False]
    assert found.uncounted.tolist() == [False, False, False]
    assert found.by_null_counts() is found.by_partition_values() is found


@pytest.mark.parametrize("unknown", [True, False])
@pytest.mark.parametrize(
    ("kind", "files", "constant", "holding"),
    [
        ("long", ("3", "4", "5"), Decimal(4), {"<": "100", "<=": "110", ">": "001", ">=": "011"}),
        ("long", ("3", "4", "5"), Decimal("3.5"), {"<": "100", "<=": "100", ">": "011", ">=": "011"}),
        ("byte", ("-128", "4", "127"), Decimal(128), {"<": "111", "<=": "111", ">": "000", ">=": "000"}),
        ("byte", ("-128", "4", "127"), Decimal(-129), {"<": "000", "<=": "000", ">": "111", ">=": "111"}),
        ("double", ("0.5", "1.5", "2"), 1.5, {"<": "100", "<=": "110", ">": "001", ">=": "011"}),
        ("string", ('"a"', '"b"', '"c"'), "b", {"<": "100", "<=": "110", ">": "001", ">=": "011"}),
        ("decimal(5,2)", ("1", "1.1", "2"), Decimal("1.1"), {"<": "100", "<=": "110", ">": "001", ">=": "011"}),
    ],
)
def test_bounds_are_compared_with_a_constant_and_unknown_ones_answer_as_asked(
    kind: str, files: tuple[str, ...], constant: Any, holding: dict[Operator, str], unknown: bool
) -> None:
    side = facts(kind, *(f"{each} | {each} | " for each in files), " |  | ").low
    for operator, expected in at_least_one(holding.items()):
        found = side.holds(operator, constant, primitive(kind), unknown=unknown)
        assert found.dtype == bool
        assert found.tolist() == [*(each == "1" for each in expected), unknown]


def test_the_last_of_all_times_is_not_raised_beyond_what_is_counted() -> None:
    most = np.iinfo(np.int64).max
    side = Side(np.array([most, most - 1_000, most - 1_001, 0]), np.array([True, True, True, False]))
    for kind in ("timestamp", "timestamp_ntz"):
        assert told(_raised(side, primitive(kind))) == [most, most, most - 1, None]
    assert _raised(side, primitive("long")) is side
