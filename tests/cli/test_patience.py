"""What takes more than a second is shown on a terminal; what is quick is not, and a pipe is told nothing."""

import os
import pty
import subprocess
import sys

import pytest

from tests.support.shared_tables import REPOSITORY

PROGRAM = """
import sys, time
from explorer.cli.output import patience
with patience("Reading the log"):
    time.sleep(float(sys.argv[1]))
"""


@pytest.mark.whole("test_pipe_is_told_nothing", cases=["1.6-True"])
@pytest.mark.parametrize(("seconds", "shown"), [("1.6", True), ("0", False)])
def test_terminal_is_told_what_takes_long(seconds: str, shown: bool) -> None:
    terminal, stderr = pty.openpty()
    try:
        subprocess.run([sys.executable, "-c", PROGRAM, seconds], cwd=REPOSITORY, stderr=stderr, check=True, timeout=60)
        os.write(stderr, b"\nthe end\n")
        told = os.read(terminal, 100_000)
    finally:
        os.close(terminal)
        os.close(stderr)
    assert (b"Reading the log" in told) == shown


def test_pipe_is_told_nothing() -> None:
    completed = subprocess.run([sys.executable, "-c", PROGRAM, "1.3"], cwd=REPOSITORY, capture_output=True, check=True)
    assert (completed.stdout, completed.stderr) == (b"", b"")
