"""What readers of the newest version start from, without a replay: a hint alone, an empty checkpoint, a checksum."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import explorer
from explorer.auditing import Finding
from explorer.core.log.last_checkpoint import LAST_CHECKPOINT
from explorer.core.log.log_path import checkpoint_name, checksum_name
from explorer.core.log.verify.integrity import verify
from tests.support.comparison.audited_tables import NOW
from tests.support.logs.small_logs import PROTOCOL, add, metadata, new_store, table

CREATED = (PROTOCOL, metadata({"id": "long"}))


def _errors(found: explorer.Table) -> list[Finding]:
    errors = [each for each in found.audit(NOW).findings if each.severity == "error"]
    assert all(each.remedy is not None for each in errors)
    return errors


def _with_checksum(**wrong: Any) -> explorer.Table:
    store = new_store()
    content = {
        "tableSizeBytes": 200,
        "numFiles": 2,
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": CREATED[1].to_wire(),
        "protocol": CREATED[0].to_wire(),
    }
    store.put(checksum_name(1), json.dumps(content | wrong).encode())
    return table({0: [*CREATED, add("a")], 1: [add("b")]}, store)


def test_a_log_that_is_a_hint_alone_is_an_error() -> None:
    store = new_store()
    store.put(LAST_CHECKPOINT, b'{"version":3,"size":4}')
    assert [each.rule for each in _errors(explorer.Table(store))] == ["unreadable-log"]


@pytest.mark.parametrize("named", [True, False])
def test_an_empty_newest_checkpoint_is_read_around_and_an_error(named: bool) -> None:
    store = new_store()
    store.put(checkpoint_name(1), b"")
    if named:
        store.put(LAST_CHECKPOINT, b'{"version":1,"size":4}')
    found = table({0: [*CREATED, add("a")], 1: [add("b")]}, store)
    assert found.snapshot().num_files == 2
    assert [each.rule for each in _errors(found)] == ["checkpoint-differs"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metadata": metadata({"id": "long", "z": "string"}).to_wire()},
    ],
)
def test_a_newest_checksum_with_another_schema_or_protocol_is_an_error_unasked(wrong: dict[str, Any]) -> None:
    (finding,) = _errors(_with_checksum(**wrong))
    assert finding.rule == "checksum-differs"
    assert "delta-spark refuses the table" in finding.effect


@pytest.mark.parametrize("wrong", [{"numFiles": 3}, {"tableSizeBytes": 1}, {"numFiles": "two"}])
def test_a_newest_checksum_with_other_numbers_is_a_warning_unasked(wrong: dict[str, Any]) -> None:
    found = [each for each in _with_checksum(**wrong).audit(NOW).findings if each.rule == "checksum-differs"]
    assert [each.severity for each in found] == ["warning"]


def test_a_right_checksum_is_no_answer_until_the_log_is_replayed() -> None:
    assert "checksum-differs" not in {each.rule for each in _with_checksum().audit(NOW).findings}


def test_statistics_that_are_an_object_are_an_error_of_verify_and_audit() -> None:
    line = {"add": add("a").to_wire() | {"stats": {"numRecords": 3}}}
    found = table({0: [*CREATED, line, add("b")]})
    assert [each.rule for each in _errors(found)] == ["unreadable-log"]
    assert [each.kind for each in verify(found.store).problems if each.breaking] == ["invalid-file-values"]


def test_an_invariant_without_its_json_is_an_error_as_delta_spark_refuses_every_write() -> None:
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {"delta.invariants": "id > 3"}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    (finding,) = _errors(table({0: [PROTOCOL, msgspec.structs.replace(CREATED[1], schema_string=schema)]}))
    assert finding.rule == "rules-in-doubt"
    assert "delta-spark refuses every write" in finding.evidence[0].text
