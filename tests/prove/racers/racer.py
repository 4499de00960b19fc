"""One process that commits to a table as fast as it can, against others; it prints what it was told of each commit.

``python -m tests.prove.racers.racer LOCATION NAME COMMITS OPTIONS``: where the table is, who races, how many commits,
and the storage options as JSON. A line on standard output each: what (append, remove, batch), id, outcome, version,
rows.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa

import explorer
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.core.transaction.intents.records import Append, Delete, Intent
from explorer.core.transaction.new_files.file_actions import removes
from explorer.core.transaction.new_files.layout import FileLayout
from explorer.core.transaction.planner import Request, make_plan
from explorer.core.transaction.proposal import Proposal, Writing, Written
from explorer.core.transaction.proposals.rows.append_rows import Addition, append_rows
from explorer.core.versions.snapshot import Snapshot
from explorer.data_files.file_plan import file_plan
from explorer.data_files.in_memory_rows import write_rows
from explorer.system import system_context

__all__ = ["SHARED", "append_plan", "remove_plan", "settled"]

SHARED = "shared"
"""The application for which all racers write now and then, so that one has to lose."""


def main(ask: Callable[[Callable[[], Any]], Any] = lambda call: call()) -> None:
    """Race.

    Args:
        ask: Returns what a call returns; a racer that waits for a store or a catalog calls it again.
    """
    location, name, commits, options = sys.argv[1:5]
    table = ask(lambda: explorer.open_table(location, storage_options=json.loads(options) or None))
    pick = random.Random(name)
    print(json.dumps({"ready": name}), flush=True)
    sys.stdin.readline()
    for number in range(int(commits)):
        what, plan, rows = ask(partial(_next, table, name, number, pick))
        result = ask(partial(settled, table, plan))
        told = {"what": what, "id": plan.txn_id, "outcome": result.outcome, "version": result.version, "rows": rows}
        print(json.dumps(told), flush=True)


def _next(table: explorer.Table, name: str, number: int, pick: random.Random) -> tuple[str, CommitPlan, int]:
    match number % 5:
        case 3:
            last = table.snapshot().transactions.get(SHARED, 0)
            intent = {"kind": "set-transaction", "appId": SHARED, "version": last + 1}
            return "batch", table.plan(intent, user=name), 0
        case 4:
            plan, rows = remove_plan(table, name, pick)
            return "remove", plan, -rows
        case _:
            rows = 1 + pick.randrange(20)
            return "append", append_plan(table, name, rows), rows


def append_plan(table: explorer.Table, user: str, rows: int) -> CommitPlan:
    """A plan to append some rows, made without Spark."""
    schema, layout = table.snapshot().schema, FileLayout.of(table.snapshot())

    def write() -> Written:
        data = pa.table({"id": pa.array(range(rows), pa.int64())})
        made = write_rows(table.store, layout, file_plan(layout), data)
        return Written(tuple(map(layout.add_of, made.files)), rows=made.rows)

    def propose(latest: Snapshot) -> Proposal:
        def complete(written: Written) -> Proposal:
            return append_rows(latest, Addition(schema, rows, (), written.adds))

        return msgspec.structs.replace(complete(Written(())), writing=Writing(write, complete))

    return _plan(table, user, Append(source="rows"), propose)


def remove_plan(table: explorer.Table, user: str, pick: random.Random) -> tuple[CommitPlan, int]:
    """A plan to remove one live file, and its rows; another racer may want the same one."""
    made = system_context().circumstances()
    table.refresh()
    files = table.snapshot().logical_files
    chosen = files.slice(pick.randrange(files.num_rows), 1)
    (records,) = chosen.column("num_records").to_pylist()
    gone = removes(chosen, now=made.now, data_change=True)

    def propose(_: Snapshot | None) -> Proposal:
        return Proposal(operation="DELETE", parameters={}, removes=gone, is_blind_append=False)

    return _plan(table, user, Delete(where="true"), propose), records


def settled(table: explorer.Table, plan: CommitPlan) -> CommitResult:
    """Commit a plan, and again as long as the outcome is not known."""
    result = table.commit(plan)
    while result.outcome == "unknown":
        result = table.commit(plan)
    return result


def _plan(table: explorer.Table, user: str, intent: Intent, propose: Callable[[Any], Proposal]) -> CommitPlan:
    return make_plan(table, Request(intent, propose, user=user), system_context())


if __name__ == "__main__":
    main()
