"""Work of every kind on a lake, run in a process of its own: ``python cluster_work.py MASTER LAKE SETTINGS``.

It prints one JSON object: what came out of each kind of work. It must be the same wherever Spark runs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import explorer
from explorer.spark.engine.session import configure, engine


def main() -> None:
    """Run all of it."""
    master, lake, settings = sys.argv[1:]
    configure(master, json.loads(settings))
    print(json.dumps(dict(_answers(Path(lake)))))
    engine().stop()


def _answers(lake: Path) -> Iterator[tuple[str, Any]]:
    table = explorer.open_table(lake / "orders")
    yield "rows", _rows(table, "n % 2 = 0")
    update = {"kind": "update", "where": "n = 2", "set": {"s": "upper(s)"}}
    for intent in (update, {"kind": "delete", "where": "n = 3 or n = 7"}):
        yield intent["kind"], table.commit(table.plan(intent)).outcome
    new = pa.table({"n": [9], "s": ["new"], "p": ["c"]})
    yield "append", table.commit(table.plan({"kind": "append", "source": ""}, rows=new)).outcome
    yield "all rows", _rows(table, "true")
    changes = table.changes(1).select("n", "s", "_change_type", "_commit_version").collect()
    yield "changes", sorted(list(map(str, row)) for row in changes)
    proof = table.erasure("n = 3 or n = 7")
    yield "erasure", sorted([place.state, place.rows] for place in proof.places)
    yield "optimize", table.commit(table.plan({"kind": "optimize"})).outcome
    yield "optimized rows", _rows(table, "true")
    frame = table.files_frame()
    yield "files", [frame.count(), sum(row.num_records for row in frame.collect())]
    yield "profile", len(table.profile().columns)
    table.commit(table.plan({"kind": "checkpoint"}))
    yield "files of a checkpoint", explorer.open_table(lake / "orders").files_frame().count()
    ranking = explorer.audit(lake, spark=True, check_files=True, verify=True)
    assert ranking.num_rows == 2, ranking
    yield "audit", [[Path(row["table"]).name, row["error"], row["findings"]] for row in ranking.to_pylist()]


def _rows(table: explorer.Table, where: str) -> list[list[str]]:
    return sorted(list(map(str, row)) for row in table.rows(where=where).collect())


if __name__ == "__main__":
    main()
