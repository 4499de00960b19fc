"""A checkpoint compared with what the commits before it give.

Protocol sections: Checkpoints, Action Reconciliation. Invariant: only a version that can be rebuilt without its
checkpoint proves it, or proves it wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from explorer.core.errors import IncompleteCheckpoint, VersionGap, VersionNotFound
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.log_segment import Checkpoint, LogListing, LogSegment
from explorer.core.log.replay import checkpoint_reader, read_commits
from explorer.core.log.table_state import same_metadata, same_protocol
from explorer.core.log.verify.file_numbers import differing_numbers
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles

__all__ = ["checkpoint_faults", "differences"]


def checkpoint_faults(store: LogStore, listing: LogListing, checkpoint: Checkpoint) -> tuple[str, ...] | None:
    """Find what is wrong with a checkpoint, by the log without it.

    Args:
        store: The table's store.
        listing: The whole log.
        checkpoint: One of its checkpoints.

    Returns:
        Each fault, none if there is none; None if its version cannot be rebuilt without it.

    Raises:
        TableError: The rest of the log is broken.
    """
    try:
        segment = listing.without_checkpoints({checkpoint.version}).segment(checkpoint.version)
        replayed = _replayed(store, segment)
    except (VersionGap, VersionNotFound, IncompleteCheckpoint):
        return None
    try:
        stated = _stated(CheckpointReader(store, checkpoint))
    except IncompleteCheckpoint as error:
        return (error.message,)
    return tuple(differences(stated, replayed))


def _stated(reader: CheckpointReader) -> RunningState:
    small, found = reader.state(), RunningState()
    found.take(LogicalFiles(reader.files()))
    found.protocol, found.metadata = small.protocol, small.metadata
    found.transactions, found.domains = dict(small.transactions), dict(small.domains)
    return found


def _replayed(store: LogStore, segment: LogSegment) -> RunningState:
    base = checkpoint_reader(store, segment)
    found = RunningState() if base is None else _stated(base)
    for commit in read_commits(store, segment.commits):
        for _ in found.apply(commit):
            pass
    return found


def differences(checkpoint: RunningState, replayed: RunningState) -> Iterator[str]:
    """What a checkpoint holds and replay does not, and the reverse."""
    extra = checkpoint.files.keys() - replayed.files.keys()
    lacking = replayed.files.keys() - checkpoint.files.keys()
    if extra:
        yield f"it holds {len(extra)} files that are not live, such as {min(extra)}"
    if lacking:
        yield f"it lacks {len(lacking)} live files, such as {min(lacking)}"
    changed = [
        key for key in checkpoint.files.keys() & replayed.files.keys() if checkpoint.files[key] != replayed.files[key]
    ]
    if changed:
        key = min(changed)
        stated, found = _said(checkpoint, key), _said(replayed, key)
        yield f"{len(changed)} files differ, such as {key}: {stated}, replay gives {found}"
    for name, count, key, number, expected in differing_numbers(checkpoint.numbers, replayed.numbers):
        yield f"{name} of {count} files differs, such as {key}: {number}, replay gives {expected}"
    if checkpoint.protocol is not None and (
        replayed.protocol is None or not same_protocol(checkpoint.protocol, replayed.protocol)
    ):
        yield "its protocol is not the one in force"
    if checkpoint.metadata is not None and (
        replayed.metadata is None or not same_metadata(checkpoint.metadata, replayed.metadata)
    ):
        yield "its metaData is not the one in force"
    for what, one, other in (
        ("transactions", _versions(checkpoint), _versions(replayed)),
        ("domains", _configurations(checkpoint), _configurations(replayed)),
    ):
        if one != other:
            yield f"its {what} are {sorted(one.items())[:5]}, replay gives {sorted(other.items())[:5]}"


def _said(state: RunningState, key: str) -> str:
    file = state.files[key]
    masked = "" if file.vector_id is None else f", {file.masked:,} rows masked by {file.vector_id}"
    return f"{'unknown' if file.size is None else f'{file.size:,}'} bytes{masked}"


def _versions(state: RunningState) -> dict[str, int]:
    return {app: txn.version for app, txn in state.transactions.items()}


def _configurations(state: RunningState) -> dict[str, str]:
    return {name: domain.configuration for name, domain in state.domains.items()}
