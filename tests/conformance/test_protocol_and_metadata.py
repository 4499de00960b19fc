"""Protocol versions, table features and metadata: what is read, what is refused, and what the refusal says."""

from __future__ import annotations

import json

import msgspec
import pytest

from explorer.core.errors import CorruptTable, MalformedAction, UnsupportedFeature
from explorer.core.protocol.actions import CommitInfo, Format, Metadata, Protocol
from explorer.core.protocol.table_features import FEATURES, check_readable, supported_features
from explorer.core.protocol.table_properties.values import flag
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import METADATA, PROTOCOL, SCHEMA, add, new_store, paths, table

FILE = add("a")


def _listing(*names: str, readers: tuple[str, ...] | None = None) -> Protocol:
    """A protocol of versions 3 and 7 that lists these features for writers, and for readers the same or others."""
    return Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=names if readers is None else readers,
        writer_features=names,
    )


@pytest.mark.conformance("PROTO-001")
def test_a_reader_version_from_the_future_is_refused_with_both_versions_and_advice() -> None:
    found = table({0: (Protocol(min_reader_version=99, min_writer_version=99), METADATA)})
    with pytest.raises(UnsupportedFeature, match=r"minReaderVersion 99.*reader version 3.*[Uu]pgrade") as caught:
        found.snapshot()
    assert caught.value.version == 0


@pytest.mark.conformance("PROTO-003")
def test_unknown_actions_and_fields_change_nothing() -> None:
    odd = (
        b'{"weather":{"rain":3}}',
        b'{"add":{"path":"b","size":100,"modificationTime":1,"mood":{"x":[1,null]},"partitionValues":{}}}',
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":2,"mood":"good"}}',
        b'{"commitInfo":{"operation":"WRITE","timestamp":"not a number","mood":1}}',
        b'{"txn":{"appId":"x","version":1,"mood":null}}',
        b"{}",
    )
    snapshot = table({0: (PROTOCOL, METADATA, FILE), 1: odd}).snapshot()
    control = table({0: (PROTOCOL, METADATA, FILE), 1: (add("b", records=None),)}).snapshot()
    assert snapshot.files().equals(control.files())
    assert snapshot.transactions == {"x": 1}
    assert snapshot.protocol.min_reader_version == 1


@pytest.mark.conformance("PROTO-004")
def test_each_version_is_read_under_its_own_protocol() -> None:
    commits = {
        0: (PROTOCOL, METADATA, FILE),
        1: (Protocol(min_reader_version=2, min_writer_version=5),),
        2: (_listing("timeMachine"),),
        3: (PROTOCOL,),
    }
    found = table(commits)
    assert found.snapshot(0).protocol.min_reader_version == 1
    assert found.snapshot(1).protocol.min_reader_version == 2
    with pytest.raises(UnsupportedFeature):
        found.snapshot(2)
    assert found.snapshot(3).protocol == PROTOCOL


MAPPED_SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {
                "name": "id",
                "type": "long",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"},
            }
        ],
    }
)
MAPPED = Metadata(id="x", schema_string=MAPPED_SCHEMA, configuration={"delta.columnMapping.mode": "name"})


@pytest.mark.conformance("CM-001", "PROTO-007")
@pytest.mark.parametrize(
    ("protocol", "mode"),
    [
        (Protocol(min_reader_version=1, min_writer_version=2), "none"),
        (Protocol(min_reader_version=1, min_writer_version=5), "none"),
        (Protocol(min_reader_version=2, min_writer_version=4), "none"),
        (Protocol(min_reader_version=2, min_writer_version=5), "name"),
        (Protocol(min_reader_version=2, min_writer_version=6), "name"),
        (_listing("columnMapping"), "name"),
        (_listing("deletionVectors"), "none"),
        (Protocol(min_reader_version=2, min_writer_version=7, writer_features=("columnMapping",)), "name"),
    ],
)
def test_a_mapping_mode_counts_only_where_the_protocol_allows_it(protocol: Protocol, mode: str) -> None:
    stats = '{"numRecords":2,"minValues":{"col-1":4},"maxValues":{"col-1":6}}'
    line = {"path": "a", "size": 1, "modificationTime": 1, "partitionValues": {}, "stats": stats}
    snapshot = table({0: (protocol, MAPPED, json.dumps({"add": line}).encode())}).snapshot()
    assert snapshot.column_mapping_mode == mode
    assert snapshot.column_ranges("id")["min"].to_pylist() == [4 if mode == "name" else None]


@pytest.mark.conformance("PROTO-010")
def test_the_keys_of_the_mistaken_samples_are_not_taken_for_the_protocol() -> None:
    sample = b'{"protocol":{"readerVersion":3,"writerVersion":7,"readerFeatures":[],"writerFeatures":[]}}'
    with pytest.raises(MalformedAction, match="minReaderVersion"):
        table({0: (sample, METADATA)}).snapshot()


