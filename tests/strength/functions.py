"""The functions of a module of the core by the names that mutmut has for them, each with a digest of what it does."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256

from tests.support.shared_tables import REPOSITORY

__all__ = ["digests"]


def digests(modules: Iterable[str]) -> dict[str, str]:
    """Function -> digest of its code, without texts that only explain it.

    Args:
        modules: Of ``explorer/core``, without ``.py``.

    Returns:
        A function is named as ``protocol.protocol.x_parse``, a method as ``protocol.protocol.xǁProtocolǁparse``.
        Functions of one name, as those of a property, are one.
    """
    found: dict[str, str] = {}
    for module in modules:
        text = (REPOSITORY / "explorer/core" / f"{module}.py").read_text("utf-8")
        found |= {f"{module.replace('/', '.')}.{name}": digest for name, digest in _of_text(text).items()}
    return found


@cache
def _of_text(text: str) -> dict[str, str]:
    code: dict[str, str] = defaultdict(str)
    for name, function in _functions(ast.parse(text).body, ""):
        code[name] += ast.unparse(_unexplained(function))
    return {name: sha256(found.encode()).hexdigest()[:12] for name, found in code.items()}


def _functions(body: list[ast.stmt], class_name: str) -> Iterator[tuple[str, ast.stmt]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (f"xǁ{class_name}ǁ{node.name}" if class_name else f"x_{node.name}"), node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{class_name}.{node.name}" if class_name else node.name)


def _unexplained(function: ast.stmt) -> ast.stmt:
    for node in ast.walk(function):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_text(each)]  # type: ignore[attr-defined]
    return function


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
