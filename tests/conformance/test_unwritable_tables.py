"""Tables whose writer rules this program does not implement: they are read, and every change of them is refused."""

from __future__ import annotations

import msgspec
import pytest

import explorer
from explorer.core.errors import ExplorerError, UnsupportedFeature
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.actions import Protocol
from tests.support.logs import small_logs

FEATURES = [
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "icebergWriterCompatV3",
    "collations",
    "collations-preview",
    "aFeatureOfTomorrow",
    # Names of previews that bind writers alone (FEAT-011).
    "coordinatedCommits-preview",
    "redirectWriterOnly-preview",
]


def _table(protocol: Protocol, schema: str = small_logs.SCHEMA) -> explorer.Table:
    store = small_logs.new_store()
    small_logs.write(
        store,
        {0: [protocol, msgspec.structs.replace(small_logs.METADATA, schema_string=schema), small_logs.add("a")]},
    )
    return explorer.Table(store)


@pytest.mark.conformance("ICEBERG-001", "ICEBERG-002", "ICEBERG-003", "ICEBERG-004", "COLLATE-002")
@pytest.mark.conformance("PROTO-002", "FEAT-002", "FEAT-011")
@pytest.mark.parametrize("name", FEATURES)
def test_no_change_of_a_table_whose_writer_rules_are_not_kept(name: str) -> None:
    table = _table(Protocol(min_reader_version=1, min_writer_version=7, writer_features=(name,)))
    assert table.snapshot().num_files == 1
    plan = table.plan({"kind": "set-description", "description": "new"})
    (guard,) = [guard for guard in plan.guards if guard.name == "protocol-allows-writer"]
    assert guard.status == "fail"
    assert guard.evidence["missing"] == [name]
    assert table.commit(plan).outcome == "rejected"
    assert table.latest_version() == 0


@pytest.mark.conformance("PROTO-002")
def test_no_change_of_a_table_of_a_later_writer_version() -> None:
    table = _table(Protocol(min_reader_version=1, min_writer_version=8))
    plan = table.plan({"kind": "set-description", "description": "new"})
    assert not plan.committable
    assert table.commit(plan).outcome == "rejected"


LATER_READERS = [
    Protocol(min_reader_version=4, min_writer_version=7, writer_features=()),
    Protocol(min_reader_version=99, min_writer_version=2),
    Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("aFeatureOfTomorrow",),
        writer_features=("aFeatureOfTomorrow",),
    ),
]


@pytest.mark.conformance("PROTO-002", "PROTO-004", "WRITER-006")
@pytest.mark.parametrize("later", LATER_READERS)
def test_no_change_of_a_table_that_cannot_be_read_even_if_it_was_planned_while_it_could(later: Protocol) -> None:
    table = _table(small_logs.PROTOCOL)
    plan = table.plan({"kind": "set-description", "description": "new"})
    assert plan.committable
    small_logs.write(table.store, {1: [later]})
    with pytest.raises(ExplorerError):
        explorer.Table(table.store).plan({"kind": "set-description", "description": "new"})
    with pytest.raises(ExplorerError):
        table.commit(plan)
    assert list_log(table.store).latest == 1


@pytest.mark.conformance("PROTO-002", "WRITER-006")
def test_no_change_of_a_table_whose_writer_version_rose_since_it_was_planned() -> None:
    table = _table(small_logs.PROTOCOL)
    plan = table.plan({"kind": "set-description", "description": "new"})
    assert plan.committable
    small_logs.write(table.store, {1: [Protocol(min_reader_version=1, min_writer_version=8)]})
    assert table.commit(plan).outcome != "committed"
    assert table.latest_version() == 1


@pytest.mark.conformance("INTERVAL-002")
def test_a_table_with_intervals_is_not_changed() -> None:
    text = '{"type":"struct","fields":[{"name":"i","type":"interval year to month","nullable":true,"metadata":{}}]}'
    table = _table(small_logs.PROTOCOL, text)
    with pytest.raises(UnsupportedFeature, match="intervalType"):
        table.plan({"kind": "set-description", "description": "new"})
