"""What reading rows needs from a page: its table, the chosen version, and the one compared with."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

T = TypeVar("T")


class KnownTable(Protocol):
    """A table whose answers are kept; see `explorer.views.table.facts.TableFacts`."""

    log: DeltaLog
    location: str
    place: tuple[str, str]

    def snapshot(self, version: int) -> Snapshot:
        """Return the snapshot of a version."""

    def lost_data(self, version: int) -> str:
        """Return why the rows of a version can no longer be read; empty where its data is not known to be lost."""

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value kept under a key, or make it and keep it."""


class ChosenVersions(Protocol):
    """The chosen versions; see `explorer.views.TableView`."""

    @property
    def facts(self) -> KnownTable:
        """The table."""

    @property
    def version(self) -> int:
        """The chosen version."""

    @property
    def other(self) -> int:
        """The version that it is compared with."""
