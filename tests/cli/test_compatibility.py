"""The compatibility command: a line a client in JSON, with the source and the date of what it says."""

from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.conftest import reference_root

FIELDS = ["client", "versionFrom", "read", "write", "because", "source", "asOf"]


@pytest.mark.reference
def test_every_client_is_a_line_with_source_and_date(cli: Call) -> None:
    lines = cli("compatibility", reference_root() / "tables" / "deletion-vectors", "--version", 6, "--json").lines()
    assert all(list(line) == FIELDS for line in lines)
    assert all(line["source"] and line["asOf"] for line in lines)
    assert {line["read"] for line in lines} | {line["write"] for line in lines} <= {"yes", "no", "wrong", "unknown"}
    standing = {(line["client"], line["versionFrom"]): line for line in lines}
    assert standing["delta-rs (python deltalake)", "0.15.0"]["read"] == "no"
    assert "deletionVectors" in standing["delta-rs (python deltalake)", "0.15.0"]["because"]
    assert standing["Presto", "before 2026-04"]["read"] == "wrong"


@pytest.mark.reference
def test_people_get_a_table_and_an_older_version_is_judged_by_its_own_protocol(cli: Call) -> None:
    root = reference_root() / "tables" / "deletion-vectors"
    result = cli("compatibility", root)
    assert result.code == 0
    assert "delta-kernel-rs" in result.out
    assert cli("compatibility", root, "--version", 999, "--json").error()["error"] == "VersionNotFound"


def test_a_folder_without_a_table_is_an_error(cli: Call, tmp_path: Path) -> None:
    assert cli("compatibility", tmp_path, "--json").error()["error"] == "TableNotFound"
