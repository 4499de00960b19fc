"""Proposals about constraints, properties, column mapping and the protocol, whole, with every guard's evidence."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.protocol.actions import DomainMetadata
from explorer.core.transaction.proposal import GuardResult, Proposal, RowCheck
from explorer.core.transaction.proposals.column_mapping import map_existing, with_usage_mark
from explorer.core.transaction.proposals.table_properties import changed_properties
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import compact, proposal, protocol, refused, snapshot
from tests.support.logs.small_schemas import (
    MAPPED,
    NAME,
    configuration,
    field,
    mapped,
    mapped_table,
    plain_table,
    struct,
)

MODE, HIGHEST = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
USED = "delta.columnMapping.hasDroppedOrRenamed"


# --- constraints ------------------------------------------------------------------------------------------------------


def test_a_new_constraint_is_said_whole() -> None:
    before = plain_table(struct(field("a", "long"), field("s", struct(field("x")))), properties={"own": "1"})
    made = proposal(before, "add-constraint", name="Of S", expression="s.x>0 AND exists(array(a), e -> e > 1)")
    expression = "s . x > 0 AND exists ( array ( a ) , e -> e > 1 )"
    assert made == Proposal(
        operation="ADD CONSTRAINT",
        parameters={"name": "Of S", "expr": expression},
        metadata=msgspec.structs.replace(
            before.metadata, configuration={"own": "1", "delta.constraints.of s": expression}
        ),
        protocol=protocol(1, 3),
        is_blind_append=False,
        reads_files=True,
        row_checks=(
            RowCheck(
                "existing-rows",
                "of s",
                expression,
                "Correct or delete the rows that do not satisfy it.",
                "Nor was the expression: if it is not valid SQL, no writer can add rows until the constraint is "
                "dropped.",
                "It is NULL for some of them: add OR ... IS NULL if these should pass.",
            ),
        ),
        guards=(
            GuardResult(
                "expression",
                "pass",
                {
                    "expression": expression,
                    "columns": ["s.x", "a"],
                    "detail": "All that it names are columns of the table.",
                },
            ),
        ),
        undo="Drop the constraint 'of s'.",
    )


@pytest.mark.parametrize(
    ("expression", "column", "hint", "nearest"),
    [
        ("pricee > 0", "pricee", " Did you mean price?", "price"),
        ("zzz > 0", "zzz", "", None),
    ],
)
def test_an_expression_of_no_column_is_refused_with_the_columns_there_are(
    expression: str, column: str, hint: str, nearest: str | None
) -> None:
    error = refused(
        plain_table(struct(field("price"), field("a b"))), "add-constraint", name="c", expression=expression
    )
    assert str(error) == (
        f"The expression {expression!r} names {column!r}, which is not a column of the table.{hint} "
        "Columns: price, `a b`."
    )
    assert (error.field, error.column, error.allowed, error.nearest) == (
        "expression",
        column,
        ["price", "a b"],
        nearest,
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x" * 255, None),
        ("x" * 256, "x" * 255),
        (" ", " "),
        ("a\tb", "a\tb"),
    ],
)
def test_a_name_of_a_constraint_can_be_shown(name: str, said: str | None) -> None:
    if said is None:
        made = proposal(snapshot(), "add-constraint", name=name, expression="id > 0")
        assert list(configuration(made)) == [f"delta.constraints.{name}"]
        return
    error = refused(snapshot(), "add-constraint", name=name, expression="id > 0")
    assert str(error) == f"A constraint's name must have 1 to 255 printable characters, unlike {said!r}."
    assert error.field == "name"


def test_a_constraint_that_is_there_is_named_as_it_is_spelt() -> None:
    before = snapshot(properties={"delta.constraints.Low": "id > 0", "delta.constraints.b": "id > 1"})
    error = refused(before, "add-constraint", name="LOW", expression="id > 1")
    assert str(error) == "There is already a constraint 'Low'. Drop it first, or choose another name."
    assert (error.field, error.found) == ("name", "Low")


def test_a_dropped_constraint_is_said_whole() -> None:
    properties = {"delta.constraints.a": "id > 0", "DELTA.constraints.Low": "id > 1", "own": "1"}
    before = snapshot(properties=properties, rules=protocol(1, 3))
    left = {"delta.constraints.a": "id > 0", "own": "1"}
    assert proposal(before, "drop-constraint", name="lOW") == Proposal(
        operation="DROP CONSTRAINT",
        parameters={"name": "lOW", "expr": "id > 1", "existed": "true"},
        metadata=msgspec.structs.replace(before.metadata, configuration=left),
        undo="Add the constraint 'Low' again with the expression id > 1, as long as all rows satisfy it.",
    )


@pytest.mark.parametrize(
    ("names", "said", "nearest"), [(("positive", "b"), "positive, b", "positive"), ((), "none", None)]
)
def test_a_constraint_that_is_not_there_is_told_with_those_that_are(
    names: tuple[str, ...], said: str, nearest: str | None
) -> None:
    before = snapshot(properties={f"delta.constraints.{name}": "id > 0" for name in names})
    error = refused(before, "drop-constraint", name="POSITIV")
    assert str(error) == f"There is no constraint 'POSITIV'. Constraints: {said}."
    assert (error.field, error.allowed, error.nearest) == ("name", list(names), nearest)


# --- column mapping ---------------------------------------------------------------------------------------------------


def test_a_mapping_that_is_switched_on_is_said_whole() -> None:
    kind = struct(field("id", "long"), field("s", struct(field("x"))))
    before = plain_table(kind, properties={"own": "1", HIGHEST: "4"}, rules=protocol(1, 7, w="appendOnly"))
    made = proposal(before, "set-column-mapping", mode=" NAME ")
    inner = field("x", metadata={"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "x"})
    after = struct(
        field("id", "long", metadata={"delta.columnMapping.id": 5, "delta.columnMapping.physicalName": "id"}),
        field("s", struct(inner), metadata={"delta.columnMapping.id": 6, "delta.columnMapping.physicalName": "s"}),
    )
    assert made == Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": compact({MODE: "name"})},
        metadata=msgspec.structs.replace(
            before.metadata, schema_string=compact(after), configuration={"own": "1", HIGHEST: "7", MODE: "name"}
        ),
        protocol=protocol(2, 7, w="appendOnly columnMapping"),
        guards=(
            GuardResult(
                "mapping-mode",
                "pass",
                {
                    "from": "none",
                    "to": "name",
                    "detail": "Existing files keep their column names, which become the physical names.",
                },
            ),
        ),
        undo="Going back to none rewrites every file; clients that read the table must know column mapping until then.",
    )
    assert proposal(snapshot(rules=protocol(2, 5)), "set-column-mapping", mode="name").protocol is None


@pytest.mark.parametrize(
    ("before", "after", "detail", "remedy"),
    [
        (
            "none",
            "id",
            "The existing files have no field ids, by which mode id finds columns. (CM-012)",
            "Use mode name, which works on an existing table.",
        ),
        (
            "name",
            "id",
            "Files and clients find columns by the mode they were written for. (CM-012)",
            "Keep the mode, or switch to none.",
        ),
    ],
)
def test_a_mapping_mode_that_files_cannot_follow_is_refused(before: str, after: str, detail: str, remedy: str) -> None:
    table = snapshot(rules=MAPPED) if before == "none" else mapped_table()
    evidence = {"from": before, "to": after, "detail": detail}
    found = proposal(table, "set-column-mapping", mode=after).guards
    assert found == (GuardResult("mapping-mode", "fail", evidence, remedy),)


@pytest.mark.parametrize(
    ("mode", "said"),
    [("Names", "'Names' is not a column mapping mode."), (" NONE", "The column mapping mode is already none.")],
)
def test_a_mapping_mode_that_is_none_or_there_already_is_refused(mode: str, said: str) -> None:
    error = refused(snapshot(), "set-column-mapping", mode=mode)
    assert (str(error), error.field, error.allowed) == (said, "mode", ["none", "name", "id"])


@pytest.mark.parametrize("files", [0, 2])
@pytest.mark.parametrize("name", ["a", "a b"])
def test_a_mapping_that_is_taken_away_is_said_whole(files: int, name: str) -> None:
    kind = struct(field(name, "long", kept=1), field("s", struct(field("x"))))
    own = {**NAME, HIGHEST: "3", "own": "1"}
    clustering = DomainMetadata(domain="delta.clustering", configuration='{"clusteringColumns":[["col-2","col-3"]]}')
    rules = protocol(2, 7, w="columnMapping domainMetadata clustering")
    before = snapshot(
        *(add(f"{number}") for number in range(files)),
        clustering,
        rules=rules,
        properties=own,
        schema=json.dumps(mapped(kind)),
    )
    detail = "There is no file to rewrite."
    remedy = None
    if files:
        detail = "2 files hold the columns under their physical names and would have to be rewritten (CM-012)."
        remedy = f"Let Spark do it: ALTER TABLE ... SET TBLPROPERTIES ('{MODE}' = 'none')."
    columns = {"columns": [f"`{name}`" if " " in name else name, "s", "s.x"]}
    names = GuardResult(
        "column-names", "pass", {**columns, "detail": "The names are free, valid and unique ignoring case."}
    )
    if " " in name:
        bad = "Without column mapping a name may not hold a blank, comma, semicolon, bracket, newline, tab or =."
        evidence = {**columns, "names": ["`a b`"], "detail": bad}
        names = GuardResult("column-names", "fail", evidence, "Rename these columns first.")
    mode = {"from": "name", "to": "none", "files": files, "detail": detail}
    logical = compact({"clusteringColumns": [["s", "x"]], "domainName": "delta.clustering"})
    assert proposal(before, "set-column-mapping", mode="none") == Proposal(
        operation="REMOVE COLUMN MAPPING",
        parameters={},
        metadata=msgspec.structs.replace(
            before.metadata, schema_string=compact(kind), configuration={"own": "1", MODE: "none"}
        ),
        domains=(DomainMetadata(domain="delta.clustering", configuration=logical),),
        is_blind_append=False,
        reads_files=True,
        guards=(GuardResult("mapping-mode", "fail" if files else "pass", mode, remedy), names),
        undo="Switch column mapping to name again.",
    )
    unclustered = mapped_table(struct(field(name, "long")))
    assert proposal(unclustered, "set-column-mapping", mode="none").domains == ()


@pytest.mark.parametrize(
    ("old", "new", "mode", "given", "said"),
    [
        ("appendOnly", "columnMappingUsageTracking", "none", None, "false"),
        ("appendOnly", "columnMappingUsageTracking", "none", "true", "true"),
        ("columnMapping", "columnMapping columnMappingUsageTracking", "name", None, "true"),
        ("columnMappingUsageTracking", "columnMappingUsageTracking", "none", None, None),
        ("appendOnly", "appendOnly", "none", None, None),
    ],
)
def test_a_table_that_begins_to_track_usage_says_what_was_before(
    old: str, new: str, mode: str, given: str | None, said: str | None
) -> None:
    before = mapped_table(rules=protocol(2, 7, w=old), properties={MODE: mode})
    told = {} if given is None else {USED: given}
    metadata = msgspec.structs.replace(before.metadata, configuration={**before.metadata.configuration, **told})
    after = with_usage_mark(metadata, protocol(2, 7, w=new), before)
    wanted = {**metadata.configuration, **({} if said is None else {USED: said})}
    assert after == msgspec.structs.replace(metadata, configuration=wanted)


@pytest.mark.parametrize(("given", "said"), [(None, "false"), ("true", "true")])
def test_a_mapped_table_that_tracks_usage_keeps_what_it_says(given: str | None, said: str) -> None:
    properties = {} if given is None else {USED: given}
    before = plain_table(rules=protocol(2, 7, w="columnMappingUsageTracking"), properties=properties)
    assert map_existing(before.metadata, before).configuration == {USED: said, HIGHEST: "9"}


# --- properties and the protocol --------------------------------------------------------------------------------------


def test_properties_are_said_whole() -> None:
    before = snapshot(properties={"a": "1", "b": "2"})
    made = proposal(before, "set-properties", properties={"b": "3", "DELTA.appendOnly": "true", "c": "4"})
    wanted = {"b": "3", "delta.appendOnly": "true", "c": "4"}
    assert made == Proposal(
        operation="SET TBLPROPERTIES",
        parameters={"properties": compact(wanted)},
        metadata=msgspec.structs.replace(before.metadata, configuration={"a": "1", **wanted}),
        undo="Set b to '2'; unset delta.appendOnly, c.",
    )


SET_MAPPING = proposal(snapshot(rules=protocol(3, 7, r="", w="")), "set-column-mapping", mode="name")


@pytest.mark.parametrize(
    ("kind", "fields", "undo"),
    [
        (
            "set-properties",
            {"properties": {"delta.columnMapping.mode": "name", "own": "1"}},
            f"Unset own. {SET_MAPPING.undo}",
        ),
        (
            "enable-feature",
            {"feature": "vacuumProtocolCheck"},
            "",
        ),
        ("set-properties", {"properties": {"comment": "abc"}}, "Remove the description."),
        ("unset-properties", {"keys": ["none"]}, "Nothing changes."),
    ],
)
def test_the_way_back_is_one_that_can_be_gone(kind: str, fields: dict[str, Any], undo: str) -> None:
    assert proposal(snapshot(rules=protocol(3, 7, r="", w="")), kind, **fields).undo == undo


def test_keys_that_change_are_told_with_both_values() -> None:
    before, after = {"a": "1", "b": "2", "c": "3"}, {"d": "4", "c": "3", "b": "5"}
    found = changed_properties(before, after)
    assert list(found.items()) == [("a", ("1", None)), ("b", ("2", "5")), ("d", (None, "4"))]


@pytest.mark.parametrize("key", ["comment", "own", "OWN", "delta.odd"])
def test_removed_properties_are_said_whole(key: str) -> None:
    own = {"own": "1", "delta.odd": "2", "delta.appendOnly": "true"}
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=own, description="d")
    before = small_logs.table({0: [small_logs.PROTOCOL, metadata]}).snapshot()
    left = {name: value for name, value in own.items() if name not in (key, "delta.appendOnly")}
    description = None if key == "comment" else "d"
    undo = "; ".join(f"set {name} to {value!r}" for name, value in own.items() if name not in left)
    undo += "; set the description to 'd'" if key == "comment" else ""
    assert proposal(before, "unset-properties", keys=[key, "DELTA.appendonly", key]) == Proposal(
        operation="UNSET TBLPROPERTIES",
        parameters={"properties": compact([key, "delta.appendOnly"]), "ifExists": True},
        metadata=msgspec.structs.replace(metadata, configuration=left, description=description),
        undo=f"S{undo[1:]}.",
    )
