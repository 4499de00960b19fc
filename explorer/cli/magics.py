"""The command in a notebook: ``%delta history TABLE``, or ``%%delta plan TABLE`` with an intent as the cell.

Invariants: a magic is the command, with the same arguments, output, errors and exit code; what a terminal would show as
a table or as facts is a card with the same content; a variable of the notebook that holds a table stands for its
location where no folder has its name, if a command opens the table as the variable has it; a name in braces is a
variable too, as in every IPython magic; nothing is committed that the command would not commit.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

from explorer.cli.app import run
from explorer.cli.completion import completions, table_variables
from explorer.cli.output import shown_in
from explorer.core.errors import NotAllowed, RequestError
from explorer.views.card import Card, CardRows

__all__ = ["delta", "register"]

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
            f"{word} was opened with {' and '.join(lost)}, which a command does not know. Ask the object itself, or "
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
