"""Adding, renaming, dropping and moving columns, and their comments."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import DomainMetadata
from explorer.core.protocol.schema.data_types import StructType
from explorer.core.protocol.schema.nested_types import walk
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add
from tests.support.logs.small_proposals import proposal, protocol, snapshot
from tests.support.logs.small_schemas import (
    MAPPED,
    NESTED,
    array,
    column,
    configuration,
    failed,
    field,
    guard,
    mapped,
    mapped_table,
    mapping,
    plain_table,
    schema_of,
    shape,
    struct,
)

FED = {"delta.enableChangeDataFeed": "true"}
TRACKED = protocol(2, 7, w="columnMapping columnMappingUsageTracking invariants appendOnly")
CLUSTERED = protocol(2, 7, w="columnMapping domainMetadata clustering invariants appendOnly")


def _clustering(*paths: list[str]) -> DomainMetadata:
    return DomainMetadata(domain="delta.clustering", configuration=json.dumps({"clusteringColumns": paths}))


# --- adding -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "names", "text"),
    [
        (None, ["id", "s", "l", "m", "p", "a", "b"], None),
        ("last", ["id", "s", "l", "m", "p", "a", "b"], None),
        ("first", ["a", "b", "id", "s", "l", "m", "p"], "FIRST"),
        ("after S", ["id", "s", "a", "b", "l", "m", "p"], "AFTER s"),
        ("AFTER `id`", ["id", "a", "b", "s", "l", "m", "p"], "AFTER id"),
        (0, ["a", "b", "id", "s", "l", "m", "p"], "FIRST"),
        (2, ["id", "s", "a", "b", "l", "m", "p"], "AFTER s"),
    ],
)
def test_columns_come_where_they_are_asked_for(at: Any, names: list[str], text: str | None) -> None:
    made = proposal(plain_table(), "add-columns", fields=[field("a"), field("b", "date")], at=at)
    assert [item.name for item in schema_of(made).fields] == names
    columns = json.loads(made.parameters["columns"])
    assert columns[0].get("position") == text
    assert failed(made) == []


@pytest.mark.parametrize("at", ["", "middle", "after", "after nope", -1, 6, 99])
def test_a_position_that_is_none_names_those_that_are(at: Any) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(plain_table(), "add-columns", fields=[field("a")], at=at)
    assert caught.value.field == "at"
    assert "after s" in caught.value.allowed


@pytest.mark.conformance("CM-007", "CM-009", "CM-010", "CM-014")
def test_new_columns_get_ids_above_all_and_names_of_their_own_at_every_depth() -> None:
    kind = struct(field("a", struct(field("b"))), field("c", array(struct(field("d")))))
    made = proposal(
        mapped_table(), "add-columns", fields=[field("l.element.n"), field("new", kind), field("m.value.n")]
    )
    ids = {name: column(made, name).field_id for name in ("l.element.n", "new", "new.a", "new.a.b", "new.c")}
    assert ids == {"l.element.n": 21, "new": 22, "new.a": 23, "new.a.b": 24, "new.c": 25}
    assert column(made, "new.c.element.d").field_id == 26
    assert column(made, "m.value.n").field_id == 27
    assert configuration(made)["delta.columnMapping.maxColumnId"] == "27"
    physical = [column(made, name).physical_name for name in (*ids, "m.value.n")]
    assert all(name.startswith("col-0000") for name in physical)
    assert len({*physical}) == len(physical)
    assert column(made, "id").physical_name == "col-1"
    assert [item["column"]["metadata"] for item in json.loads(made.parameters["columns"])] == [{}, {}, {}]


@pytest.mark.conformance("CM-009")
def test_the_highest_id_counts_even_where_the_property_is_behind_or_absent() -> None:
    before = mapped_table(properties={"delta.columnMapping.maxColumnId": "9"})
    assert column(proposal(before, "add-columns", fields=[field("a")]), "a").field_id == 10
    with pytest.raises(InvalidIntent, match="no column ids left"):
        proposal(
            mapped_table(properties={"delta.columnMapping.maxColumnId": str(2**31 - 1)}),
            "add-columns",
            fields=[field("a")],
        )


@pytest.mark.conformance("META-009", "META-005", "SCHEMA-007")
def test_whatever_is_not_named_stays() -> None:
    before = plain_table(properties={"free": "text", "delta.unheardOf": "1"})
    made = proposal(before, "add-columns", fields=[field("a")])
    assert made.metadata is not None
    assert made.metadata.id == before.metadata.id
    assert made.metadata.unknown == {"kept": {"by": "all"}}
    assert configuration(made) == {"free": "text", "delta.unheardOf": "1"}
    assert column(made, "id").metadata == {"comment": "the key", "kept": 7}


@pytest.mark.conformance("SCHEMA-008", "SCHEMA-010")
@pytest.mark.parametrize("name", ["ID", "s.X", "l.element.Q", "`p`"])
def test_a_taken_name_is_refused_ignoring_case(name: str) -> None:
    with pytest.raises(InvalidIntent, match="already") as caught:
        proposal(plain_table(), "add-columns", fields=[field(name)])
    assert caught.value.field == "fields"


@pytest.mark.conformance("SCHEMA-008")
def test_names_are_unique_among_the_new_ones_and_inside_them_too() -> None:
    with pytest.raises(InvalidIntent, match="already"):
        proposal(plain_table(), "add-columns", fields=[field("a"), field("A")])
    with pytest.raises(InvalidIntent, match="already"):
        proposal(plain_table(), "add-columns", fields=[field("a", struct(field("b"), field("B")))])


@pytest.mark.conformance("SCHEMA-009")
@pytest.mark.parametrize("letter", " ,;{}()\n\t=")
def test_without_mapping_some_letters_may_not_stand_in_a_name(letter: str) -> None:
    kind = struct(field(f"in{letter}side"))
    for fields in ([field(f"`a{letter}b`")], [field("a", kind)]):
        assert failed(proposal(plain_table(), "add-columns", fields=fields)) == ["column-names"]
        assert failed(proposal(mapped_table(), "add-columns", fields=fields)) == []


@pytest.mark.conformance("CDF-016")
def test_columns_of_the_change_feed_are_taken_while_it_is_on() -> None:
    fed = mapped_table(properties=FED)
    for name in ("_change_type", "_Commit_Version", "_commit_timestamp"):
        assert failed(proposal(fed, "add-columns", fields=[field(name)])) == ["column-names"]
        assert failed(proposal(mapped_table(), "add-columns", fields=[field(name)])) == []
    assert failed(proposal(fed, "rename-column", column="id", to="_change_type")) == ["column-names"]
    assert failed(proposal(fed, "add-columns", fields=[field("s._change_type")])) == []
    bearing = plain_table(struct(field("_change_type")))
    assert failed(proposal(bearing, "set-properties", properties=FED)) == ["column-names"]


def test_a_parent_that_is_no_struct_or_not_there_is_refused() -> None:
    for name in ("id.a", "l.a", "m.key.a", "nope.a", "s.nope.a"):
        with pytest.raises(InvalidIntent) as caught:
            proposal(plain_table(), "add-columns", fields=[field(name)])
        assert caught.value.field == "fields"


@pytest.mark.conformance("DEFCOL-002", "SCHEMA-007")
@pytest.mark.parametrize(
    "metadata",
    [
        {"CURRENT_DEFAULT": "1"},
        {"EXISTS_DEFAULT": "1"},
        {"delta.columnMapping.id": 1},
        {"delta.generationExpression": "id"},
        {"delta.identity.start": 1},
        {"delta.typeChanges": []},
        {"__CHAR_VARCHAR_TYPE_STRING": "char(1)"},
    ],
)
def test_metadata_of_the_protocol_cannot_be_given(metadata: dict[str, Any]) -> None:
    for given in (field("a", metadata=metadata), field("a", struct(field("b", metadata=metadata)))):
        with pytest.raises(InvalidIntent) as caught:
            proposal(plain_table(), "add-columns", fields=[given])
        assert caught.value.found in metadata


@pytest.mark.parametrize(
    "given",
    [
        {"name": "a"},
        {"type": "long"},
        {"name": 1, "type": "long"},
        {"name": "", "type": "long"},
        {"name": "a..b", "type": "long"},
        {"name": "a", "type": "lnog"},
        {"name": "a", "type": "decimal(39,1)"},
        {"name": "a", "type": {"type": "array"}},
        {"name": "a", "type": None},
        {"name": "a", "type": "long", "nullable": "no"},
        {"name": "a", "type": "long", "metadata": [1]},
        {"name": "a", "type": "long", "coment": "typo"},
        {"name": "a", "type": struct({"name": "b", "type": "long", "coment": "typo", "metadata": {}})},
        {"name": "a", "type": array("void")},
        {"name": "a", "type": struct(field("b", "void"))},
        {"name": "a", "type": "long", "metadata": {"comment": "\ud800"}},
    ],
)
def test_what_is_no_field_is_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(plain_table(), "add-columns", fields=[given])
    assert caught.value.field == "fields"


@pytest.mark.conformance("CONSTR-014", "SCHEMA-006")
def test_not_null_needs_a_table_without_files() -> None:
    strict = [field("a", struct(field("b", nullable=False)))]
    empty = proposal(plain_table(), "add-columns", fields=strict)
    assert guard(empty, "existing-rows").status == "pass"
    assert empty.reads_files
    full = proposal(snapshot(add("a.parquet"), schema=json.dumps(NESTED)), "add-columns", fields=strict)
    assert failed(full) == ["existing-rows"]
    assert guard(full, "existing-rows").evidence["columns"] == ["a.b"]
    with pytest.raises(InvalidIntent, match="array or a map"):
        proposal(plain_table(), "add-columns", fields=[field("a", array(struct(field("b", nullable=False))))])


def test_types_bring_their_features_along() -> None:
    fields = [field("a", "timestamp_ntz"), field("b", array("variant"))]
    made = proposal(plain_table(), "add-columns", fields=fields)
    assert made.protocol is not None
    assert {*(made.protocol.reader_features or ())} == {"timestampNtz", "variantType"}
    assert proposal(plain_table(), "add-columns", fields=[field("a")]).protocol is None
    preview = plain_table(rules=protocol(3, 7, r="variantType-preview", w="variantType-preview appendOnly invariants"))
    assert proposal(preview, "add-columns", fields=[field("b", "variant")]).protocol is None


@pytest.mark.conformance("SCHEMA-021")
def test_lengths_of_texts_stand_beside_the_type() -> None:
    kind = struct(field("v", "varchar(4)"), field("n", mapping("long", "char(2)")))
    made = proposal(plain_table(), "add-columns", fields=[field("c", "char(3)"), field("d", kind)])
    assert column(made, "c").metadata == {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}
    assert column(made, "d").metadata == {"__CHAR_VARCHAR_TYPE_STRING": "struct<v:varchar(4),n:map<bigint,char(2)>>"}
    assert shape(made).endswith("c:string,d:struct<v:string,n:map<long,string>>>")
    assert [item["column"]["type"] for item in json.loads(made.parameters["columns"])] == ["char(3)", "struct"]


def test_fields_inside_a_column_that_spells_out_its_lengths_are_left_alone() -> None:
    spelt = struct(
        field(
            "d",
            struct(field("v", "string"), field("n", "short")),
            metadata={"__CHAR_VARCHAR_TYPE_STRING": "struct<v:char(2)>"},
        )
    )
    table = mapped_table(spelt)
    assert failed(proposal(table, "add-columns", fields=[field("d.w")])) == ["char-types"]
    assert failed(proposal(table, "rename-column", column="d.v", to="w")) == ["char-types"]
    assert failed(proposal(table, "rename-column", column="d", to="w")) == []
    assert failed(proposal(table, "move-column", column="d.v", at="last")) == ["char-types"]


@pytest.mark.conformance("CMUSAGE-001", "CMUSAGE-002")
def test_usage_tracking_names_columns_plainly_until_the_first_drop_or_rename() -> None:
    flag = "delta.columnMapping.hasDroppedOrRenamed"
    clean = mapped_table(properties={flag: "false"}, rules=TRACKED)
    assert column(proposal(clean, "add-columns", fields=[field("a")]), "a").physical_name == "a"
    for change in ({"kind": "drop-columns", "columns": ["p"]}, {"kind": "rename-column", "column": "p", "to": "q"}):
        made = proposal(clean, change.pop("kind"), **change)
        assert configuration(made)[flag] == "true"
    used = mapped_table(properties={flag: "true"}, rules=TRACKED)
    assert column(proposal(used, "add-columns", fields=[field("a")]), "a").physical_name.startswith("col-")
    assert configuration(proposal(used, "rename-column", column="p", to="q"))[flag] == "true"
    untold = mapped_table(rules=TRACKED)
    assert column(proposal(untold, "add-columns", fields=[field("a")]), "a").physical_name.startswith("col-")


# --- renaming and dropping --------------------------------------------------------------------------------------------


@pytest.mark.conformance("CM-007", "CM-014")
@pytest.mark.parametrize(
    ("name", "to"), [("id", "key"), ("s", "t"), ("S.X", "z"), ("l.element.q", "a b"), ("m.value.k", "x.y")]
)
def test_a_rename_changes_the_logical_name_alone(name: str, to: str) -> None:
    before = mapped_table()
    made = proposal(before, "rename-column", column=name, to=to)
    assert failed(made) == []
    ids = {item.field_id: item.physical_name for _, item in walk(before.schema)}
    assert {item.field_id: item.physical_name for _, item in walk(schema_of(made))} == ids
    assert len({path for path, _ in walk(schema_of(made))} - {path for path, _ in walk(before.schema)}) >= 1


@pytest.mark.conformance("CM-013")
def test_renames_and_drops_need_column_mapping() -> None:
    assert failed(proposal(plain_table(), "rename-column", column="id", to="key")) == ["column-mapping"]
    assert failed(proposal(plain_table(), "drop-columns", columns=["id"])) == ["column-mapping"]


@pytest.mark.conformance("CM-001")
@pytest.mark.parametrize(
    ("rules", "counts"),
    [
        (protocol(1, 2), False),
        (protocol(1, 7, w="invariants"), False),
        (protocol(2, 5), True),
        (protocol(2, 6), True),
        (MAPPED, True),
        (protocol(3, 7, r="columnMapping", w="columnMapping"), True),
    ],
)
@pytest.mark.parametrize("mode", ["name", "id"])
def test_a_mapping_that_the_protocol_does_not_allow_counts_for_no_change(rules: Any, counts: bool, mode: str) -> None:
    before = mapped_table(properties={"delta.columnMapping.mode": mode}, rules=rules)
    assert failed(proposal(before, "rename-column", column="id", to="key")) == ([] if counts else ["column-mapping"])
    added = column(proposal(before, "add-columns", fields=[field("a")]), "a").metadata
    assert ("delta.columnMapping.id" in added) is counts
    assert ("delta.columnMapping.physicalName" in added) is counts


def test_properties_and_partition_columns_follow_a_rename() -> None:
    before = mapped_table(properties={"delta.dataSkippingStatsColumns": "id,s.x,`p`"})
    made = proposal(before, "rename-column", column="s", to="t u")
    assert configuration(made)["delta.dataSkippingStatsColumns"] == "id,`t u`.x,p"
    dropped = proposal(before, "drop-columns", columns=["s", "id"])
    assert configuration(dropped)["delta.dataSkippingStatsColumns"] == "p"
    assert "delta.dataSkippingStatsColumns" not in configuration(
        proposal(mapped_table(properties={"delta.dataSkippingStatsColumns": "p"}), "drop-columns", columns=["p"])
    )


@pytest.mark.parametrize("to", ["", "ID", "s"])
def test_a_rename_to_a_name_that_cannot_be_is_refused(to: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(mapped_table(), "rename-column", column="id", to=to)
    assert caught.value.field == "to"


@pytest.mark.parametrize("name", ["nope", "s.nope", "id.x", "l.q", "", "a..b", "`open"])
def test_a_column_that_is_not_there_is_refused(name: str) -> None:
    for kind, rest in (
        ("rename-column", {"to": "z"}),
        ("move-column", {"at": "first"}),
        ("set-column-comment", {"comment": "c"}),
        ("set-not-null", {}),
        ("widen-type", {"type": "long"}),
    ):
        with pytest.raises(InvalidIntent) as caught:
            proposal(mapped_table(), kind, column=name, **rest)
        assert caught.value.field == "column"


def test_the_inside_of_an_array_or_map_is_no_column_of_its_own() -> None:
    for name in ("l.element", "m.key", "m.value"):
        with pytest.raises(InvalidIntent, match="inside an array or a map"):
            proposal(mapped_table(), "rename-column", column=name, to="z")


@pytest.mark.conformance("CONSTR-012", "CM-013")
@pytest.mark.parametrize(
    ("expression", "touched", "free"),
    [
        ("id > 0", ["id", "ID"], ["s", "p"]),
        ("s . x > 0", ["s", "s.x"], ["s.y", "id"]),
        ("s IS NOT NULL", ["s", "s.x", "s.y"], ["id"]),
        ("exists(l, e -> e.q > 0)", ["l", "l.element.q"], ["id"]),
        ("`id` > 0 -- p", ["id"], ["p"]),
        ("id = 'p'", ["id"], ["p"]),
        ("'open", ["id", "p", "s.x"], []),
    ],
)
def test_a_column_that_a_constraint_mentions_stays(expression: str, touched: list[str], free: list[str]) -> None:
    rules = protocol(2, 7, w="columnMapping checkConstraints invariants appendOnly")
    before = mapped_table(properties={"delta.constraints.c": expression}, rules=rules)
    for name in at_least_one(touched):
        assert failed(proposal(before, "rename-column", column=name, to="zz")) == ["constraint-columns"]
        assert "constraint-columns" in failed(proposal(before, "drop-columns", columns=[name]))
    for name in free:
        assert failed(proposal(before, "rename-column", column=name, to="zz")) == []
        assert failed(proposal(before, "drop-columns", columns=[name])) == []


@pytest.mark.conformance("CONSTR-012")
@pytest.mark.parametrize("text", ['{"expression":{"expression":"p > s.x"}}', "p > s.x"])
def test_a_column_that_an_invariant_mentions_stays(text: str) -> None:
    kind = struct(
        field("a", metadata={"delta.invariants": text}), field("p"), field("s", struct(field("x"), field("y")))
    )
    before = mapped_table(kind)
    assert failed(proposal(before, "rename-column", column="p", to="z")) == ["constraint-columns"]
    assert failed(proposal(before, "drop-columns", columns=["s"])) == ["constraint-columns"]
    assert failed(proposal(before, "drop-columns", columns=["a", "p"])) == []


@pytest.mark.conformance("CM-013", "CONSTR-012")
def test_a_column_that_another_is_computed_from_stays_and_the_computed_one_may_go() -> None:
    kind = struct(field("a"), field("b"), field("g", metadata={"delta.generationExpression": "a + 1"}))
    before = mapped_table(kind, rules=protocol(2, 7, w="columnMapping generatedColumns invariants appendOnly"))
    assert failed(proposal(before, "rename-column", column="a", to="z")) == ["generated-columns"]
    assert failed(proposal(before, "drop-columns", columns=["a"])) == ["generated-columns"]
    assert failed(proposal(before, "rename-column", column="g", to="z")) == []
    assert failed(proposal(before, "drop-columns", columns=["g"])) == []
    assert failed(proposal(before, "drop-columns", columns=["a", "g"])) == []
    nested = struct(
        field("s", struct(field("x"), field("y"))), field("g", metadata={"delta.generationExpression": "s.x + 1"})
    )
    before = mapped_table(nested, rules=protocol(2, 7, w="columnMapping generatedColumns invariants appendOnly"))
    for name in ("s", "S.X"):
        assert failed(proposal(before, "rename-column", column=name, to="z")) == ["generated-columns"]
        assert "generated-columns" in failed(proposal(before, "drop-columns", columns=[name]))
    assert failed(proposal(before, "rename-column", column="s.y", to="z")) == []
    assert failed(proposal(before, "drop-columns", columns=["s.y"])) == []


@pytest.mark.conformance("CM-013", "CM-015", "CLUSTER-001")
def test_clustering_columns_may_be_renamed_and_not_dropped() -> None:
    before = mapped_table(rules=CLUSTERED)
    clustered = snapshot(
        _clustering(["col-2", "col-3"]),
        rules=CLUSTERED,
        properties=before.metadata.configuration,
        schema=json.dumps(mapped(NESTED)),
    )
    for name in ("s", "s.x"):
        assert failed(proposal(clustered, "drop-columns", columns=[name])) == ["clustering-columns"]
        renamed = proposal(clustered, "rename-column", column=name, to="z")
        assert (failed(renamed), renamed.domains) == ([], ()), "the domain lists the name in the files, which stays"
    assert failed(proposal(clustered, "drop-columns", columns=["s.y"])) == []
    broken = snapshot(
        _clustering(["gone"]),
        rules=CLUSTERED,
        properties=before.metadata.configuration,
        schema=json.dumps(mapped(NESTED)),
    )
    assert guard(proposal(broken, "drop-columns", columns=["p"]), "clustering-columns").status == "unknown"


@pytest.mark.conformance("CM-013", "META-007")
def test_partition_columns_may_be_renamed_and_not_dropped() -> None:
    before = mapped_table()
    metadata = msgspec.structs.replace(before.metadata, partition_columns=("p",))
    partitioned = small_logs.table({0: [MAPPED, metadata]}).snapshot()
    assert failed(proposal(partitioned, "drop-columns", columns=["p"])) == ["partition-columns"]
    made = proposal(partitioned, "rename-column", column="P", to="day")
    assert made.metadata is not None
    assert made.metadata.partition_columns == ("day",)
    assert failed(proposal(partitioned, "drop-columns", columns=["id", "s", "l", "m"])) == ["columns-left"]


def test_something_is_left_of_every_struct() -> None:
    assert failed(proposal(mapped_table(), "drop-columns", columns=["l.element.q"])) == ["columns-left"]
    assert failed(proposal(mapped_table(), "drop-columns", columns=["s.x", "s.y"])) == ["columns-left"]
    assert failed(proposal(mapped_table(), "drop-columns", columns=["s.x"])) == []
    everything = ["id", "s", "l", "m", "p"]
    assert "columns-left" in failed(proposal(mapped_table(), "drop-columns", columns=everything))


@pytest.mark.parametrize("columns", [["id", "ID"], ["s", "s.x"], ["s.x", "S"]])
def test_columns_to_drop_stand_apart(columns: list[str]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(mapped_table(), "drop-columns", columns=columns)
    assert caught.value.field == "columns"


@pytest.mark.conformance("CM-009")
def test_a_drop_keeps_the_highest_id_and_the_same_name_later_is_another_column() -> None:
    made = proposal(mapped_table(), "drop-columns", columns=["p"])
    assert configuration(made)["delta.columnMapping.maxColumnId"] == "20"
    assert made.undo.startswith("Restore")


def test_an_identity_column_that_goes_is_told() -> None:
    keys = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}
    before = mapped_table(struct(field("i", "long", metadata=keys), field("v")))
    assert guard(proposal(before, "drop-columns", columns=["i"]), "identity-columns").status == "warn"


# --- places and comments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "names", "text"),
    [
        ("first", ["p", "id", "s", "l", "m"], "FIRST"),
        ("after id", ["id", "p", "s", "l", "m"], "AFTER id"),
        (1, ["id", "p", "s", "l", "m"], "AFTER id"),
    ],
)
def test_a_column_moves_among_its_siblings(at: Any, names: list[str], text: str) -> None:
    made = proposal(plain_table(), "move-column", column="p", at=at)
    assert [item.name for item in schema_of(made).fields] == names
    assert made.parameters["position"] == text


def test_a_column_inside_moves_among_those_beside_it() -> None:
    made = proposal(mapped_table(), "move-column", column="s.x", at="last")
    kind = column(made, "s").type
    assert isinstance(kind, StructType)
    assert [item.name for item in kind.fields] == ["y", "x"]
    assert json.loads(made.parameters["column"])["name"] == "s.x"
    assert made.parameters["position"] == "AFTER y"


@pytest.mark.parametrize("at", ["last", "after m", 4, "after p", "after s.x"])
def test_a_move_that_moves_nothing_or_nowhere_is_refused(at: Any) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(plain_table(), "move-column", column="p", at=at)
    assert caught.value.field == "at"


@pytest.mark.parametrize("comment", ["new", "", 'it\'s "quoted" `so`\n-- and; over two lines', None])
def test_a_comment_is_kept_as_given(comment: str | None) -> None:
    made = proposal(plain_table(), "set-column-comment", column="ID", comment=comment)
    kept = {} if comment is None else {"comment": comment}
    assert column(made, "id").metadata == {"kept": 7, **kept}
    assert json.loads(made.parameters["column"])["metadata"] == column(made, "id").metadata
    assert made.is_blind_append


def test_the_comment_that_is_there_is_no_change() -> None:
    with pytest.raises(InvalidIntent, match="already"):
        proposal(plain_table(), "set-column-comment", column="id", comment="the key")


@pytest.mark.parametrize(
    ("kind", "field_name", "fields"),
    [
        ("set-column-comment", "comment", {"column": "id", "comment": "half \ud800"}),
        ("rename-column", "to", {"column": "id", "to": "\udfff"}),
        ("widen-type", "type", {"column": "id", "type": "\ud800"}),
        ("set-description", "description", {"description": "\ud800"}),
    ],
)
def test_a_text_that_no_log_can_hold_is_refused_by_field(kind: str, field_name: str, fields: dict[str, str]) -> None:
    with pytest.raises(InvalidIntent) as caught:
        proposal(mapped_table(), kind, **fields)
    assert caught.value.field == field_name
