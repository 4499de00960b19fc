"""Checkpoints of our own: what stands in them, under which names, in which order they appear."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.actions import Action, Add, CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction
from explorer.core.checkpoint_layout import CheckpointLayout, checkpoint_due, checkpoint_layout
from explorer.core.checkpoint_writer import WrittenCheckpoint, write_checkpoint
from explorer.core.errors import CorruptTable, UnsupportedFeature, VersionNotFound
from explorer.core.last_checkpoint import digests, parse_last_checkpoint
from explorer.core.log_segment import list_log
from explorer.core.paths import LAST_CHECKPOINT, checkpoint_name, commit_name
from explorer.core.ports import LogStore
from explorer.core.replay import TableState
from tests.checkpoints import write_checkpoint as write_foreign
from tests.logs import MASKED, METADATA, PROTOCOL, add, lines, new_store, paths, remove, table, vector, write

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
JSON_KEY, STRUCT_KEY = "delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"
V2 = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("v2Checkpoint", "deletionVectors"),
    writer_features=("v2Checkpoint", "deletionVectors", "domainMetadata"),
)
LAYOUTS = {
    "v1": CheckpointLayout("v1"),
    "v2": CheckpointLayout("v2"),
    "v2-json": CheckpointLayout("v2", top_level="json"),
    "v2-sidecars": CheckpointLayout("v2", most_inline=2, sidecar_rows=2),
    "v2-classic": CheckpointLayout("v2", classic_name=True, most_inline=0),
}
TYPED = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in {
                "n": "long",
                "d": "decimal(10,2)",
                "t": "timestamp",
                "day": "date",
                "yes": "boolean",
                "raw": "binary",
                "list": {"type": "array", "elementType": "long", "containsNull": True},
                "s": {
                    "type": "struct",
                    "fields": [{"name": "x", "type": "string", "nullable": True, "metadata": {}}],
                },
                "year": "integer",
                "at": "date",
            }.items()
        ],
    }
)
STATS = json.dumps(
    {
        "numRecords": 3,
        "minValues": {"n": 1, "d": 0.5, "t": "2020-01-01T00:00:00.000Z", "day": "2020-01-01", "s": {"x": "a"}},
        "maxValues": {"n": 9, "d": 7.25, "t": "2020-01-02T00:00:00.000Z", "day": "2020-01-02", "s": {"x": "z"}},
        "nullCount": {"n": 0, "d": 1, "t": 0, "day": 0, "yes": 2, "raw": 1, "list": 0, "s": {"x": 0}},
    }
)


def _metadata(properties: Mapping[str, str] | None = None, **more: Any) -> Metadata:
    return msgspec.structs.replace(METADATA, configuration=dict(properties or {}), **more)


def _log(*commits: Iterable[Action | bytes]) -> LogStore:
    store = new_store()
    write(store, dict(enumerate(commits)))
    return store


def _written(
    store: LogStore, layout: str | CheckpointLayout | None = None, now: datetime = NOW, version: int | None = None
) -> WrittenCheckpoint:
    chosen = LAYOUTS[layout] if isinstance(layout, str) else layout
    return write_checkpoint(store, list_log(store), version, now=now, new_uuid=uuid.uuid4, layout=chosen)


def _rows(store: LogStore, path: str) -> list[dict[str, Any]]:
    """The rows of a Parquet file as objects without nulls at their top."""
    found = pq.read_table(io.BytesIO(store.read(path))).to_pylist(maps_as_pydicts="strict")
    return [{name: item for name, item in row.items() if item is not None} for row in found]


def _adds(store: LogStore, path: str) -> list[dict[str, Any]]:
    return [row["add"] for row in _rows(store, path) if "add" in row]


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


RICH = (
    (CommitInfo(operation="CREATE TABLE"), V2, _metadata(), add("a"), add("b"), add("c%20d")),
    (
        remove("a"),
        SetTransaction(app_id="app", version=3, last_updated=5),
        DomainMetadata(domain="kept", configuration="{}"),
        DomainMetadata(domain="gone", configuration="{}"),
    ),
    (
        remove("b"),
        add("b", vector=vector("v1")),
        DomainMetadata(domain="gone", configuration="{}", removed=True),
        SetTransaction(app_id="app", version=4),
    ),
)
EARLY = datetime(1960, 1, 1, tzinfo=UTC)
"""By this clock nothing has expired."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.conformance("CKPT-007", "CKPT-008", "CKPT-022", "V2CKPT-004", "DOMAIN-003", "DOMAIN-005", "TXN-005")
def test_a_checkpoint_holds_the_whole_state_and_nothing_else(layout: str) -> None:
    store = _log(*RICH)
    before = explorer.Table(store).snapshot()
    written = _written(store, layout, EARLY)
    for version in range(3):
        store.delete(commit_name(version))
    after = explorer.Table(store).snapshot()
    assert paths(after) == paths(before) == {("b", vector("v1").unique_id), ("c d", None)}
    assert after.transactions == {"app": 4}
    assert after.domain_metadata == {"kept": "{}"}
    assert after.protocol == before.protocol
    assert after.metadata == before.metadata
    assert after.logical_files.drop(["data_change"]) == before.logical_files.drop(["data_change"])
    files = [written.path, *written.sidecars]
    rows = [row for path in files if path.endswith("parquet") for row in _rows(store, path)]
    kinds = {name for row in rows for name in row}
    assert kinds <= {"add", "remove", "protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar"}
    assert {row["remove"]["path"] for row in rows if "remove" in row} == {"a", "b"}


