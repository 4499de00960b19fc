"""Each fault of a log is a problem of its kind, at its version and file; a sound log has none."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import pytest

import explorer
from explorer.core.errors import ChangeFeedGap, TableNotFound
from explorer.core.log.log_path import checkpoint_name, checksum_name, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.log.verify.hash_chain import link, links, seal
from explorer.core.log.verify.integrity import IntegrityReport, verify
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.protocol.actions import Action, DomainMetadata, Metadata, TransactionAction
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.checkpoint_shapes import write_checkpoint
from tests.support.logs.small_logs import (
    MASKED,
    METADATA,
    PROTOCOL,
    add,
    lines,
    metadata,
    new_store,
    remove,
    vector,
    write,
)

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
    assert problems({0: START, 1: (), 9 * 10**18: ()}) == [("gap", 2, commit_name(2))]
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
    [found] = report({0: START, 1: (line,), 2: ()}).problems
    said = "The path 'http:x' is" if b"http:x" in line else f"Line 1 of {commit_name(1)}"
    assert found.detail.startswith(f"{said} ")


@pytest.mark.conformance("REPLAY-012", "TXN-002")
@pytest.mark.parametrize(
    ("actions", "kind"),
    [
        ((METADATA, METADATA), "duplicate-action"),
        ((PROTOCOL, PROTOCOL), "duplicate-action"),
        ((TransactionAction(app_id="x", version=1), TransactionAction(app_id="x", version=2)), "duplicate-action"),
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
    for later in ({}, {1: (add("b"),)}):
        assert problems({0: (add("a"),), **later}) == [
            ("no-protocol", 0, commit_name(0)),
            ("no-metadata", 0, commit_name(0)),
        ]


def test_a_commit_that_vanishes_while_the_log_is_read_is_a_gap() -> None:
    class Vanishing:
        """A store whose file is gone when it is read."""

        def __init__(self, store: LogStore) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        def read(self, path: str) -> bytes:
            if path == commit_name(1):
                raise FileNotFoundError(path)
            return self._store.read(path)

    store = new_store()
    write(store, {0: START, 1: (add("b"),), 2: (add("c"), add("c"))})
    found = verify(Vanishing(store)).problems  # type: ignore[arg-type]  # what is not here is the store's
    assert [(each.kind, each.version, each.file) for each in found] == [
        ("gap", 1, commit_name(1)),
        ("duplicate-action", 2, commit_name(2)),
    ]
    assert found[0].detail == "the commit is missing"


def test_where_the_state_before_is_not_known_only_what_the_commit_says_counts() -> None:
    again = (add("a", vector=vector("v")), add("b"), add("b"))
    found = report({3: START, 4: again}).problems
    assert [each.kind for each in found] == ["truncated-log", "duplicate-action"]
    assert found[1].detail == report({0: START, 1: (add("b"), add("b"))}).problems[0].detail
    assert "b" in found[1].detail


@pytest.mark.conformance("CKPT-011")
def test_checkpoints_are_held_against_replay_in_both_directions() -> None:
    transaction = TransactionAction(app_id="x", version=1)
    commits = {0: START, 1: (add("b"), transaction)}
    cases: list[tuple[tuple[Action, ...], list[str]]] = [
        ((*START, add("b"), transaction), []),
        ((*START, add("b")), ["its transactions"]),
        ((*START, transaction), ["it lacks 1 live files, such as b"]),
        ((*START, add("b"), add("c"), transaction), ["it contains 1 files that are not live, such as c"]),
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
    assert kinds({0: START, 1: (), 2: ()}, store) == ["incomplete-checkpoint", "damaged-checkpoint"]


def test_a_commit_that_moves_its_own_file_is_only_told_where_the_state_before_is_known() -> None:
    twice = (add("b"), add("b", vector=vector("v")))
    with_state, without = report({0: START, 1: twice}).problems, report({3: START, 4: twice}).problems
    assert [each.kind for each in with_state] == ["unremoved-vector"]
    assert "b" in with_state[0].detail
    assert [each.kind for each in without] == ["truncated-log"]


def test_a_checkpoint_of_lines_that_is_broken_is_named_with_the_reason() -> None:
    store = new_store()
    path = checkpoint_name(1, UUID(int=7), "json")
    store.put_if_absent(path, b'{"checkpointMetadata":{"version":1}}\n{"add":')
    [found] = report({0: START, 1: ()}, store).problems
    assert (found.kind, found.version, found.file) == ("damaged-checkpoint", 1, path)
    name = path.rpartition("/")[2]
    assert found.detail.startswith(f"The checkpoint of version 1 ({name}) cannot be used: Input data was truncated. ")


@pytest.mark.conformance("LASTCKPT-003", "LASTCKPT-004", "LASTCKPT-007")
@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ({"version": 1, "size": 3}, []),
        ({"version": 0, "size": 3}, ["stale-hint"]),
        ({"version": 7, "size": 3}, ["unusable-hint", "lost-version"]),
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
    assert found.problems[0].file == commit_name(2)
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
        ({"numMetadata": 2}, "numMetadata is 2, replay gives 1"),
        ({"numProtocol": 0}, "numProtocol is 0, replay gives 1"),
        ({"metadata": {"id": "other"}}, "metadata is not"),
        ({"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, "protocol is not"),
        ({"setTransactions": [{"appId": "x", "version": 1}]}, "setTransactions"),
        ({"domainMetadata": [{"domain": "x", "configuration": "", "removed": False}]}, "domainMetadata"),
        ({"numDeletedRecordsOpt": 1}, "numDeletedRecordsOpt"),
        ({"fileSizeHistogram": SIZES | {"fileCounts": [1, 1, 0]}}, "the histogram of sizes: fileCounts is"),
        ({"histogramOpt": SIZES | {"totalBytes": [200, 0, 0]}}, "the histogram of sizes: totalBytes is"),
        (
            {"fileSizeHistogram": SIZES | {"fileCounts": [2]}},
            "the arrays of the histogram of sizes have different lengths",
        ),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1] + [0] * 8}}, "deletedRecordCounts"),
        ({"allFiles": [{"path": "a"}]}, "allFiles lacks 1"),
        ({"txnId": "other"}, "txnId is other"),
        ({"inCommitTimestampOpt": 5, "numDeletionVectorsOpt": 0, "numTransactions": 0}, None),
        ({"inCommitTimestampOpt": 6}, "inCommitTimestampOpt is 6, replay gives 5"),
        ({"numDeletionVectorsOpt": 1}, "numDeletionVectorsOpt is 1, replay gives 0"),
        ({"numTransactions": 1}, "numTransactions is 1, replay gives 0"),
        ({"txnId": "x" * 200}, f"txnId is {'x' * 200}, replay gives t"),
        ({"txnId": "x" * 200 + "y"}, f"txnId is {'x' * 200}..., replay gives t"),
    ],
)
def test_a_checksum_is_held_against_replay(change: dict[str, Any], detail: str | None) -> None:
    store = new_store()
    store.put_if_absent("_delta_log/00000000000000000001.crc", json.dumps(CHECKSUM | change).encode())
    said = b'{"commitInfo":{"txnId":"t","inCommitTimestamp":5}}'
    found = report({0: START, 1: (add("b"), said)}, store).problems
    assert [problem.kind for problem in found] == ([] if detail is None else ["checksum-differs"])
    assert detail is None or found[0].detail.startswith(detail)


@pytest.mark.parametrize(
    ("masked", "rows", "vectors"), [((3, 3, 5), 11, 3), ((3, 3, 3), 9, 3), ((1, 0, 0), 1, 1), ((0, 0, 0), 0, 0)]
)
def test_masked_rows_and_vectors_are_counted_by_file(masked: tuple[int, ...], rows: int, vectors: int) -> None:
    files = [
        add(f"f{place}", records=9, vector=vector(f"v{place}", count) if count else None)
        for place, count in enumerate(masked)
    ]
    stated = {"tableSizeBytes": 300, "numFiles": 3, "protocol": json.loads(lines([MASKED]))["protocol"]}
    right = {"numDeletedRecordsOpt": rows, "numDeletionVectorsOpt": vectors}
    for change, said in (
        ({}, []),
        ({"numDeletedRecordsOpt": rows + 1}, [f"numDeletedRecordsOpt is {rows + 1}, replay gives {rows}"]),
        ({"numDeletionVectorsOpt": 4}, [f"numDeletionVectorsOpt is 4, replay gives {vectors}"]),
    ):
        store = new_store()
        store.put_if_absent(checksum_name(0), json.dumps(CHECKSUM | stated | right | change).encode())
        assert [each.detail for each in report({0: (MASKED, METADATA, *files)}, store).problems] == said


def test_a_size_that_nobody_knows_contradicts_nothing() -> None:
    store = new_store()
    store.put_if_absent(checksum_name(0), json.dumps(CHECKSUM | {"tableSizeBytes": 7, "numFiles": 3}).encode())
    unsized = b'{"add":{"path":"u","partitionValues":{},"modificationTime":1,"dataChange":true}}'
    assert kinds({0: (*START, add("b"), unsized)}, store) == ["invalid-file-values"]


def test_the_checksum_of_a_commit_that_is_gone_is_not_held_to_the_one_before() -> None:
    store = new_store()
    write_checkpoint(store, 2, (*START, add("b")), "classic")
    store.put_if_absent(checksum_name(2), json.dumps(CHECKSUM | {"txnId": "another"}).encode())
    assert problems({0: START, 1: (add("b"), b'{"commitInfo":{"txnId":"t"}}')}, store) == [("gap", 2, commit_name(2))]


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"numFiles":"x"}'])
def test_a_checksum_that_cannot_be_read(data: bytes) -> None:
    store = new_store()
    store.put_if_absent("_delta_log/00000000000000000000.crc", data)
    assert kinds({0: START}, store) == ["unreadable-checksum"]


def test_a_record_in_a_checksum_that_is_none_is_named() -> None:
    store = new_store()
    store.put_if_absent(checksum_name(1), json.dumps(CHECKSUM | {"metadata": {"id": 3}}).encode())
    [problem] = report({0: START, 1: (add("b"),)}, store).problems
    assert (problem.kind, problem.version, problem.file) == ("unreadable-checksum", 1, checksum_name(1))
    assert "Expected `str`, got `int`" in problem.detail


def test_the_chain_is_what_its_definition_says() -> None:
    one, two = b'{ "b":1.50, "a":{"z":[],"y":"\\u00e4"} }', b"not json"
    canonical = '{"a":{"y":"ä","z":[]},"b":1.50}'.encode()
    store = new_store()
    store.put_if_absent(commit_name(0), one + b"\r\n\n" + two)
    digests = sorted(hashlib.sha256(text).digest() for text in (canonical, two))
    expected = hashlib.sha256(bytes(32) + bytes(8) + b"".join(digests)).hexdigest()
    assert verify(store).chain_head == expected


@pytest.mark.parametrize("batch", [1, 2, 500])
def test_the_chain_begins_anew_after_a_gap_and_lines_are_whole(monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr("explorer.core.log.verify.hash_chain._BATCH", batch)
    store = new_store()
    content = {version: b'{"a": %d}\n{"b": "x y"}\n' % version for version in (0, 1, 3, 4)}
    for version, data in content.items():
        store.put_if_absent(commit_name(version), data)
    commits = list_log(store).commits
    heads = dict(links(store, commits))
    assert list(heads) == [0, 1, 3, 4]
    for first, last in ((0, 0), (0, 1), (3, 3), (3, 4)):
        head = bytes(32)
        for version in range(first, last + 1):
            head = link(head, version, content[version].split(b"\n"))
        assert heads[last] == head.hex()


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


def test_a_log_without_commits_has_no_chain() -> None:
    store = new_store()
    write_checkpoint(store, 4, START, "classic")
    found = verify(store)
    assert (found.chain_head, found.first_version, found.last_version) == (None, 4, 4)


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
OLD_BATCH, BATCH = TransactionAction(app_id="loader", version=4), TransactionAction(app_id="loader", version=5)
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
        ((BATCH, TransactionAction(app_id="other", version=1), DOMAIN, GONE, METADATA),
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
