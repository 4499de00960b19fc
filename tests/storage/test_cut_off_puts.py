"""Stores that answer that they took an object, and keep nothing of it, a part of it, or forget it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.log.log_path import commit_name
from explorer.storage import exclusive_creation
from tests.support.attacks.small_s3 import SmallS3, small_s3
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, lines

DESCRIBE = {"kind": "set-description", "description": "mine"}
NEXT = f"t/{commit_name(1)}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallS3]:
    monkeypatch.setattr(exclusive_creation, "_PROVED", set())
    with small_s3() as state:
        state.objects[f"t/{commit_name(0)}"] = lines([PROTOCOL, METADATA, add("a")])
        yield state


def _opened(server: SmallS3) -> explorer.Table:
    return explorer.open_table("s3://bkt/t", storage_options=server.options)


def _keep(server: SmallS3, kept: bytes | None, only: str = "") -> None:
    """Let the server heed conditions, and keep other bytes than it was sent under names that hold a text."""

    def answer(key: str, condition: str | None, number: int) -> int | None:
        refused = server.heed(key, condition, number)
        if refused is not None or not condition or only not in key:
            return refused
        if kept is not None:
            server.objects[key] = kept
        return 200

    server.answer = answer


@pytest.mark.parametrize("kept", [b"", b"{"])
def test_a_store_that_drops_what_it_takes_is_found_out_before_a_commit(server: SmallS3, kept: bytes) -> None:
    table = _opened(server)
    plan = table.plan(DESCRIBE)
    _keep(server, kept)
    with pytest.raises(StorageError, match="did not keep the content of an object that it created") as refused:
        table.commit(plan)
    assert refused.value.unwritten
    assert NEXT not in server.objects


@pytest.mark.parametrize("kept", [b"", b'{"commitInfo":{"'])
def test_a_commit_of_which_a_part_is_kept_is_not_said_to_be_made(server: SmallS3, kept: bytes) -> None:
    table = _opened(server)
    plan = table.plan(DESCRIBE)
    _keep(server, kept, commit_name(1))
    with pytest.raises(StorageError, match=f"holds only the first {len(kept)} of the .* the store cut the commit off"):
        table.commit(plan)
    assert commit_name(2) not in "".join(server.objects)


def test_a_commit_that_the_store_forgot_is_in_doubt(server: SmallS3) -> None:
    table = _opened(server)
    plan = table.plan(DESCRIBE)
    _keep(server, None, commit_name(1))
    assert table.commit(plan).outcome == "unknown"
    assert NEXT not in server.objects


def test_a_name_that_is_taken_may_be_answered_by_another_status(server: SmallS3) -> None:
    server.answer = lambda key, condition, number: 304 if server.heed(key, condition, number) else None
    table = _opened(server)
    assert table.commit(table.plan(DESCRIBE)).version == 1
