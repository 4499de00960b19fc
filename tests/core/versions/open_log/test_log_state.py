"""The record of what is known: what a new listing confirms stays, and all else is forgotten."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import msgspec
import pytest

from explorer.core.log.log_path import LogPath, compaction_name, parse_log_name
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing
from explorer.core.versions.open_log.log_state import Due, LogState
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import listed


def listing(
    commits: int = 6, *checkpoints: int, first: int = 0, rewritten: int | None = None, whole: bool = True
) -> LogListing:
    """Commits from one version on, and classic checkpoints; one file may be another one than it was."""
    found = listed(
        {version: 2 if version == rewritten else 1 for version in checkpoints},
        {version: 2 if version == rewritten else 1 for version in range(first, commits)},
    )
    return msgspec.structs.replace(found, is_complete=whole)


def compaction(first: int, last: int) -> LogPath:
    path = parse_log_name(compaction_name(first, last).rpartition("/")[2])
    assert path is not None
    return path


def what_stays(before: LogListing, found: LogListing) -> tuple[bool, bool, bool]:
    """Whether versions and histories stay, and whether the listing that is known then is whole."""
    known = LogState.of(before)
    later = known.listed_again(found)
    kept = later.histories._history is known.histories._history
    return later.versions is known.versions, kept, later.listing.is_complete


@pytest.mark.parametrize(
    ("before", "found", "stays"),
    [
        pytest.param(listing(), listing(), (True, True, True), id="the same"),
        pytest.param(listing(), listing(7), (True, False, True), id="a new version"),
        pytest.param(listing(), listing(7, whole=False), (True, False, False), id="a new version, not whole"),
        pytest.param(listing(), listing(whole=False), (True, True, True), id="the same, of which the end was listed"),
        pytest.param(listing(), listing(6, 3), (True, False, True), id="a new checkpoint"),
        pytest.param(listing(6, 3), listing(6), (True, False, True), id="a checkpoint is gone"),
        pytest.param(
            listing(),
            msgspec.structs.replace(listing(), compactions=(compaction(1, 3),)),
            (True, False, True),
            id="a new compaction",
        ),
        pytest.param(
            listing(),
            msgspec.structs.replace(listing(), commits=listed({}, dict.fromkeys((0, 1, 3, 4, 5), 1)).commits),
            (True, False, True),
            id="a commit in the middle is gone",
        ),
        pytest.param(
            msgspec.structs.replace(listing(), commits=listed({}, dict.fromkeys((0, 1, 3, 4, 5), 1)).commits),
            listing(),
            (True, False, True),
            id="a commit in the middle is restored",
        ),
        pytest.param(listing(6, 3), listing(6, 3, first=2), (False, False, True), id="a clean-up"),
        pytest.param(listing(), listing(5), (False, False, True), id="the newest version is gone"),
        pytest.param(listing(), listing(rewritten=2), (False, False, True), id="another commit"),
        pytest.param(listing(), listing(7, rewritten=5), (False, False, True), id="another commit, and a new version"),
        pytest.param(listing(6, 3), listing(6, 3, rewritten=3), (False, False, True), id="another checkpoint"),
        pytest.param(
            listing(6, 3, first=3, whole=False), listing(6, 3), (True, False, True), id="all of what was known in part"
        ),
        pytest.param(
            listing(6, 3, first=3, whole=False),
            listing(6, 3, first=3, whole=False),
            (True, False, False),
            id="the same part",
        ),
        pytest.param(
            listing(6, 3), listing(6, 3, first=3, whole=False), (False, False, False), id="a part of what was whole"
        ),
    ],
)
def test_what_a_new_listing_confirms_stays(
    before: LogListing, found: LogListing, stays: tuple[bool, bool, bool]
) -> None:
    assert what_stays(before, found) == stays


def test_a_new_listing_is_due_until_it_is_there() -> None:
    known = LogState.of(listing())
    assert (known.due, known.is_complete) == (Due.NOTHING, True)
    newer = known.outdated(Due.NEWER)
    assert (newer.due, newer.is_complete, newer.listing) == (Due.NEWER, False, known.listing)
    assert newer.outdated(Due.ALL).outdated(Due.NEWER).due is Due.ALL
    assert newer.outdated(Due.ALL).listed_again(listing()).due is Due.NOTHING


def test_an_unusable_checkpoint_is_in_no_listing_until_it_is_another_file() -> None:
    known = LogState.of(listing(6, 1, 3))
    without = known.doing_without(3, "cut off", known.listing).listed_again(known.listing)
    assert [checkpoint.version for checkpoint in without.listing.checkpoints] == [1]
    assert {version: each.reason for version, each in without.unusable.items()} == {3: "cut off"}
    for found in at_least_one([listing(6, 1, 3), listing(6, 1), listing(7, 1, 3)]):
        assert list(without.listed_again(found).unusable) == [3]
    written = without.listed_again(listing(6, 1, 3, rewritten=3))
    assert [checkpoint.version for checkpoint in written.listing.checkpoints] == [1, 3]
    assert written.unusable == {}


def test_of_two_checkpoints_of_a_version_the_one_that_is_used_is_unusable() -> None:
    multi_part = parse_log_name(f"{3:020d}.checkpoint.{1:010d}.{1:010d}.parquet")
    assert multi_part is not None
    classic = listing(6, 3)
    both = msgspec.structs.replace(classic, checkpoints=(CompleteCheckpoint(3, (multi_part,)), *classic.checkpoints))
    without = LogState.of(both).doing_without(3, "cut off", both).listed_again(both)
    assert (list(without.unusable), without.listing.checkpoints) == ([3], ())


def test_an_unusable_checkpoint_that_is_gone_already_is_one_that_may_come_back() -> None:
    known = LogState.of(listing(6, 3))
    without = known.doing_without(3, "vanished", listing()).listed_again(listing())
    assert (list(without.unusable), without.listing.checkpoints) == ([3], ())
    assert without.listed_again(listing(6, 3)).unusable == {}


def test_a_part_is_completed_with_what_came_before() -> None:
    part = LogState.of(listing(6, 3, first=3, whole=False))
    whole = part.completed(listing(6, 3))
    assert (part.is_complete, whole.is_complete, list(whole.listing.commits)) == (False, True, [0, 1, 2, 3, 4, 5])
    assert whole.versions is part.versions
    assert whole.histories is not part.histories


def test_a_log_that_begins_with_a_checkpoint_goes_on_apart() -> None:
    known = LogState.of(listing(6, 1, 3, whole=False))
    (_, checkpoint) = known.listing.checkpoints
    assert isinstance(checkpoint, CompleteCheckpoint)
    part = known.beginning_with(checkpoint)
    assert (list(part.listing.commits), part.listing.checkpoints) == ([4, 5], (checkpoint,))
    assert (part.is_complete, part.versions is known.versions) == (True, False)


def test_a_copy_goes_on_apart() -> None:
    known = LogState.of(listing(6, 3)).outdated(Due.NEWER)
    found = known.copy()
    assert (found.listing, found.due, found.unusable) == (known.listing, known.due, known.unusable)
    assert found.versions is not known.versions
    assert found.histories is not known.histories


def test_no_part_of_the_record_is_changed() -> None:
    known = LogState.of(listing())
    with pytest.raises(FrozenInstanceError):
        known.listing = listing(7)  # type: ignore[misc] # that is what is tried
