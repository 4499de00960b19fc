"""Tables whose writer rules this program does not implement: they are read, and every change of them is refused."""

from __future__ import annotations

import msgspec
import pytest

import explorer
from explorer.core.actions import Protocol
from explorer.core.errors import UnsupportedFeature
from tests import logs

FEATURES = [
    pytest.param(name, marks=pytest.mark.conformance(*rows))
    for name, rows in {
        "icebergCompatV1": ["ICEBERG-001"],
        "icebergCompatV2": ["ICEBERG-002"],
        "icebergCompatV3": ["ICEBERG-003"],
        "icebergWriterCompatV1": ["ICEBERG-004"],
        "icebergWriterCompatV3": ["ICEBERG-004"],
        "collations": ["COLLATE-002"],
        "collations-preview": ["COLLATE-002"],
        "materializePartitionColumns": ["MATPART-001"],
        "aFeatureOfTomorrow": ["PROTO-002", "FEAT-002"],
    }.items()
]


def _table(protocol: Protocol, schema: str = logs.SCHEMA) -> explorer.Table:
    store = logs.new_store()
    logs.write(store, {0: [protocol, msgspec.structs.replace(logs.METADATA, schema_string=schema), logs.add("a")]})
    return explorer.Table(store)


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


@pytest.mark.conformance("INTERVAL-002")
def test_a_table_with_intervals_is_not_changed() -> None:
    text = '{"type":"struct","fields":[{"name":"i","type":"interval year to month","nullable":true,"metadata":{}}]}'
    table = _table(logs.PROTOCOL, text)
    with pytest.raises(UnsupportedFeature, match="intervalType"):
        table.plan({"kind": "set-description", "description": "new"})
