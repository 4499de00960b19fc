"""Checksums to the last field: what one of our own holds, what is told of another, and when a step gives none."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import (
    checksum_name,
    commit_name,
)
from explorer.core.log.log_segment import list_log
from explorer.core.log.replay import checkpoint_reader, read_commits, replay_files, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.log.verify.integrity import LogProblem, verify
from explorer.core.log.version_checksum import MaskHistogram, SizeHistogram, VersionChecksum
from explorer.core.log.writing.checksum import SIZE_BINS, next_checksum, version_checksum
from explorer.core.protocol.actions import DomainMetadata, Protocol, SetTransaction
from explorer.core.protocol.log_store import LogStore
from tests.support.logs.small_logs import (
    LONG_AGO,
    MASKED,
    METADATA,
    PROTOCOL,
    add,
    commit_info,
    remove,
    vector,
)
from tests.support.logs.written_checkpoints import V2, log_of, metadata_with

BATCH, DOMAIN = SetTransaction(app_id="x", version=1), DomainMetadata(domain="d", configuration="c")
KIB, MIB = 1 << 10, 1 << 20
BOUNDS_IN_MIB = [
    *range(8, 40, 4), *range(40, 120, 8), *range(120, 144, 4), *range(144, 576, 16), *range(576, 1408, 64),
    *range(1408, 2048, 128), *range(2048, 4096, 256), 4096, 8192, 16384, 32768, 65536, 131072, 262144,
]  # fmt: skip
TIMED = metadata_with({"delta.enableInCommitTimestamps": "true"})


def test_sizes_are_counted_in_the_bins_of_the_reference() -> None:
    small = [0, *(KIB * 2**power for power in range(3, 10)), MIB, 2 * MIB, 4 * MIB]
    assert list(SIZE_BINS) == [*small, *(bound * MIB for bound in BOUNDS_IN_MIB)]


def whole(store: LogStore) -> tuple[TableState, VersionChecksum | None]:
    segment = list_log(store).segment()
    commits = list(read_commits(store, segment.commits))
    base = checkpoint_reader(store, segment)
    state = replay_state(base, commits, segment.version)
    return state, version_checksum(state, replay_files(base, commits), commits[-1].commit_info())


@pytest.mark.parametrize(("rules", "properties"), [(MASKED, TIMED), (PROTOCOL, METADATA)])
def test_a_checksum_has_all_that_is_known_and_nothing_more(rules: Protocol, properties: Any) -> None:
    info = commit_info(txn_id="t", in_commit_timestamp=LONG_AGO)
    masking = rules is MASKED
    mask = vector("v", 25) if masking else None
    first = [rules, properties, SetTransaction(app_id="z", version=2), BATCH, DOMAIN, add("a", size=5)]
    store = log_of([*first, DomainMetadata(domain="c", configuration="")], [info, add("b", size=9000, vector=mask)])
    counts, sizes, masks = [0] * 95, [0] * 95, [0] * 10
    counts[0], sizes[0], counts[1], sizes[1] = 1, 5, 1, 9000
    masks[0], masks[2] = 1, 1
    meant = VersionChecksum(
        txn_id="t",
        table_size_bytes=9005,
        num_files=2,
        num_deleted_records_opt=25 if masking else None,
        num_deletion_vectors_opt=1 if masking else None,
        num_metadata=1,
        num_protocol=1,
        in_commit_timestamp_opt=LONG_AGO if masking else None,
        set_transactions=({"appId": "x", "version": 1}, {"appId": "z", "version": 2}),
        domain_metadata=tuple({"domain": d, "configuration": c, "removed": False} for d, c in (("c", ""), ("d", "c"))),
        metadata=properties.to_wire(),
        protocol=rules.to_wire(),
        file_size_histogram=SizeHistogram(SIZE_BINS, tuple(counts), tuple(sizes)),
        deleted_record_counts_histogram_opt=MaskHistogram(tuple(masks)) if masking else None,
    )
    state, found = whole(store)
    assert found == meant
    commit = decode_commit(store.read(commit_name(1)), 1, commit_name(1))
    before = whole(log_of([*first, DomainMetadata(domain="c", configuration="")]))[1]
    previous = msgspec.json.encode(before)
    assert next_checksum(previous, commit, state, vouched=True) == meant
    older = json.loads(previous)
    older["histogramOpt"] = older.pop("fileSizeHistogram")
    assert next_checksum(json.dumps(older).encode(), commit, state, vouched=True) == meant
    assert next_checksum(previous, commit, state) is None


# --- a checksum held against what is live -----------------------------------------------------------------------------

HELD = (MASKED, METADATA, BATCH, DOMAIN, add("a", size=5), add("b%20c", size=10, vector=vector("v", 10)))
RIGHT = {"tableSizeBytes": 15, "numFiles": 2, "numMetadata": 1, "numProtocol": 1}
SIZES = {"sortedBinBoundaries": [0, 5, 11], "fileCounts": [0, 2, 0], "totalBytes": [0, 15, 0]}
LISTED = [{"path": "a"}, {"path": "b c"}, {"path": "b%20c"}]


def said(change: dict[str, Any], *more: Any, path: str = checksum_name(0)) -> list[str]:
    store = log_of((*HELD, *more))
    store.put(path, json.dumps(RIGHT | change).encode())
    return [each.detail for each in verify(store).problems]


@pytest.mark.parametrize(
    ("change", "details"),
    [
        ({}, []),
        ({"metadata": METADATA.to_wire(), "protocol": MASKED.to_wire()}, []),
        ({"metadata": METADATA.to_wire() | {"name": "other"}}, ["metadata is not the one in force"]),
        ({"protocol": PROTOCOL.to_wire()}, ["protocol is not the one in force"]),
        ({"setTransactions": [BATCH.to_wire()], "domainMetadata": [DOMAIN.to_wire()]}, []),
        ({"setTransactions": []}, ["setTransactions is {}, replay gives {'x': 1}"]),
        ({"domainMetadata": []}, ["domainMetadata is {}, replay gives {'d': 'c'}"]),
        ({"numDeletedRecordsOpt": 10, "numDeletionVectorsOpt": 1, "numTransactions": 1}, []),
        ({"numTransactions": 0}, ["numTransactions is 0, replay gives 1"]),
        ({"allFiles": LISTED[1:]}, ["allFiles lacks 1 live files and lists 0 that are not"]),
        ({"allFiles": [*LISTED, {"path": "z"}]}, ["allFiles lacks 0 live files and lists 1 that are not"]),
        ({"allFiles": LISTED}, []),
        ({"fileSizeHistogram": SIZES}, []),
        (
            {"histogramOpt": SIZES | {"fileCounts": [1, 1, 0]}},
            ["the histogram of sizes: fileCounts is [1, 1, 0], replay gives [0, 2, 0]"],
        ),
        (
            {"fileSizeHistogram": SIZES | {"totalBytes": [15, 0, 0]}, "histogramOpt": {**SIZES, "fileCounts": []}},
            ["the histogram of sizes: totalBytes is [15, 0, 0], replay gives [0, 15, 0]"],
        ),
        *(
            (
                {"fileSizeHistogram": SIZES | {name: numbers}},
                ["the arrays of the histogram of sizes have different lengths or do not begin at 0"],
            )
            for name, numbers in (
                ("sortedBinBoundaries", [1, 5, 11]), ("sortedBinBoundaries", [0, 5]), ("fileCounts", [2, 0]),
                ("totalBytes", [15]),
            )
        ),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 0, 1, *[0] * 7]}}, []),
        (
            {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0, 1, 1, *[0] * 7]}},
            [f"deletedRecordCounts is {[0, 1, 1, *[0] * 7]}, replay gives {[1, 0, 1, *[0] * 7]}"],
        ),
        ({"metadata": {"id": 3}}, ["Expected `str`, got `int` - at `$.id`"]),
        ({"numFiles": "2"}, ["Expected `int`, got `str` - at `$.numFiles`"]),
        ({"txnId": "t", "inCommitTimestampOpt": 4}, []),
    ],
)  # fmt: skip
def test_what_a_checksum_says_beside_what_is_live_is_told_in_full(change: dict[str, Any], details: list[str]) -> None:
    assert said(change) == details


def test_sizes_are_not_held_against_files_of_which_one_has_none() -> None:
    unsized = b'{"add":{"path":"u","partitionValues":{},"modificationTime":1,"dataChange":true}}'
    wrong = {"numFiles": 3, "tableSizeBytes": 1, "fileSizeHistogram": SIZES | {"fileCounts": [9, 9, 9]}}
    sizeless = said(wrong, unsized)
    assert [detail.partition(" has ")[0] for detail in sizeless] == ["the file u: It"]
    assert said({**wrong, "numFiles": 2}, unsized) == [*sizeless, "numFiles is 2, replay gives 3"]


def test_the_time_and_the_transaction_of_a_checksum_are_those_of_its_commit() -> None:
    info = commit_info(txn_id="t", in_commit_timestamp=5)
    other = {"txnId": "u", "inCommitTimestampOpt": 6}
    assert said(other, info) == ["inCommitTimestampOpt is 6, replay gives 5", "txnId is u, replay gives t"]
    assert said({"txnId": "t", "inCommitTimestampOpt": 5}, info) == []


def test_a_problem_of_a_checksum_names_its_file() -> None:
    store = log_of(HELD)
    store.put(checksum_name(0), b"{}")
    reason = "Object missing required field `tableSizeBytes`"
    assert verify(store).problems == (LogProblem("unreadable-checksum", 0, checksum_name(0), reason),)
    store.put(checksum_name(0), json.dumps(RIGHT | {"numMetadata": 2}).encode())
    detail = "numMetadata is 2, replay gives 1"
    assert verify(store).problems == (LogProblem("checksum-differs", 0, checksum_name(0), detail),)


# --- from the checksum before -----------------------------------------------------------------------------------------

AFTER = (remove("b%20c", size=10, vector=vector("v", 10)), add("d", size=7))


def step(change: dict[str, Any], *after: Any, vouched: bool = False, known: bool = False) -> VersionChecksum | None:
    """The checksum by the step, held against the one in full where there is one."""
    first, second = log_of(HELD), log_of(HELD, after)
    previous = json.loads(msgspec.json.encode(whole(first)[1])) | change
    data = json.dumps({name: item for name, item in previous.items() if item is not None}).encode()
    commit = decode_commit(second.read(commit_name(1)), 1, commit_name(1))
    state, meant = whole(second)
    segment = list_log(first).segment()
    live = (
        replay_files(checkpoint_reader(first, segment), list(read_commits(first, segment.commits))) if known else None
    )
    found = next_checksum(data, commit, state, live, vouched=vouched)
    assert found in (meant, None)
    return found


FULL = [{"path": "a", "size": 5}, {"path": "b%20c", "size": 10, "deletionVector": vector("v", 10)}]
ALL: dict[str, Any] = {"allFiles": msgspec.to_builtins(FULL)}
STALE = msgspec.structs.replace(add("a", size=6), data_change=False)
UNSIZED = b'{"add":{"path":"u","partitionValues":{},"modificationTime":1,"dataChange":true}}'


@pytest.mark.parametrize(
    ("change", "after", "way", "is_known"),
    [
        ({}, AFTER, {}, False),
        ({}, AFTER, {"vouched": True}, True),
        ({}, AFTER, {"known": True}, True),
        (ALL, AFTER, {}, True),
        ({"allFiles": ALL["allFiles"][:1]}, AFTER, {}, False),
        ({}, (SetTransaction(app_id="y", version=2),), {}, True),
        ({}, (), {"known": True}, True),
        ({}, (add("e", size=8192), add("f", size=8191), add("g", 0, size=0)), {"vouched": True}, True),
        ({}, (add("e", vector=vector("w", 9)), add("f", vector=vector("x", 100))), {"vouched": True}, True),
        ({}, (STALE,), {"vouched": True}, False),
        ({}, (STALE,), {"known": True}, True),
        (ALL, (STALE,), {}, True),
        ({}, (remove("a"), add("a", size=5, vector=vector("w", 3))), {"vouched": True}, True),
        ({}, (remove("a"),), {"vouched": True}, False),
        ({}, (remove("a"),), {"known": True}, True),
        ({}, (remove("b%20c"),), {"known": True}, True),
        ({}, (remove("b c", vector=vector("v", 10)),), {"known": True}, True),
        ({}, (remove("z"),), {"known": True}, True),
        ({}, (remove("a", size=5, data_change=False),), {"vouched": True}, False),
        ({}, (remove("a", size=5), remove("a", size=5, vector=vector("v"))), {"vouched": True}, False),
        ({}, (UNSIZED,), {"vouched": True}, False),
        ({}, (METADATA, PROTOCOL, add("d")), {"vouched": True}, True),
        ({"metadata": None}, AFTER, {"vouched": True}, False),
        ({"protocol": None}, AFTER, {"vouched": True}, False),
        ({"protocol": V2.to_wire()}, (MASKED, *AFTER), {"vouched": True}, True),
        ({"metadata": {"id": "other"}}, (METADATA, *AFTER), {"vouched": True}, True),
        ({"fileSizeHistogram": None}, AFTER, {"vouched": True}, False),
        ({"numDeletedRecordsOpt": None}, AFTER, {"vouched": True}, False),
        ({"numDeletionVectorsOpt": None}, AFTER, {"vouched": True}, False),
        ({"deletedRecordCountsHistogramOpt": None}, AFTER, {"vouched": True}, False),
        ({"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [2]}}, AFTER, {"vouched": True}, False),
    ],
)
def test_a_step_gives_what_the_whole_state_gives_or_nothing(
    change: dict[str, Any], after: tuple[Any, ...], way: dict[str, bool], is_known: bool
) -> None:
    assert (step(change, *after, **way) is not None) is is_known


def test_a_table_that_begins_to_mask_rows_had_none_masked_before() -> None:
    first = (PROTOCOL, METADATA, add("a", size=5))
    after = (MASKED, add("b", size=7, vector=vector("v", 10)))
    store = log_of(first, after)
    state, meant = whole(store)
    commit = decode_commit(store.read(commit_name(1)), 1, commit_name(1))
    found = next_checksum(msgspec.json.encode(whole(log_of(first))[1]), commit, state, vouched=True)
    assert found == meant
    assert found is not None
    assert found.deleted_record_counts_histogram_opt == MaskHistogram((1, 0, 1, *[0] * 7))
