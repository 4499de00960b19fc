"""What planning and committing get from outside: the table or a location for one, clock, identifiers, waiting, engine.

Invariants: the core reads no clock and starts nothing; the code that opens a table passes these in. A location has no
version until a table is created there.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from explorer.core.compatibility.my_clients import MyClient
from explorer.core.errors import EngineUnavailable, TableNotFound
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.log_path import LogPath, commit_name
from explorer.core.log.log_segment import list_log
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.proposal import Circumstances
from explorer.core.transaction.row_engine import RowEngine
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Context:
    """The world outside the core.

    Attributes:
        clock: Gives the present in ms since the epoch.
        new_uuid: Gives a fresh UUID.
        sleep: Waits some seconds.
        chance: Gives a random number from 0 to 1, for waits that differ between writers.
        engine_info: The name of the program in its commits.
        rows: The engine that reads and writes rows; None if there is none.
        check_source: Refuses a source of rows that may not be read; None allows every source.
        clients: The clients in use, which consequences list first.
    """

    clock: Callable[[], int]
    new_uuid: Callable[[], uuid.UUID]
    sleep: Callable[[float], None]
    chance: Callable[[], float]
    engine_info: str
    rows: RowEngine | None = None
    check_source: Callable[[str], None] | None = None
    clients: tuple[MyClient, ...] = ()

    def new_id(self) -> str:
        """Return a fresh UUID as text."""
        return str(self.new_uuid())

    def row_engine(self, kind: str) -> RowEngine:
        """Return the engine of rows.

        Raises:
            EngineUnavailable: There is none.
        """
        if self.rows is None:
            raise EngineUnavailable(f"{kind} needs a row engine, but this table was opened without one.")
        return self.rows

    def circumstances(self) -> Circumstances:
        """Return the present and fresh identifiers, for a proposal."""
        return Circumstances(now=self.clock(), new_id=self.new_id)


class NewPlace:
    """A place without a table.

    Attributes:
        store: The store for its files.
        by_catalog: Whether a catalog will manage the table's commits, and gave it the place.
    """

    def __init__(self, store: LogStore, *, by_catalog: bool = False) -> None:
        self.store, self.by_catalog = store, by_catalog

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.store.root

    def latest_version(self) -> int:
        """Return the newest version, if the table has been created meanwhile; -1 if there is none."""
        try:
            return list_log(self.store, use_hint=True).latest
        except TableNotFound:
            return -1

    def snapshot(self, version: int | None = None) -> Snapshot:  # noqa: ARG002 - there is no version at all
        """Refuse: no version exists.

        Raises:
            TableNotFound: Always.
        """
        raise TableNotFound(f"There is no table at {self.location}.", location=self.location)

    @property
    def catalog(self) -> CommitCatalog | None:
        """None: no catalog knows the table."""
        return None

    def newest_commit(self) -> LogPath | None:
        """Return None: no version exists."""
        return None

    def commit_path(self, version: int) -> str:
        """Return the key of the commit file of a version, if the table has been created meanwhile."""
        return commit_name(version)

    def refresh(self) -> None:
        """Do nothing: nothing is cached."""

    def outdate(self) -> None:
        """Do nothing, as `refresh`."""


CommitTarget: TypeAlias = DeltaLog | NewPlace
"""A table, or a place for a new one."""
