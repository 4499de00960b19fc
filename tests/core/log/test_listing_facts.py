"""Each name of the log with all that is known of its file, and the listing that is made of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import MalformedAction, TableNotFound, VersionGap
from explorer.core.log.last_checkpoint import LastCheckpoint, encode_last_checkpoint, parse_last_checkpoint
from explorer.core.log.log_path import LogFileKind, LogPath, commit_name, parse_log_name
from explorer.core.log.log_segment import LogListing, arrange_log, list_log, list_newer
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.file_paths import canonical_key, decode_path
from explorer.core.protocol.log_store import ListedObjects, LogStore
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write_log

UUID = "0123abcd-0123-4567-89ab-0123456789ab"
KINDS: dict[str, tuple[LogFileKind, int, dict[str, Any]]] = {
    f"{7:020d}.json": (LogFileKind.COMMIT, 7, {}),
    "7.json": (LogFileKind.COMMIT, 7, {}),
    f"{7:021d}.json": (LogFileKind.COMMIT, 7, {}),
    f"{7:020d}.checkpoint.parquet": (LogFileKind.CLASSIC_CHECKPOINT, 7, {}),
    f"{7:020d}.checkpoint.0000000002.0000000003.parquet": (
        LogFileKind.MULTI_PART_CHECKPOINT,
        7,
        {"part": 2, "parts": 3},
    ),
    f"{7:020d}.checkpoint.0000000003.0000000003.parquet": (
        LogFileKind.MULTI_PART_CHECKPOINT,
        7,
        {"part": 3, "parts": 3},
    ),
    f"{7:020d}.checkpoint.{UUID}.parquet": (LogFileKind.UUID_CHECKPOINT, 7, {"uuid": UUID}),
    f"{7:020d}.checkpoint.{UUID}.json": (LogFileKind.UUID_CHECKPOINT, 7, {"uuid": UUID}),
    f"{7:020d}.{9:020d}.compacted.json": (LogFileKind.COMPACTION, 7, {"last_version": 9}),
    f"{7:020d}.crc": (LogFileKind.CHECKSUM, 7, {}),
    f"{7:020d}.{UUID}.json": (LogFileKind.STAGED_COMMIT, 7, {"uuid": UUID}),
}
NO_NAMES = (
    *("", "_last_checkpoint", "a.json", f"{7:020d}.jsonx", f"x{7:019d}.json", f"{7:020d}.checkpoint"),
    *(f"{7:020d}.{7:020d}.compacted.json", f"{9:020d}.{7:020d}.compacted.json", f"{7:020d}.checkpoint.x.parquet"),
    *(f"{7:020d}.checkpoint.0000000000.0000000003.parquet", f"{7:020d}.checkpoint.0000000004.0000000003.parquet"),
    "\u0661" * 20 + ".json",
)


@pytest.mark.parametrize("name", [*KINDS])
def test_a_name_of_the_log_keeps_all_that_is_known_of_its_file(name: str) -> None:
    kind, version, more = KINDS[name]
    assert parse_log_name(name, 5, 6, 8) == LogPath(name, kind, version, size=5, modified=6, etag=8, **more)
    assert parse_log_name(name) == LogPath(name, kind, version, **more)


@pytest.mark.parametrize("name", NO_NAMES)
def test_what_is_no_name_of_the_log_is_none(name: str) -> None:
    assert parse_log_name(name, 5, 6, 8) is None


def _path(name: str, **more: int) -> LogPath:
    found = parse_log_name(name, **more)
    assert found is not None
    return found


def test_files_are_told_apart_by_what_they_are() -> None:
    names = [f"{2:020d}.json", f"{2:020d}.crc", f"{1:020d}.{UUID}.json", f"{1:020d}.json"]
    names += [f"{1:020d}.{2:020d}.compacted.json", f"{2:020d}.checkpoint.parquet"]
    found = arrange_log([_path(name) for name in names])
    assert found.commits == {1: _path(names[3]), 2: _path(names[0])}
    assert [*found.commits] == [1, 2]
    assert found.checksums == {2: _path(names[1])}
    assert found.compactions == (_path(names[4]),)
    assert [(each.version, each.parts) for each in found.checkpoints] == [(2, (_path(names[5]),))]
    assert found.is_complete


def _store(names: Iterable[str]) -> LogStore:
    store = new_store()
    for name in names:
        store.put_if_absent(f"_delta_log/{name}", b"{}")
    return store


def _names(*commits: int) -> list[str]:
    return [f"{version:020d}.json" for version in commits]


def test_what_is_newer_goes_behind_what_is_known() -> None:
    store = _store(
        [*_names(0, 1, 2), f"{0:020d}.{1:020d}.compacted.json", f"{1:020d}.crc", f"{1:020d}.checkpoint.parquet"]
    )
    known = list_log(store)
    more = [*_names(3), f"{2:020d}.{3:020d}.compacted.json", f"{3:020d}.crc", f"{3:020d}.checkpoint.parquet"]
    for name in more:
        store.put_if_absent(f"_delta_log/{name}", b"{}")
    newer = list_newer(store, known)
    assert newer is not None
    assert newer == msgspec.structs.replace(list_log(store), is_complete=False)
    assert (len(newer.commits), len(newer.compactions), len(newer.checksums), len(newer.checkpoints)) == (4, 2, 2, 2)
    store.delete(commit_name(2))
    store.put_if_absent(commit_name(2), b"{} ")
    assert list_newer(store, known) is None
    assert list_newer(store, LogListing({}, known.checkpoints)) is None


def test_a_hint_says_where_a_listing_may_begin() -> None:
    store = _store([*_names(0, 1, 2, 3), f"{2:020d}.checkpoint.parquet"])
    whole = list_log(store)
    assert ([*whole.commits], whole.is_complete) == ([0, 1, 2, 3], True)
    store.put("_delta_log/_last_checkpoint", encode_last_checkpoint(LastCheckpoint(2, 5)))
    hinted = list_log(store, use_hint=True)
    assert ([*hinted.commits], hinted.is_complete) == ([2, 3], False)
    assert list_log(store) == whole
    for hint, listings in at_least_one(((b"no hint", 1), (encode_last_checkpoint(LastCheckpoint(3, 5)), 2))):
        store.put("_delta_log/_last_checkpoint", hint)
        asked = FaultyStore(store)
        assert list_log(asked, use_hint=True) == whole
        assert asked.requests == ["read _delta_log/_last_checkpoint", *["list _delta_log"] * listings]


LONG_AGO = 1_700_000_000


def _age(folder: Path) -> None:
    """Let the names of a log be old: those that it has had for less than two seconds are asked for again."""
    os.utime(folder / "_delta_log", (LONG_AGO, LONG_AGO))


def _hinted_table(folder: Path, files: str) -> Path:
    """A table of a commit for each file, with a checkpoint of version 1 and a hint of it."""
    write_log(folder, [[PROTOCOL, METADATA], *([add(file, 1)] for file in files)])
    store = open_store(folder)
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add(files[0], 1)], "classic")
    store.put("_delta_log/_last_checkpoint", encode_last_checkpoint(LastCheckpoint(1, 5)))
    _age(folder)
    return folder


def test_a_listing_from_a_hint_on_is_made_whole_by_the_names_of_that_time(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for name in (*_names(0, 1, 2, 3, 4), f"{3:020d}.checkpoint.parquet", f"{1:020d}.crc"):
        store.put_if_absent(f"_delta_log/{name}", b"{}")
    (tmp_path / "_delta_log" / f"{2:020d}.checkpoint.parquet").mkdir()
    store.put("_delta_log/_last_checkpoint", encode_last_checkpoint(LastCheckpoint(3, 5)))
    assert list_log(store, use_hint=True).beginning is None, "its names changed right now, and may again unseen"
    _age(tmp_path)
    asked = FaultyStore(store)
    hinted, whole = list_log(asked, use_hint=True), list_log(store)
    assert hinted.beginning is None, "a store that lists objects one by one keeps no names"
    hinted = list_log(store, use_hint=True)
    assert hinted.beginning is not None
    assert hinted.beginning() == whole
    store.put_if_absent(commit_name(5), b"{}")
    assert hinted.beginning() is None, "the folder has other names"
    _age(tmp_path)
    assert hinted.beginning() == whole
    (tmp_path / commit_name(0)).unlink()
    _age(tmp_path)
    later = hinted.beginning()
    assert later is not None
    assert [*later.commits] == [1, 2, 3, 4]
    (tmp_path / commit_name(2)).unlink()
    _age(tmp_path)
    assert hinted.beginning() is None, "a commit seems to be missing, which another look at the folder shows or not"


def test_the_names_of_a_log_are_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _hinted_table(tmp_path, "abc")
    looks = list[object]()
    listdir = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: looks.append(path) or listdir(path))
    table = explorer.open_table(folder)
    assert table.provenance().num_rows == 4
    assert table.history().num_rows == 4
    assert len(looks) == 1
    write_log(folder, [[add("d", 1)]], 4)
    table.refresh()
    assert table.history().num_rows == 5


@pytest.mark.parametrize("waits", [False, True])
def test_a_log_that_changed_since_it_was_opened_is_listed_again(tmp_path: Path, waits: bool) -> None:
    table = explorer.open_table(_hinted_table(tmp_path, "abc"))
    assert table.latest_version() == 3
    write_log(tmp_path, [[add("d", 1)]], 4)
    for version in (0, 1):
        (tmp_path / commit_name(version)).unlink()
    if waits:
        table.refresh()
    assert table.history().num_rows == 3


def test_another_table_in_the_place_of_one_that_is_open_is_read_whole(tmp_path: Path) -> None:
    table = explorer.open_table(_hinted_table(tmp_path / "t", "abc"))
    assert table.snapshot().num_files == 1 + 2
    shutil.rmtree(tmp_path / "t")
    _hinted_table(tmp_path / "t", "vwxyz")
    assert table.history().num_rows == 6
    assert table.latest_version() == 5
    assert sorted(table.snapshot().files()["path"].to_pylist()) == ["v", "w", "x", "y", "z"]
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(TableNotFound):
        explorer.open_table(tmp_path / "t")


def test_a_table_that_is_gone_since_it_was_opened_is_no_table(tmp_path: Path) -> None:
    table = explorer.open_table(_hinted_table(tmp_path / "t", "abc"))
    shutil.rmtree(tmp_path / "t")
    with pytest.raises(TableNotFound):
        table.history()


@pytest.mark.parametrize("versions", [[0, 1, 2], [7], [3, 4, 6], [0, 10**18 - 1], []])
def test_versions_are_those_that_the_names_say(versions: list[int]) -> None:
    names = _names(*versions)
    objects = ListedObjects("_delta_log", names, np.array([[each] * len(names) for each in (1, 2, 3)]))
    found, checksums, others = VersionFiles.recognised(objects)
    assert ([*found], [*checksums], others) == (versions, [], [])
    assert found.file_keys == [path.path for path in found.paths] == [f"_delta_log/{name}" for name in names]
    assert (list(found.sizes), found.modified.tolist()) == ([1] * len(names), [2] * len(names))


@pytest.mark.parametrize(
    ("nanoseconds", "milliseconds"),
    [
        (1_700_000_000_123_456_789, 1_700_000_000_123),
        (-1_999_999, -2),
        # In the year 2300: so many nanoseconds need more than 64 bits.
        (10_413_792_000_001_999_999, 10_413_792_000_001),
    ],
)
def test_a_file_of_a_folder_is_listed_with_its_size_and_times(
    nanoseconds: int, milliseconds: int, tmp_path: Path
) -> None:
    (tmp_path / "_delta_log").mkdir()
    file = tmp_path / commit_name(0)
    file.write_bytes(b"{}  ")
    os.utime(file, ns=(5, nanoseconds))
    if file.stat().st_mtime_ns != nanoseconds:
        pytest.skip("this file system keeps no such time")
    changed = file.stat().st_ctime_ns
    (path,) = list_log(open_store(tmp_path)).commits.values()
    assert path == LogPath(file.name, LogFileKind.COMMIT, 0, size=4, modified=milliseconds, etag=changed)


def test_files_of_a_large_folder_are_listed_with_what_each_has(tmp_path: Path) -> None:
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    names = _names(*range(700))
    for place, name in enumerate(names):
        (folder / name).write_bytes(bytes(place))
        os.utime(folder / name, ns=(0, place * 1_000_000))
    # Neither a folder nor a link to nothing is a file, wherever its name stands between the others.
    (folder / f"{256:020d}.json.d").mkdir()
    (folder / f"{600:020d}.link").symlink_to("nowhere")
    found = ListedObjects.of("_delta_log", open_store(tmp_path).list_from("_delta_log"))
    assert found.names == names
    rows = list(range(700))
    assert (found.sizes.tolist(), found.modified.tolist()) == (rows, rows)
    assert found.etags.tolist() == [(folder / name).stat().st_ctime_ns for name in names]


def test_a_checkpoint_of_the_first_version_is_a_beginning_too() -> None:
    store = _store([*_names(0), f"{0:020d}.checkpoint.parquet"])
    store.put("_delta_log/_last_checkpoint", encode_last_checkpoint(LastCheckpoint(0, 5)))
    assert parse_last_checkpoint(store.read("_delta_log/_last_checkpoint")) == LastCheckpoint(0, 5)
    assert list_log(store, use_hint=True).is_complete is False


def test_a_folder_without_a_log_is_no_table() -> None:
    store = _store([])
    with pytest.raises(TableNotFound, match="contains no commit and no complete checkpoint") as error:
        list_log(store)
    assert error.value.location == store.root
    assert store.root in error.value.message


def _compacted(*commits: int, ranges: Iterable[tuple[int, int]]) -> LogListing:
    names = [f"{first:020d}.{last:020d}.compacted.json" for first, last in ranges]
    return list_log(_store([*_names(*commits), *names]))


def test_the_longest_compaction_that_fits_stands_in_for_commits_that_are_gone() -> None:
    listing = _compacted(0, 1, 4, 5, ranges=[(1, 2), (2, 3), (1, 3), (0, 3), (2, 4), (3, 9)])
    found = listing.segment(5)
    names = [path.name for path in found.commits]
    assert names == [f"{0:020d}.{3:020d}.compacted.json", *_names(4, 5)]
    alone = _compacted(0, 1, 3, ranges=[(2, 3)])
    assert [path.name for path in alone.segment(3).commits] == [*_names(0, 1), f"{2:020d}.{3:020d}.compacted.json"]
    with pytest.raises(VersionGap):
        alone.segment(2)


def test_a_compaction_ends_with_the_commit_that_is_gone_or_with_the_newest_version() -> None:
    behind = _compacted(0, 1, 2, 4, ranges=[(2, 3)])
    assert [path.name for path in behind.segment(4).commits] == [
        *_names(0, 1),
        f"{2:020d}.{3:020d}.compacted.json",
        *_names(4),
    ]
    newest = _compacted(0, 1, 3, ranges=[(2, 3)])
    assert (newest.first_recorded(), newest.earliest()) == (3, 3)


def test_a_compaction_after_a_checkpoint_makes_the_version_that_it_ends_with() -> None:
    names = [*_names(4, 5), f"{1:020d}.checkpoint.parquet", f"{2:020d}.{3:020d}.compacted.json"]
    assert list_log(_store(names)).earliest() == 3
    # A commit is missing between what the compaction makes and the record.
    names = [*_names(4, 5), *(f"{version:020d}.checkpoint.parquet" for version in (0, 4))]
    assert list_log(_store([*names, f"{1:020d}.{2:020d}.compacted.json"])).earliest() == 4


def test_commits_alone_are_chosen_where_no_checkpoint_is_to_be_used() -> None:
    listing = list_log(_store([*_names(0, 1, 2), f"{1:020d}.checkpoint.parquet"]))
    assert [path.name for path in listing.segment(2).commits] == _names(2)
    alone = listing.segment(2, use_checkpoints=False)
    assert (alone.checkpoint, [path.name for path in alone.commits]) == (None, _names(0, 1, 2))


def test_a_log_of_which_nothing_can_be_rebuilt_says_what_its_newest_version_lacks() -> None:
    listing = list_log(_store(_names(2, 3)))
    with pytest.raises(VersionGap) as error:
        listing.earliest()
    assert (error.value.version, error.value.missing) == (3, 1)


@pytest.mark.parametrize(
    ("commits", "checkpoints", "recorded", "earliest"),
    [
        *(([0, 1, 2], [], 0, 0), ([2, 3], [1], 2, 1), ([2, 3], [2], 2, 2), ([0, 2, 3], [0, 1, 2], 2, 1)),
        *(([], [4], 5, 4), ([0, 2, 3, 4], [1], 2, 1)),
    ],
)
def test_the_record_begins_after_the_last_gap(
    commits: list[int], checkpoints: list[int], recorded: int, earliest: int
) -> None:
    listing = list_log(_store([*_names(*commits), *(f"{version:020d}.checkpoint.parquet" for version in checkpoints)]))
    assert (listing.first_recorded(), listing.earliest()) == (recorded, earliest)


def test_two_spellings_of_one_file_have_one_key() -> None:
    for one, other in at_least_one(
        (("a%20b", "a b"), ("FILE:/a", "/a"), ("file:///a%25", "/a%25"), ("S3://b/x", "s3://b/x"), ("/a%20b", "/a b"))
    ):
        assert canonical_key(one) == canonical_key(other)
    assert canonical_key("a+b") == "a+b"


@pytest.mark.parametrize("path", ["mailto:me", "file:a", "file:%FF", "file:/%FF"])
def test_a_path_that_names_no_file_is_told(path: str) -> None:
    with pytest.raises(MalformedAction) as error:
        decode_path(path)
    assert error.value.path == path
    assert repr(path) in error.value.message
