"""The house, drawn from its imports: the packages of a level, and which imports which. An annotation is an import."""

from __future__ import annotations

import ast
from functools import cache

import grimp

from tests.architecture.sources import modules

Arrows = frozenset[tuple[str, str]]
LEVELS = ("explorer", "explorer.core")


@cache
def arrows(level: str) -> Arrows:
    """Which package or module directly inside ``level`` imports which other, by short names."""
    graph = _graph()
    room = {
        module: child.rpartition(".")[2]
        for child in graph.find_children(level)
        for module in (child, *graph.find_descendants(child))
    }
    return frozenset(
        (room[module], room[imported])
        for module in room
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in room and room[imported] != room[module]
    )


def circles(found: Arrows) -> list[tuple[str, str]]:
    """The arrows that lead back to where they start from."""
    return sorted(arrow for arrow in found if arrow[0] in reach(found, arrow[1]))


def reach(found: Arrows, start: str) -> set[str]:
    """All that a room imports, directly or not."""
    known: set[str] = set()
    pending = [start]
    while pending:
        new = {end for begin, end in found if begin == pending[-1]} - known
        pending.pop()
        known |= new
        pending += new
    return known


def drawn(found: Arrows) -> list[tuple[str, str]]:
    """The arrows less those that follow from others, so that the drawing can be read."""
    ring = set(circles(found))
    straight = found - ring
    return sorted(
        (begin, end)
        for begin, end in found
        if (begin, end) in ring
        or not any(end in reach(found, via) for other, via in straight if other == begin and via != end)
    )


def drawing(level: str) -> str:
    """A level as a Mermaid chart, and a table of its rooms from the top down."""
    found = arrows(level)
    shown = drawn(found)
    chart = ["```mermaid", "flowchart TD", *(f"    {begin} --> {end}" for begin, end in shown), "```"]
    rooms = sorted({room for arrow in found for room in arrow}, key=lambda room: (-_height(found, room), room))
    rows = [f"| `{room}` | {_theme(f'{level}.{room}')} |" for room in rooms]
    count = (
        f"{len(rooms)} rooms, {len(found)} arrows; {len(found) - len(shown)} that follow from others are not drawn. "
        f"{len(circles(found))} lead in a circle."
    )
    return "\n".join([*chart, "", count, "", "| Room | What it is |", "|---|---|", *rows])


@cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("explorer", exclude_type_checking_imports=False, cache_dir=None)


def _height(found: Arrows, room: str, above: tuple[str, ...] = ()) -> int:
    """The longest way down."""
    below = {end for begin, end in found if begin == room} - {*above, room}
    return 1 + max((_height(found, each, (*above, room)) for each in below), default=-1)


def _theme(module: str) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(modules()[module]) or ""
    return text.split("\n\n")[0].replace("\n", " ")
