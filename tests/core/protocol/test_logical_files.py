"""Files of a log as columns: read from row groups of Parquet, and listed from the lines of commits."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import CorruptTable, LimitExceeded, MalformedAction
from explorer.core.protocol import limits
from explorer.core.protocol.actions import Add, DeletionVectorDescriptor
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.logical_files import (
    PUBLIC_COLUMNS,
    SCHEMA,
    LaterFiles,
    LineSource,
    LogicalFiles,
    decode_map,
    files_to_come,
    rows_among,
    vector_descriptors,
)
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics.json_statistics import StatisticsLeaf
from tests.support.at_least_one import at_least_one

# --- row groups -------------------------------------------------------------------------------------------------------


def parquet(table: pa.Table, rows: int) -> RowGroups:
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=rows)
    return RowGroups(lambda: pa.BufferReader(sink.getvalue()))


def shortened(rows: int, claimed: int) -> RowGroups:
    """A file whose only row group is said to have more rows than its columns hold."""
    old, new = (bytes([number * 2 & 127 | 128, number * 2 >> 7]) for number in (rows, claimed))
    sink = io.BytesIO()
    pq.write_table(pa.table({"a": range(rows)}), sink, compression="none")
    data = sink.getvalue()
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    head, _, tail = data[start:].rpartition(old)
    return RowGroups(lambda: pa.BufferReader(data[:start] + head + new + tail))


def test_a_row_group_is_read_by_columns_of_which_missing_ones_are_left_out() -> None:
    table = pa.table({"a": range(7), "s": [{"x": place, "y": str(place)} for place in range(7)]})
    groups = parquet(table, 3)
    assert (groups.count, groups.metadata.num_rows, groups.schema.names) == (3, 7, ["a", "s"])
    for alone in (True, False):
        found = groups.read(1, ["s.x", "gone", "a"], alone=alone)
        assert found.to_pylist() == [{"a": place, "s": {"x": place}} for place in (3, 4, 5)]
        batches = list(groups.batches(1, 2, ["a", "gone"], alone=alone))
        assert [batch.to_pydict() for batch in batches] == [{"a": [3, 4]}, {"a": [5]}]
    assert groups.read(2, ["gone"]).num_columns == 0
    assert groups.read(2, ["a"]).equals(table.select(["a"]).slice(6))


def test_a_row_group_may_be_read_while_another_is() -> None:
    groups = parquet(pa.table({"a": range(4)}), 2)
    batches = groups.batches(0, 1, ["a"])
    first = next(batches).to_pydict()
    assert groups.read(1, ["a"]).to_pydict() == {"a": [2, 3]}
    assert [first, *(batch.to_pydict() for batch in batches)] == [{"a": [0]}, {"a": [1]}]
    assert groups.read(0, ["a"]).to_pydict() == {"a": [0, 1]}


def test_times_of_the_old_width_are_read_in_microseconds_far_from_the_epoch() -> None:
    """In nanoseconds the first of them would not be in the years that 64 bits count."""
    moments = [datetime(1600, 1, 1), datetime(2026, 1, 1, microsecond=7)]  # noqa: DTZ001
    sink = io.BytesIO()
    pq.write_table(pa.table({"t": moments}), sink, use_deprecated_int96_timestamps=True)
    groups = RowGroups(lambda: pa.BufferReader(sink.getvalue()))
    assert groups.schema.field("t").type == pa.timestamp("us")
    assert groups.read(0, ["t"]).column("t").to_pylist() == moments


def test_a_column_that_ends_early_is_said_with_its_row_group() -> None:
    groups = shortened(1_500, 1_501)
    for read in (lambda: groups.read(0, ["a"]), lambda: list(groups.batches(0, 2_000, ["a"]))):
        with pytest.raises(ValueError, match="row group") as broken:
            read()
        assert str(broken.value) == "row group 0 should have 1,501 rows but has 1,500"
    assert shortened(1_500, 1_500).read(0, ["a"]).num_rows == 1_500


@pytest.mark.parametrize("rows", [2, 4, 5_000, 20_000])
def test_rows_that_are_not_null_are_found_in_every_row_group(rows: int) -> None:
    """Below and above the number of rows that are decoded in one piece."""
    length = 10_000
    first: list[Any] = [None] * length
    second: list[Any] = [None] * length
    for place in (1, 2, 4_095, 4_096, 4_097, 9_999):
        first[place] = {"deep": [place], "n": place, "m": [("k", str(place))]}
    second[2] = {"deep": [{"x": None}]}
    kind = pa.struct([("deep", pa.list_(pa.int64())), ("n", pa.int64()), ("m", pa.map_(pa.string(), pa.string()))])
    deep = pa.struct([("deep", pa.list_(pa.struct([("x", pa.int64())])))])
    table = pa.table({"b": pa.array(first, kind), "c": pa.array(second, deep), "plain": range(length)})
    groups = parquet(table.slice(0, 20) if rows < 10 else table, rows)
    found = groups.present(["c", "gone", "b"])
    assert list(found) == ["c", "b"]
    assert found["c"] == [second[2]]
    expected = [{"deep": [n], "n": n, "m": {"k": str(n)}} for n in (1, 2, 4_095, 4_096, 4_097, 9_999)]
    assert found["b"] == (expected[:2] if rows < 10 else expected)
    assert groups.present(["gone"]) == {}
    assert groups.present([]) == {}


def test_a_struct_that_is_there_with_nothing_in_it_counts_as_there() -> None:
    kind = pa.struct([("x", pa.int64()), ("y", pa.string())])
    groups = parquet(pa.table({"a": pa.array([None, {"x": None, "y": "z"}, None, {"x": 1}], kind)}), 4)
    assert groups.present(["a"])["a"][-1] == {"x": 1, "y": None}


# --- lines of commits -------------------------------------------------------------------------------------------------

VECTOR = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4)
INLINE = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 2)
WHOLE = {
    "path": "x=1/a%20b",
    "partitionValues": {"x": "1", "y": None},
    "size": 10,
    "modificationTime": 20,
    "dataChange": False,
    "stats": '{"numRecords":7,"minValues":{"n":3}}',
    "tags": {"t": "v"},
    "deletionVector": msgspec.to_builtins(VECTOR),
    "baseRowId": 30,
    "defaultRowCommitVersion": 40,
    "clusteringProvider": "liquid",
}


def line(**members: Any) -> AddLine:
    return msgspec.json.decode(json.dumps(members), type=AddLine)


LINES = [line(**WHOLE), line(path="b"), line(path="c", deletionVector=msgspec.to_builtins(INLINE), partitionValues={})]


def test_lines_give_every_column_of_files() -> None:
    found = pa.Table.from_arrays(LineSource(LINES).columns(SCHEMA.names), schema=SCHEMA)
    found.validate(full=True)
    absent = dict.fromkeys(SCHEMA.names) | {"path": "b", "raw_path": "b", "partition_values": [], "data_change": True}
    whole = {
        "path": "x=1/a b",
        "raw_path": "x=1/a%20b",
        "partition_values": [("x", "1"), ("y", None)],
        "size": 10,
        "modification_time": 20,
        "data_change": False,
        "num_records": 7,
        "dv_unique_id": "uab^-aqEH.-t@S}K{vb[*k^@4",
        "dv_storage_type": "u",
        "dv_cardinality": 6,
        "base_row_id": 30,
        "default_row_commit_version": 40,
        "tags": [("t", "v")],
        "dv_path_or_inline": "ab^-aqEH.-t@S}K{vb[*k^",
        "dv_offset": 4,
        "dv_size_in_bytes": 40,
        "stats": WHOLE["stats"],
    }
    inline = {
        "path": "c",
        "raw_path": "c",
        "dv_unique_id": f"i{INLINE.path_or_inline_dv}",
        "dv_storage_type": "i",
        "dv_cardinality": 2,
        "dv_path_or_inline": INLINE.path_or_inline_dv,
        "dv_size_in_bytes": 44,
    }
    assert found.to_pylist() == [whole, absent, absent | inline]
    assert tuple(whole)[:13] == PUBLIC_COLUMNS
    assert vector_descriptors(found) == [VECTOR, None, INLINE]
    named = found.rename_columns([f"old_{name}" for name in SCHEMA.names])
    assert vector_descriptors(named, "old_") == [VECTOR, None, INLINE]


def test_lines_are_asked_for_their_chunks_their_size_and_their_statistics() -> None:
    source = LineSource(LINES)
    assert source.lines is LINES
    assert source.num_rows == 3
    texts = [json.dumps(WHOLE[name]) for name in ("partitionValues", "stats")]
    assert source.num_bytes == len("x=1/a%20bbc{}") + sum(map(len, texts))
    assert [[chunk.to_pylist() for chunk in part] for part in source.chunks(["size", "path"])] == [
        [[10, None, None]],
        [["x=1/a b", "b", "c"]],
    ]
    leaf = StatisticsLeaf(("n",), PrimitiveType("long"))
    [parsed] = source.statistics([leaf])
    assert parsed.num_records.to_pylist() == [7, None, None]
    assert parsed.bounds[leaf].low.to_pylist() == [3, None, None]
    assert list(LineSource([]).statistics([leaf])) == []


def test_files_are_found_by_their_decoded_paths_and_left_out_by_their_places() -> None:
    source = LineSource(LINES)
    assert source.find({"x=1/a b", "c", "gone"}) == [(0, "x=1/a b", VECTOR.unique_id), (2, "c", INLINE.unique_id)]
    assert source.find(["b", "x=1/a%20b"]) == [(1, "b", None)]
    assert source.without([0, 2]).lines == [LINES[1]]
    assert source.without([]).lines == LINES
    assert source.num_rows == 3


def test_files_that_no_version_names_yet_are_listed_as_those_of_a_commit() -> None:
    adds = [Add(path="a%25b", size=3, modification_time=4, partition_values={"p": None}, stats='{"numRecords":2}')]
    found = files_to_come(adds)
    assert found.schema.equals(SCHEMA)
    [row] = found.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "path": "a%b",
        "raw_path": "a%25b",
        "partition_values": [("p", None)],
        "size": 3,
        "modification_time": 4,
        "data_change": True,
        "num_records": 2,
        "stats": '{"numRecords":2}',
    }
    assert files_to_come([]).equals(SCHEMA.empty_table())


@pytest.mark.parametrize(
    ("members", "column", "name", "reason"),
    [
        (
            {"partitionValues": {"x": [1]}},
            "partition_values",
            "partitionValues",
            "Expected `str | null`, got `array` - at",
        ),
        ({"tags": []}, "tags", "tags", "Expected `object | null`, got `array`"),
        ({"stats": {"numRecords": 1}}, "stats", "stats", "Expected `str | null`, got `object`"),
    ],
)
def test_a_member_that_is_not_the_protocol_s_names_the_file(
    members: dict[str, Any], column: str, name: str, reason: str
) -> None:
    source = LineSource([line(path="b"), line(path="a%20b", **members)])
    with pytest.raises(MalformedAction) as broken:
        source.columns([column])
    said = str(broken.value)
    assert said.startswith(f"The {name} of the file a%20b is not valid by the protocol: {reason}")
    assert said.endswith(". Run verify to find the commit with the action, and restore it from a backup.")
    assert broken.value.path == "a%20b"


def test_a_map_of_a_line_is_decoded_or_absent() -> None:
    removed = msgspec.json.decode('{"path":"r","partitionValues":{"p":"1"},"tags":null}', type=RemoveLine)
    assert decode_map(removed.partition_values, removed, "partitionValues") == {"p": "1"}
    assert decode_map(removed.tags, removed, "tags") is None
    assert decode_map(msgspec.Raw(), removed, "tags") is None
    with pytest.raises(MalformedAction, match=r"^The tags of the file r is not valid by the protocol: "):
        decode_map(msgspec.Raw(b"{"), removed, "tags")


# --- lists of files ---------------------------------------------------------------------------------------------------


def files(*parts: Sequence[str]) -> LogicalFiles:
    return LogicalFiles(
        LineSource([line(path=path, size=len(path), deletionVector=None) for path in part]) for part in parts
    )


def test_columns_of_all_sources_come_in_their_chunks_and_in_the_order_asked() -> None:
    found = files(["a", "bb"], [], ["ccc"])
    assert (found.num_rows, len(found.sources)) == (3, 3)
    size = found.select(["size"])
    assert [chunk.to_pylist() for chunk in size.column(0).chunks] == [[1, 2], [3]]
    both = found.select(["path", "size"])
    assert both.schema.equals(pa.schema([("path", pa.string()), ("size", pa.int64())]))
    assert both.column("path").to_pylist() == ["a", "bb", "ccc"]
    assert both.column("size").chunk(0) is not None
    whole = found.column("path")
    assert whole.equals(pa.array(["a", "bb", "ccc"]))
    assert found.select(["path"]).column(0).num_chunks == 1
    assert files(["a"]).column("size").equals(pa.array([1]))
    assert files().column("tags").equals(pa.nulls(0, SCHEMA.field("tags").type))
    assert files().select(["path", "size"]).num_rows == 0


def test_texts_of_all_sources_together_may_have_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    found = files(["a" * 30], ["b" * 30])
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 59)
    assert found.select(["path"]).num_rows == 2
    with pytest.raises(LimitExceeded, match=r"^The texts of 2 rows together have 60 bytes"):
        found.column("path")


def test_rows_are_found_by_their_paths_across_chunks() -> None:
    found = files(["a", "b"], ["c"], ["d", "a"])
    assert found.rows_at(pa.array(["d", "a", "gone"])).tolist() == [0, 3, 4]
    assert found.rows_at(pa.array(["c"])).tolist() == [2]
    assert found.rows_at(pa.array([], pa.string())).dtype == np.int64
    assert files().rows_at(pa.array(["a"])).tolist() == []
    paths = pa.chunked_array([["a", "b"], [], [None, "a"]], pa.string())
    assert rows_among(paths, pa.array(["a", "z"])).tolist() == [0, 3]
    assert rows_among(paths.slice(1), pa.array(["b"])).tolist() == [0]
    assert rows_among(pa.chunked_array([], pa.string()), pa.array(["b"])).tolist() == []


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [1, 3], [4], [4, 0, 2], [3, 1, 3, 0], [1, 0], [0, 2, 1], []])
def test_some_files_are_taken_in_the_order_asked(rows: list[int]) -> None:
    found = files(["a", "bb"], ["ccc"], ["dddd", "eeeee"])
    taken = found.take(np.array(rows, np.int64), ["size", "path"])
    assert taken.schema.equals(pa.schema([("size", pa.int64()), ("path", pa.string())]))
    assert taken.to_pylist() == [{"size": row + 1, "path": "abcde"[row] * (row + 1)} for row in rows]


def test_files_to_be_opened_later_are_opened_once_and_only_when_asked() -> None:
    opened: list[LogicalFiles] = []

    def opening() -> LogicalFiles:
        opened.append(files(["a"], ["b"]))
        return opened[-1]

    later = LaterFiles(2, opening)
    assert (later.num_rows, opened) == (2, [])
    assert later.column("path").to_pylist() == ["a", "b"]
    assert later.column("size").to_pylist() == [1, 1]
    assert (len(opened), later.sources) == (1, opened[0].sources)
    none = LaterFiles(0, opening)
    assert (none.sources, none.select(["path"]).num_rows, len(opened)) == ((), 0, 1)


def test_a_checkpoint_that_was_rewritten_in_place_is_refused() -> None:
    for count in at_least_one((1_999, 1)):
        with pytest.raises(CorruptTable) as refused:
            LaterFiles(count, lambda: files(["a"] * 1_000, ["b"] * 1_000)).select(["path"])
        assert str(refused.value) == (
            f"A checkpoint had {count:,} files and has 2,000 now, though its name, size and time are the same: it was "
            "rewritten in place. Clear the cache of the table with `delta-explorer cache clear`, and read it again."
        )
