"""Which tests say that they prove which rows, read from the tests' source.

Source and not a test run: the answer is the same on a machine that lacks Spark, a browser or the golden tables. The
marker is ``@pytest.mark.conformance("LOG-003", ...)`` on a test or a class, in a module's ``pytestmark``, or in the
``marks`` of a ``pytest.param``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MARKER", "NEEDS", "TESTS", "Proof", "load_proofs", "proofs_of_source"]

MARKER: Final = "conformance"
NEEDS: Final = ("spark", "interop", "e2e", "notebook", "golden", "reference")
"""Markers of what a test cannot run without."""
TESTS: Final = Path(__file__).parent.parent

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Proof:
    """A test that names rows.

    Attributes:
        rows: The rows that it names.
        needs: What it cannot run without, of `NEEDS`; sorted.
    """

    rows: frozenset[str]
    needs: tuple[str, ...]


def load_proofs() -> dict[str, Proof]:
    """Return every test that names rows, by its name ``tests/folder/test_file.py::test_name``."""
    proofs: dict[str, Proof] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        file = path.relative_to(TESTS.parent).as_posix()
        proofs.update({f"{file}::{test}": proof for test, proof in proofs_of_source(path.read_text("utf-8")).items()})
    return proofs


def proofs_of_source(source: str) -> dict[str, Proof]:
    """Return the tests of one module that name rows, as ``test`` or ``Class::test``.

    Raises:
        ValueError: A marker's argument is not a plain string.
    """
    if f"mark.{MARKER}" not in source:
        return {}  # most modules are not parsed, which takes a second for each hundred
    module = ast.parse(source)
    everywhere = [node for node in module.body if _is_pytestmark(node)]
    proofs = {}
    for name, test, outer in _tests_of(module):
        marked = (*everywhere, *outer, *test.decorator_list)
        if rows := frozenset(row for node in marked for row in _rows(node)):
            proofs[name] = Proof(rows, tuple(sorted({need for node in marked for need in _needs(node)})))
    return proofs


def _tests_of(module: ast.Module) -> Iterator[tuple[str, _Function, list[ast.expr]]]:
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


def _rows(node: ast.AST) -> Iterator[str]:
    """The ids of every marker inside a node."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _is_marker(call.func):
            for argument in call.args:
                if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
                    raise ValueError(f"line {argument.lineno}: the ids of a conformance marker are plain strings")
                yield argument.value


def _needs(node: ast.AST) -> Iterator[str]:
    """The markers of `NEEDS` inside a node."""
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(attr=name, value=ast.Attribute(attr="mark")) if name in NEEDS:
                yield name


def _is_marker(function: ast.expr) -> bool:
    match function:
        case ast.Attribute(attr=name, value=ast.Attribute(attr="mark")):
            return name == MARKER
    return False
