"""The retention horizon against VACUUM itself: what a retention takes is what is gone after it ran."""

import os
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, RequestError
from explorer.core.log.log_path import commit_name
from explorer.core.maintenance.vacuum import plan_vacuum
from explorer.core.protocol.actions import Action, AddCDCFile, DeletionVectorDescriptor, Remove
from explorer.core.protocol.deletion_vectors import location, z85_encode
from explorer.core.versions.retention.horizon import Horizon
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.shared_tables import reference_root

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp() * 1000)
DAY = 86_400_000
FEED = small_logs.metadata({"id": "long"}, configuration={"delta.enableChangeDataFeed": "true"})
ON_DISK = ("change-feed", "change-feed-partitioned", "deletion-vectors", "column-mapping", "append-only", "vacuum")


def removed(path: str, days: float, vector: DeletionVectorDescriptor | None = None) -> Remove:
    return small_logs.remove(path, deletion_timestamp=NOW_MS - int(days * DAY), vector=vector)


def vector(letter: str, offset: int = 1) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor("u", z85_encode(letter.encode() * 16), 34, 1, offset)


def made(folder: Path, commits: list[list[Action]], ages: list[float], files: dict[str, float]) -> explorer.Table:
    """A table whose commits, and whose files, are so many days old."""
    small_logs.write(open_store(folder), dict(enumerate(commits)))
    dated = {commit_name(version): age for version, age in enumerate(ages)}
    for place, name in enumerate(files):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * (10 + place))
    for name, days in (dated | files).items():
        os.utime(folder / name, (NOW_MS / 1000 - days * 86_400,) * 2)
    return explorer.open_table(folder)


@pytest.fixture
def story(tmp_path: Path) -> explorer.Table:
    """Rewrites, vectors that share a file, recorded and inferred changes, orphans, a checksum, and a hole."""
    one, other, late = vector("s"), vector("s", 43), vector("t")
    features = ("deletionVectors", "changeDataFeed")
    masks = msgspec.structs.replace(small_logs.MASKED, writer_features=features)
    commits: list[list[Action]] = [
        [masks, FEED, small_logs.add("a"), small_logs.add("b"), small_logs.add("c")],
        [removed("a", 20), small_logs.add("a", vector=one), removed("b", 20), small_logs.add("b", vector=other)],
        [removed("a", 15, one), small_logs.add("d"), AddCDCFile(path="_change_data/c1", partition_values={}, size=5)],
        [removed("b", 9, other), small_logs.add("b", vector=late)],
        [removed("c", 6), AddCDCFile(path="_change_data/c2", partition_values={}, size=6)],
        [small_logs.add("e")],
        [removed("d", 1), small_logs.add("f")],
    ]
    files = dict.fromkeys(["a", "b", "c", "d", "e", "f"], 30.0)
    files |= {location(one.id) or "": 20, location(late.id) or "": 9, "_change_data/c1": 15, "_change_data/c2": 6}
    # Written later than it was removed, as in a folder that somebody copied.
    files |= {"c": 4, "orphan": 12, ".a.crc": 30, ".orphan.crc": 3, "_hidden/x": 40, "young-orphan": 0.5}
    return made(tmp_path / "story", commits, [30, 20, 15, 9, 6, 5, 1], files)


def folder_of(table: explorer.Table) -> Path:
    return Path(table.location.removeprefix("file://"))


def edges(horizon: Horizon) -> Iterable[int]:
    """Every step, and the retention just below it."""
    return sorted({max(step + more, 0) for step in horizon.retentions.tolist() for more in (-1, 0)})


def read_after(table: explorer.Table, retention: int, copy: Path) -> tuple[set[int], set[int], int, int]:
    """Vacuum a copy; the versions and the changes that can be read then, and how many files and bytes went."""
    shutil.copytree(folder_of(table), copy)
    plan = plan_vacuum(explorer.open_table(copy), NOW, timedelta(milliseconds=retention))
    sizes = [(copy / file.path).stat().st_size for file in plan.files]
    for file in plan.files:
        (copy / file.path).unlink()
    left = explorer.open_table(copy)
    status = left.retention(NOW).select(["version", "status"]).to_pylist()
    readable = {row["version"] for row in status if row["status"] in ("readable", "at risk")}
    told = set()
    for version in range(left.latest_version() + 1):
        try:
            left.change_sources(version, version)
        except ChangeFeedGap:
            continue
        told.add(version)
    return readable, told, len(sizes), sum(sizes)


