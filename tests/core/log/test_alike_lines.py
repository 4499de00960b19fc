"""Lines that are alike, as columns: whatever a line holds, it says what the line decoded by itself says."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.core.errors import LimitExceeded, MalformedAction
from explorer.core.log import decoded_parts, similar_lines
from explorer.core.log.commit import decode_commit
from explorer.core.log.decoded_parts import DecodedPart, decode_joined, decode_parts
from explorer.core.log.line_shape import shape_of
from explorer.core.log.log_path import LogFileKind, LogPath
from explorer.core.log.similar_lines import SimilarActions, SimilarLines
from explorer.core.protocol import limits
from explorer.core.protocol.log_store import joined_objects
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes
from explorer.core.versions.lifetimes.file_columns import FileCodes, columns_of_lines, columns_of_similar, merged
from explorer.core.versions.lifetimes.text_codes import TextCodes
from tests.support.at_least_one import at_least_one

_TEXTS = ("path", "stats", "partition_values")
_NUMBERS = ("size", "modification_time", "deletion_timestamp", "base_row_id", "default_row_commit_version")


@pytest.fixture(autouse=True)
def _however_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are looked for in the shortest text, and one alone has a shape."""
    monkeypatch.setattr(decoded_parts, "_FEWEST", 0)
    monkeypatch.setattr(similar_lines, "_FEWEST", 1)


def _path(version: int) -> LogPath:
    return LogPath(f"{version}.json", LogFileKind.COMMIT, version)


def _said(line: AddLine | RemoveLine) -> dict[str, Any]:
    """What of a file action becomes columns."""
    found: dict[str, Any] = {"kind": type(line), "data_change": line.data_change, "path": line.path}
    found |= {name: getattr(line, name, None) for name in _NUMBERS}
    found |= {"stats": bytes(line.stats), "partition_values": bytes(line.partition_values)}
    vector = line.deletion_vector
    if vector is not None:
        found |= {"dv_storage_type": vector.storage_type, "dv_path_or_inline": vector.path_or_inline_dv}
        found |= {"dv_offset": vector.offset, "dv_cardinality": vector.cardinality}
        found |= {"dv_size_in_bytes": vector.size_in_bytes}
    if isinstance(line, RemoveLine):
        # Of a removal these are not columns.
        left_out = {"stats", "partition_values", "size", "base_row_id", "default_row_commit_version"}
        left_out |= {"dv_cardinality", "dv_size_in_bytes"}
        found = {name: value for name, value in found.items() if name not in left_out}
    return found


def _of_alike(actions: SimilarActions, row: int) -> dict[str, Any]:
    found = _said(actions.like)
    texts = {name: spans.text(row) for name, spans in actions.texts.items()}
    numbers = {name: int(values[row]) for name, values in actions.numbers.items()}
    for name in found:
        if name in {"stats", "partition_values"}:
            found[name] = texts[name].encode() if name in texts else found[name]
        elif name in texts or name in numbers:
            found[name] = texts.get(name, numbers.get(name))
    return found


def _actions(part: DecodedPart) -> list[tuple[int, dict[str, Any]]]:
    """File actions of a part by the places of their lines, each with what it says."""
    found = [(int(place), _of_alike(each, row)) for each in part.similar for row, place in enumerate(each.places)]
    for place, line in zip(part.places.tolist(), part.lines, strict=True):
        action = line.remove if line.add is None else line.add
        found += [(place, _said(action))] if action is not None else []
    return sorted(found, key=lambda each: each[0])


def _lines_of(contents: Sequence[bytes]) -> tuple[list[tuple[int, int, dict[str, Any]]], tuple[int, int] | None]:
    """Version, number of the line and content of each file action, line by line; or where the first broken line is."""
    found = []
    for version, data in enumerate(contents):
        try:
            commit = decode_commit(data, version, f"_delta_log/{version}.json")
        except MalformedAction as error:
            return [], (version, int(error.line or 0))
        for place, line in enumerate(commit.lines):
            action = line.remove if line.add is None else line.add
            if action is not None:
                found.append((version, commit.line_number(place), _said(action)))
    return found, None


