"""Covered means ran and passed: what a run writes into the record, and which record is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance import record as records
from tests.conformance.plugin import OPTION, Case, renewed, skipped_claims
from tests.conformance.proofs import load_proofs
from tests.conformance.record import (
    RECORD,
    MarkedTest,
    RecordedTest,
    load_record,
    marked_tests,
    marked_tests_of_source,
    stale_tests,
)
from tests.conformance.report import standings
from tests.support.shared_tables import ABSENT, REPOSITORY
from tests.support.small_dose import check_rows

TEST = "tests/test_x.py::test_y"
ROW = frozenset({"LOG-003"})

MODULE = """
import pytest
LIMIT = 3
OTHER = 4
def limit(): return LIMIT
@pytest.fixture
def table(): return limit()
@pytest.mark.conformance("LOG-003")
def test_y(table):
    assert table == 3
def test_z():
    assert OTHER
"""


@pytest.fixture(scope="module")
def source() -> dict[str, MarkedTest]:
    """The tests of the repository that name rows."""
    return marked_tests()


def test_every_test_that_names_rows_ran_as_it_is_now(source: dict[str, MarkedTest]) -> None:
    stale = stale_tests(load_record(), source)
    assert stale == [], "the record is older than these tests: run python -m tests.conformance --renew"


def test_the_source_names_the_same_rows_to_the_record_as_to_the_ledger(source: dict[str, MarkedTest]) -> None:
    named = {(row, test) for test, marked in source.items() for row in marked.rows}
    assert named == {(row, test) for row, tests in load_proofs().items() for test in tests}


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("table == 3", "table == 2", True),
        ("return limit()", "return 3", True),
        ("LIMIT = 3", "LIMIT = 2", True),
        ("return LIMIT", "return 3", True),
        ('"LOG-003"', '"LOG-004"', True),
        ("LIMIT = 3", "LIMIT = 3\npytestmark = pytest.mark.spark", True),
        ("LIMIT = 3", "LIMIT = 3\n@pytest.fixture(autouse=True)\ndef hurried(): ...", True),
        ("OTHER = 4", "OTHER = 5", False),
        ("assert OTHER", "assert not OTHER", False),
        ("def test_z", "\n\ndef test_z", False),
    ],
)
def test_a_digest_covers_the_test_and_what_it_names_in_its_module(old: str, new: str, changes: bool) -> None:
    before, after = (marked_tests_of_source(source)["test_y"] for source in (MODULE, MODULE.replace(old, new)))
    assert (before.digest != after.digest) is changes


def _recorded(digest: str = "d", passed: frozenset[str] = ROW, unproved: frozenset[str] = frozenset()) -> RecordedTest:
    return RecordedTest(digest, (), passed, unproved)


@pytest.mark.parametrize(
    ("record", "source", "stale"),
    [
        ({TEST: _recorded()}, {TEST: MarkedTest(ROW, "d")}, []),
        ({TEST: _recorded(passed=frozenset(), unproved=ROW)}, {TEST: MarkedTest(ROW, "d")}, []),
        ({TEST: _recorded("old")}, {TEST: MarkedTest(ROW, "d")}, [TEST]),
        ({TEST: _recorded()}, {TEST: MarkedTest(ROW | {"LOG-004"}, "d")}, [TEST]),
        ({}, {TEST: MarkedTest(ROW, "d")}, [TEST]),
        ({TEST: _recorded()}, {}, [TEST]),
    ],
)
def test_a_record_is_stale_for_a_test_that_changed_did_not_run_or_is_gone(
    record: dict[str, RecordedTest], source: dict[str, MarkedTest], stale: list[str]
) -> None:
    assert stale_tests(record, source) == stale


def test_a_row_whose_tests_were_skipped_is_not_covered() -> None:
    skipped = RecordedTest("d", (), frozenset(), frozenset({"LOG-003"}))
    spark = RecordedTest("d", ("reference", "spark"), frozenset({"LOG-004"}))
    alone = RecordedTest("d", (), frozenset({"LOG-004", "LOG-005"}))
    found = {entry.row.id: entry for entry in standings({"a": skipped, "b": spark, "c": alone})}
    assert (found["LOG-003"].standing, found["LOG-003"].tests) == ("open", ())
    assert (found["LOG-004"].standing, found["LOG-004"].tests, found["LOG-004"].needs) == ("covered", ("b", "c"), ())
    (only,) = (entry for entry in standings({"b": spark}) if entry.row.id == "LOG-004")
    assert only.needs == ("reference", "spark")


def test_a_test_that_failed_leaves_the_record() -> None:
    source = {TEST: MarkedTest(ROW, "new")}
    gone = {"tests/test_x.py::test_gone": _recorded()}
    ran = {f"{TEST}[1]": Case(ROW, frozenset({"spark"}), "passed"), f"{TEST}[2]": Case(ROW, frozenset())}
    assert renewed(gone, source, ran) == {TEST: RecordedTest("new", ("spark",), ROW)}
    ran[f"{TEST}[3]"] = Case(ROW, frozenset(), "failed")
    assert renewed({TEST: _recorded()}, source, ran) == {}
    assert renewed({TEST: _recorded()}, source, {}) == {TEST: _recorded()}


def test_a_claim_is_lost_if_every_case_of_a_row_is_skipped() -> None:
    skipped = {f"{TEST}[1]": Case(ROW, frozenset()), f"{TEST}[2]": Case(ROW, frozenset())}
    assert skipped_claims({TEST: _recorded()}, skipped) == [f"{TEST}: LOG-003"]
    assert skipped_claims({TEST: _recorded(passed=frozenset(), unproved=ROW)}, skipped) == []
    assert skipped_claims({TEST: _recorded()}, {**skipped, f"{TEST}[3]": Case(ROW, frozenset(), "passed")}) == []
    assert skipped_claims({}, skipped) == []


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """A small project whose record and tests are its own, and a way to run pytest in it."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_x.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.conformance('LOG-003')\n"
        "@pytest.mark.skipif('LEFT' in os.environ, reason='part of the whole dose: make prove')\n"
        "@pytest.mark.parametrize('case', [1, 2])\n"
        "def test_y(case):\n"
        "    if 'SKIP' in os.environ: pytest.skip(os.environ['SKIP'])\n"
        "@pytest.mark.spark\n"
        "@pytest.mark.conformance('LOG-004')\n"
        "def test_skipped(): pytest.skip('never here')\n"
        "@pytest.mark.conformance('LOG-005')\n"
        "def test_failing(): assert False\n"
        "def test_of_no_row(): ...\n",
        "utf-8",
    )
    start = (
        "import sys, pathlib, pytest\n"
        "from tests.conformance import plugin, proofs, record\n"
        f"record.TESTS = pathlib.Path({str(tmp_path / 'tests')!r})\n"
        f"record.RECORD = pathlib.Path({str(tmp_path / 'record.json')!r})\n"
        "sys.exit(pytest.main(sys.argv[1:], plugins=[plugin]))\n"
    )

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", start, "-c", "/dev/null", "--rootdir", str(tmp_path), *arguments]
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", f"{tmp_path}/tests/test_x.py"],
            env={"PATH": "", "PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n2")], ids=["one process", "two workers"])
