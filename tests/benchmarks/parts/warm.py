"""Moving through versions once the lifetimes are known: one million files, ten thousand versions."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import explorer
from tests.benchmarks.runs import run
from tests.benchmarks.sets import WARM, prepared

ROUNDS = 200
GOALS = {"next or previous version": 1.0, "jump to any version": 1.0, "diff of any two versions": 5.0}
"""Milliseconds at most."""


def measure() -> Iterator[dict[str, Any]]:
    """One record a movement: what, goal, and its median and 95th percentile in milliseconds."""
    prepared("W", WARM)
    measured: dict[str, Any] = run(__name__)
    for what, goal in GOALS.items():
        yield {"movement": what, "goal": goal, **measured[what]}
    yield {"movement": "reading the history", "goal": None, **measured["build"]}


def main() -> None:
    """Print what each movement took."""
    table = explorer.open_table(prepared("W", WARM))
    start = time.perf_counter()
    life = table.history_record().lifetimes
    built = time.perf_counter() - start
    first, last = table.version_range()
    table.diff(first, last)
    pick = random.Random(3)

    def any_version() -> int:
        return pick.randrange(first + 1, last)

    step = any_version()
    actions: list[Callable[[], object]] = [
        lambda: life.live(step + 1),
        lambda: life.live(any_version()),
        lambda: table.diff(any_version(), any_version()).totals,
    ]
    found: dict[str, Any] = {what: _time(action) for what, action in zip(GOALS, actions, strict=True)}
    found["build"] = {"median": built * 1e3, "p95": None, "files": len(life.added), "versions": last - first + 1}
    print(json.dumps(found))


def _time(action: Callable[[], object]) -> dict[str, float]:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    return {"median": statistics.median(times), "p95": statistics.quantiles(times, n=20)[-1]}


if __name__ == "__main__":
    main()
