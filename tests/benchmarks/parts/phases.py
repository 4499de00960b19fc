"""Where the time of an operation goes: what the page gives as the reason where a goal is missed.

python -m tests.benchmarks.parts.phases history build/bench/M
"""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.benchmarks.operation import AGAIN, explorer_operation
from tests.benchmarks.runs import OPERATION, environment, run
from tests.benchmarks.sets import REPOSITORY, prepared

MEASURED: Final = {
    "history": ("S", "M", "DV"),
    "history again": ("M",),
    "provenance": ("S", "M"),
    "open": ("S", "DV"),
    "list": ("S",),
    "columns": ("S",),
}
"""The operations that are told in phases, and on which tables: those that miss a goal."""

_TRIES: Final = 3
_REST: Final = "all else"
_CLOCKS: Final = (
    ("explorer.storage.local", "LocalLogStore", "list_from", "list the log"),
    ("explorer.storage.local", "LocalLogStore", "_stat_earlier", "list the log"),
    ("explorer.storage.local", "LocalLogStore", "read_many", "read the commits"),
    ("explorer.storage.local", "LocalLogStore", "read_starts", "read the commits"),
    ("explorer.core.log.listed_log", "", "sorted_files", "tell the files of the log apart"),
    ("explorer.core.versions.cached_history", "", "_find_cached", "find what is kept"),
    ("explorer.core.versions.cached_history", "", "info_columns", "sums by version, the table"),
    ("explorer.core.log.similar_lines", "SimilarLines", "find_joined", "find lines that are alike, their numbers"),
    ("explorer.core.log.commit", "", "_plain_lines", "decode other lines"),
    ("explorer.core.protocol.arrow.row_groups", "RowGroups", "__init__", "read the checkpoint's footer"),
    ("explorer.core.protocol.arrow.row_groups", "RowGroups", "read", "read the checkpoint's columns"),
    ("explorer.core.protocol.arrow.row_groups", "RowGroups", "present", "find the checkpoint's small actions"),
    ("explorer.core.log.checkpoint.parquet_part", "CheckpointPart", "_counts", "read the counts in the statistics"),
    ("explorer.core.versions.lifetimes.builder", "LifetimesBuilder", "take", "number paths, make columns"),
    ("explorer.core.versions.lifetimes.builder", "LifetimesBuilder", "build", "make the intervals"),
    ("explorer.core.versions.history_reader", "CommitRecorder", "take", "small actions of each commit"),
    ("explorer.core.versions.history_reader", "CommitRecorder", "take_provenance", "small actions of each commit"),
    ("explorer.core.versions.history_reader", "", "decode_provenance", "small actions of each commit"),
    ("concurrent.futures", "Future", "result", "wait for commits that are read ahead"),
    ("explorer.core.versions.history", "", "_table", "sums by version, the table"),
)
"""Module, class, function, and what its time is called; what runs inside another counts for itself alone."""

_PACKAGES = ("numpy", "pyarrow", "msgspec", "explorer")


def places() -> Iterator[tuple[Any, str, str]]:
    """Yield the module or class of each clock, the name of its function, and what its time is called."""
    for module, owner, name, phase in _CLOCKS:
        place = importlib.import_module(module)
        yield (getattr(place, owner) if owner else place), name, phase


def measure() -> Iterator[dict[str, Any]]:
    """One record an operation: what, set, and milliseconds by phase."""
    for operation, sets in MEASURED.items():
        for name in sets:
            if operation in AGAIN:
                run(OPERATION, "explorer", operation, str(prepared(name)))
            runs = [run(__name__, operation, str(prepared(name))) for _ in range(_TRIES)]
            # The quickest: files that were not read for a while may have left the cache of the system.
            yield {"operation": operation, "set": name, "phases": min(runs, key=lambda found: sum(found.values()))}
    yield {"operation": "cold process", "set": "S", "phases": _imports(str(prepared("S")))}


def _imports(path: str) -> dict[str, float]:
    """Milliseconds of importing each package, its own modules alone, and of all else that a cold process does."""
    program = f"import explorer; explorer.open_table({path!r}).snapshot().files(['path', 'size'])"
    command = [sys.executable, "-X", "importtime", "-c", program]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPOSITORY, env=environment())
    whole = (time.perf_counter() - start) * 1e3
    found: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        own, _, rest = line.removeprefix("import time:").partition("|")
        if own.strip().isdigit():
            package = rest.rpartition("|")[2].strip().partition(".")[0]
            found[package if package in _PACKAGES else "standard library and others"] += int(own)
    imports = {f"import {package}": microseconds / 1e3 for package, microseconds in found.most_common()}
    return {**imports, "start, open, list, end": whole - sum(imports.values())}


def phases(operation: str, path: str) -> dict[str, float]:
    """Milliseconds of the phases of an operation; where threads work side by side, of the one that waits for them."""
    run = explorer_operation(operation, path)
    spent: Counter[str] = Counter()
    running: list[str] = []
    main = threading.current_thread()

    def clocked(phase: str, action: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(action)
        def timed(*arguments: Any, **options: Any) -> Any:
            if threading.current_thread() is not main:
                return action(*arguments, **options)
            start = time.perf_counter()
            running.append(phase)
            try:
                return action(*arguments, **options)
            finally:
                running.pop()
                taken = (time.perf_counter() - start) * 1e3
                spent[phase] += taken
                if running:
                    spent[running[-1]] -= taken

        return timed

    for place, name, phase in places():
        setattr(place, name, clocked(phase, getattr(place, name)))
    start = time.perf_counter()
    run()
    whole = (time.perf_counter() - start) * 1e3
    return {**spent, _REST: whole - sum(spent.values())}


if __name__ == "__main__":
    print(json.dumps(phases(*sys.argv[1:])))
