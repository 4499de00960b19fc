"""What a commit file says action by action, and what is said of a line that is no action: where it is and why."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from explorer.core.errors import LimitExceeded, MalformedAction
from explorer.core.log.commit import (
    Commit,
    SmallActions,
    decode_commit,
    decode_commits,
    decode_provenance,
    parse_commit_info,
)
from explorer.core.log.log_path import LogFileKind, LogPath
from explorer.core.protocol import limits
from explorer.core.protocol.raw_actions import SmallLine
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import decode_small

DATA = b"""{"commitInfo":null}
{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}

{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}
{"metaData":{"id":"a","format":{"provider":"parquet"},"schemaString":"{}","partitionColumns":[],"configuration":{}}}
{"metaData":{"id":"b","format":{"provider":"parquet"},"schemaString":"{}","partitionColumns":[],"configuration":{}}}
{"txn":{"appId":"x","version":3}}
{"txn":null}
{"add":{"path":"f","partitionValues":{},"size":5,"modificationTime":1,"dataChange":true}}
{"domainMetadata":{"domain":"d","configuration":"c","removed":false}}
{"domainMetadata":{"domain":"e","configuration":"","removed":true}}
{"cdc":{"path":"c1","partitionValues":{},"size":7,"dataChange":false}}
{"cdc":{"path":"c2","partitionValues":{},"size":-1,"dataChange":false}}
{"cdc":{"path":"c3","partitionValues":{},"size":"big","dataChange":false}}
{"cdc":{"path":"c4","partitionValues":{},"size":1125899906842624,"dataChange":false}}
{"cdc":{"path":"c5","partitionValues":{},"size":1125899906842623,"dataChange":false}}
{"cdc":{"path":"c6","partitionValues":{},"size":0,"dataChange":false}}
{"commitInfo":{"operation":"WRITE","timestamp":4}}
{"commitInfo":{"operation":"LATER"}}
"""


def _decoded() -> list[SmallActions]:
    return [decode_commit(DATA, 6, "_delta_log/6.json"), decode_small(DATA, 6, "_delta_log/6.json")]


def test_a_commit_tells_its_actions_the_last_of_two_that_there_must_be_one_of() -> None:
    for found in at_least_one(_decoded()):
        protocol, metadata, info = found.protocol(), found.metadata(), found.commit_info()
        assert protocol is not None
        assert metadata is not None
        assert info is not None
        assert (protocol.min_writer_version, metadata.id) == (4, "b")
        assert [(txn.app_id, txn.version) for txn in found.transactions()] == [("x", 3)]
        assert [(domain.domain, domain.removed) for domain in found.domains()] == [("d", False), ("e", True)]
        assert (info.operation, info.timestamp) == ("WRITE", 4)
        assert (found.version, found.path) == (6, "_delta_log/6.json")


def test_sizes_of_change_files_that_nobody_can_have_are_not_known() -> None:
    for found in at_least_one(_decoded()):
        assert found.change_sizes() == [7, None, None, None, (1 << 50) - 1, 0]


@pytest.mark.parametrize(
    ("data", "alone"),
    [
        (b'{"add":{"path":"a"}}\n{"commitInfo":{"operation":"WRITE"}}\n', True),
        (b'{"commitInfo":{}}\n', True),
        (b'{"commitInfo":null}\n', True),
        (b'{"add":{"path":"a"}}\n', False),
        (b'{"commitInfo":{}}\n{"commitInfo":{}}\n', False),
        (b'{"commitInfo":{}}\n{"txn":{"appId":"x","version":1}}\n', False),
        *[(b'{"commitInfo":{},"%s":null}\n' % name, False) for name in (b"cdc", b"metaData", b"protocol", b"txn")],
        (b'{"commitInfo":{},"domainMetadata":null}\n', False),
        (b'{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}\n', False),
        (b"", False),
    ],
)
def test_a_commit_that_has_nothing_small_but_its_provenance_is_known(data: bytes, alone: bool) -> None:
    assert decode_small(data, 0, "0.json").is_provenance() is alone


def test_a_commit_without_actions_tells_none() -> None:
    for data in at_least_one((b"", b"\n", b"{}\n", b'{"commitInfo":null}\n{"protocol":null}\n{"metaData":null}\n')):
        for decode in at_least_one((decode_commit, decode_small)):
            found = decode(data, 0, "_delta_log/0.json")
            assert (found.protocol(), found.metadata(), found.commit_info()) == (None, None, None)
            assert (found.transactions(), found.domains(), found.change_sizes(), found.change_files()) == (
                [],
                [],
                [],
                [],
            )


READS: dict[str, Callable[[SmallActions], Any]] = {
    "protocol": SmallActions.protocol,
    "metaData": SmallActions.metadata,
    "txn": SmallActions.transactions,
    "domainMetadata": SmallActions.domains,
    "cdc": SmallActions.change_files,
}


@pytest.mark.parametrize("name", [*READS])
def test_a_broken_action_is_told_with_its_line_and_its_kind(name: str) -> None:
    data = (
        b'{"add":{"path":"a"}}\n\n{"%s":{"appId":5,"path":5,"minReaderVersion":"x","id":5,"domain":5}}\n'
        % name.encode()
    )
    for decode in at_least_one((decode_commit, decode_small)):
        with pytest.raises(MalformedAction) as error:
            READS[name](decode(data, 8, "_delta_log/8.json"))
        found = error.value
        assert (found.version, found.path, found.line) == (8, "_delta_log/8.json", 3)
        assert found.message.startswith(f"Line 3 of _delta_log/8.json (version 8) is not a valid action: {name}: ")
        assert found.message.endswith(
            ". Versions before 8 can still be read. Restore the file from a backup to read later ones."
        )
        with pytest.raises(MalformedAction) as error:
            READS[name](decode(data, 0, "_delta_log/0.json"))
        assert error.value.message.endswith(". Restore the file from a backup to read the table.")
        assert ("can still be read" in found.message, "can still be read" in error.value.message) == (True, False)


@pytest.mark.parametrize("inner", [b'"\\ud800 alone"', b"-", b"01", b"[" * 200_000 + b"]" * 200_000])
def test_bad_text_inside_of_provenance_is_found_with_its_line(inner: bytes) -> None:
    data = b'{"txn":{"appId":"x","version":1}}\n{"commitInfo":{"more":' + inner + b"}}\n"
    for decode in at_least_one((decode_commit, decode_small)):
        with pytest.raises(MalformedAction) as error:
            decode(data, 2, "_delta_log/2.json").commit_info()
        assert (error.value.line, error.value.version, error.value.path) == (2, 2, "_delta_log/2.json")


def _below(depth: int, action: Callable[[], Any]) -> Any:
    """Call something from so many calls deeper."""
    return _below(depth - 1, action) if depth else action()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="calls of Python do not count for decoders from 3.12 on")
def test_provenance_that_is_too_deep_where_it_is_asked_for_is_told_with_its_line() -> None:
    limit = sys.getrecursionlimit() // 10
    nested = b"[" * 5 * limit + b"]" * 5 * limit
    data = b'{"txn":{"appId":"x","version":1}}\n{"commitInfo":{"operation":7,"more":' + nested + b"}}\n"
    commit = decode_commit(data, 2, "2.json")
    with pytest.raises(MalformedAction, match=r"Line 2 of 2\.json \(version 2\).*: commitInfo: .*recursion") as error:
        _below(6 * limit, commit.commit_info)
    assert (error.value.line, error.value.version, error.value.path) == (2, 2, "2.json")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"add":{"path":1}}', "Expected `str`, got `int` - at `$.add.path`"),
        (b'{"more":"\xff"}', "'utf-8' codec can't decode byte 0xff in position 9"),
        (b'{"more":', "Input data was truncated"),
        (b"null", "Expected `object`, got `null`"),
    ],
)
def test_a_line_that_is_no_action_is_told_in_the_words_of_its_decoder(line: bytes, end: bytes, reason: str) -> None:
    with pytest.raises(MalformedAction) as error:
        decode_commit(b'{"txn":{"appId":"x","version":1}}' + end + line + end, 9, "9.json")
    found = error.value
    assert (found.version, found.path, found.line) == (9, "9.json", 2 + end.count(b"\n\n"))
    assert f"is not a valid action: {reason}" in found.message


def test_a_line_that_is_too_long_is_told_with_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 20)
    files = [(LogPath(f"{version}.json", LogFileKind.COMMIT, version), b"{}\n" * 5) for version in range(3)]
    files.append((LogPath("3.json", LogFileKind.COMMIT, 3), b'{}\n{"txn":{"appId":"x"}}\n'))
    read = decode_commits(files)
    assert [len(next(read).lines) for _ in range(3)] == [5, 5, 5]
    with pytest.raises(LimitExceeded, match="has 21 bytes; at most 20 are read") as error:
        next(read)
    assert (error.value.version, error.value.path, error.value.line) == (3, "_delta_log/3.json", 2)


def test_members_of_provenance_of_another_type_are_kept_as_they_are() -> None:
    found = parse_commit_info(b'{"operation":7,"userName":"ana","isBlindAppend":"yes","timestamp":1.5,"more":[1]}')
    assert (found.operation, found.user_name, found.is_blind_append, found.timestamp) == (None, "ana", None, None)
    assert {name: str(value) for name, value in found.unknown.items()} == {
        "operation": "7",
        "isBlindAppend": "yes",
        "timestamp": "1.5",
        "more": "[1]",
    }
    assert parse_commit_info(b"[1,2]").unknown == {"commitInfo": [1, 2]}
    assert parse_commit_info(b'"text"').unknown == {"commitInfo": "text"}


def test_a_line_that_adds_and_removes_is_refused_with_its_number() -> None:
    data = b'{}\n\n{"add":{"path":"a"},"remove":{"path":"b"}}\n'
    commit = decode_commit(data, 3, "_delta_log/3.json")
    assert isinstance(commit, Commit)
    error = commit.two_actions(1)
    assert (error.line, error.version, error.path) == (3, 3, "_delta_log/3.json")
    assert "it contains both an add and a remove" in error.message


def test_provenance_of_many_commits_is_decoded_together_where_each_plainly_says_something() -> None:
    told = [b'{"operation":"WRITE","timestamp":7}', b'{"n":1.50}', b"{}"]
    lines = [SmallLine(commitInfo=msgspec.Raw(data)) for data in told]
    assert decode_provenance(lines) == [parse_commit_info(data) for data in told]
    for odd in at_least_one((b"null", b"5", b'{"timestamp":"x"}', b"{}\n{}", b"")):
        assert decode_provenance([*lines, SmallLine(commitInfo=msgspec.Raw(odd))]) is None
