"""Stores that break the promise of a conditional put, or do not make it: nothing is written there, and it is said why.

Each server is a real one on the loopback. The situations are those of S3 gateways in the field: a condition that is
ignored (for all puts, or only for the second), 501, 405 and 400, an answer that contradicts what was done, and a store
that looks first and writes later.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.log.log_path import LOG_FOLDER, commit_name, compaction_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.table_state import VersionChecksum
from explorer.core.log.writing.checkpoint import write_checkpoint
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout
from explorer.core.log.writing.checksum import write_checksum
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.maintenance.folder_listing import is_leftover
from explorer.core.versions.commit_times import moment
from explorer.new_table import new_table
from explorer.storage import open_store
from explorer.storage.objects import ObjectLogStore
from explorer.system import system_context
from tests.support.at_least_one import at_least_one
from tests.support.attacks.small_s3 import SmallS3, small_s3
from tests.support.logs.small_logs import METADATA, add, lines
from tests.support.logs.small_proposals import protocol

DESCRIBE = {"kind": "set-description", "description": "mine"}
THEIRS = lines([{"commitInfo": {"timestamp": 1, "operation": "OTHER"}}, {"txn": {"appId": "other", "version": 1}}])
RULES = protocol(3, 7, r="v2Checkpoint", w="v2Checkpoint")


@pytest.fixture
def server() -> Iterator[SmallS3]:
    with small_s3() as state:
        state.objects |= {
            f"t/{commit_name(0)}": lines([RULES, METADATA]),
            f"t/{commit_name(1)}": lines([add("a")]),
            f"t/{commit_name(2)}": lines([add("b")]),
        }
        yield state


def ignoring(key: str, condition: str | None, number: int) -> None:
    del key, condition, number


def opened(server: SmallS3) -> explorer.Table:
    return explorer.open_table("s3://bkt/t", storage_options=server.options)


def store_of(server: SmallS3) -> ObjectLogStore:
    store = open_store("s3://bkt/t", server.options)
    assert isinstance(store, ObjectLogStore)
    return store


def names(server: SmallS3) -> set[str]:
    return {key.removeprefix("t/") for key in server.objects}


BEFORE = {commit_name(version) for version in range(3)}


def test_the_commit_of_another_writer_survives_on_a_store_that_ignores_conditions(server: SmallS3) -> None:
    server.answer = ignoring
    table = opened(server)
    plan = table.plan(DESCRIBE)
    server.objects[f"t/{commit_name(3)}"] = THEIRS
    with pytest.raises(StorageError) as refused:
        table.commit(plan)
    assert refused.value.unwritten
    assert "ignores the condition of a put (If-None-Match)" in refused.value.message
    assert "Write to it through an endpoint that supports conditional puts" in refused.value.message
    assert server.objects[f"t/{commit_name(3)}"] == THEIRS
    assert names(server) == BEFORE | {commit_name(3)}


@pytest.mark.parametrize("status", [501, 405, 400])
def test_a_store_without_conditional_puts_refuses_once_and_nothing_is_in_doubt(server: SmallS3, status: int) -> None:
    server.answer = lambda key, condition, number: status if condition else None
    table = opened(server)
    plan = table.plan(DESCRIBE)
    with pytest.raises(StorageError) as refused:
        table.commit(plan)
    assert refused.value.unwritten
    assert f"refuses to create an object only if there is none of that name (it answered {status})" in str(
        refused.value
    )
    assert [each[3] for each in server.requests if each[0] == "PUT"] == [status, 200]
    assert names(server) == BEFORE


@pytest.mark.parametrize("status", [405, 400])
def test_a_plain_no_to_a_later_put_leaves_nothing_in_doubt(server: SmallS3, status: int) -> None:
    table = opened(server)
    store_of(server).check_put_if_absent()
    server.answer = lambda key, condition, number: status if commit_name(3) in key else server.heed(key, condition, 0)
    with pytest.raises(StorageError) as refused:
        table.commit(table.plan(DESCRIBE))
    assert refused.value.unwritten
    assert server.puts(of_commits=True) == 1
    assert names(server) == BEFORE


def test_a_put_that_all_credentials_forbid_is_told_as_such(server: SmallS3) -> None:
    for status, advice in at_least_one({403: "s3:PutObject", 401: "are not valid", 400: "and the credentials"}.items()):
        server.answer = lambda key, condition, number, status=status: status  # type: ignore[misc]
        with pytest.raises(StorageError, match=advice) as refused:
            opened(server).commit(opened(server).plan(DESCRIBE))
        assert refused.value.unwritten
        assert "condition" not in refused.value.message.lower()


def test_a_store_that_says_no_and_overwrites_all_the_same_is_found_out(server: SmallS3) -> None:
    def contradict(key: str, condition: str | None, number: int) -> int | None:
        if condition and key in server.objects:
            server.objects[key] = b"overwritten"
            return 412
        return None

    server.answer = contradict
    with pytest.raises(StorageError, match="overwrote an object although it answered that the name is taken"):
        opened(server).commit(opened(server).plan(DESCRIBE))
    assert names(server) == BEFORE


def test_a_store_that_heeds_one_condition_of_two_is_found_out(server: SmallS3) -> None:
    turns = count()
    server.answer = lambda key, condition, number: (
        412 if condition and key in server.objects and next(turns) % 2 == 0 else None
    )
    with pytest.raises(StorageError, match="ignores the condition"):
        opened(server).commit(opened(server).plan(DESCRIBE))
    assert names(server) == BEFORE


def test_a_passing_conflict_is_tried_again(server: SmallS3) -> None:
    seen = list[str]()

    def once_409(key: str, condition: str | None, number: int) -> int | None:
        if condition and key not in seen and len(seen) < 8:
            seen.append(key)
            return 409
        return server.heed(key, condition, number)

    server.answer = once_409
    table = opened(server)
    result = table.commit(table.plan(DESCRIBE))
    assert (result.outcome, result.version, result.notes) == ("committed", 3, ())
    (written,) = list_log(store_of(server)).segment(3).commits[3:]
    assert written.size == len(server.objects[f"t/{commit_name(3)}"])


def test_a_conflict_that_does_not_pass_is_not_a_name_that_is_taken(server: SmallS3) -> None:
    store = store_of(server)
    store.check_put_if_absent()
    server.answer = lambda key, condition, number: 409
    with pytest.raises(StorageError) as refused:
        store.put_if_absent("a", b"1")
    assert refused.value.unwritten


def test_the_proof_is_made_once_for_a_store_and_leaves_nothing(server: SmallS3) -> None:
    first = opened(server)
    first.commit(first.plan(DESCRIBE))
    tried = [key for method, key, conditional, _ in server.requests if method == "PUT" and is_leftover(key)]
    assert len(tried) == 3
    server.requests.clear()
    second = opened(server)
    second.commit(second.plan({**DESCRIBE, "description": "again"}))
    assert not any(is_leftover(key) for _, key, _, _ in server.requests)
    assert not any(is_leftover(key) for key in server.objects)
    commits = [(method, status) for method, key, _, status in server.requests if key == f"t/{commit_name(4)}"]
    assert commits == [("HEAD", 404), ("PUT", 200), ("GET", 200)]


def test_no_object_of_the_log_is_written_where_conditions_are_ignored(server: SmallS3) -> None:
    server.answer = ignoring
    store = store_of(server)
    context = system_context()
    now, layout = moment(context.clock()), CheckpointLayout("v2", "json", most_inline=0, sidecar_rows=1)
    listing = list_log(store)
    writes: Any = [
        lambda: write_checkpoint(store, listing, 2, now=now, new_uuid=context.new_uuid),
        lambda: write_checkpoint(store, listing, 2, now=now, new_uuid=context.new_uuid, layout=layout),
        lambda: write_compaction(store, listing, 0, 1),
        lambda: write_checksum(
            store, 2, VersionChecksum(table_size_bytes=1, num_files=1, num_metadata=1, num_protocol=1)
        ),
        lambda: explorer.Table(store).commit(explorer.Table(store).plan({"kind": "checkpoint"})),
        lambda: explorer.Table(store).commit(explorer.Table(store).plan({"kind": "compact-log", "from": 0, "to": 1})),
    ]
    for write in at_least_one(writes):
        with pytest.raises(StorageError, match="does not keep two writers apart"):
            write()
        assert names(server) == BEFORE


def test_a_new_table_is_not_created_where_conditions_are_ignored(server: SmallS3) -> None:
    server.answer = ignoring
    place = new_table("s3://bkt/new", storage_options=server.options)
    plan = place.plan({"kind": "create-table", "schema": json.loads(METADATA.schema_string)})
    with pytest.raises(StorageError, match="does not keep two writers apart"):
        place.commit(plan)
    assert names(server) == BEFORE


def racing(server: SmallS3, when: str) -> None:
    """The store looks first and writes later: another writer's commit lands just before or after ours."""

    def rival(key: str) -> None:
        if key == f"t/{commit_name(3)}":
            server.objects[key] = THEIRS
            server.after_put = None

    store_of(server).check_put_if_absent()
    if when == "after":
        server.after_put = rival


