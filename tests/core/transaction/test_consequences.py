"""What a commit means for time travel and for the change data feed."""

from __future__ import annotations

import msgspec
import pytest

from explorer.core.protocol.actions import Metadata
from explorer.core.transaction.consequences import change_feed_effect, time_travel_effect
from explorer.core.transaction.proposal import Proposal
from tests.support.logs.small_logs import METADATA, PROTOCOL, SCHEMA, add, remove, table

ON = {"delta.enableChangeDataFeed": "true"}
OFF = {"delta.enableChangeDataFeed": "false"}
WIDER = SCHEMA.replace("]}", ',{"name":"more","type":"string","nullable":true,"metadata":{}}]}')
OTHER = SCHEMA.replace('"id"', '"key"')


def change(before: Metadata, **after: object) -> Proposal:
    return Proposal(operation="CHANGE", parameters={}, metadata=msgspec.structs.replace(before, **after))


@pytest.mark.parametrize(
    ("before", "after", "schema", "words"),
    [
        ({}, {"a": "b"}, SCHEMA, "records no change data feed"),
        ({}, ON, SCHEMA, "recorded from version 2 on"),
        (ON, OFF, SCHEMA, "ends with version 1"),
        (ON, {}, SCHEMA, "ends with version 1"),
        (ON, ON | {"a": "b"}, SCHEMA, "Nothing changes"),
        (ON, ON, WIDER, "Nothing changes"),
        (ON, ON, OTHER, "that cross version 2 are refused: column id is not in the schema"),
        ({"delta.enableChangeDataFeed": "perhaps"}, {}, SCHEMA, "not known"),
    ],
)
def test_readers_of_the_change_feed(before: dict[str, str], after: dict[str, str], schema: str, words: str) -> None:
    metadata = msgspec.structs.replace(METADATA, configuration=before)
    snapshot = table({0: (PROTOCOL, metadata), 1: (add("a"),)}).snapshot()
    assert words in change_feed_effect(snapshot, change(metadata, configuration=after, schema_string=schema))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("delta.logRetentionDuration", "interval 36 hours", "A clean-up of the log may delete commits after 1.5 days"),
        ("delta.logRetentionDuration", "interval 60 days", "No version is lost."),
        (
            "delta.deletedFileRetentionDuration",
            "interval 1 hour",
            "delete removed files after 1 hour instead of 7 days",
        ),
        ("delta.deletedFileRetentionDuration", "for ever", "No version is lost."),
    ],
)
def test_shorter_retention_is_told(key: str, value: str, words: str) -> None:
    snapshot = table({0: (PROTOCOL, METADATA)}).snapshot()
    said = time_travel_effect(snapshot, change(METADATA, configuration={key: value}))
    assert said.startswith("No version is lost.")
    assert words in said


def test_removed_files_are_needed_by_earlier_versions() -> None:
    snapshot = table({0: (PROTOCOL, METADATA, add("a"))}).snapshot()
    proposal = Proposal(operation="DELETE", parameters={}, removes=(remove("a"),))
    assert "1 file is removed; earlier versions need it" in time_travel_effect(snapshot, proposal)


def test_what_an_intent_knows_of_itself_goes_first() -> None:
    snapshot = table({0: (PROTOCOL, METADATA)}).snapshot()
    proposal = Proposal(operation="X", parameters={}, time_travel="One thing.", change_feed="Another.")
    assert (time_travel_effect(snapshot, proposal), change_feed_effect(snapshot, proposal)) == (
        "One thing.",
        "Another.",
    )
