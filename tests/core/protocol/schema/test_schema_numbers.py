"""Numbers of a column's metadata: whatever is written of a schema, they are what they were."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from explorer.core.protocol.schema.data_types import parse_schema

SCHEMA = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{"n":%s,"deep":{"m":[%s]}}}]}'


@pytest.mark.parametrize(
    "number",
    ["1", "1.0", "-0.0", "0.1", "1e-7", "9007199254740993", "12345678901234567890123", "0.1234567890123456789", "1e400",
     "-2.5E+22", "1e22", "123456789012345678.5"],
)  # fmt: skip
def test_a_number_is_written_back_as_the_same_number(number: str) -> None:
    written = parse_schema(SCHEMA % (number, number)).to_json()
    metadata = json.loads(written, parse_float=Decimal, parse_int=Decimal)["fields"][0]["metadata"]
    assert metadata == {"n": Decimal(number), "deep": {"m": [Decimal(number)]}}
    assert parse_schema(written).to_json() == written


@pytest.mark.parametrize("number", ["1", "1.0", "0.1"])
def test_a_number_that_a_double_holds_is_one(number: str) -> None:
    [field] = parse_schema(SCHEMA % (number, number)).fields
    assert type(field.metadata["n"]) is type(json.loads(number))
