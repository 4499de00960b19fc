"""What stands in a checkpoint: shapes that mean the same, parts that are absent, parts that nobody knows."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.actions import (
    Add,
    CheckpointMetadata,
    DomainMetadata,
    Sidecar,
    TransactionAction,
    encode_line,
)
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, lines, new_store, paths, table, vector

MAP = pa.map_(pa.string(), pa.string())
STATE = (MASKED, METADATA, add("a", vector=vector("v")), add("b"), TransactionAction(app_id="app", version=3))
UUIDS = ("0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002")


def _rows(store: LogStore, rows: list[dict[str, Any]], types: dict[str, pa.DataType], version: int = 0) -> None:
    """Write a classic checkpoint whose columns have exactly these types."""
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(list(types.items()))), sink)
    store.put_if_absent(checkpoint_name(version), sink.getvalue())


PROTOCOL_TYPE = pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()})
METADATA_TYPE = pa.struct({"id": pa.string(), "schemaString": pa.string(), "partitionColumns": pa.list_(pa.string())})
ROOT_ROWS: list[dict[str, Any]] = [
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {"metaData": {"id": METADATA.id, "schemaString": METADATA.schema_string, "partitionColumns": []}},
]
ROOT_TYPES = {"protocol": PROTOCOL_TYPE, "metaData": METADATA_TYPE}


@pytest.mark.conformance("CKPT-005", "REPLAY-001")
@pytest.mark.parametrize("shape", SHAPES)
def test_checkpoints_of_every_shape_give_the_state_of_the_commits(shape: Shape) -> None:
    plain = table({0: STATE, 1: (add("c"),)})
    store = new_store()
    write_checkpoint(store, 0, STATE, shape)
    by_checkpoint = table({1: (add("c"),)}, store).snapshot()
    assert paths(by_checkpoint) == paths(plain.snapshot())
    assert by_checkpoint.transactions == plain.snapshot().transactions
    assert by_checkpoint.protocol == plain.snapshot().protocol
    assert by_checkpoint.metadata == plain.snapshot().metadata


@pytest.mark.conformance("CKPT-005", "V2CKPT-009")
def test_of_several_checkpoints_of_a_version_any_gives_the_same_state() -> None:
    store = new_store()
    for shape in ("classic", "multi-part", "v2-json-sidecars"):
        write_checkpoint(store, 4, STATE, shape)
    for name in UUIDS:
        top = (CheckpointMetadata(version=4), *STATE)
        store.put_if_absent(f"_delta_log/{4:020d}.checkpoint.{name}.json", lines(top))
    keys = {checkpoint.parts[0].path for checkpoint in list_log(store).checkpoints}
    assert len(keys) == 5
    for _ in range(5):
        found = list_log(store).checkpoints
        assert paths(explorer.Table(store).snapshot(4)) == {("a", vector("v").unique_id), ("b", None)}
        assert explorer.Table(store).snapshot(4).transactions == {"app": 3}
        # Take away the one that was used, so that the next one has its turn.
        for part in found[-1].parts:
            store.delete(part.path)
        keys.discard(found[-1].parts[0].path)
    assert keys == set()


@pytest.mark.conformance("CKPT-003")
def test_without_its_second_part_a_checkpoint_gives_way_to_an_older_one() -> None:
    store = new_store()
    write_checkpoint(store, 2, [MASKED, METADATA, add("a")], "classic")
    _, second, _ = write_checkpoint(store, 3, [MASKED, METADATA, add("a lie")], "multi-part")
    store.delete(second)
    found = table({2: (), 3: (add("b"),)}, store)
    assert paths(found.snapshot()) == {("a", None), ("b", None)}
    segment = list_log(store).segment()
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 2


@pytest.mark.conformance("CKPT-010")
def test_columns_and_fields_that_a_checkpoint_lacks_are_null() -> None:
    store = new_store()
    file = pa.struct({"path": pa.string(), "partitionValues": MAP, "size": pa.int64(), "modificationTime": pa.int64()})
    row = {"add": {"path": "a", "partitionValues": [], "size": 5, "modificationTime": 1}}
    _rows(store, [*ROOT_ROWS, row], ROOT_TYPES | {"add": file})
    snapshot = explorer.Table(store).snapshot()
    (found,) = snapshot.files().to_pylist()
    absent = ("num_records", "dv_unique_id", "dv_cardinality", "base_row_id", "default_row_commit_version", "tags")
    assert {name: found[name] for name in absent} == dict.fromkeys(absent)
    assert (snapshot.transactions, snapshot.domain_metadata, snapshot.properties) == ({}, {}, {})
    assert snapshot.protocol.reader_features is None


@pytest.mark.conformance("CKPT-010")
def test_a_checkpoint_without_any_file_column_has_no_files() -> None:
    store = new_store()
    _rows(store, ROOT_ROWS, ROOT_TYPES)
    assert explorer.Table(store).snapshot().num_files == 0


@pytest.mark.conformance("CKPT-011")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "actions",
    [(METADATA, add("a")), (PROTOCOL, add("a")), (PROTOCOL, PROTOCOL, METADATA), (PROTOCOL, METADATA, METADATA)],
    ids=["no protocol", "no metadata", "two protocols", "two metadata"],
)
def test_a_checkpoint_without_one_protocol_and_one_metadata_is_corrupt(actions: tuple[Any, ...], shape: Shape) -> None:
    store = new_store()
    write_checkpoint(store, 0, actions, shape)
    with pytest.raises(IncompleteCheckpoint, match="instead of one each") as caught:
        explorer.Table(store).snapshot()
    assert caught.value.version == 0


@pytest.mark.conformance("CKPT-013")
def test_fifty_commits_need_no_checkpoint() -> None:
    commits: dict[int, Any] = {version: (add(f"f{version}"),) for version in range(50)}
    commits[0] = (PROTOCOL, METADATA, add("f0"))
    found = table(commits)
    assert found.version_range() == (0, 49)
    assert found.snapshot().num_files == 50


@pytest.mark.conformance("CKPT-019")
@pytest.mark.parametrize("with_text", [False, True])
def test_struct_statistics_serve_where_there_are_no_others(with_text: bool) -> None:
    store = new_store()
    bounds = pa.struct({"id": pa.int64()})
    parsed = pa.struct({"numRecords": pa.int64(), "minValues": bounds, "maxValues": bounds, "nullCount": bounds})
    members = {"path": pa.string(), "partitionValues": MAP, "size": pa.int64(), "modificationTime": pa.int64()}
    members |= {"stats_parsed": parsed} | ({"stats": pa.string()} if with_text else {})
    values = {"numRecords": 9, "minValues": {"id": -3}, "maxValues": {"id": 12}, "nullCount": {"id": 2}}
    file = {"path": "a", "partitionValues": [], "size": 5, "modificationTime": 1, "stats_parsed": values}
    if with_text:
        file["stats"] = json.dumps(values)
    _rows(store, [*ROOT_ROWS, {"add": file}], ROOT_TYPES | {"add": pa.struct(members)})
    snapshot = explorer.Table(store).snapshot()
    assert snapshot.num_records == 9
    (row,) = snapshot.column_ranges("id").to_pylist()
    assert (row["min"], row["max"], row["null_count"], row["num_records"]) == (-3, 12, 2, 9)


@pytest.mark.conformance("CKPT-026")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_null_partition_value_is_no_missing_one(shape: Shape) -> None:
    store = new_store()
    null = Add(path="null", partition_values={"p": None, "q": ""}, size=1, modification_time=1)
    none = Add(path="none", partition_values={"q": "x"}, size=1, modification_time=1)
    write_checkpoint(store, 0, [PROTOCOL, METADATA, null, none], shape)
    files = explorer.Table(store).snapshot().files()
    partitions = files["partition_values"].to_pylist(maps_as_pydicts="strict")
    values = dict(zip(files["path"].to_pylist(), partitions, strict=True))
    assert values == {"null": {"p": None, "q": ""}, "none": {"q": "x"}}


def test_files_under_another_name_than_path_are_no_files_of_a_checkpoint() -> None:
    store = new_store()
    rows = [*ROOT_ROWS, {"add": {"qath": "a", "size": 1}}]
    types = {"protocol": PROTOCOL_TYPE, "metaData": METADATA_TYPE}
    _rows(store, rows, {**types, "add": pa.struct({"qath": pa.string(), "size": pa.int64()})})
    with pytest.raises(IncompleteCheckpoint, match="its add has no path"):
        paths(explorer.Table(store).snapshot())


@pytest.mark.conformance("CKPT-011")
@pytest.mark.parametrize("content", [b"", b'{"checkpointMetadata":{"version":1}}\n'])
def test_an_emptied_checkpoint_is_no_table_without_files_even_where_its_state_is_known(content: bytes) -> None:
    store = new_store()
    (name,) = write_checkpoint(store, 1, [PROTOCOL, METADATA, add("a"), add("b")], "v2-json")
    found = table({0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),), 2: (add("c"),)}, store)
    store.delete(name)
    store.put_if_absent(name, content)
    # The state of version 0 is known when the others are asked for.
    assert paths(found.snapshot(0)) == {("a", None)}
    for version, live in ((1, "ab"), (2, "abc")):
        assert paths(found.snapshot(version)) == {(path, None) for path in live}, "the commits give them"
    store.delete(commit_name(1))
    again = explorer.Table(store)
    for version in (1, 2):
        with pytest.raises(IncompleteCheckpoint):
            paths(again.snapshot(version))


@pytest.mark.conformance("CKPT-010", "CKPT-026")
@pytest.mark.parametrize("shape", SHAPES)
def test_partition_values_that_are_missing_are_none_at_all_in_every_form(shape: Shape) -> None:
    bare = msgspec.structs.replace(add("b"), partition_values=None)
    store = new_store()
    write_checkpoint(store, 0, [PROTOCOL, METADATA, add("a"), bare, add("c")], shape)
    for columns in (["path", "partition_values"], ["partition_values"]):
        found = explorer.Table(store).snapshot().files(columns).column("partition_values")
        assert (found.null_count, found.to_pylist()) == (0, [[], [], []])
    by_commit = table({0: (PROTOCOL, METADATA, add("a"), bare, add("c"))})
    assert by_commit.snapshot().files().column("partition_values").to_pylist() == [[], [], []]


@pytest.mark.conformance("CKPT-030")
def test_columns_and_fields_of_newer_writers_are_passed_over() -> None:
    store = new_store()
    new = pa.struct({"deep": pa.list_(pa.struct({"x": pa.int32()}))})
    file = pa.struct(
        {
            "path": pa.string(),
            "some_new_field": new,
            "partitionValues": MAP,
            "size": pa.int64(),
            "modificationTime": pa.int64(),
            "stats_parsed": pa.struct({"numRecords": pa.int64(), "bloom": pa.binary()}),
        }
    )
    protocol = pa.struct({**{field.name: field.type for field in PROTOCOL_TYPE}, "mood": pa.string()})
    add_row = {"path": "a", "size": 1, "modificationTime": 1, "partitionValues": []}
    rows: list[dict[str, Any]] = [
        *ROOT_ROWS,
        {"add": add_row | {"some_new_field": {"deep": [{"x": 1}]}, "stats_parsed": {"numRecords": 4, "bloom": b"\0"}}},
        {"weather": {"rain": 3}},
    ]
    types = ROOT_TYPES | {"protocol": protocol, "add": file, "weather": pa.struct({"rain": pa.int64()})}
    _rows(store, rows, types)
    snapshot = explorer.Table(store).snapshot()
    assert paths(snapshot) == {("a", None)}
    assert snapshot.num_records == 4


def _sidecar_table(root: Path, where: str, sidecar_folder: Path) -> explorer.Table:
    """A v2 checkpoint whose only file stands in a sidecar, named in the log as ``where``."""
    (root / "_delta_log").mkdir(parents=True)
    sidecar_folder.mkdir(parents=True)
    sink = io.BytesIO()
    file = pa.struct({"path": pa.string(), "partitionValues": MAP, "size": pa.int64(), "modificationTime": pa.int64()})
    row = {"add": {"path": "from the sidecar", "partitionValues": [], "size": 5, "modificationTime": 1}}
    pq.write_table(pa.Table.from_pylist([row], schema=pa.schema([("add", file)])), sink)
    (sidecar_folder / "a b%20c.parquet").write_bytes(sink.getvalue())
    (sidecar_folder / "not referenced.parquet").write_bytes(b"not Parquet at all")
    top = (CheckpointMetadata(version=0), MASKED, METADATA, Sidecar(path=where, size_in_bytes=1, modification_time=1))
    (root / "_delta_log" / f"{0:020d}.checkpoint.{UUIDS[0]}.json").write_bytes(lines(top))
    return explorer.open_table(root)


@pytest.mark.conformance("V2CKPT-006", "V2CKPT-007")
def test_a_bare_sidecar_name_is_decoded_once_and_lies_in_the_sidecar_folder(tmp_path: Path) -> None:
    root = tmp_path / "t"
    found = _sidecar_table(root, "a%20b%2520c.parquet", root / "_delta_log" / "_sidecars")
    assert paths(found.snapshot()) == {("from the sidecar", None)}


@pytest.mark.conformance("V2CKPT-006")
def test_a_full_sidecar_path_is_taken_as_it_is(tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    where = (elsewhere / "a b%20c.parquet").as_uri()
    assert paths(_sidecar_table(tmp_path / "t", where, elsewhere).snapshot()) == {("from the sidecar", None)}


@pytest.mark.conformance("V2CKPT-007")
def test_a_missing_sidecar_sends_the_reader_to_the_commits() -> None:
    store = new_store()
    *_, checkpoint = write_checkpoint(store, 1, [MASKED, METADATA, add("a"), add("b")], "v2-sidecars")
    store.delete("_delta_log/_sidecars/1-1.parquet")
    found = table({0: (MASKED, METADATA, add("a")), 1: (add("b"),)}, store)
    assert store.head(checkpoint).size
    assert paths(found.snapshot()) == {("a", None), ("b", None)}


@pytest.mark.conformance("V2CKPT-008")
def test_a_checkpoint_under_the_classic_name_may_have_sidecars() -> None:
    store = new_store()
    names = write_checkpoint(store, 3, STATE, "v2-sidecars")
    store.put_if_absent(checkpoint_name(3), store.read(names[-1]))
    store.delete(names[-1])
    snapshot = explorer.Table(store).snapshot()
    assert paths(snapshot) == {("a", vector("v").unique_id), ("b", None)}


@pytest.mark.conformance("V2CKPT-013")
def test_a_checkpoint_in_json_is_lines_of_actions_in_any_order() -> None:
    store = new_store()
    top = (add("a"), DomainMetadata(domain="d", configuration="1"), METADATA, CheckpointMetadata(version=5), MASKED)
    unknown = b'{"weather":{"rain":3}}'
    text = b"\n".join([*(encode_line(action) for action in top), unknown])
    store.put_if_absent(f"_delta_log/{5:020d}.checkpoint.{UUIDS[0]}.json", text.replace(b"\n", b"\r\n"))
    snapshot = explorer.Table(store).snapshot()
    assert paths(snapshot) == {("a", None)}
    assert snapshot.domain_metadata == {"d": "1"}


@pytest.mark.conformance("LASTCKPT-003", "LASTCKPT-004", "LASTCKPT-007")
@pytest.mark.parametrize(
    "hint",
    [
        b'{"version":10,"size":4,"checksum":"13bf9a6d2d4b4b8b83d5bc2fc9b54dc1"}',
        b'{"version":10,"size":4',
        b'{"version":12,"size":4}',
        b'{"version":20,"size":4,"parts":3}',
        b'{"version":10,"size":4}',
        b"\xff\xfe",
    ],
    ids=["a digit flipped", "truncated", "no checkpoint there", "an incomplete one", "stale", "no text"],
)
def test_a_hint_of_any_kind_leads_to_the_newest_version(hint: bytes) -> None:
    store = new_store()
    write_checkpoint(store, 10, [MASKED, METADATA, add("f10")], "classic")
    write_checkpoint(store, 20, [MASKED, METADATA, add("f10"), add("f20")], "v2-json")
    parts = write_checkpoint(store, 20, [MASKED, METADATA, add("a lie")], "multi-part")
    store.delete(parts[1])
    store.put_if_absent("_delta_log/_last_checkpoint", hint)
    commits: dict[int, Any] = dict.fromkeys(range(10, 26), ())
    commits[20] = (add("f20"),)
    commits[25] = (add("f25"),)
    found = table(commits, store)
    assert found.latest_version() == 25
    assert paths(found.snapshot()) == {("f10", None), ("f20", None), ("f25", None)}
    assert paths(found.snapshot(11)) == {("f10", None)}
    assert commit_name(25) in {item.path for item in store.list_from("_delta_log")}
