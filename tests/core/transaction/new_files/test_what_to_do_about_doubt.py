"""A guard that is unknown because a kept expression is in doubt says both ways on: write it anew, or accept it."""

from __future__ import annotations

import pytest

from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.transaction.new_files.row_constraints import check_expression, generated_expression

SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    '{"name":"x","type":"string","nullable":true,"metadata":{}},'
    '{"name":"g","type":"string","nullable":true,"metadata":{"delta.generationExpression":"concat(x, \\"x\\")"}}]}'
)


@pytest.mark.parametrize("text", ['x <> "b"', "\"x\" <> 'b'", "1 = 1"])
def test_a_constraint_in_doubt_can_be_accepted_by_name(text: str) -> None:
    kept = check_expression("c", text, SCHEMA)
    assert kept.doubt
    assert kept.remedy.startswith("Drop the constraint (drop-constraint), and add it again")
    assert kept.remedy.endswith("accept this guard by name.")
    assert "accept" not in kept.advice, "an audit and an expression that fails have no guard to accept"


def test_a_generated_column_in_doubt_can_be_accepted_by_name() -> None:
    kept = generated_expression(SCHEMA.fields[1], SCHEMA)
    assert kept.doubt
    assert kept.remedy.endswith("accept this guard by name.")
