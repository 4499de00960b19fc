"""The page on the strength of the tests is what the record says, and no module below the aim is without a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.strength import mutants
from tests.strength.branches import WHY, record_of, share
from tests.strength.judged import JUDGED
from tests.strength.report import PAGE, RECORD, page
from tests.support.shared_tables import REPOSITORY


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8"))
    return found


def test_the_page_is_what_the_record_says(record: dict[str, Any]) -> None:
    assert PAGE.read_text("utf-8") == page(record), "run: python -m tests.strength page"


def test_a_module_that_the_tests_reach_too_little_has_a_reason(record: dict[str, Any]) -> None:
    assert sorted(record["branches"]["below"].keys() - WHY.keys()) == []
    assert [name for name in WHY if not (REPOSITORY / "explorer" / "core" / f"{name}.py").is_file()] == []


def test_the_parts_name_modules_and_tests_that_are_there(record: dict[str, Any]) -> None:
    for part in mutants.PARTS.values():
        assert [name for name in part.modules if not (REPOSITORY / "explorer/core" / f"{name}.py").is_file()] == []
        assert [name for name in part.tests if not (REPOSITORY / name).exists()] == []
    assert record.get("mutants", {}).keys() <= mutants.PARTS.keys()


def test_no_record_of_mutants_is_older_than_the_code_it_speaks_of(record: dict[str, Any]) -> None:
    recorded = record.get("mutants", {})
    due = [name for name in mutants.due_parts(recorded) if name in recorded]
    assert due == [], f"run: python -m tests.strength mutants {' '.join(due)}"


def test_the_code_of_a_part_is_the_same_code_with_other_comments(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(mutants, "REPOSITORY", tmp_path)
    module = tmp_path / "explorer/core/a.py"
    module.parent.mkdir(parents=True)
    digests = []
    for body in ('"""One."""\n    return x', "# Two.\n    return x", "return -x"):
        module.write_text(f"def f(x):\n    {body}\n", "utf-8")
        digests.append(mutants.digest(mutants.Part(("a",), ())))
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('return x("It is gone.")', 'return x("XXIt is gone.XX")', "only letters of a message"),
        ('return x("It is gone.")', 'return x("IT IS GONE.")', "only letters of a message"),
        ('return {"detail": "It is gone."}', 'return {"DETAIL": "It is gone."}', ""),
        ('return x("gone")', 'return x("XXgoneXX")', ""),
        ('return x("It is gone.")', "return x(None)", ""),
        ("zip(a, b, strict=True)", "zip(a, b, strict=False)", "both sides have one length, which zip only asserts"),
        ("zip(a, b, strict=True)", "zip(a, b, )", "both sides have one length, which zip only asserts"),
        ("zip(a, b, strict=True)", "zip(a, strict=True)", ""),
    ],
)
def test_what_is_said_of_survivors_by_rule(before: str, after: str, said: str) -> None:
    assert mutants.judgement({"function": "f", "before": before, "after": after, "state": "survived"}) == said


def test_figures_add_up_by_package() -> None:
    summary = {"covered_lines": 9, "num_statements": 10, "covered_branches": 1, "num_branches": 4}
    whole = {"covered_lines": 5, "num_statements": 5, "covered_branches": 0, "num_branches": 0}
    names = ("log/replay", "log/commit", "errors")
    summaries = zip(names, (summary, whole, whole), strict=True)
    missing = {"missing_lines": [7, 8], "missing_branches": [[3, 4], [9, -1], [12, 13]]}
    report = {"files": {f"explorer/core/{name}.py": {"summary": found, **missing} for name, found in summaries}}
    found = record_of(report)
    assert found["packages"] == {"log": [14, 15, 1, 4], "errors": [5, 5, 0, 0], "all": [19, 20, 1, 4]}
    assert found["below"] == {"log/replay": {"figures": [9, 10, 1, 4], "lines": "3, 7-9, 12"}}
    assert (share([9, 10, 1, 4]), share([0, 0, 0, 0])) == (pytest.approx(100 * 10 / 14), 100)


def test_what_is_judged_of_a_mutant_holds_for_that_change_of_the_line_alone() -> None:
    [(function, before, after), reason] = next(item for item in JUDGED.items() if len(item[0]) == 3)
    survivor = {"function": function, "before": before, "after": after, "state": "survived"}
    assert mutants.judgement(survivor) == reason
    assert mutants.judgement({**survivor, "after": after.replace("<I", ">i")}) == ""
