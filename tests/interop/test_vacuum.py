"""VACUUM of the reference beside ours, on copies of one table: the same files go, and it goes on with what we left."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pytest

import explorer
from tests.support.clients.reference_writer import ReferenceWriter
from tests.support.comparison.row_content import row_lines
from tests.support.dose import WHOLE_DOSE

pytestmark = [
    pytest.mark.interop,
    pytest.mark.spark,
    pytest.mark.whole("tests/core/maintenance/test_vacuum.py, and tests/golden/test_unused_files.py beside deltalake"),
]

_ROWS: Final = "SELECT id, concat('v', id) AS v, CAST(id % 3 AS STRING) AS p FROM range(0, 12, 1, 1)"
_TABLES: Final = {
    "plain": ("", "", ["UPDATE {t} SET v = 'u' WHERE id = 1", "OPTIMIZE {t}"]),
    "partitioned": (
        "PARTITIONED BY (p)",
        "",
        ["DELETE FROM {t} WHERE p = '0'", "UPDATE {t} SET p = 'a b/c%d=:é' WHERE id = 1", "UPDATE {t} SET v = 'u'"],
    ),
    "partition names with a leading underscore": (
        "PARTITIONED BY (p)",
        "'delta.columnMapping.mode'='name'",
        [
            "ALTER TABLE {t} RENAME COLUMN p TO _p",
            f"INSERT INTO {{t}} {_ROWS}",
            "DELETE FROM {t} WHERE _p = '1'",
            "UPDATE {t} SET _p = 'a b/c%d=:é' WHERE id = 2",
        ],
    ),
    "deletion vectors": (
        "PARTITIONED BY (p)",
        "'delta.enableDeletionVectors'='true'",
        [
            "DELETE FROM {t} WHERE id IN (0, 1, 2)",
            "DELETE FROM {t} WHERE id = 4",
            "UPDATE {t} SET v = 'u' WHERE id = 5",
            "REORG TABLE {t} APPLY (PURGE)",
            "DELETE FROM {t} WHERE id IN (6, 7)",
        ],
    ),
    "change feed": (
        "",
        "'delta.enableChangeDataFeed'='true'",
        ["UPDATE {t} SET v = 'u' WHERE id < 4", "DELETE FROM {t} WHERE id = 2", "RESTORE {t} TO VERSION AS OF 1"],
    ),
    "restored": (
        "PARTITIONED BY (p)",
        "'delta.enableDeletionVectors'='true', 'delta.checkpointInterval'='3'",
        [
            "DELETE FROM {t} WHERE id = 1",
            "OPTIMIZE {t}",
            "DELETE FROM {t} WHERE p = '2'",
            "RESTORE {t} TO VERSION AS OF 2",
            "DELETE FROM {t} WHERE id = 3",
        ],
    ),
}
# On every run those of which each has something that no other has.
_CASES: Final = [
    ("change feed", "interval 1 week"),
]
if WHOLE_DOSE:
    _CASES += [
        (name, "interval 0 hours") for name in ("plain", "partitioned", "deletion vectors", "change feed", "restored")
    ]
    _CASES += [(name, "interval 1 week") for name in ("partitioned", "deletion vectors")]
    _CASES += [("partition names with a leading underscore", "interval 0 hours")]
_STRAYS: Final = (
    "stray.parquet",
    "deep/er/stray.txt",
    "p=0/stray.parquet",
    "_p=0/stray.parquet",
    "_hidden/kept.txt",
    ".hidden",
    "_kept",
    "_change_data/stray.parquet",
    "deletion_vector_00000000-0000-0000-0000-000000000000.bin",
)


@pytest.fixture(scope="module")
def written(reference_writer: ReferenceWriter, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tables by the reference, each written once and not to be changed."""

    @cache
    def write(name: str) -> Path:
        partitions, properties, commands = _TABLES[name]
        path = tmp_path_factory.mktemp("written") / "made"
        table = f"delta.`{path}`"
        settings = f"TBLPROPERTIES ({properties})" if properties else ""
        columns = "(id BIGINT, v STRING, p STRING)"
        reference_writer.sql(f"CREATE TABLE {table} {columns} USING delta {partitions} {settings}")
        for command in (f"INSERT INTO {{t}} {_ROWS}", f"INSERT INTO {{t}} {_ROWS}", *commands):
            reference_writer.sql(command.format(t=table))
        return path

    return write


def _made(writer: ReferenceWriter, written: Path, retention: str, folder: Path) -> Path:
    """A copy of a table, with files that nobody ever committed; everything but them is minutes old."""
    path = Path(shutil.copytree(written, folder / "made"))
    writer.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.deletedFileRetentionDuration'='{retention}')")
    for stray in _STRAYS:
        (path / stray).parent.mkdir(parents=True, exist_ok=True)
        (path / stray).write_bytes(b"x")
    long_ago = time.time() - 30 * 86_400
    for file in path.rglob("*"):
        if file.is_file() and "_delta_log" not in file.parts:
            os.utime(file, (long_ago, long_ago))
    return path


def _left(path: Path) -> set[str]:
    """Keys of the files beside the log."""
    found = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    return {key for key in found if not key.startswith("_delta_log/")}


