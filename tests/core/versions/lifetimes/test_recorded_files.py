"""Files that commits added, kept as columns, say what their lines said, whichever of them are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from explorer.core.errors import MalformedAction, VersionNotFound
from explorer.core.protocol.actions import DeletionVectorDescriptor, DeletionVectorId
from explorer.core.protocol.logical_files import SCHEMA
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes
from explorer.core.versions.lifetimes.file_columns import FileCodes, columns_of_lines
from explorer.core.versions.lifetimes.lifetimes import COLUMNS, NEVER, Lifetimes
from explorer.core.versions.lifetimes.recorded_files import RecordedFiles, RecordedFilesBuilder
from explorer.core.versions.lifetimes.text_codes import TextCodes
from tests.support.logs.checkpoint_shapes import begun_late
from tests.support.logs.small_logs import MASKED, METADATA, add, remove

FIRST, SECOND = (DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*", 34, 2, offset) for offset in (1, 40))
INLINE = DeletionVectorDescriptor("i", "0rJua", 40, 6)


def line(path: str, **members: Any) -> AddLine:
    return msgspec.json.decode(msgspec.json.encode({"path": path, **members}), type=AddLine)


LINES = [
    line("p=x/a%20b", partitionValues={"p": "x"}, size=10, modificationTime=5, stats='{"numRecords":3}'),
    line("p=x/a b", partitionValues={"p": "x"}, dataChange=False, deletionVector=FIRST, stats='{"numRecords":0}'),
    line("c", partitionValues={"p": None}, dataChange=True, deletionVector=INLINE, baseRowId=0, size=0),
    line("d", partitionValues=None, defaultRowCommitVersion=4, deletionVector=SECOND, modificationTime=-1),
    line("e"),
]
SAID: dict[str, list[Any]] = {
    "path": ["p=x/a b", "p=x/a b", "c", "d", "e"],
    "raw_path": ["p=x/a%20b", "p=x/a b", "c", "d", "e"],
    "partition_values": [[("p", "x")], [("p", "x")], [("p", None)], [], []],
    "size": [10, None, 0, None, None],
    "modification_time": [5, None, None, -1, None],
    "data_change": [True, False, True, True, True],
    "num_records": [3, 0, None, None, None],
    "dv_unique_id": [None, "uab^-aqEH.-t@S}K{vb[*@1", "i0rJua", "uab^-aqEH.-t@S}K{vb[*@40", None],
    "dv_storage_type": [None, "u", "i", "u", None],
    "dv_cardinality": [None, 2, 6, 2, None],
    "base_row_id": [None, None, 0, None, None],
    "default_row_commit_version": [None, None, None, 4, None],
    "dv_path_or_inline": [None, "ab^-aqEH.-t@S}K{vb[*", "0rJua", "ab^-aqEH.-t@S}K{vb[*", None],
    "dv_offset": [None, 1, None, 40, None],
    "dv_size_in_bytes": [None, 34, 40, 34, None],
}


def new_codes() -> FileCodes:
    return FileCodes(PathCodes(), TextCodes(), VectorCodes())


def take(builder: RecordedFilesBuilder, lines: Sequence[AddLine]) -> None:
    builder.take(columns_of_lines(lines, builder.codes))


def taken(*groups: Sequence[AddLine]) -> RecordedFilesBuilder:
    found = RecordedFilesBuilder(new_codes())
    for group in groups:
        take(found, group)
    return found


def told(files: RecordedFiles, rows: list[int] | None = None) -> dict[str, list[Any]]:
    places = None if rows is None else np.array(rows, np.int64)
    columns = {name: files.column(name, places) for name in COLUMNS}
    assert {name: column.type for name, column in columns.items()} == {n: SCHEMA.field(n).type for n in COLUMNS}
    return {name: column.to_pylist() for name, column in columns.items()}


def said(rows: list[int]) -> dict[str, list[Any]]:
    return {name: [values[row] for row in rows] for name, values in SAID.items()}


ALL = np.ones(len(LINES), bool)


@pytest.mark.parametrize("groups", [[LINES], [[each] for each in LINES], [LINES[:2], [], LINES[2:]]])
def test_columns_are_what_the_lines_say(groups: list[list[AddLine]]) -> None:
    builder = taken(*groups)
    files = builder.build(ALL, last=False)
    assert told(files) == SAID
    assert told(files, [3, 0, 3, 2]) == said([3, 0, 3, 2])
    assert told(files, []) == said([])
    kept = np.array([True, False, True, True, False])
    assert told(builder.build(kept, last=False)) == said([0, 2, 3])
    assert told(builder.build(kept, last=False), [2, 1]) == said([3, 2])
    assert told(builder.build(ALL, last=True)) == SAID
    assert told(builder.build(np.zeros(0, bool), last=False)) == said([])
    codes = (files.data_change, files.path_codes, files.vector_codes)
    assert [column.dtype for column in codes] == [np.bool_, np.int32, np.int64]
    assert [codes[0].tolist(), codes[1][:2].tolist()] == [SAID["data_change"], [codes[1][0]] * 2]
    assert len({*codes[1].tolist()}) == 4
    assert (codes[2] == 0).tolist() == [True, False, False, False, True]


@pytest.mark.parametrize("last", [True, False])
def test_what_is_taken_after_the_columns_were_built_comes_after_them(last: bool) -> None:
    builder = taken(LINES[:2])
    assert told(builder.build(np.ones(2, bool), last=last)) == said([0, 1])
    rows = [2, 4] if last else [0, 1, 2, 4]
    take(builder, [LINES[2], LINES[4]])
    assert told(builder.build(np.ones(len(rows), bool), last=last)) == said(rows)


def test_a_copy_goes_on_apart_with_numbers_of_its_own() -> None:
    codes = new_codes()
    builder = RecordedFilesBuilder(codes)
    take(builder, LINES[:2])
    copy = builder.copy(codes.copy())
    take(builder, LINES[2:3])
    take(copy, LINES[3:])
    assert told(builder.build(np.ones(3, bool), last=False)) == said([0, 1, 2])
    assert told(copy.build(np.ones(4, bool), last=False)) == said([0, 1, 3, 4])


KEPT = ["path", "raw_path", "partition", "vector", "data_change", "num_records", "size", "modification_time"]
KEPT += ["base_row_id", "default_row_commit_version", "dv_cardinality", "dv_size_in_bytes"]


@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [4], [0, 4], []])
def test_what_was_kept_goes_on_as_before(rows: list[int]) -> None:
    codes = new_codes()
    builder = RecordedFilesBuilder(codes)
    take(builder, [LINES[row] for row in rows])
    kept = builder.table()
    assert kept.column_names == KEPT
    known = {name for name in KEPT[5:] if any(SAID[name][row] is not None for row in rows)}
    assert {name for name in KEPT if not pa.types.is_null(kept.schema.field(name).type)} == {*KEPT[:5], *known}
    texts = PathCodes(codes.paths.column()), TextCodes(codes.partitions.column())
    again = RecordedFilesBuilder.again(kept, FileCodes(*texts, VectorCodes(codes.vectors.listed())))
    take(again, [LINES[1], LINES[4]])
    files = again.build(np.ones(len(rows) + 2, bool), last=False)
    assert told(files) == said([*rows, 1, 4])
    assert told(builder.build(np.ones(len(rows), bool), last=False)) == said(rows)


def test_of_no_file_at_all_every_column_is_kept() -> None:
    kept = taken().table()
    assert (kept.num_rows, kept.column_names) == (0, KEPT)


def test_partition_values_that_are_none_are_refused_by_the_first_file_that_has_them() -> None:
    bad = {"p": [7]}
    builder = taken([LINES[0], line("x%20y", partitionValues=bad), line("z", partitionValues=bad)])
    files = builder.build(np.ones(3, bool), last=False)
    assert files.column("partition_values", np.array([0])).to_pylist() == SAID["partition_values"][:1]
    for rows in (None, np.array([2])):
        with pytest.raises(MalformedAction) as refused:
            files.column("partition_values", rows)
        assert str(refused.value) == (
            "The partitionValues of the file x%20y is not valid by the protocol: Expected `str | null`, got `array` "
            "- at `$[...]`. Run verify to find the commit with the action, and restore it from a backup."
        )
        assert refused.value.path == "x%20y"


CREATED: list[Any] = [MASKED, METADATA]
LIVE = [add("a", 9, vector=FIRST, size=1, data_change=False), add("b", None, size=2), add("c", 4, size=3)]


def life_of() -> Lifetimes:
    """Files a, b and c of a checkpoint of version 1; then a is masked again, d comes, b is replaced and c goes."""
    commits: dict[int, list[Any]] = {
        0: [*CREATED, *LIVE],
        1: [],
        2: [remove("a", vector=FIRST), add("a", 9, vector=SECOND, size=1), add("d", 8, vector=INLINE, size=4)],
        3: [add("b", 5, size=5, data_change=False), remove("c")],
    }
    return begun_late(commits, 1, [*CREATED, *LIVE]).history_record().lifetimes


def test_instances_are_told_in_any_order_those_of_the_checkpoint_and_of_commits() -> None:
    life = life_of()
    assert (life.base_rows, life.first, life.readable_from, life.last, life.contradictions) == (3, 1, 1, 3, ())
    assert [life.added.tolist(), life.removed.tolist()] == [[0, 0, 0, 2, 2, 3], [2, 3, 3, NEVER, NEVER, NEVER]]
    assert life.previous.tolist() == [-1, -1, -1, 0, -1, 1]
    names, sizes = ["a", "b", "c", "a", "d", "b"], [1, 2, 3, 1, 4, 5]
    for rows in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0], [0, 3], [4, 1, 5, 0], [2], [4], [], [3, 1, 1, 4]):
        found = life.take(np.array(rows, np.int64), ["size", "path"])
        assert found.schema == pa.schema([SCHEMA.field("size"), SCHEMA.field("path")])
        assert found.to_pydict() == {"size": [sizes[row] for row in rows], "path": [names[row] for row in rows]}
        assert {column.num_chunks for column in found.columns} <= {0, 1}
    assert tuple(SAID) == COLUMNS
    assert life.take(np.array([0])).schema == pa.schema([SCHEMA.field(name) for name in COLUMNS])
    assert [life.files_at(v).column("path").to_pylist() for v in (1, 2, 3)] == [[*"abc"], [*"bcad"], [*"adb"]]


def test_sums_and_vectors_of_instances_are_those_of_their_files() -> None:
    life = life_of()
    assert [each.tolist() for each in life.rows] == [[7, 0, 4, 7, 2, 5], [True, False, True, True, True, True]]
    assert [each.tolist() for each in life.sizes] == [[1, 2, 3, 1, 4, 5], [True] * 6]
    assert (life.masked.tolist(), life.remasked.tolist()) == ([2, 0, 0, 2, 6, 0], [3])
    assert life.with_vector.tolist() == [True, False, False, True, True, False]
    assert life.data_change.tolist() == [True, True, True, True, True, False]
    files, ids = life.vector_files
    assert (files.tolist(), str(files.dtype), ids) == (
        [0, -1, -1, 0, -1, -1],
        "int32",
        (DeletionVectorId("u", FIRST.path_or_inline_dv),),
    )
    some, others = np.array([0, 1, 0]), np.array([3, 5, 1])
    assert life.vectors_differ(some, others).tolist() == [True, False, True]
    places = life.same_path(np.array([1, 3]), np.array([0, 5, 4, 3, 1]))
    assert (places.tolist(), str(places.dtype)) == ([1, 0, -1, 1, 0], "int32")


def test_a_version_that_is_not_readable_is_told_with_the_nearest() -> None:
    for version, nearest in ((0, 1), (4, 3)):
        with pytest.raises(VersionNotFound) as refused:
            life_of().live(version)
        assert str(refused.value) == (
            f"Version {version} is not among the versions 1 to 3 that the history has. The nearest is {nearest}."
        )
        facts = refused.value
        assert (facts.version, facts.earliest, facts.latest, facts.nearest) == (version, 1, 3, nearest)


def test_lifetimes_that_were_kept_say_the_same() -> None:
    life = life_of()
    stays = life.table()
    assert stays.column_names == [
        *("added", "removed", "previous", "removed_data_change", "deletion_times", "path_ids", "vectors"),
    ]
    told_of = ((2, "added twice", "a"),)
    again = Lifetimes.again(stays, life._base, lambda: life.described, versions=(1, 1, 3), contradictions=told_of)

    def columns(of: Lifetimes) -> list[tuple[list[Any], np.dtype[Any]]]:
        each: list[npt.NDArray[Any]] = [of.added, of.removed, of.previous, of.removed_data_change, of.deletion_times]
        each += [of.path_ids, of.remasked, of.live(2), of.vectors_differ(np.array([0]), np.array([3]))]
        return [(column.tolist(), column.dtype) for column in each]

    assert columns(again) == columns(life)
    assert (again.contradictions, again.first, again.readable_from, again.last) == (told_of, 1, 1, 3)
    assert again.take(np.arange(6)) == life.take(np.arange(6))
