"""One version of a table: what is in force, which files it has, what these hold, and what of it cannot be read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import CorruptDeletionVector, CorruptTable, RequestError, UnsupportedFeature
from explorer.core.log.table_state import TableState
from explorer.core.protocol.actions import (
    Add,
    DeletionVectorDescriptor,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    TransactionAction,
)
from explorer.core.protocol.deletion_vectors import encode_vectors
from explorer.core.protocol.logical_files import PUBLIC_COLUMNS, SCHEMA, LineSource, LogicalFiles
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.statistics.clustering_estimate import ClusteringEstimate, Overlap
from tests.support.logs import small_logs
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add
from tests.support.logs.small_schemas import MAPPED, NAME, field, mapped, struct

IDENTITY = uuid.UUID(int=7)
STORED, [FIRST, SECOND] = encode_vectors(IDENTITY, [np.array([1, 4], np.uint64), np.array([0], np.uint64)])
# The example of the protocol, which masks the rows 3, 4, 7, 11, 18 and 29.
INLINE = DeletionVectorDescriptor("i", "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44, 6)
COLUMNS = struct(field("id", "long"), field("Name", "string"), field("s", struct(field("x"))), field("p", "string"))


def meta(schema: Any = COLUMNS, properties: dict[str, str] | None = None, **more: Any) -> Metadata:
    found = {"id": "t", "schema_string": json.dumps(schema), "configuration": properties or {}, **more}
    return Metadata(**found)


def file(path: str, records: int | None, low: int, high: int, p: str | None = "a", **more: Any) -> Add:
    bounds = None if records is None else {"id": (low, high)}
    return add(path, records, bounds=bounds, partition_values={"p": p}, **more)


FILES = [
    file("p=a/1", 5, 1, 5, vector=FIRST, size=10),
    file("p=a/2%202", 9, 4, 9, vector=SECOND, size=20),
    file("p=b/3", 30, 20, 30, "b", vector=INLINE, size=30),
    file("p=b/4", 3, 25, 26, "b", size=40, tags={"k": "v"}, base_row_id=3, default_row_commit_version=1),
]
PARTED = meta(partition_columns=("p",), properties={"some.thing": "1"})


def state_of(*actions: Any, rules: Protocol = MASKED, metadata: Metadata = PARTED) -> explorer.Snapshot:
    return small_logs.table({0: [rules, metadata, *actions]}).snapshot()


def test_a_version_says_what_is_in_force() -> None:
    rules = msgspec.structs.replace(MASKED, writer_features=("deletionVectors", "domainMetadata", "clustering"))
    domains = [
        DomainMetadata(domain="delta.clustering", configuration='{"clusteringColumns":[["s","x"],["id"]]}'),
        DomainMetadata(domain="gone", configuration="x", removed=True),
        DomainMetadata(domain="app", configuration="{}"),
    ]
    transactions = [TransactionAction(app_id="one", version=3), TransactionAction(app_id="one", version=4)]
    found = state_of(*domains, *transactions[1:], *FILES, rules=rules)
    assert repr(found) == "Snapshot(version=0, columns=4)"
    assert (found.version, found.time_zone, found.protocol, found.metadata) == (0, UTC, rules, PARTED)
    assert found.state == TableState(rules, PARTED, {"one": transactions[1]}, found.state.domains)
    assert (found.transactions, found.properties) == ({"one": 4}, {"some.thing": "1"})
    assert found.domain_metadata == {domains[0].domain: domains[0].configuration, "app": "{}"}
    assert (found.column_mapping_mode, found.partition_columns) == ("none", ("p",))
    assert (found.clustering_columns, found.row_tracking.supported) == (("s.x", "id"), False)
    assert (found.num_files, found.size_in_bytes, found.num_records, found.num_deleted_records) == (4, 100, 47, 9)
    assert type(found.num_deleted_records) is type(found.num_records) is int
    found.properties.clear()
    assert found.properties == {"some.thing": "1"}
    empty = state_of()
    assert (empty.num_files, empty.size_in_bytes, empty.num_records, empty.num_deleted_records) == (0, 0, 0, 0)
    assert state_of(file("p=a/1", 5, 1, 5)).num_deleted_records == 0
    assert state_of(*FILES, file("p=a/9", None, 0, 0)).num_records is None


def test_files_are_shown_with_the_columns_that_are_asked_for() -> None:
    found = state_of(*FILES)
    assert found.files().column_names == list(PUBLIC_COLUMNS)
    assert found.logical_files.schema == SCHEMA
    assert found.logical_files is found.logical_files
    assert found.files(["size", "path"]).to_pydict() == {
        "size": [10, 20, 30, 40],
        "path": ["p=a/1", "p=a/2 2", "p=b/3", "p=b/4"],
    }
    assert found.files([]).num_columns == 0
    assert found.file_columns.num_rows == 4
    with pytest.raises(RequestError) as refused:
        found.files(["path", "stats", "nothing"])
    assert str(refused.value) == f"There is no column 'stats' of files. Columns: {', '.join(PUBLIC_COLUMNS)}."
    assert refused.value.column == "stats"


def test_deletion_vectors_are_listed_and_read() -> None:
    found = state_of(*FILES)
    stored = f"deletion_vector_{IDENTITY}.bin"
    assert found.deletion_vectors().to_pydict() == {
        "path": ["p=a/1", "p=a/2 2", "p=b/3"],
        "raw_path": ["p=a/1", "p=a/2%202", "p=b/3"],
        "num_records": [5, 9, 30],
        "cardinality": [2, 1, 6],
        "storage_type": ["u", "u", "i"],
        "unique_id": [FIRST.unique_id, SECOND.unique_id, INLINE.unique_id],
        "file": [stored, stored, None],
        "offset": [FIRST.offset, SECOND.offset, None],
        "size_in_bytes": [FIRST.size_in_bytes, SECOND.size_in_bytes, 44],
    }
    assert state_of().deletion_vectors().num_rows == 0
    store = small_logs.new_store()
    store.put(stored, STORED)
    odd = [file("short", 4, 1, 2, vector=FIRST), file("none", None, 1, 2, vector=FIRST)]
    table = small_logs.table({3: [], 0: [MASKED, PARTED, *FILES, *odd], 1: [], 2: []}, store).snapshot()
    rows = table.deletion_vector_rows("p=a/2%202")
    assert (rows.tolist(), str(rows.dtype)) == ([0], "uint64")
    assert [table.deletion_vector_rows(path).tolist() for path in ("p=a/1", "none")] == [[1, 4]] * 2
    for same in (table.changed(MASKED, PARTED), table.holding(table.file_columns)):
        assert same.deletion_vector_rows("p=a/1").tolist() == [1, 4]
    assert table.deletion_vector_rows("p=b/3").tolist() == [3, 4, 7, 11, 18, 29]
    nothing = table.deletion_vector_rows("p=b/4")
    assert (nothing.tolist(), str(nothing.dtype)) == ([], "uint64")
    with pytest.raises(RequestError) as refused:
        table.deletion_vector_rows("p=a/2 2")
    assert (str(refused.value), refused.value.path) == ("Version 3 has no live file 'p=a/2 2'.", "p=a/2 2")
    with pytest.raises(CorruptDeletionVector) as corrupt:
        table.deletion_vector_rows("short")
    assert str(corrupt.value) == (
        f"The deletion vector {FIRST.unique_id} of short masks row 4, but the file's statistics count 4 rows. "
        "One of the two was written for another file."
    )
    assert (corrupt.value.path, corrupt.value.unique_id, corrupt.value.version) == ("short", FIRST.unique_id, 3)


def test_statistics_are_those_of_the_columns_that_are_asked_for() -> None:
    found = state_of(*FILES)
    assert [column.name for column in found.statistics_columns] == ["id", "Name", "s.x", "p"]
    assert [column.partition for column in found.statistics_columns] == [False, False, False, True]
    ranges = found.column_ranges("ID").to_pydict()
    assert (ranges["min"], ranges["max"], ranges["num_records"]) == ([1, 4, 20, 25], [5, 9, 30, 26], [5, 9, 30, 3])
    assert found.statistics(["P", "id"]).column("column").to_pylist() == ["p"] * 4 + ["id"] * 4
    assert found.statistics().column("column").to_pylist() == [c for c in ("id", "Name", "s.x", "p") for _ in range(4)]
    assert found.statistics_coverage().select(["column", "files", "files_total"]).to_pydict() == {
        "column": ["id", "Name", "s.x", "p"],
        "files": [4, 0, 0, 4],
        "files_total": [4] * 4,
    }
    assert found.overlap("id") == Overlap(4, 0, 1.5, 2)
    assert found.skipping("id > 9").files.column("kept").to_pylist() == [False, False, True, True]
    [estimate] = found.clustering("id = 4")
    assert (type(estimate), estimate.column) == (ClusteringEstimate, "id")
    assert found.statistics_problems() == ()
    [problem] = state_of(add("p=a/1", 1, bounds={"id": ("x", 1)}, partition_values={"p": "a"})).statistics_problems()
    assert (problem.path, problem.detail) == ("p=a/1", "'x' is not a valid long, the type of id")


DOUBTED = meta(
    struct(field("id", "long"), field("a.b"), field("A.b"), field("t", "timestamp")), partition_columns=("t",)
)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x", "There is no column 'x' with statistics at version 0. Columns: id, `a.b`, `A.b`, t."),
        ("a.b", "There is no column 'a.b' with statistics at version 0. Columns: id, `a.b`, `A.b`, t."),
        ("`A.B`", "'`A.B`' may be several columns at version 0. Columns: `a.b`, `A.b`."),
        ("", "There is no column '' with statistics at version 0. Columns: id, `a.b`, `A.b`, t."),
    ],
)
def test_a_column_that_is_none_or_several_is_refused(name: str, said: str) -> None:
    found = state_of(metadata=DOUBTED)
    assert [found.statistics_column(each).path for each in ("ID", "`A.b`", "`a.b`")] == [("id",), ("A.b",), ("a.b",)]
    with pytest.raises(RequestError) as refused:
        found.statistics_column(name)
    assert (str(refused.value), refused.value.column) == (said, name)


ZONE = timezone(timedelta(hours=2))


def opened(**more: Any) -> tuple[explorer.Snapshot, list[str]]:
    """A version of its own files, and what it loaded."""
    loaded: list[str] = []
    line = msgspec.json.decode(b'{"path":"f","size":4,"partitionValues":{"t":"2026-01-01 00:00:00"}}', type=AddLine)

    def files() -> LogicalFiles:
        loaded.append("files")
        return LogicalFiles([LineSource([line])])

    def time() -> datetime:
        loaded.append("time")
        return datetime(2026, 1, 1, tzinfo=UTC)

    given = {"metadata": DOUBTED, "protocol": PROTOCOL, **more}
    state = TableState(given.pop("protocol"), given.pop("metadata"), {}, {})
    return explorer.Snapshot(small_logs.new_store(), 6, state, files, time, **given), loaded


def test_files_and_the_time_are_loaded_once_and_not_before_they_are_asked_for() -> None:
    found, loaded = opened()
    assert (loaded, found.time_zone) == ([], UTC)
    assert (found.num_files, found.num_files, loaded) == (1, 1, ["files"])
    assert (found.timestamp, found.timestamp) == (datetime(2026, 1, 1, tzinfo=UTC),) * 2
    assert loaded == ["files", "time"]


def test_a_version_as_it_would_be_keeps_the_rest() -> None:
    found, _ = opened(time_zone=ZONE)
    changed = found.changed(MASKED, PARTED)
    assert (changed.version, changed.protocol, changed.metadata, changed.time_zone) == (6, MASKED, PARTED, ZONE)
    assert (changed.num_files, changed.timestamp, len(changed.schema.fields)) == (1, found.timestamp, 4)
    assert (found.protocol, found.metadata) == (PROTOCOL, DOUBTED)
    empty = found.holding(LogicalFiles([]))
    assert (empty.version, empty.num_files, empty.time_zone, empty.state) == (6, 0, ZONE, found.state)
    assert empty.timestamp == found.timestamp
    assert ([doubt.column for doubt in found.zone_warnings()], empty.zone_warnings()) == (["t"], ())
    with pytest.raises(UnsupportedFeature) as refused:
        found.changed(msgspec.structs.replace(MASKED, reader_features=("zeta",)), PARTED)
    assert (refused.value.version, refused.value.features) == (6, ["zeta"])


def test_a_version_of_a_catalog_is_read_where_the_catalog_said_what_it_is() -> None:
    managed = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("catalogManaged",),
        writer_features=("catalogManaged", "inCommitTimestamp"),
    )
    with pytest.raises(UnsupportedFeature):
        opened(protocol=managed)
    found, _ = opened(protocol=managed, by_catalog=True)
    assert found.holding(LogicalFiles([])).num_files == 0


HIGHEST = "delta.columnMapping.maxColumnId"
TWICE = mapped(struct(field("a"), field("b")))


@pytest.mark.parametrize(
    ("metadata", "said", "facts"),
    [
        (
            meta(partition_columns=("p", "q", "r")),
            "The partition column 'q' of version 6 is not in the schema.",
            {"version": 6, "column": "q"},
        ),
        (
            meta(format=Format(provider="ORC")),
            "Version 6 declares the data file format 'ORC'; Delta tables use Parquet. Another program wrote this log.",
            {"version": 6, "found": "ORC"},
        ),
        (
            meta(TWICE, NAME | {HIGHEST: "1"}),
            f"Column b has id 2, but {HIGHEST} is 1: the next column added would take an id in use.",
            {"column": "b"},
        ),
    ],
)
def test_metadata_that_makes_no_table_is_refused(metadata: Metadata, said: str, facts: dict[str, Any]) -> None:
    with pytest.raises(CorruptTable) as refused:
        opened(protocol=MAPPED, metadata=metadata)
    assert str(refused.value) == said
    assert refused.value.facts() == {"error": "CorruptTable", "message": said, **facts}


def test_a_version_without_a_schema_has_files_and_refuses_what_needs_the_schema() -> None:
    found, _ = opened(protocol=MAPPED, metadata=msgspec.structs.replace(METADATA, schema_string=None))
    assert (found.has_schema, found.num_files) == (False, 1)
    assert repr(found) == "Snapshot(version=6, columns=unknown)"
    asked: list[Callable[[], object]] = [
        lambda: found.schema,
        lambda: found.column_mapping_mode,
        lambda: found.statistics_columns,
        found.require_schema,
    ]
    for ask in asked:
        with pytest.raises(CorruptTable) as refused:
            ask()
        said = "The metaData in force at version 6 has no schemaString"
        assert str(refused.value).startswith(f"{said}; the protocol requires one. ")
        assert refused.value.version == 6


def test_a_type_that_was_changed_in_no_way_that_readers_carry_out_is_refused() -> None:
    widened = field("c", metadata={"delta.typeChanges": [{"fromType": "string", "toType": "integer"}]})
    names = ("typeWidening",)
    rules = Protocol(min_reader_version=3, min_writer_version=7, reader_features=names, writer_features=names)
    with pytest.raises(UnsupportedFeature, match=r"^Column c was changed from string to integer, ") as refused:
        opened(protocol=rules, metadata=meta(struct(widened)))
    assert refused.value.column == "c"
    assert opened(metadata=meta(struct(widened)))[0].num_files == 1


def test_what_is_only_unusual_is_read() -> None:
    assert opened(metadata=meta(format=Format(provider="PARQUET")))[0].version == 6
    for highest in ({}, {HIGHEST: "2"}):
        found, _ = opened(protocol=MAPPED, metadata=meta(TWICE, NAME | highest))
        assert found.column_mapping_mode == "name"
        assert [column.physical for column in found.statistics_columns] == [("col-1",), ("col-2",)]
