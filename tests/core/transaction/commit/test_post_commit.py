"""What follows a commit: checksums that replay confirms, checkpoints when they are due, and failures that are told."""

from __future__ import annotations

import msgspec
import pytest

import explorer
from explorer.core.errors import StorageError
from explorer.core.log.last_checkpoint import parse_last_checkpoint
from explorer.core.log.log_path import LAST_CHECKPOINT, checkpoint_name, checksum_name, commit_name
from explorer.core.protocol.actions import Metadata
from explorer.core.protocol.log_store import LogStore
from tests.support.attacks.faulty_store import FaultyStore
from tests.support.logs.small_logs import METADATA, PROTOCOL, add, new_store, write


def every(commits: int) -> Metadata:
    return msgspec.structs.replace(METADATA, configuration={"delta.checkpointInterval": str(commits)})


def commit(store: LogStore, number: int) -> explorer.Table:
    table = explorer.Table(store)
    result = table.commit(table.plan({"kind": "set-transaction", "appId": "loader", "version": number}))
    assert (result.outcome, result.notes) == ("committed", ())
    return table


def there(store: LogStore, key: str) -> bool:
    try:
        store.head(key)
    except FileNotFoundError:
        return False
    return True


@pytest.mark.conformance("CRC-001", "CRC-002", "CRC-004")
def test_every_commit_leaves_a_checksum_that_replay_confirms() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b", records=7),)})
    for number in range(1, 5):
        commit(store, number)
    assert [there(store, checksum_name(version)) for version in range(6)] == [False, False, True, True, True, True]
    assert explorer.Table(store).verify().problems == ()
    found = msgspec.json.decode(store.read(checksum_name(5)))
    assert (found["numFiles"], found["tableSizeBytes"], found["setTransactions"][0]["version"]) == (2, 200, 4)


@pytest.mark.conformance("CRC-001")
def test_a_checksum_that_is_there_is_left_as_it_is() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)})

    class WithOthers(FaultyStore):
        """Another client writes the checksum of a version as soon as its commit is there."""

        def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
            super().put_if_absent(path, data, durable=durable)
            if path == commit_name(1):
                store.put_if_absent(checksum_name(1), b"{}")

    commit(WithOthers(store), 1)
    assert store.read(checksum_name(1)) == b"{}"


@pytest.mark.conformance("CRC-001")
@pytest.mark.parametrize("lost", [False, True])
def test_a_checksum_is_written_after_its_commit_or_not_at_all(lost: bool) -> None:
    inner = new_store()
    write(inner, {0: (PROTOCOL, METADATA)})
    written: list[str] = []

    class Watched(FaultyStore):
        def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
            if lost and path == commit_name(1):
                raise StorageError("The disk is full.", unwritten=True) from OSError("full")
            super().put_if_absent(path, data, durable=durable)
            written.append(path)

    table = explorer.Table(Watched(inner))
    plan = table.plan({"kind": "set-transaction", "appId": "loader", "version": 1})
    if lost:
        with pytest.raises(StorageError):
            table.commit(plan)
        assert written == []
        assert not there(inner, checksum_name(1))
    else:
        assert table.commit(plan).outcome == "committed"
        assert written == [commit_name(1), checksum_name(1)]
        assert inner.read(checksum_name(1)).count(b"\n") == 0
        assert isinstance(msgspec.json.decode(inner.read(checksum_name(1))), dict)


def test_a_checksum_that_cannot_be_gone_by_is_made_good_by_replay() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA, add("a")), 1: (add("b"),)})
    store.put_if_absent(checksum_name(1), b"not a checksum")
    commit(store, 1)
    assert msgspec.json.decode(store.read(checksum_name(2)))["numFiles"] == 2


def test_a_log_that_is_large_is_not_replayed_for_a_checksum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.core.transaction.commit.post_commit._SMALL_LOG", 100)
    store = new_store()
    write(store, {0: (PROTOCOL, METADATA)})
    commit(store, 1)
    assert not there(store, checksum_name(1))


@pytest.mark.conformance("CKPT-012")
def test_a_checkpoint_follows_when_it_is_due() -> None:
    store = new_store()
    write(store, {0: (PROTOCOL, every(3), add("a"))})
    for number in range(1, 8):
        commit(store, number)
    assert [version for version in range(9) if there(store, checkpoint_name(version))] == [3, 6]
    hint = parse_last_checkpoint(store.read(LAST_CHECKPOINT))
    assert hint is not None
    assert hint.version == 6
    assert explorer.Table(store).verify().problems == ()


@pytest.mark.parametrize("what", ["checkpoint", "crc", "_last_checkpoint"])
def test_what_fails_after_a_commit_is_told_and_the_commit_stands(what: str) -> None:
    inner = new_store()
    write(inner, {0: (PROTOCOL, every(1), add("a"))})

    class Refusing(FaultyStore):
        def _refuse(self, path: str) -> None:
            if what in path:
                raise StorageError(f"No room for {path}.") from OSError("full")

        def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
            self._refuse(path)
            super().put_if_absent(path, data, durable=durable)

        def put(self, path: str, data: bytes) -> None:
            self._refuse(path)
            super().put(path, data)

    table = explorer.Table(Refusing(inner))
    result = table.commit(table.plan({"kind": "set-transaction", "appId": "loader", "version": 1}))
    assert (result.outcome, result.version) == ("committed", 1)
    assert len(result.notes) == 1
    assert "No room for" in result.notes[0]
    assert explorer.Table(inner).snapshot().transactions == {"loader": 1}
