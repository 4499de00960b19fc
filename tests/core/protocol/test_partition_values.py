"""Values of partition columns: every form that is read, what is refused, and how a value is written."""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from explorer.core.errors import CorruptTable, RequestError
from explorer.core.protocol.partition_values import (
    format_partition_value,
    parse_partition_value,
    partition_column,
    zone_warning,
)
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_schema
from tests.support.logs.small_schemas import field, struct


def _kind(name: str) -> PrimitiveType:
    kind = parse_schema(json.dumps(struct(field("p", name)))).fields[0].type
    assert isinstance(kind, PrimitiveType)
    return kind


@pytest.mark.conformance("PART-007")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2021-01-02 03:04:05", datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2021-01-02T03:04:05Z", datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2021-01-02T03:04:05.1Z", datetime(2021, 1, 2, 3, 4, 5, 100_000, tzinfo=UTC)),
        ("2021-01-02 03:04:05.123456", datetime(2021, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC)),
        ("2021-01-02T03:04:05+05:30", datetime(2021, 1, 1, 21, 34, 5, tzinfo=UTC)),
        ("2021-01-02T03:04:05-08:00", datetime(2021, 1, 2, 11, 4, 5, tzinfo=UTC)),
        ("2021-01-02T03:04:05.123456789Z", datetime(2021, 1, 2, 3, 4, 5, 123_456, tzinfo=UTC)),
        ("2021-01-02T03:04:05+18:00", datetime(2021, 1, 1, 9, 4, 5, tzinfo=UTC)),
        ("2021-01-02", datetime(2021, 1, 2, tzinfo=UTC)),
    ],
)
def test_instants_are_read_with_a_blank_or_in_iso_form(text: str, moment: datetime) -> None:
    found = parse_partition_value(text, _kind("timestamp"), "p")
    assert isinstance(found, datetime)
    assert (found, found.tzinfo) == (moment, UTC)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("decimal(5,2)", "999.99", Decimal("999.99")),
        ("decimal(5,2)", "-1E+2", Decimal("-100.00")),
        ("decimal(5,2)", "0", Decimal("0.00")),
        ("byte", "127", 127),
        ("short", "-32768", -32768),
        ("integer", "2147483647", 2147483647),
        ("long", "-9223372036854775808", -(1 << 63)),
        ("float", "-0.5", -0.5),
        ("double", "1e300", 1e300),
        ("decimal(5,2)", "0.05", Decimal("0.05")),
        ("binary", "\u00e9", b"\xe9"),
        ("binary", "\u20ac", b"\xe2\x82\xac"),
        ("boolean", "TRUE", True),
    ],
)
def test_values_at_the_ends_of_their_type_are_read(kind: str, text: str, value: Any) -> None:
    assert parse_partition_value(text, _kind(kind), "p") == value


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("date", "2024-1-5", date(2024, 1, 5)),
        ("date", "2024-1", date(2024, 1, 1)),
        ("date", "2024", date(2024, 1, 1)),
        ("date", " 2024-01-05 ", date(2024, 1, 5)),
        ("date", "2024-01-05T99", date(2024, 1, 5)),
        ("date", "2024-01-05 25:00:00", date(2024, 1, 5)),
        ("date", "+2024-1-5", date(2024, 1, 5)),
        ("timestamp", "2024-1-5 1:2:3", datetime(2024, 1, 5, 1, 2, 3, tzinfo=UTC)),
        ("timestamp", "2024-1-5 1", datetime(2024, 1, 5, 1, tzinfo=UTC)),
        ("timestamp", "2024", datetime(2024, 1, 1, tzinfo=UTC)),
        ("timestamp", "2024-01-05 01:02:03 UTC", datetime(2024, 1, 5, 1, 2, 3, tzinfo=UTC)),
        ("timestamp", "2024-01-05 01:02:03+1", datetime(2024, 1, 5, 0, 2, 3, tzinfo=UTC)),
        ("timestamp", "2024-01-05 01:02:03+0100", datetime(2024, 1, 5, 0, 2, 3, tzinfo=UTC)),
        ("timestamp_ntz", "2024-1-5", datetime(2024, 1, 5, tzinfo=UTC).replace(tzinfo=None)),
        ("integer", " 5 ", 5),
        ("integer", "5.", 5),
        ("double", "1d", 1.0),
        ("double", " 1 ", 1.0),
        ("decimal(5,2)", " .5", Decimal("0.50")),
    ],
)
def test_a_text_is_read_as_spark_casts_it(kind: str, text: str, value: Any) -> None:
    assert parse_partition_value(text, _kind(kind), "p") == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "2024-02-30"),
        ("date", "24-1-5"),
        ("date", "2024-001-05"),
        ("date", "2024-01-05Z"),
        ("date", "20240105"),
        ("date", "2024/1/5"),
        ("timestamp", "2024-01-05 25:00:00"),
        ("timestamp", "2024-01-05 01:02:60"),
        ("integer", "1_000"),
        ("integer", "5e2"),
        ("boolean", "1"),
        ("decimal(5,2)", "1000"),
        ("decimal(5,2)", "0.001"),
        ("decimal(5,2)", "NaN"),
        ("byte", "128"),
        ("byte", "-129"),
        ("long", "9223372036854775808"),
        ("boolean", "on"),
        ("date", "today"),
        ("timestamp", "noon"),
        ("timestamp", "2021-01-02T03:04:05.1234567890Z"),
        ("timestamp", "2021-01-02T03:04:05+18:01"),
        ("timestamp", "2021-01-02T03:04:05+05:60"),
    ],
)
def test_a_text_that_is_no_value_of_the_type_names_the_column(kind: str, text: str) -> None:
    with pytest.raises(CorruptTable, match="p") as caught:
        parse_partition_value(text, _kind(kind), "p")
    facts = caught.value.facts()
    assert (facts["column"], facts["found"], facts["expected"]) == ("p", text, kind)
    assert f"{text!r} of column 'p' is not of type {kind}" in caught.value.message


