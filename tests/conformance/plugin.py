"""The marker ``conformance`` in a run of pytest: ids are checked, and every row that tests name is proved by the run.

Where CI is set and the tables made by others are there, a run of all tests fails if for a row that tests name none of
them passed: each was skipped. The run leaves ``build/conformance.json``: row -> the tests that passed for it.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.checklist import load_checklist
from tests.conformance.proofs import MARKER
from tests.support.shared_tables import both_are_here

RESULT: Final = Path("build") / "conformance.json"
"""Where a run leaves what passed, from the root of the run."""


def pytest_configure(config: pytest.Config) -> None:
    """Follow the outcomes in the process that hands out the tests, not in workers."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(config), "conformance-outcomes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check the ids of every marker that was collected, and send them along with the reports."""
    known = load_checklist()
    wrong = []
    for item in items:
        rows: set[str] = set()
        for mark in item.iter_markers(MARKER):
            if not mark.args:
                wrong.append(f"{item.nodeid}: the marker names no row")
            wrong += [f"{item.nodeid}: there is no row {name!r}" for name in mark.args if name not in known]
            rows.update(map(str, mark.args))
        if rows:
            item.user_properties.append((MARKER, sorted(rows)))
    if wrong:
        raise pytest.UsageError("tests/conformance/checklist.csv does not have what tests name:", *wrong)


class Outcomes:
    """The rows that the tests of a run name and prove, from the reports of every worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._passed: defaultdict[str, set[str]] = defaultdict(set)
        self._unproved: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one case."""
        for row in dict(report.user_properties).get(MARKER, ()):
            passed = self._passed[row]
            if report.when == "call" and report.passed:
                passed.add(report.nodeid.partition("[")[0])

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail the run if a row that tests name was not proved, and leave what passed."""
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not _is_whole(self._config):
            return
        result = self._config.rootpath / RESULT
        result.parent.mkdir(exist_ok=True)
        rows = {row: sorted(tests) for row, tests in sorted(self._passed.items())}
        result.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
        if os.environ.get("CI") and both_are_here():
            self._unproved = [row for row, tests in rows.items() if not tests]
            if self._unproved:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the rows that no test proved."""
        if self._unproved:
            terminalreporter.section("rows of the protocol for which no test passed", red=True)
            terminalreporter.line(", ".join(self._unproved))


def _is_whole(config: pytest.Config) -> bool:
    """Whether a run was asked for all tests."""
    narrowed = config.getoption("keyword") or config.getoption("markexpr") or config.getoption("deselect")
    return not narrowed and [Path(argument).resolve() for argument in config.args] == [config.rootpath / "tests"]
