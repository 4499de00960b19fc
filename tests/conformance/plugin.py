"""The marker ``conformance`` in a run of pytest: ids are checked, and what ran and passed can be recorded.

With ``--conformance-record`` the run renews ``record.json`` for the tests that it ran. Without it the run holds the
record to its word: where CI is set, a test that the record says has passed may not be skipped, unless it needs tables
made by others and the machine has none.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import pytest

from tests.conformance.checklist import load_checklist
from tests.conformance.proofs import MARKER
from tests.conformance.record import NEEDS, MarkedTest, RecordedTest, load_record, marked_tests, write_record
from tests.support.dose import IN_WHOLE_DOSE
from tests.support.shared_tables import ABSENT

OPTION: Final = "--conformance-record"

Outcome = Literal["passed", "failed", "skipped", "absent tables"]


@dataclass(slots=True)
class Case:
    """One case of a test that names rows, and how it went so far."""

    rows: frozenset[str]
    needs: frozenset[str]
    outcome: Outcome = "skipped"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that renews the record."""
    parser.getgroup("conformance").addoption(
        OPTION, action="store_true", help="renew tests/conformance/record.json for the tests of this run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Follow the outcomes in the process that hands out the tests, not in workers."""
    if hasattr(config, "workerinput"):
        return
    if config.getoption(OPTION) and not _runs_whole_tests(config):
        raise pytest.UsageError(f"{OPTION} records whole tests: choose them by file or name, not by -k, -m or [case]")
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
            needs = [name for name in NEEDS if item.get_closest_marker(name)]
            item.user_properties.append((MARKER, [sorted(rows), needs]))
    if wrong:
        raise pytest.UsageError("tests/conformance/checklist.csv does not hold what tests name:", *wrong)


class Outcomes:
    """How the tests that name rows went, from the reports of every worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # As it is when the run begins: what is edited meanwhile has not run.
        self._source = marked_tests() if config.getoption(OPTION) else {}
        self._cases: dict[str, Case] = {}
        self._skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one case."""
        found = dict(report.user_properties).get(MARKER)
        if not isinstance(found, list | tuple):
            return
        rows, needs = found
        if report.when == "setup" and not (report.skipped and IN_WHOLE_DOSE in str(report.longrepr)):
            self._cases[report.nodeid] = Case(frozenset(rows), frozenset(needs))
        case = self._cases.get(report.nodeid)
        if case is None:
            # Other tests of its rows ran: `tests.support.small_dose` refuses to leave out every one.
            return
        if report.failed:
            case.outcome = "failed"
        elif report.skipped and ABSENT in str(report.longrepr):
            case.outcome = "absent tables"
        elif report.when == "call" and report.passed:
            case.outcome = "passed"

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Renew the record, or hold it to its word."""
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or session.shouldstop:
            return
        if self._config.getoption(OPTION):
            write_record(renewed(load_record(), self._source, self._cases))
        elif os.environ.get("CI") and _runs_whole_tests(self._config):
            self._skipped = skipped_claims(load_record(), self._cases)
            if self._skipped:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the tests that were skipped though rows rest on them."""
        if self._skipped:
            terminalreporter.section("skipped, though tests/conformance/record.json says that they pass", red=True)
            for line in self._skipped:
                terminalreporter.line(line)


def renewed(
    record: Mapping[str, RecordedTest], source: Mapping[str, MarkedTest], cases: Mapping[str, Case]
) -> dict[str, RecordedTest]:
    """The record after a run: tests that ran as they went, none that failed or is gone, others as they were."""
    found = {test: entry for test, entry in record.items() if test in source}
    for test, ran in _by_test(cases).items():
        found.pop(test, None)
        if test in source and all(case.outcome != "failed" for case in ran):
            passed = frozenset(row for case in ran if case.outcome == "passed" for row in case.rows)
            needs = sorted({name for case in ran for name in case.needs})
            found[test] = RecordedTest(source[test].digest, tuple(needs), passed, source[test].rows - passed)
    return found


def skipped_claims(record: Mapping[str, RecordedTest], cases: Mapping[str, Case]) -> list[str]:
    """The tests of a run of which every case was skipped for a row that the record says they proved, with the rows."""
    found = []
    for test, ran in sorted(_by_test(cases).items()):
        recorded = record[test].passed if test in record else frozenset()
        skipped = {row for case in ran if case.outcome == "skipped" for row in case.rows}
        lost = recorded & skipped - {row for case in ran if case.outcome != "skipped" for row in case.rows}
        if lost:
            found.append(f"{test}: {', '.join(sorted(lost))}")
    return found


def _by_test(cases: Mapping[str, Case]) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for name, case in cases.items():
        found[name.partition("[")[0]].append(case)
    return found


def _runs_whole_tests(config: pytest.Config) -> bool:
    """True if the run was asked for by files and tests, so that each test ran with all of its cases."""
    chosen = config.getoption("keyword") or config.getoption("markexpr")
    return not chosen and not any("[" in str(argument) for argument in config.args)