def _recorded(path: Path) -> list[tuple[str, dict[str, Any], set[str]]]:
    """Operation, parameters and names of metrics of the last two commits."""
    found = []
    for file in sorted((path / "_delta_log").glob("*.json"))[-2:]:
        info = json.loads(file.read_text().splitlines()[0])["commitInfo"]
        parameters = {
            key: value for key, value in info["operationParameters"].items() if key != "retentionCheckEnabled"
        }
        found.append((info["operation"], parameters, set(info["operationMetrics"])))
    return found


def _empty_folders(path: Path) -> set[str]:
    """Folders without a file at any depth: one VACUUM of the reference leaves them, its next one takes them away."""
    folders = (folder for folder in path.rglob("*") if folder.is_dir())
    return {str(folder.relative_to(path)) for folder in folders if not any(map(Path.is_file, folder.rglob("*")))}


def _change_files(table: explorer.Table) -> set[str]:
    """The change files that the log names, with the checksums beside them."""
    commits = table.commits(0, table.latest_version())
    found = {Path(unquote(file.path)) for commit in commits for file in commit.change_files()}
    return {str(path) for path in found} | {str(path.with_name(f".{path.name}.crc")) for path in found}


def _key(path: str, root: Path) -> str:
    """The key of a path as the dry run says it; folders are among them."""
    return path.removeprefix("file:").removeprefix(f"{root}/")


@pytest.mark.conformance("VACUUM-001", "VACUUM-002", "VACUUM-003")
@pytest.mark.parametrize(("name", "retention"), _CASES)
def test_the_same_files_go_as_by_the_reference(
    reference_writer: ReferenceWriter, written: Callable[[str], Path], tmp_path: Path, name: str, retention: str
) -> None:
    # Else it lists folders in ten thousand tasks.
    reference_writer.sql("SET spark.sql.sources.parallelPartitionDiscovery.parallelism=1")
    made = _made(reference_writer, written(name), retention, tmp_path)
    before = _left(made)
    ours, theirs = (Path(shutil.copytree(made, tmp_path / side)) for side in ("ours", "theirs"))
    listed = reference_writer.sql(f"VACUUM delta.`{theirs}` DRY RUN").column("path").to_pylist()
    reference_writer.sql(f"VACUUM delta.`{theirs}`")
    table = explorer.open_table(ours)
    # A retention of no time reaches the files of running writers, of which there are none here.
    plan = table.plan({"kind": "vacuum"}, accept=["retention"])
    # The reference goes by the age of a change file alone, which is made old here; we go by its commit's as well.
    kept = set() if retention == "interval 0 hours" else _change_files(table)
    planned = {file.path for file in plan.files}
    # Hadoop hides its checksums: they go with their files, and no list tells of them.
    assert {_key(path, theirs) for path in listed} & before - kept == {key for key in planned if key[-4:] != ".crc"}
    assert before - _left(theirs) - kept == planned
    assert table.commit(plan).outcome == "committed"
    assert _recorded(ours) == _recorded(theirs)
    assert _left(ours) == _left(theirs) | kept
    in_use = {str(folder) for key in kept for folder in Path(key).parents}
    assert _empty_folders(ours) == _empty_folders(theirs) - in_use
    if WHOLE_DOSE or name == "change feed":
        _goes_on(reference_writer, ours, made)


def _goes_on(writer: ReferenceWriter, ours: Path, made: Path) -> None:
    """The reference reads from what we left what it read before, and writes to it."""
    rows = sorted(row_lines(writer.rows(made)))
    assert sorted(row_lines(writer.rows(ours))) == rows
    writer.sql(f"DELETE FROM delta.`{ours}` WHERE id = 11")
    assert len(row_lines(writer.rows(ours))) < len(rows)
    assert explorer.open_table(ours).verify().problems == ()


def test_files_of_vectors_outlive_the_feature_for_the_retention(
    reference_writer: ReferenceWriter, tmp_path: Path
) -> None:
    """The reference empties a table of vectors, we take the feature away, and its VACUUM leaves the files of them."""
    reference_writer.sql("SET spark.sql.sources.parallelPartitionDiscovery.parallelism=1")
    path = tmp_path / "orders"
    table = f"delta.`{path}`"
    for command in (
        f"CREATE TABLE {table} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')",
        f"INSERT INTO {table} SELECT id FROM range(0, 10, 1, 1)",
        f"DELETE FROM {table} WHERE id = 3",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableDeletionVectors'='false')",
        f"REORG TABLE {table} APPLY (PURGE)",
    ):
        reference_writer.sql(command)
    ours = explorer.open_table(path)
    assert ours.commit(ours.plan({"kind": "checkpoint"})).outcome == "committed"
    result = ours.commit(ours.plan({"kind": "drop-feature", "feature": "deletionVectors"}, user="tester"))
    assert result.outcome == "committed"
    (vectors,) = path.glob("*.bin")
    assert [line["remove"]["path"] for line in result.plan.actions if "remove" in line] == [vectors.name]
    long_ago = time.time() - 30 * 86_400
    for file in path.glob("*.*"):
        os.utime(file, (long_ago, long_ago))
    assert "deletionVectors" not in reference_writer.detail(path)["tableFeatures"]
    reference_writer.sql(f"VACUUM {table}")
    assert vectors.exists()
    assert len(row_lines(reference_writer.rows(path))) == len(row_lines(reference_writer.rows(path, 2))) == 9
    reference_writer.sql(f"INSERT INTO {table} VALUES (11)")
    assert explorer.open_table(path).verify().problems == ()
