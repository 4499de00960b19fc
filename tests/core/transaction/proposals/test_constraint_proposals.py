"""CHECK constraints added and dropped: names, expressions, protocol, and the look at the rows."""

import json

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Protocol, encode_line
from tests.support.logs.small_logs import METADATA, PROTOCOL, table
from tests.support.logs.small_proposals import proposal, protocol, snapshot


@pytest.mark.conformance("CONSTR-006", "CONSTR-008", "CONSTR-010", "CONSTR-011")
def test_a_constraint_comes_with_its_protocol_and_a_look_at_every_row() -> None:
    made = proposal(snapshot(), "add-constraint", name="Positive", expression="id>0")
    assert made.metadata is not None
    assert made.metadata.configuration == {"delta.constraints.positive": "id > 0"}
    assert made.protocol == protocol(1, 3)
    assert [(check.guard, check.expression) for check in made.row_checks] == [("existing-rows", "id > 0")]
    assert made.parameters == {"name": "Positive", "expr": "id > 0"}
    assert made.reads_files
    assert not made.is_blind_append


@pytest.mark.conformance("CONSTR-010")
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (protocol(1, 2), protocol(1, 3)),
        (protocol(1, 3), None),
        (protocol(2, 6), None),
        (protocol(1, 7, w="appendOnly"), protocol(1, 7, w="appendOnly checkConstraints")),
        (protocol(1, 7, w="checkConstraints"), None),
        (
            protocol(3, 7, r="deletionVectors", w="deletionVectors"),
            protocol(3, 7, r="deletionVectors", w="deletionVectors checkConstraints"),
        ),
    ],
)
def test_a_protocol_that_lacks_constraints_gets_them_in_the_same_commit(
    before: Protocol, after: Protocol | None
) -> None:
    made = proposal(snapshot(rules=before), "add-constraint", name="c", expression="id > 0")
    assert made.protocol == after
    assert made.metadata is not None
    assert made.metadata.configuration == {"delta.constraints.c": "id > 0"}
    kinds = [next(iter(json.loads(encode_line(action)))) for action in made.actions()]
    assert kinds == (["metaData"] if after is None else ["protocol", "metaData"])


@pytest.mark.conformance("CONSTR-011")
@pytest.mark.parametrize("name", ["positive", "POSITIVE", "Positive"])
def test_a_constraint_is_dropped_by_its_name_in_any_case(name: str) -> None:
    before = snapshot(properties={"delta.constraints.positive": "id > 0"}, rules=protocol(1, 3))
    made = proposal(before, "drop-constraint", name=name)
    assert made.metadata is not None
    assert made.metadata.configuration == {}


@pytest.mark.conformance("CONSTR-011")
@pytest.mark.parametrize("name", ["positive", "POSITIVE", "Positive"])
def test_a_name_that_is_taken_in_any_case_is_refused(name: str) -> None:
    before = snapshot(properties={"delta.constraints.positive": "id > 0"})
    with pytest.raises(InvalidIntent) as caught:
        proposal(before, "add-constraint", name=name, expression="id > 1")
    assert caught.value.field == "name"


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 256, "a\x00"])
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(snapshot(), "add-constraint", name=name, expression="id > 1")
    assert caught.value.field == "name"


@pytest.mark.conformance("CONSTR-009", "CONSTR-013")
@pytest.mark.parametrize(
    "expression",
    ["nope > 1", "idd > 1", "id > (SELECT 1)", "sum(id) > 0", "rand() > 0", "reflect('a', 'b') = '1'", "id > 0;", ""],
)
def test_an_expression_that_cannot_be_kept_is_refused(expression: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(snapshot(), "add-constraint", name="c", expression=expression)
    assert caught.value.field == "expression"


@pytest.mark.parametrize("expression", ["(" * 500 + "id > 0" + ")" * 500, "id > $0", "from_json('a', 'b') = map(*)"])
def test_what_no_engine_may_be_given_is_refused_where_no_row_is_looked_at_too(expression: str) -> None:
    found = table({0: (PROTOCOL, METADATA)})
    with pytest.raises(InvalidIntent) as caught:
        found.plan({"kind": "add-constraint", "name": "c", "expression": expression}, check_rows=False)
    assert caught.value.field == "expression"


@pytest.mark.parametrize("odd", ["\x00", "\x1b", "\u200b", "\ufeff"])
def test_a_character_that_cannot_be_seen_stands_in_texts_and_names_alone(odd: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(snapshot(), "add-constraint", name="c", expression=f"id >{odd} 0")
    assert (caught.value.field, repr(odd)[1:-1] in caught.value.message) == ("expression", True)
    kept = proposal(snapshot(), "add-constraint", name="c", expression=f"id <> '{odd}'").metadata
    assert kept is not None
    assert kept.configuration["delta.constraints.c"] == f"id <> '{odd}'"


def test_an_expression_that_looks_at_the_clock_is_a_warning() -> None:
    made = proposal(snapshot(), "add-constraint", name="c", expression="id > 0 OR current_date > '2020-01-01'")
    assert [(guard.name, guard.status) for guard in made.guards] == [("expression", "warn")]


def test_a_constraint_is_dropped_whatever_the_case_of_its_name() -> None:
    before = snapshot(rules=protocol(1, 3), properties={"delta.constraints.Odd name": "id > 0", "a": "b"})
    made = proposal(before, "drop-constraint", name="ODD NAME")
    assert made.metadata is not None
    assert made.metadata.configuration == {"a": "b"}
    assert made.protocol is None
    assert made.parameters == {"name": "ODD NAME", "expr": "id > 0", "existed": "true"}


def test_a_constraint_that_is_not_there_is_refused_with_the_nearest() -> None:
    before = snapshot(properties={"delta.constraints.positive": "id > 0"})
    with pytest.raises(InvalidIntent) as caught:
        proposal(before, "drop-constraint", name="positiv")
    assert caught.value.nearest == "positive"