@pytest.mark.conformance("CKPT-009")
def test_every_row_is_one_action() -> None:
    store = _log(*RICH)
    rows = _rows(store, _written(store, "v2", EARLY).path)
    assert all(len(row) == 1 for row in rows)
    assert sorted(name for row in rows for name in row) == sorted(
        ["checkpointMetadata", "protocol", "metaData", "txn", "domainMetadata", "add", "add", "remove", "remove"]
    )


@pytest.mark.conformance("CKPT-001", "CKPT-015", "CKPT-002", "CKPT-014")
def test_a_v1_checkpoint_is_one_file_however_large() -> None:
    """No part is ever written, so none is named or filled wrongly."""
    store = _log((PROTOCOL, METADATA, *(add(f"f{number}") for number in range(70_000))))
    written = _written(store)
    assert written.path == "_delta_log/00000000000000000000.checkpoint.parquet"
    assert pq.ParquetFile(io.BytesIO(store.read(written.path))).metadata.num_row_groups == 2
    assert explorer.Table(store).snapshot().num_files == 70_000
    assert [found.path for found in store.list_from("_delta_log") if ".checkpoint" in found.path] == [written.path]


@pytest.mark.conformance("CKPT-006")
def test_a_version_without_a_commit_gets_no_checkpoint() -> None:
    store = _log((PROTOCOL, METADATA))
    with pytest.raises(VersionNotFound):
        _written(store, version=1)


@pytest.mark.conformance("CKPT-027", "CKPT-028")
def test_a_version_that_has_a_checkpoint_is_left_as_it_is() -> None:
    store = _log((PROTOCOL, METADATA, add("a")))
    listing = list_log(store)
    first = _written(store)
    data = store.read(first.path)
    assert _written(store).hint is None
    # A writer that listed before the other was done finds the name taken.
    late = write_checkpoint(store, listing, now=NOW, new_uuid=uuid.uuid4)
    assert late.hint is None
    assert store.read(first.path) == data


