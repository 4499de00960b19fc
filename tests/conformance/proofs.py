"""Which tests say that they prove which rows, read from the tests' source.

Source and not a test run: the answer is the same on a machine that lacks Spark, a browser or the golden tables. The
marker is ``@pytest.mark.conformance("LOG-003", ...)`` on a test or a class, in a module's ``pytestmark``, or in the
``marks`` of a ``pytest.param``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

__all__ = ["MARKER", "TESTS", "load_proofs", "proofs_of_source", "tests_of_module"]

MARKER: Final = "conformance"
TESTS: Final = Path(__file__).parent.parent

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def load_proofs() -> dict[str, tuple[str, ...]]:
    """Row id -> the tests that name it, as ``tests/folder/test_file.py::test_name``, sorted."""
    found: dict[str, set[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        where = path.relative_to(TESTS.parent).as_posix()
        for test, ids in proofs_of_source(path.read_text("utf-8")).items():
            for row in ids:
                found.setdefault(row, set()).add(f"{where}::{test}")
    return {row: tuple(sorted(tests)) for row, tests in sorted(found.items())}


def proofs_of_source(source: str) -> dict[str, set[str]]:
    """Test name (``Class::test`` inside a class) -> the rows it names, for one module's source.

    Raises:
        ValueError: A marker's argument is no plain string.
    """
    if f"mark.{MARKER}" not in source:
        return {}  # most modules are not parsed, which takes a second for each hundred
    module = ast.parse(source)
    everywhere = {row for node in module.body if _is_pytestmark(node) for row in _named(node)}
    found: dict[str, set[str]] = {}
    for name, test, outer in tests_of_module(module):
        ids = everywhere | {row for node in (*outer, *test.decorator_list) for row in _named(node)}
        if ids:
            found[name] = ids
    return found


def tests_of_module(module: ast.Module) -> Iterator[tuple[str, _Function, list[ast.expr]]]:
    """Each test: its name (``Class::test`` inside a class), itself, and the decorators of its class."""
    for node in module.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node, []
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            for inner in node.body:
                if isinstance(inner, _Function) and inner.name.startswith("test"):
                    yield f"{node.name}::{inner.name}", inner, node.decorator_list


def _is_pytestmark(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in targets)


def _named(node: ast.AST) -> Iterator[str]:
    """The ids of every marker inside a node."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _is_marker(call.func):
            for argument in call.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise ValueError(f"line {argument.lineno}: the ids of a conformance marker are plain strings")
                yield argument.value


def _is_marker(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(attr=name, value=ast.Attribute(attr="mark")):
            return name == MARKER
    return False
