"""Where the changes of a range of versions are, and where the feed has holes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, CorruptTable, MalformedAction, RequestError, VersionNotFound
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Action, AddCDCFile, CommitInfo, DeletionVectorDescriptor, Metadata, Protocol
from explorer.core.protocol.deletion_vectors import encode_bitmap, z85_encode
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.change_feed.feed import ChangeSources, FeedSpan, change_feed_coverage, change_feed_holes
from explorer.core.versions.change_feed.sources import masked_difference
from explorer.storage import open_store
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

FEED = Protocol(min_reader_version=1, min_writer_version=4)
FEED_DV = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors", "changeDataFeed"),
)


def _metadata(*columns: dict[str, Any], partitions: Sequence[str] = (), feed: str = "true", **more: str) -> Metadata:
    fields = columns or ({"name": "id", "type": "long", "nullable": True, "metadata": {}},)
    return Metadata(
        id="0e8a4c6e-2d0b-4f4c-9a3e-6a1f9a3b7c55",
        schema_string=json.dumps({"type": "struct", "fields": list(fields)}),
        partition_columns=tuple(partitions),
        configuration={"delta.enableChangeDataFeed": feed, **more},
    )


def _column(name: str, kind: str = "long", *, nullable: bool = True, mapped: tuple[int, str] | None = None) -> Any:
    mapping = (
        {} if mapped is None else {"delta.columnMapping.id": mapped[0], "delta.columnMapping.physicalName": mapped[1]}
    )
    return {"name": name, "type": kind, "nullable": nullable, "metadata": mapping}


def _cdc(path: str, **more: Any) -> AddCDCFile:
    return AddCDCFile(path=path, size=10, **more)


def _table(
    *commits: Sequence[Action | bytes], files: Sequence[str] = (), store: LogStore | None = None
) -> explorer.Table:
    """Version 0 holds the metadata given first, or a plain one with the feed on; data files exist if named."""
    where = small_logs.new_store() if store is None else store
    for path in files:
        where.put_if_absent(path, b"data")
    return small_logs.table(dict(enumerate(commits)), where)


def _plain(*commits: Sequence[Action | bytes], files: Sequence[str] = ()) -> explorer.Table:
    return _table([FEED, _metadata()], *commits, files=files)


def _rows(sources: ChangeSources) -> list[tuple[int, str, str]]:
    files = sources.files.select(["version", "kind", "raw_path"]).to_pylist()
    return [(file["version"], file["kind"], file["raw_path"]) for file in files]


@pytest.mark.conformance("CDF-005")
def test_a_version_with_change_files_is_read_from_them_alone() -> None:
    table = _plain(
        [small_logs.add("a"), small_logs.add("b")],
        [small_logs.remove("a"), small_logs.add("c"), _cdc("_change_data/x"), _cdc("_change_data/y")],
        files=["a", "b", "_change_data/x", "_change_data/y"],
    )
    sources = table.change_sources(1, 2)
    assert _rows(sources) == [
        (1, "insert", "a"),
        (1, "insert", "b"),
        (2, "cdc", "_change_data/x"),
        (2, "cdc", "_change_data/y"),
    ]
    assert [(v.version, v.source, v.num_sources) for v in sources.versions] == [(1, "files", 2), (2, "cdc", 2)]


def test_a_change_file_may_be_the_data_file_itself() -> None:
    table = _plain([small_logs.add("a"), _cdc("a")], files=["a"])
    assert _rows(table.change_sources(1, 1)) == [(1, "cdc", "a")]


@pytest.mark.conformance("CDF-006")
def test_without_change_files_adds_are_inserts_and_removes_deletes() -> None:
    table = _plain([small_logs.add("a")], [small_logs.remove("a"), small_logs.add("b")], files=["a", "b"])
    assert _rows(table.change_sources(0, 2)) == [(1, "insert", "a"), (2, "delete", "a"), (2, "insert", "b")]


@pytest.mark.conformance("CDF-007", "FILE-008")
def test_files_that_only_rearrange_rows_are_no_changes() -> None:
    table = _plain(
        [small_logs.add("a"), small_logs.add("b")],
        [
            small_logs.remove("a", data_change=False),
            small_logs.remove("b", data_change=False),
            small_logs.add("c", data_change=False),
        ],
        files=["a", "b"],
    )
    sources = table.change_sources(2, 2)
    assert _rows(sources) == []
    assert [(v.source, v.num_sources) for v in sources.versions] == [("none", 0)]


@pytest.mark.conformance("CDF-008")
def test_an_exchanged_deletion_vector_is_told_as_the_difference_of_the_two() -> None:
    one, two = (_inline(rows) for rows in ([1, 2], [2, 5]))
    table = _table(
        [FEED_DV, _metadata()],
        [small_logs.add("a", records=9, vector=one)],
        [small_logs.remove("a", vector=one), small_logs.add("a", records=9, vector=two)],
        [small_logs.add("a", records=9), small_logs.remove("a", vector=two)],
        files=["a"],
    )
    sources = table.change_sources(1, 3)
    assert _rows(sources) == [(1, "insert", "a"), (2, "difference", "a"), (3, "difference", "a")]
    ids = sources.files.select(["before_dv_unique_id", "dv_unique_id"]).to_pylist()
    assert [(row["before_dv_unique_id"], row["dv_unique_id"]) for row in ids] == [
        (None, one.unique_id),
        (one.unique_id, two.unique_id),
        (two.unique_id, None),
    ]
    deleted, inserted = masked_difference(table.store, one, two)
    assert (deleted.tolist(), inserted.tolist()) == ([5], [1])
    deleted, inserted = masked_difference(table.store, two, None)
    assert (deleted.tolist(), inserted.tolist()) == ([], [2, 5])


@pytest.mark.conformance("CDF-008")
@pytest.mark.parametrize("quiet", [False, True])
def test_the_same_file_removed_and_added_again_changes_nothing(quiet: bool) -> None:
    vector = _inline([1])
    rearranged: list[Action] = [
        small_logs.remove("b", data_change=False),
        small_logs.add("b", vector=vector, data_change=False),
    ]
    table = _table(
        [FEED_DV, _metadata()],
        [small_logs.add("a", records=3, vector=vector), small_logs.add("b")],
        [
            small_logs.remove("a", vector=vector),
            small_logs.add("a", records=3, vector=vector),
            *(rearranged if quiet else []),
        ],
        files=["a", "b"],
    )
    assert _rows(table.change_sources(2, 2)) == []


@pytest.mark.conformance("CDF-009")
def test_a_file_that_comes_or_goes_carries_the_deletion_vector_it_has() -> None:
    vector = _inline([1, 7])
    table = _table(
        [FEED_DV, _metadata()],
        [small_logs.add("a", records=9, vector=vector)],
        [small_logs.remove("a", vector=vector)],
        files=["a"],
    )
    for version, kind in ((1, "insert"), (2, "delete")):
        (row,) = table.change_sources(version, version).files.to_pylist()
        assert (row["kind"], row["dv_unique_id"], row["dv_cardinality"]) == (kind, vector.unique_id, 2)


@pytest.mark.conformance("CDF-010")
def test_rows_carry_version_and_time_of_their_commit() -> None:
    info = CommitInfo(operation="WRITE", in_commit_timestamp=1_700_000_000_123)
    metadata = _metadata(**{"delta.enableInCommitTimestamps": "true"})
    table = _table([FEED, metadata, CommitInfo(in_commit_timestamp=5)], [info, small_logs.add("a")], files=["a"])
    sources = table.change_sources(1, 1)
    (row,) = sources.files.to_pylist()
    assert (row["version"], row["timestamp"]) == (1, datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC))
    assert sources.versions[0].timestamp == 1_700_000_000_123


@pytest.mark.conformance("CDF-010")
def test_without_in_commit_timestamps_the_time_is_that_of_the_file(tmp_path: Path) -> None:
    stated = CommitInfo(operation="WRITE", timestamp=5, in_commit_timestamp=6)
    written = [[FEED, _metadata()], [stated, small_logs.add("a")], [small_logs.remove("a")]]
    _table(*written, files=["a"], store=open_store(tmp_path))
    for version in range(3):
        os.utime(tmp_path / commit_name(version), (1_700_000_000 + version, 1_700_000_000 + version))
    sources = explorer.open_table(tmp_path).change_sources(1, 2)
    moments = [datetime(2023, 11, 14, 22, 13, 20 + version, tzinfo=UTC) for version in (1, 2)]
    assert sources.files.column("timestamp").to_pylist() == moments
    assert [each.timestamp for each in sources.versions] == [1_700_000_001_000, 1_700_000_002_000]


@pytest.mark.conformance("CDF-010")
def test_a_commit_without_its_in_commit_timestamp_has_no_changes_to_tell() -> None:
    table = _table(
        [FEED, _metadata(**{"delta.enableInCommitTimestamps": "true"}), CommitInfo(in_commit_timestamp=5)],
        [CommitInfo(operation="WRITE"), small_logs.add("a")],
        files=["a"],
    )
    with pytest.raises(CorruptTable, match="no inCommitTimestamp") as caught:
        table.change_sources(0, 1)
    assert caught.value.version == 1


@pytest.mark.conformance("CDF-011")
def test_a_version_without_the_feed_is_a_hole_unless_changes_are_inferred() -> None:
    table = _table(
        [FEED, _metadata(feed="false")],
        [small_logs.add("a")],
        [_metadata()],
        [small_logs.add("b")],
        [_metadata(feed="false")],
        [small_logs.remove("a")],
        files=["a", "b"],
    )
    history = table.history_record()
    assert change_feed_coverage(history) == (FeedSpan(2, 3),)
    holes = change_feed_holes(history, 0, 5)
    assert [(hole.kind, hole.from_version, hole.to_version) for hole in holes] == [("off", 0, 1), ("off", 4, 5)]
    with pytest.raises(ChangeFeedGap, match=r"versions 0 to 1 .* was off .* on in versions 2 to 3") as caught:
        table.change_sources(0, 3)
    assert caught.value.version == 0
    assert caught.value.facts()["holes"][0]["kind"] == "off"
    assert _rows(table.change_sources(2, 3)) == [(3, "insert", "b")]
    sources = table.change_sources(0, 5, inferred=True)
    assert _rows(sources) == [(1, "insert", "a"), (3, "insert", "b"), (5, "delete", "a")]
    assert [version.recorded for version in sources.versions] == [False, False, True, True, False, False]


@pytest.mark.conformance("CDF-011")
def test_the_property_means_nothing_where_the_protocol_does_not_know_the_feed() -> None:
    table = _table([Protocol(min_reader_version=1, min_writer_version=2), _metadata()], [small_logs.add("a")], [FEED])
    assert change_feed_coverage(table.history_record()) == (FeedSpan(2, 2),)


@pytest.mark.conformance("CDF-012")
def test_a_range_that_runs_backwards_or_leaves_the_table_is_refused() -> None:
    table = _plain([small_logs.add("a")], [small_logs.add("b")], files=["a", "b"])
    with pytest.raises(RequestError, match="is reversed"):
        table.change_sources(2, 1)
    for ends in ((3, 3), (3, 9), (1, 3), (-1, 2)):
        with pytest.raises(VersionNotFound) as caught:
            table.change_sources(*ends)
        assert caught.value.nearest in (0, 2)
    assert _rows(table.change_sources(2, 2)) == [(2, "insert", "b")]


ID, NAME = _column("id"), _column("name", "string")


@pytest.mark.conformance("CDF-013")
@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ((ID,), "column name is not in the schema"),
        ((ID, _column("title", "string")), "column name is not in the schema"),
        ((_column("id", "string"), NAME), "column id is long, but string"),
        ((ID, _column("name", "string", nullable=False)), "column name may be null"),
        ((ID, NAME, _column("must", nullable=False)), "column must did not exist and may not be null"),
    ],
)
def test_a_schema_change_that_one_schema_cannot_show_is_a_hole(later: Any, reason: str) -> None:
    table = _table([FEED, _metadata(ID, NAME)], [small_logs.add("a")], [_metadata(*later)], files=["a"])
    with pytest.raises(ChangeFeedGap, match=reason) as caught:
        table.change_sources(0, 2)
    assert [hole["kind"] for hole in caught.value.holes] == ["schema"]
    assert (caught.value.holes[0]["fromVersion"], caught.value.holes[0]["toVersion"]) == (0, 1)
    # Without column mapping the newest schema is the one to read with, as the reference does; another can be chosen.
    with pytest.raises(ChangeFeedGap, match=reason):
        table.change_sources(0, 1)
    assert _rows(table.change_sources(0, 1, schema_version=1)) == [(1, "insert", "a")]


@pytest.mark.conformance("CDF-013")
@pytest.mark.parametrize(
    "later",
    [
        (ID, NAME, _column("more")),
        (NAME, ID),
        (ID, NAME, _column("s", json.loads('{"type":"struct","fields":[]}'))),
    ],
)
def test_columns_that_only_come_or_move_are_no_hole(later: Any) -> None:
    table = _table([FEED, _metadata(ID, NAME)], [small_logs.add("a")], [_metadata(*later)], files=["a"])
    sources = table.change_sources(0, 2)
    assert (_rows(sources), sources.schema_version) == ([(1, "insert", "a")], 2)


@pytest.mark.conformance("CDF-013")
def test_a_field_that_comes_inside_an_array_is_no_hole_and_another_element_type_is() -> None:
    def listed(element: Any) -> Metadata:
        return _metadata(_column("l", {"type": "array", "elementType": element, "containsNull": True}))  # type: ignore[arg-type] # a type is any JSON

    def struct(*columns: Any) -> dict[str, Any]:
        return {"type": "struct", "fields": list(columns)}

    for before, after, holes in (
        (struct(ID), struct(ID, NAME), 0),
        (struct(ID, NAME), struct(ID), 1),
        ("long", "string", 1),
    ):
        table = _table([FEED, listed(before)], [listed(after)])
        assert len(change_feed_holes(table.history_record(), 0, 1)) == holes


@pytest.mark.conformance("CDF-013")
@pytest.mark.parametrize(
    ("later", "reason"),
    [
        ((_column("id", mapped=(1, "p1")), _column("title", "string", mapped=(2, "p2"))), "name is named title"),
        ((_column("id", mapped=(1, "p1")),), "name is not in the schema"),
        ((_column("id", mapped=(1, "p1")), _column("name", "string", mapped=(3, "p3"))), "name is not in the schema"),
        ((_column("id", mapped=(1, "p1")), _column("name", "binary", mapped=(2, "p2"))), "name is string, but binary"),
    ],
)
@pytest.mark.parametrize("by", ["name", "id"])
def test_with_column_mapping_a_rename_or_drop_is_a_hole_and_the_end_s_schema_is_read(
    later: Any, reason: str, by: str
) -> None:
    mode = {"delta.columnMapping.mode": by}
    protocol = Protocol(min_reader_version=2, min_writer_version=5)
    first = (_column("id", mapped=(1, "p1")), _column("name", "string", mapped=(2, "p2")))
    table = _table(
        [protocol, _metadata(*first, **mode)], [small_logs.add("a")], [_metadata(*later, **mode)], files=["a"]
    )
    with pytest.raises(ChangeFeedGap, match=reason):
        table.change_sources(0, 2)
    sources = table.change_sources(0, 1)
    assert (_rows(sources), sources.schema_version) == ([(1, "insert", "a")], 1)


@pytest.mark.conformance("CDF-013")
def test_other_partition_columns_are_a_hole() -> None:
    table = _table([FEED, _metadata(ID, NAME, partitions=["id"])], [_metadata(ID, NAME, partitions=["name"])])
    with pytest.raises(ChangeFeedGap, match="partitioned by other columns"):
        table.change_sources(0, 1)


@pytest.mark.conformance("CDF-018")
@pytest.mark.parametrize("lost", ["_change_data/x", "a", "v.bin"])
def test_a_file_that_vacuum_took_is_named_with_its_version(lost: str) -> None:
    there = {"_change_data/x", "a", "b", "v.bin"} - {lost}
    store = small_logs.new_store()
    vector = DeletionVectorDescriptor("p", f"{store.root}/v.bin", 34, 1, 1)
    table = _table(
        [FEED_DV, _metadata()],
        [small_logs.add("b")],
        [_cdc("_change_data/x"), small_logs.add("a", records=5, vector=vector)],
        [small_logs.remove("a", vector=vector)],
        files=sorted(there),
        store=store,
    )
    assert _rows(table.change_sources(1, 1)) == [(1, "insert", "b")]
    with pytest.raises(ChangeFeedGap, match=r"most likely deleted by VACUUM") as caught:
        table.change_sources(1, 3)
    assert caught.value.version == (2 if lost.startswith("_") else 3)
    assert caught.value.path.endswith(lost)
    assert caught.value.versions == [caught.value.version]


@pytest.mark.conformance("CDF-018")
def test_many_sources_are_looked_for_in_one_listing() -> None:
    names = [f"part-{number:03d}" for number in range(300)]
    table = _plain([small_logs.add(name) for name in names], files=names[:-1])
    with pytest.raises(ChangeFeedGap) as caught:
        table.change_sources(1, 1)
    assert (caught.value.path, caught.value.missing) == ("part-299", 1)


@pytest.mark.conformance("CDF-019")
@pytest.mark.parametrize(
    ("operation", "updated", "sources"), [("MERGE", "0", 0), ("MERGE", "1", 2), ("UPDATE", "0", 2)]
)
def test_a_merge_whose_metrics_prove_no_row_changed_tells_none(operation: str, updated: str, sources: int) -> None:
    metrics = {"numTargetRowsInserted": "0", "numTargetRowsUpdated": updated, "numTargetRowsDeleted": "0"}
    info = CommitInfo(operation=operation, operation_metrics=metrics)
    table = _plain([small_logs.add("a")], [info, small_logs.remove("a"), small_logs.add("b")], files=["a", "b"])
    assert len(_rows(table.change_sources(2, 2))) == sources


@pytest.mark.conformance("CDF-020", "FILE-004")
def test_a_remove_takes_its_partition_values_from_the_add_whatever_it_says_itself() -> None:
    added = small_logs.add("p=1/a")
    table = _table(
        [FEED, _metadata(ID, NAME, partitions=["name"])],
        [_in_partition(added, {"name": "x"})],
        [small_logs.remove("p=1/a", partition_values={"name": "wrong"}, extended_file_metadata=False)],
        files=["p=1/a"],
    )
    (row,) = table.change_sources(2, 2).files.to_pylist(maps_as_pydicts="strict")
    assert row["partition_values"] == {"name": "x"}


@pytest.mark.conformance("CDF-020", "FILE-004")
@pytest.mark.parametrize("extended", [True, False, None])
def test_a_remove_whose_add_is_gone_needs_extended_metadata_on_a_partitioned_table(extended: bool | None) -> None:
    store = small_logs.new_store()
    metadata = _metadata(ID, NAME, partitions=["name"])
    gone = small_logs.remove("p/a", partition_values={"name": "x"}, size=7, extended_file_metadata=extended)
    write_checkpoint(store, 5, [FEED, metadata], "classic")
    store.put_if_absent("p/a", b"data")
    table = small_logs.table({5: [gone], 6: [CommitInfo(operation="WRITE")]}, store)
    if extended:
        (row,) = table.change_sources(5, 6).files.to_pylist(maps_as_pydicts="strict")
        assert (row["kind"], row["partition_values"], row["size"]) == ("delete", {"name": "x"}, 7)
    else:
        with pytest.raises(ChangeFeedGap, match="partition values of the removed file p/a") as caught:
            table.change_sources(5, 6)
        assert caught.value.version == 5
    assert _rows(table.change_sources(6, 6)) == []


def test_a_broken_change_file_action_names_its_line() -> None:
    table = _plain([small_logs.add("a"), b'{"cdc":{"path":"x","partitionValues":{}}}'])
    with pytest.raises(MalformedAction) as caught:
        table.change_sources(0, 1)
    assert (caught.value.version, caught.value.line) == (1, 2)


@pytest.mark.conformance("PATH-001")
def test_a_path_with_escapes_is_decoded_once() -> None:
    table = _plain([_cdc("_change_data/a%20b%2525")], files=["_change_data/a b%25"])
    (row,) = table.change_sources(1, 1).files.to_pylist()
    assert (row["path"], row["raw_path"]) == ("_change_data/a b%25", "_change_data/a%20b%2525")


def _in_partition(add: Any, values: dict[str, str | None]) -> Any:
    """The same add in a partition."""
    return msgspec.structs.replace(add, partition_values=values)


def _inline(rows: list[int]) -> DeletionVectorDescriptor:
    data = encode_bitmap(np.array(rows, np.uint64))
    return DeletionVectorDescriptor("i", z85_encode(data), len(data), len(rows))
