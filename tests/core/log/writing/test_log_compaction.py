"""Log compactions of our own: what they hold, and that they stand for their commits."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import explorer
from explorer.core.errors import RequestError, UnsupportedFeature, VersionNotFound
from explorer.core.log.log_path import LogFileKind, LogPath, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.writing.compaction import compacted, write_compaction
from explorer.core.protocol.actions import Action, CommitInfo, DomainMetadata, TransactionAction
from explorer.core.protocol.log_store import LogStore
from explorer.storage import open_store
from tests.support.logs.small_logs import MASKED, METADATA, PROTOCOL, add, new_store, paths, remove, vector, write
from tests.support.shared_tables import reference_root


def _log(*commits: Iterable[Action | bytes]) -> LogStore:
    store = new_store()
    write(store, dict(enumerate(commits)))
    return store


def _held(store: LogStore, first: int, last: int) -> list[dict[str, Any]]:
    path = write_compaction(store, list_log(store), first, last)
    assert path is not None
    return [json.loads(line) for line in store.read(path).splitlines()]


@pytest.mark.conformance("COMPACT-001", "COMPACT-002")
def test_the_sample_of_the_protocol() -> None:
    store = _log(
        (PROTOCOL, METADATA),
        (CommitInfo(operation="WRITE"), add("f1")),
        (add("f2"), remove("f1"), b'{"cdc":{"path":"c","partitionValues":{},"size":1,"dataChange":false}}'),
        (add("f3"), add("f4"), TransactionAction(app_id="3ae45b72", version=4389)),
        (remove("f3"), TransactionAction(app_id="3ae45b72", version=4390)),
    )
    held = _held(store, 2, 4)
    assert [(name, action.get("path") or action["version"]) for line in held for name, action in line.items()] == [
        ("add", "f2"),
        ("remove", "f1"),
        ("add", "f4"),
        ("remove", "f3"),
        ("txn", 4390),
    ]
    names = [found.path for found in store.list_from("_delta_log") if "compacted" in found.path]
    assert names == ["_delta_log/00000000000000000002.00000000000000000004.compacted.json"]


@pytest.mark.conformance("COMPACT-002", "COMPACT-005")
def test_tombstones_and_removed_domains_stay_however_old() -> None:
    ancient = msgspec.structs.replace(remove("a"), deletion_timestamp=1)
    domain = DomainMetadata(domain="d", configuration="{}")
    store = _log((PROTOCOL, METADATA, add("a"), domain), (ancient,), (msgspec.structs.replace(domain, removed=True),))
    before = explorer.Table(store).snapshot()
    held = _held(store, 1, 2)
    assert [next(iter(line)) for line in held] == ["remove", "domainMetadata"]
    assert held[1]["domainMetadata"]["removed"] is True
    store.delete(commit_name(1))
    store.delete(commit_name(2))
    store.put_if_absent(commit_name(3), b"")
    after = explorer.Table(store).snapshot()
    assert paths(after) == paths(before) == set()
    assert after.domain_metadata == {}


@pytest.mark.conformance("COMPACT-002")
def test_the_newest_action_of_each_kind_and_key_stays_as_it_stood() -> None:
    odd = b'{ "add" : {"path":"a%20b","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true,"new":[1]} }'
    store = _log(
        (MASKED, METADATA, add("k")),
        (b"", odd, add("m"), msgspec.structs.replace(METADATA, name="first")),
        (remove("m"), add("m", vector=vector("v1")), msgspec.structs.replace(METADATA, name="second"), PROTOCOL),
        (remove("m", vector=vector("v1")), add("m", vector=vector("v2")), MASKED),
    )
    held = _held(store, 0, 3)
    found = [(name, action.get("path"), action.get("name")) for line in held for name, action in line.items()]
    assert found == [
        ("add", "k", None),
        ("add", "a%20b", None),
        ("remove", "m", None),
        ("metaData", None, "second"),
        ("remove", "m", None),
        ("add", "m", None),
        ("protocol", None, None),
    ]
    assert held[1]["add"]["new"] == [1]
    assert held[5]["add"]["deletionVector"]["pathOrInlineDv"] == vector("v2").path_or_inline_dv


def test_a_compaction_stands_for_its_commits_to_our_reader() -> None:
    commits: list[list[Action]] = [[MASKED, METADATA]]
    for number in range(1, 12):
        commits.append([add(f"f{number}"), TransactionAction(app_id="app", version=number)])
        if number > 3:
            commits[-1].append(remove(f"f{number - 3}"))
    store = _log(*commits)
    snapshot = explorer.Table(store).snapshot()
    assert write_compaction(store, list_log(store), 2, 9) is not None
    assert write_compaction(store, list_log(store), 2, 9) is None
    for version in range(3, 8):
        store.delete(commit_name(version))
    again = explorer.Table(store).snapshot()
    assert paths(again) == paths(snapshot)
    assert again.transactions == snapshot.transactions


def test_a_range_that_cannot_be_compacted_is_refused() -> None:
    store = _log((PROTOCOL, METADATA), (add("a"),), (add("b"),))
    listing = list_log(store)
    for first, last in ((1, 1), (2, 1), (-1, 2)):
        with pytest.raises(RequestError, match="later version"):
            write_compaction(store, listing, first, last)
    with pytest.raises(VersionNotFound) as caught:
        write_compaction(store, listing, 1, 3)
    assert (caught.value.version, caught.value.nearest) == (3, 2)


@pytest.mark.conformance("COMPACT-004", "CATALOG-005")
def test_staged_commits_are_not_compacted() -> None:
    store = _log((PROTOCOL, METADATA), (add("a"),))
    listing = list_log(store)
    staged = LogPath("x.json", LogFileKind.STAGED_COMMIT, 2)
    mixed = msgspec.structs.replace(listing, commits={**listing.commits, 2: staged}, by_catalog=True)
    with pytest.raises(UnsupportedFeature):
        write_compaction(store, mixed, 1, 2)
    assert write_compaction(store, mixed, 0, 1) is not None


@pytest.mark.reference
def test_compactions_hold_what_those_of_the_reference_hold() -> None:
    table: Path = reference_root() / "tables" / "log-compaction"
    store = open_store(table)
    listing = list_log(store)
    compared = 0
    for path in listing.compactions:
        commits = [listing.commits[version] for version in range(path.version, path.last_version + 1)]
        ours = [json.loads(line) for line in compacted(store, commits).splitlines()]
        theirs = [json.loads(line) for line in store.read(path.path).splitlines()]
        assert sorted(map(_text, ours)) == sorted(map(_text, theirs))
        compared += 1
    assert compared == 2


def _text(action: dict[str, Any]) -> str:
    return json.dumps(action, sort_keys=True)
