"""Every long call, in the midst of its work: it says what it is at, counts, hears a cancel within a second, lets go."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import Cancelled
from explorer.fleet.spark_tasks import survey
from explorer.job import Job
from explorer.spark.changes.change_preview import change_preview
from explorer.spark.changes.row_diff_preview import row_diff_preview
from explorer.spark.checks.column_profile import profile
from explorer.spark.checks.constraint_check import check
from explorer.spark.engine.job import submit
from explorer.spark.engine.session import Engine
from explorer.spark.rows.key_history import key_history
from explorer.spark.rows.preview import preview
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import reference_root

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine"), pytest.mark.sampled(tests=3)]

LONG = 60
FILES = 300
ROWS = 2_000_000
JOBS: dict[str, Callable[[explorer.Table], Job[Any]]] = {
    "rows": lambda table: preview(table, table.snapshot(0), where="id * 2 = 7"),
    "changes": lambda table: change_preview(table, 1, 1, inferred=True),
    "row diff": lambda table: row_diff_preview(table, 0, 1),
    "history of a key": lambda table: key_history(table, {"d": 0.5}),
    "check": lambda table: check(table, table.snapshot(), {"c": "id >= 0", "d": "d <> 0.5"}),
    "profile": lambda table: profile(table, table.snapshot()),
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> explorer.Table:
    """Two versions of 600 million rows each, all in files of the same bytes: minutes of work, 16 MB."""
    root = tmp_path_factory.mktemp("large")
    rows = pa.table({"id": np.arange(ROWS) % 7, "d": np.random.default_rng(1).random(ROWS)})
    write_table(root, [column("id", "long"), column("d", "double")], [DataFile("one.parquet", rows)])
    log = root / "_delta_log"
    *first, template = (json.loads(line) for line in (log / f"{0:020}.json").read_text("utf-8").splitlines())
    names = [[f"{version}-{number}.parquet" for number in range(FILES)] for version in range(2)]
    for name in [*names[0], *names[1]]:
        os.link(root / "one.parquet", root / name)
    added = [[{"add": template["add"] | {"path": name}} for name in part] for part in names]
    removed = [{"remove": {"path": name, "deletionTimestamp": 1, "dataChange": True}} for name in names[0]]
    for version, actions in enumerate([[*first, *added[0]], [*removed, *added[1]]]):
        (log / f"{version:020}.json").write_text("".join(json.dumps(a) + "\n" for a in actions), "utf-8")
    return explorer.open_table(root)


@pytest.mark.parametrize("name", JOBS)
def test_a_long_call_is_cancelled_from_another_thread_within_a_second(
    name: str, large: explorer.Table, spark_engine: Engine
) -> None:
    _cancel(JOBS[name](large), spark_engine)


@pytest.mark.reference
def test_a_survey_is_cancelled_from_another_thread_within_a_second(spark_engine: Engine) -> None:
    place = reference_root() / "tables" / "vacuum"
    # A folder has many names, and each is looked at.
    _cancel(survey([f"file://{place}{'/.' * n}" for n in range(2000)], verify=True), spark_engine)


def _cancel(job: Job[Any], running: Engine) -> None:
    _wait_until(lambda: job.total > 0 or job.state != "running")
    assert job.state == "running", job.error
    assert job.phase not in ("", "Starting Spark")
    asked = time.monotonic()
    threading.Thread(target=job.cancel).start()
    with pytest.raises(Cancelled):
        job.result(LONG)
    assert time.monotonic() - asked < 1
    assert job.state == "cancelled"
    assert 0 <= job.done <= job.total
    if running.connected_remotely:
        assert submit("Count", lambda job: running.session().range(10).count()).result(20) == 10
    else:
        tracker = running.session().sparkContext.statusTracker()
        _wait_until(lambda: not tracker.getActiveJobsIds())


def _wait_until(condition: Callable[[], Any], seconds: float = LONG) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