def _in_parts(contents: Sequence[bytes]) -> tuple[list[tuple[int, int, dict[str, Any]]], tuple[int, int] | None]:
    """The same in parts, with columns; no other in one buffer."""
    paths = [_path(version) for version in range(len(contents))]
    found = _decoded(decode_parts(zip(paths, contents, strict=True), SimilarLines()))
    assert _decoded(decode_joined(paths, joined_objects(contents), SimilarLines())) == found
    return found


def _decoded(parts: Iterator[DecodedPart]) -> tuple[list[tuple[int, int, dict[str, Any]]], tuple[int, int] | None]:
    found = []
    try:
        for part in parts:
            each = _actions(part)
            places = np.array([place for place, _ in each], np.int64)
            assert len(np.unique(places)) == len(places)
            assert part.versions()[places].tolist() == [path.version for path, _ in part.origins(places)]
            origins = zip(part.origins(places), each, strict=True)
            found += [(path.version, number, said) for (path, number), (_, said) in origins]
    except MalformedAction as error:
        return [], (int(error.version or 0), int(error.line or 0))
    return found, None


ADD = (
    '{"add":{"path":"p=%s/f%d.parquet","partitionValues":{"p":"%s"},"size":%d,"modificationTime":%d,'
    '"dataChange":true,"stats":"{\\"numRecords\\":%d,\\"minValues\\":{\\"a\\":\\"%s\\"}}"}}'
)
MASKED = (
    '{"add":{"path":"f%d","partitionValues":{},"size":7,"modificationTime":1,"dataChange":false,"stats":"{}",'
    '"deletionVector":{"storageType":"u","pathOrInlineDv":"%s","offset":%d,"sizeInBytes":%d,"cardinality":%d}}}'
)
FLAGGED = '{"add":{"path":"a%%20b%d","dataChange":%s}}'
INFO = '{"commitInfo":{"operation":"WRITE","n":%d}}'
REMOVE = '{"remove":{"path":"f%d","deletionTimestamp":%d,"dataChange":true,"extendedFileMetadata":true,"size":%d}}'


