"""The values of a column in rows: counts that add up, and ranges that hold what they count."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.protocol.schema.data_types import parse_type
from explorer.first_rows.column_values import MOST_VALUES, ColumnValues, column_values
from tests.support.at_least_one import at_least_one

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "long": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "byte": (pa.int8(), st.integers(-128, 127)),
    "double": (pa.float64(), st.floats()),
    "float": (pa.float32(), st.floats(width=32)),
    "decimal(38,9)": (pa.decimal128(38, 9), st.decimals(-(10**28), 10**28, places=9)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "timestamp_ntz": (pa.timestamp("us"), st.datetimes()),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=3)),
    "boolean": (pa.bool_(), st.booleans()),
    "binary": (pa.binary(), st.binary(max_size=2)),
}


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def of(values: list[Any], kind: str, arrow: pa.DataType | None = None) -> ColumnValues:
    """The values of a column of a simple type."""
    return column_values(pa.chunked_array([pa.array(values, arrow or KINDS[kind][0])]), parse_type(kind))


@pytest.mark.parametrize("kind", list(KINDS))
@given(data=st.data())
def test_every_row_is_in_one_bar_or_among_the_others(kind: str, data: st.DataObject) -> None:
    arrow, values = KINDS[kind]
    column = pa.chunked_array([pa.array(data.draw(st.lists(st.none() | values, max_size=40)), arrow)])
    made = column_values(column, parse_type(kind))
    assert made.rows == len(column)
    assert made.nulls == column.null_count
    assert sum(bar.count for bar in made.bars) + made.others + made.nulls == made.rows
    present = [value for value in column.to_pylist() if value is not None]
    numbers = [value for value in present if not _is_nan(value)]
    zeros = {0.0 if value == 0 and kind in ("float", "double") else value for value in numbers}
    assert made.distinct == len(zeros) + (len(numbers) < len(present))
    for bar in made.bars:
        if bar.high is not None:
            assert bar.count == sum(1 for value in numbers if bar.low <= value < bar.high)
        elif not _is_nan(bar.low):
            assert bar.count == sum(1 for value in present if value == bar.low)
    assert len(made.bars) <= 2 * MOST_VALUES


def test_many_numbers_are_counted_in_round_ranges() -> None:
    made = of(list(range(3, 400)), "long")
    assert [(bar.low, bar.high, bar.count) for bar in made.bars][:2] == [(0, 50, 47), (50, 100, 50)]
    assert made.bars[-1].high == 400
    assert not made.others


@pytest.mark.parametrize("far", [-1.6000000000000002e308, 1.6000000000000002e308])
def test_no_range_ends_beyond_the_numbers_where_infinite_values_would_be_in_it(far: float) -> None:
    made = of([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, 0.25, far, math.copysign(math.inf, far)], "double")
    assert [bar for bar in made.bars if bar.high is not None and not math.isfinite(bar.low + bar.high)] == []
    assert made.rows == 11


def test_few_numbers_and_dates_are_listed_in_their_order() -> None:
    assert [(bar.low, bar.count) for bar in of([3, 1, 3, 2, None], "long").bars] == [(1, 1), (2, 1), (3, 2)]
    days = [date(2026, 5, day) for day in (2, 1, 2)]
    assert [bar.low.day for bar in of(days, "date").bars] == [1, 2]


def test_texts_are_listed_by_how_often_they_occur_and_equal_ones_by_their_bytes() -> None:
    made = of(["b", "é", "a", "b", "z", None], "string")
    assert [(bar.low, bar.count) for bar in made.bars] == [("b", 2), ("a", 1), ("z", 1), ("é", 1)]
    many = of([str(number) for number in range(30)], "string")
    assert (len(many.bars), many.others, many.distinct) == (MOST_VALUES, 20, 30)


def test_what_is_no_number_is_counted_among_the_others_of_ranges() -> None:
    numbers = [number / 10 for number in range(40)]
    made = of([*numbers, math.nan, math.nan, math.inf, -math.inf, -0.0], "double")
    assert made.others == 4
    assert made.distinct == 43
    assert made.bars[0].low == 0.0


@pytest.mark.parametrize(
    "values",
    [
        [date(2026, 1, 1) + timedelta(days=7 * week) for week in range(60)],
        [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hour) for hour in range(60)],
        [datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None) + timedelta(microseconds=step) for step in range(60)],
        [Decimal(number).scaleb(-38) for number in range(60)],
        [5e-324 * number for number in range(60)],
        [1e300 * (1 + number / 100) for number in range(60)],
        [-(2**63) + number * 10**17 for number in range(60)],
    ],
)
def test_ranges_are_few_and_follow_one_another(values: list[Any]) -> None:
    kinds = {date: "date", Decimal: "decimal(38,38)", float: "double", int: "long"}
    kind = kinds.get(type(values[0]), "timestamp" if getattr(values[0], "tzinfo", None) else "timestamp_ntz")
    made = of(values, kind, pa.decimal128(38, 38) if "decimal" in kind else None)
    assert 3 <= len(made.bars) <= 12
    for before, after in at_least_one(zip(made.bars, made.bars[1:], strict=False)):
        assert before.high == after.low
    assert made.bars[0].low <= min(values) < made.bars[0].high
    assert made.bars[-1].low <= max(values) < made.bars[-1].high


def test_a_type_that_cannot_be_compared_is_counted_and_no_more() -> None:
    lists = pa.chunked_array([pa.array([[1], None, [2]])])
    array = parse_type({"type": "array", "elementType": "long", "containsNull": True})
    assert column_values(lists, array) == ColumnValues(3, 1)
    assert column_values(pa.chunked_array([pa.nulls(2)]), parse_type("void")) == ColumnValues(2, 2)


def test_years_that_python_lacks_are_counted_without_bars() -> None:
    far = pa.chunked_array([pa.array([5_000_000, 5_000_000, 1], pa.int32()).cast(pa.date32())])
    made = column_values(far, parse_type("date"))
    assert (made.distinct, made.bars, made.others) == (2, (), 3)
    assert pc.count_distinct(far).as_py() == 2
