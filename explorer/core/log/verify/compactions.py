"""A compaction compared with the commits that it stands for.

Protocol section: Log Compaction Files. Invariants: it holds the newest action of each file and no other, and every
removal in force after its range, however old (COMPACT-002, COMPACT-005). Where it begins at 0, a removal has nothing
left to cancel, and may be absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from explorer.core.log.commit import decode_commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.replay import Reconciliation, read_commit_files
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore

__all__ = ["compare_compaction"]

_File: TypeAlias = tuple[str, str | None]
"""Path and deletion-vector id."""


def compare_compaction(store: LogStore, path: LogPath, commits: Sequence[LogPath]) -> Iterator[str]:
    """Yield what a compaction says of files and its commits do not.

    Args:
        store: Where the log is.
        path: The compaction.
        commits: Every commit of its range, ascending.

    Raises:
        FileNotFoundError: It vanished.
        TableError: It, or a commit, cannot be decoded or vanished.
    """
    stated = decode_commit(store.read(path.path), path.last_version, path.path)
    replayed = Reconciliation()
    for commit, data in read_commit_files(store, commits):
        replayed.apply(decode_commit(data, commit.version, commit.path))
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


def _files(found: Sequence[_File] | set[_File]) -> str:
    """How many, one of them, and the verb."""
    least = min(path for path, _ in found)
    return f"{least} has" if len(found) == 1 else f"{len(found)} files, such as {least}, have"