@pytest.mark.conformance("PROTO-011")
def test_a_plain_table_of_versions_1_and_2_is_read_and_implies_what_writer_2_implies() -> None:
    snapshot = table({0: (PROTOCOL, METADATA, FILE)}).snapshot()
    assert (snapshot.protocol.min_reader_version, snapshot.protocol.min_writer_version) == (1, 2)
    assert supported_features(snapshot.protocol) == ("appendOnly", "invariants")
    assert paths(snapshot) == {("a", None)}


BOTH_LISTS = (
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "catalogManaged",
    "typeWidening",
    "variantType",
    "variantShredding",
)
WRITERS_ONLY = (
    "appendOnly",
    "invariants",
    "checkConstraints",
    "generatedColumns",
    "allowColumnDefaults",
    "changeDataFeed",
    "identityColumns",
    "rowTracking",
    "domainMetadata",
    "icebergCompatV1",
    "icebergCompatV2",
    "clustering",
    "inCommitTimestamp",
)


@pytest.mark.conformance("FEAT-008")
def test_every_feature_of_the_text_is_known_and_whom_it_binds() -> None:
    assert {name: FEATURES[name].reader for name in (*BOTH_LISTS, *WRITERS_ONLY)} == {
        **dict.fromkeys(BOTH_LISTS, True),
        **dict.fromkeys(WRITERS_ONLY, False),
    }


@pytest.mark.conformance("FEAT-001", "FEAT-008", "VACUUM-005")
@pytest.mark.parametrize("name", [name for name in BOTH_LISTS if name != "catalogManaged"])
def test_a_table_with_a_reader_feature_of_the_text_is_read(name: str) -> None:
    snapshot = table({0: (_listing(name), METADATA, FILE)}).snapshot()
    assert paths(snapshot) == {("a", None)}


@pytest.mark.conformance("FEAT-001")
def test_all_features_that_are_missing_are_named() -> None:
    with pytest.raises(UnsupportedFeature, match="timeMachine, weather") as caught:
        check_readable(_listing("deletionVectors", "timeMachine", "weather"), 3)
    assert caught.value.features == ["timeMachine", "weather"]


@pytest.mark.conformance("FEAT-001")
@pytest.mark.parametrize("name", [*WRITERS_ONLY, "neverHeardOf"])
def test_a_feature_that_binds_writers_alone_does_not_keep_a_reader_out(name: str) -> None:
    assert table({0: (_listing(name, readers=()), METADATA, FILE)}).snapshot().num_files == 1


@pytest.mark.conformance("FEAT-011", "NANOTS-001", "AMT-001")
@pytest.mark.parametrize(
    "name",
    [
        "adaptiveMetadata",
        "adaptiveMetadata-preview",
        "redirectReaderWriter-preview",
        "geospatial-dev",
        "timestampNanos",
        "deletionVectors-preview",
    ],
)
def test_a_name_that_is_not_supported_on_purpose_is_refused_by_it(name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=name) as caught:
        table({0: (_listing("deletionVectors", name), METADATA)}).snapshot()
    assert caught.value.features == [name]


@pytest.mark.conformance("FEAT-011")
@pytest.mark.parametrize("name", ["typeWidening", "variantType", "variantShredding"])
def test_a_preview_is_a_feature_of_its_own_that_is_supported_on_purpose(name: str) -> None:
    preview = f"{name}-preview"
    assert supported_features(_listing(preview)) == (preview,)
    assert paths(table({0: (_listing(preview), METADATA, FILE)}).snapshot()) == {("a", None)}


@pytest.mark.conformance("CATALOG-001")
@pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned-preview", "catalogOwned"])
def test_a_table_whose_commits_a_catalog_ratifies_is_refused_from_its_path(name: str) -> None:
    commits = {0: (PROTOCOL, METADATA, FILE), 1: (_listing(name, "inCommitTimestamp", readers=(name,)),)}
    found = table(commits)
    assert found.snapshot(0).num_files == 1
    with pytest.raises(UnsupportedFeature, match=name):
        found.snapshot(1)


@pytest.mark.conformance("CATALOG-006")
@pytest.mark.parametrize("name", ["coordinatedCommits-preview", "managedCommits-dev", "redirectWriterOnly-preview"])
def test_older_coordinated_commits_bind_writers_and_what_is_published_is_read(name: str) -> None:
    protocol = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp", name))
    found = table({0: (protocol, METADATA, FILE), 1: (CommitInfo(operation="WRITE"), add("b"))})
    assert paths(found.snapshot()) == {("a", None), ("b", None)}


