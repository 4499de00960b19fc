"""The target of a commit: a table, or a place for a new one.

Protocol section: Delta Log Entries. Invariants: a place has no version until someone creates the table.
"""

from __future__ import annotations

from typing import TypeAlias

from explorer.core.errors import TableNotFound
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

__all__ = ["CommitTarget", "NewPlace"]


class NewPlace:
    """A place without a table.

    Attributes:
        store: The store for its files.
    """

    def __init__(self, store: LogStore) -> None:
        self.store = store

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.store.root

    def latest_version(self) -> int:
        """The newest version, if someone has created the table meanwhile; -1 if there is none."""
        try:
            return list_log(self.store, use_hint=True).latest
        except TableNotFound:
            return -1

    def snapshot(self, version: int | None = None) -> Snapshot:  # noqa: ARG002 - there is no version at all
        """There is none.

        Raises:
            TableNotFound: Always.
        """
        raise TableNotFound(f"There is no table at {self.location}.", location=self.location)

    def newest_commit(self) -> LogPath | None:
        """There is none."""
        return None

    def refresh(self) -> None:
        """Does nothing: nothing is kept."""

    def outdate(self) -> None:
        """As for `refresh`."""


CommitTarget: TypeAlias = DeltaLog | NewPlace
"""A table, or a place for a new one."""
