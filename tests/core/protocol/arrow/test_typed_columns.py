"""Columns of Python values beside what `pyarrow.array` makes of them, and values that do not fit their type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.protocol.arrow.typed_arrays import typed_column, without_nan
from explorer.core.protocol.schema.data_types import PrimitiveType, parse_type

DECIMAL = PrimitiveType("decimal", 5, 2)


@pytest.mark.parametrize(
    ("kind", "values", "made"),
    [
        ("byte", [1, None, -128, 127], pa.int8()),
        ("short", [1, None, -(2**15)], pa.int16()),
        ("integer", [1, None, 2**31 - 1], pa.int32()),
        ("long", [1, None, -(2**63)], pa.int64()),
        ("float", [0.5, None, float("inf")], pa.float32()),
        ("double", [0.1, None, -1e300], pa.float64()),
        ("boolean", [True, None, False], pa.bool_()),
        ("string", ["a", None, "\u00e9\U0001f600", ""], pa.string()),
        ("binary", [b"a", None, b"", b"\x00\xff"], pa.binary()),
        ("date", [date(1, 1, 1), None, date(9999, 12, 31), date(1969, 12, 31)], pa.date32()),
        ("timestamp", [datetime(1, 1, 1, tzinfo=UTC), None, datetime(1969, 12, 31, 23, 59, 59, 1, UTC)], None),
        ("timestamp_ntz", [datetime(9999, 12, 31, 23, 59, 59, 999_999), None, datetime(1970, 1, 1)], None),  # noqa: DTZ001
        ("decimal(38,0)", [Decimal(10**38 - 1), None, Decimal(1 - 10**38)], pa.decimal128(38, 0)),
        ("decimal(5,2)", [Decimal("999.99"), None, Decimal("-0.01"), Decimal("1E+2"), Decimal("0E-9")], None),
    ],
)
@pytest.mark.parametrize("nulls", [True, False])
def test_values_of_a_type_are_a_column_of_it(
    kind: str, values: list[Any], made: pa.DataType | None, nulls: bool
) -> None:
    given_ = [value for value in values if nulls or value is not None]
    found = typed_column(given_, parse_type(kind))
    found.validate(full=True)
    assert found.to_pylist() == given_
    assert made is None or found.equals(pa.array(given_, made))
    assert found.null_count == int(nulls)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("byte", 128),
        ("short", -(2**15) - 1),
        ("integer", 2**31),
        ("long", 2**63),
        ("decimal(5,2)", Decimal(1000)),
        ("decimal(5,2)", Decimal(-1000)),
        ("decimal(5,2)", Decimal("0.001")),
        ("decimal(5,2)", Decimal("123.456")),
        ("decimal(5,2)", Decimal("1E+3")),
        ("decimal(5,2)", Decimal("1E+99")),
        ("decimal(5,2)", Decimal("1E-99")),
        ("decimal(5,0)", Decimal("99999.5")),
    ],
)
def test_a_value_that_does_not_fit_its_type_raises(kind: str, value: Any) -> None:
    with pytest.raises((OverflowError, ValueError)):
        typed_column([value], parse_type(kind))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=Decimal(-1100), max_value=Decimal(1100)))
def test_a_decimal_of_two_places_is_kept_or_refused(value: Decimal) -> None:
    if abs(value) < 1000:
        assert typed_column([value], DECIMAL).to_pylist() == [value]
    else:
        with pytest.raises(ValueError, match="does not fit 5 digits"):
            typed_column([value], DECIMAL)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Decimal("1E+9"), "1E+9 does not fit 5 digits"),
        (Decimal("0.001"), "0.001 does not fit 5 digits"),
        (Decimal("1234.5"), "1234.5 does not fit 5 digits, 2 after the point"),
        (Decimal("1.005"), "1.005 does not fit 5 digits, 2 after the point"),
    ],
)
def test_what_does_not_fit_is_said(value: Decimal, said: str) -> None:
    with pytest.raises(ValueError, match="fit") as refused:
        typed_column([value], DECIMAL)
    assert str(refused.value) == said


def test_a_nan_becomes_null_and_nothing_else_does() -> None:
    column = pa.array([1.0, np.nan, None, np.inf, -0.0])
    assert without_nan(column).to_pylist() == [1.0, None, None, np.inf, -0.0]
    whole = pa.array([1.5, 2.0])
    assert without_nan(whole) is whole
