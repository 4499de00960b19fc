"""What every new row must satisfy: which rules bind under which protocol, and those that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import Protocol
from explorer.core.transaction.new_files.row_constraints import row_rules
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.small_schemas import field, struct

INVARIANT = '{"expression": {"expression": "x > 3"}}'


def _rules(
    rules: Protocol, metadata: dict[str, Any], properties: dict[str, str] | None = None
) -> list[tuple[str, str]]:
    schema = json.dumps(struct(field("x", "long", metadata=metadata)))
    found = row_rules(snapshot(rules=rules, schema=schema, properties=properties or {}))
    return [(rule.kind, rule.expression) for rule in found]


@pytest.mark.conformance("CONSTR-005")
@pytest.mark.parametrize(
    ("rules", "bound"),
    [
        (protocol(1, 1), False),
        *((protocol(1, writer), True) for writer in (2, 3, 4)),
        *((protocol(2, writer), True) for writer in (5, 6)),
        (protocol(1, 7, w="invariants"), True),
        (protocol(1, 7, w="appendOnly"), False),
        (protocol(3, 7, r="", w=""), False),
    ],
)
def test_invariants_bind_up_to_writer_version_6_and_at_7_if_listed(rules: Protocol, bound: bool) -> None:
    assert _rules(rules, {"delta.invariants": INVARIANT}) == ([("invariant", "x > 3")] if bound else [])


@pytest.mark.conformance("CONSTR-004", "CONSTR-013")
@pytest.mark.parametrize("text", ["{}", "7", "[]", '{"expression": "x > 3"}', '{"expression": {"expression": 3}}'])
def test_an_invariant_of_a_form_that_is_not_known_stops_the_write(text: str) -> None:
    with pytest.raises(CorruptTable, match="invariant of column x cannot be read") as caught:
        _rules(protocol(1, 2), {"delta.invariants": text})
    assert (caught.value.column, caught.value.found) == ("x", text)


@pytest.mark.conformance("CONSTR-004")
def test_an_invariant_that_is_bare_sql_is_taken_as_it_is() -> None:
    assert _rules(protocol(1, 2), {"delta.invariants": "x > 3"}) == [("invariant", "x > 3")]


@pytest.mark.conformance("SCHEMA-006", "CONSTR-014")
@pytest.mark.parametrize("rules", [protocol(1, 1), protocol(1, 2), protocol(3, 7, r="", w="")])
def test_what_must_not_be_null_binds_new_rows_at_every_depth_and_under_every_protocol(rules: Protocol) -> None:
    inner = struct(field("y", nullable=False), field("z"))
    items = {"type": "array", "elementType": inner, "containsNull": False}
    pairs = {"type": "map", "keyType": "long", "valueType": "long", "valueContainsNull": False}
    fields = [field("a b", nullable=False), field("s", inner), field("l", items), field("m", pairs), field("free")]
    found = row_rules(snapshot(rules=rules, schema=json.dumps(struct(*fields))))
    assert [(rule.kind, rule.name) for rule in found] == [
        ("not-null", "`a b`"),
        ("not-null", "s.y"),
        ("not-null", "l"),
        ("not-null", "m"),
    ]
    texts = [rule.expression for rule in found]
    assert texts[:2] == ["`a b` IS NOT NULL", "`s`.`y` IS NOT NULL"]
    assert "item0 IS NOT NULL" in texts[2]
    assert "`y` IS NOT NULL" in texts[2]
    assert "map_values(`m`)" in texts[3]


@pytest.mark.parametrize(
    ("rules", "bound"), [(protocol(1, 2), False), (protocol(1, 3), True), (protocol(1, 7, w="checkConstraints"), True)]
)
def test_checks_bind_from_writer_version_3_and_at_7_if_listed(rules: Protocol, bound: bool) -> None:
    found = _rules(rules, {}, {"delta.constraints.positive": "x > 0"})
    assert found == ([("check", "x > 0")] if bound else [])
