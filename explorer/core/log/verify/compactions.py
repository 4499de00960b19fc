"""A compaction compared with the commits that it stands for.

Protocol section: Log Compaction Files. Invariants: it holds the newest action of each file and no other, and every
removal in force after its range, however old (COMPACT-002, COMPACT-005); the newest protocol and metadata of the range,
of each application its newest transaction, and of each domain its newest metadata. Where it begins at 0, a removal of a
file or a domain has nothing left to cancel, and may be absent.
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
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore

__all__ = ["compare_compaction"]

_File: TypeAlias = tuple[str, str | None]
"""Path and deletion-vector id."""
_T = TypeVar("_T")


def compare_compaction(store: LogStore, path: LogPath, commits: Sequence[LogPath]) -> Iterator[str]:
    """Yield what a compaction says and its commits do not.

    Args:
        store: Where the log is.
        path: The compaction.
        commits: Every commit of its range, ascending.

    Raises:
        FileNotFoundError: It vanished.
        TableError: It, or a commit, cannot be decoded or vanished.
    """
    stated = decode_commit(store.read(path.path), path.last_version, path.path)
    replayed, small = Reconciliation(), _Small()
    for path_of, data in read_commit_files(store, commits):
        commit = decode_commit(data, path_of.version, path_of.path)
        replayed.apply(commit)
        small.take(commit)
    adds = [(canonical_key(line.add.path), line.add.vector_id) for line in stated.lines if line.add is not None]
    removes = [
        (canonical_key(line.remove.path), line.remove.vector_id) for line in stated.lines if line.remove is not None
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
    said = _Small()
    said.take(stated)
    yield from said.differences(small, since_creation=path.version == 0)


@dataclass
class _Small:
    """The newest small actions of some commits."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)

    def take(self, commit: Commit) -> None:
        """Take the actions of a later commit."""
        self.protocol = commit.protocol() or self.protocol
        self.metadata = commit.metadata() or self.metadata
        self.transactions.update((txn.app_id, txn) for txn in commit.transactions())
        self.domains.update((domain.domain, domain) for domain in commit.domains())

    def differences(self, commits: _Small, *, since_creation: bool) -> Iterator[str]:
        """Yield where these, of a compaction, are not those of its commits."""
        yield from _difference("protocol", self.protocol, commits.protocol, same_protocol)
        yield from _difference("metaData", self.metadata, commits.metadata, same_metadata)
        for name, txn, newest in _pairs(self.transactions, commits.transactions):
            yield from _difference(f"transaction of {name!r}", txn, newest, _same_batch)
        for name, domain, last in _pairs(self.domains, commits.domains):
            if domain is not None or last is None or not (since_creation and last.removed):
                yield from _difference(f"metadata of the domain {name!r}", domain, last, eq)


def _difference(what: str, stated: _T | None, left: _T | None, alike: Callable[[_T, _T], bool]) -> Iterator[str]:
    if stated is None and left is not None:
        yield f"it has no {what}, and the commits of the range leave one"
    elif stated is not None and left is None:
        yield f"it has a {what}, and the commits of the range leave none"
    elif stated is not None and left is not None and not alike(stated, left):
        yield f"its {what} is not the newest of the range"


def _same_batch(one: SetTransaction, other: SetTransaction) -> bool:
    """The time of an action may be that of the compaction."""
    return one.version == other.version


def _pairs(one: Mapping[str, _T], other: Mapping[str, _T]) -> Iterator[tuple[str, _T | None, _T | None]]:
    for name in sorted({*one, *other}):
        yield name, one.get(name), other.get(name)


def _files(found: Sequence[_File] | set[_File]) -> str:
    """How many, one of them, and the verb."""
    least = min(path for path, _ in found)
    return f"{least} has" if len(found) == 1 else f"{len(found)} files, such as {least}, have"
