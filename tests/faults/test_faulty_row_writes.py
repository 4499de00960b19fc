"""Changes of rows while requests of the store fail, and while workers of Spark die or have no disk.

Whatever is struck: the outcome is right or unknown, an unknown one is resolved by committing the plan again, no row is
lost or there twice, and each file that is left over is one that a vacuum finds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import explorer
from explorer.core.errors import ExplorerError, StorageError
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.core.versions.retention.missing_files import data_locations
from tests.support.attacks.faulty_store import Fault, FaultyStore
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import new_store
from tests.support.logs.spark_tables import DataFile, column, write_table
from tests.support.shared_tables import REPOSITORY

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_engine")]

FAULTS: tuple[Fault, ...] = ("fails", "answer lost", "done late")
ROWS = pa.table({"id": pa.array([3, 100], pa.int64()), "p": ["a", "b"]})
MASKS, RECORDS = {"delta.enableDeletionVectors": "true"}, {"delta.enableChangeDataFeed": "true"}
DELETE = {"kind": "delete", "where": "id IN (2, 3)"}
MERGE = {
    "kind": "merge",
    "source": "",
    "on": "target.id = source.id",
    "matched": [{"update": {"id": "target.id + 1000"}}],
    "notMatched": [{"insert": "*"}],
}
START = set(range(8))
SCENES: dict[str, tuple[dict[str, Any], dict[str, str], set[int]]] = {
    "append": ({"kind": "append", "source": ""}, {}, {*START, 100, -3}),
    "delete, masked": (DELETE, MASKS, START - {2, 3}),
    "delete, rewritten": (DELETE, RECORDS, START - {2, 3}),
    "merge, masked": (MERGE, MASKS, (START - {3}) | {1003, 100}),
    "update, rewritten": (
        {"kind": "update", "set": {"id": "id + 1000"}, "where": "id = 3"},
        RECORDS,
        (START - {3}) | {1003},
    ),
    "overwrite": ({"kind": "overwrite", "source": ""}, {}, {3, 100}),
    "optimize": ({"kind": "optimize"}, {}, START),
}
"""An intent, the table's properties, and the ids afterwards; -3 stands for a second row with the id 3."""
SMALL_DOSE = ["append", "delete, rewritten", "merge, masked"]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("committer", "version_writer"):
        monkeypatch.setattr(f"explorer.core.transaction.commit.{module}.PAUSE", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "t"


def new_table(folder: Path, properties: dict[str, str]) -> LogStore:
    """A table in memory, with two files in a and one in b, so that every file of it passes through the store."""
    files = [
        DataFile(f"{first}.parquet", pa.table({"id": pa.array(range(first, last), pa.int64())}), {"p": p})
        for p, first, last in (("a", 0, 3), ("a", 3, 5), ("b", 5, 8))
    ]
    if not folder.exists():
        fields = [column("id", "long"), column("p", "string")]
        write_table(folder, fields, files, ["p"], properties, writer_features=["changeDataFeed"])
    store = new_store()
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            store.put_if_absent(file.relative_to(folder).as_posix(), file.read_bytes())
    return store


def planned(table: explorer.Table, intent: dict[str, Any]) -> CommitPlan:
    plan = table.plan(intent, rows=ROWS if "source" in intent else None)
    assert isinstance(plan, CommitPlan)
    assert plan.committable, plan.blocking
    return plan


def versions_of(store: LogStore, plan: CommitPlan) -> list[int]:
    commits = explorer.Table(store).history_record().commits
    return [commit.version for commit in commits if commit.info and commit.info.txn_id == plan.txn_id]


def check_rows(store: LogStore, wanted: set[int]) -> None:
    found = sorted(explorer.Table(store).rows().toArrow().column("id").to_pylist())
    assert found == sorted(abs(number) for number in wanted)


def check_orphans(store: LogStore) -> int:
    """Every file that no version names is one that a vacuum would delete; how many there are."""
    table = explorer.Table(store)
    named = set(data_locations(table.history_record().lifetimes))
    named |= {
        decode_path(change.path)
        for commit in table.commits(0, table.latest_version())
        for change in commit.change_files()
    }
    data = {key for key in store.list_tree() if not key.startswith("_delta_log/")}
    assert named <= data
    listed = {file.path for file in table.plan({"kind": "vacuum", "olderThan": "interval 0 seconds"}).files}
    assert data - named <= listed
    return len(data - named)


def requests_of(scene: str, folder: Path) -> list[str]:
    """The requests of an undisturbed commit."""
    intent, properties, wanted = SCENES[scene]
    store = FaultyStore(new_table(folder, properties))
    table = explorer.Table(store)
    plan = planned(table, intent)
    store.requests.clear()
    assert table.commit(plan).outcome == "committed"
    requests = list(store.requests)
    check_rows(store.inner, wanted)
    assert check_orphans(store.inner) == 0
    return requests


def run(scene: str, folder: Path, struck: int, fault: Fault) -> str:
    """Commit with a fault, then again without; what the first try came to."""
    intent, properties, wanted = SCENES[scene]
    store = FaultyStore(new_table(folder, properties))
    table = explorer.Table(store)
    plan = planned(table, intent)
    store.requests.clear()
    store.faults = {struck: fault}
    result: CommitResult | None
    try:
        found = table.commit(plan)
        assert isinstance(found, CommitResult)
        result = found
    except StorageError:
        result = None
    made = versions_of(store.inner, plan)
    if result is None:
        assert made == []
    elif result.outcome == "committed":
        assert made == [result.version]
    else:
        assert result.outcome == "unknown"
    store.faults = {}
    again = table.commit(plan)
    store.settle()
    assert again.outcome == "committed", again
    assert versions_of(store.inner, plan) == [again.version]
    check_rows(store.inner, wanted)
    left = check_orphans(store.inner)
    return f"{'error' if result is None else result.outcome}, {left} left"


def strikes(scene: str, requests: int) -> Iterator[tuple[int, Fault]]:
    """Each request with each fault; in the small dose one pair of seven, others in each scene."""
    pairs = [(number, fault) for number in range(requests) for fault in FAULTS]
    offset = SMALL_DOSE.index(scene) if scene in SMALL_DOSE else 0
    yield from pairs if WHOLE_DOSE else pairs[offset :: 2 * len(FAULTS) + 1]


@pytest.mark.sampled(cases=1)
@pytest.mark.timeout(3600)
@pytest.mark.conformance("LOG-006", "LOG-010")
@pytest.mark.parametrize("scene", list(SCENES) if WHOLE_DOSE else SMALL_DOSE)
def test_whatever_request_is_struck_no_row_is_lost_or_there_twice(
    scene: str, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    requests = requests_of(scene, folder)
    assert len(requests) > 4
    told = {
        f"{requests[number]}: {fault}": run(scene, folder, number, fault)
        for number, fault in strikes(scene, len(requests))
    }
    assert len(told) >= len(requests) * len(FAULTS) // 9
    record_property("found", {"requests struck": len(told)})


@pytest.mark.sampled(cases=1)
@pytest.mark.parametrize("scene", SMALL_DOSE)
def test_a_plan_writes_nothing_even_where_it_fails(scene: str, folder: Path) -> None:
    intent, properties, _ = SCENES[scene]
    inner = new_table(folder, properties)
    before = sorted(inner.list_tree())
    first = FaultyStore(inner)
    planned(explorer.Table(first), intent)
    assert not [request for request in first.requests if request.startswith(("create", "put", "delete"))]
    for number in range(len(first.requests)) if WHOLE_DOSE else [len(first.requests) - 1]:
        struck = FaultyStore(inner, {number: "fails"})
        with pytest.raises(ExplorerError):
            explorer.Table(struck).plan(intent, rows=ROWS if "source" in intent else None)
    assert sorted(inner.list_tree()) == before


@pytest.mark.whole("test_whatever_request_is_struck_no_row_is_lost_or_there_twice")
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="the limits of another process can be set on Linux alone")
def test_workers_that_die_or_have_no_disk_lose_no_row(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.dying_workers", str(tmp_path)]
    told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr[-2000:]
    steps = {step.pop("step"): step for step in map(json.loads, told.stdout.splitlines())}
    start = list(range(20))
    appended = sorted([*start, *range(1_000, 1_040)])
    assert steps["a worker dies once"] == {"outcome": "committed", "version": 1, "ids": appended, "unlisted": []}
    refused = {"outcome": "error", "version": 1, "ids": appended, "unlisted": []}
    assert "workers die always" in steps or not WHOLE_DOSE
    assert steps.get("workers die always", refused) == refused
    assert steps["no disk, append"] == refused
    assert steps["no disk, delete"] == refused
    left = [number for number in appended if number % 2]
    assert steps["again"] == {"outcome": "committed", "version": 2, "ids": left, "unlisted": []}
