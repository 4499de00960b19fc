"""The retention command: a line a version in JSON, versions that stand alike together for people."""

import shutil
from pathlib import Path

import pytest

import explorer
from explorer.core.transaction.commit_plan import MaintenancePlan
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


@pytest.mark.reference
def test_a_file_and_its_deletion_vector_are_one_missing_file_of_two_names(cli: Call, tmp_path: Path) -> None:
    shutil.copytree(reference_root() / "tables" / "deletion-vectors" / "_delta_log", tmp_path / "_delta_log")
    lines = cli("retention", tmp_path, "--json").lines()
    twice = [line for line in lines if len(line["missingFiles"]) > max(2, line["numMissingFiles"])]
    assert twice
    shown = cli("retention", tmp_path).out
    for line in twice:
        assert f"{line['numMissingFiles']} files of it can no longer be read: " in shown
        assert ", ".join(line["missingFiles"][:2]) + " and others" in shown


def test_a_folder_without_a_table_is_an_error(cli: Call, tmp_path: Path) -> None:
    assert cli("retention", tmp_path, "--json").error()["error"] == "TableNotFound"


@pytest.mark.reference
def test_what_if_says_what_a_vacuum_of_that_retention_takes(cli: Call) -> None:
    root = reference_root() / "tables" / "deletion-vectors"
    found = cli("retention", root, "--what-if", "0 hours", "--json").document()
    plan = explorer.open_table(root).plan({"kind": "vacuum", "olderThan": "interval 0 hours"})
    assert isinstance(plan, MaintenancePlan)
    files = {file.path for file in plan.files}
    assert found["numFiles"] == len(files) > 0
    assert found["sizeInBytes"] == sum((root / file).stat().st_size for file in files)
    assert found["versions"]["kept"] + sum(last - first + 1 for first, last in found["versions"]["lost"]) == len(
        found["dates"]
    )
    assert found["horizon"][0] == {
        "retentionMs": 0,
        "versions": found["versions"]["kept"],
        "changeFeed": found["changeFeed"]["kept"],
        "numFiles": found["numFiles"],
        "sizeInBytes": found["sizeInBytes"],
    }
    assert found["horizon"][-1]["numFiles"] == 0
    assert "files freed" in cli("retention", root, "--what-if", "0 hours").out


@pytest.mark.parametrize("text", ["soon", "-1 days", ""])
def test_what_is_no_length_of_time_is_refused(cli: Call, tmp_path: Path, text: str) -> None:
    result = cli("retention", tmp_path, "--what-if", text, "--json")
    assert (result.code, result.error()["error"]) == (2, "RequestError")
