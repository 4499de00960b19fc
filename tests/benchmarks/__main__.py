"""All benchmarks: ``make bench``. They write record.json beside them, and out of it docs/performance.md and the
table of the pages in docs/guide/speed.md.

A run takes half an hour; ``--only growth`` and so on run one part and leave the others as they were. ``--quick`` writes
nothing: it compares the ratios to deltalake on the small sets with the record, in under three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.benchmarks.parts import (
    audits,
    browser,
    commits,
    driver,
    growth,
    phases,
    remote,
    replay,
    rows,
    warm,
    widget,
    writes,
)  # fmt: skip
from tests.benchmarks.report import PAGE, RECORD, SPEED, page, readme
from tests.benchmarks.runs import environment
from tests.benchmarks.sets import REPOSITORY

PARTS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "replay": replay.measure,
    "phases": phases.measure,
    "warm": warm.measure,
    "remote": remote.measure,
    "growth": growth.measure,
    "commits": commits.measure,
    "audits": audits.measure,
    "browser": browser.measure,
    "lake": browser.measure_lake,
    "data": browser.measure_data,
    "widget": widget.measure,
    "spark": rows.measure,
    "writes": writes.measure,
    "driver": driver.measure,
}
TOLERANCE = 0.6
"""What part of a recorded ratio a quick run must reach: one of few rounds on a busy machine varies."""
PACKAGES = ("pyarrow", "numpy", "msgspec", "obstore", "deltalake", "delta-kernel-rust-sharing-wrapper", "pyspark")


def main() -> None:
    """Run the parts asked for, and write the record and the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="compare with the record in under three minutes")
    arguments = parser.parse_args()
    chosen = arguments.only
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "explorer"], check=True, cwd=REPOSITORY, env=environment()
    )
    if arguments.quick:
        sys.exit(_quick())
    record: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    for part in chosen:
        load = os.getloadavg()[0]
        found = []
        for row in PARTS[part]():
            print(part, json.dumps(row), flush=True)
            found.append(row)
        record[part] = {"machine": _machine(), "load": load, "rows": found}
        RECORD.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
        PAGE.write_text(page(record), "utf-8")
        SPEED.write_text(readme(SPEED.read_text("utf-8"), record), "utf-8")


def _quick() -> int:
    """Print the ratios of now and of the record; 1 if one fell by more than the tolerance."""
    slower = False
    for name, now, then in replay.quick(json.loads(RECORD.read_text("utf-8"))["replay"]["rows"], TOLERANCE):
        fell = now < then * TOLERANCE
        slower |= fell
        print(f"{name:30} {now:8.1f} times faster, recorded {then:8.1f}{'  SLOWER' * fell}", flush=True)
    return int(slower)


def _machine() -> dict[str, Any]:
    processor = next((line for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    memory = next((line for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0 0")
    return {
        "at": datetime.now(UTC).date().isoformat(),
        "processor": processor.partition(":")[2].strip() or processor,
        "processors": os.cpu_count(),
        "memory": round(int(memory.split()[1]) / 1024 / 1024),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines() if Path(path).is_file() else []


if __name__ == "__main__":
    main()
