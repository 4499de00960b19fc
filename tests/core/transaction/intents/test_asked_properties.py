"""Properties as people ask for them: true keys, what they ask for, and each refusal whole with the nearest key."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.table_features import FEATURES
from explorer.core.transaction.intents.property_settings import (
    RequestedProperties,
    check_formats,
    check_properties,
    feature_name,
    requested_properties,
    statistics_columns_of,
    true_key,
)

STATS, FORMATS = "delta.dataSkippingStatsColumns", "delta.universalFormat.enabledFormats"
MOVES = "a property cannot move a table"
CATALOG = "it belongs to the catalog"


def refused(key: str, value: str = "true") -> InvalidIntent:
    with pytest.raises(InvalidIntent) as caught:
        check_properties({"own": "x", key: value})
    return caught.value


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("delta.APPENDonly", "delta.appendOnly"),
        ("DELTA.feature.DELETIONvectors", "delta.feature.deletionvectors"),
        ("Delta.UniversalFormat.Config.iceberg.Key", "delta.universalformat.config.iceberg.Key"),
        ("deltaX", "deltaX"),
        ("Own.Key", "Own.Key"),
        (" own", " own"),
        ("comment", "comment"),
    ],
)
def test_a_key_has_its_true_case(given: str, key: str) -> None:
    assert true_key(given) == key


@pytest.mark.parametrize(
    ("key", "said", "allowed", "nearest"),
    [
        ("", "A property needs a name.", None, None),
        (" \t", "A property needs a name.", None, None),
        ("location", f"The property 'location' cannot be set on the table: {MOVES}.", None, None),
        ("Location", f"The property 'Location' cannot be set on the table: {MOVES}.", None, None),
        (
            "provider",
            "The property 'provider' cannot be set on the table: a Delta table cannot change its format.",
            None,
            None,
        ),
        *(
            (key, f"The property {key!r} cannot be set on the table: {CATALOG}.", None, None)
            for key in ("owner", "external", "is_managed_location", "table_type")
        ),
        (
            "clusteringColumns",
            "clusteringColumns is set by naming the columns (ALTER TABLE ... CLUSTER BY in Spark).",
            None,
            None,
        ),
        (
            "Delta.Constraints.C",
            (
                "Delta.Constraints.C is a CHECK constraint, which all rows must satisfy. Add or drop "
                "it with add-constraint and drop-constraint."
            ),
            ["add-constraint", "drop-constraint"],
            None,
        ),
        (
            "delta.feature.deletionVector",
            "There is no table feature 'deletionVector'. Did you mean deletionVectors?",
            list(FEATURES),
            "deletionVectors",
        ),
        ("DELTA.FEATURE.zzz", "There is no table feature 'zzz'.", list(FEATURES), None),
        (
            "delta.AppendOnyl",
            (
                "There is no table property 'delta.AppendOnyl'. Did you mean delta.appendOnly? Names that "
                "start with delta. belong to Delta; any other name is free."
            ),
            None,
            "delta.appendOnly",
        ),
        (
            f"delta.{'zq' * 20}",
            (
                f"There is no table property 'delta.{'zq' * 20}'. Names that start with delta. belong to "
                "Delta; any other name is free."
            ),
            None,
            None,
        ),
    ],
)
def test_a_key_that_is_no_property_is_refused_with_what_to_do(
    key: str, said: str, allowed: list[str] | None, nearest: str | None
) -> None:
    error = refused(key)
    assert (str(error), error.field) == (said, key)
    assert (error.allowed, error.nearest) == (allowed, nearest)


def test_a_name_that_is_half_right_still_has_a_nearest() -> None:
    error = refused("delta.logRetention")
    assert error.nearest == "delta.logRetentionDuration"
    assert refused("delta.keepFilesFor").nearest == "delta.randomizeFilePrefixes"


@pytest.mark.parametrize(
    ("key", "value", "allowed", "said"),
    [
        (
            "delta.APPENDONLY",
            "maybe",
            ["true", "false"],
            "The property delta.appendOnly cannot be 'maybe'; it must be true or false.",
        ),
        (
            "delta.minReaderVersion",
            "4",
            ["an integer from 1 to 3"],
            "The property delta.minReaderVersion cannot be '4'; it must be an integer from 1 to 3.",
        ),
        (
            "delta.feature.deletionVectors",
            "off",
            ["supported"],
            "The property delta.feature.deletionVectors cannot be 'off'; it must be supported.",
        ),
        (
            "delta.isolationLevel",
            "Snapshot",
            ["Serializable"],
            "The property delta.isolationLevel cannot be 'Snapshot'; it must be Serializable.",
        ),
        (STATS, "a.", ["a, b.c, `odd name`"], f"The property {STATS} cannot be 'a.'; it must be a, b.c, `odd name`."),
    ],
)
def test_a_value_that_is_not_allowed_is_told_with_those_that_are(
    key: str, value: str, allowed: list[str], said: str
) -> None:
    error = refused(key, value)
    assert (str(error), error.found, error.allowed) == (said, value, allowed)
    assert error.field == said.split()[2]


@pytest.mark.parametrize(
    ("key", "value", "field", "said"),
    [
        (
            "delta.ColumnMapping.maxColumnId",
            "7",
            "delta.columnMapping.maxColumnId",
            "The property delta.columnMapping.maxColumnId cannot be set by hand: column mapping maintains it itself.",
        ),
        (
            "delta.feature.Clustering",
            "supported",
            "delta.feature.clustering",
            (
                "The feature clustering cannot be added: clustering starts by naming the columns (ALTER TABLE ... "
                "CLUSTER BY in Spark), which adds it."
            ),
        ),
        (
            "delta.feature.catalogManaged",
            "ENABLED",
            "delta.feature.catalogmanaged",
            "The feature catalogManaged cannot be added: it comes with the catalog that creates the table.",
        ),
        (STATS, "a, b.c, A, B.C", STATS, f"{STATS} names a twice."),
        (STATS, "s.X, id, s.x", STATS, f"{STATS} names s.x twice."),
    ],
)
def test_what_is_not_for_people_to_set_says_why(key: str, value: str, field: str, said: str) -> None:
    error = refused(key, value)
    assert (str(error), error.field) == (said, field)


@pytest.mark.parametrize("value", ["supported", "Enabled", "SUPPORTED", "enabled"])
def test_a_feature_is_asked_for_in_two_words(value: str) -> None:
    assert check_properties({"delta.feature.DeletionVectors": value}) == {"delta.feature.deletionvectors": value}


def test_a_property_is_given_once_and_the_order_stays() -> None:
    given = {"z": "1", "delta.appendOnly": "TRUE", "a": "2"}
    assert list(check_properties(given).items()) == list(given.items())
    with pytest.raises(InvalidIntent) as caught:
        check_properties({"delta.appendOnly": "true", "own": "1", "DELTA.APPENDONLY": "true"})
    assert str(caught.value) == "The property delta.appendOnly is given twice."
    assert caught.value.field == "DELTA.APPENDONLY"


def test_the_name_of_a_feature_has_its_true_case() -> None:
    assert feature_name("DELETIONVECTORS", "feature") == "deletionVectors"
    with pytest.raises(InvalidIntent) as caught:
        feature_name("RowTraking", "feature")
    assert str(caught.value) == "There is no table feature 'RowTraking'. Did you mean rowTracking?"
    assert (caught.value.field, caught.value.nearest) == ("feature", "rowTracking")
    assert caught.value.allowed == list(FEATURES)


@pytest.mark.parametrize(
    ("given", "wishes"),
    [
        ({}, RequestedProperties({})),
        (
            {
                "own": "x",
                "delta.feature.rowTracking": "supported",
                "delta.minReaderVersion": "2",
                "delta.feature.appendOnly": "enabled",
                "delta.minWriterVersion": "7",
                "delta.ignoreProtocolDefaults": "true",
                "delta.appendOnly": "TRUE",
                "comment": "",
                "Comment": "kept",
            },
            RequestedProperties(
                {"own": "x", "delta.appendOnly": "TRUE", "Comment": "kept"},
                ("rowTracking", "appendOnly"),
                2,
                7,
                comments=True,
                description="",
            ),
        ),
        ({"delta.minReaderVersion": "1"}, RequestedProperties({}, (), 1, None)),
        ({"delta.minWriterVersion": "3"}, RequestedProperties({}, (), None, 3)),
    ],
)
def test_wishes_are_sorted_out(given: dict[str, str], wishes: RequestedProperties) -> None:
    found = requested_properties(check_properties(given))
    assert found == wishes
    assert list(found.configuration) == list(wishes.configuration)
    assert type(found.comments) is bool


@pytest.mark.parametrize(
    ("value", "columns"),
    [("", ()), (" \t", ()), ("a", (("a",),)), ("A.b, `x.y`.z", (("A", "b"), ("x.y", "z")))],
)
def test_columns_of_statistics_are_split(value: str, columns: tuple[tuple[str, ...], ...]) -> None:
    assert statistics_columns_of(value) == columns


def test_columns_of_statistics_that_are_no_list_are_refused() -> None:
    with pytest.raises(InvalidIntent) as caught:
        statistics_columns_of("a,`b")
    error = caught.value
    assert (error.field, error.found, error.allowed) == (STATS, "a,`b", ["a, b.c, `odd name`"])
    assert str(error) == f"The property {STATS} cannot be 'a,`b'; it must be a, b.c, `odd name`."
    assert isinstance(error.__cause__, ValueError)


LAYOUT = "delta.enableIcebergCompatV"


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, None),
        ({FORMATS: "hudi"}, None),
        ({FORMATS: "hudi", "delta.enableDeletionVectors": "false"}, None),
        ({"delta.enableDeletionVectors": "true"}, None),
        ({FORMATS: "iceberg", f"{LAYOUT}1": "true"}, None),
        ({FORMATS: "iceberg", f"{LAYOUT}2": "TRUE", "delta.enableDeletionVectors": "true"}, None),
        ({FORMATS: "iceberg,hudi", f"{LAYOUT}3": "true"}, None),
        ({FORMATS: "iceberg"}, f"{FORMATS} names iceberg, which needs {LAYOUT}2."),
        ({FORMATS: "hudi,iceberg", f"{LAYOUT}2": "false"}, f"{FORMATS} names iceberg, which needs {LAYOUT}2."),
        (
            {FORMATS: "hudi", "delta.enableDeletionVectors": "True"},
            f"{FORMATS} names hudi, which does not support deletion vectors.",
        ),
    ],
)
def test_other_formats_can_show_what_the_table_holds(properties: dict[str, Any], said: str | None) -> None:
    if said is None:
        check_formats(properties)
        assert "perhaps" not in properties.values()
        return
    with pytest.raises(InvalidIntent) as caught:
        check_formats(properties)
    assert (str(caught.value), caught.value.field) == (said, FORMATS)
