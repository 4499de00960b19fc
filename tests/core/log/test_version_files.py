"""Files of a log by version, as columns: the same as the names say one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import TableNotFound
from explorer.core.log.log_path import LOG_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.log_segment import list_log, list_names, list_newer
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import ListedObjects, ObjectMeta
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, new_store, write
from tests.support.shared_tables import golden_root, reference_root

COMMIT = f"{7:020}.json"
KINDS = {LogFileKind.COMMIT, LogFileKind.CHECKSUM}
ODD_NUMBERS = ("7", f"{7:021}", f"{10**18:020}", f"{2**63 - 1:020}")
ODD_NAMES = (
    *(COMMIT, f"{0:020}.json", f"{10**18 - 1:020}.json", f"{10**18:020}.json", f"{2**63 - 1:020}.json"),
    *("7.json", f"{7:021}.json", f"{7:020}.JSON", f"{7:020}.jsonl", f"{7:020}.crc", f"{7:020}.crc.tmp"),
    *(
        f"{7:019}\u0663.json",
        f"{7:019}\u00e9.json",
        f"{7:019}-.json",
        f"{7:019}:.json",
        f"{7:019}/.json",
        f" {7:019}.json",
        "_last_checkpoint",
        "",
    ),
    *(f"{7:020}.checkpoint.parquet", f"{7:020}.{9:020}.compacted.json", "x" * 25, "x" * 24),
)


def listed(names: tuple[str, ...]) -> ListedObjects:
    return ListedObjects.of(
        LOG_FOLDER,
        [ObjectMeta(f"{LOG_FOLDER}/{name}", place, place + 1, place + 2) for place, name in enumerate(names)],
    )


def files(versions: range, *, size: int = 1) -> VersionFiles:
    names = tuple(f"{version:020}.json" for version in versions)
    objects = ListedObjects(LOG_FOLDER, list(names), np.array([[each] * len(names) for each in (size, 2, 3)]))
    return VersionFiles.recognised(objects)[0]


def test_what_is_recognised_at_once_is_what_each_name_says() -> None:
    objects = listed(tuple(sorted(ODD_NAMES)))
    commits, checksums, others = VersionFiles.recognised(objects)
    one_by_one = [parse_log_name(*row) for row in objects.rows()]
    seen = [*others]
    for found, kind in ((commits, LogFileKind.COMMIT), (checksums, LogFileKind.CHECKSUM)):
        expected = [path for path in one_by_one if path is not None and path.name in {p.name for p in found.paths}]
        assert list(found.paths) == expected
        assert [found[version] for version in found] == expected
        assert all(path.kind is kind for path in expected)
        seen += [one_by_one.index(path) for path in expected]
    assert sorted(seen) == [*range(len(objects))]
    assert {COMMIT, COMMIT.replace(".json", ".crc")} <= {path.name for path in (*commits.paths, *checksums.paths)}
    # The other files of these kinds have names that are looked at one by one: shorter, longer, or too great a number.
    left = {path.name for path in map(one_by_one.__getitem__, others) if path is not None and path.kind in KINDS}
    assert left <= {f"{name}{ending}" for name in ODD_NUMBERS for ending in (".json", ".crc")}


def test_it_is_a_mapping_by_version() -> None:
    found = files(range(3, 8))
    assert (len(found), list(found), list(reversed(found)), found.latest) == (5, [3, 4, 5, 6, 7], [7, 6, 5, 4, 3], 7)
    assert [version in found for version in (2, 3, 7, 8, -1)] == [False, True, True, False, False]
    assert "3" not in found
    assert found.get(8) is None
    with pytest.raises(KeyError, match="9"):
        found[9]
    assert dict(found.items()) == {version: found[version] for version in found}
    assert found == dict(found.items())
    kinds = {type(each) for path in (found[np.int64(4)], *found.paths) for each in msgspec.structs.astuple(path)}
    assert kinds == {str, int, LogFileKind}
    assert found.is_gapless
    assert list(found.since(6)) == [6, 7]
    assert list(found.since(0)) == list(found)
    assert list(found.since(9)) == []
    assert list(found.oldest(2)) == [3, 4]
    assert found.oldest(9) is found
    assert repr(found) == "VersionFiles(5 files)"
    none = found.oldest(0)
    assert (len(none), none.latest, none.is_gapless, 0 in none, list(none.items())) == (0, -1, True, False, [])


def test_one_with_gaps_has_only_what_is_there() -> None:
    found = files(range(0, 9, 4))
    assert not found.is_gapless
    assert [version in found for version in range(-1, 10)] == [v in {0, 4, 8} for v in range(-1, 10)]
    assert found[4].version == 4


def test_newer_files_take_the_place_of_those_of_their_versions() -> None:
    known, newer = files(range(5)), files(range(3, 7), size=9)
    found = known.with_newer(newer)
    assert {version: path.size for version, path in found.items()} == {0: 1, 1: 1, 2: 1, 3: 9, 4: 9, 5: 9, 6: 9}
    assert list(known) == list(range(5))
    assert known.with_newer(newer.oldest(0)) is known
    made = VersionFiles.of(dict(newer.items()))
    assert dict(known.with_newer(made).items()) == dict(found.items())


def test_its_table_is_what_a_listing_says() -> None:
    found = files(range(2), size=5)
    assert found.table().to_pylist() == [
        {"name": f"{version:020}.json", "size": 5, "modified": 2, "etag": 3} for version in range(2)
    ]
    paths = [LogPath("x.json", LogFileKind.STAGED_COMMIT, 4, size=6, modified=7, etag=8)]
    staged = VersionFiles.of({4: paths[0]})
    assert staged.table().to_pylist() == [{"name": "x.json", "size": 6, "modified": 7, "etag": 8}]
    assert staged[4] is paths[0]


@pytest.mark.parametrize("root", [golden_root, reference_root])
def test_every_log_is_listed_as_its_names_say(root: Callable[[], Path]) -> None:
    seen = 0
    for log in sorted(root().rglob(LOG_FOLDER)):
        names = sorted(each.name for each in log.iterdir() if each.is_file())
        named = [path for path in map(parse_log_name, names) if path is not None]
        commits = {path.version: path.name for path in named if path.kind is LogFileKind.COMMIT}
        checksums = {path.version: path.name for path in named if path.kind is LogFileKind.CHECKSUM}
        try:
            listing = explorer.open_table(log.parent).listing
        except TableNotFound:
            assert not commits, log
            continue
        assert {version: path.name for version, path in listing.commits.items()} == dict(sorted(commits.items())), log
        assert {version: path.name for version, path in listing.checksums.items()} == checksums, log
        assert {path.kind for path in listing.commits.values()} <= {LogFileKind.COMMIT}, log
        assert {path.kind for path in listing.checksums.values()} <= {LogFileKind.CHECKSUM}, log
        seen += bool(checksums)
    assert seen


def test_names_are_listed_with_what_the_store_says_of_each() -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, METADATA], 1: []})
    for name in (f"{1:020}.crc", "other"):
        store.put(f"{LOG_FOLDER}/{name}", b"{}")
    listed_each = list(store.list_from(LOG_FOLDER))
    assert [name for name, _ in list_names(store)] == [f"{0:020}.json", f"{1:020}.crc", f"{1:020}.json", "other"]
    found = [path for _, path in list_names(store) if path is not None]
    stated = [(each.size, each.modified, each.etag) for each in listed_each if not each.path.endswith("other")]
    assert [(path.size, path.modified, path.etag) for path in found] == stated
    assert len({path.size for path in found}) == 3
    assert all(path.modified and path.etag for path in found)
    listing = list_log(store)
    assert [listing.commits[0], listing.checksums[1], listing.commits[1]] == found


def test_a_store_that_lists_objects_one_by_one_serves_as_well() -> None:
    inner = new_store()
    write(inner, {0: [PROTOCOL, METADATA], 1: [], 2: []})
    inner.put(f"{LOG_FOLDER}/3.json", b"")
    one_by_one = FaultyStore(inner)
    listing = list_log(one_by_one)
    assert {version: path.name for version, path in listing.commits.items()} == {
        **{version: f"{version:020}.json" for version in range(3)},
        3: "3.json",
    }
    assert list_newer(one_by_one, listing) is None or listing.latest == 3
