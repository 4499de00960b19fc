"""The record of the tests that ran and passed for the rows that they name: ``record.json``.

A run of pytest with ``--conformance-record`` writes it: what ran replaces what was known of those tests, and a test
that failed leaves the record. The record speaks of tests as they were when they ran. It is stale for a test that was
not run, that changed since or that is gone: `stale_tests` names those.

What a digest covers is the text of a test and of everything in its module that it names. What it calls outside of its
module, helpers and the program itself, may change without notice here, since every run of the tests tries that: there a
test of the record that fails, fails the run, and one that is skipped does so in CI (``plugin.py``).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from tests.conformance.proofs import TESTS, proofs_of_source, tests_of_module

__all__ = [
    "NEEDS",
    "RECORD",
    "MarkedTest",
    "RecordedTest",
    "load_record",
    "marked_tests",
    "marked_tests_of_source",
    "stale_tests",
    "write_record",
]

RECORD: Final = Path(__file__).parent / "record.json"
NEEDS: Final = ("spark", "interop", "e2e", "notebook", "golden", "reference")

_AUTOUSE: Final = "autouse=True"


@dataclass(frozen=True, slots=True)
class MarkedTest:
    """A test in the source that names rows: which, and the digest of what it is made of in its module."""

    rows: frozenset[str]
    digest: str


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """What a run showed of a test.

    Attributes:
        digest: Of the test's source as it ran.
        needs: What it cannot run without, of `NEEDS`; sorted.
        passed: Rows that passing cases of it name.
        unproved: Rows that it names and for which each of its cases was skipped.
    """

    digest: str
    needs: tuple[str, ...]
    passed: frozenset[str]
    unproved: frozenset[str] = frozenset()

    @property
    def rows(self) -> frozenset[str]:
        """All rows that the test named when it ran."""
        return self.passed | self.unproved


def load_record() -> dict[str, RecordedTest]:
    """Test (``tests/folder/test_file.py::test_name``) -> what its last recorded run showed; empty without a record."""
    if not RECORD.is_file():
        return {}
    return {test: _recorded(entry) for test, entry in json.loads(RECORD.read_text("utf-8")).items()}


def write_record(record: Mapping[str, RecordedTest]) -> None:
    """Replace the record, sorted, a test a line, so that two branches that renew other tests merge."""
    lines = [f"{json.dumps(test)}: {json.dumps(_entry(record[test]))}" for test in sorted(record)]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def stale_tests(record: Mapping[str, RecordedTest], source: Mapping[str, MarkedTest]) -> list[str]:
    """The tests of which the record says what it cannot know: not run, changed since, or gone. Sorted."""
    return sorted(
        test
        for test in record.keys() | source.keys()
        if test not in record
        or test not in source
        or (record[test].digest, record[test].rows) != (source[test].digest, source[test].rows)
    )


def marked_tests() -> dict[str, MarkedTest]:
    """Every test of the source that names rows."""
    found: dict[str, MarkedTest] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        where = path.relative_to(TESTS.parent).as_posix()
        marked = marked_tests_of_source(path.read_text("utf-8"))
        found.update({f"{where}::{test}": entry for test, entry in marked.items()})
    return found


def marked_tests_of_source(source: str) -> dict[str, MarkedTest]:
    """The tests of one module that name rows, as ``test`` or ``Class::test``."""
    rows = proofs_of_source(source)
    if not rows:
        return {}
    module, lines = ast.parse(source), source.splitlines()
    parts = _parts(module)
    always = {name for name, node in parts.items() if name == "pytestmark" or _AUTOUSE in _text(node, lines)}
    tests = {name: (test, outer) for name, test, outer in tests_of_module(module)}
    found = {}
    for name, named in rows.items():
        test, outer = tests[name]
        reached = _reached({name for node in (test, *outer) for name in _names(node)} | always, parts)
        pieces = [_text(node, lines) for node in (*outer, test)]
        pieces += [_text(parts[part], lines) for part in sorted(reached)]
        found[name] = MarkedTest(frozenset(named), sha256("\0".join(pieces).encode()).hexdigest()[:16])
    return found


def _parts(module: ast.Module) -> dict[str, ast.stmt]:
    """What the module defines by name: functions, classes that are no tests, and constants."""
    found: dict[str, ast.stmt] = {}
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (inner for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name))
            found.update({name.id: node for name in names})
    return found


def _reached(names: Collection[str], parts: Mapping[str, ast.stmt]) -> set[str]:
    """The parts that names lead to, through each other."""
    reached: set[str] = set()
    waiting = set(names) & parts.keys()
    while waiting:
        reached |= waiting
        waiting = ({name for part in waiting for name in _names(parts[part])} & parts.keys()) - reached
    return reached


def _names(node: ast.AST) -> Iterator[str]:
    """Every name in a node: variables, parameters (which are fixtures), and texts (names of fixtures in marks)."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Constant(value=str(name)):
                yield name


def _text(node: ast.AST, lines: list[str]) -> str:
    """The lines of a node with its decorators."""
    first = min([node.lineno, *(mark.lineno for mark in getattr(node, "decorator_list", ()))])  # type: ignore[attr-defined]
    return "\n".join(lines[first - 1 : node.end_lineno])  # type: ignore[attr-defined]


def _recorded(entry: dict[str, Any]) -> RecordedTest:
    return RecordedTest(
        entry["digest"], tuple(entry["needs"]), frozenset(entry["passed"]), frozenset(entry.get("unproved", ()))
    )


def _entry(test: RecordedTest) -> dict[str, Any]:
    entry: dict[str, Any] = {"digest": test.digest, "needs": sorted(test.needs), "passed": sorted(test.passed)}
    return entry | ({"unproved": sorted(test.unproved)} if test.unproved else {})
