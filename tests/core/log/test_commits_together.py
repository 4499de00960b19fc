"""Commits that are decoded together, beside each alone, and beside a reading line by line with the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import MalformedAction
from explorer.core.log import commit as module
from explorer.core.log.commit import SmallActions, decode_commit, decode_commits, decode_small_actions
from explorer.core.log.log_path import LogFileKind, LogPath

Read = TypeVar("Read", bound=SmallActions)

_PIECES = st.sampled_from(
    (
        *(b"{", b"}", b"\n", b",", b" ", b"\r", b'"a":1', b'"a":{}', b'"a":{"b":1}', b'{"txn":{}}', "\u00e9".encode()),
        *(b'{"txn":{"appId":"x","version":1}}', b'{"txn":{"appId":"x","version":1}}\n', b'"x":"\\n"', b"\xff"),
    )
)
_CONTENT = st.lists(_PIECES, max_size=6).map(b"".join)


@given(contents=st.lists(_CONTENT, min_size=1, max_size=6), size=st.integers(1, 200))
def test_commits_decoded_together_are_what_each_is_alone(contents: list[bytes], size: int) -> None:
    """Up to the first that is broken, whose error is the same."""
    files = [(_path(version), data) for version, data in enumerate(contents)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_TOGETHER", size)
        together, wrong = _until_broken(decode_commits(iter(files)))
        small, _ = _until_broken(decode_small_actions(iter(files)))
    alone, expected = _until_broken(decode_commit(data, path.version, path.path) for path, data in files)
    assert (together, wrong) == (alone, expected)
    assert len(small) >= len(alone)
    assert [_small(commit) for commit in alone] == [_small(commit) for commit in small[: len(alone)]]


@given(data=_CONTENT)
def test_a_commit_is_read_if_each_of_its_lines_is_one_object(data: bytes) -> None:
    found, _ = _until_broken(decode_commit(each, 1, "1.json") for each in (data,))
    assert _objects(data) == (len(found[0].lines) if found else -1)


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param(
            [b'{"txn":{"appId":"x","version":1}}', b'\n{"txn":{"appId":"y","version":1}}\n'], id="break before"
        ),
        pytest.param([b'{"txn":[{}\n', b"{}]}\n"], id="a document over two files"),
        pytest.param([b'{"a":[{}', b"{}]}"], id="a document over two files without breaks"),
        pytest.param([b"{}{}\n", b'{"a":\n{}}\n'], id="two documents in a line, one over two"),
        pytest.param([b"{}", b"{}\n"], id="a break at the end of the last"),
        pytest.param([b"{}\n", b"", b"{}\n"], id="an empty file"),
        pytest.param([b"{}\n", b"{}", b"{}\n"], id="no break at the end of one"),
        pytest.param(['{"a":"\u00e9"}\n'.encode(), b'{"a":"\xff"}\n'], id="bytes that are no text"),
    ],
)
def test_what_belongs_to_one_file_is_never_taken_for_another_s(contents: list[bytes]) -> None:
    files = [(_path(version), data) for version, data in enumerate(contents)]
    found, _ = _until_broken(decode_commits(files))
    counts = [_objects(data) for data in contents]
    readable = counts.index(-1) if -1 in counts else len(counts)
    assert [len(commit.lines) for commit in found] == counts[:readable]
    assert [commit.version for commit in found] == [*range(readable)]


def _path(version: int) -> LogPath:
    return LogPath(f"{version}.json", LogFileKind.COMMIT, version)


def _until_broken(commits: Iterable[Read]) -> tuple[list[Read], str | None]:
    """Those that can be read, with what was wrong with the next."""
    found: list[Read] = []
    try:
        found.extend(commits)
    except MalformedAction as error:
        return found, error.message
    return found, None


def _small(commit: SmallActions) -> list[tuple[int, dict[str, bytes]]]:
    """The small actions of each line that has some, with its number."""
    members = ("cdc", "metaData", "protocol", "txn", "domainMetadata", "commitInfo")
    lines = [{name: bytes(getattr(line, name)) for name in members} for line in commit.lines]
    return [(commit.line_number(place), line) for place, line in enumerate(lines) if any(line.values())]


def _objects(data: bytes) -> int:
    """How many lines that are not blank are objects with a decodable action, by the standard library; -1 if one is
    not."""
    lines = [line for line in data.split(b"\n") if line.strip(b" \t\r")]
    try:
        objects = [json.loads(line.decode("utf-8")) for line in lines]
    except ValueError:
        return -1
    return len(objects) if all(isinstance(each, dict) for each in objects) else -1
