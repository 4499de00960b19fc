"""Statistics, partition values and unknown fields in checkpoints of our own."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.actions import Add, CommitInfo, Protocol, TransactionAction
from explorer.core.protocol.log_store import LogStore
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, remove, write
from tests.support.logs.written_checkpoints import NOW, adds_of, checkpoint_of, log_of, metadata_with, ms, rows_of

JSON_KEY, STRUCT_KEY = "delta.checkpoint.writeStatsAsJson", "delta.checkpoint.writeStatsAsStruct"
TYPED = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in {
                "n": "long",
                "d": "decimal(10,2)",
                "t": "timestamp",
                "day": "date",
                "yes": "boolean",
                "raw": "binary",
                "list": {"type": "array", "elementType": "long", "containsNull": True},
                "s": {
                    "type": "struct",
                    "fields": [{"name": "x", "type": "string", "nullable": True, "metadata": {}}],
                },
                "year": "integer",
                "at": "date",
            }.items()
        ],
    }
)
STATS = json.dumps(
    {
        "numRecords": 3,
        "minValues": {"n": 1, "d": 0.5, "t": "2020-01-01T00:00:00.000Z", "day": "2020-01-01", "s": {"x": "a"}},
        "maxValues": {"n": 9, "d": 7.25, "t": "2020-01-02T00:00:00.000Z", "day": "2020-01-02", "s": {"x": "z"}},
        "nullCount": {"n": 0, "d": 1, "t": 0, "day": 0, "yes": 2, "raw": 1, "list": 0, "s": {"x": 0}},
    }
)


# --- statistics -------------------------------------------------------------------------------------------------------


def _with_statistics(properties: Mapping[str, str], schema: str = TYPED, stats: str = STATS) -> LogStore:
    metadata = metadata_with(properties, schema_string=schema, partition_columns=("year", "at"))
    values: dict[str, str | None] = {"year": "2020", "at": None}
    file = Add(path="a", size=1, modification_time=1, stats=stats, partition_values=values)
    bare = Add(path="b", size=1, modification_time=1, partition_values={"year": "2021", "at": "2021-05-06"})
    return log_of((PROTOCOL, metadata, file, bare))


@pytest.mark.conformance("CKPT-016", "CKPT-017", "CKPT-018", "WRITER-001")
@pytest.mark.parametrize("as_json", [None, "true", "false"])
@pytest.mark.parametrize("as_struct", [None, "true", "false"])
def test_statistics_are_written_in_the_forms_the_table_asks_for(as_json: str | None, as_struct: str | None) -> None:
    given = {JSON_KEY: as_json, STRUCT_KEY: as_struct}
    store = _with_statistics({key: value for key, value in given.items() if value is not None})
    file, bare = adds_of(store, checkpoint_of(store).path)
    assert file.get("stats") == (None if as_json == "false" else STATS)
    assert ("stats" in file) is (as_json != "false")
    assert ("stats_parsed" in file) is (as_struct == "true")
    assert ("partitionValues_parsed" in file) is (as_struct == "true")
    assert bare.get("stats") is None
    assert bare.get("stats_parsed") is None


@pytest.mark.conformance("CKPT-016", "CKPT-018", "CKPT-020", "STATS-017")
def test_typed_statistics_have_the_types_of_their_columns() -> None:
    store = _with_statistics({STRUCT_KEY: "true"})
    path = checkpoint_of(store).path
    kind = pq.read_schema(io.BytesIO(store.read(path))).field("add").type
    bounds = pa.struct(
        [
            ("n", pa.int64()),
            ("d", pa.decimal128(10, 2)),
            ("t", pa.timestamp("us", "UTC")),
            ("day", pa.date32()),
            ("s", pa.struct([("x", pa.string())])),
        ]
    )
    counts = pa.struct(
        [(name, pa.int64()) for name in ("n", "d", "t", "day", "yes", "raw", "list")]
        + [("s", pa.struct([("x", pa.int64())]))]
    )
    assert kind.field("stats_parsed").type == pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", bounds),
            ("maxValues", bounds),
            ("nullCount", counts),
            ("tightBounds", pa.bool_()),
        ]
    )
    assert kind.field("partitionValues_parsed").type == pa.struct([("year", pa.int32()), ("at", pa.date32())])
    file, bare = adds_of(store, path)
    assert file["stats_parsed"]["numRecords"] == 3
    assert file["stats_parsed"]["minValues"]["d"] == Decimal("0.50")
    assert file["stats_parsed"]["maxValues"] == {
        "n": 9,
        "d": Decimal("7.25"),
        "t": datetime(2020, 1, 2, tzinfo=UTC),
        "day": date(2020, 1, 2),
        "s": {"x": "z"},
    }
    assert file["stats_parsed"]["nullCount"]["yes"] == 2
    assert file["partitionValues_parsed"] == {"year": 2020, "at": None}
    assert bare["partitionValues_parsed"] == {"year": 2021, "at": date(2021, 5, 6)}


@pytest.mark.conformance("CKPT-021")
@pytest.mark.parametrize("mode", ["name", "id"])
def test_typed_statistics_bear_physical_names(mode: str) -> None:
    def mapped(name: str, kind: Any, physical: str, number: int) -> dict[str, Any]:
        keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
        return {"name": name, "type": kind, "nullable": True, "metadata": keys}

    inner = {"type": "struct", "fields": [mapped("x", "string", "col-3", 3)]}
    fields = [mapped("n", "long", "col-1", 1), mapped("s", inner, "col-2", 2), mapped("p", "long", "col-4", 4)]
    metadata = metadata_with(
        {STRUCT_KEY: "true", "delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "4"},
        schema_string=json.dumps({"type": "struct", "fields": fields}),
        partition_columns=("p",),
    )
    bounds = '{"col-1":%d,"col-2":{"col-3":"%s"}}'
    stats = f'{{"numRecords":2,"minValues":{bounds % (5, "k")},"maxValues":{bounds % (6, "l")}}}'
    stats = f'{stats[:-1]},"nullCount":{{"col-1":0,"col-2":{{"col-3":1}}}}}}'
    file = Add(path="a", size=1, modification_time=1, stats=stats, partition_values={"col-4": "8"})
    store = log_of((Protocol(min_reader_version=2, min_writer_version=5), metadata, file))
    (found,) = adds_of(store, checkpoint_of(store).path)
    assert found["partitionValues_parsed"] == {"col-4": 8}
    assert found["stats_parsed"]["minValues"] == {"col-1": 5, "col-2": {"col-3": "k"}}
    assert found["stats_parsed"]["maxValues"] == {"col-1": 6, "col-2": {"col-3": "l"}}
    assert found["stats_parsed"]["nullCount"] == {"col-1": 0, "col-2": {"col-3": 1}}
    # What was written is found again by the names that people see, in a log of the checkpoint alone.
    store.delete(commit_name(0))
    again = explorer.Table(store).snapshot()
    for where, kept in (("n = 5", 1), ("n > 6", 0), ("s.x < 'k'", 0), ("p = 8", 1), ("p = 9", 0)):
        assert sum(again.skipping(where).files.column("kept").to_pylist()) == kept, where


@pytest.mark.conformance("CKPT-017", "CKPT-018")
@pytest.mark.parametrize(("before", "after"), [("true", "false"), ("false", "true")])
def test_statistics_outlive_a_change_of_their_form(before: str, after: str) -> None:
    """From text to struct and back: what one checkpoint holds in one form the next holds in the other."""
    store = _with_statistics({JSON_KEY: before, STRUCT_KEY: after})
    snapshot = explorer.Table(store).snapshot()
    ranges = [snapshot.column_ranges(name) for name in ("n", "d", "t", "day", "s.x")]
    checkpoint_of(store)
    metadata = metadata_with(
        {JSON_KEY: after, STRUCT_KEY: before}, schema_string=TYPED, partition_columns=("year", "at")
    )
    write(store, {1: (metadata,)})
    checkpoint_of(store)
    store.delete(commit_name(0))
    again = explorer.Table(store).snapshot()
    assert [again.column_ranges(name) for name in ("n", "d", "t", "day", "s.x")] == ranges


def test_statistics_that_are_broken_cost_only_their_own_file() -> None:
    store = _with_statistics({STRUCT_KEY: "true"}, stats='{"numRecords":3,"minValues":')
    file, _ = adds_of(store, checkpoint_of(store).path)
    assert file["stats"] == '{"numRecords":3,"minValues":'
    assert file["stats_parsed"] is None


# --- what is not known ------------------------------------------------------------------------------------------------


def test_fields_that_nobody_knows_stay_through_two_checkpoints() -> None:
    file = Add(
        path="a",
        size=1,
        modification_time=1,
        unknown={"newText": "t", "newNumber": 7, "newFlag": False, "newMap": {"k": "v"}, "newList": [1]},
        clustering_provider="liquid",
        tags={"INSERTION_TIME": "1", "nothing": None},
    )
    gone = msgspec.structs.replace(remove("x"), unknown={"why": "because"}, deletion_timestamp=ms(NOW))
    metadata = msgspec.structs.replace(METADATA, unknown={"owner": "me"})
    transaction = TransactionAction(app_id="app", version=1, unknown={"host": "h"})
    store = log_of((PROTOCOL, metadata, file, add("b"), gone, transaction))
    for version in (0, 1):
        written = checkpoint_of(store)
        found, plain = adds_of(store, written.path)
        assert {name: found[name] for name in ("newText", "newNumber", "newFlag", "newMap")} == {
            "newText": "t",
            "newNumber": 7,
            "newFlag": False,
            "newMap": {"k": "v"},
        }
        assert "newList" not in found
        assert plain["newText"] is None
        assert found["clusteringProvider"] == "liquid"
        assert found["tags"] == {"INSERTION_TIME": "1", "nothing": None}
        rows = {name: item for row in rows_of(store, written.path) for name, item in row.items()}
        assert rows["remove"]["why"] == "because"
        assert rows["metaData"]["owner"] == "me"
        assert rows["txn"]["host"] == "h"
        write(store, {version + 1: (CommitInfo(operation="nothing"),)})


def test_a_field_of_two_types_is_left_out_of_the_column() -> None:
    first, second = (
        Add(path=name, size=1, modification_time=1, unknown={"odd": value}) for name, value in (("a", 1), ("b", "x"))
    )
    store = log_of((PROTOCOL, METADATA, first, second))
    assert all("odd" not in found for found in at_least_one(adds_of(store, checkpoint_of(store).path)))
