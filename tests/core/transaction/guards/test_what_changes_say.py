"""What changes say of themselves before a commit: operation, parameters, guards with evidence, the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.transaction.guards.columns import names_guard
from explorer.core.transaction.guards.protocol import evolution_guard
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.proposal import Proposal
from tests.support.logs.small_logs import metadata
from tests.support.logs.small_proposals import proposal, protocol, snapshot
from tests.support.logs.spark_tables import column, struct

COLUMNS = metadata({"a": "long", "b": "string", "c": "double"}).schema_string or ""
APPEND_ONLY = "Set delta.appendOnly to 'true'"
ON = {"delta.enableChangeDataFeed": "true"}


@pytest.mark.parametrize(
    ("moved", "at", "position", "names", "undo"),
    [
        (("a", "long"), "after c", "AFTER c", "bca", "Move it back: first."),
        (("a", "long"), 1, "AFTER b", "bac", "Move it back: first."),
        (("c", "double"), "first", "FIRST", "cab", "Move it back: AFTER b."),
        (("b", "string"), 0, "FIRST", "bac", "Move it back: AFTER a."),
        (("b", "string"), "after c", "AFTER c", "acb", "Move it back: AFTER a."),
    ],
)
def test_a_column_is_moved(moved: tuple[str, str], at: str | int, position: str, names: str, undo: str) -> None:
    made = proposal(snapshot(schema=COLUMNS), "move-column", column=moved[0], at=at)
    assert (made.operation, made.undo, made.guards) == ("CHANGE COLUMN", undo, ())
    assert made.parameters == {"column": json.dumps(column(*moved), separators=(",", ":")), "position": position}
    assert made.metadata is not None
    written = json.loads(made.metadata.schema_string or "")
    assert "".join(field["name"] for field in written["fields"]) == names
    assert made.metadata.unknown == {"kept": {"by": "all"}}


@pytest.mark.parametrize(("name", "at"), [("a", "first"), ("b", "after a"), ("c", 2), ("C", "after B")])
def test_a_column_that_is_there_is_not_moved(name: str, at: str | int) -> None:
    with pytest.raises(InvalidIntent) as refused:
        proposal(snapshot(schema=COLUMNS), "move-column", column=name, at=at)
    assert str(refused.value) == f"{name.lower()} is there already."
    assert refused.value.field == "at"


@pytest.mark.parametrize(
    ("paths", "mapped", "feed", "names", "detail", "remedy"),
    [
        ([("a",)], False, {}, None, "The names are free, valid and unique ignoring case.", None),
        ([("a b",)], True, ON, None, "The names are free, valid and unique ignoring case.", None),
        (
            [("a b",), ("s", "x,y"), ("ok",), ("a b", "in")],
            False,
            ON,
            ["`a b`", "s.`x,y`"],
            "Without column mapping a name may not hold a blank, comma, semicolon, bracket, newline, tab or =.",
            "Switch column mapping to name first, or choose another name.",
        ),
        (
            [("_change_TYPE",), ("s", "_change_type"), ("a b",), ("_commit_version",)],
            False,
            ON,
            ["_change_TYPE", "_commit_version"],
            "_change_TYPE, _commit_version is a column of the change data feed, which is on.",
            "Choose another name, or set delta.enableChangeDataFeed to false.",
        ),
        ([("_change_type",)], False, {}, None, "The names are free, valid and unique ignoring case.", None),
    ],
)
def test_names_are_judged(  # noqa: PLR0917  # each is a column of the table
    paths: list[tuple[str, ...]],
    mapped: bool,  # one of a table
    feed: dict[str, str],
    names: list[str] | None,
    detail: str,
    remedy: str | None,
) -> None:
    found = names_guard(paths, mapped=mapped, configuration=feed)
    assert found.evidence.pop("columns") == [format_column(path) for path in paths]
    expected: dict[str, Any] = {"detail": detail} if names is None else {"names": names, "detail": detail}
    assert (found.name, found.status) == ("column-names", "pass" if names is None else "fail")
    assert (found.evidence, found.remedy) == (expected, remedy)


@pytest.mark.parametrize(
    ("key", "parameters", "undo", "left"),
    [
        ("own", ["own"], "Set own to '1'.", {"delta.appendOnly": "true"}),
        ("zeta", ["zeta"], "Nothing changes.", {"own": "1", "delta.appendOnly": "true"}),
        (
            "DELTA.APPENDONLY",
            ["delta.appendOnly"],
            "Set delta.appendOnly to 'true'.",
            {"own": "1"},
        ),
    ],
)
def test_a_property_is_taken_away(key: str, parameters: list[str], undo: str, left: dict[str, str]) -> None:
    before = snapshot(properties={"own": "1", "delta.appendOnly": "true"})
    made = proposal(before, "unset-properties", keys=[key])
    assert made.parameters == {"properties": json.dumps(parameters), "ifExists": True}
    assert made.undo == undo
    assert (before.metadata if made.metadata is None else made.metadata).configuration == left


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("delta.feature.appendOnly", "is a feature of the protocol, not a property. Use drop-feature."),
        ("delta.minReaderVersion", "is in the protocol, and its versions never fall."),
        ("DELTA.minwriterversion", "delta.minWriterVersion is in the protocol, and its versions never fall."),
        ("delta.columnMapping.maxColumnId", "cannot be removed by hand: column mapping maintains it itself."),
        ("delta.constraints.c", "Add or drop it with add-constraint and drop-constraint."),
    ],
)
def test_what_is_no_property_of_a_persons_is_not_taken_away(key: str, said: str) -> None:
    with pytest.raises(InvalidIntent) as refused:
        proposal(snapshot(), "unset-properties", keys=[key])
    assert said in str(refused.value)
    assert refused.value.field == key


def test_a_constraint_says_what_it_reads() -> None:
    made = proposal(snapshot(schema=COLUMNS), "add-constraint", name="Ok", expression="a > 0 AND b <> 'x'")
    assert (made.operation, made.parameters) == ("ADD CONSTRAINT", {"name": "Ok", "expr": "a > 0 AND b <> 'x'"})
    assert made.undo == "Drop the constraint 'ok'."
    [guard] = made.guards
    assert (guard.name, guard.status, guard.remedy) == ("expression", "pass", None)
    assert guard.evidence == {
        "expression": "a > 0 AND b <> 'x'",
        "columns": ["a", "b"],
        "detail": "All that it names are columns of the table.",
    }


def test_a_constraint_that_reads_the_clock_says_so() -> None:
    made = proposal(snapshot(schema=COLUMNS), "add-constraint", name="ok", expression="a > unix_timestamp()")
    [guard] = made.guards
    assert (guard.name, guard.status) == ("expression", "warn")
    assert guard.evidence["detail"] == "It calls unix_timestamp: a row that passes today may not pass tomorrow."
    assert guard.evidence["columns"] == ["a"]
    assert guard.remedy == "Compare with a fixed value, or with another column, unless you intend this."


def _raised(before: Protocol | None, after: Protocol | None, **more: Any) -> dict[str, Any]:
    made = Proposal(**{"operation": "X", "parameters": {}, "protocol": after, "undo": "", **more})
    found = evolution_guard(before, made)
    assert found.name == "protocol-evolution"
    return {"status": found.status, "remedy": found.remedy, **found.evidence}


def test_a_protocol_says_how_it_changes() -> None:
    old, features = protocol(1, 2), protocol(1, 7, w="appendOnly invariants")
    same = {"status": "pass", "remedy": None, "detail": "The protocol does not change."}
    assert _raised(old, None) == _raised(old, protocol(1, 2)) == same
    assert _raised(None, old) == {
        "status": "pass",
        "remedy": None,
        "before": None,
        "after": [1, 2],
        "featuresAdded": ["appendOnly", "invariants"],
        "featureDropped": None,
        "detail": "The protocol becomes (1, 2).",
    }
    assert _raised(old, protocol(1, 4)) == {
        "status": "pass",
        "remedy": None,
        "before": [1, 2],
        "after": [1, 4],
        "featuresAdded": ["changeDataFeed", "checkConstraints", "generatedColumns"],
        "featureDropped": None,
        "detail": "The protocol changes from (1, 2) to (1, 4).",
    }
    more = _raised(features, protocol(1, 7, w="appendOnly invariants domainMetadata"))
    assert (more["detail"], more["featuresAdded"]) == (
        "The protocol keeps its versions (1, 7); its list of features changes.",
        ["domainMetadata"],
    )
    lower = _raised(features, old)
    assert (lower["status"], lower["remedy"]) == ("fail", "Raise the protocol in another way.")
    assert lower["detail"].startswith("The protocol would be illegal: ")


def test_a_feature_is_dropped_by_its_name_alone() -> None:
    before, after = protocol(1, 7, w="appendOnly domainMetadata"), protocol(1, 7, w="appendOnly")
    named = {"parameters": {"featureName": "domainMetadata"}}
    found = _raised(before, after, operation="DROP FEATURE", **named)
    assert (found["status"], found["featureDropped"], found["featuresAdded"]) == ("pass", "domainMetadata", [])
    for other in ({"operation": "X", **named}, {"operation": "DROP FEATURE", "parameters": {"featureName": 3}}):
        refused = _raised(before, after, **other)
        assert (refused["status"], refused["featureDropped"]) == ("fail", None)


def test_what_was_illegal_before_is_no_fault_of_the_change() -> None:
    broken = protocol(2, 7, w="columnMapping")
    found = _raised(broken, protocol(2, 7, w="columnMapping appendOnly"))
    assert found["status"] == "pass"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["s", "s"], "s is named twice."),
        (["s.x", "s"], "s and s.x are inside one another."),
        (["s", "s.x"], "s.x and s are inside one another."),
    ],
)
def test_columns_to_drop_are_apart(columns: list[str], said: str) -> None:
    nested = json.dumps(struct(column("k", "long"), column("s", struct(column("x", "long"), column("y", "long")))))
    with pytest.raises(InvalidIntent) as refused:
        proposal(snapshot(schema=nested), "drop-columns", columns=columns)
    assert (str(refused.value), refused.value.field) == (said, "columns")


@pytest.mark.parametrize(
    ("value", "why"), [("\ud800", "contains an unpaired surrogate"), (None, "is nested too deep")], ids=["half", "deep"]
)
def test_a_text_that_no_log_can_hold_names_its_field(value: str | None, why: str) -> None:
    deep: Any = value
    if value is None:
        for _ in range(100_000):
            deep = [deep]
    with pytest.raises(InvalidIntent) as refused:
        parse_intent({"kind": "set-description", "description": deep})
    assert str(refused.value) == f"The field description {why}, so it cannot be written into a log."
    assert refused.value.field == "description"


@pytest.mark.parametrize("kind", ["add-columns", "drop-columns"])
def test_nothing_to_do_names_what_is_lacking(kind: str) -> None:
    field = "fields" if kind == "add-columns" else "columns"
    with pytest.raises(InvalidIntent) as refused:
        parse_intent({"kind": kind, field: []})
    assert refused.value.field == field
