"""What columns of some kinds ask of a table: their metadata, the protocol, what they may not be."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import ExplorerError, InvalidIntent
from explorer.core.protocol.actions import DomainMetadata, Protocol
from explorer.core.protocol.table_features import active_features, supported_features
from explorer.core.transaction.intents.documents import parse_intent
from explorer.core.transaction.intents.records import SyncIdentity
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.proposal import Proposal
from explorer.core.transaction.proposals.create_table import create_table
from explorer.core.transaction.proposals.identity_columns import sync_identity
from explorer.data_files.file_plan import file_plan
from explorer.data_files.in_memory_rows import write_rows
from tests.support.at_least_one import at_least_one
from tests.support.logs import small_logs
from tests.support.logs.small_proposals import circumstances, proposal, protocol, snapshot
from tests.support.logs.small_schemas import IDENTITY, array, field, struct


def created(*fields: dict[str, Any], **more: Any) -> Proposal:
    intent: Any = parse_intent({"kind": "create-table", "schema": struct(*fields), **more})
    return create_table(intent, circumstances())


def stored_fields(made: Proposal) -> list[dict[str, Any]]:
    """The fields of the schema that a proposal writes, as they are in the log."""
    assert made.metadata is not None
    found: list[dict[str, Any]] = json.loads(made.metadata.schema_string or "")["fields"]
    return found


def written(before: explorer.Snapshot, rows: pa.Table) -> tuple[bytes, dict[str, Any]]:
    """The one file of some rows, and its statistics."""
    store, layout = small_logs.new_store(), FileLayout.of(before)
    (file,) = write_rows(store, layout, file_plan(layout), rows).files
    return store.read(file.location), json.loads(layout.add_of(file).stats or "")


# --- identity columns


@pytest.mark.conformance("IDENT-001")
@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize(("start", "step"), [(1, 2), (-5, -(2**40)), (2**62, 1)])
def test_an_identity_column_is_written_with_longs_a_boolean_and_its_protocol(
    start: int, step: int, explicit: bool
) -> None:
    asked = {"delta.identity.start": start, "delta.identity.step": step, "delta.identity.allowExplicitInsert": explicit}
    made = created(field("i", "long", metadata=asked), field("v"))
    (identity, _) = stored_fields(made)
    # By JSON, where 1 is not true.
    assert json.dumps(identity["metadata"], sort_keys=True) == json.dumps(asked, sort_keys=True)
    assert made.protocol is not None
    assert (made.protocol.min_writer_version in (6, 7), "identityColumns" in supported_features(made.protocol)) == (
        True,
        True,
    )


@pytest.mark.conformance("IDENT-001")
@pytest.mark.parametrize(
    ("rules", "bound"),
    [
        (protocol(1, 6), True),
        (protocol(1, 7, w="identityColumns"), True),
        (protocol(3, 7, r="", w="identityColumns"), True),
        (protocol(1, 7, w="invariants"), False),
        (protocol(1, 5), False),
    ],
)
def test_an_identity_column_counts_under_writer_version_6_or_its_feature(rules: Protocol, bound: bool) -> None:
    before = snapshot(rules=rules, schema=json.dumps(struct(field("i", "long", metadata=IDENTITY))))
    assert ("identityColumns" in active_features(before.protocol)) == bound


@pytest.mark.conformance("IDENT-001", "IDENT-005")
@pytest.mark.parametrize("mark", [None, 9])
def test_the_mark_of_an_identity_column_is_a_long_that_goes_on_from_the_last_one(mark: int | None) -> None:
    marked = IDENTITY | ({} if mark is None else {"delta.identity.highWaterMark": mark})
    kind = struct(field("i", "long", metadata=marked))
    made = sync_identity(SyncIdentity(column="i"), snapshot(rules=protocol(1, 6), schema=json.dumps(kind)), 11)
    (identity,) = stored_fields(made)
    assert identity["metadata"] == {**IDENTITY, "delta.identity.highWaterMark": 11}
    assert type(identity["metadata"]["delta.identity.highWaterMark"]) is int


# --- times without a zone

_NTZ = "timestamp_ntz"


@pytest.mark.conformance("NTZ-001", "FEAT-003")
@pytest.mark.parametrize(
    "kind",
    [_NTZ, array(_NTZ), struct(field("t", _NTZ))],
    ids=["plain", "in an array", "in a struct"],
)
def test_a_time_without_a_zone_brings_its_feature_for_readers_and_writers(kind: Any) -> None:
    made = created(field("id", "long"), field("t", kind))
    later = proposal(snapshot(rules=protocol(1, 2)), "add-columns", fields=[field("t", kind)])
    for each in (made, later):
        assert each.protocol is not None
        assert (each.protocol.min_reader_version, each.protocol.min_writer_version) == (3, 7)
        for features in at_least_one((each.protocol.reader_features, each.protocol.writer_features)):
            assert "timestampNtz" in (features or ())
        assert stored_fields(each)[1]["type"] == kind, "the type is called timestamp_ntz in the log"


@pytest.mark.conformance("NTZ-001")
def test_files_say_of_a_time_without_a_zone_that_it_is_not_adjusted_to_utc() -> None:
    ntz = protocol(3, 7, r="timestampNtz", w="timestampNtz")
    fields = [field("wall", _NTZ), field("instant", "timestamp"), field("walls", array(_NTZ))]
    before = snapshot(rules=ntz, schema=json.dumps(struct(*fields)))
    moment = 1_700_000_000_123_456
    rows = pa.table(
        {
            "wall": pa.array([moment], pa.timestamp("us")),
            "instant": pa.array([moment], pa.timestamp("us", "UTC")),
            "walls": pa.array([[moment]], pa.list_(pa.timestamp("us"))),
        }
    )
    data, stats = written(before, rows)
    columns = pq.ParquetFile(BytesIO(data)).metadata.schema
    types = [json.loads(columns.column(place).logical_type.to_json()) for place in range(3)]
    assert [each["isAdjustedToUTC"] for each in types] == [False, True, False]
    assert (stats["minValues"]["wall"], stats["minValues"]["instant"]) == (
        "2023-11-14T22:13:20.123",
        "2023-11-14T22:13:20.123Z",
    ), "a bound has a zone where its column has one"


# --- clustering columns


def clustered(*columns: list[str], properties: dict[str, str] | None = None) -> explorer.Snapshot:
    rules = protocol(1, 7, w="clustering domainMetadata")
    text = json.dumps({"clusteringColumns": columns, "domainName": "delta.clustering"})
    inner = struct(field("x", "long"), field("y", "long"))
    kind = struct(*(field(f"c{number}", "long") for number in range(40)), field("s", inner))
    domain = DomainMetadata(domain="delta.clustering", configuration=text)
    return snapshot(domain, rules=rules, schema=json.dumps(kind), properties=properties)


@pytest.mark.conformance("CLUSTER-002")
@pytest.mark.parametrize(
    "properties",
    [{}, {"delta.dataSkippingNumIndexedCols": "0"}, {"delta.dataSkippingStatsColumns": "c0"}],
    ids=["the first 32", "none", "another one"],
)
def test_a_new_file_has_statistics_of_every_clustering_column_whatever_else_is_described(
    properties: dict[str, str],
) -> None:
    before = clustered(["c39"], ["s", "x"], properties=properties)
    rows = pa.table({**{f"c{number}": [number, number + 1] for number in range(40)}, "s": [{"x": 7, "y": 8}, None]})
    _, stats = written(before, rows)
    assert (stats["minValues"]["c39"], stats["maxValues"]["c39"], stats["nullCount"]["c39"]) == (39, 40, 0)
    assert (stats["minValues"]["s"], stats["maxValues"]["s"], stats["nullCount"]["s"]) == ({"x": 7}, {"x": 7}, {"x": 1})
    assert "c38" not in stats["minValues"]


@pytest.mark.conformance("CLUSTER-002", "VARIANT-002")
@pytest.mark.parametrize("column", ["v", "c"])
@pytest.mark.parametrize("name", ["delta.clustering", "DELTA.clustering"])
def test_no_intent_clusters_a_table_by_other_columns_so_no_file_lacks_their_statistics(name: str, column: str) -> None:
    rules = protocol(3, 7, r="variantType", w="variantType clustering domainMetadata")
    before = snapshot(rules=rules, schema=json.dumps(struct(field("v", "variant"), field("c", "long"))))
    text = json.dumps({"clusteringColumns": [[column]], "domainName": "delta.clustering"})
    with pytest.raises(InvalidIntent, match="belong to Delta"):
        proposal(before, "set-domain", domain=name, configuration=text)
    with pytest.raises(ExplorerError):
        proposal(before, "enable-feature", feature="clustering")
    with pytest.raises(ExplorerError):
        parse_intent({"kind": "create-table", "schema": struct(field("c", "long")), "clusterBy": [column]})


# --- variants


@pytest.mark.conformance("VARIANT-002")
def test_a_variant_is_written_as_its_two_fields_alone() -> None:
    rules = protocol(3, 7, r="variantType", w="variantType")
    kind = struct(field("id", "long"), field("v", "variant"), field("vs", array("variant")))
    one = {"metadata": b"\x01\x00\x00", "value": b"\x0c\x01"}
    stored = pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    rows = pa.table(
        {"id": [1, 2], "v": pa.array([one, None], stored), "vs": pa.array([[one, None], []], pa.list_(stored))}
    )
    data, stats = written(snapshot(rules=rules, schema=json.dumps(kind)), rows)
    found = pq.read_schema(BytesIO(data))
    for name, each in (("v", found.field("v").type), ("vs", found.field("vs").type.value_type)):
        assert sorted(part.name for part in each) == ["metadata", "value"], name
        assert {part.type for part in each} == {pa.binary()}
    assert pq.read_table(BytesIO(data)).to_pylist() == rows.to_pylist()
    assert "v" not in stats["minValues"]