def test_a_commit_that_another_writer_overwrote_is_not_said_to_be_made(server: SmallS3) -> None:
    racing(server, "after")
    table = opened(server)
    result = table.commit(table.plan(DESCRIBE))
    assert (result.outcome, result.version) == ("committed", 4)
    assert server.objects[f"t/{commit_name(3)}"] == THEIRS
    # The store is no longer trusted: it is proved again before the next write.
    assert len({key for method, key, _, _ in server.requests if method == "PUT" and is_leftover(key)}) == 2


def test_a_checkpoint_that_another_writer_overwrote_is_told(server: SmallS3) -> None:
    store = store_of(server)
    store.check_put_if_absent()

    def rival(key: str) -> None:
        server.objects[key] = b"theirs"

    server.after_put = rival
    with pytest.raises(StorageError, match="does not contain what was just written there") as told:
        store.put_if_absent(compaction_name(0, 1), b"ours")
    assert not told.value.unwritten


def test_a_large_object_is_compared_by_its_tag(server: SmallS3) -> None:
    store = store_of(server)
    data = b"x" * (1 << 20) + b"y"
    store.put_if_absent("large", data)
    assert [method for method, key, _, _ in server.requests if key == "t/large"] == ["HEAD", "PUT", "HEAD"]
    assert server.objects["t/large"] == data


