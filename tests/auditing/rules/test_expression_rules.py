"""Rules of a table that engines read differently, and keys of properties in another case, each with a next step."""

from __future__ import annotations

import json

import msgspec
import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.transaction.intents.records import DropConstraint
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import add, metadata, table
from tests.support.logs.small_proposals import protocol
from tests.support.logs.small_schemas import field, struct

RULES = protocol(1, 7, w="checkConstraints invariants generatedColumns allowColumnDefaults")


def _findings(table: explorer.Table, rule: str) -> list[Finding]:
    return [finding for finding in table.audit(NOW).findings if finding.rule == rule]


def _found(table: explorer.Table, rule: str) -> Finding:
    """The one finding of a rule."""
    (finding,) = _findings(table, rule)
    return finding


@pytest.mark.parametrize("key", ["delta.constraints.c", "DELTA.CONSTRAINTS.C"])
@pytest.mark.parametrize("text", ['"id" > 0', "1 = 1", "nope > 0", "id > 'x", 'id > 0 AND "x" = "x"'])
def test_a_constraint_in_doubt_is_an_error_with_a_change_that_ends_it(key: str, text: str) -> None:
    found = table({0: [RULES, metadata({"id": "long"}, configuration={key: text}), add("a.parquet")]})
    finding = _found(found, "rules-in-doubt")
    assert finding.severity == "error"
    assert finding.remedy is not None
    assert isinstance(finding.remedy.intent, DropConstraint)
    assert found.commit(found.plan(finding.remedy.intent)).outcome == "committed"
    assert _findings(found, "rules-in-doubt") == []


@pytest.mark.parametrize(
    "carried",
    [
        {"delta.invariants": json.dumps({"expression": {"expression": '"id" > 0'}})},
        {"delta.invariants": '"id" > 0'},
        {"delta.generationExpression": 'upper("id")'},
        {"CURRENT_DEFAULT": '"id"'},
    ],
)
def test_other_expressions_in_double_quotes_are_errors_too(carried: dict[str, str]) -> None:
    schema = json.dumps(struct(field("id", "long"), field("g", "string", metadata=carried)))
    plain = metadata({"id": "long"})
    found = table({0: [RULES, msgspec.structs.replace(plain, schema_string=schema), add("a.parquet")]})
    finding = _found(found, "rules-in-doubt")
    assert " g" in finding.title
    assert finding.remedy is not None
    assert finding.remedy.command


def test_rules_that_all_read_alike_are_not_found() -> None:
    said = metadata({"id": "long"}, configuration={"delta.constraints.c": "`id` > 0", "DELTA.CONSTRAINTS.D": "id < 9"})
    assert _findings(table({0: [RULES, said, add("a.parquet")]}), "rules-in-doubt") == []


@pytest.mark.parametrize("key", ["DELTA.APPENDONLY", "delta.enablechangedatafeed", "delta.columnMapping.Mode"])
def test_a_property_in_another_case_is_a_finding_that_its_change_ends(key: str) -> None:
    found = table({0: [RULES, metadata({"id": "long"}, configuration={key: "true"}), add("a.parquet")]})
    finding = _found(found, "property-case")
    assert key in finding.title
    assert finding.remedy is not None
    assert finding.remedy.intent is not None
    assert found.commit(found.plan(finding.remedy.intent)).outcome == "committed"
    assert _findings(found, "property-case") == []


def test_a_value_in_another_case_of_its_key_keeps_no_client_out() -> None:
    # delta-spark 4.4.0 writes to a table with this key, and refuses one with the key in its own case.
    said = metadata({"id": "long"}, configuration={"DELTA.DELETEDFILERETENTIONDURATION": "interval 1 month"})
    found = table({0: [RULES, said, add("a.parquet")]})
    assert _findings(found, "property-values") == []
    assert found.requirements().demands == frozenset()
