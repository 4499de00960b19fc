"""Row tracking and clustering columns as a snapshot tells them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import CorruptTable
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol
from explorer.core.transaction.new_files.file_actions import number_rows
from tests.support.logs import small_logs
from tests.support.logs.checkpoint_shapes import write_checkpoint

TRACKED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("rowTracking", "domainMetadata"))
CLUSTERED = Protocol(min_reader_version=2, min_writer_version=7, writer_features=("clustering", "domainMetadata"))


def _tracked(properties: dict[str, str], *actions: DomainMetadata, protocol: Protocol = TRACKED) -> explorer.Snapshot:
    metadata = msgspec.structs.replace(small_logs.METADATA, configuration=properties)
    return small_logs.table({0: [protocol, metadata, *actions]}).snapshot()


def test_row_tracking_is_told_with_its_columns_and_mark() -> None:
    tracking = _tracked(
        {
            "delta.enableRowTracking": "true",
            "delta.rowTracking.materializedRowIdColumnName": "_row-id",
            "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-version",
        },
        DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":41}'),
    ).row_tracking
    assert (tracking.supported, tracking.enabled, tracking.suspended) == (True, True, False)
    assert (tracking.row_id_column, tracking.row_commit_version_column) == ("_row-id", "_row-version")
    assert tracking.high_water_mark == 41


def test_row_tracking_may_be_supported_and_suspended() -> None:
    tracking = _tracked({"delta.rowTrackingSuspended": "true"}).row_tracking
    assert (tracking.supported, tracking.enabled, tracking.suspended) == (True, False, True)
    assert tracking.high_water_mark is None


@pytest.mark.conformance("ROWTRACK-004")
@pytest.mark.parametrize(("suspended", "ids"), [("true", [None, 3]), ("false", [9, 3]), (None, [9, 3])])
def test_suspended_tracking_gives_no_ids_and_takes_none_away(suspended: str | None, ids: list[int | None]) -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":8}')
    properties = {} if suspended is None else {"delta.rowTrackingSuspended": suspended}
    files = small_logs.add("new", records=2), small_logs.add("old", records=2, base_row_id=3)
    adds, domains, failures = number_rows(files, _tracked(properties, mark).row_tracking, 5)
    assert [add.base_row_id for add in adds] == ids
    assert [json.loads(domain.configuration)["rowIdHighWaterMark"] for domain in domains] == ([10] if ids[0] else [])
    assert failures == ()


@pytest.mark.conformance("ROWTRACK-001", "ROWTRACK-002", "ROWTRACK-003")
def test_new_files_get_ids_above_the_mark_in_their_order_and_the_domain_says_the_new_mark() -> None:
    mark = DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":8}')
    tracking = _tracked({}, mark).row_tracking
    old, empty = small_logs.add("old", records=2, base_row_id=3), small_logs.add("empty", records=0)
    files = (small_logs.add("first", records=2), old, empty, small_logs.add("last", records=5))
    adds, domains, failures = number_rows(files, tracking, 5)
    assert [(add.path, add.base_row_id) for add in adds] == [("first", 9), ("old", 3), ("empty", 11), ("last", 11)]
    assert [add.default_row_commit_version for add in adds] == [5, old.default_row_commit_version, 5, 5]
    (domain,) = domains
    assert (domain.domain, domain.removed) == ("delta.rowTracking", False)
    assert json.loads(domain.configuration) == {"rowIdHighWaterMark": 15, "domainName": "delta.rowTracking"}
    assert failures == ()
    assert number_rows((old, empty), tracking, 5)[1] == (), "the mark stays"
    first, domains, _ = number_rows((small_logs.add("a", records=1),), _tracked({}).row_tracking, 1)
    assert (first[0].base_row_id, json.loads(domains[0].configuration)["rowIdHighWaterMark"]) == (0, 0)


def test_the_properties_mean_nothing_without_the_feature() -> None:
    tracking = _tracked({"delta.enableRowTracking": "true"}, protocol=small_logs.PROTOCOL).row_tracking
    assert (tracking.supported, tracking.enabled) == (False, False)


@pytest.mark.parametrize("configuration", ["", "{}", "[]", '{"rowIdHighWaterMark":"x"}'])
def test_a_domain_without_the_mark_is_an_error(configuration: str) -> None:
    snapshot = _tracked({}, DomainMetadata(domain="delta.rowTracking", configuration=configuration))
    with pytest.raises(CorruptTable, match=r"rowIdHighWaterMark.*A faulty client wrote it\.$") as caught:
        _ = snapshot.row_tracking
    assert caught.value.found == configuration


def test_base_row_ids_are_those_of_the_last_add_from_commits_and_checkpoints() -> None:
    added = small_logs.add("a", base_row_id=7, default_row_commit_version=3)
    store = small_logs.new_store()
    write_checkpoint(store, 1, [TRACKED, small_logs.METADATA, added], "classic")
    table = small_logs.table({2: [small_logs.add("b", base_row_id=8, default_row_commit_version=2)]}, store)
    rows = table.snapshot().files().select(["path", "base_row_id", "default_row_commit_version"]).to_pylist()
    assert {(row["path"], row["base_row_id"], row["default_row_commit_version"]) for row in rows} == {
        ("a", 7, 3),
        ("b", 8, 2),
    }


@pytest.mark.conformance("ROWTRACK-007")
def test_materialised_columns_are_no_columns_of_the_table() -> None:
    snapshot = _tracked({"delta.rowTracking.materializedRowIdColumnName": "_row-id"})
    assert [field.name for field in snapshot.schema.fields] == ["id"]


def _column(name: str, number: int, kind: Any = "long") -> dict[str, Any]:
    mapping = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return {"name": name, "type": kind, "nullable": True, "metadata": mapping}


def _clustered(configuration: str, mode: str) -> explorer.Snapshot:
    inner = {"type": "struct", "fields": [_column("deep", 3)]}
    schema = {"type": "struct", "fields": [_column("a.b", 1), _column("nested", 2, inner)]}
    metadata = Metadata(
        id="0e8a4c6e-2d0b-4f4c-9a3e-6a1f9a3b7c55",
        schema_string=json.dumps(schema),
        configuration={"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "3"},
    )
    protocol = msgspec.structs.replace(CLUSTERED, writer_features=("clustering", "domainMetadata", "columnMapping"))
    domain = DomainMetadata(domain="delta.clustering", configuration=configuration)
    return small_logs.table({0: [protocol, metadata, domain]}).snapshot()


@pytest.mark.parametrize(
    "columns",
    [
        '["col-1"]',
        '[["col-1"]]',
    ],
)
def test_clustering_columns_are_shown_by_their_logical_names_in_both_shapes(columns: str) -> None:
    snapshot = _clustered(f'{{"clusteringColumns":{columns},"domainName":"delta.clustering"}}', "name")
    assert snapshot.clustering_columns == ("`a.b`",)


def test_nested_clustering_columns_are_paths() -> None:
    assert _clustered('{"clusteringColumns":[["col-2","col-3"],["col-1"]]}', "name").clustering_columns == (
        "nested.deep",
        "`a.b`",
    )


def test_without_mapping_names_in_the_files_are_the_names() -> None:
    domain = DomainMetadata(domain="delta.clustering", configuration='{"clusteringColumns":["id"]}')
    assert small_logs.table({0: [CLUSTERED, small_logs.METADATA, domain]}).snapshot().clustering_columns == ("id",)


@pytest.mark.conformance("DOMAIN-005")
def test_a_table_that_is_not_clustered_has_no_clustering_columns() -> None:
    domain = DomainMetadata(domain="delta.clustering", configuration='{"clusteringColumns":["id"]}')
    removed = DomainMetadata(domain="delta.clustering", configuration="", removed=True)
    table = small_logs.table({0: [CLUSTERED, small_logs.METADATA, domain], 1: [removed]})
    assert table.snapshot(1).clustering_columns == ()
    assert small_logs.table({0: [small_logs.PROTOCOL, small_logs.METADATA]}).snapshot().clustering_columns == ()


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ("{", "clusteringColumns"),
        ('{"clusteringColumns":"a"}', "clusteringColumns"),
        ('{"clusteringColumns":["x"]}', "'x'"),
    ],
)
def test_a_clustering_domain_that_cannot_be_understood_is_an_error(configuration: str, reason: str) -> None:
    with pytest.raises(CorruptTable, match=reason):
        _ = _clustered(configuration, "name").clustering_columns
