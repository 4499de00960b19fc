"""One operation of one reader on one table, in a process of its own: prints seconds, peak memory, and what it counted.

python -m tests.benchmarks.operation explorer list build/bench/S
"""

from __future__ import annotations

import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from explorer.variables import CACHE_VARIABLE
from tests.benchmarks.sets import FOLDER

TEN = 10
KEPT = FOLDER / "kept"
AGAIN = {"history again": "history", "ten again": "ten", "statistics again": "statistics"}
"""What is measured out of what is kept of a table, and what that is without it."""


def chosen(first: int, last: int) -> list[int]:
    """Ten versions of a range, both ends included; always the same."""
    return random.Random(7).sample(range(first, last + 1), TEN)


def explorer_operation(name: str, path: str) -> Callable[[], int]:
    """The operation through this project."""
    # What a process loads once is loaded before the clock starts, for every reader alike.
    import pyarrow.compute
    import pyarrow.json
    import pyarrow.parquet

    import explorer
    import explorer.core.versions.cached_history
    import explorer.table

    del pyarrow

    def opened() -> int:
        snapshot = explorer.open_table(path).snapshot()
        return len(snapshot.schema.fields) + snapshot.protocol.min_reader_version + len(snapshot.metadata.id)

    def listed() -> int:
        files = explorer.open_table(path).snapshot().files(["path", "size", "modification_time"])
        return int(files.num_rows)

    def statistics() -> int:
        snapshot = explorer.open_table(path).snapshot()
        return int(snapshot.statistics().num_rows) // len(snapshot.statistics_columns)

    def history() -> int:
        return int(explorer.open_table(path).history().num_rows)

    def provenance() -> int:
        return int(explorer.open_table(path).provenance().num_rows)

    def columns() -> int:
        return int(explorer.open_table(path).snapshot().files().num_rows)

    def ten() -> int:
        table = explorer.open_table(path)
        life = table.history_record().lifetimes
        return sum(int(life.live(version).sum()) for version in chosen(*table.version_range()))

    def snapshots() -> int:
        table = explorer.open_table(path)
        return sum(table.snapshot(version).files(["path"]).num_rows for version in chosen(*table.version_range()))

    def changes() -> int:
        # The tables of the bench have no data files, so what is found is named as skipped.
        table = explorer.open_table(path)
        newest = table.latest_version()
        return len(table.change_sources(newest - TEN, newest, inferred=True, skip=True).skipped)

    found = {"open": opened, "list": listed, "statistics": statistics, "history": history, "ten": ten}
    found |= {"provenance": provenance, "columns": columns, "changes": changes, "snapshots": snapshots}
    if name in AGAIN:
        # The first call of such an operation keeps the table, in a process before the measured ones.
        os.environ[CACHE_VARIABLE] = str(KEPT)
    return found[AGAIN.get(name, name)]


def deltalake_operation(name: str, path: str) -> Callable[[], int]:
    """The operation through delta-rs."""
    from deltalake import DeltaTable

    def opened() -> int:
        table = DeltaTable(path)
        return len(table.schema().fields) + table.protocol().min_reader_version + len(table.metadata().id)

    def listed() -> int:
        return int(DeltaTable(path).get_add_actions().num_rows)

    def statistics() -> int:
        # Statistics and partition values in columns of their own types, as ours are.
        return int(DeltaTable(path).get_add_actions(flatten=True).num_rows)

    def history() -> int:
        return len(DeltaTable(path).history())

    def ten() -> int:
        table = DeltaTable(path)
        versions = chosen(1000 if table.version() == 1100 else 0, table.version())
        return sum(int(DeltaTable(path, version=version).get_add_actions().num_rows) for version in versions)

    found = {"open": opened, "list": listed, "statistics": statistics, "history": history, "ten": ten}
    return {**found, "provenance": history, "columns": listed, "snapshots": ten}[AGAIN.get(name, name)]


def kernel_operation(name: str, path: str) -> Callable[[], int]:
    """Opening through the wrapper of delta-kernel-rs; it has no listing."""
    import delta_kernel_rust_sharing_wrapper as kernel

    if name != "open":
        raise SystemExit(f"the kernel wrapper has no {name}")
    location = Path(path).resolve().as_uri()

    def opened() -> int:
        engine = kernel.PythonInterface(location)
        return int(kernel.Table(location).snapshot(engine).version())

    return opened


def floor_operation(name: str, path: str) -> Callable[[], int]:
    """What an operation cannot do without: to read its bytes, and to decode them; it counts the bytes."""
    from tests.benchmarks.floor import floor

    return floor(name, path)


READERS = {
    "explorer": explorer_operation,
    "deltalake": deltalake_operation,
    "kernel": kernel_operation,
    "floor": floor_operation,
}


def main() -> None:
    """Run the operation that the arguments name."""
    reader, name, path = sys.argv[1:4]
    operation = READERS[reader](name, path)
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    counted = operation()
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_SELF)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    measured = {"seconds": seconds, "processor": processor, "peak": peak_megabytes(), "counted": counted}
    print(json.dumps(measured))


def peak_megabytes(process: int | str = "self") -> float:
    """The most memory that a process held, this one if none is named.

    What `resource` says of this one may be that of the process that started it.
    """
    status = Path(f"/proc/{process}/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = [line for line in status.read_text("ascii").splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
