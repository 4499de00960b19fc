"""Which files make up a version: hints, incomplete checkpoints, compactions, and files that vanish."""

from __future__ import annotations

from pathlib import Path

import pytest

import explorer
from explorer.core.errors import IncompleteCheckpoint, VersionGap, VersionNotFound
from explorer.core.log.log_path import LAST_CHECKPOINT, LogFileKind, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.actions import TransactionAction
from explorer.core.protocol.log_store import LogStore, ObjectMeta
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import SHAPES, Shape, write_checkpoint
from tests.support.logs.small_logs import (
    METADATA,
    PROTOCOL,
    add,
    lines,
    new_store,
    paths,
    remove,
    table,
    write,
    write_log,
)

COMMITS = {
    0: (PROTOCOL, METADATA, add("a")),
    1: (add("b"),),
    2: (remove("a"), add("c")),
    3: (add("d"),),
    4: (remove("b"),),
}
STATE_2 = (PROTOCOL, METADATA, add("b"), add("c"), remove("a"))
LATEST = {("c", None), ("d", None)}


def _logged(shape: Shape = "classic", hint: bytes | None = None) -> explorer.Table:
    store = new_store()
    write_checkpoint(store, 2, STATE_2, shape)
    if hint is not None:
        store.put_if_absent(LAST_CHECKPOINT, hint)
    return table(COMMITS, store)


@pytest.mark.parametrize(
    "hint",
    [
        None,
        b'{"version":2,"size":5}',
        b'{"version":0,"size":1}',
        b'{"version":3,"size":5}',
        b'{"version":2,"size":5,"checksum":"wrong"}',
        b"",
        b"nonsense",
    ],
    ids=["none", "right", "stale", "no such checkpoint", "bad checksum", "empty", "corrupt"],
)
@pytest.mark.conformance("LASTCKPT-003", "LASTCKPT-004", "LASTCKPT-005", "LASTCKPT-007")
def test_whatever_the_hint_says_the_table_is_the_same(hint: bytes | None) -> None:
    found = _logged(hint=hint)
    assert found.latest_version() == 4
    assert paths(found.snapshot()) == LATEST
    assert paths(found.snapshot(1)) == {("a", None), ("b", None)}
    assert found.version_range() == (0, 4)


def test_a_hint_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    write_log(tmp_path / "t", [[PROTOCOL, METADATA], [add("a")]])
    (tmp_path / "t" / "_delta_log" / "_last_checkpoint").mkdir()
    found = explorer.open_table(tmp_path / "t")
    assert (found.latest_version(), found.version_range()) == (1, (0, 1))
    assert paths(found.snapshot()) == {("a", None)}
    (problem,) = found.verify().problems
    assert (problem.kind, problem.file) == ("unusable-hint", "_delta_log/_last_checkpoint")


@pytest.mark.conformance("LOG-015")
def test_a_hint_keeps_older_files_out_of_the_listing() -> None:
    listing = list_log(_logged(hint=b'{"version":2,"size":5}').store, use_hint=True)
    assert min(listing.commits) == 2
    assert listing.checkpoints[0].version == 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.conformance("LOG-011", "V2CKPT-006", "V2CKPT-013")
def test_every_shape_of_checkpoint_replaces_the_commits_before_it(shape: Shape) -> None:
    found = _logged(shape)
    for version in (0, 1):
        found.store.delete(commit_name(version))
    again = explorer.Table(found.store)
    assert again.version_range()[0] == 2
    assert paths(again.snapshot(2)) == {("b", None), ("c", None)}
    assert paths(again.snapshot()) == LATEST


