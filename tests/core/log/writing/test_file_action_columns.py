"""Columns of file actions in checkpoints of our own: what is carried there, in which types, and typed statistics."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from explorer.core.errors import CorruptTable, MalformedAction
from explorer.core.log.log_path import checkpoint_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.table_state import TableState
from explorer.core.log.writing.file_action_columns import CheckpointFileColumns
from explorer.core.log.writing.parsed_columns import typed_columns
from explorer.core.log.writing.writer_state import CarriedActions, _max_rows, carry_actions
from explorer.core.protocol.actions import (
    Add,
    DeletionVectorDescriptor,
    Protocol,
    Remove,
)
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.raw_actions import AddLine, FullAddLine, FullRemoveLine, RemoveLine
from explorer.core.protocol.schema.data_types import PrimitiveType
from explorer.core.protocol.statistics.json_statistics import StatisticsLeaf
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, new_store, remove, vector, write
from tests.support.logs.small_schemas import array, field, mapped, struct
from tests.support.logs.written_checkpoints import log_of, metadata_with

LEAST, MOST = -(1 << 63), (1 << 63) - 1
MAP = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    {"storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32(), "sizeInBytes": pa.int32(),
     "cardinality": pa.int64(), "maxRowIndex": pa.int64()}
)  # fmt: skip
IDS = {"baseRowId": pa.int64(), "defaultRowCommitVersion": pa.int64()}
ADD = {
    "path": pa.string(), "partitionValues": MAP, "size": pa.int64(), "modificationTime": pa.int64(),
    "dataChange": pa.bool_(), "tags": MAP, "deletionVector": VECTOR, **IDS, "clusteringProvider": pa.string(),
    "stats": pa.string(),
}  # fmt: skip
REMOVE = {
    "path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_(), "extendedFileMetadata": pa.bool_(),
    "partitionValues": MAP, "size": pa.int64(), "deletionVector": VECTOR, **IDS,
}  # fmt: skip
MASK = DeletionVectorDescriptor("u", "abc", 40, 6, 4, 9)
MASK_ROW = {
    "storageType": "u", "pathOrInlineDv": "abc", "offset": 4, "sizeInBytes": 40, "cardinality": 6, "maxRowIndex": 9
}  # fmt: skip
ADDED = Add(
    path="a%20b", partition_values={"p": None}, size=7, modification_time=8, stats='{"numRecords":1}', tags={"t": "1"},
    deletion_vector=MASK, base_row_id=2, default_row_commit_version=3, clustering_provider="liquid",
)  # fmt: skip
ADDED_ROW = {
    "path": "a%20b", "partitionValues": [("p", None)], "size": 7, "modificationTime": 8, "dataChange": False,
    "tags": [("t", "1")], "deletionVector": MASK_ROW, "baseRowId": 2, "defaultRowCommitVersion": 3,
    "clusteringProvider": "liquid", "stats": '{"numRecords":1}',
}  # fmt: skip
GONE = Remove(
    path="g%20h", deletion_timestamp=50, extended_file_metadata=True, partition_values={"p": "1"}, size=9,
    stats='{"numRecords":1}', tags={"t": "1"}, deletion_vector=MASK, base_row_id=4, default_row_commit_version=5,
)  # fmt: skip
GONE_ROW = {
    "path": "g%20h", "deletionTimestamp": 50, "dataChange": False, "extendedFileMetadata": True,
    "partitionValues": [("p", "1")], "size": 9, "deletionVector": MASK_ROW, "baseRowId": 4,
    "defaultRowCommitVersion": 5,
}  # fmt: skip
BARE = {"partitionValues": [], "size": 100, "modificationTime": 1, "dataChange": False, "stats": '{"numRecords":1}'}


def carried(store: LogStore) -> CarriedActions:
    return carry_actions(store, list_log(store).segment())


def of_parquet(rows: list[dict[str, Any]], **types: pa.DataType) -> LogStore:
    """A log that is one checkpoint with these rows of files, and nothing else that is not needed."""
    store = new_store()
    write_checkpoint(store, 0, [MASKED, METADATA], "classic")
    old = pq.read_table(io.BytesIO(store.read(checkpoint_name(0))))
    new = {name: pa.array([row.get(name) for row in rows], kind) for name, kind in types.items()}
    sink = io.BytesIO()
    pq.write_table(pa.concat_tables([old, pa.table(new)], promote_options="default"), sink)
    store.put(checkpoint_name(0), sink.getvalue())
    return store


def test_file_actions_of_commits_are_rows_with_all_that_they_say() -> None:
    store = log_of((MASKED, METADATA, ADDED, add("c"), remove("x")), (GONE,))
    found = carried(store)
    columns = CheckpointFileColumns(found)
    assert columns.add_type == pa.struct(ADD)
    assert columns.remove_type == pa.struct(REMOVE)
    [adds] = [columns.adds(chunk) for chunk in found.adds(9)]
    assert adds.to_pylist() == [ADDED_ROW, dict.fromkeys(ADD) | BARE | {"path": "c"}]
    [removes] = [columns.removes(chunk, 1) for chunk in found.removes(9)]
    small = dict.fromkeys(REMOVE) | {"path": "x", "deletionTimestamp": 2, "dataChange": False}
    assert removes.to_pylist() == [small, GONE_ROW]
    assert [columns.removes(chunk, 49).to_pylist() for chunk in found.removes(9)] == [[GONE_ROW]]
    assert [columns.removes(chunk, 50).to_pylist() for chunk in found.removes(9)] == [[]]


def test_file_actions_of_a_checkpoint_are_taken_over_without_what_removes_do_not_carry() -> None:
    add_kind = pa.struct({**ADD, "size": pa.int32(), "new": pa.list_(pa.int64()), "empty": pa.string()})
    remove_kind = pa.struct({**REMOVE, "stats": pa.string(), "tags": MAP, "why": pa.string()})
    nothing = dict.fromkeys(MASK_ROW)
    rows: list[dict[str, Any]] = [
        {"add": {**ADDED_ROW, "dataChange": True, "new": [1]}},
        {"add": {"path": "c", "deletionVector": nothing}},
        {"remove": {**GONE_ROW, "stats": "{}", "tags": [("t", "1")], "why": "w"}},
    ]
    found = carried(of_parquet(rows, add=add_kind, remove=remove_kind))
    columns = CheckpointFileColumns(found)
    assert columns.add_type == pa.struct({**ADD, "new": pa.list_(pa.int64())})
    assert columns.remove_type == pa.struct({**REMOVE, "why": pa.string()})
    adds = [row for chunk in found.adds(9) for row in columns.adds(chunk).to_pylist()]
    missing = {**dict.fromkeys([*ADD, "new"]), "path": "c", "dataChange": False}
    assert adds == [{**ADDED_ROW, "new": [1]}, missing]
    removes = [row for chunk in found.removes(9) for row in columns.removes(chunk, 0).to_pylist()]
    assert removes == [{**GONE_ROW, "why": "w"}]


def test_an_unknown_field_has_one_type_in_the_checkpoint_and_in_the_commits() -> None:
    kind = pa.struct({"path": pa.string(), "same": pa.string(), "two": pa.string()})
    store = of_parquet([{"add": {"path": "a", "same": "x", "two": "y"}}], add=kind)
    more: dict[str, Any] = {"same": "z", "two": 2, "list": [1], "mine": False}
    other = {"mine": "of a remove"}
    write(store, {1: [Add(path="b", size=1, modification_time=1, unknown=more), remove("c", unknown=other)]})
    found = carried(store)
    columns = CheckpointFileColumns(found)
    assert columns.add_type == pa.struct({**ADD, "same": pa.string(), "mine": pa.bool_()})
    assert columns.remove_type == pa.struct({**REMOVE, "mine": pa.string()})
    rows = [row for chunk in found.adds(9) for row in columns.adds(chunk).to_pylist()]
    assert [(row["path"], row["same"], row["mine"]) for row in rows] == [("a", "x", None), ("b", "z", False)]


@pytest.mark.parametrize(
    ("time", "stored"),
    [(MOST, [MOST]), (MOST + 1, [None]), (None, [None]), (0, [0]), (-5, []), (LEAST, []), (LEAST - 1, [None])],
)
def test_a_time_that_no_column_holds_counts_as_missing(time: int | None, stored: list[int | None]) -> None:
    found = carried(log_of((PROTOCOL, METADATA, remove("g", deletion_timestamp=time))))  # type: ignore[arg-type]
    [rows] = [CheckpointFileColumns(found).removes(chunk, -5) for chunk in found.removes(9)]
    assert [row["deletionTimestamp"] for row in rows.to_pylist()] == stored


def test_partition_values_of_a_remove_that_are_none_name_the_file() -> None:
    found = carried(log_of((PROTOCOL, METADATA), (b'{"remove":{"path":"g","partitionValues":[1]}}',)))
    [chunk] = found.removes(9)
    with pytest.raises(
        MalformedAction, match=r"^The partitionValues of the file g is not valid by the protocol: "
    ) as refused:
        CheckpointFileColumns(found).removes(chunk, 0)
    assert refused.value.path == "g"


# --- what a writer carries on -----------------------------------------------------------------------------------------


def test_a_line_keeps_what_is_not_known_and_nothing_else() -> None:
    odd = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True, "tags": {"t": "1"}}
    new = {"levels": [1, {"x": None}], "long": 10**30, "none": None}
    gone = {"path": "g", "dataChange": True, "why": {"w": 1.5}, "gone": None}
    store = log_of(
        (MASKED, METADATA, b"", b"", json.dumps({"add": odd | new}).encode(), add("b")),
        (json.dumps({"remove": gone}).encode(), remove("h")),
    )
    lines = list(carried(store).lines())
    assert [(name, line.path, type(line)) for name, line in lines] == [
        ("add", "a", FullAddLine), ("add", "b", AddLine), ("remove", "g", FullRemoveLine), ("remove", "h", RemoveLine)
    ]  # fmt: skip
    (_, whole), _, (_, removed), _ = lines
    assert isinstance(whole, FullAddLine)
    assert whole.unknown == {"levels": [1, {"x": None}], "long": 10**30}
    assert (whole.size, bytes(whole.tags)) == (1, b'{"t": "1"}')
    assert isinstance(removed, FullRemoveLine)
    assert removed.unknown == {"why": {"w": 1.5}}


@pytest.mark.parametrize("by_checkpoint", [False, True])
def test_what_files_say_beyond_their_columns_is_told_by_path_and_vector(by_checkpoint: bool) -> None:
    fields = {"clusteringProvider": "liquid", "new": {"k": "v"}}
    rows = [{**ADDED_ROW, "new": [("k", "v")]}, {"path": "c%20"}, {"path": "d", "deletionVector": MASK_ROW}]
    if by_checkpoint:
        store = of_parquet([{"add": row} for row in rows], add=pa.struct({**ADD, "new": MAP}))
    else:
        odd = {"add": ADDED.to_wire() | {"new": {"k": "v"}}}
        store = log_of((MASKED, METADATA, odd, add("c%20"), add("d", vector=MASK)))  # type: ignore[arg-type]
    greatest = {"deletionVector": {"maxRowIndex": 9}}
    assert carried(store).unknown_adds() == {("a b", "uabc@4"): fields | greatest, ("d", "uabc@4"): greatest}


def test_what_is_not_known_is_told_of_files_that_never_have_vectors() -> None:
    kind = pa.struct({"path": pa.string(), "new": pa.string()})
    rows = [{"add": {"path": "a", "new": "x"}}, {"add": {"path": "b"}}]
    assert carried(of_parquet(rows, add=kind)).unknown_adds() == {("a", None): {"new": "x"}}


def test_tombstones_of_a_checkpoint_stay_until_they_are_replaced_or_taken_back() -> None:
    store = new_store()
    masked = remove("m", vector=vector("v"))
    gone = [remove("kept"), masked, remove("back"), remove("again"), remove("m")]
    write_checkpoint(store, 0, [PROTOCOL, METADATA, add("live"), *gone], "classic")
    write(store, {1: [add("back"), remove("again", deletion_timestamp=9)], 2: [add("m", vector=vector("v"))]})
    found = carried(store)
    assert [(name, each.num_rows) for name, each in found.parts()] == [("add", 1), ("remove", 2)]
    chunks = [chunk for chunk in found.removes(9) if isinstance(chunk, pa.StructArray)]
    left = [(row["path"], row["deletionVector"]) for chunk in chunks for row in chunk.to_pylist()]
    assert left == [("kept", None), ("m", None)]
    assert [(name, line.path) for name, line in found.lines()] == [("add", "back"), ("add", "m"), ("remove", "again")]
    sizes = [len(chunk) for chunk in (*found.adds(1), *found.removes(1))]
    assert sizes == [1] * 6
    assert [len(chunk) for chunk in found.adds(2)] == [1, 2]
    assert found.version == 2


# --- typed columns ----------------------------------------------------------------------------------------------------


def state(*fields: dict[str, Any], partition_columns: tuple[str, ...] = (), mode: str | None = None) -> TableState:
    kind = struct(*fields) if mode is None else mapped(struct(*fields))
    properties = {} if mode is None else {"delta.columnMapping.mode": mode}
    meta = metadata_with(properties, schema_string=json.dumps(kind), partition_columns=partition_columns)
    rules = Protocol(min_reader_version=2, min_writer_version=5)
    return TableState(rules, meta, {}, {})


FIELDS = (
    field("n", "long"), field("s", struct(field("x", "string"), field("l", array("long")))), field("yes", "boolean"),
    field("v", "void"), field("raw", "binary"), field("p", "date"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "names"),
    [(None, ("n", "s", "x", "l", "yes", "v", "raw", "p")),
     ("name", ("col-1", "col-2", "col-3", "col-4", "col-5", "col-6", "col-7", "col-8"))],
)  # fmt: skip
def test_statistics_and_partition_values_have_the_physical_names_of_their_columns(
    mode: str | None, names: tuple[str, ...]
) -> None:
    n, s, x, lists, yes, nothing, raw, p = names
    found = typed_columns(state(*FIELDS, partition_columns=("p",), mode=mode))
    kinds = {(n,): "long", (s, x): "string", (s, lists): "binary", (yes,): "boolean", (nothing,): "binary"}
    assert found.leaves == tuple(
        StatisticsLeaf(path, PrimitiveType(kind)) for path, kind in {**kinds, (raw,): "binary"}.items()
    )
    assert found.partitions == ((p, PrimitiveType("date"), "p"),)
    assert found.partition_type() == pa.struct([(p, pa.date32())])
    bounds = pa.struct([(n, pa.int64()), (s, pa.struct([(x, pa.string())]))])
    nested = pa.struct([(x, pa.int64()), (lists, pa.int64())])
    counts = pa.struct([(n, pa.int64()), (s, nested), *((each, pa.int64()) for each in (yes, nothing, raw))])
    assert found.statistics_type() == pa.struct(
        {"numRecords": pa.int64(), "minValues": bounds, "maxValues": bounds, "nullCount": counts,
         "tightBounds": pa.bool_()}
    )  # fmt: skip


def test_a_table_of_partition_columns_alone_has_counts_alone() -> None:
    found = typed_columns(state(field("p", "date"), partition_columns=("p",)))
    assert found.statistics_type() == pa.struct({"numRecords": pa.int64(), "tightBounds": pa.bool_()})
    texts = pa.array(['{"numRecords":1}', None, "{", '{"tightBounds":false}'])
    meant = [{"numRecords": 1, "tightBounds": True}, None, None, {"numRecords": None, "tightBounds": False}]
    assert found.statistics(texts, None).to_pylist() == meant


def test_statistics_are_those_of_the_struct_where_it_has_counts() -> None:
    found = typed_columns(state(field("n", "long")))
    texts = pa.array(['{"numRecords":1,"minValues":{"n":5}}'] * 3)
    parsed = pa.array([{"numRecords": 8, "minValues": {"n": 7}}, {"numRecords": None}, None])
    assert [row["numRecords"] for row in found.statistics(texts, parsed).to_pylist()] == [8, 1, 1]
    assert [row["minValues"] for row in found.statistics(texts, parsed).to_pylist()] == [{"n": 7}, {"n": 5}, {"n": 5}]
    nothing = pa.nulls(3, parsed.type)
    assert [row["numRecords"] for row in found.statistics(texts, nothing).to_pylist()] == [1, 1, 1]


@pytest.mark.parametrize("name", ["gone", "s"])
def test_a_partition_column_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(CorruptTable) as refused:
        typed_columns(state(*FIELDS, partition_columns=("p", name)))
    assert refused.value.column == name
    assert str(refused.value) == f"The partition column {name!r} is not a column of a simple type in the schema."


def test_the_greatest_hidden_rows_are_read_wherever_their_field_stands() -> None:
    rows, kinds = pa.array([4, None], pa.int64()), pa.array(["u", "u"])
    for names in (("maxRowIndex", "storageType"), ("storageType", "maxRowIndex")):
        columns = [rows if name == "maxRowIndex" else kinds for name in names]
        assert _max_rows(pa.StructArray.from_arrays(columns, names), 2) == [4, None]
    assert _max_rows(pa.StructArray.from_arrays([kinds], ["storageType"]), 2) == [None, None]
    assert _max_rows(None, 2) == [None, None]
