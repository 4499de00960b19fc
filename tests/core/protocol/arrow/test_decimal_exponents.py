"""Decimals of any exponent in a column: zeros, values that fit, and what is said of those that do not."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from explorer.core.protocol.arrow.typed_arrays import typed_column
from explorer.core.protocol.schema.data_types import PrimitiveType

DECIMAL = PrimitiveType("decimal", 5, 2)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("zero", ["0", "-0", "0.00", "0E-2", "0E+4", "0E+999999999", "-0E+999999999", "0E-999999999"])
def test_a_zero_is_a_zero_whatever_its_exponent(zero: str) -> None:
    found = typed_column([Decimal(zero), None, Decimal("-1.5")], DECIMAL)
    assert found.equals(pa.array([Decimal("0.00"), None, Decimal("-1.50")], pa.decimal128(5, 2)))


@pytest.mark.parametrize(
    ("value", "stored"),
    [("1", "1.00"), ("-1.2E+2", "-120.00"), ("9.99E+2", "999.00"), ("12.3400", "12.34"), ("500E-2", "5.00")],
)
def test_a_value_is_stored_with_as_many_digits_after_the_point_as_its_type_has(value: str, stored: str) -> None:
    [found] = typed_column([Decimal(value)], DECIMAL).to_pylist()
    assert str(found) == stored


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("1E+3", "1E+3 does not fit 5 digits, 2 after the point"),
        ("1E+4", "1E+4 does not fit 5 digits"),
        ("0.01234", "0.01234 does not fit 5 digits, 2 after the point"),
        ("0.001234", "0.001234 does not fit 5 digits"),
    ],
)
def test_places_are_told_of_what_is_near_to_fit_alone(value: str, said: str) -> None:
    with pytest.raises(ValueError, match="fit") as refused:
        typed_column([Decimal(value)], DECIMAL)
    assert str(refused.value) == said
