"""How much of the core runs in the tests that need neither Spark nor another program: statements and branches."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from tests.support.shared_tables import REPOSITORY

__all__ = ["AIM", "TESTS", "WHY", "measure", "record_of", "share"]

AIM: Final = 95
"""Per cent of statements and branches that a module should reach."""
TESTS: Final = ("tests/core", "tests/data_files", "tests/conformance", "tests/golden", "tests/properties")
WITHOUT: Final = "not spark and not interop and not e2e"

_ROWS: Final = "changes of rows: Spark counts and writes them, and tests/spark runs it"
_ELSEWHERE: Final = "run by tests of other folders"
WHY: Final[dict[str, str]] = {
    "transaction/row_preparation/append": _ROWS,
    "transaction/row_preparation/change": _ROWS,
    "transaction/row_preparation/delete": _ROWS,
    "transaction/row_preparation/describe": _ROWS,
    "transaction/row_preparation/found_files": _ROWS,
    "transaction/row_preparation/optimize": _ROWS,
    "transaction/row_preparation/overwrite": _ROWS,
    "transaction/row_preparation/proposer": _ROWS,
    "transaction/row_preparation/purge": _ROWS,
    "transaction/row_preparation/sources": _ROWS,
    "transaction/guards/rows": _ROWS,
    "transaction/new_files/row_constraints": _ROWS,
    "transaction/new_files/identity_values": _ROWS,
    "transaction/new_files/layout": f"{_ROWS}: actions of files that workers wrote",
    "transaction/new_files/parquet": f"{_ROWS}: footers of files that workers wrote",
    "transaction/new_files/touched": _ROWS,
    "transaction/preparation": f"{_ROWS}; without Spark the types of generated columns stay unknown",
    "transaction/proposals/rows/append_rows": _ROWS,
    "transaction/proposals/rows/change_rows": _ROWS,
    "transaction/proposals/rows/delete_rows": _ROWS,
    "transaction/proposals/rows/first_rows": _ROWS,
    "transaction/proposals/rows/new_columns": _ROWS,
    "transaction/proposals/rows/overwrite_rows": _ROWS,
    "transaction/proposals/rewriting/file_sizes": _ROWS,
    "transaction/proposals/rewriting/optimize_files": _ROWS,
    "transaction/proposals/rewriting/purge_rows": _ROWS,
    "transaction/proposals/rewriting/recompute_statistics": _ROWS,
    "transaction/commit/committer": f"{_ROWS}: files that are written after the plan; and faults, in tests/faults",
    "transaction/commit/post_commit": "faults after a commit, in tests/faults",
    "transaction/commit_plan": "texts of plans and results, in tests/cli and tests/jupyter",
    "transaction/commit_target": "a place that is no table yet, in tests/cli and tests/spark",
    "transaction/guards/files": "a store that fails while files are looked for, in tests/faults",
    "transaction/guards/properties": "properties of a broken table; advice on intervals that are long",
    "transaction/intents/records": f"clauses of a merge: {_ROWS}",
    "transaction/proposals/__init__": "a mistake in the program: an intent without a proposal",
    "transaction/proposals/domain_metadata": "a domain that is not there, an application without a name: tests/cli",
    "versions/file_search": f"where rows physically are: {_ELSEWHERE}, tests/auditing/erasure",
    "versions/key_files": f"files that may hold a key: {_ELSEWHERE}, tests/spark/rows",
    "versions/change_feed/feed": f"pages of changes, and files that are gone: {_ELSEWHERE}, tests/spark/changes",
    "versions/retention/version_states": f"{_ELSEWHERE}: tests/views, lanes of the timeline",
    "versions/snapshot": f"{_ELSEWHERE}: tests/cli, and what a mistaken caller is told",
    "protocol/sql/vetting": f"expressions that Spark is to evaluate: {_ELSEWHERE}, tests/spark/scan/test_predicate.py",
    "protocol/sql/functions": f"{_ELSEWHERE}: tests/spark/scan/test_predicate.py",
    "protocol/sql/predicates": "forms that are not answered, so that no file is dropped for them",
    "protocol/arrow/arrow_types": "schemas as Spark and variants have them: tests/spark",
    "protocol/arrow/typed_arrays": "decimals that do not fit",
    "protocol/times": f"times and lengths that a person types: {_ELSEWHERE}, tests/cli",
    "protocol/partition_values": "texts that are no value of their type",
    "protocol/schema/column_ids": "nested ids of Iceberg that a change of columns drops",
    "protocol/statistics/bounds": "bounds of a type that has none",
    "protocol/statistics/collect": "long texts; times beyond the year 9999",
    "protocol/statistics/skipping_constants": "constants that are not compared, so that no file is dropped for them",
    "log/catalog_commits": "requests that a catalog's store hands on",
    "log/commit": "provenance of odd types, in tests/golden of broken logs and tests/faults",
    "log/checkpoint/file_columns": "columns of checkpoints that few writers make",
    "log/checkpoint/reader": "files that vanish while they are read, in tests/faults",
    "log/table_state": "a schema that cannot be read, in tests/faults",
    "log/writing/parsed_columns": "a checkpoint's own typed statistics, read to be written again",
    "log/writing/checkpoint_layout": "protocols under which no checkpoint is written",
    "log/writing/unknown_columns": "numbers with a point in fields that are not known",
    "maintenance/temporary_files": "a file that vanishes while it is looked at",
    "compatibility/writers_seen": "names of clients that nobody knows",
}
"""Module -> why less than the aim of it runs here."""


def measure() -> dict[str, Any]:
    """Run the tests under coverage.py; what ran by package, and the modules below the aim."""
    folder = REPOSITORY / "build"
    folder.mkdir(exist_ok=True)
    data, report = f"--data-file={folder / 'coverage.data'}", folder / "coverage.json"
    tests = ["-m", "pytest", "-q", *TESTS, "-m", WITHOUT]
    for command in (
        ["run", "--branch", "--source=explorer/core", data, *tests],
        ["json", data, "-q", "-o", str(report)],
    ):
        subprocess.run([sys.executable, "-m", "coverage", *command], cwd=REPOSITORY, check=True)
    return record_of(json.loads(report.read_text("utf-8")))


def record_of(report: dict[str, Any]) -> dict[str, Any]:
    """The figures by package and by module, out of the report of coverage.py."""
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    modules = {}
    for path, found in report["files"].items():
        module = Path(path).relative_to("explorer/core").with_suffix("").as_posix()
        summary = found["summary"]
        figures = [summary[name] for name in ("covered_lines", "num_statements", "covered_branches", "num_branches")]
        for package in (module.partition("/")[0], "all"):
            packages[package] = [a + b for a, b in zip(packages[package], figures, strict=True)]
        if share(figures) < AIM:
            modules[module] = figures
    return {"packages": dict(packages), "below": modules}


def share(figures: list[int]) -> float:
    """Per cent of statements and branches that ran."""
    lines, statements, branches, ways = figures
    return 100 * (lines + branches) / (statements + ways) if statements + ways else 100.0
