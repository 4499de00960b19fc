"""Writers killed at any moment: the table opens, at the version before or after, and what they left can be listed."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from deltalake import DeltaTable

import explorer
from explorer.core.versions.retention.missing_files import data_locations
from explorer.storage import open_store
from tests.prove.conftest import Dose
from tests.prove.racers.racer import append_plan
from tests.support.logs.small_logs import METADATA, PROTOCOL, write
from tests.support.shared_tables import REPOSITORY

# What a writer that is killed may leave: files that it was writing, and a version without its checksum or hint.
_LEFT = {"orphan-file", "stale-hint"}
_EVERY = 3
_FIRST = 20
_LONGEST = 0.25


@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-006", "LOG-010")
def test_a_table_survives_writers_that_are_killed(
    tmp_path: Path, dose: Dose, record_property: Callable[[str, object], None]
) -> None:
    location = (tmp_path / "table").as_uri()
    metadata = msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": str(_EVERY)})
    write(open_store(location), {0: (PROTOCOL, metadata)})
    table = explorer.open_table(location)
    begun = time.monotonic()
    for _ in range(_FIRST):
        assert table.commit(append_plan(table, "start", 3)).outcome == "committed"
    # Some writers must get as far as their commits, on a machine that is busy too.
    longest = max(_LONGEST, 10 * (time.monotonic() - begun) / _FIRST)
    pick, last, between = random.Random(7), table.latest_version(), 0
    command = [sys.executable, "-m", "tests.prove.racers.victim", location]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for number in range(dose.kills):
            nursery.stdin.write("another\n")
            nursery.stdin.flush()
            child = int(nursery.stdout.readline())
            time.sleep(pick.random() * longest)
            os.kill(child, signal.SIGKILL)
            told = list(iter(nursery.stdout.readline, "gone\n"))
            acknowledged = [int(line.split()[1]) for line in told if line.startswith("committed")]
            assert acknowledged == list(range(last + 1, last + 1 + len(acknowledged)))
            found = explorer.open_table(location)
            last += len(acknowledged)
            assert found.latest_version() in {last, last + 1}, "the version before the kill, or after it"
            between += found.latest_version() > last
            last = found.latest_version()
            assert found.snapshot().num_files == _files_of_deltalake(found)
            if number % 50 == 0:
                check(found)
        nursery.stdin.close()
    assert last > _FIRST, "every writer was killed before it began"
    check(explorer.open_table(location))
    left = table.leftovers().column("path").to_pylist()
    assert left == sorted(key for key in table.store.list_tree() if ".tmp" in key)
    in_log = [key for key in left if re.fullmatch("_delta_log/[^/]+", key)]
    told = [
        problem.file for problem in explorer.open_table(location).verify().problems if problem.kind == "orphan-file"
    ]
    assert sorted(told) == in_log
    found = {"kills": dose.kills, "versions": last, "commits whose writer never knew": between, "files left": len(left)}
    record_property("found", found)


def _files_of_deltalake(table: explorer.Table) -> int:
    return len(DeltaTable(table.location).file_uris())


def check(table: explorer.Table) -> None:
    assert [problem for problem in table.verify().problems if problem.kind not in _LEFT] == []
    assert table.version_range() == (0, table.latest_version())
    assert set(data_locations(table.history_record().lifetimes)) <= set(table.store.list_tree())
