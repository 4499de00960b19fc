"""What a plan of a clean-up of the log says of each file, and when it says that there is nothing to do."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from explorer.core.errors import UnsupportedFeature
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.maintenance.log_cleanup import CleanupFile, CleanupPlan, clean_log, plan_cleanup
from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import METADATA, add, write

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
MIDNIGHT = int(datetime(2026, 3, 10, tzinfo=UTC).timestamp() * 1000)
DAY = 86_400_000
FEATURES = ("v2Checkpoint",)
PROTOCOL = Protocol(min_reader_version=3, min_writer_version=7, reader_features=FEATURES, writer_features=FEATURES)


def _metadata(**properties: str) -> Metadata:
    stated = {f"delta.{name}": text for name, text in properties.items()}
    return msgspec.structs.replace(METADATA, configuration={"delta.logRetentionDuration": "interval 2 days", **stated})


def _table(
    folder: Path, *, checkpoint: int | None, sidecars: bool = False, metadata: Metadata | None = None
) -> LogStore:
    """Five commits, one of them with a checkpoint, all files of long ago."""
    store = open_store(folder)
    write(store, {0: (PROTOCOL, metadata or _metadata())} | {version: (add(f"f{version}"),) for version in range(1, 5)})
    if checkpoint is not None:
        layout = CheckpointLayout("v2", most_inline=0) if sidecars else CheckpointLayout("v1")
        write_checkpoint(store, list_log(store), checkpoint, now=NOW, new_uuid=uuid.uuid4, layout=layout)
    return store


def _state(store: LogStore) -> TableState:
    segment = list_log(store).segment()
    return replay_state(checkpoint_reader(store, segment), read_commits(store, segment.commits), segment.version)


def _plan(store: LogStore, now: datetime | None = None, older_than: timedelta | None = None) -> CleanupPlan:
    return plan_cleanup(store, _state(store), now or datetime.now(UTC) + timedelta(days=30), older_than)


def test_each_file_that_goes_is_named_with_its_size_kind_and_version(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=2)
    store.put_if_absent(f"_delta_log/{1:020d}.crc", b"{}")
    plan = _plan(store)
    sizes = {path: len(store.read(path)) for path in (commit_name(0), commit_name(1))}
    assert plan.files == (
        CleanupFile(commit_name(0), sizes[commit_name(0)], "commit", 0),
        CleanupFile(commit_name(1), sizes[commit_name(1)], "commit", 1),
        CleanupFile(f"_delta_log/{1:020d}.crc", 2, "version checksum", 1),
    )
    assert (plan.first_version, plan.lost, plan.reason) == (2, (0, 1), "")
    assert plan.size_in_bytes == sum(sizes.values()) + 2
    assert plan.within_retention


def test_a_sidecar_has_no_version(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=2, sidecars=True)
    store.put_if_absent("_delta_log/_sidecars/left.parquet", b"12345")
    plan = _plan(store)
    assert plan.files[-1] == CleanupFile("_delta_log/_sidecars/left.parquet", 5, "sidecar", None)
    assert (len(plan.files), plan.reason) == (3, "")


def test_nothing_is_lost_where_the_log_begins_with_the_checkpoint_already(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=2)
    clean_log(store, _plan(store))
    again = _plan(store)
    assert (again.files, again.first_version, again.lost, again.reason) == ((), 2, None, "")


def test_a_plan_with_nothing_in_it_says_both_cut_offs_and_why(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=None)
    assert _plan(store, NOW) == CleanupPlan(
        MIDNIGHT - 2 * DAY,
        MIDNIGHT - 2 * DAY,
        (),
        0,
        None,
        "No readable checkpoint is old enough for the log to begin with.",
    )
    assert _plan(store, NOW, timedelta(days=1)).cutoff == MIDNIGHT - DAY
    kept = _table(tmp_path / "kept", checkpoint=2, metadata=_metadata(enableExpiredLogCleanup="false"))
    assert _plan(kept, NOW) == CleanupPlan(
        MIDNIGHT - 2 * DAY, None, (), 0, None, "delta.enableExpiredLogCleanup is false: the table keeps its log."
    )


def test_a_table_without_the_feature_protects_nothing(tmp_path: Path) -> None:
    properties = _metadata(requireCheckpointProtectionBeforeVersion="1")
    assert _plan(_table(tmp_path, checkpoint=0, metadata=properties)).reason == ""


def test_a_catalog_s_table_is_refused_with_its_feature(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=2)
    managed = ("catalogManaged",)
    protocol = Protocol(min_reader_version=3, min_writer_version=7, reader_features=managed, writer_features=managed)
    with pytest.raises(UnsupportedFeature) as error:
        plan_cleanup(store, msgspec.structs.replace(_state(store), protocol=protocol), NOW)
    assert (error.value.features, error.value.operation) == (["catalogManaged"], "clean the log")


def test_files_that_went_meanwhile_do_not_count_and_stop_nothing(tmp_path: Path) -> None:
    store = _table(tmp_path, checkpoint=3)
    plan = _plan(store)
    store.delete(commit_name(0))
    counted = FaultyStore(store)
    assert clean_log(counted, plan) == 2
    assert counted.requests == [f"delete {commit_name(version)}" for version in range(3)]
