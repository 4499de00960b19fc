"""Each fault of a log is a problem of its kind, at its version and file; a sound log has none."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, TableNotFound
from explorer.core.log.log_path import checkpoint_name, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.verify.hash_chain import seal
from explorer.core.log.verify.verify import IntegrityReport, verify
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.protocol.actions import Action, DomainMetadata, Metadata, SetTransaction
from explorer.core.protocol.log_store import LogStore
from tests.support.checkpoint_shapes import write_checkpoint
from tests.support.small_logs import MASKED, METADATA, PROTOCOL, add, lines, metadata, new_store, remove, vector, write

START: tuple[Action, ...] = (PROTOCOL, METADATA, add("a"))


def report(commits: dict[int, Any], store: LogStore | None = None) -> IntegrityReport:
    found = new_store() if store is None else store
    write(found, commits)
    return verify(found)


def problems(commits: dict[int, Any], store: LogStore | None = None) -> list[tuple[str, int | None, str]]:
    return [(each.kind, each.version, each.file) for each in report(commits, store).problems]


def kinds(commits: dict[int, Any], store: LogStore | None = None) -> list[str]:
    return [kind for kind, _, _ in problems(commits, store)]


def test_a_sound_log_has_no_problems() -> None:
    masked = add("a", records=9, vector=vector("v", 2))
    found = report({0: (MASKED, METADATA, add("a")), 1: (remove("a"), masked), 2: (masked, add("b"))})
    assert (found.problems, found.first_version, found.last_version) == ((), 0, 2)


def test_an_empty_folder_is_no_log() -> None:
    with pytest.raises(TableNotFound):
        verify(new_store())


@pytest.mark.conformance("LOG-011", "LOG-012")
def test_missing_commits_are_one_gap_however_far_they_reach() -> None:
    assert problems({0: START, 1: (), 10**19: ()}) == [("gap", 2, commit_name(2))]
    assert kinds({3: START}) == ["truncated-log"]
    assert report({0: START, 2: ()}).first_version is None


@pytest.mark.conformance("LOG-003", "LOG-004")
def test_two_names_for_one_version() -> None:
    store = new_store()
    store.put_if_absent("_delta_log/1.json", lines([add("b")]))
    assert kinds({0: START, 1: (add("b"),), 2: ()}, store) == ["two-names", "gap"]


@pytest.mark.parametrize("line", [b"{", b'{"add":{}}', b'{"txn":{}}', b'{"add":{"path":"http:x"}}', b"[" * 100_000])
def test_a_commit_that_cannot_be_read(line: bytes) -> None:
    assert problems({0: START, 1: (line,), 2: ()}) == [("unreadable-commit", 1, commit_name(1))]


@pytest.mark.conformance("REPLAY-012", "TXN-002")
@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ((METADATA, METADATA), "duplicate-action"),
        ((PROTOCOL, PROTOCOL), "duplicate-action"),
        ((SetTransaction(app_id="x", version=1), SetTransaction(app_id="x", version=2)), "duplicate-action"),
        ((DomainMetadata(domain="x"), DomainMetadata(domain="x", removed=True)), "duplicate-action"),
        ((add("b"), add("b")), "duplicate-action"),
        ((remove("b"), remove("b")), "duplicate-action"),
        ((add("%61"), remove("a")), "contradictory-action"),
        ((add("a", vector=vector("v")),), "unremoved-vector"),
        ((b'{"sidecar":{"path":"x","sizeInBytes":1,"modificationTime":1}}',), "misplaced-action"),
    ],
)
def test_actions_that_a_commit_must_not_hold(actions: tuple[Action | bytes, ...], kind: str) -> None:
    assert problems({0: START, 1: actions}) == [(kind, 1, commit_name(1))]


def test_a_commit_that_moves_a_file_to_another_vector_is_sound_in_any_order() -> None:
    moved = (add("a", vector=vector("v")), remove("a"))
    assert kinds({0: START, 1: moved}) == kinds({0: START, 1: moved[::-1]}) == []


def test_in_commit_timestamps_must_grow() -> None:
    metadata = Metadata(
        id="x", schema_string=METADATA.schema_string, configuration={"delta.enableInCommitTimestamps": "true"}
    )
    infos = [b'{"commitInfo":{"inCommitTimestamp":%d}}' % time for time in (5, 6, 6, 7)]
    found: dict[int, Any] = {version: [info] for version, info in enumerate(infos)} | {4: [add("x")]}
    found[0] = [infos[0], PROTOCOL, metadata]
    assert problems(found) == [
        ("clock-went-back", 2, commit_name(2)),
        ("no-in-commit-timestamp", 4, commit_name(4)),
    ]


def test_foundations_are_needed() -> None:
    assert kinds({0: (add("a"),)}) == ["no-protocol", "no-metadata"]


@pytest.mark.conformance("CKPT-011")
def test_checkpoints_are_held_against_replay_in_both_directions() -> None:
    transaction = SetTransaction(app_id="x", version=1)
    commits = {0: START, 1: (add("b"), transaction)}
    cases: list[tuple[tuple[Action, ...], list[str]]] = [
        ((*START, add("b"), transaction), []),
        ((*START, add("b")), ["its transactions"]),
        ((*START, transaction), ["it lacks 1 live files, such as b"]),
        ((*START, add("b"), add("c"), transaction), ["it holds 1 files that are not live, such as c"]),
        ((*START, add("b", vector=vector("v")), transaction), ["1 files differ, such as b"]),
        ((MASKED, METADATA, add("a"), add("b"), transaction), ["its protocol"]),
    ]
    for actions, found in cases:
        store = new_store()
        write_checkpoint(store, 1, actions, "classic")
        details = [problem.detail for problem in report(commits, store).problems]
        assert len(details) == len(found)
        assert all(detail.startswith(start) for detail, start in zip(details, found, strict=True))


def test_checkpoints_that_are_incomplete_or_unreadable() -> None:
    store = new_store()
    parts = write_checkpoint(store, 1, START, "multi-part")
    store.delete(parts[1])
    store.put_if_absent(checkpoint_name(2), b"PAR1")
    assert kinds({0: START, 1: (), 2: ()}, store) == ["incomplete-checkpoint", "unreadable-checkpoint"]


@pytest.mark.conformance("LASTCKPT-003", "LASTCKPT-004", "LASTCKPT-007")
@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ({"version": 1, "size": 3}, []),
        ({"version": 0, "size": 3}, ["stale-hint"]),
        ({"version": 7, "size": 3}, ["unusable-hint"]),
        ({"version": 1, "size": 3, "checksum": "0" * 32}, ["unusable-hint"]),
        ([], ["unusable-hint"]),
    ],
)
def test_the_hint_is_checked(hint: Any, found: list[str]) -> None:
    store = new_store()
    for version in (0, 1):
        write_checkpoint(store, version, START, "classic")
    store.put_if_absent("_delta_log/_last_checkpoint", json.dumps(hint).encode())
    assert kinds({0: START, 1: ()}, store) == found


@pytest.mark.conformance("CDF-017")
def test_the_older_name_of_the_change_feed_s_switch_is_named_and_switches_nothing() -> None:
    store = new_store()
    metadata = Metadata(
        id="m", schema_string=METADATA.schema_string, configuration={"delta.enableChangeDataCapture": "true"}
    )
    found = report({0: START, 1: (metadata,), 2: (add("b"),)}, store)
    assert [(each.kind, each.version, each.breaking) for each in found.problems] == [("former-property", 2, False)]
    assert "delta.enableChangeDataFeed" in found.problems[0].detail
    table = explorer.Table(store)
    assert table.history().column("change_feed").to_pylist() == [False, False, False]
    with pytest.raises(ChangeFeedGap):
        table.change_sources(1, 2)


def test_temporary_files_are_orphans_and_the_shadows_of_a_file_system_are_not() -> None:
    store = new_store()
    for name in (".00000000000000000001.json.0e8a.tmp", "_commit_1.json.tmp", ".00000000000000000001.json.crc", "x"):
        store.put_if_absent(f"_delta_log/{name}", b"")
    assert kinds({0: START}, store) == ["orphan-file", "orphan-file"]


CHECKSUM = {
    "tableSizeBytes": 200,
    "numFiles": 2,
    "numMetadata": 1,
    "numProtocol": 1,
    "metadata": json.loads(lines([METADATA]))["metaData"],
    "protocol": json.loads(lines([PROTOCOL]))["protocol"],
}
SIZES = {"sortedBinBoundaries": [0, 100, 1000], "fileCounts": [0, 2, 0], "totalBytes": [0, 200, 0]}


@pytest.mark.conformance("CRC-007", "CRC-008")
@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({}, None),
        ({"fileSizeHistogram": SIZES, "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2] + [0] * 9}}, None),
        ({"histogramOpt": SIZES, "setTransactions": [], "domainMetadata": [], "txnId": "t"}, None),
        ({"numFiles": 3}, "numFiles is 3, replay gives 2"),
        ({"tableSizeBytes": 1}, "tableSizeBytes is 1"),
        ({"numMetadata": 2}, "numMetadata"),
        ({"numProtocol": 0}, "numProtocol"),
        ({"metadata": {"id": "other"}}, "metadata is not"),
        ({"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, "protocol is not"),
        ({"setTransactions": [{"appId": "x", "version": 1}]}, "setTransactions"),
        ({"domainMetadata": [{"domain": "x", "configuration": "", "removed": False}]}, "domainMetadata"),
        ({"numDeletedRecordsOpt": 1}, "numDeletedRecordsOpt"),
        ({"fileSizeHistogram": SIZES | {"fileCounts": [1, 1, 0]}}, "fileCounts"),
        ({"histogramOpt": SIZES | {"totalBytes": [200, 0, 0]}}, "totalBytes"),
        ({"fileSizeHistogram": SIZES | {"fileCounts": [2]}}, "different lengths"),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1] + [0] * 8}}, "deletedRecordCounts"),
        ({"allFiles": [{"path": "a"}]}, "allFiles lacks 1"),
        ({"txnId": "other"}, "txnId is other"),
    ],
)
def test_a_checksum_is_held_against_replay(change: dict[str, Any], detail: str | None) -> None:
    store = new_store()
    store.put_if_absent("_delta_log/00000000000000000001.crc", json.dumps(CHECKSUM | change).encode())
    found = report({0: START, 1: (add("b"), b'{"commitInfo":{"txnId":"t"}}')}, store).problems
    assert [problem.kind for problem in found] == ([] if detail is None else ["checksum-differs"])
    assert detail is None or detail in found[0].detail


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"numFiles":"x"}'])
def test_a_checksum_that_cannot_be_read(data: bytes) -> None:
    store = new_store()
    store.put_if_absent("_delta_log/00000000000000000000.crc", data)
    assert kinds({0: START}, store) == ["unreadable-checksum"]


def test_the_chain_is_what_its_definition_says() -> None:
    one, two = b'{ "b":1.50, "a":{"z":[],"y":"\\u00e4"} }', b"not json"
    canonical = '{"a":{"y":"ä","z":[]},"b":1.50}'.encode()
    store = new_store()
    store.put_if_absent(commit_name(0), one + b"\r\n\n" + two)
    digests = sorted(hashlib.sha256(text).digest() for text in (canonical, two))
    expected = hashlib.sha256(bytes(32) + bytes(8) + b"".join(digests)).hexdigest()
    assert verify(store).chain_head == expected


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_a_seal_holds_the_head_of_the_time_when_its_commit_was_the_newest(
    monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("explorer.core.log.verify.hash_chain._BATCH", batch)
    store, heads = new_store(), {}
    for version, content in enumerate((b"0", b"1\n\n2", b"3\r\n4", b"5")):
        store.put_if_absent(commit_name(version), content)
        heads[version] = verify(store).chain_head
    commits = list_log(store).commits
    for version, head in heads.items():
        found = seal(store, commits, version)
        assert (found.chain_head, found.file) == (head, commit_name(version))
        assert found.file_digest == hashlib.sha256(store.read(commit_name(version))).hexdigest()
    without = {version: path for version, path in commits.items() if version != 1}
    assert seal(store, without, 3).chain_head != heads[3], "the chain begins after the gap"


def test_the_chain_knows_neither_order_nor_spacing_but_every_change() -> None:
    heads = [
        report({0: START, 1: actions}).chain_head
        for actions in (
            (add("b"), add("c")),
            (add("c"), b"", add("b")),
            (add("b"), add("d")),
            (add("b"),),
            (add("b"), add("c"), add("c")),
        )
    ]
    assert heads[0] == heads[1]
    assert len(set(heads)) == 4
    assert report({0: (*START, add("b"))}).chain_head != report({0: START}).chain_head


COMPACTED = {0: START, 1: (add("b"),), 2: (remove("a"), add("c")), 3: (remove("b"),)}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ((remove("b"), remove("a"), add("c"), add("b")), ["b has an add", "b has more than one action"]),
        ((remove("a"), remove("b")), ["c has no add"]),
        ((remove("b"), add("c")), ["a has no remove"]),
        ((add("c"), add("d"), add("e")), ["2 files, such as a, have no remove", "2 files, such as d, have an add"]),
        ((b"{",), ["00000000000000000001.00000000000000000003.compacted.json"]),
    ],
)
def test_a_compaction_that_says_another_thing_than_its_commits(held: tuple[Any, ...], said: list[str]) -> None:
    store = new_store()
    name = "_delta_log/00000000000000000001.00000000000000000003.compacted.json"
    store.put_if_absent(name, lines(held))
    found = report(COMPACTED, store).problems
    assert [(each.kind, each.version, each.file) for each in found] == [("compaction-differs", 1, name)] * len(said)
    for expected, detail in zip(
        said, sorted(each.detail.removeprefix("it is not reconciled: ") for each in found), strict=True
    ):
        assert expected in detail


def test_a_compaction_that_holds_what_its_commits_leave_is_sound_and_needs_no_removes_where_it_begins_at_0() -> None:
    store = new_store()
    write(store, COMPACTED)
    for first, last in ((0, 1), (1, 3), (2, 3)):
        assert write_compaction(store, list_log(store), first, last) is not None
    store.put_if_absent(f"_delta_log/{0:020}.{2:020}.compacted.json", lines([PROTOCOL, METADATA, add("b"), add("c")]))
    assert verify(store).problems == ()


NEW_SCHEMA = metadata({"id": "long", "name": "string"})
OLD_BATCH, BATCH = SetTransaction(app_id="loader", version=4), SetTransaction(app_id="loader", version=5)
OLD_DOMAIN, DOMAIN = (DomainMetadata(domain="d", configuration=text, removed=False) for text in ("one", "two"))
GONE = DomainMetadata(domain="gone", configuration="", removed=True)
SMALL = {
    0: START,
    1: (OLD_BATCH, OLD_DOMAIN, DomainMetadata(domain="gone", configuration="x", removed=False), NEW_SCHEMA),
    2: (BATCH, DOMAIN, GONE, MASKED),
}


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ((BATCH, DOMAIN, GONE, NEW_SCHEMA, MASKED), []),
        ((OLD_BATCH, DOMAIN, GONE, NEW_SCHEMA, MASKED),
         ["its transaction of 'loader' is not the newest"]),
        ((DOMAIN, GONE, NEW_SCHEMA, MASKED), ["it has no transaction of 'loader'"]),
        ((BATCH, OLD_DOMAIN, NEW_SCHEMA, MASKED),
         ["it has no metadata of the domain 'gone'", "its metadata of the domain 'd' is not the newest"]),
        ((BATCH, SetTransaction(app_id="other", version=1), DOMAIN, GONE, METADATA),
         ["it has a transaction of 'other'", "it has no protocol", "its metaData is not the newest"]),
        ((BATCH, DOMAIN, GONE, NEW_SCHEMA, PROTOCOL),
         ["its protocol is not the newest"]),
    ],
)  # fmt: skip
def test_a_compaction_whose_small_actions_are_not_those_of_its_commits(held: tuple[Any, ...], said: list[str]) -> None:
    store = new_store()
    store.put_if_absent(f"_delta_log/{1:020}.{2:020}.compacted.json", lines(held))
    found = report(SMALL, store).problems
    assert [each.kind for each in found] == ["compaction-differs"] * len(said)
    for expected, detail in zip(said, sorted(each.detail for each in found), strict=True):
        assert expected in detail


def test_a_compaction_of_commits_that_are_gone_is_not_held_to_them() -> None:
    store = new_store()
    write(store, COMPACTED)
    assert write_compaction(store, list_log(store), 1, 2) is not None
    store.delete(commit_name(1))
    assert [each.kind for each in verify(store).problems] == ["gap"]
