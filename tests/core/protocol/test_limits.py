"""What asks too much of the machine is refused by name: long files, long lines, deep nesting, columns without room."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError, IncompleteCheckpoint, LimitExceeded, MalformedAction
from explorer.core.log.log_path import LAST_CHECKPOINT, commit_name
from explorer.core.protocol import limits
from explorer.core.protocol.arrow.arrays import one_array, strings
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.schema.data_types import StructType, parse_schema
from explorer.storage import open_store
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, paths, table, write

START = (PROTOCOL, METADATA, add("a"))
LONG = add("b" * 3000)


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> LogStore:
    return new_store() if request.param == "memory" else open_store(tmp_path)


def test_a_commit_file_beyond_the_limit_is_named_with_its_size(
    store: LogStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than what the local store reads at first.
    size = len(lines([LONG] * 40))
    write(store, {0: START, 1: [LONG] * 40, 2: (add("c"),)})
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", size - 1)
    found = explorer.Table(store)
    reads: list[Callable[[], object]] = [found.snapshot, found.history, lambda: found.commit_actions(1)]
    for read in reads:
        with pytest.raises(
            LimitExceeded, match=f"{commit_name(1)} has {size:,} bytes; at most {size - 1:,} are read"
        ) as caught:
            read()
        assert (caught.value.path, caught.value.found, caught.value.allowed) == (commit_name(1), size, size - 1)
    assert paths(found.snapshot(0)) == {("a", None)}
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", size)
    assert explorer.Table(store).snapshot().num_files == 3


def test_a_hint_beyond_the_limit_is_named(store: LogStore, monkeypatch: pytest.MonkeyPatch) -> None:
    write(store, {0: START})
    store.put_if_absent(LAST_CHECKPOINT, b" " * 10_000)
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 9_999)
    with pytest.raises(LimitExceeded, match=LAST_CHECKPOINT):
        explorer.Table(store)


def test_a_line_beyond_the_limit_is_named_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    found = table({0: START, 1: (add("c"), LONG)})
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", 3000)
    reads: list[Callable[[], object]] = [found.snapshot, found.history]
    for read in reads:
        with pytest.raises(LimitExceeded, match=f"Line 2 of {commit_name(1)} .version 1. has 3,") as caught:
            read()
        assert (caught.value.version, caught.value.line) == (1, 2)
    length = len(lines([LONG])) - 1
    monkeypatch.setattr(limits, "MAX_LINE_BYTES", length)
    assert found.snapshot().num_files == 3


@pytest.mark.parametrize("depth", [400, 5_000, 200_000])
def test_a_schema_nested_too_deeply_is_refused(depth: int) -> None:
    arrays = '{"type":"array","containsNull":true,"elementType":' * depth + '"long"' + "}" * depth
    text = '{"type":"struct","fields":[{"name":"a","nullable":true,"metadata":{},"type":' + arrays + "}]}"
    found = table({0: (PROTOCOL, msgspec.structs.replace(METADATA, schema_string=text), add("a"))})
    reads: list[Callable[[], object]] = [found.snapshot, found.column_lineage]
    for read in reads:
        with pytest.raises(LimitExceeded, match="schemaString is nested deeper than 300"):
            read()


@pytest.mark.parametrize("depth", [250, 400])
def test_field_metadata_nested_too_deeply_is_refused(depth: int) -> None:
    value: object = 1
    for _ in range(depth):
        value = [value]
    field = {"name": "a", "type": "long", "nullable": True, "metadata": {"comment": value}}
    text = json.dumps({"type": "struct", "fields": [field]})
    if depth < limits.MAX_NESTING:
        assert parse_schema(text).to_json()
    else:
        with pytest.raises(LimitExceeded):
            parse_schema(text)


def test_the_deepest_schema_allowed_can_be_read_and_shown() -> None:
    kind: object = "long"
    for _ in range(98):
        kind = {"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]}
    snapshot = table({0: (PROTOCOL, msgspec.structs.replace(METADATA, schema_string=json.dumps(kind)))}).snapshot()
    assert len(snapshot.statistics_columns[0].path) == 98
    assert isinstance(parse_schema(snapshot.schema.to_json()), StructType)


@pytest.mark.parametrize(
    "action",
    ['{"commitInfo":{"x":%s}}', '{"metaData":{"id":"x","x":%s}}', '{"add":{"path":"b","x":%s}}', '{"unknown":%s}'],
)
@pytest.mark.parametrize("depth", [50, 500_000])
def test_an_action_nested_too_deeply_names_its_line(action: str, depth: int) -> None:
    line = (action % ("[" * depth + "]" * depth)).encode()
    found = table({0: START, 1: (add("c"), line)})
    if depth == 50:
        assert found.history().num_rows == 2
        return
    with pytest.raises(MalformedAction) as caught:
        found.history()
    assert (caught.value.version, caught.value.line) == (1, 2)


@pytest.mark.parametrize("depth", [50, 500_000])
def test_statistics_nested_too_deeply_are_unknown(depth: int) -> None:
    deep = '{"x":' + "[" * depth + "]" * depth + ',"numRecords":3}'
    snapshot = table({0: (PROTOCOL, METADATA, msgspec.structs.replace(add("a"), stats=deep))}).snapshot()
    assert snapshot.num_records in {3, None}
    assert (snapshot.num_records == 3) == (depth == 50)
    assert snapshot.statistics().num_rows == 1


@pytest.mark.parametrize("depth", [50, 500_000])
def test_a_checkpoint_in_json_nested_too_deeply_is_refused(depth: int) -> None:
    store = new_store()
    deep = b'{"unknown":' + b"[" * depth + b"]" * depth + b"}"
    head = b'{"checkpointMetadata":{"version":0}}'
    name = "_delta_log/00000000000000000000.checkpoint.6e1a9f4c-6a51-4a3a-8c42-53b4b6a4f1de.json"
    store.put_if_absent(name, lines([head, PROTOCOL, METADATA, add("a"), deep]))
    write(store, {1: (add("b"),)})
    found = explorer.Table(store)
    if depth == 50:
        assert paths(found.snapshot()) == {("a", None), ("b", None)}
        return
    with pytest.raises((IncompleteCheckpoint, MalformedAction)):
        found.snapshot()


def test_texts_without_room_in_a_column_are_refused_and_other_columns_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshot = table({0: (PROTOCOL, METADATA, *(add(f"{place:0100}") for place in range(30)))}).snapshot()
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 2_000)
    with pytest.raises(LimitExceeded, match="30 texts together have 3,000 bytes; a string column holds at most 2,000"):
        snapshot.files(["path"])
    assert snapshot.num_files == 30
    assert snapshot.size_in_bytes == 3_000


@pytest.mark.parametrize(
    "column",
    [
        strings(["a" * 600, "b" * 600]),
        pa.array([{"a": 1, "b": "x" * 1200}]),
        pa.array([[("k", "x" * 1200)]], pa.map_(pa.string(), pa.string())),
    ],
)
def test_columns_without_room_together_are_refused(column: pa.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_COLUMN_BYTES", 2_000)
    assert one_array([column, column.slice(0, 0)], column.type).equals(column)
    with pytest.raises(LimitExceeded, match="have 2,400 bytes"):
        one_array([column, column], column.type)


BEYOND = 10**30
VECTOR = {"storageType": "p", "pathOrInlineDv": "file:///v.bin", "offset": 1, "sizeInBytes": 34, "cardinality": 1}


@pytest.mark.parametrize(
    "fields",
    [
        {"size": BEYOND},
        {"size": -BEYOND},
        {"modificationTime": BEYOND},
        {"baseRowId": BEYOND},
        {"defaultRowCommitVersion": 1 << 63},
        *({"deletionVector": VECTOR | {name: BEYOND}} for name in ("offset", "sizeInBytes", "cardinality")),
        {"deletionVector": VECTOR | {"sizeInBytes": 1 << 31}},
    ],
)
def test_numbers_wider_than_the_protocol_s_make_their_action_no_action(fields: dict[str, Any]) -> None:
    line = {"path": "b", "partitionValues": {}, "size": 1, "modificationTime": 1} | fields
    found = table({0: START, 1: (add("c"), json.dumps({"add": line}).encode())})
    reads: list[Callable[[], object]] = [lambda: found.snapshot().logical_files, found.history]
    for read in reads:
        with pytest.raises(MalformedAction) as caught:
            read()
        assert (caught.value.version, caught.value.line) == (1, 2)
    assert paths(found.snapshot(0)) == {("a", None)}


@pytest.mark.conformance("STATS-002")
@pytest.mark.parametrize("count", [BEYOND, 1 << 63, -1])
@pytest.mark.parametrize("place", ["first", "later"])
def test_a_count_that_no_file_has_is_unknown(count: int, place: str) -> None:
    stats = {"numRecords": count} if place == "first" else {"other": 1, "numRecords": count}
    line = msgspec.structs.replace(add("b"), stats=json.dumps(stats, separators=(",", ":")))
    store = new_store()
    found = table({0: START, 1: (line,)}, store)
    assert sorted(found.snapshot().files().column("num_records").to_pylist(), key=str) == [1, None]
    assert found.history().column("num_rows").to_pylist() == [None, 1]
    write_checkpoint(store, 1, [PROTOCOL, METADATA, add("a"), line], "classic")
    assert explorer.Table(store).snapshot().files().column("num_records").to_pylist() == [1, None]


def test_versions_beyond_what_is_told_are_refused() -> None:
    store, far = new_store(), 1 << 40
    write_checkpoint(store, far, [PROTOCOL, METADATA, add("a")], "classic")
    write(store, {far + 1: (add("b"),)})
    found = explorer.Table(store)
    assert paths(found.snapshot()) == {("a", None), ("b", None)}
    with pytest.raises(LimitExceeded, match="versions up to 1,073,741,824 are supported"):
        found.history()


def test_the_error_says_its_facts() -> None:
    found: ExplorerError = limits.too_deep("It")
    assert found.facts() == {"error": "LimitExceeded", "message": found.message, "allowed": 300}
