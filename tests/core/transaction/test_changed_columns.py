"""What a column becomes, whole: its comment, whether it holds nulls, and its wider type; and a table's description."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.transaction.proposal import GuardResult, Proposal, RowCheck
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import compact, proposal, protocol, snapshot
from tests.support.logs.small_schemas import IDENTITY, array, column, field, mapping, plain_table, struct

SPELT = "__CHAR_VARCHAR_TYPE_STRING"
CHANGES = "delta.typeChanges"
WIDENING = {"delta.enableTypeWidening": "true"}
WIDENS = protocol(3, 7, r="typeWidening", w="typeWidening appendOnly invariants")


def with_fields(before: explorer.Snapshot, *fields: dict[str, Any]) -> Metadata:
    return msgspec.structs.replace(before.metadata, schema_string=compact(struct(*fields)))


@pytest.mark.parametrize(
    ("before", "after", "undo"),
    [
        ("old", "new", "Set the comment to 'old' again."),
        ("old", None, "Set the comment to 'old' again."),
        (None, "", "Remove the comment again."),
    ],
)
def test_a_comment_of_a_column_is_said_whole(before: str | None, after: str | None, undo: str) -> None:
    def own(comment: str | None) -> dict[str, Any]:
        return {"kept": 7} | ({} if comment is None else {"comment": comment})

    table = plain_table(struct(field("id", "long"), field("x", metadata=own(before))))
    made = proposal(table, "set-column-comment", column="X", comment=after)
    assert made == Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": compact(field("x", "integer", **own(after)))},
        metadata=with_fields(table, field("id", "long"), field("x", metadata=own(after))),
        undo=undo,
    )


@pytest.mark.parametrize("comment", ["same", None])
def test_a_comment_that_a_column_has_is_refused(comment: str | None) -> None:
    table = plain_table(struct(field("x", metadata={} if comment is None else {"comment": comment})))
    with pytest.raises(InvalidIntent) as refused:
        proposal(table, "set-column-comment", column="X", comment=comment)
    assert (str(refused.value), refused.value.field) == (f"The comment of x is already {comment!r}.", "comment")


@pytest.mark.parametrize(
    ("before", "after", "undo"),
    [
        (None, "new", "Remove the description again."),
        ("", "new", "Remove the description again."),
        ("old", None, "Set the description to 'old' again."),
    ],
)
def test_a_description_is_said_whole(before: str | None, after: str | None, undo: str) -> None:
    metadata = msgspec.structs.replace(small_logs.METADATA, description=before)
    table = small_logs.table({0: [small_logs.PROTOCOL, metadata]}).snapshot()
    assert proposal(table, "set-description", description=after) == Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": compact({"comment": after or ""})},
        metadata=msgspec.structs.replace(metadata, description=after),
        undo=undo,
    )


@pytest.mark.parametrize("files", [0, 1])
def test_a_column_that_refuses_nulls_is_said_whole(files: int) -> None:
    kind = struct(field("s", struct(field("x`y", "long", kept=1))))
    before = snapshot(*[add("f")] * files, rules=protocol(1, 7, w="appendOnly"), schema=json.dumps(kind))
    made = proposal(before, "set-not-null", column="S.`X``y`")
    check = RowCheck(
        "existing-rows",
        "s.`x``y` is not null",
        "`s`.`x``y` IS NOT NULL",
        "Give the rows without s.`x``y` a value, or delete them, and plan again.",
    )
    empty = GuardResult("existing-rows", "pass", {"files": 0, "detail": "The table has no rows."})
    assert made == Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": compact(field("s.x`y", "long", nullable=False, kept=1))},
        metadata=with_fields(before, field("s", struct(field("x`y", "long", nullable=False, kept=1)))),
        protocol=protocol(1, 7, w="appendOnly invariants"),
        is_blind_append=False,
        reads_files=True,
        row_checks=(check,) if files else (),
        guards=() if files else (empty,),
        undo="Allow nulls in s.`x``y` again (drop-not-null).",
    )
    assert proposal(snapshot(), "set-not-null", column="id").protocol is None


def test_a_column_that_allows_nulls_again_is_said_whole() -> None:
    before = plain_table(struct(field("id", "long", nullable=False), field("x")))
    assert proposal(before, "drop-not-null", column="ID") == Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": compact(field("id", "long"))},
        metadata=with_fields(before, field("id", "long"), field("x")),
        undo="Require values in id again (set-not-null), while no row holds one.",
    )


@pytest.mark.parametrize(
    ("kind", "column", "said"),
    [
        ("set-not-null", "STRICT", "strict already refuses nulls."),
        ("drop-not-null", "FREE", "free already allows nulls."),
        (
            "set-not-null",
            "l.element.s.x",
            (
                "l.element.s.x is inside an array or a map, where no writer enforces NOT NULL. Use a CHECK constraint: "
                "forall(column, x -> x IS NOT NULL)."
            ),
        ),
    ],
)
def test_nulls_that_cannot_be_refused_or_allowed_are_named(kind: str, column: str, said: str) -> None:
    inner = struct(field("s", struct(field("x"))))
    table = plain_table(struct(field("strict", nullable=False), field("free"), field("l", array(inner))))
    with pytest.raises(InvalidIntent) as refused:
        proposal(table, kind, column=column)
    assert (str(refused.value), refused.value.field) == (said, "column")


# --- wider types ------------------------------------------------------------------------------------------------------

ALLOWED = GuardResult(
    "type-widening",
    "pass",
    {"delta.enableTypeWidening": "true", "feature": True, "detail": "The table allows wider types."},
)
NO_SUCH = {
    "constraint-columns": "No constraint or invariant names the columns.",
    "generated-columns": "No generated column is computed from the columns.",
}


def unmentioned(name: str) -> GuardResult:
    return GuardResult(name, "pass", {"looked at": 0, "detail": NO_SUCH[name]})


def widening(*fields: dict[str, Any], **more: Any) -> explorer.Snapshot:
    return plain_table(struct(*fields), **{"rules": WIDENS, "properties": WIDENING, **more})


def test_a_wider_type_is_said_whole_and_recorded_after_those_before() -> None:
    def own(changes: list[dict[str, str]]) -> dict[str, Any]:
        return {"comment": "c", CHANGES: changes}

    earlier = {"toType": "short", "fromType": "byte"}
    before = widening(field("id", "long"), field("n", "short", metadata=own([earlier])))
    made = proposal(before, "widen-type", column="N", type=" INTEGER ")
    changes = [earlier, {"toType": "integer", "fromType": "short"}]
    assert made == Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": compact(field("n", "integer", **own([earlier])))},
        metadata=with_fields(before, field("id", "long"), field("n", "integer", metadata=own(changes))),
        guards=(
            GuardResult(
                "type-change",
                "pass",
                {"column": "n", "from": "short", "to": "integer", "detail": "No value is lost (TYPEWIDEN-003)."},
            ),
            ALLOWED,
            unmentioned("constraint-columns"),
            unmentioned("generated-columns"),
        ),
        undo="A type cannot be narrowed again; restoring an earlier version gives the column its old type back.",
    )


def test_what_is_widened_inside_a_column_is_recorded_with_its_path() -> None:
    inner = mapping("long", array("integer"))
    before = widening(field("s", struct(field("m", inner))))
    made = proposal(before, "widen-type", column="S.m.VALUE.element", type="long")
    change = {"toType": "long", "fromType": "integer", "fieldPath": "value.element"}
    assert column(made, "s.m").metadata == {CHANGES: [change]}
    assert made.parameters == {"column": compact(field("s.m.value.element", "long"))}
    assert made.guards[0].evidence["column"] == "s.m.value.element"


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("byte", "decimal(10,0)", True),
        ("integer", "decimal(12,2)", True),
        ("integer", "decimal(11,2)", False),
        ("short", "decimal(9,0)", False),
        ("long", "decimal(20,0)", True),
        ("long", "decimal(21,2)", False),
        ("decimal(4,1)", "decimal(6,2)", True),
        ("decimal(4,1)", "decimal(5,3)", False),
        ("float", "double", True),
        ("long", "integer", False),
        ("date", "timestamp_ntz", True),
        ("string", "long", False),
    ],
)
def test_a_type_is_widened_where_no_value_is_lost(before: str, after: str, allowed: bool) -> None:
    found = proposal(widening(field("n", before)), "widen-type", column="n", type=after).guards[0]
    evidence = {"column": "n", "from": before, "to": after}
    if allowed:
        evidence |= {"detail": "No value is lost (TYPEWIDEN-003)."}
        assert found == GuardResult("type-change", "pass", evidence)
        return
    assert found == GuardResult(
        "type-change",
        "fail",
        {**evidence, "detail": f"{before} to {after} is not a change that readers carry out on existing files."},
        "Integers grow to wider integers, to decimals with ten digits before the point (twenty from long) and, up to "
        "integer, to double; float to double; date to timestamp_ntz; decimals gain digits before and after the point. "
        "For any other change rewrite the table.",
    )


@pytest.mark.parametrize(
    ("value", "rules", "said"),
    [
        (None, WIDENS, ("false", True)),
        ("false", WIDENS, ("false", True)),
        ("true", protocol(1, 2), ("true", False)),
        (None, protocol(1, 2), ("false", False)),
    ],
)
def test_a_table_that_does_not_allow_wider_types_says_what_it_lacks(
    value: str | None, rules: Any, said: tuple[str, bool]
) -> None:
    properties = {} if value is None else {"delta.enableTypeWidening": value}
    before = widening(field("n", "short"), rules=rules, properties=properties)
    assert proposal(before, "widen-type", column="n", type="long").guards[1] == GuardResult(
        "type-widening",
        "fail",
        {
            "delta.enableTypeWidening": said[0],
            "feature": said[1],
            "detail": "The table does not allow wider types (TYPEWIDEN-004).",
        },
        "Set delta.enableTypeWidening to true first; clients must then be able to read tables with this feature.",
    )


def test_a_type_that_needs_a_feature_brings_it_and_void_takes_any_type() -> None:
    made = proposal(widening(field("d", "date")), "widen-type", column="d", type="timestamp_ntz")
    names = "appendOnly invariants typeWidening timestampNtz"
    assert made.protocol == protocol(3, 7, r="typeWidening timestampNtz", w=names)
    before = plain_table(struct(field("id", "long"), field("v", "void", kept=1)))
    empty = proposal(before, "widen-type", column="v", type="date")
    assert empty.metadata == with_fields(before, field("id", "long"), field("v", "date", kept=1))
    assert (empty.guards, empty.protocol) == ((), None)


def test_what_a_computed_or_counting_column_or_one_inside_a_spelt_one_says_of_its_type() -> None:
    counted, made = {**IDENTITY}, {"delta.generationExpression": "id + 1"}
    spelt = {SPELT: "struct<v:char(2),n:int>"}
    before = widening(
        field("i", "integer", metadata=counted),
        field("g", metadata=made),
        field("s", struct(field("v", "string"), field("n")), metadata=spelt),
    )

    def last(name: str) -> GuardResult:
        return proposal(before, "widen-type", column=name, type="long").guards[-1]

    said = {"column": "i", "detail": "i is an identity column, which has the type long."}
    remedy = "Keep the type, or drop the column and add it again."
    assert last("I") == GuardResult("identity-columns", "fail", said, remedy)
    said = {"expression": "id + 1", "detail": "g is computed, and its expression has that type."}
    assert last("g") == GuardResult("generated-columns", "fail", said, "Drop the generated column, and add it again.")
    assert (last("s.n").name, last("s.n").status) == ("char-types", "fail")


@pytest.mark.parametrize(
    ("mentioned", "guards"),
    [("n", ["constraint-columns", "generated-columns"]), ("id", [])],
)
def test_expressions_that_mention_a_column_stand_against_its_wider_type(mentioned: str, guards: list[str]) -> None:
    before = widening(
        field("n", "short"),
        field("id", "long"),
        field("g", "long", metadata={"delta.generationExpression": f"{mentioned} + 1"}),
        properties={**WIDENING, "delta.constraints.c": f"{mentioned} > 0"},
    )
    made = proposal(before, "widen-type", column="n", type="long")
    assert [guard.name for guard in made.guards if guard.status == "fail"] == guards


@pytest.mark.parametrize(
    ("column", "kind", "said", "place"),
    [
        ("N", "short", "n is already short.", "type"),
        ("c", " CHAR(3) ", "c is already char(3).", "type"),
        (
            "n",
            "lnog",
            (
                "'lnog' is not a type that a column can be widened to. Write a simple type such as long, double, "
                "decimal(12,2) or varchar(20)."
            ),
            "type",
        ),
        ("l.element", "varchar(3)", "l.element", "column"),
        ("s.v", "varchar(3)", "s.v", "column"),
    ],
)
def test_a_type_that_a_column_cannot_get_is_refused(column: str, kind: str, said: str, place: str) -> None:
    if place == "column":
        said += (
            " is inside another column, which spells out its CHAR and VARCHAR parts. Change it with the engine that "
            "created it."
        )
    inner = struct(field("v", "string"))
    text = {SPELT: "char(3)"}
    before = widening(
        field("n", "short"), field("c", "string", metadata=text), field("l", array("string")), field("s", inner)
    )
    with pytest.raises(InvalidIntent) as refused:
        proposal(before, "widen-type", column=column, type=kind)
    assert (str(refused.value), refused.value.field) == (said, place)


@pytest.mark.parametrize(
    ("before", "after", "fits"),
    [
        ("char(3)", "varchar(3)", True),
        ("varchar(3)", "varchar(4)", True),
        ("varchar(3)", "string", True),
        ("varchar(3)", "varchar(2)", False),
        ("varchar(3)", "char(5)", False),
        (None, "varchar(9)", False),
    ],
)
def test_a_length_grows_or_goes_and_is_said_whole(before: str | None, after: str, fits: bool) -> None:
    def own(spelt: str | None) -> dict[str, Any]:
        return field("c", "string", nullable=False, kept=7, **({} if spelt in (None, "string") else {SPELT: spelt}))

    table = plain_table(struct(field("id", "long"), own(before)))
    made = proposal(table, "widen-type", column="C", type=after.upper())
    old = "string" if before is None else before
    evidence = {"column": "c", "from": old, "to": after}
    said = f"{old} cannot become {after}: existing values may not fit, or would have to be padded."
    remedy = "Choose varchar of at least the same length, or string."
    expected = GuardResult("type-change", "fail", {**evidence, "detail": said}, remedy)
    if fits:
        expected = GuardResult("type-change", "pass", {**evidence, "detail": "Every value stays valid."})
    assert made == Proposal(
        operation="CHANGE COLUMN",
        parameters={"column": compact(field("c", "string", nullable=False, **own(after)["metadata"]))},
        metadata=with_fields(table, field("id", "long"), own(after)),
        guards=(expected,),
        undo="A length cannot be shortened again; restoring an earlier version gives the column its old length back.",
    )
