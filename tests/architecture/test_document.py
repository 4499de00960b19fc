"""``docs/architecture.md`` says what the code is: its drawings follow the imports, its walks the calls."""

from tests.architecture.document import COMMAND, DOCUMENT, renewed, walked
from tests.architecture.drawing import circles, drawn, reach
from tests.architecture.sources import modules, within
from tests.architecture.walks import Call, function_named, returns

TEXT = DOCUMENT.read_text(encoding="utf-8")


def test_the_drawings_and_walks_are_those_of_the_code() -> None:
    assert renewed(TEXT) == TEXT, f"docs/architecture.md is not what the code is: run {COMMAND}"


def test_every_function_of_a_walk_exists() -> None:
    names = walked(TEXT)
    assert len(names) > 50
    assert [name for name in names if not callable(_found(name))] == []


def _found(name: str) -> object:
    """The function of a dotted name below the package, whichever of its parts is the module."""
    parts = ["explorer", *name.split(".")]
    module = max(module for module in modules() if within(".".join(parts), module))
    return function_named(module, ".".join(parts)[len(module) + 1 :])


def test_a_circle_is_found_whatever_its_length() -> None:
    straight = frozenset({("a", "b"), ("b", "c"), ("a", "c")})
    assert circles(straight) == []
    assert reach(straight, "a") == {"b", "c"}
    assert drawn(straight) == [("a", "b"), ("b", "c")]
    ring = straight | {("c", "a")}
    assert circles(ring) == sorted(ring)
    assert drawn(ring) == sorted(ring)


def test_a_return_is_an_entry_into_a_module_that_was_left() -> None:
    calls = [Call(module, name, None) for module, name in (("a", "f"), ("a", "g"), ("b", "f"), ("a", "h"), ("a", "f"))]
    assert returns(calls) == (2, 1)
    assert returns([*calls, Call("b", "f", "a")]) == (2, 1), "a function counts at its first call"
    assert returns([*calls, Call("b", "g", "a")]) == (2, 2)
    assert returns([*calls, Call("b", "<lambda>", "a")]) == (2, 1)
