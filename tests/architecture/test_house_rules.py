"""Rules on names, docstrings and what may stand in the repository."""

import ast
import re
import subprocess

import pytest

from tests.architecture.sources import REPOSITORY, modules
from tests.prove.proofs import PROOFS

DRAWERS = {"common", "helper", "helpers", "manager", "misc", "process", "tools", "util", "utils"}

# Spelled in parts, so that this file does not hold what it looks for.
REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted.org",
    "repo1" + ".maven.org",
    "repo.maven" + ".apache.org",
    "registry.npm" + "js.org",
]
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/tm" + "p/w/"]
FORBIDDEN = re.compile("|".join(re.escape(text) for text in REGISTRIES + MACHINE_PATHS))


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, tree in modules().items() if not ast.get_docstring(tree)] == []


def test_no_module_is_a_drawer() -> None:
    assert [name for name in modules() if DRAWERS & set(name.lstrip("_").replace("_", ".").split("."))] == []


def test_no_file_names_a_registry_or_a_machine_path() -> None:
    found = {}
    for name in _tracked_files():
        path = REPOSITORY / name
        if not path.is_file():
            continue  # deleted, but not committed yet
        text = path.read_text(encoding="utf-8", errors="ignore")
        if match := FORBIDDEN.search(text):
            found[name] = match.group()
    assert found == {}


def test_every_test_of_two_doses_is_tried_in_the_whole_one() -> None:
    tried = tuple(proof.tests.partition("::")[0] for proof in PROOFS)
    dosed = re.compile(r"^from tests\.support\.dose import ", re.MULTILINE)
    files = {path.relative_to(REPOSITORY).as_posix(): path for path in (REPOSITORY / "tests").rglob("test_*.py")}
    found = [name for name, path in files.items() if dosed.search(path.read_text("utf-8"))]
    assert len(found) > 20
    assert [name for name in found if not name.startswith(tried)] == []


def _tracked_files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git clone: there is no list of the repository's files")
    return listing.stdout.rstrip("\0").split("\0")
