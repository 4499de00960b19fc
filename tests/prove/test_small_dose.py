"""What is named as running always in place of a test that is left out does run."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY


def whole_marks(file: str) -> Iterator[tuple[str, list[str], str]]:
    """The tests of a file that only the whole dose runs: name (empty for all), cases (empty for all), and the text."""
    for node in ast.parse(source(file)).body:
        marks = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks = node.value.elts if isinstance(node.value, ast.List) else [node.value]
        for mark in marks:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.whole":
                cases = [ast.literal_eval(word.value) for word in mark.keywords]
                yield getattr(node, "name", ""), cases[0] if cases else [], ast.literal_eval(mark.args[0])


def left_out() -> dict[str, str]:
    """A file, a test, or a case -> the text that names what always runs instead."""
    texts = {}
    for path in sorted((REPOSITORY / "tests").rglob("test_*.py")):
        file = path.relative_to(REPOSITORY).as_posix()
        for test, cases, text in whole_marks(file):
            name = f"{file}::{test}" if test else file
            texts.update({f"{name}[{case}]": text for case in cases} if cases else {name: text})
    return texts


def source(file: str) -> str:
    return (REPOSITORY / file).read_text("utf-8")


LEFT_OUT = left_out()


def is_left_out(name: str) -> bool:
    return not {name, name.partition("[")[0], name.partition("::")[0]}.isdisjoint(LEFT_OUT)


def named(name: str, text: str) -> set[str]:
    """The cases, the tests of the same file and the files of tests that a text names."""
    file, _, test = name.partition("::")
    cases = {f"{file}::{test.partition('[')[0]}[{case}]" for case in re.findall(r"the case ([\w-]+)", text)}
    tests = {f"{file}::{each}" for each in re.findall(r"(?<![/\w])test_\w+(?![.\w])", text)}
    folder = file.rpartition("/")[0]
    files = {
        path if path.startswith("tests/") else f"tests/{path}" if "/" in path else f"{folder}/{path}"
        for path in re.findall(r"[\w/]*test_\w+\.py", text)
    }
    return cases | {each for each in tests if f"def {each.partition('::')[2]}(" in source(file)} | files


def test_many_tests_are_left_to_the_whole_dose() -> None:
    assert len(LEFT_OUT) > 90


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_what_runs_instead_is_there_and_is_not_left_out_itself(name: str) -> None:
    instead = named(name, LEFT_OUT[name])
    assert [each for each in instead if not (REPOSITORY / each.partition("::")[0]).is_file()] == []
    assert [each for each in instead if is_left_out(each)] == []


def test_what_a_text_names_is_found() -> None:
    text = "the case v2-x, test_a_race_on_the_local_disk, test_kills.py and tests/web, spark/test_survey.py"
    assert named("tests/prove/test_races.py::test_a_race_on_s3[a]", text) == {
        "tests/prove/test_races.py::test_a_race_on_s3[v2-x]",
        "tests/prove/test_races.py::test_a_race_on_the_local_disk",
        "tests/prove/test_kills.py",
        "tests/spark/test_survey.py",
    }
    assert is_left_out("tests/e2e/tabs/test_rows.py::test_of_any_name[case]")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder of the tables that a small project finds beside it; its one test of a row is left out."""
    tests = tmp_path / "project" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_x.py").write_text(
        "import pytest\n@pytest.mark.conformance('LOG-003')\n@pytest.mark.whole('one elsewhere')\n"
        "def test_y(): ...\ndef test_z(): ...\n",
        "utf-8",
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
    assert "Only the whole dose runs the tests of these rows:" in ran.stdout
    assert "LOG-003" in ran.stdout
