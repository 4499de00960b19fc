"""The state of a log: one record, which is replaced as a unit, and the versions that were read.

Protocol sections: Delta Log Entries, Checkpoints, Metadata Cleanup. Invariants: the listing has no checkpoint that
could not be used; histories are those of this listing, or of one with the same commits, checkpoints and compactions;
versions were read from files that this listing has, or that it does not contradict; there are at most sixteen
snapshots, and the one not used for longest goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final

import msgspec

from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing
from explorer.core.log.table_state import TableState
from explorer.core.log.version_files import VersionFiles
from explorer.core.versions.open_log.histories import Histories
from explorer.core.versions.snapshot import Snapshot

MOST_SNAPSHOTS: Final = 16


class NewestState(msgspec.Struct, frozen=True):
    """The small actions in force at the newest version that was read."""

    version: int
    state: TableState


class ReadVersions:
    """Versions that were read; threads may share it.

    Args:
        snapshots: Snapshots by version, the last used last.

    Attributes:
        newest: The newest state that was read; None if none was.
        timed: Whether in-commit timestamps were on in any version that was read: no later version records it once they
            timed: Whether in-commit timestamps were on in any version that was read: no later version records it once
                they
    """

    def __init__(
        self, snapshots: Mapping[int, Snapshot] | None = None, newest: NewestState | None = None, *, timed: bool = False
    ) -> None:
        self._lock = threading.Lock()
        self._snapshots = OrderedDict(snapshots or {})
        self.newest, self.timed = newest, timed

    def find(self, version: int) -> Snapshot | None:
        """Return the snapshot of a version, if it is among the last that were used."""
        with self._lock:
            snapshot = self._snapshots.get(version)
            if snapshot is not None:
                self._snapshots.move_to_end(version)
            return snapshot

    def keep(self, snapshot: Snapshot) -> Snapshot:
        """Store a snapshot; returns the one of its version that was stored first, by this thread or another."""
        with self._lock:
            stored = self._snapshots.setdefault(snapshot.version, snapshot)
            self._snapshots.move_to_end(snapshot.version)
            while len(self._snapshots) > MOST_SNAPSHOTS:
                self._snapshots.popitem(last=False)
            return stored

    def learn(self, version: int, state: TableState, *, timed: bool) -> None:
        """Store the state of a version.

        Args:
            timed: Whether in-commit timestamps were on in it, or in a version that was read on the way.
        """
        with self._lock:
            self.timed = self.timed or timed
            if self.newest is None or self.newest.version < version:
                self.newest = NewestState(version, state)

    def replace_each(self, change: Callable[[Snapshot], Snapshot]) -> None:
        """Replace the snapshot of each version, in their order."""
        with self._lock:
            for version, snapshot in self._snapshots.items():
                self._snapshots[version] = change(snapshot)

    def copy(self) -> ReadVersions:
        """Return the same versions, for another log to continue independently."""
        with self._lock:
            return ReadVersions(self._snapshots, self.newest, timed=self.timed)


class Due(IntEnum):
    """The listing that is due before the next call; the greater includes the less."""

    NOTHING = 0
    NEWER = 1
    ALL = 2


class UnusableCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that could not be used: its files, and the reason."""

    parts: tuple[LogPath, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class LogState:
    """The state of a log, all of it by one listing.

    Attributes:
        listing: Its files without unusable checkpoints; complete, or from a checkpoint on.
        histories: Its histories as far as they were read; they are read from a complete listing.
        versions: Its versions as far as they were read.
        unusable: Checkpoints that could not be used, by version; one that is written again may be.
        due: The listing that is due before the next call.
    """

    listing: LogListing
    histories: Histories
    versions: ReadVersions = field(default_factory=ReadVersions)
    unusable: Mapping[int, UnusableCheckpoint] = field(default_factory=dict)
    due: Due = Due.NOTHING

    @classmethod
    def of(cls, listing: LogListing) -> LogState:
        """Return the state of a log that was just listed."""
        return cls(listing, Histories(listing))

    @property
    def is_complete(self) -> bool:
        """Whether all of the log is listed, and no listing is due."""
        return self.due is Due.NOTHING and self.listing.is_complete

    def outdated(self, due: Due) -> LogState:
        """Return the same state with at least that listing due."""
        return replace(self, due=max(self.due, due))

    def listed_again(self, listing: LogListing) -> LogState:
        """Return the state with a new listing, without everything read that the listing does not confirm.

        Versions are read again where a file that both listings have is another one, or the log is shorter than it was;
        histories also where there is a new version, or a file came or went.
        """
        unusable = _still_unusable(self.unusable, listing)
        before, listing = self.listing, listing.without_checkpoints(unusable)
        if _is_shorter(listing, before) or not _same_files(listing, before):
            return LogState(listing, self.histories.of(listing), unusable=unusable)
        if not before.is_complete or listing.latest != before.latest or _has_others(listing, before):
            return LogState(listing, self.histories.of(listing), self.versions, unusable)
        # It has the same versions, so it is complete too, also where only the newest files were listed again.
        listing = _as_complete(listing)
        return LogState(listing, self.histories.confirmed_by(listing), self.versions, unusable)

    def completed(self, full: LogListing) -> LogState:
        """Return the same state with all of the log, whose end was listed before."""
        unusable = _still_unusable(self.unusable, full)
        listing = full.without_checkpoints(unusable)
        return replace(self, listing=listing, histories=self.histories.of(listing), unusable=unusable)

    def doing_without(self, version: int, reason: str, listing: LogListing) -> LogState:
        """Return the same state where a checkpoint is unusable as a new listing has it."""
        parts = _parts_by_version(listing).get(version, ())
        return replace(self, unusable={**self.unusable, version: UnusableCheckpoint(parts, reason)})

    def beginning_with(self, checkpoint: CompleteCheckpoint) -> LogState:
        """Return the state of the log as if it began with one of its checkpoints, to continue independently."""
        listing = msgspec.structs.replace(
            self.listing,
            commits=VersionFiles.of(self.listing.commits).since(checkpoint.version + 1),
            checkpoints=(checkpoint,),
            compactions=(),
        )
        return LogState(_as_complete(listing), Histories(listing), self.versions.copy(), self.unusable, self.due)

    def copy(self) -> LogState:
        """Return the same state, for another log to continue independently."""
        return replace(self, histories=self.histories.copy(), versions=self.versions.copy())


def _still_unusable(
    unusable: Mapping[int, UnusableCheckpoint], listing: LogListing
) -> Mapping[int, UnusableCheckpoint]:
    """Return the unusable checkpoints without those that are other files in a listing."""
    listed = _parts_by_version(listing)
    return {version: each for version, each in unusable.items() if listed.get(version, each.parts) == each.parts}


def _parts_by_version(listing: LogListing) -> dict[int, tuple[LogPath, ...]]:
    """Return the files of each version's checkpoint; of several at one version the one that is used."""
    return {checkpoint.version: checkpoint.parts for checkpoint in listing.checkpoints}


def _as_complete(listing: LogListing) -> LogListing:
    return msgspec.structs.replace(listing, is_complete=True, beginning=None)


def _is_shorter(now: LogListing, before: LogListing) -> bool:
    """Return whether a log lost its newest version, or, where all of it was listed, its oldest commit."""
    oldest = {next(iter(listing.commits), None) for listing in (now, before)}
    return now.latest < before.latest or (before.is_complete and len(oldest) > 1)


def _has_others(one: LogListing, other: LogListing) -> bool:
    """Return whether one listing has commits, checkpoints or compactions that the other lacks."""
    bases = (one.checkpoints, one.compactions) != (other.checkpoints, other.compactions)
    return bases or len(one.commits) != len(other.commits)


def _same_files(one: LogListing, other: LogListing) -> bool:
    """Return whether the commits and checkpoints that both list are the same files."""
    few, many = sorted((one.commits, other.commits), key=len)
    checkpoints = _parts_by_version(one)
    return all(many.get(version, path) == path for version, path in few.items()) and all(
        checkpoints.get(each.version, each.parts) == each.parts for each in other.checkpoints
    )
