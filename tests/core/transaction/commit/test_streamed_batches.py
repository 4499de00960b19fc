"""Batches of a stream, written once each: when they are tried again, what is waited for, and what is raised."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable
from typing import Any

import pytest

import explorer
from explorer.core.errors import (
    CommitConflict,
    CommitUnknown,
    EngineUnavailable,
    GuardFailed,
    InvalidIntent,
    StorageError,
)
from explorer.core.log.log_path import commit_name
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit.batch_writer import BatchWriter
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents.records import Append
from explorer.core.transaction.proposal import GuardResult, Written
from explorer.core.transaction.row_engine import Incoming
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL, add

APPEND = {"kind": "append"}
ALONE = "The store is not there."


class CountedRows:
    """An engine that takes numbers for rows, writes nothing but a mark of each file, and lets others in before."""

    def __init__(self, store: LogStore, *guards: GuardResult) -> None:
        self.store, self.guards, self.written = store, guards, 0
        self.before: Callable[[int], None] = lambda _: None

    def incoming_rows(self, _snapshot: explorer.Snapshot, source: Any, **_more: Any) -> Incoming:
        return Incoming(source, ("id",), self.guards, source)

    def write_rows(self, store: LogStore, incoming: Incoming, *_more: Any) -> Written:
        self.written += 1
        self.before(self.written)
        name = f"{self.written}.parquet"
        store.put(name, b"rows")
        return Written((add(name, incoming.rows),), rows=incoming.rows)


class Failing:
    """A store that fails to write a commit, or loses its answer, so many times."""

    def __init__(self, inner: LogStore, times: int) -> None:
        self.inner, self.times = inner, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if path == commit_name(1) and self.times:
            self.times -= 1
            raise StorageError(ALONE)
        self.inner.put_if_absent(path, data, durable=durable)


def writer(
    *guards: GuardResult, fails: int = 0, intent: Any = APPEND, **more: Any
) -> tuple[BatchWriter, CountedRows, list[float]]:
    """A writer to a table of one version, its engine, and how long it waits."""
    store = small_logs.new_store()
    small_logs.write(store, {0: [PROTOCOL, METADATA]})
    seen: Any = Failing(store, fails) if fails else store
    engine = CountedRows(store, *guards)
    waits: list[float] = []
    context = Context(lambda: 1_700_000_000_000, uuid.uuid4, waits.append, lambda: 0.5, "tests", rows=engine)  # type: ignore[arg-type]  # an engine of what appends need
    return BatchWriter(explorer.Table(seen), "loader", intent, context, **more), engine, waits


def lines(store: LogStore, version: int) -> dict[str, Any]:
    found = [json.loads(line) for line in store.read(commit_name(version)).splitlines()]
    return {kind: action for line in found for kind, action in line.items()}


@pytest.mark.parametrize("intent", [APPEND, Append(source=""), {**APPEND, "txnAppId": "other", "txnVersion": 99}])
def test_a_batch_is_recorded_with_its_rows_and_written_once(intent: Any) -> None:
    write, engine, waits = writer(intent=intent, user="ana", reason="nightly")
    write.check()
    first = write(7, 3)
    assert (first.outcome, first.version, first.notes) == ("committed", 1, ())
    found = lines(engine.store, 1)
    assert found["txn"] == {"appId": "loader", "version": 3, "lastUpdated": 1_700_000_000_000}
    assert found["add"]["stats"] == '{"numRecords":7}'
    info = found["commitInfo"]
    assert (info["userName"], info["userMetadata"], info["engineInfo"]) == ("ana", "nightly", "tests")
    again = write(7, 3)
    said = "Version 1 wrote batch 3 of the application 'loader'; it was not written again."
    assert (again.outcome, again.version, again.notes) == ("committed", 1, (said,))
    assert (engine.written, waits) == (1, [])
    assert write(2, 4).version == 2


def test_a_batch_goes_on_top_of_what_others_wrote_since() -> None:
    write, engine, _ = writer()
    small_logs.write(engine.store, {1: [add("theirs")], 2: [METADATA]})
    result = write(1, 0)
    assert (result.version, result.plan.read_version, engine.written) == (3, 2, 1)


def changing(engine: CountedRows, times: int) -> Callable[[int], None]:
    """Others change the metadata before the first so many writes."""

    def change(number: int) -> None:
        if number <= times:
            small_logs.write(engine.store, {number: [METADATA]})

    return change


@pytest.mark.parametrize("times", [1, 3, 9])
def test_a_batch_that_others_stand_against_is_tried_again_with_longer_waits(times: int) -> None:
    write, engine, waits = writer()
    engine.before = changing(engine, times)
    result = write(5, 0)
    assert (result.outcome, result.version, engine.written) == ("committed", times + 1, times + 1)
    assert [wait for wait in waits if wait] == pytest.approx([0.2 * number * 0.5 for number in range(1, times + 1)])


def test_a_batch_that_others_stand_against_ten_times_is_given_up() -> None:
    write, engine, waits = writer()
    engine.before = changing(engine, 99)
    with pytest.raises(CommitConflict) as caught:
        write(5, 0)
    assert str(caught.value) == (
        "Version 10 came first: it changed the metadata that this commit depends on. Nothing was committed; make a new "
        "plan."
    )
    assert (caught.value.winner, caught.value.version, engine.written) == (10, 10, 10)
    assert len([wait for wait in waits if wait]) == 9
    assert [key for key in engine.store.list_tree() if key.endswith(".parquet")] == []


def test_a_batch_that_breaks_a_rule_is_not_tried_again() -> None:
    rule = GuardResult("rules", "fail", {"detail": "Seven rows are null."})
    write, engine, waits = writer(rule)
    with pytest.raises(GuardFailed) as caught:
        write(7, 0)
    assert str(caught.value) == "This change must not be committed: rules (fail): Seven rows are null."
    assert (engine.written, waits) == (0, [])


@pytest.mark.parametrize(("fails", "slept"), [(3, [0.02, 0.04, 0.0]), (6, [0.02, 0.04, 0.0, 0.02, 0.04, 0.2])])
def test_a_batch_whose_outcome_is_not_known_is_looked_up_again(fails: int, slept: list[float]) -> None:
    write, _, waits = writer(fails=fails)
    result = write(5, 0)
    assert (result.outcome, result.version) == ("committed", 1)
    assert waits == pytest.approx(slept)


def test_a_batch_whose_outcome_stays_unknown_is_told_with_its_transaction() -> None:
    write, _, waits = writer(fails=99)
    with pytest.raises(CommitUnknown) as caught:
        write(5, 0)
    assert str(caught.value) == (
        "The store's answer was lost, and whether version 1 is this commit is not known yet. "
        f"Look for the transaction {caught.value.found} in the history."
    )
    assert caught.value.version == 1
    between = [wait for wait in waits if wait not in (0.02, 0.04)]
    assert between == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    assert waits.count(0.02) == 6


@pytest.mark.parametrize("kind", ["delete", "set-description", None])
def test_an_intent_that_does_not_write_the_rows_of_a_batch_is_refused(kind: str | None) -> None:
    write, _, _ = writer(intent={} if kind is None else {"kind": kind, "where": "id > 1"})
    for use in (write.check, lambda: write(1, 0)):
        with pytest.raises(InvalidIntent) as caught:
            use()
        assert str(caught.value) == (
            f"The kind {kind!r} does not write the rows of a batch. Kinds that do: append, overwrite, merge."
        )
        assert (caught.value.field, caught.value.allowed) == ("kind", ["append", "overwrite", "merge"])


def test_a_batch_is_checked_before_it_is_there() -> None:
    write, _, _ = writer(intent={**APPEND, "mergeSchema": "yes"})
    with pytest.raises(InvalidIntent):
        write.check()
    write, _, _ = writer()
    with pytest.raises(InvalidIntent) as caught:
        BatchWriter(write.log, "", APPEND, write.context).check()
    assert caught.value.field == "txnAppId"


def test_a_writer_says_why_it_stays_where_it_is() -> None:
    write, _, _ = writer()
    with pytest.raises(EngineUnavailable) as caught:
        pickle.dumps(write)
    assert str(caught.value) == (
        "A batch writer stays in the process that opened the table, and Spark Connect sends to its server what "
        "foreachBatch calls. Run the stream on a Spark session of this process (local[*] or a cluster, not sc://), "
        "or commit each batch as an intent with txnAppId and txnVersion."
    )
    assert caught.value.engine == "spark"