@pytest.mark.conformance("CKPT-007", "CKPT-023", "CKPT-025", "FILE-015")
def test_tombstones_stay_for_as_long_as_the_table_keeps_files() -> None:
    cut = NOW - timedelta(weeks=1)
    young = Add(path="young", size=7, modification_time=1, partition_values={"p": None}, base_row_id=3)
    store = _log(
        (PROTOCOL, METADATA, young, *(add(name) for name in ("old", "edge", "never", "back"))),
        (
            msgspec.structs.replace(
                remove("young"),
                deletion_timestamp=_ms(cut) + 1,
                extended_file_metadata=True,
                partition_values={"p": None},
                size=7,
                stats='{"numRecords":1}',
                tags={"k": "v"},
                base_row_id=3,
                default_row_commit_version=0,
            ),
            msgspec.structs.replace(remove("edge"), deletion_timestamp=_ms(cut)),
            msgspec.structs.replace(remove("old"), deletion_timestamp=_ms(cut) - 1),
            msgspec.structs.replace(remove("never"), deletion_timestamp=None),
            msgspec.structs.replace(remove("back"), deletion_timestamp=_ms(NOW)),
        ),
        (add("back"),),
    )
    written = _written(store)
    (tombstone,) = [row["remove"] for row in _rows(store, written.path) if "remove" in row]
    assert tombstone == {
        "path": "young",
        "deletionTimestamp": _ms(cut) + 1,
        "dataChange": False,
        "extendedFileMetadata": True,
        "partitionValues": {"p": None},
        "size": 7,
        "deletionVector": None,
        "baseRowId": 3,
        "defaultRowCommitVersion": 0,
    }


@pytest.mark.parametrize("shape", ["classic", "v2-json", "v2-sidecars"])
def test_tombstones_of_the_checkpoint_before_are_carried_until_they_expire_or_are_taken_back(shape: Any) -> None:
    store = new_store()
    old = [
        msgspec.structs.replace(remove(name, vector=mask), deletion_timestamp=_ms(NOW) - age)
        for name, mask, age in (
            ("kept", None, 1),
            ("expired", None, 9 * 86_400_000),
            ("readded", None, 1),
            ("masked", vector("v1"), 1),
            ("again", None, 8 * 86_400_000),
        )
    ]
    write_foreign(store, 4, (V2, METADATA, add("live"), *old), shape)
    again = msgspec.structs.replace(remove("again"), deletion_timestamp=_ms(NOW))
    write(store, {5: (add("readded"), add("masked"), again)})
    written = _written(store, "v2")
    found = {row["remove"]["path"]: row["remove"] for row in _rows(store, written.path) if "remove" in row}
    assert set(found) == {"kept", "masked", "again"}
    assert found["masked"]["deletionVector"]["pathOrInlineDv"] == vector("v1").path_or_inline_dv
    assert found["again"]["deletionTimestamp"] == _ms(NOW)


@pytest.mark.conformance("TXN-005", "TXN-006")
def test_transactions_expire_only_where_the_table_says_so() -> None:
    applications = [
        SetTransaction(app_id="young", version=1, last_updated=_ms(NOW) - 1),
        SetTransaction(app_id="old", version=2, last_updated=_ms(NOW) - 2 * 86_400_000),
        SetTransaction(app_id="timeless", version=3),
    ]
    keeping = _log((PROTOCOL, METADATA, *applications))
    dropping = _log((PROTOCOL, _metadata({"delta.setTransactionRetentionDuration": "interval 1 day"}), *applications))
    found = [
        {row["txn"]["appId"] for row in _rows(store, _written(store).path) if "txn" in row}
        for store in (keeping, dropping)
    ]
    assert found == [{"young", "old", "timeless"}, {"young"}]


@pytest.mark.parametrize(
    ("protocol", "lists"),
    [
        (PROTOCOL, (None, None)),
        (Protocol(min_reader_version=2, min_writer_version=5), (None, None)),
        (Protocol(min_reader_version=1, min_writer_version=7, writer_features=("appendOnly",)), (None, ["appendOnly"])),
        (V2, (list(V2.reader_features or ()), list(V2.writer_features or ()))),
    ],
)
@pytest.mark.conformance("CKPT-024")
def test_feature_lists_are_there_exactly_where_the_versions_ask_for_them(
    protocol: Protocol, lists: tuple[Any, Any]
) -> None:
    store = _log((protocol, METADATA))
    (found,) = [row["protocol"] for row in _rows(store, _written(store).path) if "protocol" in row]
    assert (found["readerFeatures"], found["writerFeatures"]) == lists


