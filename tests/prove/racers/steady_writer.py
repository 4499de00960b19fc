"""Commits to a table at a steady pace, by this program and by deltalake in turns, until its input ends.

``python -m tests.prove.racers.steady_writer FOLDER SECONDS``: where the table is, and the pause between two commits. A
line on standard output for each commit: its version.
"""

from __future__ import annotations

import select
import sys

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import explorer

__all__ = ["ROWS", "begin"]

ROWS = pa.table({"id": pa.array(range(20), pa.int64()), "place": pa.array(["a", "b"] * 10)})


def begin(folder: str) -> None:
    """Write the first versions of the table."""
    for _ in range(3):
        write_deltalake(folder, ROWS, mode="append")


def main() -> None:
    """Commit on and on."""
    folder, pause = sys.argv[1], float(sys.argv[2])
    table = explorer.open_table(folder)
    number = 0
    while not select.select([sys.stdin], [], [], pause)[0]:
        number += 1
        if number % 2:
            write_deltalake(folder, ROWS, mode="append")
            version = DeltaTable(folder).version()
        else:
            intent = {"kind": "set-description", "description": f"The {number}th commit."}
            result = table.commit(table.plan(intent, user="steady"), reason="Somebody else works here, too.")
            assert result.outcome == "committed", result
            version = result.version
        print(version, flush=True)


if __name__ == "__main__":
    main()
