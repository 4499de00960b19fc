"""A file's column of any type under a table's column of any type: read here only where Spark reads the same values."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError
from explorer.first_rows.first_rows import SparkOnly, first_rows
from explorer.spark.rows.pages import row_page
from tests.support.logs.spark_tables import DataFile, column, struct, write_table

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

LONG = 120
MOMENT = dt.datetime(1969, 12, 31, 23, 59, 59, 123456)  # noqa: DTZ001 - the types of columns have the zones
INT96: Final = {"use_deprecated_int96_timestamps": True}
STORED: Final[dict[str, tuple[pa.Array, dict[str, Any]]]] = {
    "int8": (pa.array([-128, None, 127], pa.int8()), {}),
    "int16": (pa.array([-300, None, 300], pa.int16()), {}),
    "int32": (pa.array([-70_000, None, 70_000], pa.int32()), {}),
    "small int32": (pa.array([-1, None, 100], pa.int32()), {}),
    "int64": (pa.array([-(1 << 40), None, 1 << 60], pa.int64()), {}),
    "uint8": (pa.array([0, None, 255], pa.uint8()), {}),
    "uint32": (pa.array([0, None, (1 << 32) - 1], pa.uint32()), {}),
    "uint64": (pa.array([0, None, (1 << 64) - 1], pa.uint64()), {}),
    "float16": (pa.array([1.5, None, -0.0], pa.float16()), {}),
    "float": (pa.array([1.1, None, -0.0, float("nan")], pa.float32()), {}),
    "double": (pa.array([1.1, None, -0.0, float("nan"), float("inf")], pa.float64()), {}),
    "bool": (pa.array([True, None, False]), {}),
    "string": (pa.array(["", None, "a\u00e9\U0001f600"]), {}),
    "dictionary": (pa.array(["x", None, "x", "y"]).dictionary_encode(), {}),
    "large_string": (pa.array(["x", None], pa.large_string()), {}),
    "string_view": (pa.array(["x", None, "more than twelve bytes"], pa.string_view()), {}),
    "binary_view": (pa.array([b"x", None, b"more than twelve bytes"], pa.binary_view()), {}),
    "list of views": (pa.array([["x", None], None, []], pa.list_(pa.string_view())), {}),
    "binary": (pa.array([b"abc", None, b""]), {}),
    "bytes that are no text": (pa.array([b"\xff\xfe", None]), {}),
    "fixed binary": (pa.array([b"abc", None], pa.binary(3)), {}),
    "date": (pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]), {}),
    "ms UTC": (pa.array([MOMENT, None], pa.timestamp("ms", "UTC"), safe=False), {}),
    "us UTC": (pa.array([MOMENT, None], pa.timestamp("us", "UTC")), {}),
    "us Berlin": (pa.array([MOMENT, None], pa.timestamp("us", "Europe/Berlin")), {}),
    "us": (pa.array([MOMENT, None], pa.timestamp("us")), {}),
    "ns UTC": (pa.array([1, None], pa.timestamp("ns", "UTC")), {"version": "2.6"}),
    "int96": (pa.array([MOMENT, None], pa.timestamp("ns")), INT96),
    "time": (pa.array([dt.time(1, 2, 3), None], pa.time64("us")), {}),
    "decimal(5,2)": (pa.array([Decimal("123.45"), None], pa.decimal128(5, 2)), {}),
    "decimal(5,2) in int32": (
        pa.array([Decimal("-123.45"), None], pa.decimal128(5, 2)), {"store_decimal_as_integer": True},
    ),
    "decimal(38,0)": (pa.array([Decimal(10) ** 37, None], pa.decimal128(38, 0)), {}),
    "list": (pa.array([[1, None], None, []], pa.list_(pa.int32())), {}),
    "fixed list": (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), {}),
    "map": (pa.array([[("a", 1), ("b", None)], None, []], pa.map_(pa.string(), pa.int32())), {}),
    "struct": (pa.array([{"a": 1, "B": "x"}, None, {"a": None, "B": None}]), {}),
    "struct without its fields": (pa.array([{"other": 1}, None]), {}),
    "null": (pa.nulls(2), {}),
}  # fmt: skip
KINDS: Final[dict[str, Any]] = {
    **{name: name for name in (
        "byte", "short", "integer", "long", "float", "double", "boolean", "string", "binary", "date", "timestamp",
        "timestamp_ntz", "decimal(5,2)", "decimal(10,2)", "decimal(12,2)", "decimal(38,0)", "decimal(38,18)", "void",
    )},
    "array of integer": {"type": "array", "elementType": "integer", "containsNull": True},
    "array of long": {"type": "array", "elementType": "long", "containsNull": True},
    "array of string": {"type": "array", "elementType": "string", "containsNull": True},
    "map": {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
    "struct": struct(column("a", "long"), column("b", "string"), column("missing", "date")),
}  # fmt: skip
OFTEN: Final = {
    ("int8", "long"), ("int32", "decimal(12,2)"), ("us", "timestamp"), ("us UTC", "timestamp_ntz"),
    ("int96", "timestamp"), ("int8", "decimal(5,2)"),
    ("bytes that are no text", "string"), ("struct", "struct"), ("struct without its fields", "struct"),
    ("uint32", "long"), ("ns UTC", "timestamp"), ("dictionary", "string"), ("small int32", "byte"),
    ("list of views", "array of string"), ("int32", "byte"),
}  # fmt: skip
ALL: Final = [(stored, kind) for stored in STORED for kind in KINDS]


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        pytest.param(*case, marks=() if case in OFTEN else pytest.mark.whole("the pairs of OFTEN"))
        for case in ALL
    ],
)  # fmt: skip
def test_a_column_is_read_here_only_with_the_values_of_spark(stored: str, kind: str, tmp_path: Path) -> None:
    values, options = STORED[stored]
    rows = pa.table({"id": list(range(len(values))), "c": values})
    write_table(
        tmp_path / "t", [column("id", "long"), column("c", KINDS[kind])], [DataFile("a.parquet", rows, options=options)]
    )
    table = explorer.open_table(tmp_path / "t")
    here = first_rows(table, table.snapshot(), None, 10)
    if isinstance(here, SparkOnly):
        assert "a.parquet" in here.reason or "the column c" in here.reason
        return
    try:
        there = row_page(table, table.snapshot(), None, 10).result(LONG)
    except ExplorerError as error:
        pytest.fail(f"Spark does not read {stored} as {kind}: {error.message}")
    assert here.table.schema.types == there.table.schema.types
    assert repr(here.table.to_pylist()) == repr(there.table.to_pylist())
    assert here.note == there.note


def test_what_writers_use_is_read_here(tmp_path: Path) -> None:
    plain = {
        "int8": "byte", "int16": "short", "int32": "integer", "int64": "long", "float": "float", "double": "double",
        "bool": "boolean", "string": "string", "dictionary": "string", "large_string": "string", "binary": "binary",
        "string_view": "string", "binary_view": "binary", "list of views": "array of string",
        "date": "date", "us UTC": "timestamp", "us": "timestamp_ntz", "int96": "timestamp",
        "decimal(5,2)": "decimal(5,2)", "decimal(38,0)": "decimal(38,0)", "list": "array of integer", "map": "map",
        "struct": "struct", "small int32": "long",
    }  # fmt: skip
    for place, (stored, kind) in enumerate(plain.items()):
        values, options = STORED[stored]
        root = tmp_path / str(place)
        write_table(root, [column("c", KINDS[kind])], [DataFile("a.parquet", pa.table({"c": values}), options=options)])
        table = explorer.open_table(root)
        assert table.head().num_rows == len(values), (stored, kind)
