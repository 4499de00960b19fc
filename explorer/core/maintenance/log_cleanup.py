"""Which files of the log may go, and in which order.

Protocol sections: Metadata Cleanup, Checkpoint Protection. Invariants: nothing goes unless a readable checkpoint
replaces it (CKPT-029, CLEANUP-002); that checkpoint and its commit stay, so the log still begins with a
checkpoint (CLEANUP-005); a protected history goes all at once or not at all (CKPTPROT-001); commits go before the
checkpoints that they build on (CKPTPROT-003), and what names a sidecar before the sidecar.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from explorer.core.errors import RequestError, TableError, UnsupportedFeature
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.log_path import LOG_FOLDER, SIDECAR_FOLDER, STAGED_FOLDER, LogFileKind, LogPath, parse_log_name
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing, arrange_log
from explorer.core.log.table_state import TableState
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_features import CATALOG_FEATURES, active_features
from explorer.core.protocol.table_properties.registry import CHECKPOINT_PROTECTION, EXPIRED_LOG_CLEANUP, LOG_RETENTION
from explorer.core.protocol.times import milliseconds, span_milliseconds
from explorer.core.versions.retention.expiry import file_times

_DAY: Final = 86_400_000
_ORDER: Final = (
    LogFileKind.STAGED_COMMIT,
    LogFileKind.COMMIT,
    LogFileKind.CHECKSUM,
    LogFileKind.COMPACTION,
    LogFileKind.CLASSIC_CHECKPOINT,
    LogFileKind.MULTI_PART_CHECKPOINT,
    LogFileKind.UUID_CHECKPOINT,
)
"""The order in which kinds of files go."""


class CleanupFile(msgspec.Struct, frozen=True):
    """A file that may go: its key, its size in bytes, what it is, and the version it is about (None for a sidecar)."""

    path: str
    size: int
    kind: str
    version: int | None


class CleanupPlan(msgspec.Struct, frozen=True):
    """What a clean-up would do.

    Attributes:
        cutoff: The time before which the log may go, ms since the epoch.
        own_cutoff: The same by the table's own retention; None where the table keeps its expired log.
        files: What goes, in the order in which it has to go.
        first_version: The oldest version that can be read afterwards.
        lost: First and last version that can be read now but not afterwards; None if there are none.
        reason: Why nothing goes, or why sidecars stay that no checkpoint names; otherwise empty.
    """

    cutoff: int
    own_cutoff: int | None
    files: tuple[CleanupFile, ...]
    first_version: int
    lost: tuple[int, int] | None
    reason: str

    @property
    def size_in_bytes(self) -> int:
        """How many bytes it frees."""
        return sum(file.size for file in self.files)

    @property
    def within_retention(self) -> bool:
        """Whether the table's own retention lets all of it go."""
        return not self.files or (self.own_cutoff is not None and self.cutoff <= self.own_cutoff)


def plan_cleanup(
    store: LogStore, state: TableState, now: datetime, older_than: datetime | timedelta | None = None
) -> CleanupPlan:
    """Find the log files that may go.

    Args:
        store: The table's store; its log is listed again.
        now: The present, with a zone.
        older_than: How old the log must be to go: a time, used unchanged, or a duration, counted as the
            table's own retention is: to the last midnight, UTC. None for ``delta.logRetentionDuration``, with which
            nothing goes where ``delta.enableExpiredLogCleanup`` is false.

    Raises:
        RequestError: A time has no zone.
        UnsupportedFeature: A catalog manages the table.
        TableError: The log is broken, or a property has no readable value.
    """
    _check_managed(state)
    own = _own_cutoff(state, now)
    cutoff = _cutoff(state, now, older_than)
    paths = _log_paths(store)
    listing = arrange_log(paths)
    first = listing.earliest()
    nothing = partial(CleanupPlan, cutoff, own, (), first, None)
    if older_than is None and own is None:
        return nothing(f"{EXPIRED_LOG_CLEANUP} is false: the table keeps its log.")
    base = _cut_off_checkpoint(store, listing, cutoff)
    if base is None:
        return nothing("No readable checkpoint is old enough for the log to begin with.")
    protected = _protected_before(state)
    if base.version < protected:
        return nothing(
            f"Versions before {protected} are protected ({CHECKPOINT_PROTECTION}): they go all at once or not at all, "
            f"and the newest checkpoint that is old enough is that of version {base.version}."
        )
    deletable = [path for path in (*paths, *_staged(store)) if _goes(path, base.version)]
    ordered = sorted(deletable, key=lambda path: (_ORDER.index(path.kind), path.version, path.name))
    sidecars, reason = _sidecars(store, listing, base.version, now)
    return CleanupPlan(
        cutoff,
        own,
        (*(CleanupFile(path.path, path.size, path.kind.value, path.version) for path in ordered), *sidecars),
        base.version,
        (first, base.version - 1) if first < base.version else None,
        reason,
    )


