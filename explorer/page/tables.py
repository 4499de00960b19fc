"""The tables that a page can show, as its host opens them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from explorer.auditing.erasure import Neighbour
from explorer.core.errors import VersionGap
from explorer.page.followed_table import TableReading
from explorer.report.signature import SigningKey
from explorer.views import TableFacts
from explorer.views.act.desk.desk import DeskTables

__all__ = ["Tables"]


class Tables(DeskTables, Protocol):
    """Tables by the names that addresses have.

    Every method raises `NotAllowed` for a name that leads outside of what the host shows.

    Attributes:
        key: Signs the reports and statements that are downloaded; None signs nothing.
        picks_files: Files can be selected, for code that works with them.
    """

    key: SigningKey | None
    picks_files: bool

    def facts(self, name: str) -> TableFacts:
        """Return the facts of a table as it is now; the same object until the log has another newest commit.

        Raises:
            Cancelled: A person ended its reading, or that which this call waited for.
            ExplorerError: The table cannot be read.
        """

    def facts_before(self, name: str, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in a table's log.

        Raises:
            ExplorerError: The table cannot be read.
        """

    def reading(self, name: str) -> TableReading | None:
        """Return the first reading of a table's log that goes on, or that a person ended; None without one."""

    def is_being_read(self, name: str) -> bool:
        """Return whether a call for the facts of a table would wait for another one."""

    def stop_reading(self, name: str) -> None:
        """End the first reading of a table's log, for all who wait for it."""

    def beside(self) -> tuple[Iterable[Neighbour], tuple[str, ...]]:
        """Return all tables, for a search of their files, and the folders under which these are all."""
