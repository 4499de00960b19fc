"""Moving through versions once the lifetimes are known: one million files, ten thousand versions."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import explorer
from tests.benchmarks.sets import WARM, prepared

ROUNDS = 200


def main() -> None:
    """Print the median and the 95th percentile of each movement."""
    table = explorer.open_table(prepared("W", WARM))
    start = time.perf_counter()
    life = table.history_record().lifetimes
    first, last = table.version_range()
    print(f"build: {time.perf_counter() - start:.2f} s for {len(life.added):,} files and {last - first + 1:,} versions")
    table.diff(first, last)
    pick = random.Random(3)

    def any_version() -> int:
        return pick.randrange(first + 1, last)

    step = any_version()
    print("\n| movement | median ms | p95 ms | goal ms |\n|---|---:|---:|---:|")
    _time("next or previous version", 1, lambda: life.live(step + 1))
    _time("jump to any version", 1, lambda: life.live(any_version()))
    _time("diff of any two", 5, lambda: table.diff(any_version(), any_version()).totals)


def _time(what: str, goal: float, action: Callable[[], object]) -> None:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append((time.perf_counter() - start) * 1e3)
    print(
        f"| {what} | {statistics.median(times):.2f} | {statistics.quantiles(times, n=20)[-1]:.2f} | {goal:g} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
