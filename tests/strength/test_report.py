"""What is measured of the tests, how it is recorded, and the page that is made of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.strength import functions, mutants, report
from tests.strength.branches import record_of, share
from tests.strength.functions import digests
from tests.support.at_least_one import at_least_one
from tests.support.shared_tables import REPOSITORY


def test_the_parts_name_modules_and_tests_that_are_there() -> None:
    for part in at_least_one(mutants.PARTS.values()):
        assert [name for name in part.modules if not (REPOSITORY / "explorer/core" / f"{name}.py").is_file()] == []
        assert [name for name in part.tests if not (REPOSITORY / name).exists()] == []


def test_each_module_with_functions_is_in_one_part() -> None:
    core = REPOSITORY / "explorer/core"
    files = {file.relative_to(core).with_suffix("").as_posix() for file in core.rglob("*.py")}
    parts = Counter(module for part in mutants.PARTS.values() if not part.passed for module in part.modules)
    assert {name: count for name, count in parts.items() if count > 1} == {}
    assert [name for name in files - parts.keys() if digests([name])] == []


def test_functions_are_named_as_mutmut_names_them() -> None:
    from mutmut.mutation.file_mutation import compute_function_hashes

    for module in {module for part in at_least_one(mutants.PARTS.values()) for module in part.modules}:
        source = (REPOSITORY / "explorer/core" / f"{module}.py").read_text("utf-8")
        prefix = module.replace("/", ".")
        assert digests([module]).keys() == {f"{prefix}.{name}" for name in compute_function_hashes(source)}


CODE = """
class A:
    def f(self, x):
        {one}

def f(x):
    return x
"""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the only module of the only part, ``p``."""
    monkeypatch.setattr(functions, "REPOSITORY", tmp_path)
    monkeypatch.setattr(mutants, "PARTS", {"p": mutants.Part(("m/a",), ())})
    made = tmp_path / "explorer/core/m/a.py"
    made.parent.mkdir(parents=True)
    return made


def test_the_code_of_a_function_is_the_same_code_with_other_comments(module: Path) -> None:
    found = []
    for body in ('"""One."""\n        return x', "# Two.\n        return  x", "return -x"):
        module.write_text(CODE.format(one=body), "utf-8")
        found.append(digests(["m/a"]))
    method, function = "m.a.xǁAǁf", "m.a.x_f"
    assert [each.keys() for each in found] == [{method, function}] * 3
    assert found[0] == found[1]
    assert (found[0][method] == found[2][method], found[0][function] == found[2][function]) == (False, True)


def test_what_is_due_is_what_has_no_record_or_changed_or_went(module: Path) -> None:
    module.write_text(CODE.format(one="return x"), "utf-8")
    figures = {"mutants": 1, "killed": 1}
    recorded = {"functions": {name: {"digest": each, **figures} for name, each in digests(["m/a"]).items()}}
    assert mutants.due("p", {}) == ["m.a.x_f", "m.a.xǁAǁf"]
    assert mutants.due("p", recorded) == []
    module.write_text(CODE.format(one="return -x").replace("def f(x)", "def g(x)"), "utf-8")
    assert mutants.due("p", recorded) == ["m.a.x_f", "m.a.x_g", "m.a.xǁAǁf"]


def test_a_sample_stays_while_its_functions_and_others_change(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"f{number}" for number in range(40)]
    module.write_text("\n".join(f"def {name}(x):\n    return x" for name in names), "utf-8")
    sample = mutants.Part(("m/a",), (), 10)
    monkeypatch.setattr(mutants, "PARTS", {"p": sample})
    chosen = sample.functions()
    assert len(chosen) == 10
    assert chosen.keys() < digests(["m/a"]).keys()
    recorded = {"functions": {name: {"digest": each, "mutants": 1, "killed": 1} for name, each in chosen.items()}}
    changed = [f"def {name}(x):\n    return {'-x' if f'm.a.x_{name}' not in chosen else 'x'}" for name in names]
    module.write_text("\n".join(changed), "utf-8")
    assert mutants.due("p", recorded) == []
    module.write_text("\n".join(changed).replace("return x", "return x + 1"), "utf-8")
    assert mutants.due("p", recorded) == sorted(chosen)


