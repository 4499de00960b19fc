"""What a commit carries on from earlier ones keeps fields that this program does not know."""

from __future__ import annotations

import json

import pytest

import explorer
from tests import logs


@pytest.mark.conformance("PROTO-003", "META-009", "FILE-012")
def test_a_restored_file_keeps_fields_of_another_client() -> None:
    store = logs.new_store()
    odd = {**logs.add("a").to_wire(), "fancyIndex": {"levels": 3}}
    metadata = {**logs.METADATA.to_wire(), "fancyPolicy": "strict"}
    line = json.dumps({"add": odd}).encode()
    logs.write(
        store,
        {
            0: [logs.PROTOCOL, json.dumps({"metaData": metadata}).encode(), line],
            1: [logs.remove("a"), logs.add("b")],
        },
    )
    table = explorer.Table(store)
    plan = table.plan({"kind": "restore", "version": 0}, accept=["files-present"])
    by_kind = {name: action for line in plan.actions for name, action in line.items()}
    assert by_kind["add"]["fancyIndex"] == {"levels": 3}
    assert by_kind["metaData"]["fancyPolicy"] == "strict"
    assert by_kind["remove"]["path"] == "b"