@pytest.mark.conformance("CKPT-003")
def test_parts_of_different_counts_are_of_different_checkpoints() -> None:
    store = new_store()
    parts = [store.read(path) for path in write_checkpoint(store, 2, STATE_2, "multi-part")]
    store.delete(f"_delta_log/{2:020d}.checkpoint.{2:010d}.{3:010d}.parquet")
    for place, count in ((2, 2), (2, 4), (4, 4)):
        store.put_if_absent(f"_delta_log/{2:020d}.checkpoint.{place:010d}.{count:010d}.parquet", parts[1])
    found = table(COMMITS, store)
    assert list_log(store).checkpoints == ()
    assert paths(found.snapshot()) == LATEST
    store.put_if_absent(f"_delta_log/{2:020d}.checkpoint.{1:010d}.{2:010d}.parquet", b"of another checkpoint")
    (checkpoint,) = list_log(store).checkpoints
    assert [part.name[-29:-8] for part in checkpoint.parts] == ["0000000001.0000000002", "0000000002.0000000002"]


@pytest.mark.conformance("CKPT-003")
def test_an_incomplete_multi_part_checkpoint_is_passed_over() -> None:
    store = new_store()
    second = write_checkpoint(store, 2, STATE_2, "multi-part")[1]
    store.delete(second)
    found = table(COMMITS, store)
    assert list_log(store).checkpoints == ()
    assert paths(found.snapshot()) == LATEST


@pytest.mark.conformance("CKPT-004")
def test_parts_of_two_multi_part_checkpoints_are_never_mixed() -> None:
    store = new_store()
    names = write_checkpoint(store, 2, STATE_2, "multi-part")
    store.put_if_absent(names[1].replace(f"{3:010d}.parquet", f"{2:010d}.parquet"), store.read(names[1]))
    store.delete(names[1])
    assert list_log(table(COMMITS, store).store).checkpoints == ()


def test_a_v2_checkpoint_is_preferred_to_a_classic_one_of_its_version() -> None:
    store = new_store()
    write_checkpoint(store, 2, STATE_2, "classic")
    write_checkpoint(store, 2, STATE_2, "v2-json")
    found = table(COMMITS, store)
    segment = list_log(store).segment(3)
    assert segment.checkpoint is not None
    assert segment.checkpoint.kind is LogFileKind.UUID_CHECKPOINT
    assert paths(found.snapshot()) == LATEST


@pytest.mark.conformance("LOG-014")
def test_a_checkpoint_newer_than_the_version_is_not_used() -> None:
    segment = list_log(_logged().store).segment(1)
    assert segment.checkpoint is None
    assert [path.version for path in segment.commits] == [0, 1]


@pytest.mark.conformance("LOG-016", "REPLAY-009")
def test_a_checkpoint_alone_is_a_readable_table() -> None:
    store = new_store()
    write_checkpoint(store, 2, STATE_2, "classic")
    found = explorer.Table(store)
    assert found.version_range() == (2, 2)
    assert paths(found.snapshot()) == {("b", None), ("c", None)}
    assert found.history().num_rows == 0


COMPACTED = "_delta_log/00000000000000000001.00000000000000000003.compacted.json"


def _compacted() -> explorer.Table:
    found = table(COMMITS)
    found.store.put_if_absent(COMPACTED, lines([remove("a"), add("b"), add("c"), add("d")]))
    return found


@pytest.mark.conformance("COMPACT-006")
def test_commits_are_preferred_to_a_compaction() -> None:
    segment = list_log(_compacted().store).segment()
    assert {path.kind for path in segment.commits} == {LogFileKind.COMMIT}


@pytest.mark.conformance("COMPACT-003", "COMPACT-006")
def test_a_compaction_stands_for_commits_that_are_gone() -> None:
    found = _compacted()
    found.store.delete(commit_name(2))
    again = explorer.Table(found.store)
    segment = list_log(found.store).segment()
    assert [path.name for path in segment.commits if path.kind is LogFileKind.COMPACTION] == [COMPACTED[11:]]
    assert [path.version for path in segment.commits] == [0, 1, 4]
    assert paths(again.snapshot()) == LATEST
    assert paths(again.snapshot(3)) == LATEST | {("b", None)}


