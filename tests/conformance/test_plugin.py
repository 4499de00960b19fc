"""A run of all tests fails in CI if for a row of the protocol that tests name none of them passed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY
from tests.support.small_dose import check_rows

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run pytest in a small project, which has tables made by others beside it if it is asked to."""
    tests = tmp_path / "project" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_x.py").write_text(
        "import os, pytest\n"
        "@pytest.mark.conformance('LOG-003')\n"
        "@pytest.mark.parametrize('case', [1, 2])\n"
        "def test_y(case):\n"
        "    if case == 1 or 'SKIP' in os.environ: pytest.skip('not here')\n"
        "@pytest.mark.conformance('LOG-003', 'LOG-004')\n"
        "def test_z():\n"
        "    if 'SKIP' in os.environ: pytest.skip('not here')\n"
        "def test_of_no_row(): ...\n",
        "utf-8",
    )
    for name in ("golden", "reference"):
        for folder in ("tables", "expected"):
            (tmp_path / name / folder).mkdir(parents=True)

    def run(*arguments: str, tables: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        options = ["-p", "tests.conformance.plugin", "-c", "/dev/null", "--rootdir", ".", "-p", "no:cacheprovider"]
        shared = tmp_path if tables else tmp_path / "absent"
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, *arguments],
            env={
                "PATH": "",
                "PYTHONPATH": str(REPOSITORY),
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "DELTA_GOLDEN": str(shared / "golden"),
                "DELTA_REFERENCE": str(shared / "reference"),
                **environment,
            },
            cwd=tests.parent,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n2")], ids=["one process", "two workers"])
def test_a_whole_run_leaves_the_tests_that_passed_for_each_row(
    run: Run, tmp_path: Path, workers: tuple[str, ...]
) -> None:
    ran = run(*workers, "tests", CI="true")
    assert ran.returncode == pytest.ExitCode.OK, ran.stdout + ran.stderr
    assert json.loads((tmp_path / "project" / "build" / "conformance.json").read_text("utf-8")) == {
        "LOG-003": ["tests/test_x.py::test_y", "tests/test_x.py::test_z"],
        "LOG-004": ["tests/test_x.py::test_z"],
    }


def test_a_row_whose_tests_were_all_skipped_fails_a_whole_run_in_ci(run: Run) -> None:
    refused = run("tests", CI="true", SKIP="1")
    assert refused.returncode == pytest.ExitCode.TESTS_FAILED
    assert "rows of the protocol for which no test passed" in refused.stdout
    assert "LOG-003, LOG-004" in refused.stdout
    assert run("tests", SKIP="1").returncode == pytest.ExitCode.OK
    assert run("tests", CI="true", SKIP="1", tables=False).returncode == pytest.ExitCode.OK
    assert run("tests/test_x.py", CI="true", SKIP="1").returncode == pytest.ExitCode.OK


def test_not_every_test_of_a_row_is_left_to_the_whole_dose(request: pytest.FixtureRequest) -> None:
    # An item of its own: another test looks at the markers of those of the run.
    item = pytest.Function.from_parent(request.node.parent, name="test_of_a_row", callobj=lambda: None)
    item.add_marker(pytest.mark.conformance("LOG-003"))
    check_rows([item])
    item.add_marker(pytest.mark.skip(reason="part of the whole dose: make prove"))
    with pytest.raises(pytest.UsageError, match="LOG-003"):
        check_rows([item])
