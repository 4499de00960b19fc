"""Audits of big logs and of a thousand small ones, from the logs alone, beside deltalake opening the same tables."""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.benchmarks.operation import peak_megabytes
from tests.benchmarks.runs import Measured, run
from tests.benchmarks.sets import FOLDER, prepared

ROUNDS = 3
TABLES = 1_000
KINDS = 10
"""So many of the thousand tables differ; the others are copies of them."""

GOALS = {
    "M: 10,000 commits": 3.0,
    "L: 1,000,000 files": 10.0,
    "1,000 tables of 100 commits": 60.0,
}
"""Seconds at most."""


def measure(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """One record a set: what, goal, and what each reader took."""
    places = (prepared("M"), prepared("L"), fleet())
    for (what, goal), place in zip(GOALS.items(), places, strict=True):
        found: dict[str, list[Measured]] = {"explorer": [], "deltalake": []}
        for _ in range(rounds):
            for reader, runs in found.items():
                runs.append(run(__name__, reader, str(place)))
        medians = {
            reader: {key: statistics.median(one[key] for one in runs) for key in runs[0]}
            for reader, runs in found.items()
        }
        yield {"what": what, "goal": goal, **medians}


def fleet() -> Path:
    """The folder of the thousand tables, made at the first use."""
    folder = FOLDER / "fleet"
    done = folder / "done"
    if not done.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        for number in range(TABLES):
            kind = number % KINDS
            options = ["--commits", "100", "--adds", "10", "--removes", "4", "--seed", str(kind)]
            shutil.copytree(prepared(f"fleet-of-{kind}", options), folder / f"t{number:04}")
        done.touch()
    return folder


def audited(place: str) -> Callable[[], int]:
    """The audit of every table at a place."""
    from explorer.fleet import audits

    return lambda: sum(found.document is not None for found in audits([place]))


def opened(place: str) -> Callable[[], int]:
    """The same tables opened by delta-rs, as many at a time as there are processors."""
    from deltalake import DeltaTable

    root = Path(place)
    tables = [root] if (root / "_delta_log").is_dir() else sorted(path for path in root.iterdir() if path.is_dir())

    def version(table: Path) -> int:
        return DeltaTable(table).version()

    def all_of_them() -> int:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return len(list(pool.map(version, tables)))

    return all_of_them


def main() -> None:
    """Time what the arguments name: a reader and a place."""
    reader, place = sys.argv[1:3]
    operation = {"explorer": audited, "deltalake": opened}[reader](place)
    start = time.perf_counter()
    counted = operation()
    seconds = time.perf_counter() - start
    peak = max(peak_megabytes(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    print(json.dumps({"seconds": seconds, "peak": peak, "counted": counted}))


if __name__ == "__main__":
    main()
