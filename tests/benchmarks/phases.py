"""Where the time of an operation goes: what the page gives as the reason where a goal is missed.

python -m tests.benchmarks.phases history build/bench/M
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.runs import environment, run
from tests.benchmarks.sets import REPOSITORY, prepared

HISTORIES = ("S", "M", "DV")
_PACKAGES = ("numpy", "pyarrow", "msgspec", "explorer")


def measure() -> Iterator[dict[str, Any]]:
    """One record an operation: what, set, and processor milliseconds by phase."""
    for name in HISTORIES:
        phases = run("phases", "history", str(prepared(name)))
        yield {"operation": "history", "set": name, "phases": phases}
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


def history(path: str) -> dict[str, float]:
    """Processor milliseconds of the phases of a history."""
    import pyarrow.compute
    import pyarrow.parquet

    import explorer
    from explorer.core import history as histories
    from explorer.core import replay
    from explorer.core.lifetimes_builder import LifetimesBuilder
    from explorer.storage.local import LocalLogStore

    del pyarrow
    spent: Counter[str] = Counter()
    running: list[str] = []

    def clocked(phase: str, action: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(action)
        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            running.append(phase)
            try:
                return action(*arguments, **options)
            finally:
                running.pop()
                taken = (time.process_time() - start) * 1e3
                spent[phase] += taken
                if running:
                    spent[running[-1]] -= taken

        return timed

    for owner, name, phase in (
        (LocalLogStore, "read_many", "read the files"),
        (replay, "decode_commit", "decode the JSON"),
        (LifetimesBuilder, "commit", "walk over the file actions"),
        (LifetimesBuilder, "_take", "make columns, let go of the JSON"),
        (LifetimesBuilder, "build", "make the intervals"),
        (histories, "_record", "small actions"),
        (histories, "_table", "sums by version, the table"),
    ):
        setattr(owner, name, clocked(phase, getattr(owner, name)))
    start = time.process_time()
    explorer.open_table(path).history()
    whole = (time.process_time() - start) * 1e3
    return {**spent, "list the log, all else": whole - sum(spent.values())}


if __name__ == "__main__":
    print(json.dumps(history(sys.argv[2])))