# --- statistics -------------------------------------------------------------------------------------------------------


def _with_statistics(properties: Mapping[str, str], schema: str = TYPED, stats: str = STATS) -> LogStore:
    metadata = _metadata(properties, schema_string=schema, partition_columns=("year", "at"))
    values: dict[str, str | None] = {"year": "2020", "at": None}
    file = Add(path="a", size=1, modification_time=1, stats=stats, partition_values=values)
    bare = Add(path="b", size=1, modification_time=1, partition_values={"year": "2021", "at": "2021-05-06"})
    return _log((PROTOCOL, metadata, file, bare))


@pytest.mark.conformance("CKPT-017", "CKPT-018", "WRITER-001")
@pytest.mark.parametrize("as_json", [None, "true", "false"])
@pytest.mark.parametrize("as_struct", [None, "true", "false"])
def test_statistics_are_written_in_the_forms_the_table_asks_for(as_json: str | None, as_struct: str | None) -> None:
    given = {JSON_KEY: as_json, STRUCT_KEY: as_struct}
    store = _with_statistics({key: value for key, value in given.items() if value is not None})
    file, bare = _adds(store, _written(store).path)
    assert file.get("stats") == (None if as_json == "false" else STATS)
    assert ("stats" in file) is (as_json != "false")
    assert ("stats_parsed" in file) is (as_struct == "true")
    assert bare.get("stats") is None
    assert bare.get("stats_parsed") is None


@pytest.mark.conformance("CKPT-016", "CKPT-018", "CKPT-020", "STATS-017")
def test_typed_statistics_have_the_types_of_their_columns() -> None:
    store = _with_statistics({STRUCT_KEY: "true"})
    path = _written(store).path
    kind = pq.read_schema(io.BytesIO(store.read(path))).field("add").type
    bounds = pa.struct(
        [
            ("n", pa.int64()),
            ("d", pa.decimal128(10, 2)),
            ("t", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("s", pa.struct([("x", pa.string())])),
        ]
    )
    counts = pa.struct(
        [(name, pa.int64()) for name in ("n", "d", "t", "day", "yes", "raw", "list")]
        + [("s", pa.struct([("x", pa.int64())]))]
    )
    assert kind.field("stats_parsed").type == pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", bounds),
            ("maxValues", bounds),
            ("nullCount", counts),
            ("tightBounds", pa.bool_()),
        ]
    )
    assert kind.field("partitionValues_parsed").type == pa.struct([("year", pa.int32()), ("at", pa.date32())])
    file, bare = _adds(store, path)
    assert file["stats_parsed"]["numRecords"] == 3
    assert file["stats_parsed"]["minValues"]["d"] == Decimal("0.50")
    assert file["stats_parsed"]["maxValues"] == {
        "n": 9,
        "d": Decimal("7.25"),
        "t": datetime(2020, 1, 2, tzinfo=UTC),
        "day": date(2020, 1, 2),
        "s": {"x": "z"},
    }
    assert file["stats_parsed"]["nullCount"]["yes"] == 2
    assert file["partitionValues_parsed"] == {"year": 2020, "at": None}
    assert bare["partitionValues_parsed"] == {"year": 2021, "at": date(2021, 5, 6)}


