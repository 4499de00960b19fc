"""Every pair of primitive types: those that the protocol lets a column widen to, and no other."""

from __future__ import annotations

from itertools import product

import pytest

from explorer.core.protocol.schema.data_types import ArrayType, DataType, PrimitiveType, parse_type
from explorer.core.protocol.schema.type_widening import widens

# Section Type Widening, "Supported Type Changes".
WIDER = {
    "byte": "short integer long double",
    "short": "integer long double",
    "integer": "long double",
    "float": "double",
    "date": "timestamp_ntz",
}
NAMES = (
    *("byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz"),
    *("string", "binary", "boolean"),
)


@pytest.mark.conformance("TYPEWIDEN-003")
@pytest.mark.parametrize(("before", "after"), list(product(NAMES, NAMES)))
def test_a_type_widens_to_those_that_the_protocol_lists_and_to_itself(before: str, after: str) -> None:
    listed = before == after or after in WIDER.get(before, "").split()
    assert widens(parse_type(before), parse_type(after)) is listed


def test_what_is_not_primitive_does_not_widen() -> None:
    number: DataType = PrimitiveType("integer")
    assert not widens(ArrayType(number), number)
    assert not widens(number, ArrayType(number))
    assert not widens(ArrayType(number), ArrayType(number))
