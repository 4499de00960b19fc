"""What fits no screen of 80 columns as a table is shown there with the cells of each row one below another."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.support.shared_tables import REPOSITORY


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize(
    ("command", "whole"),
    [
        ("history", ("OPTIMIZE", "corrections@shop.example", "backfill for one customer")),
        ("blame", ("delta.columnMapping.mode", "before the renames asked for by reporting")),
        ("compatibility", ("2026-03", "columnMapping, deletionVectors")),
    ],
)
def test_words_are_whole_on_a_narrow_screen(demo_warehouse: Path, command: str, whole: tuple[str, ...]) -> None:
    shown = _on_a_screen(80, command, demo_warehouse / "sales/orders")
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert [text for text in whole if text not in " ".join(shown.split())] == []


def test_wide_screen_shows_a_table(demo_warehouse: Path) -> None:
    shown = _on_a_screen(160, "history", demo_warehouse / "sales/orders", "--limit", "1")
    assert len(shown.strip().splitlines()) == 3


def test_table_that_fits_stays_a_table(demo_warehouse: Path) -> None:
    shown = _on_a_screen(80, "files", demo_warehouse / "sales/orders", "--limit", "1")
    assert [line.split() for line in shown.splitlines()][1] == ["path", "size", "rows", "masked", "partition"]


def _on_a_screen(width: int, *arguments: object) -> str:
    terminal, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
    command = [sys.executable, "-m", "explorer.cli", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env={**environment, "TERM": "xterm"}, stdout=screen, stderr=subprocess.DEVNULL
    )
    os.close(screen)
    told = b""
    try:
        while piece := os.read(terminal, 100_000):
            told += piece
    except OSError:  # The other end is closed.
        pass
    finally:
        os.close(terminal)
    assert process.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", told.decode()).replace("\r\n", "\n")
