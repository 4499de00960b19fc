"""A commit from try to try: what is waited for, which files stay, what is judged again, and what follows it."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.log.last_checkpoint import parse_last_checkpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, checksum_name, commit_name
from explorer.core.protocol.actions import AddCDCFile, Metadata
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit import committer, post_commit
from explorer.core.transaction.commit.committer import commit_plan
from explorer.core.transaction.commit.post_commit import follow_up, new_checkpoint
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, Conflict
from explorer.core.transaction.context import Context
from explorer.core.transaction.proposal import GuardResult, Proposal, StagedFile, Writing, Written
from tests.support.logs import small_logs
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, write
from tests.support.logs.small_proposals import protocol

DESCRIBE = {"kind": "set-description", "description": "Orders"}
NOW = 1_700_000_000_000
IDENTITY = uuid.UUID("11111111-2222-3333-4444-555555555555")


def context(waits: list[float] | None = None) -> Context:
    kept: list[float] = [] if waits is None else waits
    return Context(lambda: NOW, lambda: IDENTITY, kept.append, lambda: 0.5, "tests")


class Busy:
    """A store to which others always commit first, so many times."""

    def __init__(self, inner: LogStore, times: int) -> None:
        self.inner, self.times = inner, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if self.times and path.endswith(".json"):
            self.times -= 1
            self.inner.put_if_absent(path, lines([add(f"theirs-{self.times}")]))
        self.inner.put_if_absent(path, data, durable=durable)


def written_files(made: list[int], *guards: GuardResult) -> Callable[[], Written]:
    """What writes a data file and a change file, each time under new names."""

    def writes() -> Written:
        made.append(len(made))
        change = AddCDCFile(path=f"_change_data/c%20{made[-1]}", size=1)
        return Written((add(f"f%20{made[-1]}"),), (change,), rows=1, guards=guards)

    return writes


def described(store: Any) -> CommitPlan:
    plan = explorer.Table(store).plan(DESCRIBE)
    assert isinstance(plan, CommitPlan)
    return plan


def planned(store: Any, writing: Callable[[], Written] | None = None, *staged: str) -> CommitPlan:
    """A plan to add a file that is written first."""
    bare = Proposal(operation="WRITE", parameters={}, staged=tuple(StagedFile(name, b"x") for name in staged))

    def complete(made: Written) -> Proposal:
        for path in ("f", "_change_data/c"):
            store.put(f"{path} {made.adds[0].path[-1]}", b"rows")
        return msgspec.structs.replace(bare, adds=made.adds, change_files=made.changes)

    if writing is None:
        proposal = msgspec.structs.replace(bare, adds=(add("f"),))
    else:
        proposal = msgspec.structs.replace(bare, writing=Writing(writing, complete))
    plan = described(store)
    return msgspec.structs.replace(plan, proposal=proposal, propose=lambda _: proposal, guards=())


def there(store: LogStore) -> list[str]:
    return sorted(key for key in store.list_tree() if not key.startswith("_delta_log/"))


def small_table() -> LogStore:
    store = new_store()
    write(store, {0: [PROTOCOL, METADATA]})
    return store


def test_each_try_waits_longer_up_to_a_bound_and_files_are_written_once() -> None:
    store: Any = Busy(small_table(), 13)
    waits: list[float] = []
    made: list[int] = []
    plan = planned(store, written_files(made), "s 1")
    table = explorer.Table(store)
    result = commit_plan(table, plan, context(waits), user="ana")
    assert (result.outcome, result.version, made) == ("committed", 14, [0])
    assert waits == pytest.approx([0.01 * min(number, 10) for number in range(13)])
    assert there(store.inner) == ["_change_data/c 0", "f 0", "s 1"]
    found = [json.loads(line) for line in store.inner.read(commit_name(14)).splitlines()]
    assert list(result.plan.actions) == found
    info = found[0]["commitInfo"]
    assert (info["userName"], info["readVersion"], info["timestamp"], info["engineInfo"]) == ("ana", 13, NOW, "tests")
    assert [next(iter(line)) for line in found] == ["commitInfo", "add", "cdc"]


def test_a_commit_that_others_are_always_ahead_of_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "_ATTEMPTS", 4)
    store: Any = Busy(small_table(), 99)
    result = commit_plan(explorer.Table(store), planned(store, written_files([])), context())
    assert (result.outcome, result.version, result.notes) == ("conflicted", None, ())
    assert result.conflict == Conflict(4, "commit", "Other writers committed first 4 times in a row. Try again.")
    assert there(store.inner) == []


def test_a_rule_that_rows_break_as_they_are_written_takes_the_place_of_its_guard() -> None:
    store = small_table()
    rule, kept = GuardResult("rule", "pass", {}), GuardResult("kept", "pass", {})
    broken = GuardResult("rule", "fail", {"detail": "broken"})
    plan = msgspec.structs.replace(planned(store, written_files([], broken)), guards=(rule, kept))
    result = commit_plan(explorer.Table(store), plan, context())
    assert (result.outcome, result.version, result.plan.guards) == ("rejected", None, (kept, broken))
    assert there(store) == []
    assert explorer.Table(store).latest_version() == 0


class Lost:
    """A store that never answers to a commit, and to a deletion only if asked to."""

    def __init__(self, inner: LogStore, *, deletes: bool = True, done: bool = False) -> None:
        self.inner, self.deletes, self.done = inner, deletes, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if path == commit_name(1):
            if self.done:
                self.inner.put_if_absent(path, data)
            raise StorageError("The store is not there.")
        self.inner.put_if_absent(path, data, durable=durable)

    def delete(self, path: str) -> None:
        if not self.deletes:
            raise StorageError("The store is not there.")
        self.inner.delete(path)


def test_files_of_a_commit_of_which_nothing_is_known_stay() -> None:
    inner = small_table()
    store: Any = Lost(inner)
    result = commit_plan(explorer.Table(store), planned(store, written_files([]), "s"), context())
    assert (result.outcome, result.version, result.conflict) == ("unknown", 1, None)
    assert there(inner) == ["_change_data/c 0", "f 0", "s"]


def test_a_commit_whose_answer_was_lost_is_found_with_its_files() -> None:
    inner = small_table()
    store: Any = Lost(inner, done=True)
    result = commit_plan(explorer.Table(store), planned(store, written_files([])), context())
    assert (result.outcome, result.version) == ("committed", 1)
    assert result.notes == ("The store's answer was lost; the log shows that the commit is there.",)
    assert there(inner) == ["_change_data/c 0", "f 0"]


def test_of_two_tries_at_one_plan_the_files_that_the_log_names_stay() -> None:
    store = small_table()
    made: list[int] = []
    late = explorer.Table(store)
    plan = planned(store, written_files(made), "s")
    assert late.latest_version() == 0
    first = commit_plan(explorer.Table(store), plan, context())
    second = commit_plan(late, plan, context())
    assert [(each.outcome, each.version) for each in (first, second)] == [("committed", 1), ("committed", 1)]
    assert made == [0, 1]
    assert there(store) == ["_change_data/c 0", "f 0", "s"]


def test_files_that_cannot_be_taken_away_hide_no_outcome() -> None:
    inner = small_table()
    store: Any = Lost(inner, deletes=False)
    broken = GuardResult("rule", "fail", {})
    result = commit_plan(explorer.Table(store), planned(store, written_files([], broken)), context())
    assert result.outcome == "rejected"
    assert there(inner) == ["_change_data/c 0", "f 0"]


GONE = (
    "Commits that the plan builds on, or later ones, are missing from the log, so it is unknown what they "
    "changed, and whether this plan is among them. Make a new plan."
)


def test_a_plan_for_another_table_at_the_place_is_told_whole() -> None:
    store = small_table()
    write(store, {1: [add("a")]})
    plan = described(store)
    other = msgspec.structs.replace(METADATA, id="another")
    for version in (0, 1):
        store.delete(commit_name(version))
    write(store, {0: [PROTOCOL, other], 1: [add("b")]})
    result = explorer.Table(store).commit(plan)
    why = (
        f"Another table is at {plan.table} now; the plan was made for the one with the id {METADATA.id}. "
        "Look at the new table, and make a new plan."
    )
    assert result == CommitResult(outcome="conflicted", plan=plan, conflict=Conflict(1, "metaData", why))


def test_a_plan_on_commits_that_are_gone_is_told_whole() -> None:
    store = small_table()
    write(store, {1: [add("a")]})
    plan = described(store)
    store.delete(commit_name(1))
    result = explorer.Table(store).commit(plan)
    assert result == CommitResult(outcome="unknown", plan=plan, notes=(GONE,))


# --- what follows a commit --------------------------------------------------------------------------------------------


def every(commits: int, **more: str) -> Metadata:
    return msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": str(commits), **more})


def followed(store: LogStore, version: int, data: bytes) -> tuple[str, ...]:
    before = explorer.Table(store).snapshot(version - 1).state if version else None
    store.put_if_absent(commit_name(version), data)
    return follow_up(store, version, data, before, context())


class Refusing:
    """A store without room for files of these names."""

    def __init__(self, inner: LogStore, *names: str) -> None:
        self.inner, self.names = inner, names

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if any(name in path for name in self.names):
            raise StorageError("No room.")
        self.inner.put_if_absent(path, data, durable=durable)


def test_what_fails_after_a_commit_is_told_in_words() -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, every(1)]})
    refusing: Any = Refusing(store, "crc", "checkpoint")
    assert followed(refusing, 1, lines([add("a")])) == (
        "The checksum of version 1 could not be written: No room.",
        "The checkpoint of version 1 could not be written: No room.",
    )
    broken = followed(small_table(), 1, b'{"add":{}}\n')
    [said] = broken
    assert said.startswith("Neither the checksum nor the checkpoint of version 1 could be written: ")
    assert commit_name(1) in said
    odd = new_store()
    write(odd, {0: [PROTOCOL, msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": "x"})]})
    [said] = followed(odd, 1, lines([add("a")]))
    assert said.startswith("The checkpoint of version 1 could not be written: The table property ")


def has(store: LogStore, key: str) -> bool:
    return key in set(store.list_tree())


@pytest.mark.parametrize(
    ("version", "interval", "written"), [(0, 1_000, True), (100, 1_000, True), (101, 1_000, False), (101, 101, True)]
)
def test_a_long_log_is_replayed_for_a_checksum_when_its_checkpoint_is_due(
    version: int, interval: int, written: bool
) -> None:
    store = new_store()
    first: list[Any] = [PROTOCOL, every(interval), add("a", 3)]
    data = lines(first) if version == 0 else lines([add("last", 4)])
    write(store, {} if version == 0 else {0: first, **{number: [add(f"{number}")] for number in range(1, version)}})
    assert followed(store, version, data) == ()
    assert has(store, checksum_name(version)) is written
    if written:
        found = msgspec.json.decode(store.read(checksum_name(version)))
        assert (found["numFiles"], found["numMetadata"], found["numProtocol"]) == (version + 1, 1, 1)
    assert has(store, LAST_CHECKPOINT) is (version == interval)


@pytest.mark.parametrize("spare", [0, -1])
def test_a_log_is_small_up_to_a_size_of_checkpoint_and_commits(monkeypatch: pytest.MonkeyPatch, spare: int) -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, every(1_000)], 1: [add("a")]})
    checkpoint = new_checkpoint(store, 1, context())
    write(store, {2: [add("b")]})
    data = lines([add("c")])
    sizes = [store.head(name).size for name in (checkpoint.path, commit_name(2))]
    monkeypatch.setattr(post_commit, "_SMALL_LOG", sum(sizes) + len(data) + spare)
    assert followed(store, 3, data) == ()
    assert has(store, checksum_name(3)) is (spare == 0)


def test_a_checksum_goes_on_from_the_one_before_however_large_the_log_is(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    write(store, {0: [PROTOCOL, every(1_000)]})
    assert followed(store, 1, lines([add("a", size=5)])) == ()
    monkeypatch.setattr(post_commit, "_SMALL_LOG", 0)
    assert followed(store, 2, lines([add("b", size=7)])) == ()
    found = msgspec.json.decode(store.read(checksum_name(2)))
    assert (found["numFiles"], found["tableSizeBytes"]) == (2, 12)


def test_a_checkpoint_has_the_name_that_it_is_given_and_the_removals_of_the_last_week() -> None:
    store = new_store()
    rules = protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint")
    hours = {"young": 167, "old": 169}
    gone = [small_logs.remove(name, deletion_timestamp=NOW - age * 3_600_000) for name, age in hours.items()]
    write(store, {0: [rules, every(1_000, **{"delta.checkpointPolicy": "v2"})], 1: gone})
    found = new_checkpoint(store, 1, context())
    assert found.path == f"_delta_log/{1:020d}.checkpoint.{IDENTITY}.parquet"
    rows = pq.read_table(io.BytesIO(store.read(found.path))).column("remove").to_pylist()
    assert [row["path"] for row in rows if row is not None] == ["young"]
    hint = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert (hint, found.version) == (found.hint, 1)
