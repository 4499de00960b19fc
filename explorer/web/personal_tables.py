"""The served tables as one person has them: a `explorer.page.tables.Tables`, and the entry of that person's windows."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.activity.event import Event
from explorer.auditing.erasure import Neighbour
from explorer.core.errors import VersionGap
from explorer.page.entry import OnShow
from explorer.page.tables import TableReading
from explorer.rights import Right
from explorer.views import TableFacts
from explorer.views.act.desk.draft import ChangeableTable
from explorer.web.recorder import RecordedTable, Recorder
from explorer.web.served_tables import Catalog


class PersonalEntry:
    """The way in for the messages of one person: a `explorer.page.entry.Entry`.

    Args:
        recorder: Tells the record.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def require(self, right: Right, shown: OnShow) -> None:
        """Allow everything that the server allows."""

    def refuse_unknown(self, name: str) -> None:
        """Allow everything that the server allows."""

    def record(self, event: Event) -> None:
        """Record what is about to be done."""
        self._recorder.before(event)


class PersonalTables:
    """The served tables, as one person has them.

    Args:
        catalog: The served tables.
        recorder: Tells the record what the person commits.

    Attributes:
        key, picks_files, allow_commits, attempts, place, commits_with: As of the catalog.
    """

    def __init__(self, catalog: Catalog, recorder: Recorder) -> None:
        self._catalog, self._recorder = catalog, recorder
        self.key, self.picks_files = catalog.key, catalog.picks_files
        self.allow_commits, self.attempts = catalog.allow_commits, catalog.attempts
        self.place, self.commits_with = catalog.place, catalog.commits_with

    def open(self, name: str) -> ChangeableTable:
        """Open a table for a desk alone, whose commits are recorded."""
        return RecordedTable(self._catalog.open(name), name, self._recorder)

    def check_source(self, name: str, source: str) -> None:
        """Refuse a source of rows for a table that may not be read."""
        self._catalog.check_source(name, source)

    def check_again(self, name: str = "", *, reopen: bool = False) -> None:
        """Check the log at the next question, even if that was done recently."""
        self._catalog.check_again(name, reopen=reopen)

    def facts(self, name: str = "") -> TableFacts:
        """Return the facts of a table as it is now."""
        return self._catalog.facts(name)

    def facts_before(self, name: str, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in a table's log."""
        return self._catalog.facts_before(name, gap)

    def location(self, name: str) -> str:
        """Return where a table is."""
        return self._catalog.location(name)

    def reading(self, name: str) -> TableReading | None:
        """Return the first reading of a table's log that goes on, or that a person ended; None without one."""
        return self._catalog.reading(name)

    def is_being_read(self, name: str) -> bool:
        """Return whether a call for the facts of a table would wait for another one."""
        return self._catalog.is_being_read(name)

    def stop_reading(self, name: str) -> None:
        """End the first reading of a table's log, for all who wait for it."""
        self._catalog.stop_reading(name)

    def beside(self) -> tuple[Iterable[Neighbour], tuple[str, ...]]:
        """Return all tables, for a search of their files, and the folders under which these are all."""
        return self._catalog.beside()
