"""The commands on tables made by others: the values those others computed, or a refusal by the contract."""

import json
from typing import Any

import pytest

from explorer.core.protocol.file_paths import canonical_key
from tests.cli.conftest import Call
from tests.support.clients.golden_expectations import expected
from tests.support.shared_tables import golden_root, reference_root

GOLDEN = golden_root()
EXPECTED = expected(GOLDEN)
REFERENCE = reference_root()
NAMES = sorted(path.name for path in (REFERENCE / "tables").iterdir())
COMMANDS = ("snapshot", "columns", "files", "deletion-vectors", "statistics", "history", "retention")


@pytest.mark.golden
@pytest.mark.parametrize("name", EXPECTED)
def test_snapshot_and_files_say_what_others_computed(name: str, cli: Call) -> None:
    table, record = GOLDEN / "tables" / name, EXPECTED[name]["versions"][-1]
    asked = (table, "--version", record["version"], "--json")
    snapshot = cli("snapshot", *asked)
    if snapshot.code in {2, 3, 4}:
        assert snapshot.error()["error"] in {"CorruptTable", "UnsupportedFeature", "VersionGap", "VersionNotFound"}
        return
    if "no schema" in snapshot.err:
        stated = json.loads(snapshot.out)
        assert (stated["numFiles"], stated["metadata"].get("schemaString")) == (record["replay"]["num_files"], None)
        return
    found, replay = snapshot.document(), record["replay"]
    assert found["numFiles"] == replay["num_files"]
    assert found["sizeInBytes"] == replay["total_size"]
    assert found["numRecords"] == replay["num_records_in_stats"]
    assert found["numDeletedRecords"] == (replay["dv_cardinality"] or 0)
    assert found["transactions"] == replay["txns"]
    assert found["domainMetadata"] == replay["domain_metadata"]
    assert _sorted(found["protocol"]) == _sorted(replay["protocol"])
    assert found["metadata"]["schemaString"] == replay["metadata"]["schemaString"]
    assert _key(cli("files", *asked).lines()) == _key(
        [{**file, "deletionVector": _vector(file["dv"])} for file in replay["active_files"]]
    )


@pytest.mark.reference
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_command_answers_on_every_reference_table(name: str, command: str, cli: Call) -> None:
    lines = cli(command, REFERENCE / "tables" / name, "--json").lines()
    assert lines or command in {"files", "deletion-vectors", "statistics"}


def _sorted(protocol: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, list) else value for name, value in protocol.items()}


def _key(files: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    found = []
    for file in files:
        vector = file["deletionVector"] or {}
        identity = (canonical_key(file["path"]), vector.get("uniqueId") or "")
        found.append(
            (identity, file["size"], file["modificationTime"], file["partitionValues"], file["numRecords"], vector)
        )
    return sorted(found, key=lambda entry: entry[0])


def _vector(dv: dict[str, Any] | None) -> dict[str, Any] | None:
    if dv is None:
        return None
    return {
        "storageType": dv["storageType"],
        "uniqueId": dv["id"],
        "cardinality": dv["cardinality"],
        "sizeInBytes": dv["sizeInBytes"],
    }
