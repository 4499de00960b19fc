"""Proposals about columns, whole: their parameters, schema, protocol, guards with evidence, and the way back."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.schema.data_types import ArrayType, MapType, PrimitiveType, StructField, StructType
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.add_columns import needs_values
from explorer.core.transaction.proposals.entry import attribute_name, column_document, parameter_text
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import compact, proposal, protocol, snapshot
from tests.support.logs.small_schemas import (
    IDENTITY,
    MAPPED,
    array,
    configuration,
    field,
    mapped,
    mapped_table,
    mapping,
    plain_table,
    shape,
    struct,
)

FREE = "The names are free, valid and unique ignoring case."
SPELT = "__CHAR_VARCHAR_TYPE_STRING"
HIGHEST = "delta.columnMapping.maxColumnId"
STATS = "delta.dataSkippingStatsColumns"


def names_are_free(*names: str) -> GuardResult:
    return GuardResult("column-names", "pass", {"columns": list(names), "detail": FREE})


def with_fields(before: explorer.Snapshot, *fields: dict[str, Any]) -> Metadata:
    text = json.dumps(struct(*fields), separators=(",", ":"))
    return msgspec.structs.replace(before.metadata, schema_string=text)


# --- what the log says of columns -------------------------------------------------------------------------------------


def test_a_path_is_one_text_in_which_only_dots_need_backticks() -> None:
    assert attribute_name(("s", "a b", "c.d", "element")) == "s.a b.`c.d`.element"
    assert parameter_text({"a": ["é", None, True]}) == '{"a":["é",null,true]}'


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (PrimitiveType("decimal", 12, 2), "decimal(12,2)"),
        (ArrayType(PrimitiveType("long"), contains_null=True), "array"),
        (MapType(PrimitiveType("long"), PrimitiveType("date"), value_contains_null=True), "map"),
        (StructType((StructField("x", PrimitiveType("long")),)), "struct"),
        ("varchar(3)", "varchar(3)"),
    ],
)
def test_of_a_nested_type_only_its_kind_is_said(kind: Any, said: str) -> None:
    found = column_document(("s", "x"), kind, nullable=False, metadata={"comment": "c"})
    assert found == {"name": "s.x", "type": said, "nullable": False, "metadata": {"comment": "c"}}


# --- adding -----------------------------------------------------------------------------------------------------------


def test_added_columns_are_said_whole() -> None:
    before = plain_table(struct(field("id", "long"), field("s", struct(field("x")))), properties={"own": "1"})
    fields = [
        field("a", "char(3)", comment="c"),
        field("s.z", "date"),
        {"name": "`b`", "type": "long"},
        field("s.y", array("long")),
    ]
    made = proposal(before, "add-columns", fields=fields, at="first")
    places = [
        (field("a", "char(3)", comment="c"), "FIRST"),
        (field("s.z", "date"), "FIRST"),
        (field("b", "long"), "AFTER a"),
        (field("s.y", "array"), "AFTER z"),
    ]
    inner = struct(field("z", "date"), field("y", array("long")), field("x"))
    schema = [
        field("a", "string", metadata={"comment": "c", SPELT: "char(3)"}),
        field("b", "long"),
        field("id", "long"),
    ]
    assert made == Proposal(
        operation="ADD COLUMNS",
        parameters={"columns": compact([{"column": column, "position": place} for column, place in places])},
        metadata=with_fields(before, *schema, field("s", inner)),
        guards=(names_are_free("a", "s.z", "b", "s.y"),),
        undo="Drop a, s.z, b, s.y again (drop-columns); that needs column mapping, which has to be switched on first "
        "(set-column-mapping) and shuts out clients that do not know it.",
    )


@pytest.mark.parametrize(("at", "said"), [(None, None), (" LAST ", None), (1, "AFTER id"), ("after ID", "AFTER id")])
def test_only_a_place_that_was_asked_for_is_said(at: Any, said: str | None) -> None:
    before = plain_table(struct(field("id", "long")))
    made = proposal(before, "add-columns", fields=[field("a", "varchar(4)")], at=at)
    [found] = json.loads(str(made.parameters["columns"]))
    assert found == {"column": field("a", "varchar(4)")} | ({} if said is None else {"position": said})
    assert shape(made) == "struct<id:long,a:string>"


@pytest.mark.parametrize("more", [0, 1])
def test_ids_end_with_the_highest_of_32_bits(more: int) -> None:
    before = mapped_table(struct(field("id", "long")), {HIGHEST: str(2**31 - 2)})
    fields = [field(name) for name in "ab"[: 1 + more]]
    if not more:
        assert configuration(proposal(before, "add-columns", fields=fields))[HIGHEST] == str(2**31 - 1)
        return
    with pytest.raises(InvalidIntent) as refused:
        proposal(before, "add-columns", fields=fields)
    assert str(refused.value) == f"There are no column ids left: {HIGHEST} would be {2**31}."
    assert refused.value.field == "fields"


@pytest.mark.parametrize("files", [0, 1])
def test_columns_that_refuse_nulls_are_said_with_the_files_that_have_no_value(files: int) -> None:
    rules = protocol(1, 7, w="appendOnly")
    before = snapshot(*[add("f")] * files, rules=rules)
    kind = struct(field("b", nullable=False), field("c", struct(field("d", "timestamp_ntz", nullable=False))))
    made = proposal(before, "add-columns", fields=[field("a", kind), field("e", nullable=False)])
    evidence = {"columns": ["a.b", "a.c.d", "e"], "files": files}
    expected = GuardResult(
        "existing-rows",
        "fail",
        {**evidence, "detail": "Existing rows would have no value in these columns."},
        "Add the columns without NOT NULL, fill them, then run set-not-null.",
    )
    if not files:
        expected = GuardResult("existing-rows", "pass", {**evidence, "detail": "The table has no rows."})
    assert made.guards == (names_are_free("a", "a.b", "a.c", "a.c.d", "e"), expected)
    assert made.protocol == protocol(3, 7, r="timestampNtz", w="appendOnly timestampNtz invariants")
    assert (made.reads_files, made.is_blind_append) == (True, True)
    written = json.loads(str(made.parameters["columns"]))
    assert [each["column"]["nullable"] for each in written] == [True, False]


def test_where_no_column_refuses_nulls_the_protocol_and_the_files_are_left_alone() -> None:
    made = proposal(snapshot(add("f"), rules=protocol(1, 7, w="appendOnly")), "add-columns", fields=[field("a")])
    assert (made.protocol, made.reads_files, len(made.guards)) == (None, False, 1)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (struct(field("x", nullable=False), field("y")), [("top", "s", "x")]),
        (struct(field("y", struct(field("x", nullable=False)))), [("top", "s", "y", "x")]),
        (struct(field("l", array("long")), field("x", nullable=False)), [("top", "s", "x")]),
        (array(struct(field("x", nullable=False))), "top.s.element.x"),
        (mapping("long", struct(field("x", nullable=False))), "top.s.value.x"),
        (struct(field("l", array(struct(field("x", nullable=False))))), "top.s.l.element.x"),
    ],
)
def test_what_refuses_nulls_is_found_inside_structs_and_nowhere_else(kind: Any, found: Any) -> None:
    given = field("s", kind)
    [own] = plain_table(struct(given)).schema.fields
    if isinstance(found, list):
        assert needs_values(own, ("top",)) == tuple(found)
        return
    with pytest.raises(InvalidIntent) as refused:
        needs_values(own, ("top",), "schema")
    assert refused.value.field == "schema"
    assert str(refused.value) == (f"{found} cannot be NOT NULL: no writer enforces that inside an array or a map.")


# --- renaming, dropping, comments and nulls ---------------------------------------------------------------------------

TRACKED = protocol(2, 7, w="columnMapping columnMappingUsageTracking")
USED = "delta.columnMapping.hasDroppedOrRenamed"


@pytest.mark.parametrize("tracked", [False, True])
def test_a_renamed_column_is_said_whole(tracked: bool) -> None:
    kind = struct(field("id", "long"), field("s", struct(field("x.y"))), field("sx", "date"))
    before = mapped_table(kind, {STATS: "S.`x.y`,sx"}, rules=TRACKED if tracked else MAPPED)
    made = proposal(before, "rename-column", column="S.`X.y`", to="z w")
    after = mapped(struct(field("id", "long"), field("s", struct(field("z w"))), field("sx", "date")))
    after["fields"][1]["type"]["fields"][0]["metadata"] = {
        "delta.columnMapping.id": 3,
        "delta.columnMapping.physicalName": "col-3",
    }
    properties = {**before.metadata.configuration, STATS: "s.`z w`,sx", **({USED: "true"} if tracked else {})}
    assert made.metadata == msgspec.structs.replace(
        before.metadata, schema_string=compact(after), configuration=properties
    )
    unruled = {"looked at": 0, "detail": "No constraint or invariant names the columns."}
    underived = {"looked at": 0, "detail": "No generated column is computed from the columns."}
    mode = {"delta.columnMapping.mode": "name", "detail": "Data files use physical column names that do not change."}
    assert msgspec.structs.replace(made, metadata=None) == Proposal(
        operation="RENAME COLUMN",
        parameters={"oldColumnPath": "s.`x.y`", "newColumnPath": "s.z w"},
        guards=(
            GuardResult("column-mapping", "pass", mode),
            names_are_free("s.`z w`"),
            GuardResult("constraint-columns", "pass", unruled),
            GuardResult("generated-columns", "pass", underived),
        ),
        undo="Rename s.`z w` to x.y again.",
    )


@pytest.mark.parametrize(
    ("stats", "left"),
    [("  ", "  "), ("", ""), ("P,id", "p2,id"), (None, None)],
    ids=["blank", "empty", "named", "none"],
)
def test_columns_of_statistics_follow_a_rename_where_they_are_named(stats: str | None, left: str | None) -> None:
    before = mapped_table(struct(field("id", "long"), field("p", "date")), {} if stats is None else {STATS: stats})
    metadata = msgspec.structs.replace(before.metadata, partition_columns=("id", "p"))
    found = proposal(small_logs.table({0: [MAPPED, metadata]}).snapshot(), "rename-column", column="p", to="p2")
    assert configuration(found).get(STATS) == left
    assert found.metadata is not None
    assert found.metadata.partition_columns == ("id", "p2")


def test_dropped_columns_are_said_whole() -> None:
    kind = struct(
        field("id", "long"), field("i", "long", metadata=IDENTITY), field("s", struct(field("x"), field("y")))
    )
    before = mapped_table(kind, {STATS: "I,s.y,id,s"})
    made = proposal(before, "drop-columns", columns=["I", "s.X"])
    after = mapped(struct(field("id", "long"), field("s", struct(field("y")))))
    for own, number in ((after["fields"][1], 3), (after["fields"][1]["type"]["fields"][0], 5)):
        own["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    properties = {**before.metadata.configuration, STATS: "s.y,id,s"}
    assert made.metadata == msgspec.structs.replace(
        before.metadata, schema_string=compact(after), configuration=properties
    )
    assert made.guards[1] == GuardResult(
        "columns-left", "pass", {"columns": ["i", "s.x"], "detail": "2 columns are left."}
    )
    assert made.guards[-1] == GuardResult(
        "identity-columns",
        "warn",
        {"columns": ["i"], "detail": "i gave every row its number; its high-water mark is lost with it."},
        "Drop it only if nothing relies on its numbers.",
    )
    assert [(guard.name, guard.status) for guard in made.guards] == [
        *((name, "pass") for name in ("column-mapping", "columns-left", "partition-columns", "constraint-columns")),
        *((name, "pass") for name in ("generated-columns", "clustering-columns", "values-dropped")),
        ("identity-columns", "warn"),
    ]
    assert msgspec.structs.replace(made, metadata=None, guards=()) == Proposal(
        operation="DROP COLUMNS",
        parameters={"columns": '["i","s.x"]'},
        undo="Restore an earlier version: the files still hold the columns, but rows written since have none. Columns "
        "added later under the same names are new columns and start empty.",
    )


@pytest.mark.parametrize(
    ("columns", "detail", "remedy"),
    [
        (["s.x", "t.x"], "Nothing that holds a value would be left inside s, t.", "Drop the outer column instead."),
        (["s", "t"], "Only the partition columns would be left.", "Keep at least one more column."),
        (["s"], "2 columns are left.", None),
    ],
)
def test_what_a_drop_would_leave_is_said(columns: list[str], detail: str, remedy: str | None) -> None:
    kind = struct(field("p", "date"), field("s", struct(field("x"))), field("t", struct(field("x"))))
    before = mapped_table(kind)
    metadata = msgspec.structs.replace(before.metadata, partition_columns=("P",))
    made = proposal(small_logs.table({0: [MAPPED, metadata]}).snapshot(), "drop-columns", columns=columns)
    evidence = {"columns": columns, "detail": detail}
    assert made.guards[1] == GuardResult("columns-left", "pass" if remedy is None else "fail", evidence, remedy)