def clean_log(store: LogStore, plan: CleanupPlan) -> int:
    """Delete the files of a plan, in its order, and return how many were deleted; missing files do not count.

    Raises:
        StorageError: The store failed; the log that is left can be read as planned.
    """
    count = 0
    for file in plan.files:
        try:
            store.delete(file.path)
        except FileNotFoundError:
            continue
        count += 1
    return count


def _check_managed(state: TableState) -> None:
    managed = sorted(active_features(state.protocol) & CATALOG_FEATURES)
    if managed:
        raise UnsupportedFeature(
            "A catalog manages the commits of this table, and only it knows which of them can be deleted. Clean "
            "the log through the catalog.",
            features=managed,
            operation="clean the log",
        )


def _own_cutoff(state: TableState, now: datetime) -> int | None:
    if not EXPIRED_LOG_CLEANUP.of(state.metadata.configuration):
        return None
    return _midnight(_ms(now) - _retention(state))


def _cutoff(state: TableState, now: datetime, older_than: datetime | timedelta | None) -> int:
    if isinstance(older_than, datetime):
        return _ms(older_than)
    return _midnight(_ms(now) - (_retention(state) if older_than is None else span_milliseconds(older_than)))


def _retention(state: TableState) -> int:
    return span_milliseconds(LOG_RETENTION.of(state.metadata.configuration))


def _ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        raise RequestError(f"The time {moment} has no time zone. Use a form such as 2026-03-02T14:05:11Z.")
    return milliseconds(moment)


def _midnight(time: int) -> int:
    return time // _DAY * _DAY


def _protected_before(state: TableState) -> int:
    if "checkpointProtection" not in active_features(state.protocol):
        return 0
    return CHECKPOINT_PROTECTION.of(state.metadata.configuration)


def _log_paths(store: LogStore) -> list[LogPath]:
    return _parsed(store, LOG_FOLDER)


def _staged(store: LogStore) -> list[LogPath]:
    return [path for path in _parsed(store, STAGED_FOLDER) if path.kind is LogFileKind.STAGED_COMMIT]


def _parsed(store: LogStore, folder: str) -> list[LogPath]:
    listed = store.list_from(folder)
    names = (parse_log_name(item.path.rpartition("/")[2], item.size, item.modified) for item in listed)
    # A staged commit's name counts only in the folder of staged commits.
    return [path for path in names if path is not None and path.path.rpartition("/")[0] == folder]


def _cut_off_checkpoint(store: LogStore, listing: LogListing, cutoff: int) -> CompleteCheckpoint | None:
    """Return the newest checkpoint, of those that can be read, not newer than the newest commit that is old enough."""
    old = [version for version, time in file_times(listing).items() if time <= cutoff]
    candidates = [checkpoint for checkpoint in listing.checkpoints if old and checkpoint.version <= old[-1]]
    return next((each for each in reversed(candidates) if _readable(store, each)), None)


def _readable(store: LogStore, checkpoint: CompleteCheckpoint) -> bool:
    try:
        reader = CheckpointReader(store, checkpoint)
        reader.state()
        reader.files()
    except TableError:
        return False
    return True


def _goes(path: LogPath, base: int) -> bool:
    """Return whether a file is about versions before the checkpoint that the log will begin with (CLEANUP-003)."""
    if path.kind in {LogFileKind.COMPACTION, LogFileKind.STAGED_COMMIT}:
        return path.version <= base
    return path.version < base


def _sidecars(store: LogStore, listing: LogListing, base: int, now: datetime) -> tuple[Sequence[CleanupFile], str]:
    """Return the sidecars that no remaining checkpoint names and that are older than a day (CLEANUP-004)."""
    stays = _midnight(_ms(now)) - _DAY
    old = [stored for stored in store.list_from(SIDECAR_FOLDER) if stored.modified < stays]
    if not old:
        return (), ""
    try:
        named = _named(store, (each for each in listing.checkpoints if each.version >= base))
    except TableError as error:
        return (), f"Sidecars stay, since a checkpoint cannot be read: {error}"
    unnamed = [file for file in old if file.path.rpartition("/")[2] not in named]
    return [CleanupFile(file.path, file.size, "sidecar", None) for file in unnamed], ""


def _named(store: LogStore, checkpoints: Iterable[CompleteCheckpoint]) -> set[str]:
    """Return the file names of the sidecars of checkpoints, in any folder."""
    return {key.rpartition("/")[2] for each in checkpoints for key in CheckpointReader(store, each).sidecar_keys()}
