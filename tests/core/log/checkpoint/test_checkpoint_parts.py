"""A Parquet file of a checkpoint: which of its rows are files, what is read of them, and when it cannot be used."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.checkpoint import parquet_part
from explorer.core.log.checkpoint.kept_columns import KeptColumns
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics.json_statistics import StatisticsLeaf

MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct({"storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32()})
COUNTS = pa.struct([("numRecords", pa.int64()), ("tightBounds", pa.bool_())])
WHOLE = {"storageType": "u", "pathOrInlineDv": "abc", "offset": 4}
INLINE = {"storageType": "i", "pathOrInlineDv": "xyz", "offset": None}
ADD = pa.struct(
    [("path", pa.string()), ("size", pa.int64()), ("stats", pa.string()), ("deletionVector", VECTOR), ("tags", MAP)]
)
ID = StatisticsLeaf(("id",), PrimitiveType("long"))


def file(path: str, size: int, count: int | None, vector: Any = None) -> dict[str, Any]:
    low = None if count is None else json.dumps({"numRecords": count, "minValues": {"id": -count}})
    return {"path": path, "size": size, "stats": low, "deletionVector": vector, "tags": None}


ROWS = [
    *[None, file("a", 1, 10), file("b", 2, 20, WHOLE)],
    *[None, None, None],
    *[file("c%20d", 3, None), file("a", 4, 40, INLINE), file("e", 5, 50)],
    None,
]
FILES = [row for row in ROWS if row is not None]


def written(rows: Sequence[Any], kind: pa.DataType = ADD, name: str = "add", group: int = 3, **options: Any) -> bytes:
    sink = io.BytesIO()
    other = pa.array([None] * len(rows), pa.struct([("appId", pa.string())]))
    pq.write_table(pa.table({name: pa.array(rows, kind), "txn": other}), sink, row_group_size=group, **options)
    return sink.getvalue()


def rows_of(data: bytes) -> RowGroups:
    return RowGroups(lambda: pa.BufferReader(data))


def opened(data: bytes, kept: bool = False, **more: Any) -> CheckpointPart:
    part = KeptColumns().part("one") if kept else None
    return CheckpointPart(rows_of(data), lambda error: IncompleteCheckpoint(str(error)), cache=part, **more)


def seen(part: CheckpointPart) -> dict[str, list[Any]]:
    names = ["size", "path", "num_records", "raw_path", "dv_unique_id"]
    columns = zip(names, part.chunks(names), strict=True)
    found = {name: [chunk.to_pylist() for chunk in chunks] for name, chunks in columns}
    found["low"] = [parsed.bounds[ID].low.to_pylist() for parsed in part.statistics([ID])]
    found["counts"] = [parsed.num_records.to_pylist() for parsed in part.statistics([ID])]
    return found


def meant(*groups: list[dict[str, Any]]) -> dict[str, list[Any]]:
    counts = [[json.loads(row["stats"])["numRecords"] if row["stats"] else None for row in rows] for rows in groups]
    ids = {"u": "uabc@4", "i": "ixyz"}
    return {
        "size": [[row["size"] for row in rows] for rows in groups],
        "path": [[row["path"].replace("%20", " ") for row in rows] for rows in groups],
        "num_records": counts,
        "raw_path": [[row["path"] for row in rows] for rows in groups],
        "dv_unique_id": [
            [ids[row["deletionVector"]["storageType"]] if row["deletionVector"] else None for row in rows]
            for rows in groups
        ],
        "low": [[None if count is None else -count for count in each] for each in counts],
        "counts": counts,
    }


@pytest.mark.parametrize("kept", [False, True])
def test_a_part_has_the_files_of_all_row_groups_and_no_other_rows(kept: bool) -> None:
    part = opened(written(ROWS), kept)
    assert (part.num_rows, part.num_groups) == (5, 4)
    assert seen(part) == seen(part) == meant(FILES[:2], FILES[2:])
    assert part.find(["a", "c d", "e", "zz"]) == [
        (0, "a", None), (2, "c d", None), (3, "a", "ixyz"), (4, "e", None)
    ]  # fmt: skip
    assert part.find(["b"]) == [(1, "b", "uabc@4")]
    assert part.find([]) == []
    assert [seen(part.at_group(index)) for index in range(4)] == [
        meant(FILES[:2]), meant(), meant(FILES[2:]), meant()
    ]  # fmt: skip
    assert [opened(written(ROWS), kept, groups=chosen).num_rows for chosen in ([0], [1], [2, 0], [])] == [2, 0, 5, 0]
    assert opened(written(ROWS), kept, action="remove").num_rows == 0


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("rows", [ROWS, FILES])
@pytest.mark.parametrize("gone", [[], [0], [4], [3, 1], [0, 1], [0, 1, 2, 3, 4]])
def test_a_part_without_some_files_has_the_others(kept: bool, rows: list[Any], gone: list[int]) -> None:
    part = opened(written(rows), kept)
    places = [[0, 1], [2, 3, 4]] if rows is ROWS else [[0, 1, 2], [3, 4]]
    left = [[place for place in group if place not in gone] for group in places]
    groups = [[FILES[place] for place in group] for group in left if group]
    seen(part)
    less = part.without(gone)
    assert less.num_rows == 5 - len(gone)
    assert seen(less) == meant(*groups)
    assert [row["size"] for batch in less.batches(2) for row in batch.to_pylist()] == [
        row["size"] for group in groups for row in group
    ]
    ids = [identity for group in meant(*groups)["dv_unique_id"] for identity in group]
    names = [path for group in meant(*groups)["path"] for path in group]
    assert less.find(["a", "b", "c d", "e"]) == list(zip(range(len(ids)), names, ids, strict=True))
    if less.num_rows:
        assert seen(less.without([0])) == meant(*[group for group in [groups[0][1:], *groups[1:]] if group])
    assert seen(part) == meant(*[[FILES[place] for place in group] for group in places])


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("rows", [ROWS, FILES])
@pytest.mark.parametrize("gone", [[0], [4], [3, 1], [0, 1], [0, 2, 4], [0, 1, 2, 3, 4]])
def test_where_few_files_are_gone_the_others_are_not_copied(
    kept: bool, rows: list[Any], gone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def flat(part: CheckpointPart) -> dict[str, list[Any]]:
        return {name: [value for chunk in chunks for value in chunk] for name, chunks in seen(part).items()}

    def texts(part: CheckpointPart) -> set[int]:
        return {chunk.buffers()[2].address for chunk in part.chunks(["raw_path"])[0]}

    monkeypatch.setattr(parquet_part, "_IN_A_CHUNK", 0)
    part = opened(written(rows), kept)
    less, left = part.without(gone), [place for place in range(5) if place not in gone]
    assert less.num_rows == len(left)
    assert texts(less) <= texts(part)
    assert flat(less) == {name: [value for group in groups for value in group] for name, groups in meant(
        [FILES[place] for place in left]
    ).items()}  # fmt: skip
    for index, place in enumerate(left):
        assert [row for row, *_ in less.find([FILES[place]["path"].replace("%20", " ")])].count(index) == 1
        assert flat(less.without([index])) == flat(part.without([*gone, place]))


def test_where_many_files_are_gone_the_others_are_in_one_chunk() -> None:
    files = [file(f"{place}", 1, place) for place in range(2048)]
    part = opened(written(files, group=2048))
    for gone, chunks in [([7], 2), ([7, 9, 1000], 4), ([7, 9, 10, 1000], 1)]:
        (paths,) = part.without(gone).chunks(["path"])
        assert len(paths) == chunks
        assert [path for chunk in paths for path in chunk.to_pylist()] == [
            str(place) for place in range(2048) if place not in gone
        ]


@pytest.mark.parametrize(("length", "sizes"), [(1, [1] * 5), (2, [1, 1, 2, 1]), (9, [2, 3])])
def test_rows_come_up_to_so_many_at_a_time(length: int, sizes: list[int]) -> None:
    batches = [batch.to_pylist() for batch in opened(written(ROWS)).batches(length)]
    assert [row for batch in batches for row in batch] == FILES
    assert [len(batch) for batch in batches] == sizes


def test_memory_is_that_of_paths_and_sizes() -> None:
    plain_paths, coded = opened(written([file("ab", 1, 1), file("c", 2, 1)])), opened(written([file("%41", 1, 1)]))
    for part in (plain_paths, coded):
        columns = part.chunks(["path", "raw_path", "size"])
        assert part.num_bytes == sum(chunk.nbytes for chunks in columns for chunk in chunks) > 0


@pytest.mark.parametrize("rows", [5000, 4096])
@pytest.mark.parametrize("group", [700, 10_000])
def test_counts_are_found_in_any_number_of_texts(rows: int, group: int) -> None:
    files = [file(f"{place}", 1, place) if place % 3 else None for place in range(rows)]
    (chunks,) = opened(written(files, group=group)).chunks(["num_records"])
    assert [count for chunk in chunks for count in chunk.to_pylist()] == [n for n in range(rows) if n % 3]


def test_members_that_have_values_are_told_with_their_types() -> None:
    kind = pa.struct([*ADD, ("stats_parsed", COUNTS), ("tag", pa.string())])
    rows = [{**file("a", 1, None), "tag": "x", "stats_parsed": {"numRecords": 1}}, None]
    stated = {"path": pa.string(), "size": pa.int64(), "stats_parsed": COUNTS, "tag": pa.string()}
    assert opened(written(rows, kind)).members_with_values() == stated
    unknown = opened(written(rows, kind, write_statistics=False)).members_with_values()
    assert list(unknown) == [field.name for field in kind]
    assert opened(written(rows, kind), action="remove").members_with_values() == {}
    assert "stats" in opened(written([*FILES, *[None] * 3, file("z", 1, None)], kind)).members_with_values()


@pytest.mark.parametrize("counter", ["nullCount", "nullCounts"])
@pytest.mark.parametrize("kept", [False, True])
def test_statistics_are_those_of_the_struct_and_else_those_of_the_text(kept: bool, counter: str) -> None:
    bounds = pa.struct([("id", pa.int64())])
    members = [(member, bounds) for member in ("minValues", "maxValues", counter)]
    parsed = pa.struct([("numRecords", pa.int64()), *members, ("tightBounds", pa.bool_())])
    kind = pa.struct([*ADD, ("stats_parsed", parsed)])
    stated = {"numRecords": 8, "minValues": {"id": 5}, "maxValues": {"id": 6}, counter: {"id": 2}, "tightBounds": False}
    rows = [
        None,
        {**file("a", 1, 3), "stats_parsed": stated},
        {**file("b", 1, 4), "stats_parsed": None},
        {**file("c", 1, None), "stats_parsed": stated},
    ]
    found = list(opened(written(rows, kind), kept).statistics([ID]))
    assert [each.num_records.to_pylist() for each in found] == [[8, 4], [8]]
    assert [each.bounds[ID].low.to_pylist() for each in found] == [[5, -4], [5]]
    assert [each.bounds[ID].high.to_pylist() for each in found] == [[6, None], [6]]
    assert [each.bounds[ID].nulls.to_pylist() for each in found] == [[2, None], [2]]
    assert [each.tight.to_pylist() for each in found] == [[False, True], [False]]
    (texts,) = opened(written(rows, kind), kept).chunks(["stats"])
    assert [json.loads(text) for chunk in texts for text in chunk.to_pylist()] == [
        {"numRecords": 3, "minValues": {"id": -3}},
        {"numRecords": 4, "minValues": {"id": -4}},
        {("nullCount" if name == counter else name): value for name, value in stated.items()},
    ]


@pytest.mark.parametrize("rows", [[{"path": "a"}, {"path": "b"}], [None, {"path": "a"}, {"path": "b"}, None]])
def test_a_file_without_statistics_and_sizes_has_files_whose_counts_are_not_known(rows: list[Any]) -> None:
    part = opened(written(rows, pa.struct([("path", pa.string())])))
    names = ["path", "size", "num_records", "stats", "dv_unique_id", "modification_time"]
    columns = [[value for chunk in chunks for value in chunk.to_pylist()] for chunks in part.chunks(names)]
    assert columns == [["a", "b"], *[[None, None]] * 5]
    assert [parsed.num_records.to_pylist() for parsed in part.statistics([ID])] == [[None, None]]
    assert part.find(["b"]) == [(1, "b", None)]


@pytest.mark.parametrize("name", ["stats", "num_records"])
def test_texts_that_are_no_texts_are_refused(name: str) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    row = pa.StructArray.from_arrays([pa.array(["a"]), broken], names=["path", "stats"])
    sink = io.BytesIO()
    pq.write_table(pa.table({"add": row}), sink)
    with pytest.raises(IncompleteCheckpoint, match="Invalid UTF8 sequence") as refused:
        opened(sink.getvalue()).chunks([name])
    assert isinstance(refused.value.__cause__, pa.ArrowInvalid)


NO_PATH = pa.struct([("size", pa.int64())])


@pytest.mark.parametrize(
    ("data", "action", "said"),
    [
        (written([{"size": 1}], NO_PATH), "add", "its add has no path"),
        (written([{"size": 1}], NO_PATH, "remove"), "remove", "its remove has no path"),
        (written([file("a", 1, 1), {"size": 2}]), "add", "files of it lack their paths"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_reason(data: bytes, action: Any, said: str) -> None:
    with pytest.raises(IncompleteCheckpoint) as refused:
        opened(data, action=action)
    assert str(refused.value) == said


def test_small_actions_are_objects() -> None:
    found = rows_of(written([file("a", 1, None), None])).present(["add", "txn", "gone"])
    assert found == {"add": [file("a", 1, None)], "txn": []}


TXN = pa.struct([("appId", pa.string()), ("version", pa.int64())])
DOMAIN = pa.struct([("domain", pa.string()), ("removed", pa.bool_())])


def transaction(name: str | None) -> dict[str, Any]:
    return {"appId": name, "version": None if name is None else 1}


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(
    ("transactions", "domains"),
    [
        ({}, {}),
        ({0: "x"}, {2: "d"}),
        ({0: "x", 63: "y"}, {}),
        ({63: "x", 64: "y"}, {}),
        ({0: "x"}, {64: "d"}),
        ({64: "x"}, {0: "d"}),
        ({4_095: "x"}, {4_096: "d", 4_097: "e"}),
        ({0: "x", 39_999: "y"}, {20_000: "d"}),
        ({place: f"x{place}" for place in range(0, 40_000, 13)}, {39_998: "d"}),
        # Members that are all null, which a footer counts as no value: the row is one of the column nevertheless.
        ({0: None, 1: "x"}, {2: None, 70: "d"}),
        ({0: None, 1: "x"}, {2: None, 5_000: "d"}),
    ],
)
@pytest.mark.parametrize("group", [40_000, 33_000])
def test_small_actions_are_found_wherever_they_stand_in_large_row_groups(
    transactions: dict[int, str | None], domains: dict[int, str | None], group: int, counted: bool
) -> None:
    rows = range(40_000)
    lines = {place: transaction(name) for place, name in transactions.items()}
    others = {place: {"domain": name, "removed": None} for place, name in domains.items()}
    sink = io.BytesIO()
    columns = {"txn": pa.array(map(lines.get, rows), TXN), "domainMetadata": pa.array(map(others.get, rows), DOMAIN)}
    pq.write_table(pa.table(columns), sink, row_group_size=group, write_statistics=counted)
    found = rows_of(sink.getvalue()).present(["txn", "domainMetadata", "gone"])
    assert found == {
        "txn": [lines[place] for place in sorted(lines)],
        "domainMetadata": [others[place] for place in sorted(others)],
    }
