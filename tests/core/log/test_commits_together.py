"""Commits that are decoded together, beside each alone, and beside a reading line by line with the standard library."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.core.errors import MalformedAction
from explorer.core.log import commit as module
from explorer.core.log.commit import (
    SmallActions,
    decode_commit,
    decode_commits,
    decode_small_actions,
)
from explorer.core.log.log_path import LogFileKind, LogPath
from explorer.core.protocol import limits

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


@pytest.mark.parametrize(
    ("contents", "counts"),
    [
        ([b"{}\n"], [1]),
        ([b"{}"], [1]),
        ([b"{}\n{}\n", b"{}\n", b"{}\n{}\n{}\n"], [2, 1, 3]),
        ([b"{}\n{}", b"{}", b"{}\n{}\n{}"], [2, 1, 3]),
        (['{"a":"\u00e9"}\n'.encode(), b"{}\n"], [1, 1]),
        ([b'{"a":{"b":1}}\n', b'{"c":[{},{}]}\n{}\n'], [1, 2]),
        ([b""], None),
        ([b"\n"], None),
        ([b"{}\n", b""], None),
        ([b"{}", b""], None),
        ([b" {}\n"], None),
        ([b"{} \n"], None),
        ([b"{}\r\n"], None),
        ([b"{}\n\n{}\n"], None),
        ([b"{}\n {}\n"], None),
        ([b"{} \n{}\n"], None),
        ([b"{}\n", b"{}"], None),
        ([b"{}", b"{}\n"], None),
        ([b"{}{}\n"], None),
        ([b'{"a":\n{}}\n'], None),
        ([b'{"a":[{}\n,{}]}\n'], None),
        ([b'{"a":[{},\n{}]}\n'], None),
        ([b'{"a":"\xff"}\n'], None),
        ([b'{"txn":}\n'], None),
        ([b"[]\n"], None),
    ],
)
def test_lines_are_plain_where_each_line_break_ends_an_object(contents: list[bytes], counts: list[int] | None) -> None:
    found = module._plain_lines(msgspec.json.Decoder(dict[str, Any]), contents)
    assert (None if found is None else [len(lines) for lines in found]) == counts
    if found is not None:
        assert found == [[json.loads(line) for line in data.splitlines()] for data in contents]


@pytest.mark.parametrize(
    ("sizes", "together"),
    [
        ([4, 4, 2, 1], [[4, 4, 2], [1]]),
        ([4, 4, 3], [[4, 4], [3]]),
        ([10, 1], [[10], [1]]),
        ([11, 1, 12], [[11], [1], [12]]),
        ([1, 9, 10, 5, 6], [[1, 9], [10], [5], [6]]),
        ([0, 0], [[0, 0]]),
        ([], []),
    ],
)
def test_files_are_decoded_together_up_to_so_many_bytes(
    sizes: list[int], together: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TOGETHER", 10)
    files = [(_path(version), b" " * size) for version, size in enumerate(sizes)]
    found = list(module._together(files))
    assert [[len(data) for _, data in each] for each in found] == together
    assert [file for each in found for file in each] == files
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 3)
    assert [len(each) for each in module._together([(_path(0), b"ab")] * 3)] == [1, 1, 1]


def test_plain_files_take_the_quick_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two small files one call, and a large one a call for each of its parts."""

    def slow(*arguments: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(module, "_line_by_line", slow)
    large = b'{"txn":{"appId":"x","version":1}}\n' * 10
    monkeypatch.setattr(module, "_PART", 100)
    whole = decode_commit(large, 3, "3.json")
    assert [whole.line_number(place) for place in range(len(whole.lines))] == [*range(1, 11)]
    monkeypatch.setattr(module, "_parts", slow)
    files = [(_path(version), b"{}\n" * (version + 1)) for version in range(2)]
    assert [len(commit.lines) for commit in decode_commits(files)] == [1, 2]


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
    """How many objects with a decodable action there are by the standard library, each on lines of its own; -1 if there
    is anything else."""
    lines, place, count = data.split(b"\n"), 0, 0
    while place < len(lines):
        if not lines[place].strip(b" \t\r"):
            place += 1
            continue
        ends = (end for end in range(place + 1, len(lines) + 1) if _is_object(b"\n".join(lines[place:end])))
        end = next(ends, None)
        if end is None:
            return -1
        place, count = end, count + 1
    return count


def _is_object(text: bytes) -> bool:
    try:
        return isinstance(json.loads(text.decode("utf-8")), dict)
    except ValueError:
        return False