@pytest.mark.conformance("COMPACT-003", "COMPACT-006")
def test_a_compaction_that_reaches_beyond_the_version_is_not_used() -> None:
    found = _compacted()
    found.store.delete(commit_name(2))
    with pytest.raises(VersionGap, match="version 2 is missing"):
        explorer.Table(found.store).snapshot(2)


@pytest.mark.conformance("COMPACT-003")
def test_the_sample_compaction_reconciles_like_its_commits() -> None:
    commits = {
        0: (PROTOCOL, METADATA, add("f1")),
        1: (add("f2"), remove("f1")),
        2: (add("f3"), add("f4")),
        3: (remove("f3"),),
    }
    by_commits = table(commits)
    store = new_store()
    write(store, {0: commits[0], 3: commits[3]})
    store.put_if_absent(COMPACTED, lines([add("f2"), add("f4"), remove("f1"), remove("f3")]))
    assert paths(explorer.Table(store).snapshot(3)) == paths(by_commits.snapshot(3)) == {("f2", None), ("f4", None)}


@pytest.mark.conformance("COMPACT-003", "COMPACT-006")
def test_a_history_begins_where_a_compaction_that_stands_for_lost_commits_ends() -> None:
    found = _compacted()
    whole = found.history().to_pylist()
    found.store.delete(commit_name(2))
    again = explorer.Table(found.store)
    assert again.version_range() == (3, 4)
    assert [row["version"] for row in again.history().to_pylist()] == [4, 3]
    known = ("num_files", "num_bytes", "num_rows", "num_files_added", "num_files_removed")
    assert [[row[name] for name in known] for row in again.history(1).to_pylist()] == [
        [row[name] for name in known] for row in whole[:1]
    ]
    assert (again.diff(3, 4).totals, again.diff(4, 3).totals) == (found.diff(3, 4).totals, found.diff(4, 3).totals)
    for version in (3, 4):
        files = again.history_record().lifetimes.files_at(version).column("path").to_pylist()
        assert {(path, None) for path in files} == paths(again.snapshot(version))
    with pytest.raises(VersionNotFound, match="versions 3 to 4 that the history has"):
        again.diff(2, 4)
    with pytest.raises(VersionGap, match=r"Versions 0 to 1 and 3 to 4 can be read\."):
        again.snapshot(2)
    # What lies before the gap can be read one by one, as before any other gap.
    assert paths(again.snapshot(1)) == paths(found.snapshot(1))


@pytest.mark.conformance("COMPACT-003")
def test_a_history_may_rest_on_a_compaction_and_nothing_else() -> None:
    store = new_store()
    store.put_if_absent(
        "_delta_log/00000000000000000000.00000000000000000003.compacted.json",
        lines([PROTOCOL, METADATA, add("a"), add("b", records=None)]),
    )
    write(store, {4: (remove("a"), add("c")), 5: (add("d"),)})
    found = explorer.Table(store)
    assert found.version_range() == (3, 5)
    assert found.history().column("num_files").to_pylist() == [3, 2]
    assert found.diff(3, 4).files.sort_by("path").column("path").to_pylist() == ["a", "c"]
    assert paths(found.snapshot(3)) == {("a", None), ("b", None)}


@pytest.mark.conformance("COMPACT-003")
def test_a_compaction_makes_no_version() -> None:
    found = table(COMMITS)
    stray = "_delta_log/00000000000000000003.00000000000000000009.compacted.json"
    found.store.put_if_absent(stray, lines([add("z")]))
    again = explorer.Table(found.store)
    with pytest.raises(VersionGap, match="names version 9"):
        again.snapshot()
    assert paths(again.snapshot(4)) == LATEST
    assert [(each.kind, each.version, each.file) for each in again.verify().problems] == [
        ("stray-compaction", 3, stray),
        ("lost-version", 9, stray),
    ]


