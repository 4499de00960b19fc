"""The big logs that replay is measured on, made by a generator that lies beside the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from tests.support.shared_tables import REPOSITORY

FOLDER = Path(os.environ.get("DELTA_BENCH_SETS", REPOSITORY / "build" / "bench"))
GENERATOR = Path(os.environ.get("DELTA_BENCH_GENERATOR", REPOSITORY.parent / "shared" / "bench" / "gen_log.py"))

SETS: dict[str, list[str]] = {
    "S": ["--preset", "S"],
    "M": ["--preset", "M"],
    "DV": ["--preset", "DV"],
    "L": ["--preset", "L"],
    "C": [
        *("--commits", "100000", "--adds", "2", "--removes", "1", "--checkpoint-every", "1000"),
        *("--stats-cols", "4", "--keep-checkpoints", "5"),
    ],
}
WARM = [
    "--commits",
    "10000",
    "--adds",
    "12",
    "--removes",
    "7",
    "--initial-adds",
    "1000000",
    "--first-version",
    "1000",
    "--checkpoint-every",
    "0",
]


def prepared(name: str, arguments: list[str] | None = None) -> Path:
    """The folder of a set, generated at the first use."""
    folder = FOLDER / name
    if not (folder / "_delta_log").is_dir():
        if not GENERATOR.is_file():
            raise SystemExit(f"There is no set {name} in {FOLDER} and no generator at {GENERATOR}.")
        FOLDER.mkdir(parents=True, exist_ok=True)
        options = arguments or SETS[name]
        subprocess.run([sys.executable, str(GENERATOR), str(folder), *options], check=True, stdout=subprocess.DEVNULL)
    return folder


def prepared_demo() -> Path:
    """The folder of the demo tables, built at the first use."""
    folder = FOLDER / "demo"
    if not folder.is_dir():
        from explorer.demo import build_warehouse

        build_warehouse(folder, date(2026, 4, 23))
    return folder
