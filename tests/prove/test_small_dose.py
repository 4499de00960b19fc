"""What is named as running always in place of a test that is left out does run."""

from __future__ import annotations

import re

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
