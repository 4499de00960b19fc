"""What a commit carries on from earlier ones keeps fields that this program does not know."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.protocol.actions import Protocol
from explorer.core.protocol.log_store import LogStore
from tests.support.logs import small_logs


@pytest.mark.conformance("PROTO-003", "META-009", "FILE-012")
def test_a_restored_file_keeps_fields_of_another_client() -> None:
    store = small_logs.new_store()
    odd = {**small_logs.add("a").to_wire(), "fancyIndex": {"levels": 3}}
    metadata = {**small_logs.METADATA.to_wire(), "fancyPolicy": "strict"}
    line = json.dumps({"add": odd}).encode()
    small_logs.write(
        store,
        {
            0: [small_logs.PROTOCOL, json.dumps({"metaData": metadata}).encode(), line],
            1: [small_logs.remove("a"), small_logs.add("b")],
        },
    )
    table = explorer.Table(store)
    plan = table.plan({"kind": "restore", "version": 0}, accept=["files-present"])
    by_kind = {name: action for line in plan.actions for name, action in line.items()}
    assert by_kind["add"]["fancyIndex"] == {"levels": 3}
    assert by_kind["metaData"]["fancyPolicy"] == "strict"
    assert by_kind["remove"]["path"] == "b"


ROWS_TRACKED = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("domainMetadata", "rowTracking"))
ODD = {"fancyIndex": {"levels": "3"}, "clusteringProvider": "liquid"}


VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
    "offset": 4,
    "sizeInBytes": 40,
    "cardinality": 6,
    "maxRowIndex": 9,
}
"""The vector of the protocol's own example, with what the reference adds to it."""


@pytest.mark.conformance("PROTO-003")
@pytest.mark.parametrize("by_checkpoint", [False, True])
def test_a_vector_that_is_written_again_says_all_that_it_said(by_checkpoint: bool) -> None:
    store = small_logs.new_store()
    rules = Protocol(
        min_reader_version=3,
        min_writer_version=7,
        reader_features=("deletionVectors",),
        writer_features=("deletionVectors", "domainMetadata", "rowTracking"),
    )
    masked = {**small_logs.add("a").to_wire(), "deletionVector": VECTOR}
    small_logs.write(
        store, {0: [rules, small_logs.METADATA, json.dumps({"add": masked}).encode(), small_logs.add("b")]}
    )
    if by_checkpoint:
        write_checkpoint(store, list_log(store), now=datetime.now(UTC), new_uuid=uuid.uuid4)
        small_logs.write(store, {1: [small_logs.add("other")]})
        store.delete(commit_name(0))
    added = {line["path"]: line for line in _backfilled(store, {"kind": "enable-feature", "feature": "rowTracking"})}
    assert added["a"]["deletionVector"] == VECTOR
    assert "deletionVector" not in added["b"]


def _backfilled(store: LogStore, intent: dict[str, Any]) -> list[dict[str, Any]]:
    plan = explorer.Table(store).plan(intent)
    assert plan.committable
    return [line["add"] for line in plan.actions if "add" in line]


@pytest.mark.conformance("PROTO-003", "ROWTRACK-003")
@pytest.mark.parametrize("by_checkpoint", [False, True])
@pytest.mark.parametrize(
    ("intent", "ids"),
    [
        ({"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}}, {"baseRowId": 0}),
        ({"kind": "enable-feature", "feature": "rowTracking"}, {"baseRowId": 0}),
        ({"kind": "drop-feature", "feature": "rowTracking"}, {}),
    ],
)
def test_files_that_get_or_lose_row_ids_keep_fields_of_another_client(
    by_checkpoint: bool, intent: dict[str, Any], ids: dict[str, int]
) -> None:
    store = small_logs.new_store()
    had = {} if ids else {"baseRowId": 4, "defaultRowCommitVersion": 0}
    odd = {**small_logs.add("a%20b").to_wire(), **had, **ODD}
    small_logs.write(
        store,
        {0: [small_logs.PROTOCOL if ids else ROWS_TRACKED, small_logs.METADATA, json.dumps({"add": odd}).encode()]},
    )
    if by_checkpoint:
        write_checkpoint(store, list_log(store), now=datetime.now(UTC), new_uuid=uuid.uuid4)
        small_logs.write(store, {1: [small_logs.add("other")]})
        store.delete(commit_name(0))
    added = {line["path"]: line for line in _backfilled(store, intent)}
    wanted = {key: item for key, item in odd.items() if key not in had} | {"dataChange": False} | ids
    assert {key: item for key, item in added["a%20b"].items() if key != "defaultRowCommitVersion"} == wanted
    assert "fancyIndex" not in added.get("other", {})
