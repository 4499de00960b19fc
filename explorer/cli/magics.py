"""The command in a notebook: ``%delta history TABLE``, or ``%%delta plan TABLE`` with an intent as the cell.

Invariants: a magic is the command, with the same arguments, output, errors and exit code; a name in braces is a
variable of the notebook, as in every IPython magic; nothing is committed that the command would not commit.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from collections.abc import Iterator
from typing import Any

from explorer.cli.app import app, run
from explorer.core.errors import RequestError

__all__ = ["commands", "delta", "register"]


def register(shell: Any) -> None:
    """Add ``%delta`` and ``%%delta`` to a shell of IPython, and completion of the commands' names."""
    shell.register_magic_function(delta, magic_kind="line_cell")
    shell.set_hook("complete_command", _complete, str_key="%delta")
    shell.set_hook("complete_command", _complete, str_key="%%delta")


def delta(line: str, cell: str | None = None) -> None:
    """Run a command of ``delta-explorer`` in a notebook.

    Args:
        line: The arguments, quoted as in a shell.
        cell: The last argument, such as an intent as JSON.

    Raises:
        RequestError: The arguments are not quoted rightly, or the command fails; its message is above.
    """
    try:
        arguments = shlex.split(line)
    except ValueError as error:
        raise RequestError(f"%delta {line}: {error}. Quote arguments as in a shell.", field="line") from error
    with _streams():
        code = run([*arguments, *([] if cell is None else [cell])])
    if code not in (0, 1):
        # A cell that fails stops "run all"; what the command said stands above.
        raise RequestError(f"delta-explorer {line} ended with exit code {code}.", found=code)


def commands() -> tuple[str, ...]:
    """Return the names of the commands."""
    named = (
        command.name or (command.callback.__name__ if command.callback else "") for command in app.registered_commands
    )
    return tuple(sorted(name for name in named if name))


def _complete(_shell: Any, event: Any) -> tuple[str, ...]:
    return commands() if len(event.line.split()) <= 2 else ()  # the magic and the beginning of a name


@contextlib.contextmanager
def _streams() -> Iterator[None]:
    """A notebook's streams have no bytes below their text, which the commands write to; give them some."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept
        for stream, place in ((out, sys.stdout), (err, sys.stderr)):
            stream.seek(0)
            place.write(stream.read())
