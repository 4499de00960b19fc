"""The rules on who may import whom, and when."""

import ast
from collections.abc import Callable

import pytest

from tests.architecture.sources import imports_when_loaded, modules, within


@pytest.mark.parametrize("package", ["explorer.spark", "explorer.web", "explorer.jupyter"])
def test_heavy_part_is_imported_only_when_called_for(package: str) -> None:
    offenders = {
        name: bad
        for name, tree in modules().items()
        if not within(name, package)
        and (bad := [found for found in imports_when_loaded(tree) if within(found, package)])
    }
    assert offenders == {}


def test_core_takes_time_and_identity_as_arguments() -> None:
    clocks = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom", "getpid", "gethostname"}
    assert _calls_in_core(lambda call: call.rpartition(".")[2] in clocks) == {}


def test_core_opens_no_file() -> None:
    assert _calls_in_core(lambda call: call in {"open", "io.open", "os.open"}) == {}


def _calls_in_core(banned: Callable[[str], bool]) -> dict[str, list[str]]:
    found = {
        name: [
            f"{call} at line {node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and banned(call := ast.unparse(node.func))
        ]
        for name, tree in modules().items()
        if within(name, "explorer.core")
    }
    return {name: calls for name, calls in found.items() if calls}


def test_imports_when_loaded_skips_functions_and_type_checking() -> None:
    source = """
import a
from b import c
if TYPE_CHECKING:
    import d
else:
    import e
try:
    import f.g
except ImportError:
    import h
def function():
    import i
class Class:
    import j
    def method(self):
        import k
"""
    assert list(imports_when_loaded(ast.parse(source))) == ["a", "b.c", "e", "f.g", "h", "j"]


def test_sources_see_the_whole_package() -> None:
    assert {"explorer", "explorer.table", "explorer.core.errors"} <= set(modules())
