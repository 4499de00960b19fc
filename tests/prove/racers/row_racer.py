"""One writer that changes rows as fast as it can, against others; what it was told can be played again on a model.

``python -m tests.prove.racers.row_racer LOCATION NAME COMMITS OPTIONS``, with input and output as for
`tests.prove.racers.racer`; the engine is the one that ``DELTA_EXPLORER_SPARK`` names. The table has the columns id, p
(a to d) and v.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

import explorer
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult

__all__ = ["PARTITIONS", "SCHEMA", "Row", "play", "run"]

PARTITIONS: Final = "abcd"
SCHEMA: Final = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
_NOTHING: Final = {"changes-something", "rows-found", "files-found"}
Row = tuple[int, str, int]


def run(table: explorer.Table, name: str, commits: int) -> Iterator[dict[str, Any]]:
    """Change rows, and tell of each commit what it was, its id, outcome and version."""
    pick, number = random.Random(name), int(name.rsplit(maxsplit=1)[-1])
    for turn in range(commits):
        what = _next(pick, 1_000_000 * (number + 1) + 1_000 * turn)
        plan = table.plan(what["intent"], rows=_rows(what), user=name)
        assert isinstance(plan, CommitPlan)
        result = table.commit(plan)
        while result.outcome == "unknown":
            result = table.commit(plan)
        assert isinstance(result, CommitResult)
        if result.outcome == "rejected":
            assert {guard.name for guard in result.plan.blocking} <= _NOTHING, result.plan.blocking
        why = result.conflict.why if result.conflict is not None else ""
        yield {**what, "id": plan.txn_id, "outcome": result.outcome, "version": result.version, "why": why}


def _next(pick: random.Random, first: int) -> dict[str, Any]:
    """What to do next: an intent, and its rows."""
    p, rest = pick.choice(PARTITIONS), pick.randrange(5)
    where = f"p = '{p}' AND id % 5 = {rest}"
    new = [[first + number, p, 0] for number in range(1 + pick.randrange(8))]
    match pick.randrange(8):
        case 0 | 1 | 2:
            return {"what": "append", "rows": new, "intent": {"kind": "append", "source": ""}}
        case 3:
            return {"what": "delete", "p": p, "rest": rest, "intent": {"kind": "delete", "where": where}}
        case 4 | 5:
            intent = {"kind": "update", "set": {"v": "v + 1"}, "where": where}
            return {"what": "update", "p": p, "rest": rest, "intent": intent}
        case 6:
            known = [[number, p, 0] for number in range(0, 40, 7)]
            intent = {
                "kind": "merge",
                "source": "",
                "on": f"target.p = '{p}' AND target.id = source.id",
                "matched": [{"update": {"v": "target.v + 100"}}],
                "notMatched": [{"insert": "*"}],
            }
            return {"what": "merge", "p": p, "rows": [*known, *new], "intent": intent}
        case _:
            return {"what": "optimize", "intent": {"kind": "optimize", "where": f"p = '{p}'"}}


def _rows(what: dict[str, Any]) -> pa.Table | None:
    if "rows" not in what:
        return None
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in what["rows"]], SCHEMA)


def play(rows: Iterable[Row], what: dict[str, Any]) -> list[Row]:
    """Do to a list of rows what a commit did to the table."""
    rows, given = list(rows), [(number, p, v) for number, p, v in what.get("rows", ())]
    match what["what"]:
        case "append":
            return [*rows, *given]
        case "delete":
            return [row for row in rows if not _is_meant(row, what)]
        case "update":
            return [(row[0], row[1], row[2] + 1) if _is_meant(row, what) else row for row in rows]
        case "merge":
            keys = {number for number, _, _ in given}
            there = {number for number, p, _ in rows if p == what["p"]}
            matched = [(n, p, v + 100) if p == what["p"] and n in keys else (n, p, v) for n, p, v in rows]
            return [*matched, *(row for row in given if row[0] not in there)]
        case _:
            return rows


def _is_meant(row: Row, what: dict[str, Any]) -> bool:
    return row[1] == what["p"] and row[0] % 5 == what["rest"]


def main() -> None:
    """Race."""
    location, name, commits, options = sys.argv[1:5]
    table = explorer.open_table(location, storage_options=json.loads(options) or None)
    table.rows().count()
    print(json.dumps({"ready": name}), flush=True)
    sys.stdin.readline()
    for told in run(table, name, int(commits)):
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
