"""Writes of rows whose workers are killed or have no disk: ``python -m tests.faults.dying_workers FOLDER``.

It has an engine of its own, in which a task is tried twice, in the whole dose three times. It tells of each step what
came of it: the outcome, the newest version, the ids of the rows, and which files no version names that a vacuum would
not find.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import explorer
from explorer.core.errors import ExplorerError
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.versions.retention.missing_files import data_locations
from explorer.spark.engine.session import configure, engine
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.spark_tables import DataFile, column, write_table

APPEND = {"kind": "append", "source": ""}


def dying(marker: str, *, once: bool) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows whose worker dies after the first of them, if there is a marker; once takes the marker away."""

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number and os.path.exists(marker):
                if once:
                    os.rename(marker, f"{marker}.gone")
                time.sleep(1)
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch

    return rows


def parent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The process that makes the workers."""
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"pid": [os.getppid()]})


def main() -> None:
    """Do the steps."""
    folder, marker = Path(sys.argv[1]), str(Path(sys.argv[1]) / "die")
    conf = {"spark.python.worker.reuse": "false", "spark.sql.execution.arrow.maxRecordsPerBatch": "5"}
    configure("local[2,3]" if WHOLE_DOSE else "local[2,2]", conf)
    session = engine().session()
    files = [
        DataFile(f"{first}.parquet", pa.table({"id": pa.array(range(first, first + 10), pa.int64())}))
        for first in (0, 10)
    ]
    write_table(folder / "t", [column("id", "long")], files)
    table = explorer.open_table(folder / "t")
    source = session.range(1_000, 1_040, 1, 2)

    def planned(intent: dict[str, Any], rows: Any = None) -> CommitPlan:
        plan = table.plan(intent, rows=rows)
        assert isinstance(plan, CommitPlan)
        return plan

    def step(name: str, plan: CommitPlan) -> None:
        try:
            outcome = table.commit(plan).outcome
        except ExplorerError:
            outcome = "error"
        print(json.dumps({"step": name, "outcome": outcome, **_state(folder / "t")}), flush=True)

    once = planned(APPEND, source.mapInArrow(dying(marker, once=True), "id long"))
    Path(marker).touch()
    step("a worker dies once", once)
    assert not Path(marker).exists(), "it died"
    if WHOLE_DOSE:
        always = planned(APPEND, source.mapInArrow(dying(marker, once=False), "id long"))
        Path(marker).touch()
        step("workers die always", always)
        Path(marker).unlink()
    append, delete = planned(APPEND, source), planned({"kind": "delete", "where": "id % 2 = 0"})
    (pid,) = {row["pid"] for row in session.range(1).mapInArrow(parent, "pid long").collect()}
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, limits[1]))
    step("no disk, append", append)
    step("no disk, delete", delete)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    step("again", delete)
    engine().stop()


def _state(path: Path) -> dict[str, Any]:
    table = explorer.open_table(path)
    named = set(data_locations(table.history_record().lifetimes))
    data = {key for key in table.store.list_tree() if not key.startswith(("_delta_log/", "."))}
    listed = {file.path for file in table.plan({"kind": "vacuum", "olderThan": "interval 0 seconds"}).files}
    ids = sorted(table.rows().toArrow().column("id").to_pylist())
    return {"version": table.latest_version(), "ids": ids, "unlisted": sorted(data - named - listed)}


if __name__ == "__main__":
    main()
