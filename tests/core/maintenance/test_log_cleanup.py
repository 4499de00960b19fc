"""What of a log may go: never what a version needs that stays."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import CorruptTable, RequestError, UnsupportedFeature
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.maintenance.log_cleanup import CleanupPlan, clean_log, plan_cleanup
from explorer.core.protocol.actions import Action, Metadata, Protocol
from explorer.storage import open_store
from tests.support.logs.small_logs import MASKED, METADATA, add, paths, remove, write

DAY = timedelta(days=1)
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
LAST_MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
V2 = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("v2Checkpoint",),
    writer_features=("v2Checkpoint", "checkpointProtection"),
)


def _properties(**more: str) -> Metadata:
    keys = {name.replace("_", "."): text for name, text in more.items()}
    return msgspec.structs.replace(METADATA, configuration={"delta.logRetentionDuration": "interval 2 days", **keys})


class _Log:
    """A table of so many versions, a file more in each, whose log files are of a time of our choice."""

    def __init__(self, folder: Path, *first: Action, last: int, checkpoints: Iterable[int] = (), **layout: Any) -> None:
        self.folder, self.store = folder, open_store(folder)
        write(self.store, {0: first or (MASKED, _properties())})
        write(self.store, {version: (add(f"f{version}"),) for version in range(1, last + 1)})
        chosen = CheckpointLayout("v2", **layout) if layout else CheckpointLayout("v1")
        for version in checkpoints:
            write_checkpoint(self.store, list_log(self.store), version, now=NOW, new_uuid=uuid.uuid4, layout=chosen)

    def dated(self, when: datetime, *, until: int, since: int = 0) -> None:
        """Give the files of some versions a time, a second apart."""
        for path in (self.folder / "_delta_log").glob("[0-9]*"):
            version = int(path.name[:20])
            if since <= version <= until:
                os.utime(path, (when.timestamp() + version,) * 2)

    def names(self) -> set[str]:
        return {path.name for path in (self.folder / "_delta_log").rglob("*") if path.is_file()}

    def state(self) -> TableState:
        listing = list_log(self.store)
        segment = listing.segment()
        return replay_state(
            checkpoint_reader(self.store, segment), read_commits(self.store, segment.commits), segment.version
        )

    def plan(self, older_than: datetime | timedelta | None = None, now: datetime = NOW) -> CleanupPlan:
        return plan_cleanup(self.store, self.state(), now, older_than)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.mark.conformance("CLEANUP-001", "CLEANUP-003", "CLEANUP-005", "CKPT-029")
def test_the_log_begins_with_the_checkpoint_that_is_old_enough(folder: Path) -> None:
    """As the reference cleaned its table log-cleanup: checkpoints at 3, 6, 9, versions to 7 are old."""
    log = _Log(folder, last=10, checkpoints=(3, 6, 9))
    for version in range(11):
        log.store.put_if_absent(f"_delta_log/{version:020d}.crc", b"{}")
    log.dated(NOW - 10 * DAY, until=7)
    before = [paths(explorer.Table(log.store).snapshot(version)) for version in range(11)]
    plan = log.plan()
    assert (plan.first_version, plan.lost, plan.reason) == (6, (0, 5), "")
    assert plan.within_retention
    names = [file.path.rpartition("/")[2] for file in plan.files]
    assert names == [
        *(f"{version:020d}.json" for version in range(6)),
        *(f"{version:020d}.crc" for version in range(6)),
        f"{3:020d}.checkpoint.parquet",
    ]
    assert plan.size_in_bytes == sum((folder / "_delta_log" / name).stat().st_size for name in names)
    kept = log.names() - set(names)
    assert clean_log(log.store, plan) == len(names)
    assert log.names() == kept
    assert {f"{6:020d}.json", f"{6:020d}.crc", f"{6:020d}.checkpoint.parquet"} <= kept
    table = explorer.Table(log.store)
    assert table.version_range() == (6, 10)
    assert [paths(table.snapshot(version)) for version in range(6, 11)] == before[6:]
    assert log.plan().files == ()
    assert clean_log(log.store, plan) == 0


@pytest.mark.conformance("CLEANUP-001")
def test_the_day_of_the_cut_off_counts_from_its_midnight(folder: Path) -> None:
    log = _Log(folder, last=6, checkpoints=(2, 4))
    midnight = LAST_MIDNIGHT - 2 * DAY
    log.dated(midnight - timedelta(seconds=2), until=2)
    log.dated(midnight, since=3, until=6)
    plan = log.plan()
    assert plan.cutoff == plan.own_cutoff == int(midnight.timestamp() * 1000)
    assert plan.first_version == 2
    assert log.plan(now=NOW + timedelta(hours=11)).first_version == 2
    assert log.plan(now=NOW + timedelta(hours=12)).first_version == 4


@pytest.mark.conformance("CLEANUP-002")
def test_nothing_goes_without_a_checkpoint_that_is_old_enough(folder: Path) -> None:
    log = _Log(folder, last=6, checkpoints=(4,))
    log.dated(NOW - 10 * DAY, until=3)
    plan = log.plan()
    assert (plan.files, plan.first_version, plan.lost) == ((), 0, None)
    assert "No readable checkpoint is old enough" in plan.reason
    log.dated(NOW, until=6)
    assert log.plan().files == ()


@pytest.mark.conformance("CLEANUP-002", "CKPT-029")
def test_a_checkpoint_that_cannot_be_read_stands_for_nothing(folder: Path) -> None:
    log = _Log(folder, V2, _properties(), last=8, checkpoints=(2, 5), most_inline=0)
    state = log.state()
    newest = next(found for found in list_log(log.store).checkpoints if found.version == 5)
    (log.folder / "_delta_log" / f"{7:020d}.checkpoint.parquet").write_bytes(b"PAR1 torn")
    log.dated(NOW - 10 * DAY, until=8)
    assert plan_cleanup(log.store, state, NOW).first_version == 5
    for key in CheckpointReader(log.store, newest).sidecar_keys():
        log.store.delete(key)
    assert plan_cleanup(log.store, state, NOW).first_version == 2


def test_a_person_may_say_how_old(folder: Path) -> None:
    log = _Log(folder, last=6, checkpoints=(2, 4))
    log.dated(NOW - DAY, until=6)
    assert log.plan().files == ()
    by_moment = log.plan(NOW)
    assert (by_moment.first_version, by_moment.within_retention) == (4, False)
    assert by_moment.cutoff == int(NOW.timestamp() * 1000)
    by_age = log.plan(timedelta(hours=1))
    assert (by_age.first_version, by_age.cutoff) == (4, int(LAST_MIDNIGHT.timestamp() * 1000))
    assert log.plan(NOW - DAY + timedelta(seconds=3)).first_version == 2
    with pytest.raises(RequestError, match="zone"):
        log.plan(datetime(2026, 3, 1))  # noqa: DTZ001 - that it has no zone is the point


def test_a_table_that_keeps_its_log_is_cleaned_only_when_told(folder: Path) -> None:
    kept = _properties(delta_enableExpiredLogCleanup="false")
    log = _Log(folder, MASKED, kept, last=4, checkpoints=(2,))
    log.dated(NOW - 100 * DAY, until=4)
    plan = log.plan()
    assert plan.files == ()
    assert "enableExpiredLogCleanup" in plan.reason
    told = log.plan(timedelta(days=3))
    assert told.first_version == 2
    assert not told.within_retention


@pytest.mark.conformance("CLEANUP-003")
def test_compactions_and_staged_commits_go_with_what_they_begin_with(folder: Path) -> None:
    log = _Log(folder, last=9, checkpoints=(3, 6))
    listing = list_log(log.store)
    for first, last in ((1, 2), (2, 8), (6, 8), (7, 8)):
        assert write_compaction(log.store, listing, first, last)
    staged = [f"_delta_log/_staged_commits/{version:020d}.{uuid.UUID(int=version)}.json" for version in (5, 6, 7)]
    for path in staged:
        log.store.put_if_absent(path, b"{}")
    log.dated(NOW - 10 * DAY, until=7)
    gone = {file.path for file in log.plan().files}
    assert {path for path in staged if path in gone} == set(staged[:2])
    compactions = {path for path in gone if "compacted" in path}
    spans = {tuple(int(part) for part in path.rpartition("/")[2].split(".")[:2]) for path in compactions}
    assert spans == {(1, 2), (2, 8), (6, 8)}


def test_parts_of_a_checkpoint_that_was_never_finished_go_too(folder: Path) -> None:
    log = _Log(folder, last=6, checkpoints=(4,))
    part = f"_delta_log/{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet"
    log.store.put_if_absent(part, b"half")
    log.dated(NOW - 10 * DAY, until=6)
    assert part in {file.path for file in log.plan().files}


@pytest.mark.conformance("CLEANUP-004")
def test_sidecars_go_once_nobody_names_them_and_a_day_has_passed(folder: Path) -> None:
    log = _Log(folder, V2, _properties(), last=8, checkpoints=(2, 4, 6), most_inline=0)
    log.dated(NOW - 10 * DAY, until=5)
    sidecars = sorted((log.folder / "_delta_log" / "_sidecars").iterdir())
    (log.folder / "_delta_log" / "_sidecars" / "young.parquet").write_bytes(b"x")
    (log.folder / "_delta_log" / "_sidecars" / ".torn.parquet.0123.tmp").write_bytes(b"x")
    for path in [*sidecars, log.folder / "_delta_log" / "_sidecars" / ".torn.parquet.0123.tmp"]:
        os.utime(path, ((LAST_MIDNIGHT - DAY - timedelta(seconds=1)).timestamp(),) * 2)
    os.utime(log.folder / "_delta_log" / "_sidecars" / "young.parquet", ((LAST_MIDNIGHT - DAY).timestamp(),) * 2)
    plan = log.plan()
    assert plan.first_version == 4
    gone = [file for file in plan.files if file.kind == "sidecar"]
    assert len(gone) == 2
    assert [file.kind for file in plan.files][-2:] == ["sidecar", "sidecar"]
    clean_log(log.store, plan)
    table = explorer.Table(log.store)
    for version in range(4, 9):
        assert len(paths(table.snapshot(version))) == version
    assert "young.parquet" in log.names()


def test_sidecars_stay_while_a_checkpoint_cannot_be_read(folder: Path) -> None:
    log = _Log(folder, V2, _properties(), last=8, checkpoints=(2, 4), most_inline=0)
    log.dated(NOW - 10 * DAY, until=5)
    for path in (log.folder / "_delta_log" / "_sidecars").iterdir():
        os.utime(path, (0, 0))
    torn = log.folder / "_delta_log" / f"{7:020d}.checkpoint.parquet"
    state = log.state()
    torn.write_bytes(b"PAR1 torn")
    plan = plan_cleanup(log.store, state, NOW)
    assert plan.first_version == 4
    assert all(file.kind != "sidecar" for file in plan.files)
    assert "cannot be read" in plan.reason


@pytest.mark.conformance("CKPTPROT-001", "CKPTPROT-003")
@pytest.mark.parametrize(("boundary", "first"), [("5", 0), ("4", 4), ("3", 4), ("0", 4)])
def test_a_protected_history_goes_at_once_or_not_at_all(folder: Path, boundary: str, first: int) -> None:
    metadata = _properties(delta_requireCheckpointProtectionBeforeVersion=boundary)
    log = _Log(folder, V2, metadata, last=8, checkpoints=(2, 4, 7))
    log.dated(NOW - 10 * DAY, until=5)
    plan = log.plan()
    assert plan.first_version == first
    assert bool(plan.files) is bool(first)
    assert ("protected" in plan.reason) is not bool(first)
    kinds = [file.kind for file in plan.files]
    assert kinds == sorted(kinds, key=["commit", "classic checkpoint"].index)


def test_the_property_alone_protects_nothing(folder: Path) -> None:
    metadata = _properties(delta_requireCheckpointProtectionBeforeVersion="8")
    log = _Log(folder, MASKED, metadata, last=8, checkpoints=(4,))
    log.dated(NOW - 10 * DAY, until=5)
    assert log.plan().first_version == 4


@pytest.mark.conformance("CATALOG-005")
def test_a_table_that_a_catalog_manages_is_left_to_it(folder: Path) -> None:
    log = _Log(folder, last=1)
    managed = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("catalogManaged",),
        writer_features=("catalogManaged",),
    )
    with pytest.raises(UnsupportedFeature):
        plan_cleanup(log.store, msgspec.structs.replace(log.state(), protocol=managed), NOW)


def test_a_property_without_a_readable_value_is_an_error(folder: Path) -> None:
    log = _Log(folder, MASKED, _properties(delta_enableExpiredLogCleanup="perhaps"), last=1)
    with pytest.raises(CorruptTable, match="enableExpiredLogCleanup"):
        log.plan()


@pytest.mark.conformance("CKPTPROT-003")
def test_a_clean_up_that_stops_half_way_leaves_every_version_that_was_to_stay(folder: Path) -> None:
    log = _Log(folder, V2, _properties(), last=9, checkpoints=(2, 4, 6), most_inline=0)
    log.store.put_if_absent(commit_name(10), b"")
    log.dated(NOW - 10 * DAY, until=7)
    for path in (log.folder / "_delta_log" / "_sidecars").iterdir():
        os.utime(path, (0, 0))
    whole = [paths(explorer.Table(log.store).snapshot(version)) for version in range(11)]
    plan = log.plan()
    assert plan.first_version == 6
    for file in plan.files:
        log.store.delete(file.path)
        table = explorer.Table(log.store)
        first, last = table.version_range()
        assert first <= 6
        assert last == 10
        for version in range(first, last + 1):
            assert paths(table.snapshot(version)) == whole[version]


def test_files_that_other_versions_removed_are_no_part_of_it(folder: Path) -> None:
    """The clean-up of the log touches no data file and no deletion vector."""
    log = _Log(folder, last=4, checkpoints=(3,))
    write(log.store, {5: (remove("f1"),)})
    log.store.put_if_absent("f1", b"data")
    log.dated(NOW - 10 * DAY, until=5)
    clean_log(log.store, log.plan())
    assert log.store.read("f1") == b"data"
