"""Replay beside delta-rs and the kernel: ratios of one run, and beside each what no reader can do without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.benchmarks.runs import ROUNDS, alternate, whole_processes
from tests.benchmarks.sets import SETS, prepared

GOALS = {
    "open": {"S": 10.0, "M": 10.0, "DV": 10.0, "L": 10.0},
    "list": {"S": 5.0, "M": 5.0, "DV": 8.0, "L": 12.0},
    "statistics": {"S": 1.0, "M": 1.0, "DV": 1.0, "L": 1.0},
    "history": {"S": 6.0, "M": 4.0, "DV": 1.0},
    "ten": {"S": 5.0, "M": 5.0, "DV": 5.0, "L": 5.0},
}
"""Times faster than delta-rs, by operation and set."""


def measure(rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """One record a measurement: operation, set, goal, and what each reader took."""
    for operation, goals in GOALS.items():
        for name, goal in goals.items():
            found = alternate(operation, prepared(name), ("explorer", "deltalake", "floor"), rounds)
            counted = {found[reader]["counted"] for reader in ("explorer", "deltalake")}
            assert len(counted) == 1, (operation, name, found)
            yield {"operation": operation, "set": name, "goal": goal, **found}
    for name in SETS:
        found = alternate("open", prepared(name), ("explorer", "kernel"), rounds)
        yield {"operation": "open beside the kernel", "set": name, "goal": 1.0, **found}
    yield {"operation": "cold process", "set": "S", "goal": 1.0, **_cold(2 * rounds + 1)}


def _cold(rounds: int) -> dict[str, Any]:
    """Import, open and list the smallest set, the whole process timed from outside."""
    path = str(prepared("S"))
    programs = {
        "explorer": f"import explorer; explorer.open_table({path!r}).snapshot().files(['path', 'size'])",
        "deltalake": f"from deltalake import DeltaTable; DeltaTable({path!r}).get_add_actions()",
        "floor": "import pyarrow.parquet, msgspec",
    }
    return whole_processes(programs, rounds)
