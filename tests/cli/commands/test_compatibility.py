"""The compatibility command: a line a client in JSON, with the source and the date of what it says."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.core.log.log_path import commit_name
from tests.cli.conftest import Call
from tests.support.logs.small_logs import METADATA, PROTOCOL, lines
from tests.support.shared_tables import reference_root

FIELDS = ["client", "versionFrom", "read", "write", "because", "source", "asOf"]

BACK = '{"kind": "restore", "version": 6}'


def standing(lines: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The lines by client and version."""
    return {(line["client"], line["versionFrom"]): line for line in lines}


@pytest.mark.reference
def test_every_client_is_a_line_with_source_and_date(cli: Call) -> None:
    lines = cli("compatibility", reference_root() / "tables" / "deletion-vectors", "--version", 6, "--json").lines()
    assert all(list(line) == FIELDS for line in lines)
    assert all(line["source"] and line["asOf"] for line in lines)
    assert {line["read"] for line in lines} | {line["write"] for line in lines} <= {"yes", "no", "wrong", "unknown"}
    found = standing(lines)
    assert found["delta-rs (python deltalake)", "0.15.0"]["read"] == "no"
    assert "deletionVectors" in found["delta-rs (python deltalake)", "0.15.0"]["because"]
    assert found["Presto", "before 2026-04"]["read"] == "wrong"


@pytest.mark.reference
def test_people_get_a_table_and_an_older_version_is_judged_by_its_own_protocol(cli: Call) -> None:
    root = reference_root() / "tables" / "deletion-vectors"
    result = cli("compatibility", root)
    assert result.code == 0
    assert "delta-kernel-rs" in result.out
    assert cli("compatibility", root, "--version", 999, "--json").error()["error"] == "VersionNotFound"


def test_a_folder_without_a_table_is_an_error(cli: Call, tmp_path: Path) -> None:
    assert cli("compatibility", tmp_path, "--json").error()["error"] == "TableNotFound"


@pytest.mark.reference
def test_after_a_change_the_verdicts_are_those_of_the_changed_table(cli: Call) -> None:
    root = reference_root() / "tables" / "deletion-vectors"
    versions = sorted((root / "_delta_log").iterdir())
    before = standing(cli("compatibility", root, "--json").lines())
    after = standing(cli("compatibility", root, "--after", BACK, "--json").lines())
    assert before["Presto", "before 2026-04"]["read"] == "unknown", "no file has a vector now"
    assert after["Presto", "before 2026-04"]["read"] == "wrong", "the files that come back have"
    assert after["delta-kernel-rs", "0.9.0"] == before["delta-kernel-rs", "0.9.0"]
    assert "client that loses" in cli("compatibility", root, "--after", BACK).out
    assert sorted((root / "_delta_log").iterdir()) == versions, "nothing was written"


@pytest.mark.reference
def test_plan_names_the_clients_that_lose(cli: Call) -> None:
    result = cli("plan", reference_root() / "tables" / "deletion-vectors", BACK, "--json", "--no-check-rows")
    readers = json.loads(result.out)["consequences"]["readers"]
    assert [(each["client"], each["versionFrom"], each["before"], each["after"]) for each in readers] == [
        ("delta-rs QueryBuilder (SQL)", "0.25.5", "yes", "wrong"),
        ("Presto", "before 2026-04", "unknown", "wrong"),
    ]
    names = ["client", "versionFrom", "before", "after", "because", "source", "asOf", "versionTo", "newest"]
    assert list(readers[0]) == names


def test_change_without_effect_on_clients_says_so(cli: Call, tmp_path: Path) -> None:
    root = written(tmp_path)
    assert (
        "No known client loses"
        in cli("compatibility", root, "--after", '{"kind":"set-description","description":"x"}').out
    )
    refused = cli("compatibility", root, "--after", '{"kind":"set-descriptoin"}', "--json")
    assert (refused.code, refused.error()["error"]) == (2, "InvalidIntent")
    both = cli("compatibility", root, "--after", "{}", "--version", 0, "--json")
    assert (both.code, both.error()["error"]) == (2, "RequestError")


def written(folder: Path) -> Path:
    """A table of one version without features, in a folder of its own."""
    log = folder / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / commit_name(0).rpartition("/")[2]).write_bytes(lines([PROTOCOL, METADATA]))
    return log.parent


@pytest.mark.reference
def test_clients_in_use_come_first_and_a_plan_speaks_of_them_first(
    cli: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "clients.toml"
    file.write_text('[[client]]\nname = "Presto"\nversion = "2026-01"\nrole = "reader"\nowner = "finance"\n')
    monkeypatch.setenv("DELTA_EXPLORER_CLIENTS", str(file))
    root = reference_root() / "tables" / "deletion-vectors"
    lines = cli("compatibility", root, "--version", 6, "--clients", file, "--json").lines()
    assert [(line["client"], line["version"], line["mine"], line["seen"]) for line in lines[:3]] == [
        ("Presto", "2026-01", True, False),
        ("delta-spark", "4.4.0", True, True),
        (lines[2]["client"], lines[2]["versionFrom"], False, False),
    ]
    assert (lines[0]["read"], lines[0]["owner"]) == ("wrong", "finance")
    assert lines[2]["read"] == "wrong"
    assert "Presto (yours)" in cli("compatibility", root).out
    plan = cli("plan", root, BACK, "--json").document()
    assert plan["consequences"]["readers"][0]["mine"]["owner"] == "finance"
    assert "your Presto 2026-01" in cli("plan", root, BACK).out


def test_a_client_that_is_not_known_is_refused_by_every_command(cli: Call, tmp_path: Path) -> None:
    file = tmp_path / "clients.toml"
    file.write_text('[[client]]\nname = "Trnio"\nversion = "1"\n')
    for command in ("compatibility", "audit", "serve"):
        result = cli(command, tmp_path, "--clients", file, "--json")
        assert (result.code, result.error()["nearest"]) == (2, ["Trino"])
    assert cli("audit", tmp_path, "--clients", tmp_path / "none.toml", "--json").error()["error"] == "RequestError"