@pytest.mark.conformance("CKPT-021")
def test_typed_statistics_bear_physical_names() -> None:
    def mapped(name: str, kind: Any, physical: str, number: int) -> dict[str, Any]:
        keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
        return {"name": name, "type": kind, "nullable": True, "metadata": keys}

    inner = {"type": "struct", "fields": [mapped("x", "string", "col-3", 3)]}
    fields = [mapped("n", "long", "col-1", 1), mapped("s", inner, "col-2", 2), mapped("p", "long", "col-4", 4)]
    metadata = _metadata(
        {STRUCT_KEY: "true", "delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"},
        schema_string=json.dumps({"type": "struct", "fields": fields}),
        partition_columns=("p",),
    )
    stats = '{"numRecords":1,"minValues":{"col-1":5,"col-2":{"col-3":"k"}}}'
    file = Add(path="a", size=1, modification_time=1, stats=stats, partition_values={"col-4": "8"})
    store = _log((Protocol(min_reader_version=2, min_writer_version=5), metadata, file))
    (found,) = _adds(store, _written(store).path)
    assert found["partitionValues_parsed"] == {"col-4": 8}
    assert found["stats_parsed"]["minValues"] == {"col-1": 5, "col-2": {"col-3": "k"}}


@pytest.mark.conformance("CKPT-017", "CKPT-018")
@pytest.mark.parametrize(("before", "after"), [("true", "false"), ("false", "true")])
def test_statistics_outlive_a_change_of_their_form(before: str, after: str) -> None:
    """From text to struct and back: what one checkpoint holds in one form the next holds in the other."""
    store = _with_statistics({JSON_KEY: before, STRUCT_KEY: after})
    snapshot = explorer.Table(store).snapshot()
    ranges = [snapshot.column_ranges(name) for name in ("n", "d", "t", "day", "s.x")]
    _written(store)
    metadata = _metadata({JSON_KEY: after, STRUCT_KEY: before}, schema_string=TYPED, partition_columns=("year", "at"))
    write(store, {1: (metadata,)})
    _written(store)
    store.delete(commit_name(0))
    again = explorer.Table(store).snapshot()
    assert [again.column_ranges(name) for name in ("n", "d", "t", "day", "s.x")] == ranges


def test_statistics_that_are_broken_cost_only_their_own_file() -> None:
    store = _with_statistics({STRUCT_KEY: "true"}, stats='{"numRecords":3,"minValues":')
    file, _ = _adds(store, _written(store).path)
    assert file["stats"] == '{"numRecords":3,"minValues":'
    assert file["stats_parsed"] is None


# --- what is not known ------------------------------------------------------------------------------------------------


def test_fields_that_nobody_knows_stay_through_two_checkpoints() -> None:
    file = Add(
        path="a",
        size=1,
        modification_time=1,
        unknown={"newText": "t", "newNumber": 7, "newFlag": False, "newMap": {"k": "v"}, "newList": [1]},
        clustering_provider="liquid",
        tags={"INSERTION_TIME": "1", "nothing": None},
    )
    gone = msgspec.structs.replace(remove("x"), unknown={"why": "because"}, deletion_timestamp=_ms(NOW))
    metadata = msgspec.structs.replace(METADATA, unknown={"owner": "me"})
    transaction = SetTransaction(app_id="app", version=1, unknown={"host": "h"})
    store = _log((PROTOCOL, metadata, file, add("b"), gone, transaction))
    for version in (0, 1):
        written = _written(store)
        found, plain = _adds(store, written.path)
        assert {name: found[name] for name in ("newText", "newNumber", "newFlag", "newMap")} == {
            "newText": "t",
            "newNumber": 7,
            "newFlag": False,
            "newMap": {"k": "v"},
        }
        assert "newList" not in found
        assert plain["newText"] is None
        assert found["clusteringProvider"] == "liquid"
        assert found["tags"] == {"INSERTION_TIME": "1", "nothing": None}
        rows = {name: item for row in _rows(store, written.path) for name, item in row.items()}
        assert rows["remove"]["why"] == "because"
        assert rows["metaData"]["owner"] == "me"
        assert rows["txn"]["host"] == "h"
        write(store, {version + 1: (CommitInfo(operation="nothing"),)})


def test_a_field_of_two_types_is_left_out_of_the_column() -> None:
    first, second = (
        Add(path=name, size=1, modification_time=1, unknown={"odd": value}) for name, value in (("a", 1), ("b", "x"))
    )
    store = _log((PROTOCOL, METADATA, first, second))
    assert all("odd" not in found for found in _adds(store, _written(store).path))


