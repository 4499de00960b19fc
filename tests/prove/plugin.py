"""The option ``--proofs-record`` of pytest: the whole dose leaves a record of how each proof went."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Final

import pytest

from tests.prove.proofs import PROOFS, proofs_of
from tests.prove.record import ProofRun, digest, load_record, write_record
from tests.support.dose import WHOLE_DOSE

OPTION: Final = "--proofs-record"
FOUND: Final = "found"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that renews the record."""
    parser.getgroup("proofs").addoption(OPTION, action="store_true", help="renew build/proofs.json for what ran")


def pytest_configure(config: pytest.Config) -> None:
    """Follow the outcomes in the process that hands out the tests, not in workers."""
    if hasattr(config, "workerinput") or not config.getoption(OPTION):
        return
    if not WHOLE_DOSE or config.getoption("keyword") or config.getoption("markexpr"):
        raise pytest.UsageError(f"{OPTION} records whole proofs: run python -m tests.prove")
    config.pluginmanager.register(Runs(), "proof-runs")


class Runs:
    """How the proofs of a run go, from the reports of every worker."""

    def __init__(self) -> None:
        # As the tests are when the run begins: what is edited meanwhile has not run.
        self._digests = {proof.name: digest(proof) for proof in PROOFS}
        self._cases: dict[str, dict[str, str]] = defaultdict(dict)
        self._seconds: Counter[str] = Counter()
        self._found: dict[str, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in one phase of one case."""
        for proof in proofs_of(report.nodeid):
            self._seconds[proof.name] += report.duration
            if report.when == "call" or not report.passed:
                self._cases[proof.name][report.nodeid] = report.outcome
            if report.when == "teardown":
                for name, found in report.user_properties:
                    if name == FOUND and isinstance(found, dict):
                        # An error is counted by its class: its text names the version and the folder.
                        for what, count in found.items():
                            self._found[proof.name][what.partition(" [")[0]] += count

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Renew the record of the proofs of which every test was handed out."""
        if session.shouldstop:
            return
        day = datetime.now(UTC).date().isoformat()
        record = load_record()
        asked = [str(argument) for argument in session.config.args]
        # A proof that is a folder holds tests of other proofs: it ran if it was asked for, not if one of those was.
        whole = {proof.name for proof in PROOFS if any(covers(each, proof.tests) for each in asked)}
        for name, cases in self._cases.items():
            if name not in whole:
                continue
            seconds, found = round(self._seconds[name], 1), dict(sorted(self._found[name].items()))
            failed = sorted(case for case, outcome in cases.items() if outcome == "failed")
            outcomes = dict(Counter(cases.values()))
            record[name] = ProofRun(day, self._digests[name], outcomes, seconds, found, failed)
        write_record(record)


def covers(asked: str, tests: str) -> bool:
    """Whether a run of what was asked for runs all of some tests: the same, or a folder or file that holds them."""
    return tests == asked or tests.startswith((f"{asked.rstrip('/')}/", f"{asked}::"))
