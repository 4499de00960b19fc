"""Spark shared by several people: one who begins many long jobs keeps nobody else waiting."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from explorer.activity.record import ActivityRecord
from explorer.job import Job
from explorer.page.host import Identity, KnownBy
from explorer.spark.engine.job import submit
from explorer.spark.engine.session import Engine
from explorer.turns import FairQueue, Line, in_line
from explorer.web.limits import PersonLimits, ServerLimits
from explorer.web.personal_tables import PersonalEntry, PersonalTables
from explorer.web.recorder import Recorder
from explorer.web.served_tables import Catalog
from tests.support.at_least_one import at_least_one
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.pages.open_windows import Window

pytestmark = pytest.mark.spark

FILES = 4_000
ROWS = 100_000
PATIENCE = 900.0
MANY = 8


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A table of 400 million rows, minutes of work in tasks of seconds; and a table of three rows."""
    large = tmp_path / "lake" / "large"
    rows = pa.table({"d": np.random.default_rng(1).random(ROWS)})
    write_table(large, [column("d", "double")], [DataFile("one.parquet", rows)])
    log = large / "_delta_log" / f"{0:020}.json"
    *first, template = (json.loads(line) for line in log.read_text("utf-8").splitlines())
    names = [f"{number}.parquet" for number in range(FILES)]
    for name in names:
        os.link(large / "one.parquet", large / name)
    actions = [*first, *({"add": template["add"] | {"path": name}} for name in names)]
    log.write_text("".join(json.dumps(each) + "\n" for each in actions), "utf-8")
    write_table(
        tmp_path / "lake" / "small",
        [column("d", "double")],
        [DataFile("one.parquet", pa.table({"d": [1.0, 2.0, 3.0]}))],
    )
    return tmp_path / "lake"


@pytest.fixture
def windows(root: Path, tmp_path: Path) -> Iterator[Any]:
    """Opens windows of people on a server that lets four jobs run on Spark at once."""
    catalog, limits = Catalog([str(root)]), ServerLimits(PersonLimits(jobs=10, spark_jobs=4))
    record, opened = ActivityRecord(tmp_path / "record.jsonl", program="tests/1"), list[Window]()

    def opens(person: str, table: str) -> Window:
        identity = Identity(f"session of {person}", person, KnownBy.LOGIN)
        recorder = Recorder(record, identity)
        tables = PersonalTables(catalog, recorder)
        entry = PersonalEntry(tables, recorder, limits)
        query = f"?t=lake/{table}&tab=columns&card=d"
        opened.append(Window(tables, query, identity=identity, entry=entry))
        wait(lambda: "profile-go" in str(opened[-1].session.shown.regions.get("side")), "the page is there", opened)
        return opened[-1]

    yield opens
    for each in opened:
        each.ask("profile-cancel")
    wait(lambda: limits.queue.length().running == 0, "all have ended", opened)


def wait(holds: Any, what: str, opened: list[Window]) -> float:
    """Turn the loops of windows until something holds; return after how many seconds."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < PATIENCE, what
        for each in opened:
            each.turn()
    return time.monotonic() - began


def profiled(window: Window) -> bool:
    """Return whether a column's card has the profile of all rows, which can be shared then."""
    return "profile-share" in str(window.session.shown.regions["side"])


def test_jobs_of_a_person_and_what_they_begin_share_the_cores_as_that_person(spark_engine: Engine) -> None:
    context = spark_engine.session().sparkContext
    if spark_engine.connected_remotely:
        pytest.skip("a Connect server shares its cores by its own settings")
    assert context.getConf().get("spark.scheduler.mode") == "FAIR"

    def pool(_job: Job[str | None]) -> str | None:
        return context.getLocalProperty("spark.scheduler.pool")

    def begun_in(_job: Job[str | None]) -> str | None:
        return submit("Inner", pool).result(60)

    queue, pools = FairQueue(4, 10), {}
    for person in at_least_one(["ana", "ben"]):
        with in_line(Line(queue, person)):
            jobs = [submit("Outer", work) for work in (pool, pool, begun_in)]
        found = {job.result(60) for job in jobs}
        assert len(found) == 1
        pools[person] = found.pop()
    assert pools["ana"] != pools["ben"]
    assert None not in pools.values()
    assert submit("Nobody's", pool).result(60) is None, "the thread of a job is used by no other one"


@pytest.mark.timeout(3_600)
@pytest.mark.whole("the other test of this file, and tests/test_turns.py")
def test_many_long_jobs_of_one_person_do_not_hold_up_those_of_another(windows: Any, spark_engine: Engine) -> None:
    """Without turns at the cores, too, the tasks of ana's three jobs would come before those of any other."""
    if spark_engine.connected_remotely:
        pytest.skip("a Connect server shares its cores by its own settings")
    of_ana = [windows("ana", "large") for _ in range(MANY)]
    for each in of_ana:
        each.ask("profile", column="d")
    queue = of_ana[0].session.entry.line.queue
    wait(lambda: queue.length("ana").running == 3, "three of four places are taken", of_ana)
    tracker = spark_engine.session().sparkContext.statusTracker()
    wait(lambda: len(tracker.getActiveJobsIds()) >= 3, "Spark works on all three", of_ana)
    for other in at_least_one(["ben", "cleo"]):
        window = windows(other, "small")
        window.ask("profile", column="d")
        wait(lambda window=window: profiled(window), f"{other} has a result", [window, *of_ana])
    still = queue.length("ana")
    assert (still.running, still.waiting) == (3, MANY - 3), "none of ana's has ended meanwhile"