@pytest.mark.conformance("CKPTPROT-002", "CATALOG-005")
@pytest.mark.parametrize("feature", ["fromTheFuture", "catalogManaged"])
def test_a_table_with_a_feature_that_is_not_known_gets_no_checkpoint(feature: str) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=(feature,))
    with pytest.raises(UnsupportedFeature) as caught:
        _written(_log((protocol, METADATA)))
    assert caught.value.features == [feature]


# --- V2 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("V2CKPT-001")
def test_the_policy_v2_counts_only_with_the_feature() -> None:
    def layout(protocol: Protocol, policy: str | None) -> CheckpointLayout:
        metadata = _metadata({} if policy is None else {"delta.checkpointPolicy": policy})
        return checkpoint_layout(TableState(protocol, metadata, {}, {}), 7)

    assert layout(V2, "v2") == CheckpointLayout("v2")
    assert layout(V2, "classic") == layout(V2, None) == layout(MASKED, "v2") == CheckpointLayout("v1")
    with pytest.raises(CorruptTable, match="checkpointPolicy"):
        layout(V2, "v3")
    with pytest.raises(UnsupportedFeature):
        _written(_log((MASKED, METADATA)), "v2")


@pytest.mark.conformance("V2CKPT-002", "V2CKPT-003", "V2CKPT-004", "V2CKPT-005", "V2CKPT-011")
@pytest.mark.parametrize("layout", ["v2", "v2-json", "v2-sidecars", "v2-classic"])
def test_v2_checkpoints_describe_themselves_and_name_their_sidecars(layout: str) -> None:
    store = _log((V2, METADATA, *(add(f"f{number}") for number in range(5))), (remove("f0"),))
    written = _written(store, layout, EARLY)
    names = {"v2": "parquet", "v2-json": "json", "v2-sidecars": "parquet"}
    if layout == "v2-classic":
        assert written.path == checkpoint_name(1)
    else:
        assert uuid.UUID(written.path.split(".")[2]).version == 4
        assert written.path.endswith(names[layout])
    if layout == "v2-json":
        rows = [json.loads(line) for line in store.read(written.path).splitlines()]
    else:
        rows = _rows(store, written.path)
    (own,) = [row["checkpointMetadata"] for row in rows if "checkpointMetadata" in row]
    assert own["version"] == 1
    sidecars = [row["sidecar"] for row in rows if "sidecar" in row]
    inside = [row for row in rows if "add" in row or "remove" in row]
    assert bool(inside) is (layout == "v2")
    assert len(sidecars) == {"v2": 0, "v2-json": 1, "v2-sidecars": 3, "v2-classic": 1}[layout]
    assert {f"_delta_log/_sidecars/{sidecar['path']}" for sidecar in sidecars} == set(written.sidecars)
    for sidecar in sidecars:
        key = f"_delta_log/_sidecars/{sidecar['path']}"
        assert store.head(key).size == sidecar["sizeInBytes"]
        assert set(pq.read_schema(io.BytesIO(store.read(key))).names) == {"add", "remove"}
    if sidecars:
        assert own["tags"]["sidecarNumActions"] == "5"
        assert own["tags"]["numOfAddFiles"] == "4"
    # The version before the checkpoint is gone: what the readers find is ours.
    store.delete(commit_name(0))
    store.delete(commit_name(1))
    assert {path for path, _ in paths(explorer.Table(store).snapshot())} == {f"f{number}" for number in range(1, 5)}


