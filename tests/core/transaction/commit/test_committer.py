"""One plan from the first try to its outcome: alone, after others, twice, and where it may not be."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

import explorer
from explorer.core.errors import MalformedAction, NotAllowed, RequestError, StorageError, VersionGap
from explorer.core.log.log_path import checksum_name, commit_name
from explorer.core.protocol.actions import CommitInfo, Metadata, Protocol
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS
from explorer.core.transaction.commit.committer import commit_plan
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult
from explorer.core.transaction.context import Context
from explorer.core.transaction.proposal import Proposal, StagedFile
from explorer.storage import open_store
from tests.support.attacks.faulty_store import Fault, FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines, new_store, remove, write

DOMAINS = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("domainMetadata",))
TIMES = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))
FUTURE = 4_102_444_800_000  # the year 2100
DESCRIBE = {"kind": "set-description", "description": "Orders of the shop"}


def new_table(protocol: Protocol = DOMAINS, metadata: Metadata = METADATA) -> LogStore:
    store = new_store()
    write(store, {0: (protocol, metadata), 1: (add("a"),)})
    return store


def batch(application: str, version: int = 1) -> dict[str, Any]:
    return {"kind": "set-transaction", "appId": application, "version": version}


def actions(store: LogStore, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in store.read(commit_name(version)).splitlines()]


def commit(store: LogStore, intent: dict[str, Any]) -> int:
    table = explorer.Table(store)
    result = table.commit(table.plan(intent))
    assert result.outcome == "committed"
    assert result.version is not None
    return result.version


@pytest.mark.conformance("LOG-001", "LOG-002", "LOG-007", "WRITER-005")
def test_a_commit_is_one_file_of_the_next_version_with_its_provenance_first() -> None:
    store = new_table()
    table = explorer.Table(store)
    result = table.commit(table.plan(DESCRIBE), reason="Why \u2028\n", user="Ada")
    assert (result.outcome, result.version, table.latest_version()) == ("committed", 2, 2)
    names = [found.path for found in store.list_from("_delta_log") if found.path.endswith(".json")]
    assert names == [f"_delta_log/{version:020d}.json" for version in range(3)]
    first, second = actions(store, 2)
    info = first["commitInfo"]
    assert {"timestamp", "operation", "operationParameters", "isBlindAppend", "engineInfo", "txnId"} <= info.keys()
    assert (info["readVersion"], info["userName"], info["userMetadata"]) == (1, "Ada", "Why \u2028\n")
    assert info["txnId"] == result.plan.txn_id
    assert second["metaData"]["description"] == "Orders of the shop"
    assert list(result.plan.actions) == [first, second]


def test_the_name_of_a_plan_is_kept_where_the_commit_gives_none() -> None:
    store = new_table()
    table = explorer.Table(store)
    table.commit(table.plan(DESCRIBE, user="Ada"))
    assert actions(store, 2)[0]["commitInfo"]["userName"] == "Ada"


@pytest.mark.conformance("LOG-005", "LOG-023", "WRITER-006")
def test_a_plan_is_made_anew_on_top_of_commits_that_do_not_stand_against_it() -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan(batch("one"))
    commit(store, batch("two"))
    before = store.read(commit_name(2))
    result = table.commit(plan)
    assert (result.outcome, result.version, result.plan.read_version) == ("committed", 3, 2)
    assert actions(store, 3)[0]["commitInfo"]["readVersion"] == 2
    assert store.read(commit_name(2)) == before
    assert table.snapshot().transactions == {"one": 1, "two": 1}


@pytest.mark.conformance("ROWTRACK-002", "ICT-002")
def test_row_ids_and_times_are_given_anew_on_top_of_commits_that_came_first() -> None:
    on = {"delta.enableInCommitTimestamps": "true"}
    store = new_store()
    first = CommitInfo(in_commit_timestamp=1_000, operation="CREATE TABLE")
    write(
        store,
        {
            0: (
                first,
                TIMES,
                msgspec.structs.replace(METADATA, configuration=on),
                add("a", records=7),
                add("b", records=5),
            )
        },
    )
    table = explorer.Table(store)
    plan = table.plan({"kind": "enable-feature", "feature": "rowTracking"})
    assert {line["add"]["path"] for line in plan.actions if "add" in line} == {"a", "b"}
    winner = CommitInfo(in_commit_timestamp=FUTURE, operation="WRITE")
    write(store, {1: (winner, add("c", records=4))})
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("committed", 2)
    lines = actions(store, 2)
    added = [line["add"] for line in lines if "add" in line]
    sizes = {"a": 7, "b": 5, "c": 4}
    ids = [number for file in added for number in range(file["baseRowId"], file["baseRowId"] + sizes[file["path"]])]
    assert sorted(ids) == list(range(16))
    assert {file["defaultRowCommitVersion"] for file in added} == {2}
    (mark,) = [json.loads(line["domainMetadata"]["configuration"]) for line in lines if "domainMetadata" in line]
    assert mark["rowIdHighWaterMark"] == 15
    assert lines[0]["commitInfo"]["inCommitTimestamp"] == FUTURE + 1


@pytest.mark.conformance("TXN-007", "LOG-023")
def test_a_commit_that_stands_against_a_plan_is_named() -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan(batch("one", 2))
    commit(store, batch("two"))
    commit(store, batch("one", 7))
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("conflicted", None)
    assert result.conflict is not None
    assert (result.conflict.version, result.conflict.action) == (3, "txn")
    assert "'one'" in result.conflict.why
    assert table.latest_version() == 3


def test_guards_are_judged_again_on_what_others_left() -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan({"kind": "set-domain", "domain": "shop", "configuration": "{}"})
    assert plan.committable
    unknown = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("domainMetadata", "zeta"))
    write(store, {2: (unknown,)})
    result = table.commit(plan)
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["protocol-allows-writer"]
    assert table.latest_version() == 2


def test_a_guard_that_fails_keeps_everything_from_being_written() -> None:
    store = new_table(PROTOCOL)
    table = explorer.Table(store)
    result = table.commit(table.plan({"kind": "set-domain", "domain": "shop", "configuration": "{}"}))
    assert (result.outcome, result.version) == ("rejected", None)
    assert explorer.Table(store).latest_version() == 1


@pytest.mark.parametrize("others", [0, 1, 30])
def test_a_plan_is_committed_once_however_often_and_late_it_is_committed(others: int) -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan(batch("one"))
    commit(store, batch("before"))
    first = table.commit(plan)
    assert first.version == 3
    for number in range(others):
        commit(store, batch("one", number + 2))
    for again in (table, explorer.Table(store)):
        result = again.commit(plan)
        assert (result.outcome, result.version) == ("committed", 3)
    assert explorer.Table(store).latest_version() == 3 + others


def test_a_plan_whose_successors_are_gone_from_the_log_is_told_as_unknown() -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan(batch("one"))
    for number in range(4):
        commit(store, batch("other", number + 1))
    store.delete(commit_name(1))
    store.delete(commit_name(2))
    write(store, {9: (add("z"),)})  # the newest version that is listed; what was before cannot be told
    result = explorer.Table(store).commit(plan)
    assert (result.outcome, result.version) == ("unknown", None)
    assert "missing from the log" in result.notes[0]
    assert [found.path for found in store.list_from("_delta_log", "00000000000000000010")] == []


def test_a_table_opened_for_reading_is_not_changed_whatever_is_asked() -> None:
    store = new_table()
    table = explorer.Table(store, read_only=True)
    plan = table.plan(DESCRIBE)
    with pytest.raises(NotAllowed, match="opened read-only"):
        table.commit(plan)
    assert explorer.Table(store).latest_version() == 1


def test_a_plan_belongs_to_its_table() -> None:
    plan = explorer.Table(new_table()).plan(DESCRIBE)
    with pytest.raises(RequestError, match="Make a plan for this table"):
        explorer.Table(new_table()).commit(plan)


@pytest.mark.conformance("ICT-001", "ICT-002")
def test_in_commit_timestamps_rise_above_a_clock_that_was_ahead() -> None:
    enabled = msgspec.structs.replace(METADATA, configuration={"delta.enableInCommitTimestamps": "true"})
    store = new_store()
    ahead = b'{"commitInfo":{"inCommitTimestamp":%d}}' % FUTURE
    write(store, {0: (ahead, TIMES, enabled)})
    for number in range(3):
        commit(store, batch("one", number + 1))
    found = [actions(store, version)[0]["commitInfo"]["inCommitTimestamp"] for version in (1, 2, 3)]
    assert found == [FUTURE + 1, FUTURE + 2, FUTURE + 3]


@pytest.mark.conformance("ICT-002")
@pytest.mark.parametrize("told_by", ["checksum", "enablement"])
def test_in_commit_timestamps_rise_above_those_of_a_commit_that_is_gone(told_by: str) -> None:
    """Only the checkpoint of the version before is left of it, written by a clock that was ahead."""
    since = {"delta.inCommitTimestampEnablementVersion": "1", "delta.inCommitTimestampEnablementTimestamp": str(FUTURE)}
    configuration = {"delta.enableInCommitTimestamps": "true"} | (since if told_by == "enablement" else {})
    enabled = msgspec.structs.replace(METADATA, configuration=configuration)
    store = new_store()
    ahead = b'{"commitInfo":{"inCommitTimestamp":%d}}' % FUTURE
    write(store, {0: (ahead, TIMES, enabled)})
    commit(store, batch("one"))
    table = explorer.Table(store)
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    for version in (0, 1):
        store.delete(commit_name(version))
    if told_by != "checksum":
        store.delete(checksum_name(1))
    assert commit(store, batch("one", 2)) == 2
    assert actions(store, 2)[0]["commitInfo"]["inCommitTimestamp"] == FUTURE + (2 if told_by == "checksum" else 1)


@pytest.mark.conformance("LOG-025")
def test_times_rise_on_a_table_without_in_commit_timestamps_too(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    write(store, {0: (PROTOCOL, METADATA)})
    os.utime(tmp_path / "table" / commit_name(0), (FUTURE / 1000, FUTURE / 1000))
    for number in range(3):
        commit(store, batch("one", number + 1))
    times = explorer.Table(store).history().column("timestamp").cast("int64").to_pylist()
    assert times == [FUTURE + 3, FUTURE + 2, FUTURE + 1, FUTURE]


def _staging(plan: CommitPlan, path: str, proposal: Proposal) -> CommitPlan:
    """The plan with a file that has to be written before."""
    staged = msgspec.structs.replace(proposal, staged=(StagedFile(path, b"rows"),))
    return msgspec.structs.replace(plan, proposal=staged, propose=lambda _: staged)


def test_files_are_written_first_and_taken_away_again_where_the_commit_does_not_come_to_be() -> None:
    store = new_table()
    table = explorer.Table(store)
    base = table.plan(DESCRIBE)
    takes = Proposal(operation="DELETE", parameters={}, removes=(remove("a"),), reads_files=True)
    gives = Proposal(operation="WRITE", parameters={}, adds=(add("new"),))
    lost = _staging(base, "lost.parquet", takes)
    kept = _staging(msgspec.structs.replace(base, txn_id="another"), "new.parquet", gives)
    other = explorer.Table(store)
    assert other.commit(kept).outcome == "committed"
    assert other.commit(kept).outcome == "committed"
    assert table.commit(lost).outcome == "conflicted"  # it still held version 2 to be free, and wrote its file first
    assert [key for key in store.list_tree() if key.endswith(".parquet")] == ["new.parquet"]


@pytest.mark.conformance("ICT-002", "ICT-003")
def test_timestamps_begin_after_the_time_of_the_file_before_them(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    write(store, {0: (PROTOCOL, METADATA)})
    os.utime(tmp_path / "table" / commit_name(0), (FUTURE / 1000, FUTURE / 1000))
    commit(store, {"kind": "set-properties", "properties": {IN_COMMIT_TIMESTAMPS.key: "true"}})
    written = {kind: action for line in actions(store, 1) for kind, action in line.items()}
    assert written["commitInfo"]["inCommitTimestamp"] == FUTURE + 1
    since = {key: text for key, text in written["metaData"]["configuration"].items() if "EnablementT" in key}
    assert since == {"delta.inCommitTimestampEnablementTimestamp": str(FUTURE + 1)}
    times = explorer.Table(store).history().column("timestamp").cast("int64").to_pylist()
    assert times == [FUTURE + 1, FUTURE]


@pytest.mark.conformance("ICT-003")
def test_a_restore_does_not_say_that_timestamps_were_there_while_they_were_off() -> None:
    store = new_table(PROTOCOL)
    properties = ({IN_COMMIT_TIMESTAMPS.key: value} for value in ("true", "false"))
    on, off = ({"kind": "set-properties", "properties": each} for each in properties)
    for intent in (on, off, batch("one"), on, DESCRIBE, {"kind": "restore", "version": 2}):
        commit(store, intent)
    table = explorer.Table(store)
    since = table.snapshot().properties["delta.inCommitTimestampEnablementVersion"]
    assert (since, table.latest_version()) == ("5", 7)
    timed = [version for version in range(8) if "inCommitTimestamp" in actions(store, version)[0].get("commitInfo", {})]
    assert timed == [2, 5, 6, 7]
    # From a version without them they begin anew.
    for intent in (off, {"kind": "restore", "version": 2}):
        commit(store, intent)
    assert explorer.Table(store).snapshot().properties["delta.inCommitTimestampEnablementVersion"] == "9"


@pytest.mark.parametrize("odd", ["\ud800", "a\udfffb", b"bytes", 5])
@pytest.mark.parametrize("field", ["reason", "user"])
def test_a_reason_or_a_name_that_no_log_can_hold_is_refused(odd: Any, field: str) -> None:
    store = new_table()
    table = explorer.Table(store)
    plan = table.plan(DESCRIBE)
    with pytest.raises(RequestError) as caught:
        table.commit(plan, **{field: odd})
    assert caught.value.field == field
    with pytest.raises(RequestError):
        table.plan(DESCRIBE, user=odd)
    assert table.latest_version() == 1


def test_a_reason_and_a_name_are_kept_letter_by_letter() -> None:
    store = new_table()
    table = explorer.Table(store)
    odd = "'; DROP TABLE x --\n`\x00\u2028<script>../../etc " + "x" * 100_000
    assert table.commit(table.plan(DESCRIBE), reason=odd, user=odd).outcome == "committed"
    info = actions(store, 2)[0]["commitInfo"]
    assert (info["userMetadata"], info["userName"]) == (odd, odd)
    newest = explorer.Table(store).history(limit=1)
    assert newest.column("reason").to_pylist() == newest.column("user_name").to_pylist() == [odd]


@pytest.mark.parametrize("lost", ["fails", "answer lost", "done late"])
def test_files_are_taken_away_again_where_writing_the_next_one_fails(lost: Fault) -> None:
    store = new_table()
    base = explorer.Table(store).plan(DESCRIBE)
    files = tuple(StagedFile(f"{name}.parquet", b"rows") for name in "abc")
    proposal = Proposal(operation="WRITE", parameters={}, adds=(add("a"),), staged=files)
    plan = msgspec.structs.replace(base, proposal=proposal, propose=lambda _: proposal)
    for name in "abc":
        faulty = FaultyStore(store)
        table = explorer.Table(faulty)
        faulty.faults = {_request_of(faulty, plan, f"create {name}.parquet"): lost}
        faulty.requests.clear()
        with pytest.raises(StorageError):
            explorer.Table(faulty).commit(plan)
        assert table.latest_version() == 1
        assert [key for key in store.list_tree() if key.endswith(".parquet")] == []


@pytest.mark.parametrize(
    ("lost", "notes"),
    [
        ("answer lost", ("The store's answer was lost; the log shows that the commit is there.",)),
        ("fails", ()),
        ("done late", ("The store's answer was lost; the log shows that the commit is there.",)),
    ],
)
def test_where_the_answer_to_a_commit_is_lost_the_log_says_whose_it_is(lost: Fault, notes: tuple[str, ...]) -> None:
    store = new_table()
    plan = explorer.Table(store).plan(DESCRIBE)
    faulty = FaultyStore(store)
    faulty.faults = {_request_of(faulty, plan, f"create {commit_name(2)}"): lost}
    faulty.requests.clear()
    result = explorer.Table(faulty).commit(plan)
    assert (result.outcome, result.version, result.notes) == ("committed", 2, notes)
    assert [line["commitInfo"]["txnId"] for line in actions(store, 2) if "commitInfo" in line] == [plan.txn_id]


def _request_of(faulty: FaultyStore, plan: CommitPlan, request: str) -> int:
    """The number of a request in an undisturbed commit, which is made on a copy."""
    copy = new_store()
    for key in faulty.inner.list_tree():
        copy.put_if_absent(key, faulty.inner.read(key))
    watched = FaultyStore(copy)
    proposal = msgspec.structs.replace(plan, table=watched.root)
    assert explorer.Table(watched).commit(proposal).outcome == "committed"
    return watched.requests.index(request)


@pytest.mark.conformance("WRITER-004")
def test_a_plan_to_restore_expires_when_a_file_it_needs_is_gone() -> None:
    store = new_table()
    store.put_if_absent("a", b"rows")
    write(store, {2: (remove("a"),)})
    table = explorer.Table(store)
    plan = table.plan({"kind": "restore", "version": 1})
    assert plan.committable
    store.delete("a")  # as a VACUUM does that writes no commit
    result = table.commit(plan)
    assert result.outcome == "rejected"
    assert [guard.name for guard in result.plan.blocking] == ["files-exist"]
    assert table.latest_version() == 2


@pytest.mark.parametrize("versions", [1, 2, 4])
@pytest.mark.parametrize("told", [False, True])
def test_a_plan_is_not_committed_to_another_table_at_the_same_place(tmp_path: Path, versions: int, told: bool) -> None:
    store = open_store(tmp_path / "orders")
    write(store, {0: (DOMAINS, METADATA), 1: (add("a"),)})
    table = explorer.open_table(tmp_path / "orders")
    plan = table.plan({"kind": "set-domain", "domain": "shop", "configuration": "{}"})
    shutil.rmtree(tmp_path / "orders")
    other = msgspec.structs.replace(METADATA, id="another", description="Another table altogether")
    write(store, {0: (DOMAINS, other)})
    write(store, {version: (add("bcd"[version - 1]),) for version in range(1, versions)})
    before = _names(tmp_path)
    if told:
        table.refresh()
    result = table.commit(plan)
    assert result.outcome == "conflicted"
    assert result.conflict is not None
    assert "another table" in result.conflict.why.lower()
    assert _names(tmp_path) == before


def test_a_plan_whose_own_version_is_gone_from_the_log_is_told_as_unknown(tmp_path: Path) -> None:
    store = open_store(tmp_path / "orders")
    write(store, {0: (DOMAINS, METADATA), 1: (add("a"),), 2: (add("b"),)})
    table = explorer.open_table(tmp_path / "orders")
    plan = table.plan(batch("one"))
    for version in (1, 2):
        store.delete(commit_name(version))
    result = table.commit(plan)
    assert (result.outcome, result.version) == ("unknown", None)
    assert "missing from the log" in result.notes[0]
    assert _names(tmp_path) == [commit_name(0).partition("/")[2], "_delta_log"]


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "orders").rglob("*"))


def test_a_plan_goes_on_top_of_others_though_the_log_has_lost_the_version_it_read() -> None:
    store = new_table()
    plan = explorer.Table(store).plan(batch("one"))
    commit(store, batch("two"))
    table = explorer.Table(store)
    assert table.commit(table.plan({"kind": "checkpoint"})).outcome == "committed"
    for version in (0, 1):
        store.delete(commit_name(version))
    result = explorer.Table(store).commit(plan)
    assert (result.outcome, result.version) == ("committed", 3)


class Scripted:
    """A store that answers each request to create the next commit by a script, and then as it is."""

    def __init__(self, inner: LogStore, *script: Exception | None) -> None:
        self.inner, self.script, self.asked = inner, [*script], 0
        self.after: Exception | None = None
        self.theirs = lines([add("theirs")])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        if path == commit_name(2):
            self.asked += 1
            if self.script and (error := self.script.pop(0)) is not None:
                if isinstance(error, FileExistsError):
                    self.inner.put_if_absent(path, self.theirs)
                raise error
        self.inner.put_if_absent(path, data, durable=durable)

    def list_from(self, folder: str, start: str = "") -> Any:
        if self.asked and self.after is not None:
            raise self.after
        return self.inner.list_from(folder, start)


def _error(*, unwritten: bool | None = None) -> StorageError:
    return StorageError("The store is not there.", unwritten=unwritten)


def _scripted(*script: Exception | None) -> tuple[Scripted, CommitPlan, Context, list[float]]:
    """A store, a plan with a file that is written first, and a context whose waits are kept."""
    store = Scripted(new_table(), *script)
    proposal = Proposal(operation="WRITE", parameters={}, adds=(add("s.parquet"),))
    plan = _staging(explorer.Table(store.inner).plan(DESCRIBE), "s.parquet", proposal)
    waits: list[float] = []
    context = Context(lambda: 1_700_000_000_000, uuid4, waits.append, lambda: 0.5, "tests")
    return store, plan, context, waits


def _tried(store: Scripted, plan: CommitPlan, context: Context) -> CommitResult:
    return commit_plan(explorer.Table(store), plan, context)  # type: ignore[arg-type]  # the rest is the store's


def _staged(store: Scripted) -> list[str]:
    return [key for key in store.inner.list_tree() if key.endswith(".parquet")]


def test_a_store_that_says_that_it_wrote_nothing_is_taken_at_its_word() -> None:
    store, plan, context, waits = _scripted(_error(unwritten=True))
    with pytest.raises(StorageError, match="not there"):
        _tried(store, plan, context)
    assert (store.asked, waits, _staged(store)) == (1, [], [])


def test_a_request_that_may_have_been_done_is_sent_again_with_longer_waits() -> None:
    store, plan, context, waits = _scripted(_error(), _error(), None)
    result = _tried(store, plan, context)
    assert (result.outcome, result.version, store.asked) == ("committed", 2, 3)
    assert waits == [0.02, 0.04]
    assert _staged(store) == ["s.parquet"]


@pytest.mark.parametrize("unwritten", [None, True])
def test_a_request_of_which_nothing_is_known_leaves_what_it_may_need(unwritten: bool | None) -> None:
    store, plan, context, waits = _scripted(_error(), _error(unwritten=unwritten), _error(unwritten=unwritten))
    result = _tried(store, plan, context)
    assert (result.outcome, result.version, store.asked) == ("unknown", 2, 3)
    assert (waits, _staged(store)) == ([0.02, 0.04], ["s.parquet"])


def test_a_commit_that_broke_off_while_it_was_sent_leaves_what_it_may_need() -> None:
    store, plan, context, _ = _scripted(VersionGap("Something else broke.", version=2))
    with pytest.raises(VersionGap):
        _tried(store, plan, context)
    assert _staged(store) == ["s.parquet"]


def test_a_commit_that_others_were_ahead_of_leaves_nothing_where_the_next_try_breaks_off() -> None:
    store, plan, context, _ = _scripted(FileExistsError())
    store.after = _error()
    with pytest.raises(StorageError):
        _tried(store, plan, context)
    assert (store.asked, _staged(store)) == (1, [])


def test_a_commit_of_others_that_is_found_broken_names_its_version() -> None:
    store, plan, context, _ = _scripted(FileExistsError())
    store.theirs = b'{"add":{}}\n'
    with pytest.raises(MalformedAction, match=r"version 2\b"):
        _tried(store, plan, context)
