"""A process whose children commit to a table until they are killed: ``python -m tests.prove.victim LOCATION``.

For each line on standard input a child is made, which commits on and on and writes each version that it was told of.
Children are made by fork, so that none has to start Python anew.
"""

from __future__ import annotations

import importlib
import os
import random
import sys

import explorer
from tests.prove.racer import append_plan, remove_plan

__all__: list[str] = []


def main() -> None:
    """Make a child for each line, and tell its process number."""
    location = sys.argv[1]
    warm = explorer.open_table(location)
    append_plan(warm, "warm", 1)
    importlib.import_module("pyarrow.parquet")
    for number, _ in enumerate(sys.stdin):
        child = os.fork()
        if child == 0:
            _commit_for_ever(location, number)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)
        sys.stdout.write("gone\n")
        sys.stdout.flush()


def _commit_for_ever(location: str, number: int) -> None:
    pick = random.Random(number)
    table = explorer.open_table(location)
    while True:
        plan = append_plan(table, "victim", 3) if pick.random() < 0.7 else remove_plan(table, "victim", pick)[0]
        result = table.commit(plan)
        os.write(1, f"{result.outcome} {result.version}\n".encode())


if __name__ == "__main__":
    main()
