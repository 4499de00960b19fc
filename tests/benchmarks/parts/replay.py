"""Replay beside delta-rs and the kernel: ratios of one run, and beside each what no reader can do without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.operation import AGAIN
from tests.benchmarks.runs import OPERATION, ROUNDS, alternate, run, whole_processes
from tests.benchmarks.sets import SETS, prepared

QUICK_SETS = ("S", "M")
QUICK_ROUNDS = 3
_SECONDS = 30.0
"""As long as its turns took less, a measurement takes some more."""
GOALS = {
    "open": {"S": 10.0, "M": 10.0, "DV": 10.0, "L": 10.0},
    "list": {"S": 5.0, "M": 5.0, "DV": 8.0, "L": 12.0},
    "statistics": {"S": 2.5, "M": 2.5, "DV": 2.5, "L": 3.0},
    "statistics again": {"S": 10.0, "M": 10.0, "DV": 10.0, "L": 10.0},
    "columns": {"S": 3.0, "M": 3.0, "DV": 3.0, "L": 5.0},
    "provenance": {"S": 9.0, "M": 6.0, "DV": 2.0},
    "history": {"S": 4.0, "M": 2.0, "DV": 0.5},
    "history again": {"S": 10.0, "M": 20.0, "DV": 20.0},
    "snapshots": {"S": 5.0, "M": 5.0},
    "ten": {"DV": 6.0, "L": 5.0},
    "ten again": {"M": 50.0, "DV": 50.0},
}
"""Times faster than delta-rs, by operation and set."""


def measure(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """One record a measurement: operation, set, goal, and what each reader took."""
    for operation, goals in GOALS.items():
        for name, goal in goals.items():
            if operation in AGAIN:
                run(OPERATION, "explorer", operation, str(prepared(name)))
            found = alternate(operation, prepared(name), ("explorer", "deltalake", "floor"), rounds, seconds=_SECONDS)
            counted = {found[reader]["counted"] for reader in ("explorer", "deltalake")}
            assert len(counted) == 1, (operation, name, found)
            yield {"operation": operation, "set": name, "goal": goal, **found}
    for name in SETS:
        found = alternate("open", prepared(name), ("explorer", "kernel"), rounds, seconds=_SECONDS)
        yield {"operation": "open beside the kernel", "set": name, "goal": 1.0, **found}
    yield {"operation": "cold process", "set": "S", "goal": 1.0, **_cold(2 * rounds + 1)}


def quick(record: Sequence[dict[str, Any]], enough: float) -> Iterator[tuple[str, float, float]]:
    """Times faster than delta-rs by operation on the two small sets: the operation, now, and as recorded.

    Args:
        record: What `measure` gave earlier.
        enough: What part of what was recorded is as good as it; what is less is measured once more, with more turns,
            as a moment in which the machine does something else looks the same.
    """
    for row in record:
        if row["set"] in QUICK_SETS and row["operation"] in GOALS:
            path = prepared(row["set"])
            if row["operation"] in AGAIN:
                run(OPERATION, "explorer", row["operation"], str(path))
            now, then = _ratio(row["operation"], path, QUICK_ROUNDS), _times(row)
            if now < then * enough:
                now = _ratio(row["operation"], path, 3 * QUICK_ROUNDS)
            yield f"{row['operation']} {row['set']}", now, then


def _ratio(operation: str, path: Path, rounds: int) -> float:
    return _times(alternate(operation, path, ("explorer", "deltalake"), rounds))


def _times(measured: Mapping[str, Any]) -> float:
    """How many times faster than delta-rs."""
    return float(measured["deltalake"]["seconds"] / measured["explorer"]["seconds"])


def _cold(rounds: int) -> dict[str, Any]:
    """Import, open and list the smallest set, the whole process timed from outside."""
    path = str(prepared("S"))
    programs = {
        "explorer": f"import explorer; explorer.open_table({path!r}).snapshot().files(['path', 'size'])",
        "deltalake": f"from deltalake import DeltaTable; DeltaTable({path!r}).get_add_actions()",
        "floor": "import pyarrow.parquet, msgspec",
    }
    return whole_processes(programs, rounds)