def test_what_was_read_before_does_not_change_what_a_version_says() -> None:
    store = new_store()
    one = TransactionAction(app_id="x", version=1)
    write_checkpoint(store, 1, (PROTOCOL, METADATA, add("a"), one), "classic")
    # The commit was emptied after its checkpoint was made.
    found = table({0: (PROTOCOL, METADATA), 1: (), 2: (add("b"),)}, store)
    assert found.snapshot(0).transactions == {}
    for fresh in (explorer.Table(store), found):
        assert fresh.snapshot(1).transactions == {"x": 1}
        assert fresh.snapshot(2).transactions == {"x": 1}
        assert paths(fresh.snapshot(2)) == {("a", None), ("b", None)}


@pytest.mark.conformance("LOG-022")
def test_a_checkpoint_that_vanished_since_the_listing_is_done_without() -> None:
    found = _logged()
    found.store.delete("_delta_log/00000000000000000002.checkpoint.parquet")
    assert paths(found.snapshot()) == LATEST


@pytest.mark.conformance("V2CKPT-007")
def test_a_sidecar_that_is_missing_makes_its_checkpoint_unusable() -> None:
    found = _logged("v2-sidecars")
    found.store.delete("_delta_log/_sidecars/2-0.parquet")
    assert paths(found.snapshot()) == LATEST
    found.store.delete(commit_name(0))
    with pytest.raises((IncompleteCheckpoint, VersionGap)):
        paths(explorer.Table(found.store).snapshot())


@pytest.mark.conformance("V2CKPT-007")
def test_however_many_checkpoints_lost_a_sidecar_the_commits_give_the_table() -> None:
    found = _logged("v2-sidecars")
    write_checkpoint(found.store, 1, (PROTOCOL, METADATA, add("a"), add("b")), "v2-sidecars")
    for version in (1, 2):
        found.store.delete(f"_delta_log/_sidecars/{version}-0.parquet")
    assert paths(explorer.Table(found.store).snapshot()) == LATEST


def test_a_commit_that_vanished_since_the_listing_is_a_gap_not_a_wrong_answer() -> None:
    found = _logged()
    found.store.delete(commit_name(3))
    with pytest.raises(VersionGap):
        found.snapshot(4)


@pytest.mark.conformance("LOG-022")
def test_a_log_cleaned_since_the_listing_is_read_from_its_new_checkpoint() -> None:
    found = table(COMMITS)
    write_checkpoint(found.store, 2, STATE_2, "classic")
    found.store.delete(commit_name(0))
    assert paths(found.snapshot(4)) == LATEST


class _Blinking(FaultyStore):
    """A store whose next listings lack a name each, as listings of a folder may while others write to it."""

    def __init__(self, inner: LogStore, lacking: list[str]) -> None:
        super().__init__(inner)
        self.lacking = lacking

    def list_from(self, folder: str, start: str = "") -> list[ObjectMeta]:
        found = list(super().list_from(folder, start))
        lacking = self.lacking.pop(0) if self.lacking else None
        return [each for each in found if each.path != lacking]


@pytest.mark.conformance("LOG-011")
def test_a_commit_that_a_listing_lacked_while_others_wrote_is_looked_for_again() -> None:
    inner = new_store()
    write(inner, COMMITS)
    for lacking in ([1], [3], [2, 1], [3, 2, 3, 1]):
        found = explorer.Table(_Blinking(inner, [commit_name(version) for version in lacking]))
        assert paths(found.snapshot()) == LATEST
    found = explorer.Table(_Blinking(inner, []))
    write(inner, {5: (), 6: (), 7: ()})
    found.store.lacking = [commit_name(6)]
    found.refresh()
    assert paths(found.snapshot()) == LATEST
    assert found.latest_version() == 7
    blinking = _Blinking(inner, [commit_name(6)])
    assert explorer.Table(blinking).verify().problems == ()


def test_a_commit_that_is_gone_is_looked_for_once_more_and_no_more() -> None:
    inner = new_store()
    write(inner, {version: COMMITS[version] for version in (0, 1, 3, 4)})
    store = FaultyStore(inner)
    with pytest.raises(VersionGap):
        explorer.Table(store).snapshot()
    assert store.requests.count("list _delta_log") <= 4
