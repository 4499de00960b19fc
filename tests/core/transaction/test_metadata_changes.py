"""Changes of the metadata, one after another kind: what no intent names stays as the last client wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import explorer
from explorer.core.protocol.actions import Protocol
from tests.support.logs import small_logs
from tests.support.logs.small_schemas import IDENTITY, field, mapped, struct

FEATURES = ("columnMapping", "typeWidening")
RULES = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=FEATURES,
    writer_features=(*FEATURES, "appendOnly", "invariants", "checkConstraints", "identityColumns", "changeDataFeed"),
)
COLUMNS = struct(
    field("id", "long", comment="the key", kept={"deep": [7, None]}),
    field("n", "short"),
    field("i", "long", metadata=IDENTITY),
    field("p", "date", nullable=False),
)
WHOLE = {
    "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
    "name": "orders",
    "description": "Orders of the shop",
    "format": {"provider": "parquet", "options": {"kept": "1"}},
    "schemaString": json.dumps(mapped(COLUMNS)),
    "partitionColumns": ["p"],
    "configuration": {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "4",
        "delta.enableTypeWidening": "true",
        "delta.constraints.c": "id > 0",
        "delta.unheardOf": "1",
        "free": "text",
        "other": "text",
    },
    "createdTime": 1_234_567_890_123,
    "fancyPolicy": {"by": "all"},
}
BARE = {"id": WHOLE["id"], "schemaString": json.dumps(struct(field("id", "long"), field("n", "short")))}
NAMED = {"description", "schemaString", "configuration"}
"""The members of metadata that intents name: a part of each stays all the same."""
INTENTS: tuple[dict[str, Any], ...] = (
    {"kind": "set-properties", "properties": {"new": "1"}},
    {"kind": "set-properties", "properties": {"delta.enableChangeDataFeed": "true"}},
    {"kind": "unset-properties", "keys": ["other"]},
    {"kind": "set-description", "description": "new"},
    {"kind": "set-column-comment", "column": "n", "comment": "new"},
    {"kind": "add-constraint", "name": "d", "expression": "id > 1"},
    {"kind": "drop-constraint", "name": "c"},
    {"kind": "set-not-null", "column": "n"},
    {"kind": "drop-not-null", "column": "p"},
    {"kind": "add-columns", "fields": [field("new")], "at": "first"},
    {"kind": "rename-column", "column": "n", "to": "m"},
    {"kind": "drop-columns", "columns": ["n"]},
    {"kind": "move-column", "column": "n", "at": "first"},
    {"kind": "widen-type", "column": "n", "type": "integer"},
    {"kind": "enable-feature", "feature": "deletionVectors"},
    {"kind": "sync-identity", "column": "i"},
    {"kind": "restore", "version": 0},
)


def _written(metadata: dict[str, Any], intent: dict[str, Any], protocol: Protocol = RULES) -> dict[str, Any]:
    """The metaData of the commit that an intent asks for."""
    file = small_logs.add("a", bounds={"col-3": (1, 5)}, partition_values={"col-4": "2026-01-01"})
    table: explorer.Table = small_logs.table({0: [protocol, {"metaData": metadata}, file], 1: []})
    plan = table.plan(intent, check_rows=False, accept=["files-present"])
    found = [line["metaData"] for line in plan.actions if "metaData" in line]
    assert len(found) == 1, plan.blocking
    return json.loads(json.dumps(found[0]))  # type: ignore[no-any-return]  # an object


@pytest.mark.conformance("META-001", "META-005", "META-009", "SCHEMA-007")
@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: intent["kind"])
def test_metadata_that_is_written_again_keeps_what_the_intent_does_not_name(intent: dict[str, Any]) -> None:
    found = _written(WHOLE, intent)
    assert {name: item for name, item in found.items() if name not in NAMED} == {
        name: item for name, item in WHOLE.items() if name not in NAMED
    }
    gone = {"unset-properties": {"other"}, "drop-constraint": {"delta.constraints.c"}}.get(intent["kind"], set())
    assert isinstance(WHOLE["configuration"], dict)
    kept = {key: text for key, text in WHOLE["configuration"].items() if key not in {*gone, _MAX_ID}}
    assert found["configuration"].items() >= kept.items()
    (column,) = [each for each in json.loads(found["schemaString"])["fields"] if each["name"] == "id"]
    assert column == mapped(COLUMNS)["fields"][0]


_MAX_ID = "delta.columnMapping.maxColumnId"


@pytest.mark.conformance("META-001")
@pytest.mark.parametrize(
    "intent",
    [intent for intent in INTENTS if intent["kind"] in ("set-description", "add-columns", "set-properties", "restore")],
    ids=lambda intent: intent["kind"],
)
def test_metadata_of_a_client_that_left_members_out_is_written_whole(intent: dict[str, Any]) -> None:
    found = _written(BARE, intent, small_logs.PROTOCOL)
    assert found["id"] == BARE["id"]
    assert found["format"] == {"provider": "parquet", "options": {}}
    assert found["partitionColumns"] == []
    assert isinstance(found["configuration"], dict)
    assert json.loads(found["schemaString"])["type"] == "struct"
