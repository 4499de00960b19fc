"""The log as it is known now: what is listed when, without any snapshot or history."""

from __future__ import annotations

import pytest

from explorer.core.errors import IncompleteCheckpoint, TableNotFound, VersionGap, VersionNotFound
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.log.log_segment import LogSegment
from explorer.core.versions.open_log import current
from explorer.core.versions.open_log.current import CurrentLog, LogSource
from explorer.core.versions.open_log.log_state import LogState
from tests.core.versions.open_log.test_source import stored
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import add, new_store, write


def opened(commits: int = 6, checkpoint: int | None = None) -> tuple[CurrentLog, FaultyStore]:
    store = stored(commits, checkpoint)
    found = CurrentLog(LogSource.of(store, None))
    store.requests.clear()
    return found, store


def listings(store: FaultyStore) -> int:
    return store.requests.count("list _delta_log")


def test_a_log_is_listed_once_and_again_when_that_is_due() -> None:
    found, store = opened()
    assert (found.recent().listing.latest, found.full().listing.earliest(), listings(store)) == (5, 0, 0)
    write(store, {6: [add("6")]})
    assert found.recent().listing.latest == 5
    found.outdate()
    assert (found.known.listing.latest, listings(store)) == (5, 0)
    assert (found.recent().listing.latest, found.full().listing.latest, listings(store)) == (6, 6, 1)


def test_all_of_a_log_is_listed_when_an_old_version_needs_it() -> None:
    found, store = opened(checkpoint=3)
    assert list(found.holding(5).listing.commits) == [3, 4, 5]
    assert listings(store) == 0
    assert list(found.holding(4).listing.commits) == [0, 1, 2, 3, 4, 5]
    assert (found.holding(0) is found.holding(5), listings(store)) == (True, 1)


@pytest.mark.parametrize("rewritten", [False, True])
def test_a_long_log_is_listed_whole_only_where_old_files_came_or_went(
    rewritten: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(current, "_PAGE", 3)
    found, store = opened()
    store.inner.put(checkpoint_name(2), b"PAR1")
    found.outdate(rewritten=rewritten)
    checkpoints = [checkpoint.version for checkpoint in found.recent().listing.checkpoints]
    assert checkpoints == ([2] if rewritten else [])
    assert store.requests == ["list _delta_log"] if rewritten else [f"head {commit_name(0)}", "list _delta_log"]


def test_a_long_log_without_news_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "_PAGE", 3)
    found, store = opened()
    before = found.full()
    found.refresh()
    store.requests.clear()
    assert list(found.full().listing.commits) == list(before.listing.commits)
    assert listings(store) == 0


def test_a_log_that_is_gone_is_no_table_and_what_was_known_stays() -> None:
    found, store = opened(2)
    known = found.known
    for version in range(2):
        store.delete(commit_name(version))
    with pytest.raises(TableNotFound):
        found.refresh()
    assert found.known is known


def test_a_step_runs_again_on_what_is_left_of_a_version() -> None:
    found, store = opened(checkpoint=3)
    seen: list[tuple[int | None, int]] = []

    def step(known: LogState, segment: LogSegment) -> int:
        assert segment == known.listing.segment(segment.version)
        seen.append((None if segment.checkpoint is None else segment.checkpoint.version, len(segment.commits)))
        if segment.checkpoint is not None:
            raise IncompleteCheckpoint("It is cut off.", version=segment.checkpoint.version)
        return segment.version

    assert found.on_segment(5, step) == 5
    assert (seen, listings(store)) == ([(3, 2), (None, 6)], 2)  # the older commits, then all once more
    assert {version: each.reason for version, each in found.known.unusable.items()} == {3: "It is cut off."}


def test_a_step_that_nothing_helps_runs_once() -> None:
    found, _ = opened()
    calls: list[int] = []

    def step(_: LogState, segment: LogSegment) -> None:
        calls.append(segment.version)
        raise VersionGap("It is lost.", version=2)

    with pytest.raises(VersionGap):
        found.on_segment(5, step)
    with pytest.raises(VersionNotFound):
        found.on_segment(6, step)
    assert calls == [5]


def test_a_successor_leaves_its_log_as_it_is() -> None:
    found, store = opened()
    before = found.known
    write(store, {6: [add("6")]})
    later = found.successor()
    assert (found.known, found.known.listing.latest) == (before, 5)
    assert later.known.listing.latest == 6
    later.outdate()
    assert found.known is before


def test_a_part_begins_with_the_newest_checkpoint_before_the_newest_version() -> None:
    found, _ = opened(checkpoint=3)
    part = found.newest_part()
    assert part is not None
    assert (list(part.full().listing.commits), part.full().listing.earliest()) == ([4, 5], 3)
    assert list(found.full().listing.commits) == [0, 1, 2, 3, 4, 5]
    assert opened()[0].newest_part() is None
    assert opened(4, 3)[0].newest_part() is None


def test_a_folder_without_a_log_is_not_opened() -> None:
    with pytest.raises(TableNotFound):
        CurrentLog(LogSource.of(new_store(), None))