def inside(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {version for first, last in ranges for version in range(first, last + 1)}


def test_every_step_is_what_a_vacuum_then_leaves(story: explorer.Table, tmp_path: Path) -> None:
    horizon = story.horizon(NOW, folder=True)
    curves = {row["retention"]: row for row in horizon.table().to_pylist()}
    before = read_after(story, 10_000 * DAY, tmp_path / "untouched")
    assert before == (set(range(7)), set(range(7)), 0, 0)
    for place, retention in enumerate(edges(horizon)):
        readable, told, files, size = read_after(story, retention, tmp_path / f"copy{place}")
        found = horizon.what_if(retention)
        assert (found.files, found.bytes, found.sizes_unknown) == (files, size, 0)
        assert inside(found.versions) == before[0] - readable
        assert inside(found.feed_versions) == before[1] - told
        assert (found.kept, found.feed_kept) == (len(readable), len(told))
        at = curves[max(step for step in curves if step <= retention)]
        assert (at["versions"], at["feed_versions"], at["files"], at["bytes"]) == (
            len(readable),
            len(told),
            files,
            size,
        )


def test_what_is_gone_does_not_die_again(story: explorer.Table) -> None:
    (folder_of(story) / "a").unlink()
    (folder_of(story) / "_change_data/c1").unlink()
    found = explorer.open_table(folder_of(story)).horizon(NOW, folder=True)
    assert found.scan is not None
    assert found.scan.missing == {"a"}
    assert found.versions.versions[found.versions.lost].tolist() == [0, 1]
    assert found.feed.versions[found.feed.lost].tolist() == [0, 1, 2]
    assert found.what_if(0).versions == ((2, 5),)
    dates = found.what_if(7 * DAY).dates.to_pylist()
    assert [row["lost_from"] for row in dates[:3]] == [None, None, NOW - timedelta(days=2)]
    assert [row["feed_lost_from"] for row in dates[3:5]] == [NOW - timedelta(days=2), NOW + timedelta(days=1)]
    assert [row["gone"] for row in dates] == [True, True] + [False] * 5


def test_orphans_are_those_that_no_action_names(story: explorer.Table) -> None:
    scan = story.folder()
    assert scan.orphans.column("path").to_pylist() == [".orphan.crc", "orphan", "young-orphan"]
    states = dict(zip(scan.files.column("path").to_pylist(), scan.files.column("state").to_pylist(), strict=True))
    assert (states["e"], states["d"], states["_change_data/c1"], states[".a.crc"]) == (
        "live",
        "removed",
        "changes",
        "removed",
    )
    assert "_hidden/x" not in states


def test_the_log_alone_says_the_same_of_files_that_are_as_it_says(story: explorer.Table) -> None:
    folder = folder_of(story)
    for name in ("orphan", "young-orphan", ".a.crc", ".orphan.crc"):
        (folder / name).unlink()
    os.utime(folder / "c", (NOW_MS / 1000 - 30 * 86_400,) * 2)
    table = explorer.open_table(folder)
    by_log, by_folder = table.horizon(NOW), table.horizon(NOW, folder=True)
    assert (by_log.basis, by_folder.basis) == ("log", "folder")
    for column in ("retention", "versions", "feed_versions", "files"):
        assert by_log.table().column(column) == by_folder.table().column(column)


@pytest.mark.reference
@pytest.mark.parametrize("name", ON_DISK)
def test_tables_of_the_reference_writer_free_what_a_vacuum_lists(name: str) -> None:
    table = explorer.open_table(reference_root() / "tables" / name)
    now = datetime.now(UTC)
    horizon = table.horizon(now, folder=True)
    for retention in at_least_one(edges(horizon)):
        plan = plan_vacuum(table, now, timedelta(milliseconds=retention))
        found = horizon.what_if(retention)
        assert (found.files, found.bytes) == (len(plan.files), sum(file.size or 0 for file in plan.files))


@pytest.mark.reference
@pytest.mark.parametrize("name", ["deletion-vectors", "change-feed", "optimize"])
def test_the_log_alone_knows_the_bytes_of_every_file_that_the_reference_wrote(name: str) -> None:
    table = explorer.open_table(reference_root() / "tables" / name)
    by_log, by_folder = (table.horizon(datetime.now(UTC), folder=folder).what_if(0) for folder in (False, True))
    assert (by_log.files, by_log.bytes, by_log.sizes_unknown) == (by_folder.files, by_folder.bytes, 0)
    assert by_log.files > 0


@pytest.mark.reference
def test_what_recorded_vacuums_took_is_not_freed_again() -> None:
    table = explorer.open_table(reference_root() / "tables" / "vacuum")
    horizon = table.horizon(datetime.now(UTC))
    assert horizon.what_if(0).files == 0
    assert horizon.versions.versions[horizon.versions.lost].tolist() == list(range(1, 12))


@pytest.mark.reference
@pytest.mark.interop
@pytest.mark.parametrize("name", ["optimize", "schema-changes", "replace-where"])
def test_another_client_would_delete_the_same_files(name: str) -> None:
    deltalake = pytest.importorskip("deltalake")
    folder = reference_root() / "tables" / name
    listed = deltalake.DeltaTable(str(folder)).vacuum(0, dry_run=True, enforce_retention_duration=False)
    assert explorer.open_table(folder).horizon(datetime.now(UTC)).what_if(0).files == len(listed) > 0


def test_a_table_of_one_version_has_one_step() -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA, small_logs.add("a")]})
    found = table.horizon(NOW)
    assert found.table().to_pylist() == [{"retention": 0, "versions": 1, "feed_versions": 0, "files": 0, "bytes": 0}]
    assert found.retention == 7 * DAY


def test_a_retention_below_zero_and_a_present_without_a_zone_are_refused() -> None:
    table = small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]})
    with pytest.raises(RequestError, match="negative"):
        table.horizon(NOW).what_if(-1)
    with pytest.raises(RequestError, match="zone"):
        table.horizon(NOW.replace(tzinfo=None))