def test_a_second_sample_follows_the_first_and_keeps_its_first_figures(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.write_text("\n".join(f"def f{number}(x):\n    return x" for number in range(9)), "utf-8")
    first, second = mutants.Part(("m/a",), (), 5), mutants.Part(("m/a",), (), 3, passed=5)
    assert (len(first.functions()), len(second.functions())) == (5, 3)
    assert first.functions().keys() & second.functions().keys() == set()
    monkeypatch.setattr(mutants, "PARTS", {"first": first, "second": second})
    figures = {name: {"digest": each, "mutants": 4, "killed": 3} for name, each in second.functions().items()}
    recorded = {
        "of": 9,
        "seconds": 7,
        "functions": figures,
        "survivors": [],
        "first": {name: [4, 1] for name in figures},
    }
    assert mutants.measure("second", recorded, [])["first"] == {name: [4, 1] for name in figures}
    *_, last = figures
    recorded["first"] = {name: [4, 1] for name in figures if name != last}
    assert mutants.measure("second", recorded, [])["first"] == {name: [4, 1] for name in figures} | {last: [4, 3]}
    assert "first" not in mutants.measure("first", {"of": 9, "seconds": 7}, [])


def test_a_package_is_estimated_from_its_parts_and_its_second_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {
        "a": mutants.Part(("m/a",), ()),
        "others-of-m": mutants.Part((), (), 2),
        "second-of-m": mutants.Part((), (), 2, passed=2),
    }
    monkeypatch.setattr(report, "PARTS", parts)

    def part(of: int, **functions: tuple[int, int]) -> dict[str, Any]:
        figures = {f"m.{name}": {"mutants": made, "killed": killed} for name, (made, killed) in functions.items()}
        first = {name: [each["mutants"], each["killed"]] for name, each in figures.items()}
        return {"of": of, "at": "2026-11-26", "seconds": 1, "functions": figures, "survivors": [], "first": first}

    ran = {"a": part(1, x_f=(100, 100)), "others-of-m": part(50, x_g=(10, 8))}
    assert "| m, whole | 110 | 108 (98 %) | - | - | - | not known |" in report.page({"mutants": ran})
    drawn = report.page({"mutants": ran | {"second-of-m": part(50, x_h=(10, 8))}})
    assert "| m, whole | 110 | 108 (98 %) | 1 of 49 | 10 | 8 (80 %) | 83 % (83 to 83) |" in drawn
    two = report.page({"mutants": ran | {"second-of-m": part(50, x_h=(10, 8), x_i=(10, 10))}})
    assert "| m, whole | 110 | 108 (98 %) | 2 of 49 | 20 | 18 (90 %) | 92 % (83 to 100) |" in two
    whole = report.page({"mutants": {"others-of-m": part(2, x_g=(10, 8), x_h=(10, 9))}})
    assert "| m, whole | 20 | 17 (85 %) | - | - | - | 85 % |" in whole


def test_a_function_that_went_leaves_the_record_and_the_others_stay(module: Path) -> None:
    module.write_text(CODE.format(one="return x"), "utf-8")
    figures = {"mutants": 2, "killed": 1}
    survivors = [
        {"function": name, "before": "return x", "after": "return None", "state": "survived"}
        for name in ("m.a.x_f", "m.a.x_gone")
    ]
    known = {name: {"digest": each, **figures} for name, each in digests(["m/a"]).items()}
    gone = {"m.a.x_gone": {"digest": "0", **figures}}
    recorded = {"of": 3, "seconds": 7, "functions": known | gone, "survivors": survivors}
    assert mutants.due("p", recorded) == ["m.a.x_gone"]
    assert mutants.measure("p", recorded, ["m.a.x_gone"]) == {
        "of": 2,
        "seconds": 7,
        "functions": known,
        "survivors": survivors[:1],
    }


def test_functions_with_a_survivor_that_is_not_judged_are_still_open() -> None:
    only_words = {"before": 'raise x("It is gone.")', "after": 'raise x("IT IS GONE.")'}
    survivors = [
        {"function": "m.a.x_f", "before": "return x", "after": "return None", "state": "survived"},
        {"function": "m.a.x_g", **only_words, "state": "survived"},
    ]
    assert mutants.still_open({"survivors": survivors}) == ["m.a.x_f"]


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
    covered = {"files": {f"explorer/core/{name}.py": {"summary": found, **missing} for name, found in summaries}}
    found = record_of(covered)
    assert found["packages"] == {"log": [14, 15, 1, 4], "errors": [5, 5, 0, 0], "all": [19, 20, 1, 4]}
    assert found["below"] == {"log/replay": {"figures": [9, 10, 1, 4], "lines": "3, 7-9, 12"}}
    assert (share([9, 10, 1, 4]), share([0, 0, 0, 0])) == (pytest.approx(100 * 10 / 14), 100)
