"""A race: processes that commit to one table at once, and what the log says of it afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.retention.missing_files import data_locations
from explorer.storage import open_store
from tests.prove.racers.racer import SHARED, append_plan
from tests.support.logs.small_logs import METADATA, PROTOCOL, write
from tests.support.shared_tables import REPOSITORY

__all__ = ["check_race", "new_race", "race"]

OURS: Final = "tests.prove.racers.racer"
# A hint names an older checkpoint if two were written at once; readers find the newer one all the same.
_HARMLESS: Final = {"stale-hint"}

Told = dict[str, Any]


def new_race(location: str, options: dict[str, str]) -> explorer.Table:
    """A table to race for, with one file in it."""
    store = open_store(location, options)
    write(store, {0: (PROTOCOL, METADATA)})
    table = explorer.Table(store)
    assert table.commit(append_plan(table, "start", 10)).outcome == "committed"
    return table


def race(location: str, options: dict[str, str], racers: Sequence[tuple[str, int]]) -> list[Told]:
    """Start a process for each (module, number of commits), let them go at once, and return what they were told."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", module, location, f"racer {number}", str(commits), json.dumps(options)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, (module, commits) in enumerate(racers)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert "ready" in json.loads(process.stdout.readline())
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate()[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [process.returncode for process in processes] == [0] * len(processes)
    told = [json.loads(line) for answer in answers for line in answer.splitlines()]
    assert len(told) == sum(max(1, commits) for _, commits in racers)
    return told


def check_race(table: explorer.Table, told: Sequence[Told], start: int) -> Counter[str]:
    """Hold what the racers were told against the log.

    Args:
        table: The table.
        told: What they were told.
        start: The newest version before the race.

    Returns:
        How often each outcome was told.
    """
    table = explorer.Table(table.store)
    outcomes = Counter(each["outcome"] for each in told)
    assert outcomes.keys() <= {"committed", "conflicted", "rejected"}
    won = [each for each in told if each["outcome"] == "committed"]
    found = _marks(table.store, start + 1, table.latest_version())
    assert table.version_range() == (0, start + len(won))
    assert sorted(found.values()) == sorted(each["id"] for each in won), "each is in the log once, and no other"
    assert all(each["version"] is None or found[each["version"]] == each["id"] for each in won)
    problems = [problem for problem in table.verify().problems if problem.kind not in _HARMLESS]
    assert problems == []
    snapshot = table.snapshot()
    assert snapshot.num_records == 10 + sum(each["rows"] for each in won)
    assert snapshot.transactions.get(SHARED, 0) == sum(each["what"] == "batch" for each in won)
    _check_files(table, untidy=sum("why" in each and each["outcome"] != "committed" for each in told))
    return outcomes


def _marks(store: LogStore, first: int, last: int) -> dict[int, str]:
    """The mark of each commit by its version."""
    found = {}
    for version in range(first, last + 1):
        lines = (msgspec.json.decode(line) for line in store.read(commit_name(version)).splitlines())
        (info,) = (line["commitInfo"] for line in lines if "commitInfo" in line)
        spark = info.get("userMetadata") if "Apache-Spark" in info.get("engineInfo", "") else None
        found[version] = info.get("racer") or spark or info["txnId"]
    return found


def _check_files(table: explorer.Table, untidy: int) -> None:
    """Every file that a version needs is there; of what lost nothing lies about, but for writers that leave it."""
    keys = set(table.store.list_tree())
    data = {key for key in keys if not key.startswith(("_delta_log/", "."))}  # Hadoop keeps checksums in hidden files
    named = set(data_locations(table.history_record().lifetimes))
    assert named <= data, named - data
    assert len(data - named) <= untidy, data - named
    assert not [key for key in keys if ".tmp" in key]
