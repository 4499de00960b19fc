"""Keys of constraints and of other properties in another case, as delta-spark 4.4.0 takes them on such tables.

It enforces a constraint whose prefix is in any case, names it by its whole key, refuses to drop its column and the
feature; of every other property it knows the exact key alone.
"""

from __future__ import annotations

import pytest

from explorer.core.compatibility.access import requirements
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_properties.registry import APPEND_ONLY, PROPERTIES, property_of
from explorer.core.protocol.table_properties.values import constraint_name, constraints
from explorer.core.transaction.intents.records import DropFeature
from explorer.core.transaction.new_files.row_constraints import row_rules
from explorer.core.transaction.proposals.features import LogMarks, drop_feature
from explorer.core.versions.blame import blame
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, add, metadata
from tests.support.logs.small_proposals import proposal, protocol, refused, snapshot
from tests.support.logs.small_schemas import field, guard, mapped_table, plain_table, struct

KEYS = ("DELTA.CONSTRAINTS.C1", "Delta.Constraints.c1", "delta.CONSTRAINTS.C1", "delta.constraints.C1")
RULES = protocol(1, 7, w="checkConstraints")


@pytest.mark.conformance("CONSTR-006")
@pytest.mark.parametrize("key", KEYS)
def test_a_constraint_binds_whatever_the_case_of_its_prefix(key: str) -> None:
    before = snapshot(rules=RULES, properties={key: "id > 0"})
    (rule,) = row_rules(before)
    assert (rule.kind, rule.expression) == ("check", "id > 0")
    assert rule.name == (key if key != "delta.constraints.C1" else "C1")
    assert "checkConstraints" not in requirements(before.protocol, before.metadata).unused
    assert (
        guard(drop_feature(DropFeature(feature="checkConstraints"), before, LogMarks(0)), "feature-unused").status
        == "fail"
    )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["c1", "C1", "the key"])
def test_a_constraint_is_dropped_by_its_name_or_by_its_key(key: str, name: str) -> None:
    before = snapshot(rules=RULES, properties={key: "id > 0", "own": "1"})
    wanted = constraint_name(key) if name == "the key" else name
    made = proposal(before, "drop-constraint", name=wanted)
    assert made.metadata is not None
    assert made.metadata.configuration == {"own": "1"}
    assert made.parameters["expr"] == "id > 0"


def test_each_key_has_a_name_of_its_own_and_one_that_means_several_is_refused() -> None:
    keys = {key: f"id > {place}" for place, key in enumerate((*KEYS, "delta.constraints.DELTA.CONSTRAINTS.C1"))}
    assert len(constraints(keys)) == len(keys)
    before = snapshot(rules=RULES, properties=keys)
    assert "in case alone" in str(refused(before, "drop-constraint", name="c1"))
    made = proposal(before, "drop-constraint", name="C1")
    assert made.metadata is not None
    assert set(keys) - set(made.metadata.configuration) == {"delta.constraints.C1"}
    assert refused(before, "add-constraint", name="c1", expression="id > 5").found in constraints(keys)


@pytest.mark.parametrize("key", KEYS)
def test_a_column_of_a_constraint_in_another_case_is_neither_dropped_nor_renamed(key: str) -> None:
    before = mapped_table(struct(field("id", "long"), field("g")), {key: "id > 0"}, rules=protocol(2, 5))
    for intent in (
        {"kind": "drop-columns", "columns": ["id"]},
        {"kind": "rename-column", "column": "id", "to": "other"},
    ):
        kind = str(intent.pop("kind"))
        assert guard(proposal(before, kind, **intent), "constraint-columns").status == "fail"


@pytest.mark.parametrize("key", KEYS)
def test_the_history_of_a_constraint_in_another_case_is_one_of_a_constraint(key: str) -> None:
    said = metadata({"id": "long"}, configuration={key: "id > 0"})
    table = small_logs.table({0: [RULES, METADATA, add("a")], 1: [said]})
    for name in (key, constraint_name(key)):
        assert blame(table.history_record(), name).column("kind").to_pylist() == ["constraint"]


def test_other_keys_count_in_their_own_case_alone() -> None:
    odd = {key.upper(): "true" for key in PROPERTIES} | dict.fromkeys(PROPERTIES, "true")
    exact = {row.key for row in PROPERTIES.values()}
    assert {key for key in odd if property_of(key) is not None} == exact & odd.keys()
    assert not APPEND_ONLY.of({"DELTA.APPENDONLY": "true", "delta.appendonly": "true"})


@pytest.mark.parametrize("key", ["DELTA.APPENDONLY", "delta.enablechangedatafeed", "Delta.ColumnMapping.Mode"])
def test_a_key_in_another_case_can_be_removed_and_nothing_says_that_it_comes_back(key: str) -> None:
    before = snapshot(properties={key: "true", "own": "1"})
    made = proposal(before, "unset-properties", keys=[key])
    assert made.metadata is not None
    assert made.metadata.configuration == {"own": "1"}
    assert f"{key} cannot be set again" in made.undo


@pytest.mark.parametrize("key", KEYS)
def test_a_constraint_is_no_property_to_remove(key: str) -> None:
    with pytest.raises(InvalidIntent, match="drop-constraint"):
        proposal(snapshot(properties={key: "id > 0"}), "unset-properties", keys=[key])


def test_a_column_in_double_quotes_is_not_dropped() -> None:
    rule = {"delta.constraints.c": '"ID" > 0'}
    before = mapped_table(struct(field("id", "long"), field("g")), rule, rules=protocol(2, 5))
    assert guard(proposal(before, "drop-columns", columns=["id"]), "constraint-columns").status == "fail"


@pytest.mark.parametrize("text", ['"id" > 0', "1 = 1", 'g = "open"'])
def test_a_constraint_in_doubt_is_not_added_unless_it_is_accepted(text: str) -> None:
    before = plain_table(struct(field("id", "long"), field("g", "string")))
    found = guard(proposal(before, "add-constraint", name="c", expression=text), "expression")
    assert found.status == "unknown"
    assert found.remedy is not None
