"""The command in a notebook: ``%delta history TABLE``, or ``%%delta plan TABLE`` with an intent as the cell.

Invariants: a magic is the command, with the same arguments, output, errors and exit code; what a terminal would show as
a table or as facts is a card with the same content; a variable of the notebook that holds a table stands for its
location where no folder has its name, if a command opens the table as the variable has it; a name in braces is a
variable too, as in every IPython magic; nothing is committed that the command would not commit. Completion reads only
logs, and no error interrupts a person who types.
"""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any, Final

from typer.core import TyperArgument, TyperCommand, TyperOption

import explorer
from explorer.cli.app import command_group, run
from explorer.cli.output import shown_in
from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.schema.nested_types import walk
from explorer.views.card import Card, CardRows

_SPLIT = " \t"


def register(shell: Any, draw: Callable[[Card], str]) -> None:
    """Add ``%delta`` and ``%%delta`` to a shell of IPython, and completion of what follows them.

    Args:
        shell: The shell.
        draw: Makes the HTML of a card.
    """

    def run_delta(line: str, cell: str | None = None) -> None:
        delta(line, cell, draw)

    run_delta.__doc__ = delta.__doc__
    shell.register_magic_function(run_delta, magic_kind="line_cell", magic_name="delta")
    shell.set_hook("complete_command", _complete, str_key="%delta")
    shell.set_hook("complete_command", _complete, str_key="%%delta")


def delta(line: str, cell: str | None, draw: Callable[[Card], str]) -> None:
    """Run a command of ``delta-explorer`` in a notebook.

    Args:
        line: The arguments, quoted as in a shell.
        cell: The last argument, such as an intent as JSON.
        draw: Makes the HTML of a card.

    Raises:
        RequestError: The arguments are not quoted rightly, or the command fails; its message is above.
        NotAllowed: A variable that holds a table allows less than the command would.
    """
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise RequestError(f"%delta {line}: {error}. Quote arguments as in a shell.", field="line") from error
    commits = next((word for word in arguments if not word.startswith("-")), "") == "commit"
    named = [_location(word, commits=commits) if place else word for place, word in enumerate(arguments)]
    with _streams() as flush, shown_in(_Cards(flush, draw)):
        code = run([*named, *([] if cell is None else [cell])])
    if code not in (0, 1):
        # A cell that fails stops "run all"; what the command said stands above.
        raise RequestError(f"delta-explorer {line} ended with exit code {code}.", found=code)


class _Cards:
    """Shows tables and facts as cards; ``flush`` first shows the earlier output, ``draw`` makes the HTML of a card."""

    def __init__(self, flush: Callable[[], None], draw: Callable[[Card], str]) -> None:
        self._flush, self._draw = flush, draw

    def facts(self, title: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Show a title and what is known."""
        self._show(Card(title, tuple(pairs)))

    def listing(self, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show a table."""
        self._show(Card("", rows=CardRows(tuple(headings), tuple(map(tuple, rows)))))

    def _show(self, card: Card) -> None:
        from IPython.display import display

        self._flush()
        shown = {"text/html": self._draw(card), "text/plain": card.plain()}
        display(shown, raw=True)  # type: ignore[no-untyped-call]  # IPython's own


def _location(word: str, *, commits: bool) -> str:
    """Return the location of the table that a word names as a variable; refuse a variable that allows less."""
    table = table_variables(_variables()).get(word)
    if table is None or Path(word).exists():
        return word
    given = {"read_only": commits and table.read_only, "roots": table.roots, "time_zone": table.time_zone is not UTC}
    lost = [name for name, value in given.items() if value]
    if lost:
        raise NotAllowed(
            f"{word} was opened with {' and '.join(lost)}, which a command does not know. Use the object itself, or "
            f"give the command the location: {table.location}.",
            location=table.location,
        )
    return table.location


def _variables() -> Mapping[str, object]:
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return {} if shell is None else shell.user_ns


def _complete(_shell: Any, event: Any) -> tuple[str, ...]:
    typed = event.text_until_cursor if hasattr(event, "text_until_cursor") else event.line
    words = typed.split()[1:]
    begun = "" if typed[-1:] in _SPLIT else (words.pop() if words else "")
    return completions(words, begun, table_variables(_variables()))


@contextlib.contextmanager
def _streams() -> Iterator[Callable[[], None]]:
    """Give a notebook's streams the bytes that commands write to; the yielded function shows the output so far."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    original = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err

    def flush() -> None:
        for stream, place in ((out, original[0]), (err, original[1])):
            stream.seek(0)
            if text := stream.read():
                place.write(text)
            stream.seek(0)
            stream.truncate()

    try:
        yield flush
    finally:
        sys.stdout, sys.stderr = original
        flush()


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
    """Yield folders whose path begins so: tables as they are, others with a slash."""
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