def test_a_column_of_several_values_cannot_partition_and_is_named() -> None:
    kind = parse_schema(json.dumps(struct(field("p", {"type": "array", "elementType": "long", "containsNull": True}))))
    with pytest.raises(CorruptTable, match=r"'p' of type array<.+> cannot be a partition column") as caught:
        parse_partition_value("1", kind.fields[0].type, "p")
    assert caught.value.column == "p"


def test_no_files_give_an_empty_column_of_the_type() -> None:
    found = partition_column(pa.array([], pa.map_(pa.string(), pa.string())), "p", _kind("date"), "p")
    assert (len(found), found.type) == (0, pa.date32())


def test_numbers_are_written_in_full_and_bytes_that_clients_read_differently_are_not_written() -> None:
    assert format_partition_value(Decimal("1E+3"), "decimal(10,2)") == "1000"
    assert format_partition_value(Decimal("0.0000001"), "decimal(10,7)") == "0.0000001"
    with pytest.raises(RequestError, match="above 127"):
        format_partition_value(b"\xe9", "binary")


@pytest.mark.conformance("PART-003", "PART-006", "PART-007", "PART-009")
@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("string", None, None),
        ("string", "", None),
        ("binary", b"", None),
        ("string", "a b", "a b"),
        ("integer", -7, "-7"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("double", 0.1, "0.1"),
        ("double", float("inf"), "Infinity"),
        ("double", float("-inf"), "-Infinity"),
        ("double", float("nan"), "NaN"),
        ("date", date(2021, 1, 2), "2021-01-02"),
        ("timestamp_ntz", datetime(2021, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None), "2021-01-02 03:04:05"),
        (
            "timestamp_ntz",
            datetime(2021, 1, 2, 3, 4, 5, 6, tzinfo=UTC).replace(tzinfo=None),
            "2021-01-02 03:04:05.000006",
        ),
        ("timestamp", datetime(2021, 1, 2, 3, 4, tzinfo=UTC), "2021-01-02T03:04:00.000000Z"),
        ("timestamp", datetime(2021, 1, 2, 3, 4, 5, 6, ZoneInfo("Asia/Kolkata")), "2021-01-01T21:34:05.000006Z"),
        ("binary", b"ab", "ab"),
    ],
)
def test_a_value_is_written_in_the_form_of_its_type_and_read_again(kind: str, value: Any, text: str | None) -> None:
    written = format_partition_value(value, kind)
    assert written == text
    again = parse_partition_value(written, _kind(kind), "p")
    assert repr(again) == repr(None if text is None else value.astimezone(UTC) if kind == "timestamp" else value)


