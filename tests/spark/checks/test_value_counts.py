"""The values of columns by Spark: counts beside those of the data, and conditions that choose what they count."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

import explorer
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_column, parse_type
from explorer.core.protocol.sql.constants import equality_text, range_text
from explorer.core.protocol.sql.vetting import check_text
from explorer.first_rows.column_values import column_values
from explorer.page.tabs.column_card import CardWork
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, struct, write_table
from tests.support.pages.open_windows import Window

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=0)]

HOSTILE = [
    "a'b", "a\\b", "\\", "'", "\n", "\t\r", "\0", "${x}", "a${spark.app.name}", "${a}${b}", "$${", "$", "{$", "a${",
    "\u202e", "\U000e0001", "\U0001f600", "%", "_", "\\%", "\\n", "--", "/*", "*/", "; drop", "", "  ", "`", '"', "\\'",
    "r'", "\\u0041", "\u2028", "é", "a" * 500, "\ufffd", "\x7f", "\U00100000", ":p", "?",
]  # fmt: skip
VALUES: dict[str, tuple[str, pa.DataType, list[Any]]] = {
    "s x": ("string", pa.string(), HOSTILE),
    "b`q": ("binary", pa.binary(), [b"", b"\x00\xff", b"'"]),
    "bo": ("boolean", pa.bool_(), [True, False]),
    "dt": ("date", pa.date32(), [date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 4), date(1900, 1, 1)]),
    "ts": (
        "timestamp",
        pa.timestamp("us", "UTC"),
        [
            datetime(1, 1, 2, tzinfo=UTC),
            datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC),
            datetime(2026, 3, 29, 1, 30, 0, 5, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        ],
    ),
    "tn": ("timestamp_ntz", pa.timestamp("us"), list(map(datetime.fromisoformat, ("0001-01-01", "2026-03-29T02:30")))),
    "by": ("byte", pa.int8(), [-128, 127, 0]),
    "sh": ("short", pa.int16(), [-32768, 32767]),
    "i": ("integer", pa.int32(), [-(2**31), 2**31 - 1]),
    "l": ("long", pa.int64(), [-(2**63), 2**63 - 1, 0]),
    "f": ("float", pa.float32(), [0.1, math.nan, math.inf, -math.inf, 3.4028235e38, 1e-45, -0.0, 16777216.0]),
    "do": ("double", pa.float64(), [0.1, math.nan, math.inf, -math.inf, 1.7976931348623157e308, 5e-324, 0.0, 1e22]),
    "d1": ("decimal(10,2)", pa.decimal128(10, 2), [Decimal("0.10"), Decimal("-99999999.99")]),
    "d2": ("decimal(38,0)", pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38)]),
    "d3": ("decimal(38,38)", pa.decimal128(38, 38), [Decimal("0." + "9" * 38), Decimal("1e-38")]),
}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one is other if one is None or other is None else bool(one == other)


@pytest.mark.always
def test_every_constant_chooses_the_rows_that_have_its_value(tmp_path: Path) -> None:
    rows = max(len(values) for _, _, values in VALUES.values())
    columns = {
        name: pa.array(values + [None] * (rows - len(values)), kind) for name, (_, kind, values) in VALUES.items()
    }
    fields = [column(name, kind) for name, (kind, _, _) in VALUES.items()]
    table = explorer.open_table(write_table(tmp_path / "t", fields, [DataFile("a.parquet", pa.table(columns))]))
    wanted: dict[str, int] = {}
    for name, (kind, _, _) in at_least_one(VALUES.items()):
        present = columns[name].to_pylist()
        for value in {repr(each): each for each in present}.values():
            condition = equality_text((name,), value, parse_type(kind))
            assert condition is not None
            check_text(condition)
            wanted[condition] = sum(_same(each, value) for each in present)
    parts = [sf.count_if(sf.expr(condition)).alias(str(place)) for place, condition in enumerate(wanted)]
    counted = list(table.rows().agg(*parts).collect()[0])
    assert dict(zip(wanted, counted, strict=True)) == wanted
    # A field of one line gives the condition back as it is, and Spark reads it in a query of rows.
    hostile = equality_text(("s x",), "a${spark.app.name}", PrimitiveType("string"))
    assert table.rows(where=hostile).count() == 1


def test_values_of_all_live_rows_equal_those_of_the_data(tmp_path: Path) -> None:
    numbers = [number * 7 % 1000 for number in range(400)]
    rows = pa.table(
        {
            "n": pa.array([None if number % 50 == 0 else number for number in numbers], pa.int64()),
            "amount": pa.array([Decimal(number).scaleb(-1) for number in numbers], pa.decimal128(10, 1)),
            "x": pa.array(
                [math.nan if number == 7 else math.inf if number == 14 else number / 8 for number in numbers]
            ),
            "day": pa.array([date.fromordinal(739_000 + number) for number in numbers]),
            "word": pa.array([f"w{number % 13}" for number in numbers]),
            "flag": pa.array([number % 3 == 0 for number in numbers]),
            "s": pa.array([{"leaf": number % 4} for number in numbers], pa.struct([("leaf", pa.int32())])),
            "l": pa.array([[number] for number in numbers], pa.list_(pa.int64())),
        }
    )
    listed = {"type": "array", "elementType": "long", "containsNull": True}
    fields = [
        column("n", "long"), column("amount", "decimal(10,1)"), column("x", "double"), column("day", "date"),
        column("word", "string"), column("flag", "boolean"), column("s", struct(column("leaf", "integer"))),
        column("l", listed),
    ]  # fmt: skip
    files = [DataFile("a.parquet", rows.slice(0, 250), masked=range(10)), DataFile("b.parquet", rows.slice(250))]
    table = explorer.open_table(write_table(tmp_path / "t", fields, files))
    live = pa.concat_tables([rows.slice(10, 240), rows.slice(250)])
    for profile in at_least_one(table.profile(values=True).columns):
        path = parse_column(profile.column)
        data = live.column(path[0])
        for name in path[1:]:
            data = pa.chunked_array([chunk.field(name) for chunk in data.chunks])
        expected = column_values(
            data, parse_type(profile.type) if not profile.type.startswith("array") else parse_type(listed)
        )
        made = profile.values
        assert made is not None
        assert (made.rows, made.nulls) == (expected.rows, expected.nulls), profile.column
        assert list(map(str, made.bars)) == list(map(str, expected.bars)), profile.column
        assert made.others == expected.others, profile.column
        if made.exact:
            assert made.distinct == expected.distinct
        for bar in made.bars[:1] if profile.column in {"n", "s.leaf"} else ():
            kind = parse_type(profile.type)
            assert isinstance(kind, PrimitiveType)
            one = bar.high is None
            condition = equality_text(path, bar.low, kind) if one else range_text(path, bar.low, bar.high, kind)
            assert table.rows(where=condition).count() == bar.count


def test_a_profile_without_values_counts_none(tmp_path: Path) -> None:
    files = [DataFile("a.parquet", pa.table({"n": [1, 2]}))]
    table = explorer.open_table(write_table(tmp_path / "t", [column("n", "long")], files))
    assert table.profile().columns[0].values is None


@pytest.mark.always
def test_a_profile_is_begun_and_stopped_from_the_page(tmp_path: Path) -> None:
    files = [DataFile("a.parquet", pa.table({"n": [1, 2]}))]
    write_table(tmp_path / "w" / "t", [column("n", "long")], files)
    window = Window(Catalog([str(tmp_path / "w")]), "?t=w/t&tab=columns&card=n")
    assert window.session.work.of(CardWork).profiles.state(window.session.view, "n").state == "idle"
    window.ask("profile", column="n")
    window.until(lambda message: "profile-cancel" in message.get("regions", {}).get("side", ""))
    window.ask("profile-cancel")
    found = window.until(lambda message: "was cancelled" in message.get("regions", {}).get("side", ""))
    assert "Profile all rows" in found["regions"]["side"]
    window.ask("profile", column="n")
    found = window.until(lambda message: "in all 2 rows, by Spark" in message.get("regions", {}).get("side", ""), 120)
    assert "2 different values" in found["regions"]["side"]
