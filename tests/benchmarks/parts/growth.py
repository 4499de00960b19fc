"""How cost grows: with commits, files, columns and deletion vectors, each doubled and doubled again."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from typing import Any

from tests.benchmarks.runs import OPERATION, run
from tests.benchmarks.sets import prepared

ROUNDS = 5
LINEAR = 1.15
"""The exponent that still counts as linear: cost is measured, and small tables are lucky with the processor's cache."""

MOST_MEGABYTES = 1024


class Series:
    """One thing that grows, and the operations whose cost is watched meanwhile."""

    def __init__(self, unit: str, sizes: tuple[int, ...], operations: tuple[str, ...], **options: int | str) -> None:
        self.unit, self.sizes, self.operations = unit, sizes, operations
        self._options = options

    def set_of(self, size: int) -> tuple[str, list[str]]:
        """Name and arguments of the generated table of a size; ``@`` in an option stands for the size."""
        arguments = []
        for name, value in self._options.items():
            given = value if isinstance(value, int) else size // int(value[1:] or "1")
            arguments += [f"--{name.replace('_', '-')}", str(given)]
        return f"growth-{self.unit.replace(' ', '-')}-{size}", arguments


SERIES = (
    Series(
        "commits", (2_000, 4_000, 8_000, 16_000), ("history", "ten"), commits="@", adds=6, removes=3, checkpoint_every=0
    ),
    Series(
        "files",
        (125_000, 250_000, 500_000, 1_000_000),
        ("list", "statistics", "history", "changes"),
        commits=100,
        adds=6,
        removes=3,
        checkpoint_every=0,
        stats_cols=4,
        first_version=1000,
        initial_adds="@",
    ),
    Series(
        "columns",
        (8, 16, 32, 64),
        ("list", "statistics"),
        commits=20,
        adds=6,
        removes=3,
        checkpoint_every=0,
        stats_cols="@",
        first_version=1000,
        initial_adds=20_000,
    ),
    Series(
        "deletion vectors",
        (25_000, 50_000, 100_000, 200_000),
        ("list", "history"),
        commits=100,
        adds=0,
        removes=0,
        dv_updates="@100",
        checkpoint_every=0,
        initial_adds=50_000,
    ),
)


def measure(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """One record a series and operation: unit, operation, sizes, seconds, megabytes and the exponent of growth."""
    for series in SERIES:
        tables = [prepared(*series.set_of(size)) for size in series.sizes]
        for operation in series.operations:
            runs = [[run(OPERATION, "explorer", operation, str(path)) for _ in range(rounds)] for path in tables]
            processor = [statistics.median(one["processor"] for one in some) for some in runs]
            yield {
                "unit": series.unit,
                "operation": operation,
                "sizes": list(series.sizes),
                "seconds": [statistics.median(one["seconds"] for one in some) for some in runs],
                "processor": processor,
                "peak": [statistics.median(one["peak"] for one in some) for some in runs],
                "exponent": _exponent(series.sizes, processor),
            }


def _exponent(sizes: tuple[int, ...], costs: list[float]) -> float:
    """Slope of the cost over the size, both as logarithms, by least squares: 1 is linear."""
    xs, ys = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    return statistics.linear_regression(xs, ys).slope
