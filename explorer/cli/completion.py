"""What can come next in ``%delta ...``: commands, tables, options, versions, columns.

Invariants: nothing is completed from a table that cannot be read, and no error leaves this module's functions: a person
who types is not interrupted. Only the log of a table is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from typer.core import TyperArgument, TyperCommand, TyperOption

import explorer
from explorer.cli.app import command_group
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.nested_types import walk

__all__ = ["commands", "completions", "table_variables"]

_MOST: Final = 200
_LOG: Final = "_delta_log"
_VERSIONS: Final = frozenset({"--version", "--from", "--to"})
_COLUMNS: Final = frozenset({"--column", "--key"})
_SEVERAL: Final = frozenset({"tables", "roots"})
_TABLES: Final = _SEVERAL | {"table"}


def commands() -> tuple[str, ...]:
    """Return the names of the commands."""
    return tuple(sorted(command_group().commands))


def table_variables(names: Mapping[str, object]) -> dict[str, explorer.Table]:
    """Return the tables among the variables of a notebook, by name."""
    return {name: value for name, value in names.items() if isinstance(value, explorer.Table) and name[:1] != "_"}


def completions(words: Sequence[str], begun: str, variables: Mapping[str, explorer.Table]) -> tuple[str, ...]:
    """Return what can follow.

    Args:
        words: The words before, from the command's name on.
        begun: The beginning of the word to complete.
        variables: Tables by the names of variables.
    """
    if not words:
        return tuple(name for name in commands() if name.startswith(begun))
    command = command_group().commands.get(words[0])
    if not isinstance(command, TyperCommand):
        return ()
    candidates = tuple(_next(command, words[1:], begun, variables))
    return tuple(text for text in candidates if text.startswith(begun))[:_MOST]


def _next(
    command: TyperCommand, words: Sequence[str], begun: str, variables: Mapping[str, explorer.Table]
) -> Iterator[str]:
    options = {name: param for param in command.params if isinstance(param, TyperOption) for name in param.opts}
    last = options.get(words[-1]) if words else None
    positions = [p.name for p in command.params if isinstance(p, TyperArgument)]
    given = _positional(words, options)
    if begun.startswith("-"):
        yield from sorted(options)
    elif last is not None and not last.is_flag:
        yield from _values(words[-1], _table(given, variables))
    elif positions and (len(given) < len(positions) or positions[-1] in _SEVERAL):
        place = positions[min(len(given), len(positions) - 1)]
        table = _table(given, variables)
        if place in _TABLES:
            yield from sorted(variables)
            yield from _folders(begun)
        elif place in {"from_version", "to_version"}:
            yield from _versions(table)
        elif place == "name":
            yield from _columns(table)


def _positional(words: Sequence[str], options: Mapping[str, TyperOption]) -> list[str]:
    """Return the words that are neither options nor values of options."""
    positional = []
    for place, word in enumerate(words):
        before = options.get(words[place - 1]) if place else None
        if not word.startswith("-") and (before is None or before.is_flag):
            positional.append(word)
    return positional


def _values(option: str, table: explorer.Table | None) -> Iterator[str]:
    if option in _VERSIONS:
        yield from _versions(table)
    elif option in _COLUMNS:
        yield from _columns(table)


def _versions(table: explorer.Table | None) -> Iterator[str]:
    """Yield the versions that can be read, newest first."""
    if table is None:
        return
    try:
        first, last = table.version_range()
    except explorer.ExplorerError:
        return
    yield from map(str, range(last, max(first, last - _MOST) - 1, -1))


def _columns(table: explorer.Table | None) -> Iterator[str]:
    if table is None:
        return
    try:
        schema = table.snapshot().schema
    except explorer.ExplorerError:
        return
    yield from (format_column(path) for path, _ in walk(schema))


def _table(given: Sequence[str], variables: Mapping[str, explorer.Table]) -> explorer.Table | None:
    """Return the table that the first word names."""
    if not given:
        return None
    if given[0] in variables and not Path(given[0]).exists():
        return variables[given[0]]
    try:
        return explorer.open_table(os.path.expanduser(given[0]), read_only=True)
    except explorer.ExplorerError:
        return None


def _folders(begun: str) -> Iterator[str]:
    """Folders whose path begins so: tables as they are, others with a slash, for what is in them."""
    typed, _, name = begun.rpartition("/")
    parent = Path(os.path.expanduser(typed or ("/" if begun.startswith("/") else ".")))
    try:
        inside = sorted(
            (entry for entry in os.scandir(parent) if entry.name.startswith(name) and entry.is_dir()),
            key=lambda entry: entry.name,
        )
    except OSError:
        return
    prefix = f"{typed}/" if begun.count("/") else ""
    for entry in inside[:_MOST]:
        if entry.name.startswith(".") or entry.name == _LOG:
            continue
        table = (Path(entry.path) / _LOG).is_dir()
        yield f"{prefix}{entry.name}" + ("" if table else "/")