def _usual(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    number = lambda: chance.randrange(10 ** chance.randrange(1, 19))  # noqa: E731
    text = lambda: "".join(chance.choices("abc \u00e9}{,:[]\u4e2d-", k=chance.randrange(9)))  # noqa: E731
    found = []
    for place in range(count):
        match chance.randrange(4):
            case 0:
                found.append(ADD % (text(), place, text(), number(), number(), number(), text()))
            case 1:
                small = chance.randrange(1 << 31)
                found.append(MASKED % (place, text(), small, chance.randrange(1 << 31), number()))
            case 2:
                found.append(REMOVE % (place, number(), number()))
            case _:
                found.append(INFO % place)
    return found


@pytest.mark.sampled(cases=3)
@pytest.mark.parametrize("size", [1 << 22, 3_000, 400])
@pytest.mark.parametrize("seed", range(4))
def test_usual_lines_become_columns_and_say_what_they_say(
    seed: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_parts, "_PART", size)
    monkeypatch.setattr(similar_lines, "_BLOCK", (1 << 18, 64, 7, 1)[seed])
    lines = _usual(seed, 300)
    contents = ["\n".join(lines[start : start + 60]).encode() + b"\n" * (start % 2) for start in range(0, 300, 60)]
    assert _in_parts(contents) == _lines_of(contents)
    files = [(_path(version), data) for version, data in enumerate(contents)]
    parts = list(decode_parts(files, SimilarLines()))
    as_columns = sum(len(each.places) for part in parts for each in part.similar)
    assert as_columns == sum("commitInfo" not in line for line in lines)
    assert sum(len(part.lines) for part in parts) == sum("commitInfo" in line for line in lines)


_GOOD = ADD % ("x", 1, "x", 5, 6, 7, "y")
ODD = [
    '{"add":{"path":"a\\"b","size":1}}',
    '{"add":{"path":"a\\\\","size":1}}',
    '{"add":{"path":"a\\u0041","size":1}}',
    '{"add":{"path":"a\\/b","size":1}}',
    '{"add":{"path":"a","size":1,"stats":"{\\"numRecords\\":1,\\"maxValues\\":{\\"a\\":\\"q\\\\\\"\\"}}"}}',
    '{"add":{"path":"a","size":-1}}',
    '{"add":{"path":"a","size":0}}',
    '{"add":{"path":"a","size":null}}',
    '{"add":{"path":"a","size":999999999999999999}}',
    '{"add":{"path":"a","size":1000000000000000000}}',
    '{"add":{"path":"a","size":9223372036854775807}}',
    '{"add":{"path":"a","size":1,"size":2}}',
    '{"add":{"path":"a","size":1,"\\u0073ize":2}}',
    '{"add":{"path":"a"},"remove":null}',
    '{"add":{"path":"a"},"txn":{"appId":"x","version":1}}',
    '{"add":{"path":"a"},"other":{"add":{"path":"b"}}}',
    '{"add":{"path":"a","tags":{"t":"u","path":"no"},"size":3}}',
    '{"add":{"path":"a","tags":{"t":["u"]},"size":3}}',
    '{"add":{"tags":{"size":5},"path":"a","size":3}}',
    '{"add":{"path":"a","x":{"size":5,"path":"no","deletionVector":{"offset":4}},"size":3}}',
    '{"add":{"path":"a","x":{},"y":{"z":{}},"size":3}}',
    (
        '{"add":{"path":"a","size":3,"deletionVector.offset":4,"deletionVector":{"storageType":"u","pathOrInlineDv":"x",'
        '"sizeInBytes":1,"cardinality":2,"offset":5,"pathOrInlineDv.":"y"}}}'
    ),
    '{"add":{"path":"a","stats":null,"partitionValues":null,"size":3}}',
    '{"add":{"path":"a","partitionValues":{"p":null,"q":"r"},"size":3}}',
    '{"add":{"path":"a","deletionVector":null}}',
    '{"add":{"path":"a","deletionVector":{"storageType":"i","pathOrInlineDv":"xy","sizeInBytes":1,"cardinality":2}}}',
    (
        '{"add":{"path":"a","deletionVector":{"storageType":"p","pathOrInlineDv":"file:/a","offset":1,"sizeInBytes":1,'
        '"cardinality":2,"maxRowIndex":9}}}'
    ),
    '{ "add" : { "path" : "a" , "size" : 12 } }',
    '{"add":{ "path" : "a" , "size" : 12 } } ',
    ' {"add":{"path":"a","size":1}}',
    '{"add":{"path":"a","size":1}} ',
    '{"add":{"path":"","size":1}}',
    '{"add":{"size":1,"path":"a"}}',
    '{"add":{"path":"' + "x" * 5_000 + '","size":1}}',
    '{"add":{"path":"a","' + "x" * 1_100 + '":1,"size":1}}',
    '{"remove":{"path":"a"}}',
    '{"remove":{"path":"a","deletionTimestamp":1,"dataChange":false}}',
    '{"remove":{"path":"a","deletionTimestamp":12345678901234567890123}}',
    '{"removed":{"path":"a"}}',
    '{"add":{"path":"a","deletionVector":{"storageType":"\\"u","pathOrInlineDv":"x","sizeInBytes":1,"cardinality":2}}}',
    '{"add":{"path":"a","x":' + '{"y":' * 9 + "1" + "}" * 9 + "}}",
    '{"add":{"path":"a","dataChange":false}}',
    '{"add":null}',
    '{"add":{"path":"\ud83d\ude00 \u00e9"}}'.encode("utf-16", "surrogatepass").decode("utf-16"),
    "{}",
    "",
    "   ",
]
"""Lines that can be read, each unlike the others in some way."""

BROKEN = [
    '{"add":{"path":"a","size":1e3}}',
    '{"add":{"path":"a","size":1.0}}',
    '{"add":{"path":"a","size":01}}',
    '{"add":{"path":"a","size":}}',
    '{"add":{"path":"a","size":1}',
    '{"add":{"path":"a","size":1}}}',
    '{"add":{"path":"a","size":1}}{"add":{"path":"a","size":1}}',
    '{"add":{"path":"a","size":"1"}}',
    '{"add":{"path":1,"size":1}}',
    '{"add":{"path":"a""size":1}}',
    '{"add":{"path":"a"x"size":1}}',
    '{"add":{"path":"a\\","size":1}}',
    '{"add":{"path":"x"y\\"}}',
    '{"add":{"path":"a\\x","size":1}}',
    '{"add":{"path":"a","size":9223372036854775808}}',
    (
        '{"add":{"path":"a","deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":2147483648,"sizeInBytes":1,'
        '"cardinality":2}}}'
    ),
    (
        '{"add":{"path":"a","deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1,"sizeInBytes":2147483648,'
        '"cardinality":2}}}'
    ),
    '{"add":{"size":1}}',
    '{"add":{}}',
    '{"remove":{"path":"a","size":1,}}',
    '{"add":["path"]}',
    "[]",
    "nonsense",
]
"""Lines that cannot."""


@pytest.mark.parametrize("line", ODD)
@pytest.mark.parametrize("copies", [1, 3])
def test_an_odd_line_says_what_it_says_by_itself(line: str, copies: int) -> None:
    data = "\n".join([_GOOD, *[line] * copies, _GOOD, REMOVE % (1, 2, 3)]).encode()
    expected, broken = _lines_of([data])
    assert broken is None
    assert (_in_parts([data]), _in_parts([data, data])) == ((expected, None), _lines_of([data, data]))


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_is_named_whatever_is_around_it(line: str) -> None:
    for around in at_least_one(([_GOOD], [REMOVE % (1, 2, 3), ""], ['{"add":{"path":"a","size":1}}'] * 3)):
        contents = [_GOOD.encode(), "\n".join([*around, line, *around]).encode()]
        assert _lines_of(contents) == ([], (1, len(around) + 1))
        assert _in_parts(contents) == _lines_of(contents)
        with pytest.raises(MalformedAction) as refused:
            list(decode_parts([(_path(version), data) for version, data in enumerate(contents)], SimilarLines()))
        assert refused.value.path == "_delta_log/1.json"


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3(", b"\x00", b"\x1f", b"\t", b"\r"])
def test_a_text_with_other_bytes_is_read_line_by_line(bad: bytes) -> None:
    for line in at_least_one((b'{"add":{"path":"a%s","size":1}}' % bad, b'{"add":{"path":"a","size":1}}' + bad)):
        contents = [b"\n".join([_GOOD.encode(), line, _GOOD.encode()])]
        assert _in_parts(contents) == _lines_of(contents)
        assert SimilarLines().find([contents[0] + b"\n"]) is None


@pytest.mark.parametrize("empty", [[0], [1], [2], [0, 1], [0, 1, 2, 3]])
def test_commits_without_lines_are_commits(empty: list[int]) -> None:
    contents = [b"" if version in empty else "\n".join(_usual(version, 9)).encode() for version in range(4)]
    assert _in_parts(contents) == _lines_of(contents)
    parts = decode_parts([(_path(version), data) for version, data in enumerate(contents)], SimilarLines())
    assert [piece.path.version for part in parts for piece in part.pieces] == [*range(4)]


@pytest.mark.parametrize("filler", [b"", b"   ", b"{}"])
def test_lines_without_actions_are_not_looked_at_twice(filler: bytes) -> None:
    contents = [b"\n".join([filler] * 50 + [_GOOD.encode()] + [filler] * 50)]
    assert _in_parts(contents) == _lines_of(contents)
    found = SimilarLines().find([contents[0] + b"\n"])
    assert found is not None
    assert (len(found.breaks), len(found.others)) == (101, 100 if filler else 0)


_CHANGED = st.lists(
    st.tuples(
        st.integers(0, 10_000), st.sampled_from([*'"\\{}[]:, 0159-ae.\u00e9', '\\"', "", "null", "\n", "1" * 18])
    ),
    max_size=3,
)


@given(seed=st.integers(0, 50), changes=_CHANGED, cut=st.integers(1, 4_000))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_changed_in_a_log_is_read_as_line_by_line(
    seed: int, changes: list[tuple[int, str]], cut: int
) -> None:
    """Up to the first broken line, which is the same one."""
    text = "\n".join(_usual(seed, 24)) + "\n"
    for place, other in changes:
        at = place % len(text)
        text = text[:at] + other + text[at + (place % 3 > 0) :]
    data = text.encode()
    contents = [data[: cut % (len(data) + 1)], data[cut % (len(data) + 1) :]] if b"\n" in data else [data]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoded_parts, "_PART", cut)
        mine, broken = _in_parts(contents)
    meant, expected = _lines_of(contents)
    assert (mine, broken) == (meant, expected)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_each_line_has_all_pieces_or_is_read_by_itself(place: int) -> None:
    """Lines of one length and as many quotes, of which each lacks another piece of the shape."""
    lines = ['{"add":{"path":"a","size":1,"modificationTime":2}}'] * 3
    lines += [
        '{"add":{"path":"a","sizf":1,"modificationTime":2}}',
        '{"add":{"path":"a","size":1,"modificationTimf":2}}',
    ]
    lines += [
        '{"add":{"path":"a","size":1,"modificationTime":2 }}',
        '{"add":{"path":"a" ,"size":1,"modificationTime":2}}',
    ]
    data = "\n".join([lines[0], *lines[3 + place :], *lines[:3], *lines[3 : 3 + place]]).encode()
    assert _in_parts([data]) == _lines_of([data])


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 18])
@pytest.mark.parametrize("escape", ["\\x", "\\", "\\\\", "\\n", "\\u00e9", "\\ud800"])
@pytest.mark.parametrize("place", [0, 3, 5])
def test_a_line_with_another_escape_is_read_by_itself(
    block: int, escape: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands in the statistics, which stay JSON; one that JSON does not know makes the line a broken one."""
    monkeypatch.setattr(similar_lines, "_BLOCK", block)
    lines = [ADD % ("x", number, "x", number, number, number, "y") for number in range(6)]
    lines[place] = lines[place].replace("minValues", f"min{escape}Values")
    data = "\n".join(lines).encode()
    assert _in_parts([data]) == _lines_of([data])
    assert (_lines_of([data])[1] is None) is (escape in {"\\\\", "\\n", "\\u00e9"})
    found = SimilarLines().find([data + b"\n"])
    assert found is not None
    assert found.others.tolist() == [place]


@pytest.mark.parametrize(
    ("name", "most"),
    [("offset", 2**31 - 1), ("sizeInBytes", 2**31 - 1), ("cardinality", 2**63 - 1), ("maxRowIndex", 2**63 - 1)],
)
def test_numbers_are_as_wide_as_their_member(name: str, most: int) -> None:
    """A line like the one before it but for one number; up to 64 bits it may be one that is decoded by itself."""
    line = (MASKED % (1, "x", 2, 3, 4)).replace("}}}", ',"maxRowIndex":5}}}')
    for number in (2**31 - 1, 2**31, 10**18 - 1, 10**18, 2**63 - 1, 2**63):
        data = "\n".join([line] * 3 + [re.sub(rf'"{name}":\d+', f'"{name}":{number}', line)]).encode()
        assert _in_parts([data]) == _lines_of([data])
        assert (_lines_of([data])[1] is None) is (number <= most)


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_lines_that_are_alike_are_those_of_the_lines(seed: int) -> None:
    lines = [line for line in _usual(seed, 80) if line.startswith('{"add"')]
    extra = ',"baseRowId":%d,"defaultRowCommitVersion":%d}}'
    lines += [lines[place].removesuffix("}}") + extra % (place, 2 * place) for place in range(20)]
    lines += [FLAGGED % (place, flag) for place in range(3) for flag in ("true", "false", "null")]
    codes, others = (FileCodes(PathCodes(), TextCodes(), VectorCodes()) for _ in range(2))
    found = SimilarLines().find(["\n".join([*lines, ""]).encode()])
    assert found is not None
    assert len(found.others) == 0
    parts = []
    for actions in found.similar:
        decoded, written = codes.paths.of_files(actions.texts["path"])
        parts.append((actions.places, columns_of_similar(actions, decoded, written, codes)))
    mine = merged(parts, len(lines))
    adds = [line.add for line in decode_commit("\n".join(lines).encode(), 0, "0.json").lines if line.add is not None]
    meant = columns_of_lines(adds, others)
    assert [{**mine.arrays}.keys(), {**mine.known}.keys()] == [meant.arrays.keys(), meant.known.keys()]
    for name in meant.known:
        assert mine.known[name].tolist() == meant.known[name].tolist(), name
        stated = [value if known else None for value, known in zip(mine.arrays[name], mine.known[name], strict=True)]
        assert stated == [
            value if known else None for value, known in zip(meant.arrays[name], meant.known[name], strict=True)
        ], name
    assert mine.arrays["data_change"].tolist() == meant.arrays["data_change"].tolist()
    for name, one, other in (
        ("path", codes.paths.texts, others.paths.texts),
        ("raw_path", codes.paths.texts, others.paths.texts),
        ("partition", codes.partitions.texts, others.partitions.texts),
    ):
        assert one(mine.arrays[name]).equals(other(meant.arrays[name])), name
    vectors = [each.arrays["vector"].astype(np.int64) for each in (mine, meant)]
    assert codes.vectors.identities(vectors[0]) == others.vectors.identities(vectors[1])


def test_what_is_wrong_is_told_with_the_file_and_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    both = '{"add":{"path":"a"},"remove":{"path":"b"}}'
    contents = [_GOOD.encode(), "\n".join([_GOOD, _GOOD, both]).encode()]
    [part] = decode_parts([(_path(version), data) for version, data in enumerate(contents)], SimilarLines())
    error = part.two_actions(0)
    assert (error.version, error.path, error.line) == (1, "_delta_log/1.json", 3)
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", len(_GOOD) - 1)
    with pytest.raises(LimitExceeded) as refused:
        list(decode_parts([(_path(7), _GOOD.encode())], SimilarLines()))
    assert (refused.value.version, refused.value.path) == (7, "_delta_log/7.json")


def test_a_shape_is_what_lines_of_one_writer_share() -> None:
    shape = shape_of((MASKED % (1, "x", 2, 3, 4)).encode())
    assert shape is not None
    assert shape.action == AddLine(
        "f1",
        shape.action.partition_values,
        7,
        1,
        False,
        shape.action.stats,
        deletion_vector=shape.action.deletion_vector,
    )
    assert [piece.text for piece in shape.pieces] == [
        b'{"add":{"path":"',
        b'","partitionValues":{},"size":',
        b',"modificationTime":',
        b',"dataChange":false,"stats":"',
        b'","deletionVector":{"storageType":"u","pathOrInlineDv":"',
        b'","offset":',
        b',"sizeInBytes":',
        b',"cardinality":',
        b"}}}",
    ]
    assert [*shape.numbers] == [False, True, True, False, False, True, True, True]
    assert set(shape.names.values()) == {
        *("path", "size", "modification_time"),
        *("dv_path_or_inline", "dv_offset", "dv_size_in_bytes", "dv_cardinality"),
    }
    assert {*shape.values} == {"partition_values", "stats"}
    assert shape.quotes == (MASKED % (1, "x", 2, 3, 4)).count('"')


@pytest.mark.parametrize(
    "line", ["{}", '{"txn":{"appId":"x","version":1}}', "nonsense", '{"add":null}', '{"add":{"path":"a","x":[]}}']
)
def test_some_lines_have_no_shape(line: str) -> None:
    assert shape_of(line.encode()) is None


def test_shapes_are_no_longer_looked_for_where_lines_have_none_or_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    known = similar_lines.shape_of
    monkeypatch.setattr(similar_lines, "shape_of", lambda line: (made.append(line), known(line))[1])
    arrays = b"".join(b'{"add":{"path":"%d","x":[]}}\n' % place for place in range(20))
    found = SimilarLines().find([arrays])
    assert found is not None
    assert (len(made), len(found.others), found.lines) == (3, 20, arrays.splitlines())
    made.clear()
    monkeypatch.setattr(similar_lines, "_MOST_SHAPES", 5)
    unlike = b"".join(b'{"add":{"path":"a","%s":1}}\n' % (b"x" * place) for place in range(1, 20))
    finder = SimilarLines()
    monkeypatch.setattr(similar_lines, "_MOST_FAILURES", 100)
    for _ in range(2):
        again = finder.find([unlike])
        assert again is not None
        assert (len(made), len(again.others)) == (5, 14)


def test_json_of_a_member_is_the_text_that_it_has() -> None:
    line = '{"add":{"path":"a","partitionValues":{ "p" : "q" },"stats":"{}","size":1}}'
    found = SimilarLines().find([line.encode() + b"\n"])
    assert found is not None
    ((_, _, texts, numbers),) = found.similar
    assert {name: spans.text(0) for name, spans in texts.items()} == {
        "path": "a",
        "partition_values": '{ "p" : "q" }',
        "stats": '"{}"',
    }
    assert json.loads(texts["stats"].text(0)) == "{}"
    assert {name: values.tolist() for name, values in numbers.items()} == {"size": [1]}
