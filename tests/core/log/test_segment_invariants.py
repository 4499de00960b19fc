"""The files of a version make it up, or there is no segment: each invariant by itself."""

from __future__ import annotations

from itertools import chain, combinations

import msgspec
import pytest

from explorer.core.errors import VersionGap, VersionNotFound
from explorer.core.log.listed_log import CompleteCheckpoint
from explorer.core.log.log_path import LogPath, parse_log_name
from explorer.core.log.log_segment import LogSegment, arrange_log
from tests.support.at_least_one import at_least_one

UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def file(name: str) -> LogPath:
    path = parse_log_name(name)
    assert path is not None
    return path


def commit(version: int) -> LogPath:
    return file(f"{version:020d}.json")


def staged(version: int) -> LogPath:
    return file(f"{version:020d}.{UUID}.json")


def compaction(first: int, last: int) -> LogPath:
    return file(f"{first:020d}.{last:020d}.compacted.json")


def classic(version: int) -> CompleteCheckpoint:
    return CompleteCheckpoint(version, (file(f"{version:020d}.checkpoint.parquet"),))


def parts(version: int, count: int, present: int) -> CompleteCheckpoint:
    names = [f"{version:020d}.checkpoint.{part:010d}.{count:010d}.parquet" for part in range(1, present + 1)]
    return CompleteCheckpoint(version, tuple(file(name) for name in names))


@pytest.mark.parametrize(
    ("version", "checkpoint", "commits"),
    [
        (0, None, [commit(0)]),
        (2, None, [commit(0), commit(1), commit(2)]),
        (2, classic(2), []),
        (4, classic(2), [commit(3), commit(4)]),
        (2, CompleteCheckpoint(2, (file(f"{2:020d}.checkpoint.{UUID}.parquet"),)), []),
        (3, parts(2, 3, 3), [commit(3)]),
        (2, parts(2, 1, 1), []),
        (3, classic(1), [commit(2), staged(3)]),
        (5, None, [compaction(0, 3), commit(4), commit(5)]),
        (5, classic(0), [commit(1), compaction(2, 5)]),
        (8, classic(2), [compaction(3, 5), compaction(5, 8)]),
    ],
)
def test_files_that_make_up_a_version_are_its_segment(
    version: int, checkpoint: CompleteCheckpoint | None, commits: list[LogPath]
) -> None:
    found = LogSegment(version, checkpoint, tuple(commits))
    assert (found.version, found.checkpoint, found.commits) == (version, checkpoint, tuple(commits))


@pytest.mark.parametrize(
    ("version", "checkpoint", "commits", "what"),
    [
        pytest.param(0, None, [], "they end at version -1", id="no file"),
        pytest.param(2, None, [commit(1), commit(2)], f"version 0 is left out before {1:020d}.json", id="no beginning"),
        pytest.param(4, None, [*map(commit, (0, 1, 3, 4))], f"version 2 is left out before {3:020d}.json", id="a gap"),
        pytest.param(4, classic(1), [commit(4)], f"version 2 is left out before {4:020d}.json", id="a gap at once"),
        pytest.param(3, None, [*map(commit, (0, 1, 2))], "they end at version 2", id="too short"),
        pytest.param(1, None, [*map(commit, (0, 1, 2))], "they end at version 2", id="too long"),
        pytest.param(3, classic(2), [], "they end at version 2", id="no commit after the checkpoint"),
        pytest.param(
            1, None, [commit(0), commit(1), commit(1)], f"{1:020d}.json is not newer than version 1", id="twice"
        ),
        pytest.param(1, None, [commit(1), commit(0)], f"version 0 is left out before {1:020d}.json", id="newest first"),
        pytest.param(3, classic(2), [commit(2), commit(3)], f"{2:020d}.json is not newer than version 2", id="overlap"),
        pytest.param(
            4,
            classic(2),
            [compaction(1, 4)],
            f"{1:020d}.{4:020d}.compacted.json is not newer than version 2",
            id="a compaction that begins before the checkpoint",
        ),
        pytest.param(
            4,
            None,
            [compaction(0, 4), compaction(2, 3)],
            f"{2:020d}.{3:020d}.compacted.json is not newer than version 4",
            id="a compaction inside another",
        ),
        pytest.param(1, classic(2), [], "the checkpoint of version 2 is newer", id="a newer checkpoint"),
        pytest.param(
            2,
            parts(2, 3, 2),
            [],
            f"the checkpoint of version 2 is incomplete: it begins with {2:020d}.checkpoint.{1:010d}.{3:010d}.parquet",
            id="a part is missing",
        ),
        pytest.param(
            2,
            CompleteCheckpoint(2, ()),
            [],
            "the checkpoint of version 2 has no part or one of another version",
            id="no part",
        ),
        pytest.param(
            2,
            CompleteCheckpoint(2, classic(1).parts),
            [],
            "the checkpoint of version 2 has no part or one of another version",
            id="a part of another version",
        ),
        pytest.param(0, None, [file(f"{0:020d}.crc")], f"{0:020d}.crc contains no commit", id="a checksum"),
    ],
)
def test_files_that_do_not_make_up_a_version_are_no_segment(
    version: int, checkpoint: CompleteCheckpoint | None, commits: list[LogPath], what: str
) -> None:
    with pytest.raises(ValueError, match="do not make it up") as error:
        LogSegment(version, checkpoint, tuple(commits))
    assert str(error.value) == f"The files chosen for version {version} do not make it up: {what}."


def test_a_segment_made_of_another_is_checked_too() -> None:
    found = LogSegment(1, None, (commit(0), commit(1)))
    for changed in at_least_one([{"version": 2}, {"commits": (commit(1),)}, {"checkpoint": classic(1)}]):
        with pytest.raises(ValueError, match="do not make it up"):
            msgspec.structs.replace(found, **changed)


def test_every_small_log_has_a_segment_for_a_version_or_says_which_version_is_lost() -> None:
    names = [commit(version) for version in range(4)]
    names += [classic(version).parts[0] for version in (1, 2)]
    names += [compaction(*bounds) for bounds in ((0, 1), (1, 2), (1, 3), (2, 3))]
    made = lost = 0
    for files in chain.from_iterable(combinations(names, count) for count in range(1, len(names) + 1)):
        listing = arrange_log(sorted(files, key=lambda path: path.name))
        for version in range(listing.latest + 1):
            try:
                made += listing.segment(version).version == version
            except (VersionGap, VersionNotFound):
                lost += 1
    assert (made > 500, lost > 500) == (True, True)
