"""What follows a commit so that the log stays quick to read and can be checked: its checksum, and the checkpoint due.

Protocol sections: Version Checksum File, Checkpoints, Last Checkpoint File. Invariants: the commit is made, whatever
happens here; no existing file is overwritten except the hint; the cost is bounded: a checksum comes from the one before
or from a small log, a checkpoint at the interval that the table asks for.
"""

from __future__ import annotations

from typing import Final

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import checksum_name, commit_name
from explorer.core.log.log_segment import CompleteCheckpoint
from explorer.core.log.replay import advance_state, checkpoint_reader, read_commits, replay_files
from explorer.core.log.table_state import TableState, VersionChecksum
from explorer.core.log.writing.checkpoint import WrittenCheckpoint, write_checkpoint
from explorer.core.log.writing.checkpoint_layout import checkpoint_due
from explorer.core.log.writing.checksum import next_checksum, version_checksum, write_checksum
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.context import Context
from explorer.core.versions.commit_times import moment
from explorer.core.versions.open_log.current import LogSource

_FEW: Final = 100
_SMALL_LOG: Final = 4 << 20
"""Up to how many bytes of commits and checkpoint a checksum without one before it is computed by replay."""


def follow_up(
    store: LogStore,
    version: int,
    data: bytes,
    before: TableState | None,
    context: Context,
    *,
    catalog: CommitCatalog | None = None,
) -> tuple[str, ...]:
    """Do what is due after a commit of this program that is published.

    Args:
        before: The small actions in force before it; None for version 0.
        catalog: The catalog that ratifies the commits; None if there is none. So below.

    Returns:
        What went wrong, in words.
    """
    notes = []
    try:
        commit = decode_commit(data, version, commit_name(version))
        state = advance_state(before, [commit], version)
    except Exception as error:  # noqa: BLE001 - the commit is made, and no failure after it may hide that
        return (f"Neither the checksum nor the checkpoint of version {version} could be written: {error}",)
    try:
        _checksum(LogSource.of(store, catalog), commit, state)
    except Exception as error:  # noqa: BLE001 - as above
        notes.append(f"The checksum of version {version} could not be written: {error}")
    try:
        if checkpoint_due(state.metadata.configuration, version):
            new_checkpoint(store, version, context, catalog)
    except Exception as error:  # noqa: BLE001 - as above
        notes.append(f"The checkpoint of version {version} could not be written: {error}")
    return tuple(notes)


def new_checkpoint(
    store: LogStore, version: int, context: Context, catalog: CommitCatalog | None = None
) -> WrittenCheckpoint:
    """Write the checkpoint of a version, and the hint that names it.

    Raises:
        UnsupportedFeature: The table has a feature that could make a checkpoint lack something.
        TableError: The log is broken.
        StorageError: The store failed.
    """
    now, source = moment(context.clock()), LogSource.of(store, catalog)
    try:
        listing = source.newest()
        return write_checkpoint(store, listing, version, now=now, new_uuid=context.new_uuid)
    except IncompleteCheckpoint as error:
        if error.version is None:
            raise
        # An older checkpoint, or the commits, may give the same state.
        listing = source.all().without_checkpoints({error.version})
        return write_checkpoint(store, listing, version, now=now, new_uuid=context.new_uuid)


def repaired_checkpoint(
    store: LogStore, checkpoint: CompleteCheckpoint, context: Context, catalog: CommitCatalog | None = None
) -> WrittenCheckpoint:
    """Write a checkpoint again that does not hold what the commits give, and keep what was there under other names.

    Raises:
        UnsupportedFeature: As for `new_checkpoint`; so the errors below.
        TableError: The log is broken.
        StorageError: The store failed.
    """
    listing = LogSource.of(store, catalog).all().without_checkpoints({checkpoint.version})
    now = moment(context.clock())
    return write_checkpoint(
        store, listing, checkpoint.version, now=now, new_uuid=context.new_uuid, instead_of=checkpoint
    )


def _checksum(source: LogSource, commit: Commit, state: TableState) -> None:
    checksum = None
    if commit.version > 0:
        try:
            previous = source.store.read(checksum_name(commit.version - 1))
            checksum = next_checksum(previous, commit, state, vouched=True)
        except FileNotFoundError:
            pass
    checksum = checksum or _checksum_in_full(source, commit, state)
    if checksum is not None:
        write_checksum(source.store, commit.version, checksum)


def _checksum_in_full(source: LogSource, commit: Commit, state: TableState) -> VersionChecksum | None:
    """Return the checksum by replay, if the log of the version is small."""
    if commit.version == 0:
        return version_checksum(state, replay_files(None, [commit]), commit.commit_info())
    if commit.version > _FEW and not checkpoint_due(state.metadata.configuration, commit.version):
        return None  # a long log is listed when its checkpoint is due, not for this at every commit
    store, segment = source.store, source.newest().segment(commit.version)
    parts = () if segment.checkpoint is None else segment.checkpoint.parts
    if sum(path.size for path in (*parts, *segment.commits)) > _SMALL_LOG:
        return None
    files = replay_files(checkpoint_reader(store, segment), read_commits(store, segment.commits))
    return version_checksum(state, files, commit.commit_info())
