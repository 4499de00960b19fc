"""Broken logs: each fault has an error that says what, where and what to do, and other versions stay readable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import (
    CorruptTable,
    IncompleteCheckpoint,
    MalformedAction,
    NotAllowed,
    RequestError,
    TableNotFound,
    TimestampOutOfRange,
    UnsupportedFeature,
    VersionGap,
    VersionNotFound,
)
from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.protocol.actions import Action, CommitInfo
from tests.support.logs.small_logs import METADATA, PROTOCOL, Metadata, Protocol, add, lines, new_store, paths, table

START = (PROTOCOL, METADATA, add("a"))


def test_a_path_that_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="_delta_log") as caught:
        explorer.open_table(tmp_path)
    assert caught.value.facts()["location"] == tmp_path.as_uri()
    with pytest.raises(TableNotFound):
        explorer.open_table(tmp_path / "nowhere")


def test_a_location_with_a_nul_character_is_refused() -> None:
    with pytest.raises(RequestError, match="NUL"):
        explorer.open_table("a\0b")


def test_a_diff_with_a_version_that_cannot_be_read_is_refused_too() -> None:
    future = Protocol(min_reader_version=4, min_writer_version=7)
    found = table({0: START, 1: (add("b"),), 2: (future,)})
    assert found.diff(0, 1).totals.files_added == 1
    with pytest.raises(UnsupportedFeature, match="minReaderVersion 4"):
        found.diff(0, 2)


def test_a_truncated_line_is_named_by_version_file_and_line() -> None:
    whole = lines([add("b"), add("c")])
    store = new_store()
    found = table({0: START}, store)
    store.put_if_absent(commit_name(1), whole[:-20])
    found.refresh()
    with pytest.raises(MalformedAction) as caught:
        found.snapshot(1)
    assert (caught.value.version, caught.value.path, caught.value.line) == (1, commit_name(1), 2)
    assert caught.value.table == found.location
    assert paths(found.snapshot(0)) == {("a", None)}


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"[]", "JSON array"),
        (b'{"add":{"size":1}}', "path"),
        (b'{"add":{"path":7}}', "path"),
        (b'{"add":{"path":"x","size":"many"}}', "size"),
        (b'{"remove":"x"}', "remove"),
        (b"\xff\xfe", "byte-order mark"),
        (b'{"add":{"path":"\xff"}}', None),
        (b'{"add":{"path":"x","deletionVector":{"storageType":"u"}}}', "pathOrInlineDv"),
        (b"{" * 100_000, None),
    ],
)
def test_a_line_that_is_no_action_is_refused(line: bytes, what: str | None) -> None:
    found = table({0: START, 1: (line,)})
    with pytest.raises(MalformedAction, match=what) as caught:
        found.snapshot().files()
    assert caught.value.line == 1
    with pytest.raises(MalformedAction):
        found.history()


def test_a_line_with_two_actions_is_refused() -> None:
    both = b'{"add":{"path":"b","size":1,"modificationTime":1},"remove":{"path":"a"}}'
    found = table({0: START, 1: (add("c"), both)})
    for read in (lambda: found.snapshot().files(), found.history):
        with pytest.raises(MalformedAction, match="both an add and a remove") as caught:
            read()
        assert caught.value.line == 2


def test_history_names_the_line_of_a_broken_small_action() -> None:
    found = table({0: START, 1: (add("b"), add("c"), b'{"metaData":{"id":5}}')})
    with pytest.raises(MalformedAction) as caught:
        found.history()
    assert caught.value.line == 3


@pytest.mark.conformance("LOG-021")
@pytest.mark.parametrize(("first", "missing"), [((METADATA,), "protocol"), ((PROTOCOL,), "metaData")])
def test_a_version_without_protocol_or_metadata_cannot_be_opened(first: tuple[Action, ...], missing: str) -> None:
    with pytest.raises(CorruptTable, match=f"no {missing} action"):
        table({0: (*first, add("a"))}).snapshot()


@pytest.mark.conformance("TXN-004")
@pytest.mark.parametrize(
    "line",
    [
        b'{"protocol":{"minReaderVersion":"one","minWriterVersion":2}}',
        b'{"metaData":{"id":5}}',
        b'{"txn":{"appId":"a"}}',
        b'{"txn":{"version":1}}',
        b'{"domainMetadata":{"configuration":"x"}}',
    ],
)
def test_a_small_action_that_is_broken_names_its_line(line: bytes) -> None:
    found = table({0: START, 1: (add("b"), line)})
    with pytest.raises(MalformedAction) as caught:
        found.snapshot()
    assert (caught.value.version, caught.value.line) == (1, 2)


def test_metrics_that_are_no_counts_are_shown_and_not_counted() -> None:
    odd = {"numCopiedRows": "\u00b2", "numTargetRowsCopied": "9" * 30}
    info = CommitInfo(operation="MERGE", operation_metrics=odd)
    history = table({0: (PROTOCOL, METADATA, add("a")), 1: (info, add("b", data_change=False))}).history(limit=1)
    (told,) = history.to_pylist(maps_as_pydicts="strict")
    assert (told["metrics"], told["rows_rewritten"]) == (odd, 1)


def test_partition_values_that_are_no_map_name_the_file() -> None:
    found = table({0: START, 1: (b'{"add":{"path":"x","partitionValues":[1],"size":1,"modificationTime":1}}',)})
    with pytest.raises(MalformedAction, match="partitionValues of the file x"):
        found.snapshot().files()


@pytest.mark.conformance("LOG-011")
def test_a_missing_commit_in_the_middle_names_what_can_be_read() -> None:
    found = table({0: START, 1: (add("b"),), 3: (add("d"),), 4: (add("e"),)})
    with pytest.raises(VersionGap, match="version 2 is missing") as caught:
        found.snapshot()
    assert (caught.value.missing, caught.value.earliest, caught.value.latest) == (2, 0, 1)
    assert paths(found.snapshot(1)) == {("a", None), ("b", None)}
    with pytest.raises(VersionGap):
        found.version_range()


@pytest.mark.conformance("LOG-012")
def test_a_log_that_starts_late_without_a_checkpoint_is_truncated() -> None:
    found = table({5: START, 6: (add("b"),)})
    with pytest.raises(VersionGap, match="truncated"):
        found.snapshot()


@pytest.mark.parametrize("content", [b"", b"PAR1 nothing of the sort", b"PAR1" + bytes(64) + b"PAR1"])
def test_a_checkpoint_that_cannot_be_read_is_named(content: bytes) -> None:
    store = new_store()
    store.put_if_absent(checkpoint_name(1), content)
    found = table({0: START, 1: (add("b"),), 2: (add("c"),)}, store)
    assert found.snapshot(2).num_files == 3, "the commits give what it would hold"
    store.delete(commit_name(1))
    found = explorer.Table(store)
    with pytest.raises(IncompleteCheckpoint, match="version 1") as caught:
        found.snapshot(2).files()
    assert caught.value.path == checkpoint_name(1)
    assert paths(found.snapshot(0)) == {("a", None)}


@pytest.mark.conformance("FEAT-001", "PROTO-004")
def test_an_unknown_reader_feature_is_refused_by_name_and_older_versions_stay_readable() -> None:
    future = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors", "timeMachine"),
        writer_features=("deletionVectors", "timeMachine"),
    )
    found = table({0: START, 1: (future,)})
    with pytest.raises(UnsupportedFeature, match="timeMachine") as caught:
        found.snapshot()
    assert caught.value.features == ["timeMachine"]
    assert found.snapshot(0).num_files == 1


@pytest.mark.parametrize(
    ("protocol", "reason"),
    [
        (Protocol(min_reader_version=3, min_writer_version=7), "readerFeatures"),
        (Protocol(min_reader_version=3, min_writer_version=6, reader_features=()), "writer version 7"),
        (Protocol(min_reader_version=1, min_writer_version=7, reader_features=("x",)), "only be listed"),
        (Protocol(min_reader_version=0, min_writer_version=2), "below 1"),
    ],
)
@pytest.mark.conformance("FEAT-001", "FEAT-010", "PROTO-007", "PROTO-009")
def test_a_protocol_that_contradicts_itself_is_refused(protocol: Protocol, reason: str) -> None:
    with pytest.raises(CorruptTable, match=reason):
        table({0: (protocol, METADATA)}).snapshot()


def test_two_files_of_one_version_are_refused() -> None:
    store = new_store()
    store.put_if_absent("_delta_log/1.json", lines([add("b")]))
    found_in_log = {0: START, 1: (add("b"),)}
    with pytest.raises(CorruptTable, match="two commit files"):
        table(found_in_log, store)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        (Metadata(id="x"), "no schemaString"),
        (Metadata(id="x", schema_string="{"), "not JSON"),
        (Metadata(id="x", schema_string='"long"'), "not a struct"),
        (Metadata(id="x", schema_string='{"type":"struct","fields":[{"name":"a","type":"lnog"}]}'), "'lnog'"),
        (Metadata(id="x", schema_string='{"type":"struct","fields":[]}', partition_columns=("p",)), "'p'"),
    ],
)
@pytest.mark.conformance("META-002")
def test_metadata_that_cannot_be_used_is_refused(metadata: Metadata, reason: str) -> None:
    with pytest.raises(CorruptTable, match=reason):
        table({0: (PROTOCOL, metadata)}).snapshot().require_schema()


def test_without_a_schema_files_and_history_are_shown_and_nothing_that_needs_columns_is() -> None:
    found = table({0: (PROTOCOL, Metadata(id="x"), add("a")), 1: (add("b"),)})
    snapshot = found.snapshot()
    assert (snapshot.has_schema, snapshot.num_files, found.history().num_rows) == (False, 2, 2)
    assert paths(snapshot) == {("a", None), ("b", None)}
    assert "columns=unknown" in repr(snapshot)
    for needs_columns in (lambda: snapshot.schema, snapshot.statistics, lambda: snapshot.skipping("x = 1")):
        with pytest.raises(CorruptTable, match="no schemaString"):
            needs_columns()
    for kind in ("checkpoint", "vacuum", "clean-log"):
        with pytest.raises(CorruptTable, match="no schemaString"):
            found.plan({"kind": kind})
    with pytest.raises(CorruptTable, match="no schemaString"):
        found.plan({"kind": "set-description", "description": "x"})


@pytest.mark.conformance("META-006")
def test_another_encoding_than_parquet_is_refused() -> None:
    orc = b'{"metaData":{"id":"x","format":{"provider":"orc","options":{}},"schemaString":"{}"}}'
    with pytest.raises(CorruptTable, match="orc"):
        table({0: (PROTOCOL, orc)}).snapshot()


@pytest.mark.parametrize("version", [9, -1])
@pytest.mark.conformance("LOG-013")
def test_versions_out_of_range_name_the_nearest(version: int) -> None:
    found = table({0: START, 1: (add("b"),)})
    with pytest.raises(VersionNotFound, match="versions 0 to 1") as caught:
        found.snapshot(version)
    assert caught.value.nearest == (1 if version > 0 else 0)


def test_times_out_of_range_name_the_nearest_version() -> None:
    found = table({0: START, 1: (add("b"),)})
    with pytest.raises(TimestampOutOfRange) as early:
        found.snapshot(timestamp="1999-01-01T00:00:00Z")
    assert early.value.nearest == 0
    with pytest.raises(TimestampOutOfRange) as late:
        found.snapshot(timestamp="2999-01-01T00:00:00Z")
    assert late.value.nearest == 1


@pytest.mark.parametrize("timestamp", ["yesterday", "2026-01-01T00:00:00", ""])
def test_times_that_are_none_or_have_no_zone_are_refused(timestamp: str) -> None:
    with pytest.raises(RequestError):
        table({0: START}).snapshot(timestamp=timestamp)


def test_roots_hold_whatever_way_leads_out(tmp_path: Path) -> None:
    inside, outside = tmp_path / "served", tmp_path / "secret"
    for folder in (inside / "t", outside / "t"):
        (folder / "_delta_log").mkdir(parents=True)
        (folder / "_delta_log" / "00000000000000000000.json").write_bytes(lines(START))
    os.symlink(outside, inside / "door")
    os.symlink(outside / "t" / "_delta_log", inside / "_delta_log")
    roots = [str(inside)]
    assert explorer.open_table(inside / "t", roots=roots).snapshot().num_files == 1
    for location in (outside / "t", inside / ".." / "secret" / "t", inside / "door" / "t", inside):
        with pytest.raises(NotAllowed):
            explorer.open_table(location, roots=roots).snapshot().files()


def test_absolute_paths_of_a_log_are_held_to_the_roots_too(tmp_path: Path) -> None:
    folder = tmp_path / "served" / "t"
    (folder / "_delta_log").mkdir(parents=True)
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\x01secret")
    vector = {"storageType": "p", "pathOrInlineDv": secret.as_uri(), "offset": 1, "sizeInBytes": 4, "cardinality": 1}
    import json

    from tests.support.logs.small_logs import MASKED

    masked = json.dumps({"add": {"path": "x", "size": 1, "modificationTime": 1, "deletionVector": vector}}).encode()
    (folder / "_delta_log" / "00000000000000000000.json").write_bytes(lines([MASKED, METADATA, masked]))
    found = explorer.open_table(folder, roots=[str(tmp_path / "served")])
    with pytest.raises(NotAllowed):
        found.snapshot().deletion_vector_rows("x")


def test_errors_are_records_for_programs() -> None:
    with pytest.raises(VersionNotFound) as caught:
        table({0: START}).snapshot(3)
    facts = caught.value.facts()
    assert facts["error"] == "VersionNotFound"
    assert facts["message"] == str(caught.value)
    assert (facts["version"], facts["earliest"], facts["latest"], facts["nearest"]) == (3, 0, 0, 0)


@pytest.mark.conformance("LOG-024")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("5", CommitInfo(unknown={"commitInfo": 5})),
        ('[1,{"a":2}]', CommitInfo(unknown={"commitInfo": [1, {"a": 2}]})),
        ('"WRITE"', CommitInfo(unknown={"commitInfo": "WRITE"})),
        (
            '{"operation":7,"userName":"Ada","timestamp":{},"operationParameters":[1]}',
            CommitInfo(user_name="Ada", unknown={"operation": 7, "timestamp": {}, "operationParameters": [1]}),
        ),
        (
            '{"readVersion":1.5,"operation":"WRITE"}',
            CommitInfo(operation="WRITE", unknown={"readVersion": 1.5}),
        ),
        ("null", None),
    ],
)
def test_provenance_of_odd_types_is_kept_as_it_is_and_fails_nothing(value: str, expected: CommitInfo | None) -> None:
    commit = (b'{"commitInfo":%s}' % value.encode(), add("b"))
    assert decode_commit(lines(commit), 1, "1.json").commit_info() == expected
    found = table({0: START, 1: commit})
    assert paths(found.snapshot()) == {("a", None), ("b", None)}
    assert found.history().num_rows == 2
