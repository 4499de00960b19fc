"""Table properties: true keys, values in range, and what else they ask for."""

import json
from contextlib import nullcontext

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_features import FEATURES, feature_of_property, features_switched_on
from explorer.core.transaction.intents.property_settings import (
    check_formats,
    check_properties,
    requested_properties,
    statistics_columns_of,
)
from tests.support.shared_tables import reference_root


def test_keys_get_their_true_case_and_values_stay_as_given() -> None:
    given = {"DELTA.APPENDONLY": "FALSE", "Author": "ann", "author": "bob", "delta.checkpointinterval": "50"}
    assert check_properties(given) == {
        "delta.appendOnly": "FALSE",
        "Author": "ann",
        "author": "bob",
        "delta.checkpointInterval": "50",
    }


@pytest.mark.parametrize(
    ("key", "nearest"),
    [("delta.apendOnly", "delta.appendOnly"), ("delta.enableCDF", None), ("delta.logRetention", None)],
)
def test_an_unknown_delta_key_is_refused_with_the_nearest(key: str, nearest: str | None) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_properties({key: "true"})
    assert caught.value.field == key
    assert nearest is None or caught.value.nearest == nearest


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delta.appendOnly", "maybe"),
        ("delta.appendOnly", " true"),
        ("delta.appendOnly", ""),
        ("delta.checkpointInterval", "0"),
        ("delta.checkpointInterval", "99999999999"),
        ("delta.checkpointInterval", "1_0"),
        ("delta.checkpointInterval", "٣"),
        ("delta.dataSkippingNumIndexedCols", "-2"),
        ("delta.minReaderVersion", "4"),
        ("delta.isolationLevel", "SnapshotIsolation"),
        ("delta.universalFormat.enabledFormats", "paimon"),
        ("delta.universalFormat.enabledFormats", "hudi,"),
        ("delta.universalFormat.enabledFormats", " hudi"),
        ("delta.parquet.format.version", "2"),
        ("delta.parquet.compression.codec", "rubbish"),
        ("delta.dataSkippingStringPrefixLength", "-1"),
        ("delta.checkpointPolicy", "v3"),
        ("delta.columnMapping.mode", "nope"),
        ("delta.logRetentionDuration", "rubbish"),
        ("delta.logRetentionDuration", "interval 2 months"),
        ("delta.logRetentionDuration", "interval -1 days"),
        ("delta.logRetentionDuration", "interval 999999999999999999 weeks"),
        ("delta.dataSkippingStatsColumns", "id,ID"),
        ("delta.dataSkippingStatsColumns", "id,"),
        pytest.param("delta.columnMapping.maxColumnId", "7", marks=pytest.mark.conformance("CM-009")),
        pytest.param("delta.columnMapping.hasDroppedOrRenamed", "false", marks=pytest.mark.conformance("CMUSAGE-001")),
        ("delta.rowTracking.materializedRowIdColumnName", "x"),
        ("delta.inCommitTimestampEnablementVersion", "7"),
        ("delta.constraints.c", "id > 0"),
        ("DELTA.CONSTRAINTS.c", "id > 0"),
        ("delta.feature.nope", "supported"),
        ("delta.feature.deletionVectors", "disabled"),
        ("delta.feature.catalogManaged", "supported"),
        ("delta.feature.clustering", "supported"),
        ("location", "/elsewhere"),
        ("Provider", "parquet"),
        ("clusteringColumns", "id"),
        ("", "x"),
    ],
)
def test_what_may_not_be_set_is_refused_by_its_key(key: str, value: str) -> None:
    with pytest.raises(InvalidIntent) as caught:
        check_properties({key: value})
    assert caught.value.field is not None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("delta.isolationLevel", "serializable"),
        ("delta.columnMapping.mode", "NAME"),
        ("delta.dataSkippingStatsColumns", ""),
        ("delta.universalFormat.enabledFormats", ""),
        ("delta.universalFormat.enabledFormats", "hudi,iceberg"),
        ("delta.universalformat.config.iceberg.Key", "x"),
        ("delta.castIcebergTimeType", "true"),
        ("delta.dataSkippingStringPrefixLength", "0"),
        ("delta.checkpointInterval", "+5"),
        ("delta.deletedFileRetentionDuration", "5 DAYS 2 hours 3 minutes 1 SECOND 2 milliseconds 3 microseconds"),
        ("delta.parquet.format.version", "2.12.0"),
        ("ClusteringColumns", "x"),
    ],
)
def test_what_the_reference_takes_is_taken_as_it_is_given(key: str, value: str) -> None:
    assert check_properties({key: value}) == {key: value}


def test_other_formats_need_a_layout_that_they_can_show() -> None:
    for extra, taken in (({}, False), ({"delta.enableIcebergCompatV2": "True"}, True)):
        with nullcontext() if taken else pytest.raises(InvalidIntent, match="iceberg"):
            check_formats({"delta.universalFormat.enabledFormats": "iceberg", **extra})
    check_formats({"delta.universalFormat.enabledFormats": "hudi", "delta.enableDeletionVectors": "false"})
    with pytest.raises(InvalidIntent, match="hudi"):
        check_formats({"delta.universalFormat.enabledFormats": "hudi", "delta.enableDeletionVectors": "true"})


def test_one_property_in_two_cases_is_refused() -> None:
    with pytest.raises(InvalidIntent, match="twice"):
        check_properties({"delta.appendOnly": "true", "DELTA.APPENDONLY": "false"})


def test_wishes_are_told_from_properties() -> None:
    wishes = requested_properties(
        check_properties(
            {
                "delta.feature.deletionVectors": "supported",
                "delta.minWriterVersion": "4",
                "comment": "c",
                "team": "x",
            }
        )
    )
    assert wishes.configuration == {"team": "x"}
    assert requested_properties({"delta.ignoreProtocolDefaults": "true"}).configuration == {}
    assert wishes.features == ("deletionVectors",)
    assert (wishes.min_reader_version, wishes.min_writer_version) == (None, 4)
    assert (wishes.comments, wishes.description) == (True, "c")


def test_properties_switch_features_on_by_their_value() -> None:
    assert features_switched_on({"delta.enableDeletionVectors": "TRUE", "delta.enableChangeDataFeed": "false"}) == (
        "deletionVectors",
    )
    assert features_switched_on(
        {"delta.columnMapping.mode": "id", "delta.checkpointPolicy": "classic", "x": "true"}
    ) == ("columnMapping",)
    assert (feature_of_property("delta.checkpointPolicy"), FEATURES["v2Checkpoint"].on) == ("v2Checkpoint", ("v2",))
    assert feature_of_property("delta.logRetentionDuration") is None


def test_statistics_columns_are_split_at_commas_outside_backticks() -> None:
    assert statistics_columns_of("id, s.a,`odd, col`.`x``y`") == (("id",), ("s", "a"), ("odd, col", "x`y"))


@pytest.mark.reference
def test_every_property_that_the_reference_wrote_is_known() -> None:
    keys: dict[str, str] = {}
    for path in sorted(reference_root().glob("tables/*/_delta_log/*.json")):
        for line in path.read_text().splitlines():
            keys |= json.loads(line).get("metaData", {}).get("configuration", {})
    fixed = ("delta.constraints.", "delta.rowTracking.mat", "delta.inCommitTimestampE", "delta.columnMapping.max")
    ours = {k: v for k, v in keys.items() if not k.startswith((*fixed, "delta.requireCheckpoint", "delta.unknownKey"))}
    assert len(ours) > 15
    assert list(check_properties(ours)) == list(ours)
