"""Fresh processes in alternation: what each measurement of the bench is made of."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from explorer.variables import CACHE_VARIABLE
from tests.benchmarks.sets import REPOSITORY

ROUNDS = 5
OPERATION = "tests.benchmarks.operation"
Measured = dict[str, float]


def alternate(
    operation: str, path: Path, readers: Sequence[str], rounds: int = ROUNDS, *, seconds: float = 0.0
) -> dict[str, Measured]:
    """Medians of each reader's runs, taken in turns so that a busy moment of the machine meets all alike.

    Args:
        operation: What is measured.
        path: The table.
        readers: Who reads it.
        rounds: How many turns there are at least.
        seconds: Up to three times as many are taken, as long as all took less: what is short varies more.
    """
    runs: dict[str, list[Measured]] = {reader: [] for reader in readers}
    start = time.perf_counter()
    for turn in range(3 * rounds):
        if turn >= rounds and time.perf_counter() - start >= seconds:
            break
        for reader in readers:
            runs[reader].append(run(OPERATION, reader, operation, str(path)))
    return {
        reader: {key: statistics.median(one[key] for one in some) for key in some[0]} for reader, some in runs.items()
    }


def run(module: str, *arguments: str) -> Measured:
    """What a measuring module prints, run in a process of its own; it is named in full, as by its ``__name__``."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=environment())
    measured: Measured = json.loads(done.stdout)
    return measured


def whole_processes(programs: dict[str, str], rounds: int) -> dict[str, Measured]:
    """Medians of the seconds that whole processes take, start of Python included, in turns."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, cwd=REPOSITORY, env=environment())
            times[name].append(time.perf_counter() - start)
    return {name: {"seconds": statistics.median(seconds)} for name, seconds in times.items()}


def environment() -> dict[str, str]:
    """The environment of a measured process: compiled modules may be kept, as they are of an installed package.

    Nothing is kept of tables, but by the operations that measure just that.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, CACHE_VARIABLE: "off"}