@pytest.mark.conformance("V2CKPT-010")
def test_every_tenth_v2_checkpoint_that_is_due_bears_the_classic_name() -> None:
    properties = {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"}
    store = _log((V2, _metadata(properties), add("a")))
    write(store, {version: (add(f"f{version}"),) for version in range(1, 41)})
    names = {version: _written(store, version=version).path for version in range(0, 41, 5)}
    assert [version for version, name in names.items() if name == checkpoint_name(version)] == [20, 40]


# --- the hint ---------------------------------------------------------------------------------------------------------


@pytest.mark.conformance(
    "LASTCKPT-001", "LASTCKPT-002", "LASTCKPT-006", "LASTCKPT-008", "LASTCKPT-009", "LASTCKPT-014", "V2CKPT-012"
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_hint_counts_what_was_written_and_carries_its_checksum(layout: str) -> None:
    store = _log(*RICH)
    written = _written(store, layout, EARLY)
    data = store.read(LAST_CHECKPOINT)
    value = json.loads(data)
    assert list(value)[:2] == ["version", "size"]
    assert value["checksum"] == digests(value)[0]
    assert parse_last_checkpoint(data) == written.hint
    rows = sum(
        len(store.read(path).splitlines()) if path.endswith("json") else len(_rows(store, path))
        for path in (written.path, *written.sidecars)
    )
    assert value["size"] == rows
    assert value["sizeInBytes"] == sum(store.head(path).size for path in (written.path, *written.sidecars))
    assert value["numOfAddFiles"] == 2
    if layout == "v1":
        assert "v2Checkpoint" not in value
    else:
        described = value["v2Checkpoint"]
        assert described["path"] == written.path.rpartition("/")[2]
        assert described["sizeInBytes"] == store.head(written.path).size
        assert {next(iter(action)) for action in described["nonFileActions"]} == {
            "checkpointMetadata",
            "protocol",
            "metaData",
            "txn",
            "domainMetadata",
        }
        assert len(described["sidecarFiles"]) == len(written.sidecars)


def test_the_hint_never_goes_back() -> None:
    store = _log((PROTOCOL, METADATA), (add("a"),), (add("b"),))
    _written(store, version=2)
    _written(store, version=1)
    hint = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert hint is not None
    assert hint.version == 2
    store.put(LAST_CHECKPOINT, b"no hint at all")
    write(store, {3: (add("c"),)})
    _written(store)
    repaired = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert repaired is not None
    assert repaired.version == 3


@pytest.mark.conformance("V2CKPT-005", "LASTCKPT-001")
def test_what_names_a_file_is_put_after_it() -> None:
    store = _Recorder(_log((V2, METADATA, *(add(f"f{number}") for number in range(5)))))
    _written(store, "v2-sidecars")
    kinds = ["sidecar" if "_sidecars" in path else path.split(".")[-1] for path in store.put_paths]
    assert kinds == ["sidecar", "sidecar", "sidecar", "parquet", "_delta_log/_last_checkpoint"]


class _Recorder:
    """A store that notes what is put, in order."""

    def __init__(self, store: LogStore) -> None:
        self._store = store
        self.put_paths: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, path: str, data: bytes) -> None:
        self.put_paths.append(path)
        self._store.put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.put_paths.append(path)
        self._store.put_if_absent(path, data)


# --- how often --------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("CKPT-012")
def test_a_checkpoint_is_due_every_ten_commits_or_as_the_table_says() -> None:
    def due(properties: dict[str, str]) -> Sequence[int]:
        return [version for version in range(25) if checkpoint_due(properties, version)]

    assert due({}) == [10, 20]
    assert due({"delta.checkpointInterval": "7"}) == [7, 14, 21]
    for wrong in ("0", "-3", "often"):
        with pytest.raises(CorruptTable, match="checkpointInterval"):
            checkpoint_due({"delta.checkpointInterval": wrong}, 10)


def test_a_table_made_of_our_checkpoint_goes_on() -> None:
    store = _log((MASKED, METADATA, add("a"), add("b")), (remove("a"),))
    _written(store)
    store.delete(commit_name(0))
    store.delete(commit_name(1))
    store.put_if_absent(commit_name(2), lines([add("c"), remove("b")]))
    assert paths(table({}, store).snapshot()) == {("c", None)}
