"""The same change made by the reference and by an intent, each on its copy of a table: the commits say the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

import explorer
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.comparison.commit_comparison import differences
from tests.support.dose import WHOLE_DOSE

pytestmark = pytest.mark.interop

ODD: Final = {
    "delta.isolationLevel": "serializable",
    "delta.castIcebergTimeType": "true",
    "delta.dataSkippingStatsColumns": "",
    "delta.ignoreProtocolDefaults": "true",
}
CASES: Final[dict[str, tuple[list[str], str, dict[str, Any]]]] = {
    "restore-before-row-tracking": (
        [
            "CREATE TABLE {t} (id INT) USING delta",
            "INSERT INTO {t} VALUES (1)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking'='true')",
            "INSERT INTO {t} VALUES (2)",
        ],
        "RESTORE TABLE {t} TO VERSION AS OF 1",
        {"kind": "restore", "version": 1},
    ),
    "row-tracking-alone": (
        [
            "CREATE TABLE {t} (id INT) USING delta",
            "INSERT INTO {t} VALUES (1)",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking'='true')",
            "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking'='false')",
        ],
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking'='true')",
        {"kind": "set-properties", "properties": {"delta.enableRowTracking": "true"}},
    ),
    "row-tracking-beside-another-property": (
        ["CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.feature.rowTracking'='supported')"],
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking'='true', 'a'='b')",
        {"kind": "set-properties", "properties": {"delta.enableRowTracking": "true", "a": "b"}},
    ),
    "odd-values-of-properties": (
        ["CREATE TABLE {t} (id INT) USING delta"],
        "ALTER TABLE {t} SET TBLPROPERTIES (" + ", ".join(f"'{key}'='{value}'" for key, value in ODD.items()) + ")",
        {"kind": "set-properties", "properties": ODD},
    ),
}

EVERY_RUN: Final = [name for name in CASES if name != "row-tracking-beside-another-property"]


@pytest.mark.whole("tests/golden/test_reference_commits.py, where the commits of the reference are those that it left")
@pytest.mark.conformance("WRITER-005", "WRITER-006", "ROWTRACK-005")
@pytest.mark.parametrize("name", CASES if WHOLE_DOSE else EVERY_RUN)
def test_both_commits_say_the_same(name: str, reference_writer: ReferenceWriter, tmp_path: Path) -> None:
    before, statement, intent = CASES[name]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for line in before:
        reference_writer.sql(line.format(t=f"delta.`{theirs}`"))
    shutil.copytree(theirs, ours)
    reference_writer.sql(statement.format(t=f"delta.`{theirs}`"))
    table = explorer.open_table(ours)
    result = table.commit(table.plan(intent, check_rows=False, user="steward"))
    assert result.outcome == "committed", result
    assert result.version is not None
    log = theirs / "_delta_log" / f"{result.version:020d}.json"
    wanted = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert differences(wanted, map(json.loads, table.commit_actions(result.version))) == {}


@pytest.mark.whole("tests/spark/changes/test_changes.py, on tables of the reference")
@pytest.mark.spark
@pytest.mark.usefixtures("spark_engine")
@pytest.mark.conformance("CDF-001", "CDF-005")
def test_the_reference_finds_every_deleted_row_in_the_change_feed(
    reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    path = tmp_path / "fed"
    reference_writer.sql(
        f"CREATE TABLE delta.`{path}` (id INT, p INT) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.enableChangeDataFeed'='true', 'delta.enableDeletionVectors'='false')"
    )
    reference_writer.sql(f"INSERT INTO delta.`{path}` VALUES (1, 1), (2, 1), (3, 2), (4, 2)")
    table = explorer.open_table(path)
    assert table.commit(table.plan({"kind": "delete", "where": "id < 4"})).outcome == "committed"
    found = reference_writer.changes(path, 2, 2).to_pylist()
    assert sorted((row["id"], row["_change_type"]) for row in found) == [(1, "delete"), (2, "delete"), (3, "delete")]
