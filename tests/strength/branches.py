"""How much of the core runs in its tests: statements and branches, without Spark, and with the tests of rows."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.shared_tables import REPOSITORY
from tests.support.side_by_side import SIDE_BY_SIDE

__all__ = ["AIM", "TESTS", "WHOLE", "WHY", "measure", "record_of", "share"]

AIM: Final = 95
"""Per cent of statements and branches that a module should reach."""
TESTS: Final = ("tests/core", "tests/data_files", "tests/conformance", "tests/golden", "tests/properties")
WITHOUT: Final = "not spark and not interop and not e2e"
WHOLE: Final = (
    *("tests/auditing/erasure", "tests/cli", "tests/faults"),
    *("tests/spark/changes", "tests/spark/checks", "tests/spark/rows", "tests/spark/writes"),
)
"""What runs after them for the second measure: rows and faults; no other program and no browser."""

WHY: Final[dict[str, str]] = {
    "log/writing/parsed_columns": "partition columns that the schema does not have, and parts without structs",
    "transaction/row_preparation/optimize": "this measure left out the statements that rewrite files",
    "log/checkpoint/file_columns": "columns of checkpoints that few writers make, and vectors that lack a part",
    "log/checkpoint/reader": "sidecars as a list: tests/spark/log; files that vanish while they are read",
    "log/writing/unknown_columns": "numbers with a point in fields that are not known",
    "protocol/arrow/row_groups": "row groups that hold fewer rows than their footer says, and very large ones",
    "protocol/schema/column_ids": "nested ids of Iceberg that a change of columns drops",
    "protocol/schema/identity_marks": "a schema that cannot be read",
    "protocol/sql/functions": "functions that are refused: tests/spark/scan/test_predicate.py",
    "protocol/statistics/collect": "values that have no bounds, and times beyond the year 9999",
    "protocol/statistics/skipping_constants": "constants that are not compared, so that no file is dropped for them",
    "transaction/commit/batch_writer": "a batch that loses more than once: tests/prove",
    "transaction/commit/post_commit": "any failure after a commit, and long logs",
    "transaction/commit_plan": "texts of plans and results in a notebook: tests/jupyter",
    "transaction/commit_target": "a place that is no table yet",
    "transaction/context": "a change of rows without an engine",
    "transaction/guards/files": "a store that fails while files are looked for",
    "transaction/guards/rows": "rows that cannot be checked for want of an engine: the whole dose, tests/spark/checks",
    "transaction/guards/properties": "properties of a broken table; advice on intervals",
    "transaction/intents/records": "clauses and sizes that are refused: tests/views/act and tests/jupyter/act",
    "transaction/proposals/__init__": "a mistake in the program: an intent without a proposal",
    "transaction/proposals/rewriting/optimize_files": "conditions and columns that are refused",
    "transaction/proposals/rewriting/recompute_statistics": "conditions that are refused; odd statistics",
    "transaction/proposals/rows/append_rows": "identity values beyond 64 bits",
    "transaction/proposals/rows/overwrite_rows": "overwrites run in the whole dose: tests/spark/writes",
    "transaction/row_preparation/append": "a table whose rules change between a plan and its commit",
    "transaction/row_preparation/overwrite": "overwrites run in the whole dose: tests/spark/writes",
    "transaction/row_preparation/purge": "purges under a condition run in the whole dose: tests/spark/writes",
    "transaction/row_preparation/sources": "a source that may not be read: tests/web",
    "versions/delta_log": "the newest part of a log, which tests/web shows; commits that are gone",
    "versions/reads": "conditions and bounds that cannot be read, which may mean any file",
    "versions/snapshot": "what a mistaken caller is told: tests/cli and tests/spark",
    "versions/updated_rows": "a history without a commit",
}
"""Module -> why less than the aim of it runs here."""


_FOLDER: Final = REPOSITORY / "build" / "coverage"
_CONFIGURATION: Final = f"""
[run]
branch = true
source = explorer/core
parallel = true
patch = subprocess
data_file = {_FOLDER / "data"}
"""


def measure() -> dict[str, Any]:
    """Run the tests under coverage.py: what ran by package in both measures, and the modules below the aim in the
    second."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
    _FOLDER.mkdir(parents=True)
    alone = _packages(_reported(TESTS, WITHOUT))
    return {"alone": alone, **record_of(_reported(WHOLE, "not interop and not e2e", "--append"))}


def _reported(tests: tuple[str, ...], marked: str, *together: str) -> dict[str, Any]:
    """Run some tests under coverage.py, some at a time, and return its report of all that ran until then."""
    configuration, report = _FOLDER / "configuration", _FOLDER / "report.json"
    configuration.write_text(_CONFIGURATION, "utf-8")
    for what, *arguments in (
        ("run", "-m", "pytest", "-q", *SIDE_BY_SIDE, "-p", "tests.strength.workers_alone", *tests, "-m", marked),
        ("combine", "-q", *together),
        ("json", "-q", "-o", str(report)),
    ):
        command = [sys.executable, "-m", "coverage", what, f"--rcfile={configuration}", *arguments]
        subprocess.run(command, cwd=REPOSITORY, check=True)
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    return found


def record_of(report: dict[str, Any]) -> dict[str, Any]:
    """The figures by package, and the modules below the aim with the lines that did not run, or not every way.

    Args:
        report: That of coverage.py, as JSON.
    """
    below = {}
    for module, found in _modules(report):
        figures = _figures(found)
        if share(figures) < AIM:
            lines = {*found.get("missing_lines", ()), *(start for start, _ in found.get("missing_branches", ()))}
            below[module] = {"figures": figures, "lines": _ranges(sorted(lines))}
    return {"packages": _packages(report), "below": below}


def _packages(report: dict[str, Any]) -> dict[str, list[int]]:
    packages: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for module, found in _modules(report):
        for package in (module.partition("/")[0], "all"):
            packages[package] = [a + b for a, b in zip(packages[package], _figures(found), strict=True)]
    return dict(packages)


def _modules(report: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, found in report["files"].items():
        yield Path(path).relative_to("explorer/core").with_suffix("").as_posix(), found


def _figures(found: dict[str, Any]) -> list[int]:
    names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
    return [found["summary"][name] for name in names]


def _ranges(lines: list[int]) -> str:
    """Numbers of lines, those that follow each other as a range: ``3, 7-9``."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def share(figures: list[int]) -> float:
    """Per cent of statements and branches that ran."""
    lines, statements, branches, ways = figures
    return 100 * (lines + branches) / (statements + ways) if statements + ways else 100.0
