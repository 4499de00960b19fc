"""A checkpoint compared with the result of the commits before it, and its own numbers with its contents.

Protocol sections: Checkpoints, V2 Spec, Sidecar Files, Checkpoint Metadata, Action Reconciliation. Invariants: only a
version that can be rebuilt without its checkpoint proves it, or proves it wrong; missing numbers contradict nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from explorer.core.errors import IncompleteCheckpoint, VersionGap, VersionNotFound
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing, LogSegment
from explorer.core.log.replay import checkpoint_reader, read_commits
from explorer.core.log.table_state import same_metadata, same_protocol
from explorer.core.log.verify.file_numbers import differing_numbers
from explorer.core.log.verify.running_state import RunningState
from explorer.core.protocol.file_paths import is_absolute
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles


def checkpoint_faults(store: LogStore, listing: LogListing, checkpoint: CompleteCheckpoint) -> tuple[str, ...] | None:
    """Return the faults of a checkpoint, by the log without it.

    Returns:
        Each fault, none if there is none; None if its version cannot be rebuilt without it.

    Raises:
        TableError: The rest of the log is damaged.
    """
    try:
        segment = listing.without_checkpoints({checkpoint.version}).segment(checkpoint.version)
        replayed = _replayed(store, segment)
    except (VersionGap, VersionNotFound, IncompleteCheckpoint):
        return None
    try:
        checkpoint_state = _checkpoint_state(CheckpointReader(store, checkpoint))
    except IncompleteCheckpoint as error:
        return (error.message,)
    return tuple(differences(checkpoint_state, replayed))


def compare_numbers(store: LogStore, reader: CheckpointReader, version: int, num_adds: int) -> Iterator[str]:
    """Yield each number that a checkpoint records of itself and of its sidecars wrongly.

    Raises:
        IncompleteCheckpoint: It cannot be read.
    """
    sidecars = reader.sidecars()
    size = 0
    for key, sidecar in sidecars:
        holder, stored_key = store.elsewhere(key) if is_absolute(key) else (store, key)
        num_bytes = holder.head(stored_key).size
        size += num_bytes
        if num_bytes != sidecar.size_in_bytes:
            yield f"the sidecar {key} has {num_bytes:,} bytes, but {sidecar.size_in_bytes:,} by its action"
    for metadata in reader.checkpoint_metadata():
        if metadata.get("version") not in {None, version}:
            yield f"its checkpointMetadata is of version {metadata['version']}"
        tags = metadata.get("tags")
        if isinstance(tags, Mapping):
            yield from _tags(dict(tags.items()), {"numOfAddFiles": num_adds, "sidecarSizeInBytes": size})


def _checkpoint_state(reader: CheckpointReader) -> RunningState:
    small, state = reader.state(), RunningState()
    state.take(LogicalFiles(reader.files()))
    state.protocol, state.metadata = small.protocol, small.metadata
    state.transactions, state.domains = dict(small.transactions), dict(small.domains)
    return state


def _replayed(store: LogStore, segment: LogSegment) -> RunningState:
    base = checkpoint_reader(store, segment)
    state = RunningState() if base is None else _checkpoint_state(base)
    for commit in read_commits(store, segment.commits):
        for _ in state.apply(commit):
            pass
    return state


def differences(checkpoint: RunningState, replayed: RunningState) -> Iterator[str]:
    """Yield contents of a checkpoint that replay does not give, and the reverse."""
    extra = checkpoint.files.keys() - replayed.files.keys()
    lacking = replayed.files.keys() - checkpoint.files.keys()
    if extra:
        yield f"it contains {len(extra)} files that are not live, such as {min(extra)}"
    if lacking:
        yield f"it lacks {len(lacking)} live files, such as {min(lacking)}"
    changed = [
        key for key in checkpoint.files.keys() & replayed.files.keys() if checkpoint.files[key] != replayed.files[key]
    ]
    if changed:
        key = min(changed)
        in_checkpoint, in_replay = _file_facts(checkpoint, key), _file_facts(replayed, key)
        yield f"{len(changed)} files differ, such as {key}: {in_checkpoint}, replay gives {in_replay}"
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


def _file_facts(state: RunningState, key: str) -> str:
    file = state.files[key]
    masked = "" if file.vector_id is None else f", {file.masked:,} rows masked by {file.vector_id}"
    return f"{'unknown' if file.size is None else f'{file.size:,}'} bytes{masked}"


def _versions(state: RunningState) -> dict[str, int]:
    return {app: txn.version for app, txn in state.transactions.items()}


def _configurations(state: RunningState) -> dict[str, str]:
    return {name: domain.configuration for name, domain in state.domains.items()}


def _tags(recorded: Mapping[str, object], actual: Mapping[str, int]) -> Iterator[str]:
    for name, number in actual.items():
        if name in recorded and recorded[name] != str(number):
            yield f"{name} in its checkpointMetadata is {str(recorded[name])[:40]}, it has {number:,}"
