"""Files that are written beside commits, to the last field: checkpoints, their hints, and compactions."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import CorruptTable, RequestError, UnsupportedFeature, VersionNotFound
from explorer.core.log.last_checkpoint import LastCheckpoint
from explorer.core.log.log_path import (
    LAST_CHECKPOINT,
    LogFileKind,
    LogPath,
    checkpoint_name,
    compaction_name,
)
from explorer.core.log.log_segment import list_log
from explorer.core.log.table_state import TableState
from explorer.core.log.writing.checkpoint import WrittenCheckpoint, write_checkpoint
from explorer.core.log.writing.checkpoint_layout import (
    CheckpointLayout,
    check_protocol,
    checkpoint_due,
    checkpoint_layout,
)
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.protocol.actions import Action, DomainMetadata, Protocol, TransactionAction, encode_line
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import (
    METADATA,
    PROTOCOL,
    add,
    lines,
    new_store,
    remove,
    write,
)
from tests.support.logs.small_proposals import protocol
from tests.support.logs.written_checkpoints import NOW, V2, adds_of, log_of, metadata_with, ms, rows_of

BATCH, DOMAIN = TransactionAction(app_id="x", version=1), DomainMetadata(domain="d", configuration="c")
SMALL = (V2, METADATA, BATCH, DOMAIN)


def ids() -> Callable[[], UUID]:
    numbers = itertools.count(1)
    return lambda: UUID(int=next(numbers))


def put(store: LogStore, layout: CheckpointLayout | None = None) -> WrittenCheckpoint:
    return write_checkpoint(store, list_log(store), now=NOW, new_uuid=ids(), layout=layout)


def hint_of(store: LogStore) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(store.read(LAST_CHECKPOINT))
    return found


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_layout_is_usually_in_parquet_with_its_own_name() -> None:
    assert msgspec.structs.asdict(CheckpointLayout("v2")) == {
        "spec": "v2", "top_level": "parquet", "classic_name": False, "most_inline": 10_000, "sidecar_rows": 100_000
    }  # fmt: skip


def test_a_checkpoint_in_json_names_its_sidecars_and_the_hint_repeats_all_of_it() -> None:
    gone = remove("g", deletion_timestamp=ms(NOW))
    store = log_of((*SMALL, *map(add, "abc")), (gone, remove("h", deletion_timestamp=1)))
    written = put(store, CheckpointLayout("v2", top_level="json", sidecar_rows=2))
    names = [f"{UUID(int=number)}.parquet" for number in (1, 2)]
    keys = tuple(f"_delta_log/_sidecars/{name}" for name in names)
    path = checkpoint_name(1, UUID(int=3), "json")
    data, sizes = store.read(path), [store.head(key).size for key in keys]
    hint = LastCheckpoint(1, size=11, size_in_bytes=len(data) + sum(sizes), num_of_add_files=3)
    assert written == WrittenCheckpoint(1, path, keys, hint)
    held = [[next(iter(row.values()))["path"] for row in rows_of(store, key)] for key in keys]
    assert held == [["a", "b"], ["c", "g"]]
    tags = {"sidecarNumActions": "4", "sidecarSizeInBytes": str(sum(sizes)), "numOfAddFiles": "3"}
    sidecars = [
        {"path": name, "sizeInBytes": size, "modificationTime": ms(NOW)}
        for name, size in zip(names, sizes, strict=True)
    ]
    own = {"checkpointMetadata": {"version": 1, "tags": tags}}
    others = [json.loads(encode_line(action)) for action in SMALL]
    assert [json.loads(line) for line in data.splitlines()] == [own, *({"sidecar": each} for each in sidecars), *others]
    stated = hint_of(store)
    assert {name: item for name, item in stated.items() if name != "checksum"} == {
        "version": 1,
        "size": 11,
        "sizeInBytes": hint.size_in_bytes,
        "numOfAddFiles": 3,
        "v2Checkpoint": {
            "path": path.rpartition("/")[2],
            "sizeInBytes": len(data),
            "modificationTime": ms(NOW),
            "nonFileActions": [own, *others],
            "sidecarFiles": sidecars,
        },
    }
    assert put(store) == WrittenCheckpoint(1, path, (), None)


@pytest.mark.parametrize(("top_level", "files", "sidecars"), [("json", 0, 0), ("json", 2, 1), ("parquet", 0, 0)])
def test_no_sidecar_is_empty(top_level: Any, files: int, sidecars: int) -> None:
    store = log_of((*SMALL, *(add(f"{number}") for number in range(files))))
    written = put(store, CheckpointLayout("v2", top_level=top_level, sidecar_rows=2))
    assert len(written.sidecars) == sidecars
    first = store.read(written.path).splitlines()[0] if top_level == "json" else b""
    if top_level == "json" and not files:
        assert json.loads(first) == {"checkpointMetadata": {"version": 0}}
    assert written.hint is not None
    assert (written.hint.size, written.hint.num_of_add_files) == (5 + files + sidecars, files)


@pytest.mark.parametrize(("most", "sidecars"), [(4, 0), (3, 1), (0, 1)])
def test_more_file_actions_than_may_stay_go_to_sidecars_expired_ones_counted(most: int, sidecars: int) -> None:
    store = log_of((*SMALL, *map(add, "ab")), (remove("h", deletion_timestamp=1), remove("i", deletion_timestamp=1)))
    written = put(store, CheckpointLayout("v2", most_inline=most))
    assert len(written.sidecars) == sidecars
    assert written.path == checkpoint_name(1, UUID(int=1 + sidecars))
    assert [row["path"] for row in adds_of(store, (*written.sidecars, written.path)[0])] == ["a", "b"]
    assert written.hint is not None
    assert written.hint.size == 7 + sidecars


@pytest.mark.parametrize(("batches", "told"), [(27, True), (28, False)])
def test_a_hint_repeats_thirty_small_actions_at_most(batches: int, told: bool) -> None:
    store = log_of((V2, METADATA, *(TransactionAction(app_id=f"{number}", version=1) for number in range(batches))))
    put(store, CheckpointLayout("v2"))
    described = hint_of(store)["v2Checkpoint"]
    assert ("nonFileActions" in described, described["sidecarFiles"]) == (told, [])


@pytest.mark.parametrize(("files", "told"), [(30, True), (31, False)])
def test_a_hint_repeats_thirty_sidecars_at_most(files: int, told: bool) -> None:
    store = log_of((V2, METADATA, *(add(f"{number}") for number in range(files))))
    assert len(put(store, CheckpointLayout("v2", most_inline=0, sidecar_rows=1)).sidecars) == files
    described = hint_of(store)["v2Checkpoint"]
    assert ("sidecarFiles" in described, len(described["nonFileActions"])) == (told, 3)


def test_a_checkpoint_is_compressed_and_carries_no_schema_of_arrow() -> None:
    store = log_of((*SMALL, add("a")))
    file = pq.ParquetFile(io.BytesIO(store.read(put(store, CheckpointLayout("v2")).path)))
    names = ["add", "remove", "txn", "metaData", "protocol", "domainMetadata", "checkpointMetadata", "sidecar"]
    assert file.schema_arrow.names == names
    assert (file.metadata.metadata, file.metadata.num_row_groups) == (None, 1)
    assert file.metadata.row_group(0).column(0).compression == "SNAPPY"
    plain = log_of((PROTOCOL, METADATA))
    assert pq.read_schema(io.BytesIO(plain.read(put(plain).path))).names == names[:6]


def test_feature_lists_that_no_version_asks_for_are_left_out() -> None:
    store = log_of((protocol(2, 6, r="columnMapping", w="columnMapping"), METADATA))
    [found] = [row["protocol"] for row in rows_of(store, put(store).path) if "protocol" in row]
    versions = {"minReaderVersion": 2, "minWriterVersion": 6}
    assert found == {**versions, "readerFeatures": None, "writerFeatures": None}


def test_a_hint_of_the_same_version_is_written_again() -> None:
    store = log_of((PROTOCOL, METADATA))
    store.put(LAST_CHECKPOINT, b'{"version":0,"size":99}')
    hint = put(store).hint
    assert hint == LastCheckpoint(0, size=2, size_in_bytes=store.head(checkpoint_name(0)).size, num_of_add_files=0)
    assert hint_of(store)["size"] == 2


def test_no_checkpoint_is_due_at_the_first_version() -> None:
    assert [checkpoint_due({"delta.checkpointInterval": "1"}, version) for version in (0, 1, 2)] == [False, True, True]
    for version, classic in ((0, False), (9, False), (10, True), (15, False), (20, True)):
        properties = {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "1"}
        layout = checkpoint_layout(TableState(V2, metadata_with(properties), {}, {}), version)
        assert layout == CheckpointLayout("v2", classic_name=classic)


def test_properties_that_say_no_layout_are_refused() -> None:
    with pytest.raises(CorruptTable) as refused:
        checkpoint_layout(TableState(V2, metadata_with({"delta.checkpointPolicy": "V3"}), {}, {}), 1)
    assert str(refused.value) == "The table property delta.checkpointPolicy is 'v3'; it must be classic or v2."
    assert refused.value.found == "v3"
    with pytest.raises(CorruptTable) as refused:
        checkpoint_due({"delta.checkpointInterval": "0"}, 1)
    assert str(refused.value) == "The table property delta.checkpointInterval is 0; it must be at least 1."
    assert refused.value.found == "0"


@pytest.mark.parametrize(
    ("rules", "spec", "missing"),
    [
        (protocol(3, 7, r="zeta", w="zeta appendOnly"), "v1", ["zeta"]),
        (protocol(1, 7, w="catalogManaged"), "v1", ["catalogManaged"]),
        (protocol(4, 7, r="", w=""), "v1", ["protocol (4, 7)"]),
        (protocol(3, 8, r="", w="zeta"), "v2", ["zeta", "protocol (3, 8)", "v2Checkpoint"]),
        (protocol(3, 7, r="v2Checkpoint", w=""), "v2", ["v2Checkpoint"]),
        (protocol(3, 7, r="", w="v2Checkpoint"), "v2", ["v2Checkpoint"]),
        (PROTOCOL, "v2", ["v2Checkpoint"]),
    ],
)
def test_a_checkpoint_that_could_lack_something_is_refused(rules: Protocol, spec: Any, missing: list[str]) -> None:
    with pytest.raises(UnsupportedFeature) as refused:
        check_protocol(rules, 6, CheckpointLayout(spec))
    error = refused.value
    assert (error.features, error.operation, error.version) == (missing, "write a checkpoint", 6)
    assert str(error) == (
        f"A checkpoint of version 6 cannot be written in this way: {', '.join(missing)}. This program does not "
        "implement these, or the table lacks them. Write the checkpoint with an engine that implements them, or add "
        "the missing ones to the table first."
    )


@pytest.mark.parametrize("rules", [protocol(3, 7, w=""), protocol(3, 7, r=""), protocol(1, 7), protocol(3, 6)])
def test_a_protocol_without_a_list_that_it_needs_gets_no_checkpoint(rules: Protocol) -> None:
    with pytest.raises(CorruptTable) as refused:
        check_protocol(rules, 6, CheckpointLayout("v1"))
    assert refused.value.version == 6
    assert str(refused.value) == (
        "The protocol of version 6 lacks a feature list that its versions demand, so no checkpoint can be written from "
        "it. Ask the table's owner to correct the protocol."
    )


# --- compactions ------------------------------------------------------------------------------------------------------


def test_of_several_actions_of_one_kind_in_one_commit_the_last_stays() -> None:
    odd = [b'{"txn":null}', b'{"protocol":null}', b"", b'{ "metaData" : {"id":"m"} }', b'{"cdc":{"path":"c","size":1}}']
    newest = DomainMetadata(domain="d", configuration="later")
    later: list[Action] = [TransactionAction(app_id="x", version=7), newest, remove("a")]
    store = log_of((PROTOCOL, METADATA), (BATCH, DOMAIN, add("a"), *odd), (add("b"), *later, add("b", 3), BATCH))
    key = write_compaction(store, list_log(store), 1, 2)
    assert key == compaction_name(1, 2)
    meant = [b'{"metaData":{"id":"m"}}\n', lines([*later[1:], add("b", 3), BATCH])]
    assert store.read(key) == b"".join(meant)


@pytest.mark.parametrize(
    ("first", "last", "missing", "nearest"), [(3, 5, 3, 4), (4, 9, 7, 6), (0, 2, 0, 4), (5, 8, 7, 6)]
)
def test_a_range_whose_commits_are_not_there_says_which_are(first: int, last: int, missing: int, nearest: int) -> None:
    store = new_store()
    write(store, {version: (add("a"),) for version in (4, 5, 6)})
    with pytest.raises(VersionNotFound) as refused:
        write_compaction(store, list_log(store), first, last)
    error = refused.value
    assert (error.version, error.earliest, error.latest, error.nearest) == (missing, 4, 6, nearest)
    assert str(error) == (
        f"The commit of version {missing} is not in the log, so versions {first} to {last} cannot be compacted. The "
        "log has versions 4 to 6."
    )


def test_a_range_that_is_none_and_one_that_is_not_published_are_refused() -> None:
    store = log_of((PROTOCOL, METADATA), (add("a"),))
    listing = list_log(store)
    with pytest.raises(
        RequestError, match=r"^A compaction must end at a later version than it begins; 1 to 1 does not\.$"
    ):
        write_compaction(store, listing, 1, 1)
    staged = LogPath("x.json", LogFileKind.STAGED_COMMIT, 1)
    with pytest.raises(UnsupportedFeature) as refused:
        write_compaction(store, msgspec.structs.replace(listing, commits={**listing.commits, 1: staged}), 0, 1)
    error = refused.value
    assert str(error) == "Version 1 is not published yet; only published versions may be compacted."
    assert (error.features, error.operation, error.version) == (["catalogManaged"], "compact the log", 1)
