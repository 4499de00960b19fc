"""A compaction compared with the commits that it replaces.

Protocol section: Log Compaction Files. Invariants: it has the newest action of each file and no other, and every
removal in force after its range, however old (COMPACT-002, COMPACT-005); the newest protocol and metadata of the range,
of each application its newest transaction, and of each domain its newest metadata. Where it begins at 0, a removal of a
file or a domain cancels nothing, and may be absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import TypeAlias, TypeVar

from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.replay import Reconciliation, read_commit_files
from explorer.core.log.table_state import same_metadata, same_protocol
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol, TransactionAction
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore

__all__ = ["compare_compaction"]

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