def test_a_name_that_was_taken_meanwhile_is_not_tried(server: SmallS3) -> None:
    store = store_of(server)
    store.check_put_if_absent()
    server.requests.clear()
    with pytest.raises(FileExistsError):
        store.put_if_absent(commit_name(1), b"{}")
    assert [method for method, _, _, _ in server.requests] == ["HEAD"]


def test_of_many_writers_at_once_none_writes_where_conditions_are_ignored(server: SmallS3) -> None:
    server.answer = ignoring
    tables = [opened(server) for _ in range(8)]
    plans = [table.plan({**DESCRIBE, "description": str(number)}) for number, table in enumerate(tables)]
    with ThreadPoolExecutor(8) as pool:
        told = [pool.submit(table.commit, plan) for table, plan in zip(tables, plans, strict=True)]
    assert all(isinstance(each.exception(), StorageError) for each in told)
    assert names(server) == BEFORE


def test_of_many_writers_at_once_each_commits_once_where_conditions_are_heeded(server: SmallS3) -> None:
    tables = [opened(server) for _ in range(6)]
    plans = [
        table.plan({"kind": "set-transaction", "appId": str(number), "version": 1})
        for number, table in enumerate(tables)
    ]
    with ThreadPoolExecutor(6) as pool:
        told = [pool.submit(table.commit, plan) for table, plan in zip(tables, plans, strict=True)]
    assert sorted(each.result().version or 0 for each in told) == list(range(3, 9))
    assert opened(server).snapshot().transactions == {str(number): 1 for number in range(6)}


def test_throw_away_objects_are_temporary_files_that_no_reader_takes_for_the_log(server: SmallS3) -> None:
    server.objects[f"t/{LOG_FOLDER}/.put-if-absent.0123456789abcdef.tmp"] = b""
    assert explorer.Table(store_of(server)).latest_version() == 2
    [problem] = explorer.Table(store_of(server)).verify().problems
    assert (problem.kind, problem.detail) == ("orphan-file", "a temporary file that its writer left behind")
