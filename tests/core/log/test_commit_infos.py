"""What commits say of themselves, read out of their first lines: it is what a closer look at each commit finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.core.errors import MalformedAction, VersionGap
from explorer.core.log.commit_infos import read_commit_infos
from explorer.core.log.log_path import LogFileKind, LogPath, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import read_small_actions
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.at_least_one import at_least_one
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import add, commit_info, decode_small, lines, new_store

_INFOS = st.sampled_from(
    [
        {"operation": "WRITE"},
        {"operation": 7, "userName": "é"},
        {"operationMetrics": {"a": 1.0, "b": None}, "timestamp": 1 << 70},
        {"operationParameters": {"predicate": "x" * 3_000}},
        {},
        None,
        [],
        "text",
    ]
)
_LINES = st.one_of(
    st.builds(lambda info: json.dumps({"commitInfo": info}, ensure_ascii=False).encode(), _INFOS),
    st.builds(lambda info: json.dumps({"txn": {"appId": "a", "version": 1}, "commitInfo": info}).encode(), _INFOS),
    st.sampled_from(
        [
            lines([add("f", 1)]).rstrip(),
            b'{"add":{"path":7}}',
            b'{"commitInfo":{"a":"\xff"}}',
            b'{"commitInfo":{"operation":"A"},"commitInfo":{"operation":"B"}}',
            b'{"commitInfo":{"operation":"A"}}{"commitInfo":{"operation":"B"}}',
            b'{"\\u0063ommitInfo":{"operation":"A"}}',
            b'{"commitInfo":' + b"[" * 2_000 + b"]" * 2_000 + b"}",
            b"{",
            b"",
            b"null",
        ]
    ),
)
_COMMITS = st.builds(
    lambda found, joint, end: joint.join(found) + end,
    st.lists(_LINES, max_size=4),
    st.sampled_from([b"\n", b"\r\n", b"\n\n"]),
    st.sampled_from([b"", b"\n"]),
)


def _listed(store: LogStore) -> VersionFiles:
    return VersionFiles.of(list_log(store).commits)


def _read(store: LogStore) -> list[CommitInfo | None]:
    return [info for batch in read_commit_infos(store, _listed(store)) for info in batch]


@settings(max_examples=3000 if WHOLE_DOSE else 300, deadline=None)
@given(_COMMITS)
def test_the_first_line_says_what_a_closer_look_at_the_commit_finds(data: bytes) -> None:
    store = new_store()
    store.put_if_absent(commit_name(0), data)
    meant, wrong = _tried(lambda: decode_small(data, 0, commit_name(0)).commit_info())
    found, told = _tried(lambda: _read(store)[0])
    if wrong is None:
        assert (found, told) == (meant, None)
    elif told is not None:
        assert (told.line, told.path, str(told)) == (wrong.line, wrong.path, str(wrong))
    else:
        # What is wrong comes after a first line that says it.
        assert found is not None
        assert (wrong.line or 0) > 1
        assert found == decode_small(data.split(b"\n")[0], 0, commit_name(0)).commit_info()


def _tried(action: Callable[[], CommitInfo | None]) -> tuple[CommitInfo | None, MalformedAction | None]:
    try:
        return action(), None
    except MalformedAction as error:
        return None, error


def _store(infos: int, *, long: int = 0, last: bool = False) -> LogStore:
    store = new_store()
    for version in range(infos):
        actions = [
            commit_info("WRITE", user_name=str(version), user_metadata="m" * long),
            *(add(f"f{version}-{number}", 1) for number in range(30)),
        ]
        store.put_if_absent(commit_name(version), lines(actions[::-1] if last else actions))
    return store


def _versions(found: list[CommitInfo | None]) -> list[int]:
    return [int(info.user_name or "") for info in found if info is not None]


def test_commits_come_newest_first_and_no_more_of_them_is_read_than_their_beginning() -> None:
    store = FaultyStore(_store(600))
    assert _versions(_read(store)) == list(range(599, -1, -1))
    assert store.requests == ["list _delta_log", *(f"read starts of {count}" for count in (256, 256, 88))]


def test_where_provenance_is_long_more_of_the_later_commits_is_read() -> None:
    store = FaultyStore(_store(600, long=5_000))
    assert _versions(_read(store)) == list(range(599, -1, -1))
    assert store.requests == [
        "list _delta_log",
        *("read starts of 256", "read 256"),
        *("read starts of 256", "read starts of 88"),
    ]


@pytest.mark.parametrize(("long", "last", "starts"), [(0, True, 1), (20_000, False, 2)])
def test_where_it_does_not_stand_at_the_beginning_the_rest_is_read_whole(long: int, last: bool, starts: int) -> None:
    store = FaultyStore(_store(600, long=long, last=last))
    assert _versions(_read(store)) == list(range(599, -1, -1))
    looked_at = [each for each in store.requests if each.startswith("read starts")]
    assert looked_at == ["read starts of 256"] * starts
    whole = [int(each.split()[1]) for each in store.requests if each.startswith("read ") and each not in looked_at]
    assert sum(whole) == 600


def test_commits_whose_size_no_listing_says_are_read_whole_and_no_sign_of_long_ones() -> None:
    unlisted = {version: LogPath(f"{version:020d}.json", LogFileKind.COMMIT, version) for version in range(344, 600)}
    store = FaultyStore(_store(600))
    commits = VersionFiles.of({**{path.version: path for path in _listed(store).paths}, **unlisted})
    found = [info for batch in read_commit_infos(store, commits) for info in batch]
    assert _versions(found) == list(range(599, -1, -1))


def test_a_log_without_commits_says_nothing() -> None:
    assert list(read_commit_infos(new_store(), VersionFiles.of({}))) == []


def test_a_commit_that_vanished_since_it_was_listed_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for version in range(3):
        store.put_if_absent(commit_name(version), lines([commit_info("WRITE")]))
    commits = _listed(store)
    (tmp_path / commit_name(1)).unlink()
    for read in at_least_one((read_commit_infos, lambda store, commits: read_small_actions(store, commits.paths))):
        with pytest.raises(VersionGap, match="vanished") as gone:
            list(read(store, commits))
        assert (gone.value.vanished, gone.value.earliest, gone.value.latest) == (True, 0, 2)
        assert commit_name(1) in str(gone.value)
