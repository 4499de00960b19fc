"""Replay beside delta-rs and the kernel: fresh processes in alternation, medians, ratios of one run."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tests.benchmarks.sets import REPOSITORY, SETS, prepared

ROUNDS = 5
GOALS = {
    "open": {"S": 10.0, "M": 10.0, "DV": 10.0, "L": 10.0},
    "list": {"S": 5.0, "M": 5.0, "DV": 8.0, "L": 12.0},
    "statistics": {"S": 1.0, "M": 1.0, "DV": 1.0, "L": 1.0},
    "history": {"S": 6.0, "M": 4.0, "DV": 1.0},
    "ten": {"S": 5.0, "M": 5.0, "DV": 5.0, "L": 5.0},
}


def main() -> None:
    """Print the table of ratios, operation by operation."""
    print("| operation | set | explorer ms | deltalake ms | times faster | goal | peak MB | peak ratio |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for operation, goals in GOALS.items():
        for name, goal in goals.items():
            ours, theirs = _alternate(operation, prepared(name), ("explorer", "deltalake"))
            ratio = theirs["seconds"] / ours["seconds"]
            memory = ours["peak"] / theirs["peak"]
            print(
                f"| {operation} | {name} | {ours['seconds'] * 1e3:.1f} | {theirs['seconds'] * 1e3:.1f} | {ratio:.1f} "
                f"| {goal:g} | {ours['peak'] / 1024:.0f} | {memory:.2f} |",
                flush=True,
            )
    _against_the_kernel()
    _cold()
    _read_limit()


def _alternate(operation: str, path: Path, readers: tuple[str, ...]) -> list[dict[str, float]]:
    """Medians of each reader's runs, taken in turns so that a busy moment of the machine meets all alike."""
    runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for _ in range(ROUNDS):
        for reader in readers:
            runs[reader].append(_run(reader, operation, path))
    return [{key: statistics.median(run[key] for run in runs[reader]) for key in runs[reader][0]} for reader in readers]


def _run(reader: str, operation: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.benchmarks.operation", reader, operation, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _against_the_kernel() -> None:
    print("\n| open | explorer ms | kernel wrapper ms |\n|---|---:|---:|")
    for name in SETS:
        ours, theirs = _alternate("open", prepared(name), ("explorer", "kernel"))
        print(f"| {name} | {ours['seconds'] * 1e3:.1f} | {theirs['seconds'] * 1e3:.1f} |", flush=True)


def _cold() -> None:
    """Import, open and list the smallest set, the whole process timed from outside."""
    path = prepared("S")
    programs = {
        "explorer": f"import explorer; explorer.open_table({str(path)!r}).snapshot().files(['path','size'])",
        "deltalake": f"from deltalake import DeltaTable; DeltaTable({str(path)!r}).get_add_actions()",
    }
    times: dict[str, list[float]] = {reader: [] for reader in programs}
    for _ in range(ROUNDS):
        for reader, program in programs.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", program], check=True, cwd=REPOSITORY)
            times[reader].append(time.perf_counter() - start)
    ours, theirs = (statistics.median(values) for values in times.values())
    print(
        f"\ncold process, S: explorer {ours * 1e3:.0f} ms, deltalake {theirs * 1e3:.0f} ms, {ours / theirs:.2f} of it"
    )


def _read_limit() -> None:
    """The physical limit of a history: reading the bytes of all commits, and decoding their JSON."""
    import msgspec

    print("\n| set | commits MB | read ms | decode ms |\n|---|---:|---:|---:|")
    for name in ("S", "M", "DV"):
        files = sorted((prepared(name) / "_delta_log").glob("*[0-9].json"))
        start = time.perf_counter()
        contents = [path.read_bytes() for path in files]
        read = time.perf_counter()
        decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
        for data in contents:
            decoder.decode_lines(data)
        decoded = time.perf_counter()
        size = sum(map(len, contents)) / 1e6
        print(f"| {name} | {size:.0f} | {(read - start) * 1e3:.0f} | {(decoded - read) * 1e3:.0f} |")


if __name__ == "__main__":
    main()
