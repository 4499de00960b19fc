"""What a test certainly asserts, read from its source: something on every way through it, something perhaps, nothing.

An assertion is ``assert``, ``pytest.raises``, ``pytest.warns`` and ``pytest.fail``, Playwright's ``expect``, and a call
of a function of the tests that asserts. It is certain unless it is in a loop over what may be empty, or in one branch
of a condition alone. What may be empty is everything but a display with an element (``[1, 2]``), a range of a number,
what keeps its elements (``sorted``, ``zip``, ``.items()``), ``at_least_one(...)``, and a name for one of these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

from tests.support.shared_tables import REPOSITORY

__all__ = ["Certainty", "TestSources"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_CONTEXTS: Final = {"raises", "warns", "deprecated_call"}
_CALLS: Final = {"fail", "expect", *_CONTEXTS}
_REFUSES_NONE: Final = "at_least_one"  # of tests/support
_KEEPING: Final = {
    "dict", "enumerate", "frozenset", "items", "iter", "keys", "list", "map", "pairwise", "permutations", "product",
    "reversed", "set", "sorted", "tuple", "values", "zip",
}  # fmt: skip


class Certainty(IntEnum):
    """Whether a test asserts: on no way through it, on some, on every."""

    NEVER = 0
    PERHAPS = 1
    ALWAYS = 2


@dataclass(frozen=True, slots=True)
class _Module:
    functions: Mapping[str, _Function]
    constants: Mapping[str, ast.expr]
    imports: Mapping[str, tuple[str, str]]


class TestSources:
    """The modules of the tests, parsed once, and what their functions assert."""

    __test__ = False

    def __init__(self, root: Path = REPOSITORY) -> None:
        self._root = root
        self._modules: dict[str, _Module | None] = {}
        self._certainties: dict[tuple[str, str], Certainty] = {}

    def tests(self) -> Iterator[tuple[str, Certainty]]:
        """Each test, as ``tests/folder/test_file.py::test_name``, with what it asserts."""
        for path in sorted((self._root / "tests").rglob("test_*.py")):
            where = path.relative_to(self._root)
            name = ".".join(where.with_suffix("").parts)
            module = self._module(name)
            for function in module.functions if module is not None else ():
                if function.rpartition(".")[2].startswith("test"):
                    yield f"{where.as_posix()}::{function.replace('.', '::')}", self.certainty(name, function)

    def certainty(self, module: str, function: str) -> Certainty:
        """What a function of a module of the tests asserts; nothing if there is none of that name."""
        key = (module, function)
        if key not in self._certainties:
            self._certainties[key] = Certainty.NEVER  # while it is looked at: a function that calls itself
            found = self._module(module)
            if found is not None and function in found.functions:
                body = found.functions[function].body
                self._certainties[key] = self._of_block(body, module, _assigned(found.functions[function]))
            elif found is not None and function in found.imports:
                self._certainties[key] = self.certainty(*found.imports[function])
        return self._certainties[key]

    def _module(self, name: str) -> _Module | None:
        """A module of the tests: what the program asserts for itself is no assertion of a test."""
        if name not in self._modules:
            path = self._root.joinpath(*name.split(".")).with_suffix(".py")
            self._modules[name] = _parsed(path) if name.startswith("tests.") and path.is_file() else None
        return self._modules[name]

    def _of_block(self, body: Sequence[ast.stmt], module: str, local: Mapping[str, ast.expr]) -> Certainty:
        return max((self._of_statement(node, module, local) for node in body), default=Certainty.NEVER)

    def _of_statement(self, node: ast.stmt, module: str, local: Mapping[str, ast.expr]) -> Certainty:
        match node:
            case ast.Assert(test=test):
                return max(self._of_asserted(test, module, local), self._of_calls(test, module))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return Certainty.NEVER
            case ast.For(iter=source, body=body, orelse=orelse):
                inner = self._of_block(body, module, local)
                if not self._has_elements(source, module, local):
                    inner = min(inner, Certainty.PERHAPS)
                return max(inner, self._of_calls(source, module), self._of_block(orelse, module, local))
            case ast.While(body=body):
                return min(self._of_block(body, module, local), Certainty.PERHAPS)
            case ast.If(test=test, body=body, orelse=orelse):
                ways = (self._of_block(body, module, local), self._of_block(orelse, module, local))
                return max(self._of_calls(test, module), _of_ways(ways))
            case ast.Match(subject=subject, cases=cases):
                ways = tuple(self._of_block(case.body, module, local) for case in cases)
                return max(self._of_calls(subject, module), min(_of_ways(ways), Certainty.PERHAPS))
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                entered = max(self._of_calls(item.context_expr, module) for item in items)
                return max(entered, self._of_block(body, module, local))
            case ast.Try(body=body, orelse=orelse, finalbody=finalbody, handlers=handlers):
                ways = [self._of_block([*body, *orelse], module, local)]
                ways += [self._of_block(handler.body, module, local) for handler in handlers]
                return max(_of_ways(ways), self._of_block(finalbody, module, local))
        return self._of_calls(node, module)

    def _of_asserted(self, test: ast.expr, module: str, local: Mapping[str, ast.expr]) -> Certainty:
        """``assert all(...)`` says nothing of nothing."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any"), args=[argument])):
                pass
            case ast.Call(func=ast.Name(id="all"), args=[argument]):
                pass
            case ast.BoolOp(op=ast.And(), values=values):
                return max(self._of_asserted(value, module, local) for value in values)
            case _:
                return Certainty.ALWAYS
        return Certainty.ALWAYS if self._has_elements(argument, module, local) else Certainty.PERHAPS

    def _of_calls(self, node: ast.AST, module: str) -> Certainty:
        """What the functions assert that are called in an expression."""
        found = Certainty.NEVER
        for call in ast.walk(node):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr=name)) if name in _CALLS:
                    return Certainty.ALWAYS
                case ast.Call(func=ast.Name(id="expect")):
                    return Certainty.ALWAYS
                case ast.Call(func=ast.Name(id=name)):
                    found = max(found, self.certainty(module, name))
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                    home = self._module(module)
                    package, inside = home.imports.get(owner, ("", "")) if home is not None else ("", "")
                    if package:
                        found = max(found, self.certainty(f"{package}.{inside}", name))
        return found

    def _has_elements(self, node: ast.expr, module: str, local: Mapping[str, ast.expr]) -> bool:
        """True if an iterable certainly has an element."""
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return any(
                    not isinstance(element, ast.Starred) or self._has_elements(element.value, module, local)
                    for element in elements
                )
            case ast.Dict(values=values):
                return bool(values)
            case ast.Constant(value=str(text)):
                return bool(text)
            case ast.Call():
                return self._gives_elements(node, module, local)
            case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                return all(not made.ifs and self._has_elements(made.iter, module, local) for made in node.generators)
            case ast.BinOp(op=ast.Add() | ast.BitOr(), left=left, right=right):
                return self._has_elements(left, module, local) or self._has_elements(right, module, local)
            case ast.Name(id=name) if name in local:
                return self._has_elements(local[name], module, {key: local[key] for key in local.keys() - {name}})
            case ast.Name(id=name):
                return self._constant_has_elements(module, name)
        return False

    def _gives_elements(self, call: ast.Call, module: str, local: Mapping[str, ast.expr]) -> bool:
        match call:
            case ast.Call(func=ast.Name(id=name)) if name == _REFUSES_NONE:
                return True
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                return _counts(arguments)
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as arguments) if name in _KEEPING:
                kept = arguments[1:] if name == "map" else arguments
                return all(self._has_elements(argument, module, local) for argument in kept)
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[]) if name in _KEEPING:
                return self._has_elements(owner, module, local)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="itertools"), attr=name), args=[_, *_] as arguments):
                return name in _KEEPING and all(self._has_elements(found, module, local) for found in arguments)
        return False

    def _constant_has_elements(self, module: str, name: str) -> bool:
        """True for a constant of the module, or one that it imports from another of the tests."""
        home = self._module(module)
        if home is None:
            return False
        if name in home.imports:
            return self._constant_has_elements(*home.imports[name])
        return name in home.constants and self._has_elements(home.constants[name], module, {})


