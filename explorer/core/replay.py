"""Action reconciliation: a log segment -> the state of the table.

Protocol section: Action Reconciliation. Invariants: the newest file action for a key (path, deletion-vector id) wins
(REPLAY-003) and a path is live with at most one vector, the newest added (D-03); the newest protocol, metadata,
transaction per application and domain win (REPLAY-001, TXN-001, REPLAY-008); change files and provenance never
matter (REPLAY-009, REPLAY-011).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from explorer.core.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from explorer.core.checkpoints import open_checkpoint_files, read_checkpoint_state
from explorer.core.commits import AddLine, Commit, decode_commit
from explorer.core.errors import CorruptTable, VersionGap
from explorer.core.log_segment import LogSegment
from explorer.core.logical_files import FileSource, LineSource, LogicalFiles
from explorer.core.paths import LogPath
from explorer.core.ports import LogStore
from explorer.core.uris import canonical_key

__all__ = ["TableState", "read_commits", "replay_files", "replay_state"]

_BATCH = 1024


class TableState(msgspec.Struct, frozen=True):
    """The small actions in force at a version."""

    protocol: Protocol
    metadata: Metadata
    transactions: dict[str, SetTransaction]
    domains: dict[str, DomainMetadata]


def read_commits(store: LogStore, paths: Iterable[LogPath]) -> Iterator[Commit]:
    """Read and decode commits in the order given, some at a time.

    Raises:
        VersionGap: A commit vanished since it was listed.
        MalformedAction: A line is broken.
    """
    wanted = list(paths)
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        try:
            contents = store.read_many([path.path for path in batch])
        except FileNotFoundError as error:
            raise VersionGap(
                f"A commit between versions {batch[0].version} and {batch[-1].version} vanished while the log was "
                f"read ({error}). The log is being cleaned up: open the table again.",
                vanished=True,
                earliest=batch[0].version,
                latest=batch[-1].version,
            ) from error
        for path, data in zip(batch, contents, strict=True):
            yield decode_commit(data, path.version, path.path)


def replay_state(store: LogStore, segment: LogSegment, commits: Iterable[Commit]) -> TableState:
    """Reconcile the small actions.

    Args:
        store: The table's store, for the checkpoint.
        segment: The files of the version.
        commits: The segment's commits, ascending.

    Raises:
        CorruptTable: There is no protocol or no metadata by the end (LOG-021, D-30).
    """
    base = read_checkpoint_state(store, segment.checkpoint) if segment.checkpoint else None
    protocol: Protocol | None = base.protocol if base else None
    metadata: Metadata | None = base.metadata if base else None
    transactions = dict(base.transactions) if base else {}
    domains = dict(base.domains) if base else {}
    for commit in commits:
        protocol = commit.protocol() or protocol
        metadata = commit.metadata() or metadata
        transactions.update((txn.app_id, txn) for txn in commit.transactions())
        for domain in commit.domains():
            if domain.removed:
                domains.pop(domain.domain, None)
            else:
                domains[domain.domain] = domain
    if protocol is None or metadata is None:
        lacking = "protocol" if protocol is None else "metaData"
        raise CorruptTable(
            f"No {lacking} action is in the log up to version {segment.version}; without it the table has no meaning. "
            "The log was written by a broken client or its first commit was changed.",
            version=segment.version,
        )
    return TableState(protocol, metadata, transactions, domains)


def replay_files(store: LogStore, segment: LogSegment, commits: Iterable[Commit]) -> LogicalFiles:
    """Reconcile the file actions to the live files.

    Files of the checkpoint come first in its order, then those added since in the order of their commits.
    """
    live: dict[str, AddLine] = {}
    added: set[str] = set()
    removed: set[tuple[str, str | None]] = set()
    for commit in commits:
        for place, line in enumerate(commit.lines):
            if (add := line.add) is not None:
                if line.remove is not None:
                    raise commit.two_actions(place)
                key = canonical_key(add.path)
                live.pop(key, None)
                live[key] = add
                added.add(key)
            elif (remove := line.remove) is not None:
                key = canonical_key(remove.path)
                current = live.get(key)
                if current is not None and current.vector_id == remove.vector_id:
                    del live[key]
                removed.add((key, remove.vector_id))
    sources: list[FileSource] = []
    if segment.checkpoint is not None:
        opened = open_checkpoint_files(store, segment.checkpoint)
        sources += [_survivors(source, added, removed) for source in opened]
    # A source more costs a copy of the columns of all others, so there is none without files.
    return LogicalFiles([*sources, LineSource(list(live.values()))] if live or not sources else sources)


def _survivors(source: FileSource, added: set[str], removed: set[tuple[str, str | None]]) -> FileSource:
    """The files of a checkpoint that no later action replaced or removed."""
    touched = added | {key for key, _ in removed}
    if not touched:
        return source
    found = source.find(touched)
    return source.without([place for place, key, vector_id in found if key in added or (key, vector_id) in removed])
