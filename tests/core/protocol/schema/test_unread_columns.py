"""A type that this program does not read closes its column alone; drafts of the protocol are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

import explorer
from explorer.core.errors import CorruptTable, UnsupportedFeature
from explorer.core.protocol import limits
from explorer.core.protocol.actions import Protocol
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, metadata, new_store, table, write


def _struct(**fields: Any) -> dict[str, Any]:
    """A struct of these fields."""
    members = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in fields.items()]
    return {"type": "struct", "fields": members}


INSIDE: dict[str, Any] = {
    "type": "struct",
    "fields": [{"name": "x", "type": "geometry(OGC:CRS84)", "nullable": True, "metadata": {}}],
}
LISTED: dict[str, Any] = {"type": "array", "elementType": "interval year to month", "containsNull": True}


def _table(kind: Any, partitions: tuple[str, ...] = ()) -> explorer.Table:
    said = metadata({"k": "long", "odd": kind, "last": "string"}, partitions)
    return table({0: [PROTOCOL, said, add("a.parquet", 3, partition_values=dict.fromkeys(partitions, "1"))]})


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("interval day to second", "intervalType"),
        ("timestamp_nanos", "timestampNanos"),
        ("geography", "geospatial"),
        ("frob", "'frob' is not known"),
        ("BIGINT", "'BIGINT' is not known"),
        (INSIDE, "geospatial"),
        (LISTED, "intervalType"),
        ({"type": "array", "elementType": "void", "containsNull": True}, "no file can store it"),
        ({"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": True}, "no file can store it"),
        (_struct(v="void", w="void"), "no file can store it"),
        (_struct(a="long", s=_struct(v="void")), "no file can store it"),
        ({"type": "array", "elementType": _struct(a="long", v="void"), "containsNull": True}, "no file can store it"),
    ],
)
def test_the_other_columns_are_read_and_the_column_says_why_not(kind: Any, reason: str) -> None:
    found = _table(kind)
    snapshot = found.snapshot()
    assert [field.name for field in snapshot.schema.fields] == ["k", "last"]
    (unread,) = snapshot.unread_columns
    assert unread.name == "odd"
    assert reason in unread.reason
    assert snapshot.num_records == 3
    finding = next(finding for finding in found.audit(NOW).findings if finding.rule == "unread-columns")
    assert "odd" in finding.title
    assert found.verify().problems == ()


def test_nothing_is_written_to_a_table_with_a_column_that_is_not_read() -> None:
    found = _table("interval day")
    result = found.commit(found.plan({"kind": "set-properties", "properties": {"delta.appendOnly": "true"}}))
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["reads-all-columns"]


def test_a_partition_column_that_is_not_read_closes_itself_alone() -> None:
    snapshot = _table("frob", ("odd", "last")).snapshot()
    assert snapshot.partition_columns == ("last",)


def test_the_table_is_refused_where_that_is_asked_for_or_no_column_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedFeature, match="intervalType"):
        table({0: [PROTOCOL, metadata({"i": "interval day"})]}).snapshot()
    monkeypatch.setattr(limits, "STRICT_TYPES", True)
    with pytest.raises(UnsupportedFeature, match="intervalType"):
        _table("interval day").snapshot()
    with pytest.raises(CorruptTable, match="frob"):
        _table("frob").snapshot()


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("adaptiveMetadata", "Iceberg V4"),
        ("adaptiveMetadata-preview", "delta-kernel-rs"),
        ("timestampNanos", "deltalake"),
        ("redirectReaderWriter-preview", "another table"),
        ("columnUpdates", "column files"),
    ],
)
def test_a_draft_is_refused_by_name_with_what_it_is_and_who_reads_it(name: str, what: str) -> None:
    drafted = Protocol(min_reader_version=3, min_writer_version=7, reader_features=(name,), writer_features=(name,))
    with pytest.raises(UnsupportedFeature, match=what) as refused:
        table({0: [drafted, METADATA]}).snapshot()
    assert refused.value.features == [name]


@pytest.mark.parametrize("name", ["coordinatedCommits-preview", "multiTableTransaction", "redirectWriterOnly-preview"])
def test_a_draft_for_writers_is_read_and_its_guard_says_what_it_is(name: str) -> None:
    drafted = Protocol(min_reader_version=1, min_writer_version=7, writer_features=(name,))
    found = table({0: [drafted, METADATA, add("a.parquet")]})
    assert found.snapshot().num_files == 1
    plan = found.plan({"kind": "set-properties", "properties": {"delta.checkpointInterval": "20"}})
    (blocking,) = plan.blocking
    assert f"{name} is a draft of the protocol" in str(blocking.evidence["detail"])


@pytest.mark.parametrize("name", ["coordinatedCommits", "coordinatedCommits-preview", "multiTableTransaction"])
def test_a_draft_for_writers_that_is_listed_for_readers_is_refused(name: str) -> None:
    listed = Protocol(min_reader_version=3, min_writer_version=7, reader_features=(name,), writer_features=(name,))
    with pytest.raises(UnsupportedFeature, match=f"{name} is a draft of the protocol") as refused:
        table({0: [listed, METADATA]}).snapshot()
    assert refused.value.features == [name]


@pytest.mark.conformance("CATALOG-006")
@pytest.mark.parametrize("folder", ["_commits", "_staged_commits"])
@pytest.mark.parametrize("waiting", [2, 4])
def test_what_is_published_is_not_taken_for_the_newest_where_later_commits_wait(folder: str, waiting: int) -> None:
    name = "coordinatedCommits-preview"
    drafted = Protocol(min_reader_version=1, min_writer_version=7, writer_features=(name,))
    store = new_store()
    write(store, {0: (drafted, METADATA, add("a")), 1: (add("b"),)})
    store.put_if_absent(f"_delta_log/{folder}/{waiting:020d}.80a083e8-7026-4e79-81be-64bd76c43a11.json", b"{}")
    found = explorer.Table(store)
    with pytest.raises(UnsupportedFeature, match="by its number") as refused:
        found.snapshot()
    assert (refused.value.features, refused.value.version) == ([name], 1)
    assert found.snapshot(1).num_files == 2


@pytest.mark.parametrize("folder", ["_commits", "_staged_commits"])
def test_a_table_whose_commits_are_all_published_is_read(folder: str) -> None:
    drafted = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("coordinatedCommits-preview",))
    store = new_store()
    write(store, {0: (drafted, METADATA, add("a")), 1: (add("b"),)})
    store.put_if_absent(f"_delta_log/{folder}/{1:020d}.80a083e8-7026-4e79-81be-64bd76c43a11.json", b"{}")
    assert explorer.Table(store).snapshot().version == 1


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("icebergCompatV3", "Iceberg V3"),
        ("icebergWriterCompatV1", "icebergCompatV2"),
        ("icebergWriterCompatV3", "icebergCompatV3"),
    ],
)
def test_a_draft_of_the_layout_is_read_and_its_guard_says_what_it_is(name: str, what: str) -> None:
    drafted = Protocol(min_reader_version=1, min_writer_version=7, writer_features=(name,))
    found = table({0: [drafted, METADATA, add("a.parquet")]})
    assert found.snapshot().num_files == 1
    plan = found.plan({"kind": "set-properties", "properties": {"delta.checkpointInterval": "20"}})
    details = [str(each.evidence.get("detail")) for each in plan.blocking]
    assert any(f"{name} is a draft of the protocol" in detail and what in detail for detail in details)


def test_another_name_of_a_feature_is_taken() -> None:
    name = "timestampWithoutTimezone"
    named = Protocol(min_reader_version=3, min_writer_version=7, reader_features=(name,), writer_features=(name,))
    found = table({0: [named, metadata({"t": "timestamp_ntz"}), add("a.parquet")]})
    assert found.snapshot().num_files == 1
    plan = found.plan({"kind": "set-properties", "properties": {"delta.checkpointInterval": "20"}})
    assert plan.blocking == ()