def _of_ways(ways: Sequence[Certainty]) -> Certainty:
    """What ways assert of which one is taken."""
    return min(ways) if min(ways) == Certainty.ALWAYS else min(max(ways), Certainty.PERHAPS)


def _counts(arguments: Sequence[ast.expr]) -> bool:
    numbers = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return len(numbers) == len(arguments) and bool(range(*(number for number in numbers if isinstance(number, int))))


def _parsed(path: Path) -> _Module:
    module = ast.parse(path.read_text("utf-8"))
    functions: dict[str, _Function] = {}
    imports: dict[str, tuple[str, str]] = {}
    for node in module.body:
        if isinstance(node, _Function):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            functions.update(
                {f"{node.name}.{inner.name}": inner for inner in node.body if isinstance(inner, _Function)}
            )
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            imports.update({name.asname or name.name: (node.module, name.name) for name in node.names})
    return _Module(functions, _assigned(module), imports)


def _assigned(scope: ast.Module | _Function) -> dict[str, ast.expr]:
    """Names of a scope that are assigned once, and what."""
    found: dict[str, ast.expr] = {}
    often: set[str] = set()
    for node in ast.walk(scope) if isinstance(scope, _Function) else scope.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                often |= {name} & found.keys()
                found[name] = value
    return {name: value for name, value in found.items() if name not in often}
