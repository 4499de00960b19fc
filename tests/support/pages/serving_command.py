"""``delta-explorer serve`` and ``demo`` as a person starts them: a process that an interrupt ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.shared_tables import REPOSITORY

__all__ = ["serving"]

# Python may have been started with interrupts ignored; a person's terminal does not do that.
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from explorer.cli import main
main()
"""


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the command; its first line on stdout, and the process, which is interrupted at the end."""
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline(), process
        finally:
            process.send_signal(signal.SIGINT)
