"""The versions of a log that were read: the last snapshots, and the newest state.

Invariants: all of it was read from files that one listing has, or a listing that has the same ones; it has at most
sixteen snapshots, and what was not used for longest goes first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import msgspec

from explorer.core.log.table_state import TableState
from explorer.core.versions.snapshot import Snapshot

__all__ = ["MOST_SNAPSHOTS", "NewestState", "ReadVersions"]

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

    def copy(self) -> ReadVersions:
        """Return the same versions, for another log to continue independently."""
        with self._lock:
            return ReadVersions(self._snapshots, self.newest, timed=self.timed)
