"""One operation of one reader on one table, in a process of its own: prints seconds, peak memory, and what it counted.

python -m tests.benchmarks.operation explorer list build/bench/S
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable

TEN = 10


def explorer_operation(name: str, path: str) -> Callable[[], int]:
    """The operation through this project."""
    # What a process loads once is loaded before the clock starts, for every reader alike.
    import pyarrow.compute
    import pyarrow.json
    import pyarrow.parquet

    import explorer

    del pyarrow

    def opened() -> int:
        snapshot = explorer.open_table(path).snapshot()
        return len(snapshot.schema.fields) + snapshot.protocol.min_reader_version + len(snapshot.metadata.id)

    def listed() -> int:
        files = explorer.open_table(path).snapshot().files(["path", "size", "modification_time"])
        return int(files.num_rows)

    def statistics() -> int:
        snapshot = explorer.open_table(path).snapshot()
        return sum(snapshot.column_ranges(column.name).num_rows for column in snapshot.statistics_columns)

    def history() -> int:
        return int(explorer.open_table(path).history().num_rows)

    def ten() -> int:
        table = explorer.open_table(path)
        first, last = table.version_range()
        life = table.history_record().lifetimes
        chosen = random.Random(7).sample(range(first, last + 1), TEN)
        return sum(int(life.live(version).sum()) for version in chosen)

    return {"open": opened, "list": listed, "statistics": statistics, "history": history, "ten": ten}[name]


def deltalake_operation(name: str, path: str) -> Callable[[], int]:
    """The operation through delta-rs."""
    from deltalake import DeltaTable

    def opened() -> int:
        table = DeltaTable(path)
        return len(table.schema().fields) + table.protocol().min_reader_version + len(table.metadata().id)

    def listed() -> int:
        return int(DeltaTable(path).get_add_actions().num_rows)

    def statistics() -> int:
        actions = DeltaTable(path).get_add_actions(flatten=True)
        return int(actions.num_rows) * len([name for name in actions.schema.names if name.startswith("min.")])

    def history() -> int:
        return len(DeltaTable(path).history())

    def ten() -> int:
        table = DeltaTable(path)
        first = 1000 if table.version() == 1100 else 0
        chosen = random.Random(7).sample(range(first, table.version() + 1), TEN)
        return sum(int(DeltaTable(path, version=version).get_add_actions().num_rows) for version in chosen)

    return {"open": opened, "list": listed, "statistics": statistics, "history": history, "ten": ten}[name]


def kernel_operation(name: str, path: str) -> Callable[[], int]:
    """Opening through the wrapper of delta-kernel-rs; it has no listing."""
    import delta_kernel_rust_sharing_wrapper as kernel

    if name != "open":
        raise SystemExit(f"the kernel wrapper has no {name}")

    def opened() -> int:
        engine = kernel.PythonInterface(path)
        return int(kernel.Table(path).snapshot(engine).version())

    return opened


READERS = {"explorer": explorer_operation, "deltalake": deltalake_operation, "kernel": kernel_operation}


def main() -> None:
    """Run the operation that the arguments name."""
    reader, name, path = sys.argv[1:4]
    operation = READERS[reader](name, path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    counted = operation()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "peak": peak, "added": peak - before, "counted": counted}))


if __name__ == "__main__":
    main()
