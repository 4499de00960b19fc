"""Worked walks through the house, recorded from real calls on a small table.

A walk is the order in which its functions are first called. How often it comes back to a module that it had left says
how much a reader turns pages: `returns` counts it over all named functions, private ones too, each at its first call;
functions without a name of their own (lambdas, comprehensions) do not count.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import explorer
from explorer.core.transaction.intents.records import SetProperties
from explorer.page.address import Address
from explorer.page.pages import table_page
from explorer.web.served_tables import Catalog
from tests.architecture.sources import PACKAGE
from tests.support.logs.small_logs import PROTOCOL, add, commit_info, metadata, remove, write_log
from tests.support.pages.idle_windows import idle_work

# Called everywhere: the rules of single values, and words for people.
EVERYWHERE = (
    "explorer.core.protocol",
    "explorer.core.errors",
    "explorer.credentials",
    "explorer.formatting",
    "explorer.system",
)
MOST_NAMED = 3


class Call(NamedTuple):
    """A function that was called: its module, its name there, and the module that called it, if it is one of ours."""

    module: str
    name: str
    caller: str | None


def recorded() -> dict[str, list[Call]]:
    """The calls of each walk, in their order, on tables that nobody has opened yet."""
    with tempfile.TemporaryDirectory() as folder:
        # Once for what is only done at first: modules are loaded, templates compiled.
        _walked(Path(folder) / "first")
        return _walked(Path(folder) / "warehouse")


def steps(calls: Sequence[Call]) -> list[Call]:
    """The public functions that one package calls of another, at their first call."""
    found: dict[tuple[str, str], Call] = {}
    for call in calls:
        public = not any(part.startswith(("_", "<")) for part in call.name.split("."))
        crosses = _package(call.module) != _package(call.caller) and not call.module.startswith(EVERYWHERE)
        if public and crosses and callable(function_named(call.module, call.name)):
            found.setdefault((call.module, call.name), call)
    return list(found.values())


def returns(calls: Sequence[Call]) -> tuple[int, int]:
    """How many modules a walk enters, and how often it enters one that it had left."""
    order = list(dict.fromkeys((call.module, call.name) for call in calls if "<" not in call.name))
    entered = [module for at, (module, _) in enumerate(order) if at == 0 or order[at - 1][0] != module]
    return len(set(entered)), len(entered) - len(set(entered))


def walk(calls: Sequence[Call]) -> str:
    """A walk as a numbered list: a line for each room, in the order of the first entry, with its first functions."""
    rooms: dict[str, list[str]] = {}
    for step in steps(calls):
        room = _room(step.module)
        rooms.setdefault(room, []).append(f"`{_below(room, step)}`")
    return "\n".join(
        f"{number}. {room}: {', '.join(names[:MOST_NAMED])}" for number, (room, names) in enumerate(rooms.items(), 1)
    )


def function_named(module: str, name: str) -> Any:
    """What a dotted name of a module leads to; None if there is nothing, a property as it is."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part, None)
    return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found


def _walked(folder: Path) -> dict[str, list[Call]]:
    location = write_log(folder / "orders", _COMMITS)
    found: dict[str, list[Call]] = {}

    def record(name: str, action: Callable[[], Any]) -> Any:
        with _recording() as calls:
            result = action()
        found[name] = calls
        return result

    record("reading", lambda: explorer.open_table(location).snapshot())
    table = explorer.open_table(location)
    table.snapshot()
    intent = SetProperties(properties={"delta.enableDeletionVectors": "true"})
    plan = record("plan", lambda: table.plan(intent))
    record("commit", lambda: table.commit(plan, reason="Erasures are due."))
    catalog = Catalog([str(folder)])
    work = idle_work(catalog)
    address = f"?t={folder.name}/orders&tab=diff"
    record("page", lambda: table_page(catalog, Address.parse(address), "light", work))
    return found


_COMMITS = (
    (commit_info("CREATE TABLE"), PROTOCOL, metadata({"id": "long", "name": "string"})),
    (commit_info("WRITE"), add("a.parquet"), add("b.parquet")),
    (commit_info("DELETE"), remove("a.parquet")),
)


@contextmanager
def _recording() -> Iterator[list[Call]]:
    calls: list[Call] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = _module(frame)
        if event == "call" and module is not None:
            calls.append(Call(module, frame.f_code.co_qualname, _caller(frame)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _module(frame: FrameType) -> str | None:
    path = frame.f_code.co_filename
    if not path.startswith(f"{PACKAGE}/") or not path.endswith(".py"):
        return None  # of a library, or a template
    return f"explorer.{path[len(str(PACKAGE)) + 1 : -3].replace('/', '.')}".removesuffix(".__init__")


def _caller(frame: FrameType) -> str | None:
    above = frame.f_back
    while above is not None and _module(above) is None:
        above = above.f_back
    return None if above is None else _module(above)


def _package(module: str | None) -> str | None:
    """The folder that a module is in; a package is a folder itself."""
    if module is None:
        return None
    is_folder = (PACKAGE.parent / module.replace(".", "/")).is_dir()
    return module if is_folder else module.rpartition(".")[0]


def _room(module: str) -> str:
    """The room of a module: a package of the core, or what is at the top of the house."""
    parts = module.split(".")[1:]
    return ".".join(parts[: 2 if parts[0] == "core" else 1])


def _below(room: str, step: Call) -> str:
    """A function's dotted name inside its room."""
    return f"{step.module}.{step.name}".removeprefix(f"explorer.{room}.")