def test_a_run_records_what_passed_what_it_needs_and_what_was_skipped(
    project: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, workers: tuple[str, ...]
) -> None:
    ran = project(OPTION, *(("-p", "tests.conformance.plugin") if workers else ()), *workers)
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout + ran.stderr
    record = json.loads((tmp_path / "record.json").read_text("utf-8"))
    digests = {entry.pop("digest") for entry in record.values()}
    assert len(digests) == 2
    assert record == {
        "tests/test_x.py::test_skipped": {"needs": ["spark"], "passed": [], "unproved": ["LOG-004"]},
        "tests/test_x.py::test_y": {"needs": [], "passed": ["LOG-003"]},
    }


def test_where_ci_is_set_a_recorded_test_may_not_be_skipped(
    project: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    project(OPTION)
    deselect = ("--deselect", "tests/test_x.py::test_failing")
    assert project(*deselect, CI="true").returncode == pytest.ExitCode.OK
    assert project(*deselect, SKIP="not here").returncode == pytest.ExitCode.OK
    refused = project(*deselect, SKIP="not here", CI="true")
    assert refused.returncode == pytest.ExitCode.TESTS_FAILED
    assert "tests/test_x.py::test_y: LOG-003" in refused.stdout
    assert project(*deselect, LEFT="1", CI="true").returncode == pytest.ExitCode.OK
    assert project(*deselect, SKIP=f"{ABSENT}: none", CI="true").returncode == pytest.ExitCode.OK


def test_not_every_test_of_a_row_is_left_to_the_whole_dose(request: pytest.FixtureRequest) -> None:
    # An item of its own: another test looks at the markers of those of the run.
    item = pytest.Function.from_parent(request.node.parent, name="test_of_a_row", callobj=lambda: None)
    item.add_marker(pytest.mark.conformance("LOG-003"))
    check_rows([item])
    item.add_marker(pytest.mark.skip(reason="part of the whole dose: make prove"))
    with pytest.raises(pytest.UsageError, match="LOG-003"):
        check_rows([item])


@pytest.mark.parametrize("choice", [("-k", "test_y"), ("-m", "conformance")])
def test_a_run_of_some_cases_is_not_recorded(
    project: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, choice: tuple[str, ...]
) -> None:
    refused = project(OPTION, *choice)
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "whole tests" in refused.stderr
    assert not (tmp_path / "record.json").exists()


def test_the_record_is_sorted_so_that_branches_merge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = RECORD.read_text("utf-8")
    record = load_record()
    assert record
    monkeypatch.setattr(records, "RECORD", tmp_path / "record.json")
    records.write_record(dict(reversed(record.items())))
    assert (tmp_path / "record.json").read_text("utf-8") == kept
