"""Checksums and compactions compared with the result of replay, and with the commits that they replace.

Protocol sections: Version Checksum File, Log Compaction Files. Invariants: of a checksum required fields are compared,
optional ones where they exist (CRC-007); a number that replay does not know contradicts nothing. A compaction has the
newest action of each file and no other, and every removal in force after its range, however old (COMPACT-002,
COMPACT-005); the newest protocol and metadata of the range, of each application its newest transaction, and of each
domain its newest metadata. If it begins at 0, a removal of a file or a domain cancels nothing, and may be absent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import TypeAlias, TypeVar

import msgspec

from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.replay import Reconciliation, read_commit_files
from explorer.core.log.table_state import (
    MASK_BINS,
    ListedFile,
    MaskHistogram,
    RecordedFile,
    SizeHistogram,
    VersionChecksum,
    decode_checksum,
    same_metadata,
    same_protocol,
)
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.actions import CommitInfo, DomainMetadata, Metadata, Protocol, TransactionAction
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore


def compare_checksum(data: bytes, state: RunningState, info: CommitInfo | None) -> Iterator[str]:
    """Yield contents of a checksum file that replay does not give.

    Args:
        data: The file's bytes.

    Raises:
        ValueError: The file is not a checksum; the text has the reason.
    """
    checksum = decode_checksum(data)
    try:
        yield from _numbers(checksum, state)
        yield from _records(checksum, state)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if state.num_unsized == 0:
        yield from _sizes(checksum.file_size_histogram or checksum.histogram_opt, state)
    yield from _masks(checksum.deleted_record_counts_histogram_opt, state)
    yield from _listed(checksum.all_files, state)
    if info is not None:
        yield from _differs("inCommitTimestampOpt", checksum.in_commit_timestamp_opt, info.in_commit_timestamp)
        yield from _differs("txnId", checksum.txn_id, info.txn_id)


def lacking_files(data: bytes, files: int) -> str:
    """Return how many files are lost by a checksum: more than a number that only a checkpoint gives; empty if none.

    Args:
        data: The file's bytes.
        files: The number of live files of its version, by the checkpoint before it.

    Raises:
        ValueError: The file is not a checksum; the text has the reason.
    """
    recorded = decode_checksum(data).num_files
    return f"numFiles is {recorded:,}, the checkpoint gives {files:,}" if recorded > files else ""


def compare_totals(data: bytes, protocol: Protocol, metadata: Metadata, files: int, size: int | None) -> Iterator[str]:
    """Yield contents of a checksum file that a version does not have, as far as clients that open it rely on them.

    Args:
        data: The file's bytes.
        protocol, metadata: Those in force.
        files: The number of live files.
        size: Their size in bytes; None if not known.

    Raises:
        ValueError: The file is not a checksum; the text has the reason.
    """
    checksum = decode_checksum(data)
    try:
        yield from _definitions(checksum, protocol, metadata)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    yield from _differs("numFiles", checksum.num_files, files)
    yield from _differs("tableSizeBytes", checksum.table_size_bytes, size)


def _numbers(checksum: VersionChecksum, state: RunningState) -> Iterator[str]:
    yield from _differs("numFiles", checksum.num_files, len(state.files))
    yield from _differs("tableSizeBytes", checksum.table_size_bytes, None if state.num_unsized else state.num_bytes)
    yield from _differs("numMetadata", checksum.num_metadata, 1)
    yield from _differs("numProtocol", checksum.num_protocol, 1)
    masked = sum(cardinality * count for cardinality, count in state.masks.items())
    yield from _differs("numDeletedRecordsOpt", checksum.num_deleted_records_opt, masked)
    yield from _differs("numDeletionVectorsOpt", checksum.num_deletion_vectors_opt, sum(state.masks.values()))
    yield from _differs("numTransactions", checksum.num_transactions, len(state.transactions))


def _records(checksum: VersionChecksum, state: RunningState) -> Iterator[str]:
    yield from _definitions(checksum, state.protocol, state.metadata)
    if checksum.set_transactions is not None:
        versions = {txn.app_id: txn.version for txn in map(TransactionAction.from_wire, checksum.set_transactions)}
        yield from _differs("setTransactions", versions, {app: txn.version for app, txn in state.transactions.items()})
    if checksum.domain_metadata is not None:
        domains = {
            domain.domain: domain.configuration for domain in map(DomainMetadata.from_wire, checksum.domain_metadata)
        }
        live = {name: domain.configuration for name, domain in state.domains.items()}
        yield from _differs("domainMetadata", domains, live)


def _definitions(checksum: VersionChecksum, protocol: Protocol | None, metadata: Metadata | None) -> Iterator[str]:
    recorded = None if checksum.metadata is None else Metadata.from_wire(checksum.metadata)
    if recorded is not None and metadata is not None and not same_metadata(recorded, metadata):
        yield "metadata is not the one in force"
    rules = None if checksum.protocol is None else Protocol.from_wire(checksum.protocol)
    if rules is not None and protocol is not None and not same_protocol(rules, protocol):
        yield "protocol is not the one in force"


def _sizes(histogram: SizeHistogram | None, state: RunningState) -> Iterator[str]:
    if histogram is None:
        return
    bounds = histogram.sorted_bin_boundaries
    if not len(bounds) == len(histogram.file_counts) == len(histogram.total_bytes) or bounds[:1] != (0,):
        yield "the arrays of the histogram of sizes have different lengths or do not begin at 0"
        return
    counts, totals = [0] * len(bounds), [0] * len(bounds)
    for file in state.files.values():
        place = bisect_right(bounds, file.size or 0) - 1
        counts[place] += 1
        totals[place] += file.size or 0
    yield from _differs("the histogram of sizes: fileCounts", list(histogram.file_counts), counts)
    yield from _differs("the histogram of sizes: totalBytes", list(histogram.total_bytes), totals)


def _masks(counts: MaskHistogram | None, state: RunningState) -> Iterator[str]:
    if counts is None:
        return
    bins = [0] * len(MASK_BINS)
    for cardinality, count in state.masks.items():
        bins[bisect_right(MASK_BINS, cardinality) - 1] += count
    bins[0] += len(state.files) - sum(state.masks.values())
    yield from _differs("deletedRecordCounts", list(counts.deleted_record_counts), bins)


def _listed(files: Sequence[ListedFile] | None, state: RunningState) -> Iterator[str]:
    if files is None:
        return
    paths = {canonical_key(file.path) for file in files}
    if paths != set(state.files):
        lacking, extra = len(set(state.files) - paths), len(paths - set(state.files))
        yield f"allFiles lacks {lacking} live files and lists {extra} that are not"
    differing = sorted(key for file in files if _is_other(file, state.files.get(key := canonical_key(file.path))))
    if differing:
        yield f"allFiles has another size or deletion vector of {len(differing)} live files, such as {differing[0]}"


def _is_other(file: ListedFile, live: RecordedFile | None) -> bool:
    """Return whether a live file differs from its entry in the checksum; without a size, only the path counts."""
    if live is None or file.size is None:
        return False
    vector = file.deletion_vector
    masks = (None, 0) if vector is None else (vector.unique_id, vector.cardinality)
    return masks != (live.vector_id, live.masked) or live.size not in {None, file.size}


def _differs(name: str, recorded: object, replayed: object) -> Iterator[str]:
    if recorded is not None and replayed is not None and recorded != replayed:
        yield f"{name} is {_short(recorded)}, replay gives {_short(replayed)}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."


_File: TypeAlias = tuple[str, str | None]
"""Path and deletion-vector id."""
_T = TypeVar("_T")


def compare_compaction(store: LogStore, path: LogPath, commits: Sequence[LogPath]) -> Iterator[str]:
    """Yield differences between a compaction and its commits.

    Args:
        commits: Every commit of its range, ascending.

    Raises:
        FileNotFoundError: It vanished.
        TableError: It, or a commit, cannot be decoded or vanished.
    """
    compacted = decode_commit(store.read(path.path), path.last_version, path.path)
    replayed, small = Reconciliation(), _Small()
    for path_of, data in read_commit_files(store, commits):
        commit = decode_commit(data, path_of.version, path_of.path)
        replayed.apply(commit)
        small.take(commit)
    adds = [(canonical_key(line.add.path), line.add.vector_id) for line in compacted.lines if line.add is not None]
    removes = [
        (canonical_key(line.remove.path), line.remove.vector_id) for line in compacted.lines if line.remove is not None
    ]
    live = {(key, add.vector_id) for key, add in replayed.live.items()}
    repeated = [file for file, count in Counter([*adds, *removes]).items() if count > 1]
    if repeated:
        yield f"it is not reconciled: {_files(repeated)} more than one action"
    if extra := set(adds) - live:
        yield f"{_files(extra)} an add, and the commits of the range leave none"
    if lacking := live - set(adds):
        yield f"{_files(lacking)} no add, and the commits of the range leave one"
    if path.version > 0 and (lost := replayed.removed.keys() - set(removes)):
        yield f"{_files(lost)} no remove, and the commits of the range leave one"
    compacted_small = _Small()
    compacted_small.take(compacted)
    yield from compacted_small.differences(small, since_creation=path.version == 0)


@dataclass
class _Small:
    """The newest small actions of some commits."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, TransactionAction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)

    def take(self, commit: Commit) -> None:
        """Take the actions of a later commit."""
        self.protocol = commit.protocol() or self.protocol
        self.metadata = commit.metadata() or self.metadata
        self.transactions.update((txn.app_id, txn) for txn in commit.transactions())
        self.domains.update((domain.domain, domain) for domain in commit.domains())

    def differences(self, commits: _Small, *, since_creation: bool) -> Iterator[str]:
        """Yield the differences of these, of a compaction, from those of its commits."""
        yield from _difference("protocol", self.protocol, commits.protocol, same_protocol)
        yield from _difference("metaData", self.metadata, commits.metadata, same_metadata)
        for name, txn, newest in _pairs(self.transactions, commits.transactions):
            yield from _difference(f"transaction of {name!r}", txn, newest, _same_batch)
        for name, domain, last in _pairs(self.domains, commits.domains):
            if domain is not None or last is None or not (since_creation and last.removed):
                yield from _difference(f"metadata of the domain {name!r}", domain, last, eq)


def _difference(what: str, compacted: _T | None, newest: _T | None, equal: Callable[[_T, _T], bool]) -> Iterator[str]:
    if compacted is None and newest is not None:
        yield f"it has no {what}, and the commits of the range leave one"
    elif compacted is not None and newest is None:
        yield f"it has a {what}, and the commits of the range leave none"
    elif compacted is not None and newest is not None and not equal(compacted, newest):
        yield f"its {what} is not the newest of the range"


def _same_batch(one: TransactionAction, other: TransactionAction) -> bool:
    """Return whether two transactions are equal; the time of an action may be that of the compaction."""
    return one.version == other.version


def _pairs(one: Mapping[str, _T], other: Mapping[str, _T]) -> Iterator[tuple[str, _T | None, _T | None]]:
    for name in sorted({*one, *other}):
        yield name, one.get(name), other.get(name)


def _files(files: Sequence[_File] | set[_File]) -> str:
    """Return the number of files, one of them, and the verb."""
    first = min(path for path, _ in files)
    return f"{first} has" if len(files) == 1 else f"{len(files)} files, such as {first}, have"
