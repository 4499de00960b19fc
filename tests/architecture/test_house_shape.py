"""The shape of the house: no folder too full, no package too large, and no module without a place among the layers."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.architecture.drawing import LEVELS, arrows, circles
from tests.architecture.sources import PACKAGE, REPOSITORY

MOST_MODULES = 20
APART = {"__init__.py", "conftest.py"}
"""No module that one looks for by its subject."""
TESTS = REPOSITORY / "tests"
CORE = PACKAGE / "core"


def _lines(folder: Path) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in folder.rglob("*.py"))


def test_no_folder_holds_more_modules_than_a_person_can_look_through() -> None:
    modules = Counter(path.parent for root in (PACKAGE, TESTS) for path in root.rglob("*.py") if path.name not in APART)
    found = {str(folder.relative_to(REPOSITORY)): count for folder, count in modules.items() if count > MOST_MODULES}
    assert found == {}
    assert {PACKAGE / "page", TESTS / "page", TESTS / "page/tabs"} <= modules.keys()


def test_no_package_of_the_core_is_a_third_of_it() -> None:
    sizes = {folder.name: _lines(folder) for folder in CORE.iterdir() if folder.is_dir()}
    assert [name for name, lines in sizes.items() if lines * 3 >= _lines(CORE)] == []


def test_the_core_holds_packages_and_the_error_tree() -> None:
    assert {path.name for path in CORE.glob("*.py")} == {"__init__.py", "errors.py"}


def test_a_module_without_a_layer_fails_the_import_contracts(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "explorer", ignore=_no_bytes)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    places = _layered()
    for place in places:
        newcomer = tmp_path / place.replace(".", "/") / "newcomer.py"
        newcomer.write_text('"""A module that nobody gave a place."""\n', encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode != 0
    broken = answer.stdout.partition("Broken contracts")[2]
    assert [place for place in places if f"{place}.newcomer" not in broken] == []


def test_the_largest_packages_are_layered() -> None:
    core = {f"explorer.core.{name}" for name in ("log", "versions", "transaction", "maintenance")}
    assert {"explorer", "explorer.core", "explorer.spark", "explorer.views", "explorer.web", *core} <= set(_layered())


@pytest.mark.parametrize("level", LEVELS)
def test_no_package_imports_itself_by_way_of_another(level: str) -> None:
    assert circles(arrows(level)) == []


def _layered() -> list[str]:
    """The packages all of whose modules must have a layer."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return [place for contract in contracts if contract.get("exhaustive") for place in contract["containers"]]


def _no_bytes(folder: str, names: list[str]) -> list[str]:
    """Leave out what is not source: the contracts are about modules."""
    return [name for name in names if not name.endswith(".py") and not (Path(folder) / name).is_dir()]


def test_no_class_name_is_that_of_two_things() -> None:
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(homes) > 1_000
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}