def test_a_day_without_a_time_is_midnight_and_a_place_takes_the_files_of_its_own_maps_alone() -> None:
    midnight = parse_partition_value("2021-01-02", _kind("timestamp_ntz"), "p")
    assert midnight == datetime(2021, 1, 2, tzinfo=UTC).replace(tzinfo=None)
    maps = pa.array(
        [[("p", "1")], [("p", "2"), ("q", "x")], [("q", "y")], [("p", "4")]], pa.map_(pa.string(), pa.string())
    )
    for start in range(5):
        for stop in range(start, 5):
            found = partition_column(maps.slice(start, stop - start), "p", _kind("integer"), "p")
            assert found.to_pylist() == [1, 2, None, 4][start:stop]


def test_an_instant_with_a_zone_is_the_same_in_whatever_zone_others_are_read() -> None:
    found = parse_partition_value("2021-01-02T03:04:05+05:30", _kind("timestamp"), "p", ZoneInfo("America/New_York"))
    assert found == datetime(2021, 1, 1, 21, 34, 5, tzinfo=UTC)


def test_an_instant_is_written_in_utc_whatever_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        moment = datetime(2021, 1, 2, 3, 4, tzinfo=UTC)
        assert format_partition_value(moment, "timestamp") == "2021-01-02T03:04:00.000000Z"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_no_files_have_no_value_whose_zone_is_in_doubt() -> None:
    assert zone_warning(pa.array([], pa.map_(pa.string(), pa.string())), "p", "p", UTC) is None


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1e-300, "double", "1.0E-300"),
        (-2.5e20, "double", "-2.5E20"),
        (1e7, "double", "1.0E7"),
        (9_999_999.0, "double", "9999999.0"),
        (0.001, "double", "0.001"),
        (9.99e-4, "double", "9.99E-4"),
        (123_456.789, "double", "123456.789"),
        (5e-324, "double", "4.9E-324"),
        (100.0, "double", "100.0"),
        (-0.0, "float", "-0.0"),
        (float(np.float32(0.1)), "float", "0.1"),
        (float(np.float32(3.4028235e38)), "float", "3.4028235E38"),
        (1e10, "float", "1.0E10"),
        (datetime(2020, 1, 1, 8, 9, 10, 1000), "timestamp_ntz", "2020-01-01 08:09:10.001"),  # noqa: DTZ001
    ],
)
def test_values_are_written_as_the_reference_writes_them(value: Any, kind: str, text: str) -> None:
    assert format_partition_value(value, kind) == text
    assert parse_partition_value(text, PrimitiveType(kind), "p") == (
        pytest.approx(value, rel=1e-7) if kind == "float" else value
    )


@pytest.mark.parametrize("kind", ["float", "double"])
def test_a_negative_zero_keeps_its_sign_as_in_the_reference(kind: str) -> None:
    maps = pa.array([{"p": "-0.0"}, {"p": "0.0"}, {"p": None}], pa.map_(pa.string(), pa.string()))
    values = partition_column(maps, "p", PrimitiveType(kind), "p").to_pylist()
    assert list(map(str, values)) == ["-0.0", "0.0", "None"]
