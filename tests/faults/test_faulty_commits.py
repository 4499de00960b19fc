"""Commits on stores that fail, lose answers, or are late: what is said of them is true, and nothing happens twice."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.storage import open_store
from tests.support.attacks.faulty_store import Fault, FaultyStore
from tests.support.dose import WHOLE_DOSE
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write

FAULTS: tuple[Fault, ...] = ("fails", "answer lost", "done late")
INTENT = {"kind": "set-transaction", "appId": "loader", "version": 7}


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("committer", "version_writer"):
        monkeypatch.setattr(f"explorer.core.transaction.commit.{module}.PAUSE", 0)


def new_table() -> LogStore:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA), 1: (add("a"),)})
    return store


def rival(store: LogStore, application: str = "rival") -> None:
    """Another writer commits the next version."""
    table = explorer.Table(store)
    version = table.snapshot().transactions.get(application, 0) + 1
    result = table.commit(table.plan({"kind": "set-transaction", "appId": application, "version": version}))
    assert result.outcome == "committed"


def written(store: LogStore, plan: CommitPlan) -> list[int]:
    """The versions that hold the plan."""
    table = explorer.Table(store)
    history = table.history_record()
    found = [record.version for record in history.commits if record.info and record.info.txn_id == plan.txn_id]
    assert [record.version for record in history.commits] == list(range(table.latest_version() + 1))
    return found


def check(store: FaultyStore, table: explorer.Table, plan: CommitPlan) -> None:
    """Commit under faults, then once more without; hold both answers against the log."""
    result: CommitResult | None
    try:
        result = table.commit(plan)
    except StorageError:
        result = None
    before = written(store.inner, plan)
    if result is None:
        assert before == []
    elif result.outcome == "committed":
        assert before == [result.version]
    else:
        assert result.outcome == "unknown"
    store.faults = {}
    again = table.commit(plan)
    store.settle()
    assert again.outcome == "committed"
    assert written(store.inner, plan) == [again.version]
    if before:
        assert before == [again.version]


def requests_of(between: Callable[[LogStore], Callable[[int], None] | None]) -> list[str]:
    inner = new_table()
    store = FaultyStore(inner)
    table = explorer.Table(store)
    plan = table.plan(INTENT)
    store.requests.clear()
    store.between = between(inner)
    assert table.commit(plan).outcome == "committed"
    return store.requests


def no_rival(_: LogStore) -> None:
    return None


def rivals_before_the_first_requests(store: LogStore) -> Callable[[int], None]:
    def come(number: int) -> None:
        if number < 3:
            rival(store)

    return come


SCENES = {"alone": no_rival, "with rivals": rivals_before_the_first_requests}


def cases(most: int) -> Iterator[tuple[str, dict[int, Fault]]]:
    """Every request of each scene struck by each fault, up to ``most`` at once, and all requests from some on."""
    for scene, between in SCENES.items():
        count = len(requests_of(between)) + 2
        for struck in itertools.chain.from_iterable(
            itertools.combinations(range(count), size) for size in range(1, most + 1)
        ):
            for faults in itertools.product(FAULTS, repeat=len(struck)):
                yield scene, dict(zip(struck, faults, strict=True))
        for start in range(count):
            for fault in FAULTS:
                yield scene, {-start - 1: fault}


def run(scene: str, faults: dict[int, Fault]) -> None:
    inner = new_table()
    store = FaultyStore(inner)
    table = explorer.Table(store)
    plan = table.plan(INTENT)
    store.requests.clear()
    store.faults, store.between = faults, SCENES[scene](inner)
    check(store, table, plan)


def test_whatever_request_is_struck_the_outcome_is_right_or_unknown_and_unknown_is_resolved(
    record_property: Callable[[str, object], None],
) -> None:
    assert len(requests_of(no_rival)) < 20
    struck = list(cases(2 if WHOLE_DOSE else 1))
    for scene, faults in struck:
        run(scene, faults)
    record_property("found", {"combinations of faults": len(struck)})


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_while_a_plan_is_made_are_told_and_leave_nothing(fault: Fault) -> None:
    inner = new_table()
    store = FaultyStore(inner)
    explorer.Table(store).plan(INTENT)
    for number in range(len(store.requests)):
        struck = FaultyStore(inner, {number: fault})
        with pytest.raises(StorageError):
            explorer.Table(struck).plan(INTENT)
    assert explorer.Table(inner).latest_version() == 1


def test_a_lost_answer_is_told_in_the_receipt() -> None:
    inner = new_table()
    number = next(i for i, what in enumerate(requests_of(no_rival)) if what.startswith("create"))
    store = FaultyStore(inner)
    table = explorer.Table(store)
    plan = table.plan(INTENT)
    store.requests.clear()
    store.faults = {number: "answer lost"}
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", 2)
    assert "answer was lost" in result.notes[0]


def test_a_store_that_refuses_to_write_says_so_and_nothing_is_in_doubt(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    write(store, {0: (PROTOCOL, METADATA)})
    table = explorer.open_table(tmp_path / "table")
    plan = table.plan(INTENT)
    log = tmp_path / "table" / "_delta_log"
    aside = tmp_path / "log"
    log.rename(aside)
    log.write_text("a file where the folder was")
    with pytest.raises(StorageError) as refused:
        store.put_if_absent("_delta_log/00000000000000000001.json", b"{}")
    assert refused.value.unwritten
    log.unlink()
    aside.rename(log)
    assert table.commit(plan).version == 1
