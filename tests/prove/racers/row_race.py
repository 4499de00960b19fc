"""A race of writers that change rows: the table, and what its log and its rows must be afterwards."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

import explorer
from explorer.core.log.log_path import commit_name
from explorer.core.versions.retention.missing_files import data_locations
from explorer.storage import open_store
from tests.prove.racers.row_racer import PARTITIONS, SCHEMA, Row, play
from tests.support.logs.small_logs import metadata, write
from tests.support.logs.small_proposals import protocol

__all__ = ["Told", "check", "new_race"]

Told = dict[str, Any]
FIRST: list[Row] = [(number, PARTITIONS[number % 4], 0) for number in range(40)]


def new_race(location: str, options: dict[str, str], *, masks: bool) -> explorer.Table:
    """A table with rows in four partitions."""
    properties = {"delta.enableDeletionVectors": "true"} if masks else {}
    rules = protocol(3, 7, r="deletionVectors", w="deletionVectors") if masks else protocol(1, 2)
    columns = {"id": "long", "p": "string", "v": "long"}
    write(open_store(location, options), {0: (rules, metadata(columns, ["p"], properties))})
    table = explorer.open_table(location, storage_options=options or None)
    rows = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in FIRST], SCHEMA)
    assert table.commit(table.plan({"kind": "append", "source": ""}, rows=rows)).version == 1
    return table


def check(table: explorer.Table, told: Sequence[Told], orphans: int = 0) -> Counter[str]:
    """Play what was committed again, version by version, and hold the table against it.

    Args:
        table: The table, opened after the race.
        told: What the writers were told.
        orphans: How many files may be left that no version names.

    Returns:
        How often what came to what.
    """
    won = {each["id"]: each for each in told if each["outcome"] == "committed"}
    rows, found = list(FIRST), []
    for version in range(2, table.latest_version() + 1):
        lines = map(json.loads, table.store.read(commit_name(version)).splitlines())
        (info,) = [line["commitInfo"] for line in lines if "commitInfo" in line]
        name = info.get("racer") or (info.get("userMetadata") or "").strip() or info.get("txnId")
        found.append(name)
        rows = play(rows, won[name])
    assert sorted(found) == sorted(won), "each commit is in the log once, and no other"
    read = [tuple(row.values()) for row in table.rows().toArrow().select(SCHEMA.names).to_pylist()]
    assert Counter(read) == Counter(rows)
    problems = [problem for problem in table.verify().problems if problem.kind != "stale-hint"]
    assert problems == []
    named = set(data_locations(table.history_record().lifetimes))
    keys = (key for key in table.store.list_tree() if not key.startswith("_delta_log/"))
    data = {key for key in keys if not key.rpartition("/")[2].startswith(".")}  # Hadoop's checksums are hidden files
    assert named <= data
    # A writer of another make leaves what it wrote for a commit that it lost.
    assert len(data - named) <= orphans, data - named
    return Counter(f"{each['what']} {each['outcome']}" for each in told)
