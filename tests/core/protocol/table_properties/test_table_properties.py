"""Rows of properties and features: each reads its own value, takes its own default, and names what there is."""

from datetime import timedelta

import pytest

from explorer.core.errors import CorruptTable
from explorer.core.protocol.table_features import FEATURES, feature_of_property, missing_features
from explorer.core.protocol.table_properties import registry
from explorer.core.protocol.table_properties.registry import PROPERTIES
from tests.support.at_least_one import at_least_one
from tests.support.logs.small_proposals import protocol


def test_a_property_that_is_not_set_has_its_default() -> None:
    assert registry.LOG_RETENTION.of({}) == timedelta(days=30)
    assert registry.CHECKPOINT_INTERVAL.of({}) == 10
    assert registry.EXPIRED_LOG_CLEANUP.of({})
    assert not registry.APPEND_ONLY.of({})
    assert registry.COLUMN_MAPPING_MODE.of({}) == "none"


def test_a_property_without_a_default_says_what_holds_where_it_is_not_set() -> None:
    assert registry.SET_TRANSACTION_RETENTION.of({}, unset=timedelta(days=7)) == timedelta(days=7)
    assert registry.HAS_DROPPED_OR_RENAMED.of({}, unset=True)
    assert registry.MAX_COLUMN_ID.of({}) == 0


def test_a_property_that_is_set_is_read_as_it_is_written() -> None:
    assert registry.LOG_RETENTION.of({"delta.logRetentionDuration": "interval 2 days 3 hours"}) == timedelta(hours=51)
    assert registry.APPEND_ONLY.of({"delta.appendOnly": "TRUE"})
    formats = {"delta.universalFormat.enabledFormats": "hudi,iceberg"}
    assert registry.ENABLED_FORMATS.words(formats) == ("hudi", "iceberg")


@pytest.mark.parametrize(
    "row", [registry.LOG_RETENTION, registry.APPEND_ONLY, registry.CHECKPOINT_INTERVAL], ids=lambda row: row.key
)
def test_a_value_that_cannot_be_read_is_an_error_that_names_the_property(row: registry.Interval) -> None:
    with pytest.raises(CorruptTable, match=row.key):
        row.of({row.key: "rubbish"})


@pytest.mark.parametrize(
    ("row", "text", "expected", "shown"),
    [
        (registry.APPEND_ONLY, "yes", "true or false", "yes"),
        (registry.CHECKPOINT_INTERVAL, "ten", "an integer", "ten"),
        (registry.LOG_RETENTION, "7 moons", "an interval such as 'interval 7 days'", "7 moons"),
        (registry.LOG_RETENTION, "", "an interval such as 'interval 7 days'", ""),
        (
            registry.LOG_RETENTION,
            "interval 1000000000 days",
            "an interval such as 'interval 7 days', of at most 999,999,999 days",
            "interval 1000000000 days",
        ),
        (registry.LOG_RETENTION, "7" * 201, "an interval such as 'interval 7 days'", f"{'7' * 200}…"),
    ],
)
def test_a_value_that_cannot_be_read_says_what_it_must_be(
    row: registry.Interval, text: str, expected: str, shown: str
) -> None:
    with pytest.raises(CorruptTable) as caught:
        row.of({row.key: text})
    assert (caught.value.found, caught.value.expected) == (shown, expected)
    assert str(caught.value) == (
        f"The table property {row.key} is {shown!r}; it must be {expected}. Set the property again to repair the table."
    )


def test_every_row_takes_its_default_and_the_values_that_it_allows() -> None:
    for row in at_least_one(PROPERTIES.values()):
        values = (*row.allowed, *([] if row.default is None else [row.default]))
        assert [value for value in values if row.refusal(value) != ()] == [], row.key


def test_every_feature_names_features_and_values_that_there_are() -> None:
    for feature in at_least_one(FEATURES.values()):
        assert set(feature.requires) <= set(FEATURES), feature.name
        if feature.switch is not None:
            assert feature_of_property(feature.switch.key) == feature.name
            assert [value for value in feature.on if feature.switch.refusal(value)] == [], feature.name


def test_a_feature_listed_as_a_preview_is_not_missing() -> None:
    rules = protocol(3, 7, r="typeWidening-preview", w="typeWidening-preview")
    assert missing_features(["typeWidening", "rowTracking", "rowTracking"], rules) == ("rowTracking",)
