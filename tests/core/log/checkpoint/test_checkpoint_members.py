"""Columns of files out of members of a checkpoint: which members, in which type, and what stands for one that is not
there."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from explorer.core.log.checkpoint.file_columns import (
    column_of,
    decoded_paths,
    members_of,
    plain,
    struct_with_nulls,
    texts_of,
    unique_ids,
)
from explorer.core.protocol.logical_files import SCHEMA

MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
MEMBERS = {
    "partition_values": ["partitionValues"],
    "size": ["size"],
    "modification_time": ["modificationTime"],
    "data_change": ["dataChange"],
    "num_records": ["stats_parsed.numRecords"],
    "base_row_id": ["baseRowId"],
    "default_row_commit_version": ["defaultRowCommitVersion"],
    "tags": ["tags"],
    "stats": ["stats", "stats_parsed"],
} | {name: ["deletionVector"] for name in SCHEMA.names if name.startswith("dv_")}
OF_FILE = frozenset({"path", "new"} | {member for members in MEMBERS.values() for member in members})


def not_asked() -> pa.Array:
    raise AssertionError("nothing else says the counts")


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_a_column_is_made_of_its_members_as_far_as_the_file_has_them(name: str) -> None:
    assert members_of([name], OF_FILE) == MEMBERS[name]
    assert members_of(["path", name, "raw_path"], OF_FILE) == MEMBERS[name]
    assert members_of([name], frozenset({"path", "new"})) == []


def test_counts_are_not_read_apart_where_the_struct_is_read_whole() -> None:
    assert members_of(["num_records", "stats", "size"], OF_FILE) == ["size", "stats", "stats_parsed"]
    assert members_of(["path", "raw_path"], OF_FILE) == []


def vectors(*rows: dict[str, Any] | None, kind: pa.DataType = VECTOR) -> pa.Array:
    return pa.array(list(rows), kind)


WHOLE = {"storageType": "u", "pathOrInlineDv": "abc", "offset": 4, "sizeInBytes": 40, "cardinality": 6}
INLINE = {"storageType": "i", "pathOrInlineDv": "xyz", "offset": None, "sizeInBytes": 7, "cardinality": 2}


@pytest.mark.parametrize(
    ("name", "member", "values", "found"),
    [
        ("size", "size", pa.array([7, None], pa.int32()), [7, None]),
        ("modification_time", "modificationTime", pa.array([8, 9], pa.int64()), [8, 9]),
        ("data_change", "dataChange", pa.array([None, False]), [True, False]),
        ("data_change", "dataChange", pa.array([True, False]), [True, False]),
        ("base_row_id", "baseRowId", pa.array([None, 3], pa.int64()), [None, 3]),
        ("default_row_commit_version", "defaultRowCommitVersion", pa.array([5, None], pa.int64()), [5, None]),
        ("tags", "tags", pa.array([[("a", None)], None], MAP), [[("a", None)], None]),
        ("partition_values", "partitionValues", pa.array([[("a", "1")], None], MAP), [[("a", "1")], []]),
        ("stats", "stats", pa.array(["{}", None]), ["{}", None]),
        ("dv_unique_id", "deletionVector", vectors(WHOLE, None), ["uabc@4", None]),
        ("dv_storage_type", "deletionVector", vectors(None, INLINE), [None, "i"]),
        ("dv_path_or_inline", "deletionVector", vectors(None, INLINE), [None, "xyz"]),
        ("dv_cardinality", "deletionVector", vectors(WHOLE, INLINE), [6, 2]),
        ("dv_offset", "deletionVector", vectors(WHOLE, INLINE), [4, None]),
        ("dv_size_in_bytes", "deletionVector", vectors(WHOLE, INLINE), [40, 7]),
    ],
)
def test_a_column_has_the_type_and_the_values_of_its_member(
    name: str, member: str, values: pa.Array, found: list[Any]
) -> None:
    made = column_of(name, 2, {member: values}, not_asked)
    assert (made.type, made.to_pylist()) == (SCHEMA.field(name).type, found)


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "num_records"])
def test_a_member_that_is_not_there_is_null_and_changes_data(name: str) -> None:
    nothing = {"data_change": True, "partition_values": []}.get(name)
    made = column_of(name, 3, {}, not_asked)
    assert (made.type, made.to_pylist()) == (SCHEMA.field(name).type, [nothing] * 3)
    if name.startswith("dv_"):
        empty = column_of(name, 2, {"deletionVector": vectors(None, None)}, not_asked)
        assert (empty.type, empty.to_pylist()) == (SCHEMA.field(name).type, [None, None])


def test_a_member_of_the_right_type_is_not_copied() -> None:
    sizes, small = pa.array([1, 2], pa.int64()), pa.array([1, 2], pa.int8())
    assert plain("size", pa.int64(), 2, {"size": sizes}) is sizes
    assert plain("size", pa.int64(), 2, {"size": small}).equals(sizes)


NO_PLACE = {"storageType": "u", "pathOrInlineDv": None, "cardinality": 1}


@pytest.mark.parametrize("row", [NO_PLACE, {"pathOrInlineDv": "abc"}, {"cardinality": 1}])
def test_a_vector_that_does_not_say_where_it_is_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^a deletion vector lacks its storageType or pathOrInlineDv$"):
        column_of("dv_offset", 3, {"deletionVector": vectors(None, WHOLE, row)}, not_asked)


def test_a_vector_that_only_counts_nothing_is_none() -> None:
    found = {"deletionVector": vectors({"offset": 3}, {"storageType": "p", "pathOrInlineDv": "x"})}
    assert column_of("dv_unique_id", 2, found, not_asked).to_pylist() == [None, "px"]


COUNTS = pa.struct([("numRecords", pa.int64()), ("tightBounds", pa.bool_())])


@pytest.mark.parametrize(
    ("texts", "parsed", "elsewhere", "found"),
    [
        (None, None, [4, 5], [4, 5]),
        (['{"numRecords":1}', None], None, None, [1, None]),
        (None, [{"numRecords": 2}, {"numRecords": 3}], None, [2, 3]),
        (None, [{"numRecords": 2}, None], [8, 9], [2, 9]),
        (['{"numRecords":1}', '{"numRecords":6}'], [{"numRecords": 2}, {"tightBounds": True}], None, [2, 6]),
    ],
)
def test_counts_are_those_of_the_struct_and_else_those_of_the_texts(
    texts: list[str | None] | None, parsed: list[Any] | None, elsewhere: list[int] | None, found: list[int | None]
) -> None:
    values = {} if texts is None else {"stats": pa.array(texts, pa.large_string())}
    values |= {} if parsed is None else {"stats_parsed": pa.array(parsed, COUNTS)}
    read = not_asked if elsewhere is None else lambda: pa.array(elsewhere, pa.int64())
    made = column_of("num_records", 2, values, read)
    assert (made.type, made.to_pylist()) == (pa.int64(), found)


@pytest.mark.parametrize(
    ("parsed", "text"),
    [
        (None, None),
        ({}, None),
        ({"numRecords": None}, None),
        ({"numRecords": 3, "nullCounts": {"x": 1}}, {"numRecords": 3, "nullCount": {"x": 1}}),
        ({"nullCount": {"x": 2}, "nullCounts": {"x": 1}}, {"nullCount": {"x": 2}}),
        ({"minValues": {"s": {"x": None, "y": b"\xff"}, "z": None}}, {"minValues": {"s": {"y": "\xff"}}}),
        ({"minValues": {"d": date(2020, 1, 2)}}, {"minValues": {"d": "2020-01-02"}}),
        ({"minValues": {"n": Decimal("1.50")}}, {"minValues": {"n": 1.5}}),
        ({"maxValues": {"t": datetime(2020, 1, 2, 3, tzinfo=UTC)}}, {"maxValues": {"t": "2020-01-02T03:00:00Z"}}),
    ],
)
def test_statistics_are_rebuilt_from_their_struct_where_there_is_no_text(parsed: Any, text: Any) -> None:
    kept = '{"numRecords":7}'
    structs = pa.array([parsed, {"numRecords": 9}, parsed, None])
    found = texts_of(pa.array([None, kept, None, None], pa.string()), structs).to_pylist()
    assert [None if each is None else json.loads(each) for each in found] == [text, {"numRecords": 7}, text, None]
    assert found[1] == kept
    values = {"stats": pa.array([None, kept, None, None], pa.large_string()), "stats_parsed": structs}
    assert column_of("stats", 4, values, not_asked).to_pylist() == found
    alone = column_of("stats", 4, {"stats_parsed": structs}, not_asked).to_pylist()
    assert alone == [found[0], '{"numRecords":9}', found[0], None]


def test_texts_that_are_all_there_and_those_without_a_struct_stay_as_they_are() -> None:
    whole, some = pa.array(["a", "b"]), pa.array(["a", None])
    assert texts_of(whole, pa.array([{"numRecords": 1}, None])) is whole
    assert texts_of(some, None) is some
    assert texts_of(some, pa.array([{"numRecords": 1}, None], COUNTS)) is some


def test_a_struct_without_a_count_is_null() -> None:
    wide = pa.array([{"numRecords": 3}], pa.struct([("numRecords", pa.int16())]))
    made = column_of("num_records", 1, {"stats_parsed": wide}, not_asked)
    assert (made.type, made.to_pylist()) == (pa.int64(), [3])
    full, odd = pa.array([{"numRecords": 1}] * 2, COUNTS), pa.array([{"numRecords": 1}, {"tightBounds": True}, None])
    assert struct_with_nulls(full) is full
    assert struct_with_nulls(odd).to_pylist() == [{"numRecords": 1, "tightBounds": None}, None, None]
    assert struct_with_nulls(pa.array([{"tightBounds": True}])).to_pylist() == [None]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([WHOLE, INLINE, None], ["uabc@4", "ixyz", None]),
        ([INLINE, None], ["ixyz", None]),
        ([WHOLE | {"offset": 0}], ["uabc@0"]),
    ],
)
def test_a_vector_is_known_by_its_kind_place_and_offset(rows: list[Any], found: list[str | None]) -> None:
    assert unique_ids(vectors(*rows)).to_pylist() == found
    without = pa.struct([VECTOR.field("storageType"), VECTOR.field("pathOrInlineDv")])
    kept = [row and {name: row[name] for name in ("storageType", "pathOrInlineDv")} for row in rows]
    expected = [text and text.partition("@")[0] for text in found]
    assert unique_ids(pa.array(kept, without)).to_pylist() == expected


LONG = "a" * (1 << 22)


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["b", "a%20b", None], ["b", "a b", None]),
        (["file:///a", "b"], ["/a", "b"]),
        ([f"{LONG}%20"], [f"{LONG} "]),
        ([f"{LONG[:-1]}%20"], [f"{LONG[:-1]} "]),
        (["", "%41"], ["", "A"]),
    ],
)
def test_paths_are_decoded_once(paths: list[str | None], found: list[str | None]) -> None:
    assert decoded_paths(pa.array(paths)).to_pylist() == found


@pytest.mark.parametrize(
    "paths",
    [
        pa.array([], pa.string()),
        pa.array(["", ""]),
        pa.array(["a", None, "b"]),
        pa.array(["%41", "a"]).slice(1, 1),
        pa.array(["a", "", "/b"]).slice(0, 2),
    ],
)
def test_paths_that_are_plain_are_not_copied(paths: pa.StringArray) -> None:
    assert decoded_paths(paths) is paths
