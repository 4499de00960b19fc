"""The tables of the reference writer: what its own reader and its own history say of every version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import explorer
from explorer.core.errors import VersionNotFound
from tests.support.at_least_one import at_least_one
from tests.support.clients.golden_expectations import expected, found_files, spark_type
from tests.support.shared_tables import reference_root

pytestmark = pytest.mark.reference

ROOT = reference_root()
EXPECTED = expected(ROOT)


def _open(name: str) -> explorer.Table:
    return explorer.open_table(str(ROOT / "tables" / name))


def _log_gone(version: dict[str, Any]) -> bool:
    return version.get("error", {}).get("condition") == "DELTA_VERSION_NOT_FOUND"


@pytest.mark.parametrize("name", EXPECTED)
def test_the_versions_are_those_of_the_reference(name: str) -> None:
    table, versions = _open(name), EXPECTED[name]["versions"]
    assert table.latest_version() == EXPECTED[name]["latest_version"]
    gone = [version["version"] for version in versions if _log_gone(version)]
    assert table.version_range()[0] == len(gone)
    for version in gone:
        with pytest.raises(VersionNotFound) as caught:
            table.snapshot(version)
        assert caught.value.nearest == len(gone)


@pytest.mark.parametrize("name", EXPECTED)
def test_row_counts_from_the_log_are_those_the_reference_reads(name: str) -> None:
    table, compared = _open(name), 0
    for version in EXPECTED[name]["versions"]:
        if "row_count" not in version:
            continue
        snapshot = table.snapshot(version["version"])
        if snapshot.num_records is not None:
            assert snapshot.num_records - snapshot.num_deleted_records == version["row_count"]
            compared += 1
    assert compared


@pytest.mark.parametrize("name", EXPECTED)
def test_the_schema_has_the_columns_the_reference_shows(name: str) -> None:
    table = _open(name)
    for version in at_least_one(EXPECTED[name]["versions"]):
        if "columns" not in version or name == "char-varchar":
            continue
        fields = table.snapshot(version["version"]).schema.fields
        assert [f"{field.name} {spark_type(field.type)}" for field in fields] == version["columns"]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_history_is_the_reference_s_own(name: str) -> None:
    found = {row["version"]: row for row in _open(name).history().to_pylist(maps_as_pydicts="strict")}
    for row in at_least_one(EXPECTED[name]["describe_history"]):
        ours = found[row["version"]]
        assert ours["operation"] == row["operation"]
        assert ours["parameters"] == row["operationParameters"]
        assert (ours["metrics"] or {}) == (row["operationMetrics"] or {})


def _counted(name: str) -> list[int]:
    """The versions of a table that were made by a command that counts its files."""
    rows = EXPECTED[name]["describe_history"]
    return [row["version"] for row in rows if row["operation"] in ("DELETE", "UPDATE", "OPTIMIZE")]


@pytest.mark.parametrize("name", [name for name in EXPECTED if _counted(name)])
def test_file_counts_of_the_history_are_those_of_the_metrics(name: str) -> None:
    """The reference counts files added and removed by these commands itself."""
    history = {row["version"]: row for row in _open(name).history().to_pylist(maps_as_pydicts="strict")}
    for version in at_least_one(_counted(name)):
        row, metrics = history[version], history[version]["metrics"]
        # An UPDATE counts the files it re-masks as removed, a DELETE does not.
        remasked = row["num_files_remasked"] if row["operation"] == "UPDATE" else 0
        assert row["num_files_added"] == int(metrics["numAddedFiles"]), version
        assert row["num_files_removed"] + remasked == int(metrics["numRemovedFiles"]), version


def _checksums(name: str) -> list[Path]:
    return sorted((ROOT / "tables" / name / "_delta_log").glob("*.crc"))


@pytest.mark.parametrize("name", [name for name in EXPECTED if _checksums(name)])
def test_totals_of_the_history_are_those_of_the_version_checksums(name: str) -> None:
    """The reference wrote the totals of each version into its checksum file."""
    seen = 0
    history = {row["version"]: row for row in _open(name).history().to_pylist()}
    for path in _checksums(name):
        version, checksum = int(path.stem), json.loads(path.read_text("utf-8"))
        if version in history and history[version]["num_files"] is not None:
            assert history[version]["num_files"] == checksum["numFiles"]
            assert history[version]["num_bytes"] == checksum["tableSizeBytes"]
            if "numDeletedRecordsOpt" in checksum:
                assert history[version]["num_deleted_rows"] == checksum["numDeletedRecordsOpt"]
            seen += 1
    assert seen > 0


@pytest.mark.sampled(cases=20)
@pytest.mark.parametrize("name", EXPECTED)
def test_lifetimes_and_diffs_agree_with_replay(name: str) -> None:
    table = _open(name)
    life = table.history_record().lifetimes
    first, last = table.version_range()
    before = None
    for version in at_least_one(range(first, last + 1)):
        files = found_files(table.snapshot(version).files())
        assert files.keys() == found_files(life.files_at(version)).keys()
        if before is not None:
            _explains(table.diff(version - 1, version), before, files)
        before = files


def _explains(diff: explorer.SnapshotDiff, before: dict[Any, Any], after: dict[Any, Any]) -> None:
    old, new = {path for path, _ in before}, {path for path, _ in after}
    stays = {path for path, vector in before if (path, vector) in after}
    changes: dict[str, set[str]] = {"added": set(), "removed": set(), "remasked": set()}
    for row in diff.files.to_pylist():
        changes[row["change"]].add(row["path"])
    assert changes == {"added": new - old, "removed": old - new, "remasked": (old & new) - stays}
