"""What the log says of data files: the actions of new and of old ones, their layout, and rules for their rows."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add, AddCDCFile, DeletionVectorDescriptor, DomainMetadata, Protocol, Remove
from explorer.core.protocol.schema.data_types import parse_schema
from explorer.core.protocol.sql.constants import quoted_column
from explorer.core.transaction.new_files.file_actions import adds, num_records, removes
from explorer.core.transaction.new_files.file_facts import NewFileFacts, Numbering
from explorer.core.transaction.new_files.layout import FileLayout, compression_codec, count_rows, stored_fields
from explorer.core.transaction.new_files.row_constraints import RowRule, row_rules
from tests.support.logs import small_logs
from tests.support.logs.small_logs import add, vector
from tests.support.logs.small_proposals import protocol, snapshot
from tests.support.logs.small_schemas import array, field, mapped, mapping, plain_table, struct

CODEC = "delta.parquet.compression.codec"
CODECS = ["snappy", "zstd", "gzip", "lz4", "lz4_raw", "brotli", "none", "uncompressed"]


def table(
    kind: dict[str, Any], *files: Add, by: tuple[str, ...] = (), rules: Protocol | None = None, **more: str
) -> explorer.Snapshot:
    metadata = msgspec.structs.replace(
        small_logs.METADATA, schema_string=json.dumps(kind), partition_columns=by, configuration=more
    )
    return small_logs.table({0: [rules or small_logs.MASKED, metadata, *files]}).snapshot()


# --- actions of files that are there ----------------------------------------------------------------------------------


def test_a_file_is_added_and_removed_with_all_that_its_last_add_said() -> None:
    vectors = vector("v", 3), DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 34, 2, None, 9)
    files = (
        add("a%20b", 5, tags={"t": "1", "n": None}, size=7, base_row_id=4, default_row_commit_version=2),
        add("c", None, vector=vectors[0], partition_values={"p": None}),
        add("d", vector=vectors[1], clustering_provider="liquid"),
    )
    found = snapshot(*files, rules=small_logs.MASKED).logical_files
    unknown: dict[tuple[str, str | None], Any] = {
        ("a b", None): {"house": {"x": 1}, "clusteringProvider": 5},
        ("c", vectors[0].unique_id): {"deletionVector": {"maxRowIndex": "9"}},
        ("d", vectors[1].unique_id): {
            "clusteringProvider": "liquid",
            "deletionVector": {"maxRowIndex": 9},
        },
    }
    again = adds(found, data_change=False, unknown=unknown)
    expected = [msgspec.structs.replace(file, data_change=False) for file in files]
    expected[0] = msgspec.structs.replace(expected[0], unknown={"house": {"x": 1}})
    assert list(again) == expected
    bare = adds(found, data_change=True)
    assert (bare[2].clustering_provider, bare[0].unknown, bare[1]) == (None, {}, files[1])
    assert bare[2].deletion_vector == msgspec.structs.replace(vectors[1], max_row_index=None)
    assert removes(found, now=11, data_change=True)[:2] == tuple(
        Remove(
            path=file.path,
            deletion_timestamp=11,
            data_change=True,
            extended_file_metadata=True,
            partition_values=file.partition_values,
            size=file.size,
            stats=file.stats,
            tags=file.tags,
            deletion_vector=file.deletion_vector,
            base_row_id=file.base_row_id,
            default_row_commit_version=file.default_row_commit_version,
        )
        for file in files[:2]
    )


@pytest.mark.parametrize(
    ("stats", "rows"), [(None, None), ('{"numRecords":0}', 0), ('{"numRecords":7}', 7), ("{", None)]
)
def test_rows_of_a_file_are_those_that_its_statistics_tell(stats: str | None, rows: int | None) -> None:
    assert num_records(msgspec.structs.replace(add("a"), stats=stats)) == rows


# --- the layout of new files ------------------------------------------------------------------------------------------

LAID = struct(field("Day", "date"), field("n", "long"), field("s", struct(field("x", "long"), field("y", "string"))))


def facts(location: str, *day: str | None) -> NewFileFacts:
    extremes = pa.record_batch({"n": [1, 9], "x": pa.array([None, None], pa.int64()), "y": ["a", "z"]})
    return NewFileFacts(location, day, 321, 1_234, 40, (0, 40, 2), extremes)


@pytest.mark.parametrize("mode", ["none", "name"])
def test_a_new_file_is_said_whole_under_the_names_in_the_files(mode: str) -> None:
    kind, own = (LAID, {}) if mode == "none" else (mapped(LAID), {"delta.columnMapping.mode": "name"})
    before = table(kind, by=("Day",), rules=protocol(2, 5), **own)
    layout = FileLayout.of(before)
    names = {"Day": "Day", "n": "n", "s": "s", "x": "x", "y": "y"}
    if mode == "name":
        names = {"Day": "col-1", "n": "col-2", "s": "col-3", "x": "col-4", "y": "col-5"}
    stats = {
        "numRecords": 40,
        "minValues": {names["n"]: 1, names["s"]: {names["y"]: "a"}},
        "maxValues": {names["n"]: 9, names["s"]: {names["y"]: "z"}},
        "nullCount": {names["n"]: 0, names["s"]: {names["x"]: 40, names["y"]: 2}},
        "tightBounds": True,
    }
    made = layout.add_of(facts("Day=2026-01-01/a b.parquet", "2026-01-01"))
    assert json.loads(made.stats or "") == stats
    assert msgspec.structs.replace(made, stats=None) == Add(
        path="Day=2026-01-01/a%20b.parquet",
        partition_values={names["Day"]: "2026-01-01"},
        size=321,
        modification_time=1_234,
        data_change=True,
    )
    assert layout.change_of(facts("_change_data/c d", None)) == AddCDCFile(
        path="_change_data/c%20d", partition_values={names["Day"]: None}, size=321
    )
    assert layout.folder_names() == (("Day",) if mode == "none" else None)
    assert [each.name for each in layout.stored] == ["n", "s"]


@pytest.mark.parametrize(
    ("rules", "wished", "held"),
    [
        (protocol(1, 7, w="materializePartitionColumns"), None, True),
        (protocol(1, 7, w="materializePartitionColumns"), "false", True),
        (protocol(1, 2), "true", True),
        (protocol(1, 2), "false", False),
        (protocol(1, 2), None, False),
    ],
)
def test_partition_columns_come_last_where_files_hold_them_and_are_not_described(
    rules: Protocol, wished: str | None, held: bool
) -> None:
    own = {} if wished is None else {"delta.writePartitionColumnsToParquet": wished}
    layout = FileLayout.of(table(LAID, by=("Day",), rules=rules, **own))
    assert layout.holds_partitions is held
    assert [each.name for each in layout.stored] == ["n", "s", *(["Day"] if held else [])]
    assert [path for path, _ in layout.described] == [("n",), ("s", "x"), ("s", "y")]


@pytest.mark.parametrize(
    ("codec", "found", "name"),
    [
        (None, "snappy", "a.snappy.parquet"),
        (" ZSTD ", "zstd", "a.zstd.parquet"),
        ("lz4_raw", "lz4", "a.lz4.parquet"),
        ("none", "none", "a.parquet"),
        ("uncompressed", "none", "a.parquet"),
    ],
)
def test_a_file_is_named_after_its_codec(codec: str | None, found: str, name: str) -> None:
    own: dict[str, Any] = {} if codec is None else {CODEC: codec}
    layout = FileLayout.of(table(LAID, **own))
    assert (layout.codec, layout.file_name("a")) == (found, name)


def test_a_codec_that_is_not_written_is_told_with_those_that_are() -> None:
    with pytest.raises(InvalidIntent) as refused:
        compression_codec({CODEC: "LZO"})
    assert str(refused.value) == (
        f"The table requires files compressed with 'LZO'; this program writes {', '.join(CODECS)}. Change the property "
        f"{CODEC}."
    )
    assert (refused.value.field, refused.value.allowed) == (CODEC, CODECS)


def test_clustering_columns_are_described_whatever_the_properties_say() -> None:
    none = {"delta.dataSkippingNumIndexedCols": "0"}
    names = [["s", "y"], ["n"]]
    domain = DomainMetadata(domain="delta.clustering", configuration=json.dumps({"clusteringColumns": names}))
    rules = protocol(1, 7, w="clustering domainMetadata")
    layout = FileLayout.of(snapshot(domain, rules=rules, schema=json.dumps(LAID), properties=none))
    assert layout.clustering == (("s", "y"), ("n",))
    assert [path for path, _ in layout.described] == [("n",), ("s", "y")]


def test_rows_of_a_file_are_counted_by_its_footer_wherever_it_is(tmp_path: Any) -> None:
    data = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2, 3]}), data)
    store = small_logs.new_store()
    store.put("a b.parquet", data.getvalue())
    (tmp_path / "far.parquet").write_bytes(data.getvalue())
    assert count_rows(store, "a b.parquet") == 3
    assert count_rows(store, (tmp_path / "far.parquet").as_uri()) == 3
    with pytest.raises(FileNotFoundError):
        count_rows(store, "gone.parquet")


VOID = struct(field("v", "void"))


@pytest.mark.parametrize(
    ("kind", "column", "why"),
    [
        (VOID, "c", "it has no other members"),
        (struct(field("a"), field("s", VOID)), "c.s", "it has no other members"),
        (array("void"), "c", "its values are void"),
        (mapping("long", "void"), "c", "its values are void"),
        (array(struct(field("a"), field("s", VOID))), "c.s", "it has no other members"),
        (mapping("long", array("void")), "c", "its values are void"),
        (struct(field("a"), field("v", "void")), None, None),
    ],
)
def test_void_that_files_cannot_hold_is_refused_by_its_column(kind: Any, column: str | None, why: str | None) -> None:
    schema = parse_schema(json.dumps(struct(field("p", "date"), field("c", kind), field("v", "void"))))
    if column is None:
        assert [each.name for each in stored_fields(schema, ["p"])] == ["c"]
        return
    with pytest.raises(InvalidIntent) as refused:
        stored_fields(schema, ["p"])
    assert str(refused.value) == f"The column {column} cannot be stored: {why}. Give it a type first."
    assert refused.value.column == column


def test_a_table_of_partition_columns_and_void_has_nothing_to_store() -> None:
    with pytest.raises(InvalidIntent) as refused:
        stored_fields(parse_schema(json.dumps(struct(field("p", "date"), field("v", "void")))), ("p",))
    assert str(refused.value) == "Every column of the table is void or a partition column: there is nothing to store."


@pytest.mark.parametrize(("first", "step", "rows", "last"), [(10, 3, 1, 10), (10, 3, 4, 19), (-2, -5, 3, -12)])
def test_the_last_row_is_a_whole_number_of_steps_from_the_first(first: int, step: int, rows: int, last: int) -> None:
    assert Numbering("i", first, step).last(rows) == last


# --- what every new row must satisfy ----------------------------------------------------------------------------------


def test_every_rule_for_rows_is_said_whole_and_in_order() -> None:
    strict = struct(field("y", nullable=False), field("z", {**array("long"), "containsNull": False}))
    deep = {**mapping("string", {**array(strict), "containsNull": False}), "valueContainsNull": True}
    before = plain_table(
        struct(
            field("a`b", "long", nullable=False, metadata={"delta.invariants": "`a``b` > 3"}),
            field("m", deep),
            field("t", {**mapping("string", struct(field("q"))), "valueContainsNull": False}),
            field("g", "long", metadata={"delta.generationExpression": "1 -- one"}),
            field("c", "string", __CHAR_VARCHAR_TYPE_STRING="char(2)"),
        ),
        properties={"delta.constraints.Low": "g > 0"},
        rules=protocol(1, 4),
    )
    inner = "item1.`y` IS NOT NULL AND coalesce(forall(item1.`z`, item2 -> item2 IS NOT NULL), true)"
    items = f"coalesce(forall(item0, item1 -> item1 IS NOT NULL AND (item1 IS NULL OR ({inner}))), true)"
    found = [msgspec.structs.replace(rule, stored=None) for rule in row_rules(before)]
    assert [rule for rule in found if rule.name != "m"] == [
        RowRule("not-null", "`a``b`", "`a``b` IS NOT NULL"),
        RowRule("not-null", "t", "coalesce(forall(map_values(`t`), item0 -> item0 IS NOT NULL), true)"),
        RowRule("length", "c", "coalesce(length(`c`) <= 2, true)"),
        RowRule("check", "Low", "g > 0"),
        RowRule("invariant", "`a``b`", "`a``b` > 3"),
        RowRule("generated", "g", "`g` <=> (\n1 -- one\n)"),
    ]
    [rule] = [rule.expression for rule in found if rule.name == "m"]
    assert rule == f"coalesce(forall(map_values(`m`), item0 -> {items}), true)"
    assert quoted_column(("a.b", "c`")) == "`a.b`.`c```"
