"""Large commits decoded in parts: lines, their numbers and errors are those of the whole, read line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer
from explorer.core.errors import MalformedAction
from explorer.core.log import commit
from explorer.core.log import decoded_parts as module
from explorer.core.log.commit import decode_commit
from explorer.core.log.decoded_parts import decode_parts
from explorer.core.log.log_path import LogFileKind, LogPath
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.small_logs import decode_small

_LINES = st.sampled_from(
    (
        *(b'{"add":{"path":"a","size":1}}', b'{"remove":{"path":"b"}}', b'{"txn":{"appId":"x","version":1}}', b"{}"),
        *(b"", b"  ", b"\r", '{"add":{"path":"\u00e9"}}'.encode(), b'{"add":{"path":"}\\n{"}}'),
    )
)
_BROKEN = st.sampled_from((b"{", b"}", b'{"a":', b"{}{}", b'{"add":{"path":1}}', b"\xff", b"null"))


def _found(data: bytes) -> tuple[list[tuple[int, object]], int | None]:
    """Numbers of lines with what they are, or else the number of the bad line."""
    path = LogPath("4.json", LogFileKind.COMMIT, 4)
    try:
        parts = list(decode_parts([(path, data)], None))
    except MalformedAction as error:
        return [], error.line if (error.version, error.path) == (4, path.path) else None
    found: list[tuple[int, object]] = []
    for part in parts:
        assert {piece.path for piece in part.pieces} == {path}
        assert {*part.versions().tolist()} <= {4}
        found += zip([number for _, number in part.origins(part.places)], part.lines, strict=True)
    assert [piece.last for part in parts for piece in part.pieces] == [False] * (len(parts) - 1) + [True]
    return found, None


@given(lines=st.lists(_LINES, max_size=12), end=st.sampled_from((b"", b"\n")), size=st.integers(1, 200))
def test_the_parts_of_a_commit_are_the_whole(lines: list[bytes], end: bytes, size: int) -> None:
    data = b"\n".join(lines) + end
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PART", size)
        patch.setattr(commit, "_PART", size)
        found, bad = _found(data)
        whole = decode_commit(data, 4, "_delta_log/4.json")
        small = decode_small(data, 4, "_delta_log/4.json")
    assert (bad, [number for number, _ in found], [whole.line_number(place) for place in range(len(whole.lines))]) == (
        None,
        filled,
        filled,
    )
    assert [line for _, line in found] == whole.lines
    objects = [json.loads(lines[number - 1]) for number in filled]
    assert [line.add is not None for line in whole.lines] == ["add" in each for each in objects]
    with_small = [number for number, each in zip(filled, objects, strict=True) if "txn" in each]
    assert [small.line_number(place) for place in range(len(small.lines))] == with_small


@given(
    before=st.lists(_LINES, max_size=8),
    broken=_BROKEN,
    after=st.lists(_LINES, max_size=8),
    size=st.integers(1, 200),
)
def test_a_broken_line_has_its_number_in_the_file(
    before: list[bytes], broken: bytes, after: list[bytes], size: int
) -> None:
    data = b"\n".join([*before, broken, *after])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PART", size)
        patch.setattr(commit, "_PART", size)
        found, bad = _found(data)
        assert (found, bad) == ([], len(before) + 1)
        for decode in at_least_one((decode_commit, decode_small)):
            if broken != b'{"add":{"path":1}}' or decode is decode_commit:
                with pytest.raises(MalformedAction) as error:
                    decode(data, 4, "_delta_log/4.json")
                assert error.value.line == len(before) + 1


def test_two_documents_on_a_line_are_refused_behind_an_object_over_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents in another line, so that there are as many documents as lines."""
    monkeypatch.setattr(commit, "_PART", 4)
    data = b'{"txn":{"appId":"x","version":1},"add":\n{"path":"a"}}\n{}{}\n'
    for decode in at_least_one((decode_commit, decode_small)):
        with pytest.raises(MalformedAction) as error:
            decode(data, 4, "_delta_log/4.json")
        assert error.value.line == 3


def test_a_history_is_the_same_however_small_the_parts_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    created = [small_logs.PROTOCOL, small_logs.METADATA]
    commits: list[list[Any]] = [
        [*created, *(small_logs.add(f"{place}.parquet", size=place + 1) for place in range(20))],
        [
            *(small_logs.remove(f"{place}.parquet") for place in range(15)),
            small_logs.commit_info("DELETE"),
            *(small_logs.add(f"{place}.parquet", size=7) for place in range(5)),
        ],
    ]
    folder = small_logs.write_log(tmp_path, commits)
    whole = explorer.open_table(folder).history()
    monkeypatch.setattr(module, "_PART", 100)
    parts = explorer.open_table(folder).history()
    assert parts.equals(whole)
    assert parts.column("num_bytes").to_pylist() == [sum(range(16, 21)) + 35, sum(range(1, 21))]
    assert parts.column("operation").to_pylist() == ["DELETE", None]
