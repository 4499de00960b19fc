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


@pytest.mark.parametrize(
    ("before", "after", "legal"),
    [
        ("byte", "decimal(3,0)", True),
        *(("byte", after, False) for after in ("decimal(2,0)", "decimal(4,2)")),
        *(("short", after, True) for after in ("decimal(5,0)", "decimal(7,2)")),
        *(("short", after, False) for after in ("decimal(4,0)", "decimal(6,2)")),
        ("integer", "decimal(10,0)", True),
        ("integer", "decimal(9,0)", False),
        *(("long", after, True) for after in ("decimal(20,0)", "decimal(22,2)")),
        *(("long", after, False) for after in ("decimal(19,0)", "decimal(21,2)")),
        ("float", "decimal(38,0)", False),
        *(("decimal(6,2)", after, True) for after in ("decimal(6,2)", "decimal(7,2)", "decimal(7,3)")),
        *(("decimal(6,2)", after, False) for after in ("decimal(6,3)", "decimal(7,1)", "decimal(5,1)", "long")),
        ("decimal(3,0)", "double", False),
    ],
)
def test_a_decimal_takes_all_the_values_of_what_widens_to_it(before: str, after: str, legal: bool) -> None:
    assert widens(parse_type(before), parse_type(after)) is legal


def test_what_is_not_primitive_does_not_widen() -> None:
    number: DataType = PrimitiveType("integer")
    assert not widens(ArrayType(number), number)
    assert not widens(number, ArrayType(number))
    assert not widens(ArrayType(number), ArrayType(number))
