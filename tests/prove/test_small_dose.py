"""What is named as running always in place of a test that is left out does run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY
from tests.support.small_dose import LEFT_OUT


def is_left_out(name: str) -> bool:
    return not {name, name.partition("[")[0], name.partition("::")[0]}.isdisjoint(LEFT_OUT)


def named(left_out: str, said: str) -> set[str]:
    """The cases, the tests of the same file and the files of tests that a text names."""
    file, _, test = left_out.partition("::")
    cases = {f"{file}::{test.partition('[')[0]}[{case}]" for case in re.findall(r"the case ([\w-]+)", said)}
    tests = {f"{file}::{each}" for each in re.findall(r"(?<![/\w])test_\w+(?![.\w])", said)}
    folder = file.rpartition("/")[0]
    files = {
        path if path.startswith("tests/") else f"tests/{path}" if "/" in path else f"{folder}/{path}"
        for path in re.findall(r"[\w/]*test_\w+\.py", said)
    }
    return cases | {each for each in tests if f"def {each.partition('::')[2]}(" in source(file)} | files


def source(file: str) -> str:
    return (REPOSITORY / file).read_text("utf-8")


@pytest.mark.parametrize("left_out", sorted(LEFT_OUT))
def test_what_runs_instead_is_there_and_is_not_left_out_itself(left_out: str) -> None:
    found = named(left_out, LEFT_OUT[left_out])
    assert [name for name in found if not (REPOSITORY / name.partition("::")[0]).is_file()] == []
    assert [name for name in found if is_left_out(name)] == []


def test_what_a_text_names_is_found() -> None:
    said = "the case v2-x, test_a_race_on_the_local_disk, test_kills.py and tests/web, spark/test_survey.py"
    assert named("tests/prove/test_races.py::test_a_race_on_s3[a]", said) == {
        "tests/prove/test_races.py::test_a_race_on_s3[v2-x]",
        "tests/prove/test_races.py::test_a_race_on_the_local_disk",
        "tests/prove/test_kills.py",
        "tests/spark/test_survey.py",
    }
    assert is_left_out("tests/e2e/test_rows.py::test_of_any_name[case]")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder of the tables that a small project finds beside it; its one test of a row is left out."""
    tests = tmp_path / "project" / "tests"
    tests.mkdir(parents=True)
    (tests / "conftest.py").write_text(
        "from tests.support.small_dose import LEFT_OUT\nLEFT_OUT['tests/test_x.py::test_y'] = 'one elsewhere'\n",
        "utf-8",
    )
    (tests / "test_x.py").write_text(
        "import pytest\n@pytest.mark.conformance('LOG-003')\ndef test_y(): ...\ndef test_z(): ...\n", "utf-8"
    )
    return tmp_path / "shared"


def run(shared: Path) -> subprocess.CompletedProcess[str]:
    plugins = [f"-p{name}" for name in ("xdist", "tests.support.distribution", "tests.support.small_dose")]
    options = ["-c", "/dev/null", "--rootdir", ".", "--import-mode=importlib", "-pno:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, "-n2", "--dist=loadfile", "tests"],
        env={
            "PATH": "",
            "PYTHONPATH": str(REPOSITORY),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "DELTA_GOLDEN": str(shared),
            "DELTA_REFERENCE": str(shared),
        },
        cwd=shared.parent / "project",
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_of_everything_without_the_tables_made_by_others_goes_on(shared: Path) -> None:
    ran = run(shared)
    assert (ran.returncode, "1 passed, 1 skipped" in ran.stdout) == (pytest.ExitCode.OK, True), ran.stdout + ran.stderr


def test_a_run_in_which_a_row_would_be_left_out_is_refused_with_the_row_by_its_workers_too(shared: Path) -> None:
    for name in ("tables", "expected"):
        (shared / name).mkdir(parents=True)
    ran = run(shared)
    assert ran.returncode == pytest.ExitCode.INTERNAL_ERROR
    assert "leaves out every test of these rows:" in ran.stdout
    assert "LOG-003" in ran.stdout
