"""The source files of the package, parsed once: what the architecture tests look at."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import explorer

PACKAGE = Path(explorer.__file__).parent
REPOSITORY = PACKAGE.parent


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of every module by its dotted name."""
    return {_dotted_name(path): ast.parse(path.read_bytes(), str(path)) for path in sorted(PACKAGE.rglob("*.py"))}


def _dotted_name(path: Path) -> str:
    parts = path.relative_to(REPOSITORY).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_when_loaded(tree: ast.AST) -> Iterator[str]:
    """Yield the names that importing the module imports: outside functions and ``TYPE_CHECKING`` blocks."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                continue
            case ast.If(test=test) if ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                for alternative in node.orelse:
                    yield from _imported(alternative)
                    yield from imports_when_loaded(alternative)
            case _:
                yield from _imported(node)
                yield from imports_when_loaded(node)


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{alias.name}" for alias in names)


def within(name: str, package: str) -> bool:
    """Say whether a dotted name is the package or below it."""
    return name == package or name.startswith(f"{package}.")
