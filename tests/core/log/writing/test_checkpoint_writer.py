"""Checkpoints of our own: what stands in them, under which names, in which order they appear."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import CorruptTable, UnsupportedFeature, VersionNotFound
from explorer.core.log.last_checkpoint import digests, parse_last_checkpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, checkpoint_name, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.table_state import TableState
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout, checkpoint_due, checkpoint_layout
from explorer.core.protocol.actions import Add, AddCDCFile, CommitInfo, DomainMetadata, Protocol, TransactionAction
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import write_checkpoint as write_foreign
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    add,
    lines,
    new_store,
    paths,
    remove,
    table,
    vector,
    write,
)
from tests.support.logs.written_checkpoints import LAYOUTS, NOW, V2, checkpoint_of, log_of, metadata_with, ms, rows_of

RICH = (
    (CommitInfo(operation="CREATE TABLE"), V2, metadata_with(), add("a"), add("b"), add("c%20d")),
    (
        remove("a"),
        TransactionAction(app_id="app", version=3, last_updated=5),
        DomainMetadata(domain="kept", configuration="{}"),
        DomainMetadata(domain="gone", configuration="{}"),
    ),
    (
        remove("b"),
        add("b", vector=vector("v1")),
        AddCDCFile(path="_change_data/c", partition_values={}, size=9),
        DomainMetadata(domain="gone", configuration="{}", removed=True),
        TransactionAction(app_id="app", version=4),
    ),
)
EARLY = datetime(1960, 1, 1, tzinfo=UTC)
"""By this clock nothing has expired."""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.conformance(
    "CKPT-007", "CKPT-008", "CKPT-022", "V2CKPT-004", "DOMAIN-003", "DOMAIN-005", "REPLAY-008", "TXN-005"
)
def test_a_checkpoint_holds_the_whole_state_and_nothing_else(layout: str) -> None:
    store = log_of(*RICH)
    before = explorer.Table(store).snapshot()
    written = checkpoint_of(store, layout, EARLY)
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
    rows = [row for path in files if path.endswith("parquet") for row in rows_of(store, path)]
    rows += [json.loads(line) for path in files if path.endswith("json") for line in store.read(path).splitlines()]
    kinds = {name for row in rows for name in row}
    assert kinds <= {"add", "remove", "protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar"}
    assert {row["remove"]["path"] for row in rows if "remove" in row} == {"a", "b"}
    assert [row["domainMetadata"]["domain"] for row in rows if "domainMetadata" in row] == ["kept"]


@pytest.mark.conformance("REPLAY-006")
def test_a_file_that_no_one_added_leaves_a_tombstone_when_it_is_removed() -> None:
    store = log_of((V2, metadata_with(), add("a")), (remove("never"), remove("a", vector=vector("v1"))))
    found = [row["remove"] for row in rows_of(store, checkpoint_of(store, "v1", EARLY).path) if "remove" in row]
    vectors = {file["path"]: (file["deletionVector"] or {}).get("pathOrInlineDv") for file in found}
    assert vectors == {"never": None, "a": vector("v1").path_or_inline_dv}
    assert paths(explorer.Table(store).snapshot()) == {("a", None)}


@pytest.mark.conformance("ROWTRACK-003", "ROWTRACK-001")
@pytest.mark.parametrize("by_checkpoint", [None, *LAYOUTS])
def test_a_file_keeps_its_row_ids_when_it_is_removed_put_into_a_checkpoint_and_restored(
    by_checkpoint: str | None,
) -> None:
    rules = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("v2Checkpoint",),
        writer_features=("v2Checkpoint", "domainMetadata", "rowTracking"),
    )
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":11}')
    old = add("old", 3, base_row_id=7, default_row_commit_version=0)
    new = add("new", 2, base_row_id=10, default_row_commit_version=1)
    store = log_of((rules, metadata_with(), old, mark), (remove("old"), new))
    if by_checkpoint is not None:
        written = checkpoint_of(store, by_checkpoint, EARLY)
        rows = [json.loads(line) for path in (written.path,) if path.endswith("json") for line in _lines(store, path)]
        parts = [path for path in (written.path, *written.sidecars) if path.endswith("parquet")]
        rows += [row for path in parts for row in rows_of(store, path)]
        (kept,) = [row["add"] for row in rows if "add" in row]
        assert (kept["path"], kept["baseRowId"], kept["defaultRowCommitVersion"]) == ("new", 10, 1)
    plan = explorer.Table(store).plan({"kind": "restore", "version": 0}, accept=["files-present"])
    ((back,), (gone,)) = ([line[kind] for line in plan.actions if kind in line] for kind in ("add", "remove"))
    assert (back["path"], back["baseRowId"], back["defaultRowCommitVersion"]) == ("old", 7, 0)
    assert (gone["path"], gone["baseRowId"], gone["defaultRowCommitVersion"]) == ("new", 10, 1)
    assert not [line for line in plan.actions if "domainMetadata" in line], "no id is new, so the mark stays"


def _lines(store: LogStore, path: str) -> list[bytes]:
    return store.read(path).splitlines()


@pytest.mark.conformance("REPLAY-004", "CKPT-022", "CKPT-025")
def test_a_path_is_live_with_one_vector_and_a_tombstone_with_the_others() -> None:
    one, two = vector("v1"), vector("v2")
    store = log_of(
        (V2, metadata_with(), add("p"), add("q")),
        (remove("p"), add("p", vector=one)),
        (remove("p", vector=one), add("p", vector=two), remove("q")),
        (add("q"),),
    )
    rows = rows_of(store, checkpoint_of(store, "v1", EARLY).path)
    (removed,) = [row["remove"] for row in rows if row.get("remove", {}).get("deletionVector")]
    assert {name: value for name, value in removed["deletionVector"].items() if value is not None} == {
        "storageType": "p",
        "pathOrInlineDv": "file:///vectors/v1.bin",
        "offset": 1,
        "sizeInBytes": 34,
        "cardinality": 1,
    }
    pairs = [
        [
            (file["path"], (file["deletionVector"] or {}).get("pathOrInlineDv"))
            for row in rows
            for kind, file in row.items()
            if kind == wanted
        ]
        for wanted in ("add", "remove")
    ]
    assert [sorted(found, key=str) for found in pairs] == [
        [("p", two.path_or_inline_dv), ("q", None)],
        [("p", one.path_or_inline_dv), ("p", None)],
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("time", [1 << 70, -(1 << 70)])
def test_a_tombstone_of_a_time_that_cannot_be_is_expired(layout: str, time: int) -> None:
    gone = b'{"remove":{"path":"a","dataChange":true,"deletionTimestamp":%d}}' % time
    store = new_store()
    write(store, {0: (PROTOCOL if layout == "v1" else V2, metadata_with(), add("a"), add("b")), 1: (gone,)})
    written = checkpoint_of(store, layout, NOW)
    files = [path for path in (written.path, *written.sidecars) if path.endswith("parquet")]
    assert not [row for path in files for row in rows_of(store, path) if row.get("remove")]
    store.delete(commit_name(1))
    assert paths(explorer.Table(store).snapshot()) == {("b", None)}


@pytest.mark.conformance("CKPT-009")
def test_every_row_is_one_action() -> None:
    store = log_of(*RICH)
    rows = rows_of(store, checkpoint_of(store, "v2", EARLY).path)
    assert all(len(row) == 1 for row in rows)
    assert sorted(name for row in rows for name in row) == sorted(
        ["checkpointMetadata", "protocol", "metaData", "txn", "domainMetadata", "add", "add", "remove", "remove"]
    )


@pytest.mark.conformance("CKPT-001", "CKPT-015", "CKPT-002", "CKPT-014")
def test_a_v1_checkpoint_is_one_file_however_large() -> None:
    """No part is ever written, so none is named or filled wrongly."""
    store = log_of((PROTOCOL, METADATA, *(add(f"f{number}") for number in range(70_000))))
    written = checkpoint_of(store)
    assert written.path == "_delta_log/00000000000000000000.checkpoint.parquet"
    assert pq.ParquetFile(io.BytesIO(store.read(written.path))).metadata.num_row_groups == 2
    assert explorer.Table(store).snapshot().num_files == 70_000
    assert [found.path for found in store.list_from("_delta_log") if ".checkpoint" in found.path] == [written.path]


@pytest.mark.conformance("CKPT-006")
def test_a_version_without_a_commit_gets_no_checkpoint() -> None:
    store = log_of((PROTOCOL, METADATA))
    with pytest.raises(VersionNotFound):
        checkpoint_of(store, version=1)


@pytest.mark.conformance("CKPT-027", "CKPT-028")
def test_a_version_that_has_a_checkpoint_is_left_as_it_is() -> None:
    store = log_of((PROTOCOL, METADATA, add("a")))
    listing = list_log(store)
    first = checkpoint_of(store)
    data = store.read(first.path)
    assert checkpoint_of(store).hint is None
    # A writer that listed before the other was done finds the name taken.
    late = write_checkpoint(store, listing, now=NOW, new_uuid=uuid.uuid4)
    assert late.hint is None
    assert store.read(first.path) == data


@pytest.mark.conformance("FILE-015")
@pytest.mark.parametrize(("kept", "days"), [(None, 7), ("interval 1 day", 1), ("interval 30 days", 30)])
def test_the_table_says_how_long_tombstones_stay(kept: str | None, days: int) -> None:
    cut = NOW - timedelta(days=days)
    times = {"before": ms(cut) - 1, "after": ms(cut) + 1}
    gone = [msgspec.structs.replace(remove(name), deletion_timestamp=time) for name, time in times.items()]
    properties = {} if kept is None else {"delta.deletedFileRetentionDuration": kept}
    store = log_of((PROTOCOL, metadata_with(properties), *(add(name) for name in times)), gone)
    assert [row["remove"]["path"] for row in rows_of(store, checkpoint_of(store).path) if "remove" in row] == ["after"]


@pytest.mark.conformance("CKPT-007", "CKPT-023", "CKPT-025", "FILE-015")
def test_tombstones_stay_for_as_long_as_the_table_keeps_files() -> None:
    cut = NOW - timedelta(weeks=1)
    young = Add(path="young", size=7, modification_time=1, partition_values={"p": None}, base_row_id=3)
    store = log_of(
        (PROTOCOL, METADATA, young, *(add(name) for name in ("old", "edge", "never", "back"))),
        (
            msgspec.structs.replace(
                remove("young"),
                deletion_timestamp=ms(cut) + 1,
                extended_file_metadata=True,
                partition_values={"p": None},
                size=7,
                stats='{"numRecords":1}',
                tags={"k": "v"},
                base_row_id=3,
                default_row_commit_version=0,
            ),
            msgspec.structs.replace(remove("edge"), deletion_timestamp=ms(cut)),
            msgspec.structs.replace(remove("old"), deletion_timestamp=ms(cut) - 1),
            msgspec.structs.replace(remove("never"), deletion_timestamp=None),
            msgspec.structs.replace(remove("back"), deletion_timestamp=ms(NOW)),
        ),
        (add("back"),),
    )
    written = checkpoint_of(store)
    (tombstone,) = [row["remove"] for row in rows_of(store, written.path) if "remove" in row]
    assert tombstone == {
        "path": "young",
        "deletionTimestamp": ms(cut) + 1,
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
        msgspec.structs.replace(remove(name, vector=mask), deletion_timestamp=ms(NOW) - age)
        for name, mask, age in (
            ("kept", None, 1),
            ("expired", None, 9 * 86_400_000),
            ("readded", None, 1),
            ("masked", vector("v1"), 1),
            ("again", None, 8 * 86_400_000),
        )
    ]
    write_foreign(store, 4, (V2, METADATA, add("live"), *old), shape)
    again = msgspec.structs.replace(remove("again"), deletion_timestamp=ms(NOW))
    write(store, {5: (add("readded"), add("masked"), again)})
    written = checkpoint_of(store, "v2")
    found = {row["remove"]["path"]: row["remove"] for row in rows_of(store, written.path) if "remove" in row}
    assert set(found) == {"kept", "masked", "again"}
    assert found["masked"]["deletionVector"]["pathOrInlineDv"] == vector("v1").path_or_inline_dv
    assert found["again"]["deletionTimestamp"] == ms(NOW)


@pytest.mark.conformance("TXN-005", "TXN-006")
def test_transactions_expire_only_where_the_table_says_so() -> None:
    applications = [
        TransactionAction(app_id="young", version=1, last_updated=ms(NOW) - 1),
        TransactionAction(app_id="old", version=2, last_updated=ms(NOW) - 2 * 86_400_000),
        TransactionAction(app_id="at the limit", version=4, last_updated=ms(NOW) - 86_400_000),
        TransactionAction(app_id="just before it", version=5, last_updated=ms(NOW) - 86_400_000 + 1),
        TransactionAction(app_id="timeless", version=3),
    ]
    keeping = log_of((PROTOCOL, METADATA, *applications))
    dropping = log_of(
        (PROTOCOL, metadata_with({"delta.setTransactionRetentionDuration": "interval 1 day"}), *applications)
    )
    found = [
        {row["txn"]["appId"] for row in rows_of(store, checkpoint_of(store).path) if "txn" in row}
        for store in (keeping, dropping)
    ]
    assert found == [{each.app_id for each in applications}, {"young", "just before it"}]


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
    store = log_of((protocol, METADATA))
    (found,) = [row["protocol"] for row in rows_of(store, checkpoint_of(store).path) if "protocol" in row]
    assert (found["readerFeatures"], found["writerFeatures"]) == lists


@pytest.mark.conformance("CKPTPROT-002")
def test_a_version_gets_a_checkpoint_only_if_its_own_protocol_is_known() -> None:
    future = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("fromTheFuture",))
    protected = metadata_with({"delta.requireCheckpointProtectionBeforeVersion": "2"})
    rules = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("checkpointProtection",))
    store = log_of((PROTOCOL, METADATA), (future,), (rules, protected, add("a")))
    with pytest.raises(UnsupportedFeature) as caught:
        checkpoint_of(store, version=1)
    assert caught.value.features == ["fromTheFuture"]
    assert [checkpoint_of(store, version=version).hint is not None for version in (0, 2)] == [True, True]


@pytest.mark.conformance("CKPTPROT-002", "CATALOG-005")
@pytest.mark.parametrize("feature", ["fromTheFuture", "catalogManaged"])
def test_a_table_with_a_feature_that_is_not_known_gets_no_checkpoint(feature: str) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=(feature,))
    with pytest.raises(UnsupportedFeature) as caught:
        checkpoint_of(log_of((protocol, METADATA)))
    assert caught.value.features == [feature]


# --- V2 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.conformance("V2CKPT-001")
def test_the_policy_v2_counts_only_with_the_feature() -> None:
    def layout(protocol: Protocol, policy: str | None) -> CheckpointLayout:
        metadata = metadata_with({} if policy is None else {"delta.checkpointPolicy": policy})
        return checkpoint_layout(TableState(protocol, metadata, {}, {}), 7)

    assert layout(V2, "v2") == CheckpointLayout("v2")
    assert layout(V2, "classic") == layout(V2, None) == layout(MASKED, "v2") == CheckpointLayout("v1")
    with pytest.raises(CorruptTable, match="checkpointPolicy"):
        layout(V2, "v3")
    with pytest.raises(UnsupportedFeature):
        checkpoint_of(log_of((MASKED, METADATA)), "v2")


@pytest.mark.conformance("V2CKPT-002", "V2CKPT-003", "V2CKPT-004", "V2CKPT-005", "V2CKPT-011")
@pytest.mark.parametrize("layout", ["v2", "v2-json", "v2-sidecars", "v2-classic"])
def test_v2_checkpoints_describe_themselves_and_name_their_sidecars(layout: str) -> None:
    store = log_of((V2, METADATA, *(add(f"f{number}") for number in range(5))), (remove("f0"),))
    written = checkpoint_of(store, layout, EARLY)
    names = {"v2": "parquet", "v2-json": "json", "v2-sidecars": "parquet"}
    if layout == "v2-classic":
        assert written.path == checkpoint_name(1)
    else:
        assert uuid.UUID(written.path.split(".")[2]).version == 4
        assert written.path.endswith(names[layout])
    if layout == "v2-json":
        rows = [json.loads(line) for line in store.read(written.path).splitlines()]
    else:
        rows = rows_of(store, written.path)
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
    store = log_of((V2, metadata_with(properties), add("a")))
    write(store, {version: (add(f"f{version}"),) for version in range(1, 41)})
    names = {version: checkpoint_of(store, version=version).path for version in range(0, 41, 5)}
    assert [version for version, name in names.items() if name == checkpoint_name(version)] == [20, 40]


# --- the hint ---------------------------------------------------------------------------------------------------------


@pytest.mark.conformance(
    "LASTCKPT-001", "LASTCKPT-002", "LASTCKPT-006", "LASTCKPT-008", "LASTCKPT-009", "LASTCKPT-014", "V2CKPT-012"
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_hint_counts_what_was_written_and_carries_its_checksum(layout: str) -> None:
    store = log_of(*RICH)
    written = checkpoint_of(store, layout, EARLY)
    data = store.read(LAST_CHECKPOINT)
    value = json.loads(data)
    assert list(value)[:2] == ["version", "size"]
    assert value["checksum"] == digests(value)[0]
    assert parse_last_checkpoint(data) == written.hint
    rows = sum(
        len(store.read(path).splitlines()) if path.endswith("json") else len(rows_of(store, path))
        for path in (written.path, *written.sidecars)
    )
    assert value["size"] == rows
    assert value["sizeInBytes"] == sum(store.head(path).size for path in (written.path, *written.sidecars))
    assert value["numOfAddFiles"] == 2
    assert "parts" not in value, "only a checkpoint of several parts counts them"
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
    store = log_of((PROTOCOL, METADATA), (add("a"),), (add("b"),))
    checkpoint_of(store, version=2)
    checkpoint_of(store, version=1)
    hint = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert hint is not None
    assert hint.version == 2
    store.put(LAST_CHECKPOINT, b"no hint at all")
    write(store, {3: (add("c"),)})
    checkpoint_of(store)
    repaired = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert repaired is not None
    assert repaired.version == 3


@pytest.mark.conformance("V2CKPT-005", "LASTCKPT-001")
def test_what_names_a_file_is_put_after_it() -> None:
    store = _Recorder(log_of((V2, METADATA, *(add(f"f{number}") for number in range(5)))))
    checkpoint_of(store, "v2-sidecars")
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
    for wrong in ("0", "-3", "often", "1_0"):
        with pytest.raises(CorruptTable, match="checkpointInterval"):
            checkpoint_due({"delta.checkpointInterval": wrong}, 10)


def test_a_table_made_of_our_checkpoint_goes_on() -> None:
    store = log_of((MASKED, METADATA, add("a"), add("b")), (remove("a"),))
    checkpoint_of(store)
    store.delete(commit_name(0))
    store.delete(commit_name(1))
    store.put_if_absent(commit_name(2), lines([add("c"), remove("b")]))
    assert paths(table({}, store).snapshot()) == {("c", None)}
