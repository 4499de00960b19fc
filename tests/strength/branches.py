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

__all__ = ["AIM", "TESTS", "WHOLE", "measure", "record_of", "share"]

AIM: Final = 95
"""Per cent of statements and branches that a module should reach."""
TESTS: Final = ("tests/core", "tests/data_files", "tests/conformance", "tests/golden", "tests/properties")
WITHOUT: Final = "not spark and not interop and not e2e"
WHOLE: Final = (
    *("tests/auditing/erasure", "tests/cli", "tests/faults"),
    *("tests/spark/changes", "tests/spark/checks", "tests/spark/rows", "tests/spark/writes"),
)
"""What runs after them for the second measure: rows and faults; no other program and no browser."""


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