@pytest.mark.conformance("META-002")
@pytest.mark.parametrize(
    "format_member",
    ["", '"format":{"provider":"parquet"},', '"format":{"provider":"parquet","options":null},', '"format":null,'],
)
def test_absent_maps_of_the_metadata_are_empty(format_member: str) -> None:
    text = f'{{"metaData":{{"id":"x",{format_member}"schemaString":{json.dumps(SCHEMA)},"partitionColumns":[]}}}}'
    snapshot = table({0: (PROTOCOL, text.encode(), FILE)}).snapshot()
    assert snapshot.properties == {}
    assert snapshot.metadata.format == Format("parquet", {})
    assert snapshot.num_files == 1


@pytest.mark.conformance("META-002")
def test_a_missing_schema_is_not_taken_for_an_empty_one() -> None:
    with pytest.raises(CorruptTable, match="schemaString"):
        table({0: (PROTOCOL, b'{"metaData":{"id":"x"}}', FILE)}).snapshot().require_schema()


@pytest.mark.conformance("META-006")
def test_parquet_is_read_and_every_other_format_is_refused_by_name() -> None:
    assert table({0: (PROTOCOL, METADATA, FILE)}).snapshot().metadata.format.provider == "parquet"
    other = Metadata(id="x", schema_string=SCHEMA, format=Format("orc", {"compression": "zlib"}))
    with pytest.raises(CorruptTable, match="'orc'") as caught:
        table({0: (PROTOCOL, other)}).snapshot()
    assert caught.value.found == "orc"


@pytest.mark.conformance("META-008")
@pytest.mark.parametrize(("key", "append_only"), [("appendOnly", False), ("delta.appendOnly", True)])
def test_a_property_counts_under_its_full_name_and_unknown_keys_are_kept(key: str, append_only: bool) -> None:
    kept = {key: "true", "someone.else": "1", "delta.unheardOf": ""}
    snapshot = table({0: (PROTOCOL, Metadata(id="x", schema_string=SCHEMA, configuration=kept))}).snapshot()
    assert snapshot.properties == kept
    assert flag(snapshot.properties, "delta.appendOnly") is append_only


@pytest.mark.conformance("META-002")
def test_null_maps_of_a_checkpoint_are_empty() -> None:
    store = new_store()
    bare = Metadata(id="x", schema_string=SCHEMA, format=Format("parquet", {}))
    write_checkpoint(store, 0, [PROTOCOL, bare, FILE], "classic")
    snapshot = table({1: ()}, store).snapshot()
    assert (snapshot.properties, snapshot.metadata.format.options) == ({}, {})


@pytest.mark.conformance("FILE-002")
def test_a_remove_of_a_path_alone_takes_the_file_away() -> None:
    gone = b'{"remove":{"path":"a","dataChange":true}}'
    found = table({0: (PROTOCOL, METADATA, FILE, add("b")), 1: (gone,)})
    assert paths(found.snapshot(0)) == {("a", None), ("b", None)}
    assert paths(found.snapshot()) == {("b", None)}


@pytest.mark.conformance("CM-001")
@pytest.mark.parametrize("mode", ["name", "id", "NAME", "Id"])
def test_a_mapping_mode_is_name_or_id_in_any_case(mode: str) -> None:
    field = {"name": "n", "type": "long", "nullable": True}
    mapped = {**field, "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"}}
    schema = json.dumps({"type": "struct", "fields": [mapped]})
    configuration = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "1"}
    metadata = msgspec.structs.replace(METADATA, schema_string=schema, configuration=configuration)
    found = table({0: (Protocol(min_reader_version=2, min_writer_version=5), metadata)}).snapshot()
    assert found.column_mapping_mode == mode.lower()
    assert found.schema.fields[0].physical_name == "col-1"


@pytest.mark.conformance("CM-001")
def test_a_mapping_mode_that_does_not_exist_is_refused() -> None:
    metadata = msgspec.structs.replace(METADATA, configuration={"delta.columnMapping.mode": "both"})
    found = table({0: (Protocol(min_reader_version=2, min_writer_version=5), metadata)})
    with pytest.raises(CorruptTable, match="both"):
        _ = found.snapshot().column_mapping_mode


@pytest.mark.conformance("FEAT-002")
@pytest.mark.parametrize(("readers", "writers", "reads"), [("zeta", "zeta", False), ("", "zeta", True)])
def test_a_feature_that_is_not_known_stops_reading_only_where_readers_are_bound(
    readers: str, writers: str, reads: bool
) -> None:
    protocol = _listing(writers, readers=tuple(readers.split()))
    found = table({0: (protocol, METADATA, FILE)})
    if reads:
        assert paths(found.snapshot()) == {("a", None)}
        guards = found.plan({"kind": "set-description", "description": "x"}, check_rows=False).blocking
        assert "zeta" in str([guard.evidence for guard in guards])
    else:
        with pytest.raises(UnsupportedFeature, match="zeta"):
            found.snapshot()
