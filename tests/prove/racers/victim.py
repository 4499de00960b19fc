"""A process whose children commit to a table until they are killed: ``python -m tests.prove.racers.victim LOCATION``.

For each line on standard input a child is made, which commits on and on and writes each version that it was told of.
Children are made by fork, so that none has to start Python anew.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

import explorer
from explorer.storage import open_store
from tests.prove.racers.racer import append_plan, remove_plan
from tests.support.logs.small_logs import METADATA, PROTOCOL, write

__all__: list[str] = []


def main() -> None:
    """Make a child for each line, and tell its process number."""
    location = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        _warm_up(Path(folder).as_uri())
    for number, _ in enumerate(sys.stdin):
        child = os.fork()
        if child == 0:
            _commit_for_ever(location, number)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()
        os.waitpid(child, 0)
        sys.stdout.write("gone\n")
        sys.stdout.flush()


def _warm_up(location: str) -> None:
    """Commit to a table of its own, so that what the first commits load is loaded before children are made."""
    write(open_store(location), {0: (PROTOCOL, METADATA)})
    warm = explorer.open_table(location)
    warm.commit(append_plan(warm, "warm", 1))
    warm.commit(remove_plan(warm, "warm", random.Random(0))[0])


def _commit_for_ever(location: str, number: int) -> None:
    pick = random.Random(number)
    table = explorer.open_table(location)
    while True:
        plan = append_plan(table, "victim", 3) if pick.random() < 0.7 else remove_plan(table, "victim", pick)[0]
        result = table.commit(plan)
        os.write(1, f"{result.outcome} {result.version}\n".encode())


if __name__ == "__main__":
    main()
