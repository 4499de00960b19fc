"""The retention command: a line a version in JSON, versions that stand alike together for people."""

from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.support.shared_tables import reference_root

FIELDS = ["version", "status", "atRiskFrom", "by", "reason", "missingFiles", "numMissingFiles"]


@pytest.mark.reference
def test_every_version_is_a_line_and_missing_files_are_named(cli: Call) -> None:
    root = reference_root() / "tables" / "vacuum"
    lines = cli("retention", root, "--json").lines()
    assert [line["version"] for line in lines] == list(range(22))
    assert all(list(line) == FIELDS for line in lines)
    lost = [line for line in lines if line["status"] == "data gone"]
    assert [line["version"] for line in lost] == list(range(1, 12))
    for line in lost:
        assert line["numMissingFiles"] == len(line["missingFiles"]) == 1
        assert not (root / line["missingFiles"][0]).exists()
    assert lines[0]["by"] == "delta.logRetentionDuration"
    assert lines[0]["atRiskFrom"].endswith("T00:00:00Z")
    assert lines[-1]["atRiskFrom"] is None


@pytest.mark.reference
def test_versions_that_stand_alike_are_one_row_for_people(cli: Call) -> None:
    result = cli("retention", reference_root() / "tables" / "log-cleanup")
    assert result.code == 0
    assert "v0 to v5" in result.out
    assert "log gone" in result.out


def test_a_folder_without_a_table_is_an_error(cli: Call, tmp_path: Path) -> None:
    assert cli("retention", tmp_path, "--json").error()["error"] == "TableNotFound"
