"""The served tables as one person has them: a `explorer.page.tables.Tables`, and the entry of that person's windows.

Invariants: one place decides, `PersonalRights`. It is asked for each message, each export, each tab, and again where a
table is opened to be changed. What is refused is recorded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

from explorer.activity.event import Event
from explorer.auditing.erasure import Erasure, Neighbour, narrowed
from explorer.core.errors import ExplorerError, NotAllowed, VersionGap
from explorer.core.transaction.changeable_table import ChangeableTable
from explorer.given_roles import place_of
from explorer.page.entry import OnShow
from explorer.page.tables import TableReading
from explorer.rights import EVERYWHERE, PersonalRights, Place, Right
from explorer.turns import Line
from explorer.views import TableFacts
from explorer.views.problems import LACKS_RIGHT
from explorer.web.limits import ServerLimits
from explorer.web.personal_approvals import PersonalApprovals
from explorer.web.personal_results import PersonalResults
from explorer.web.recorder import RecordedTable, Recorder
from explorer.web.served_tables import Catalog

Result = TypeVar("Result")


class PersonalTables:
    """The served tables, as one person has them.

    Args:
        catalog: The served tables that the person may see.
        recorder: Tells the record what the person commits.
        rights: The rights of the person.
        approvals: The requests as the person may use them; None where no change needs a second person.

    Attributes:
        key, picks_files, allow_commits, attempts, place, commits_with, palette_names, kept: As of the catalog.
        rights, approvals: As given.
    """

    def __init__(
        self,
        catalog: Catalog,
        recorder: Recorder,
        rights: PersonalRights | None = None,
        approvals: PersonalApprovals | None = None,
    ) -> None:
        self._catalog, self._recorder = catalog, recorder
        self.approvals = approvals
        self.rights = rights or PersonalRights()
        self.key, self.picks_files = catalog.key, catalog.picks_files
        self.allow_commits = catalog.allow_commits and self.rights.may_somewhere(Right.COMMIT)
        self.attempts, self.place, self.commits_with = catalog.attempts, catalog.place, catalog.commits_with
        self.palette_names, self.kept = catalog.palette_names, catalog.kept
        if self.kept is not None and not self.rights.may(Right.ROWS, EVERYWHERE):
            self.kept = PersonalResults(self.kept, self._narrowed)
        self._lock = threading.Lock()
        self._places: dict[str, set[Place]] = {}

    def require(self, right: Right, name: str) -> None:
        """Raise `NotAllowed` if the person lacks a right on a table, or what a table that is not there raises."""
        self.require_at(right, place_of(self._catalog.roots.locate(name)))

    def require_at(self, right: Right, place: Place) -> None:
        """Raise `NotAllowed` if the person lacks a right on a place."""
        if not self.rights.may(right, place):
            raise NotAllowed(self.rights.refusal(right, place), reason=LACKS_RIGHT)

    def places_at(self, location: str) -> set[Place]:
        """Return the places of the tables that this person opened at a location; of several servers, all."""
        with self._lock:
            return set(self._places.get(location, ()))

    def open(self, name: str) -> ChangeableTable:
        """Open a table for a desk alone: its commits are recorded, and those that need a second person have one."""
        self.require(Right.COMMIT, name)
        table = self._catalog.open(name)
        guarded: ChangeableTable = table if self.approvals is None else self.approvals.guarded(name, table)
        return RecordedTable(guarded, name, self._recorder)

    def check_source(self, name: str, source: str) -> None:
        """Refuse a source of rows for a table that may not be read."""
        self._catalog.check_source(name, source)

    def check_again(self, name: str = "", *, reopen: bool = False) -> None:
        """Check the log at the next question, even if that was done recently."""
        self._catalog.check_again(name, reopen=reopen)

    def facts(self, name: str = "") -> TableFacts:
        """Return the facts of a table as it is now."""
        return self._noted(name, self._catalog.facts(name))

    def facts_before(self, name: str, gap: VersionGap) -> TableFacts:
        """Return the facts of the versions before a gap in a table's log."""
        return self._noted(name, self._catalog.facts_before(name, gap))

    def other(self, name: str) -> TableFacts:
        """Return the facts of a table to compare with; the bounds of its columns are values of its rows."""
        self.require(Right.ROWS, name)
        return self._noted(name, self._catalog.other(name))

    def other_names(self) -> tuple[str, ...]:
        """Return names of tables to compare with, as far as they are known."""
        return self._catalog.other_names()

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
        """Return the tables whose rows may be searched, and the folders under which these are all."""
        others, folders = self._catalog.beside()
        if self.rights.may(Right.ROWS, EVERYWHERE):
            return others, folders
        readable = self._readable_folders(folders)
        return (other for other in others if self._may_search(other.name, readable)), readable

    def _may_search(self, name: str, folders: tuple[str, ...]) -> bool:
        """Return whether the rows of another table may be searched, which is in one of these folders or has a name."""
        # What is below these folders and cannot be searched is named by where it is, and must be said.
        if name.startswith(folders):
            return True
        try:
            self.require(Right.ROWS, name)
        except ExplorerError:
            return False
        return True

    def _narrowed(self, proof: Erasure) -> Erasure:
        """Return what somebody found out, without the tables whose rows this person may not search."""
        folders = self._readable_folders(self._catalog.roots.locations)
        return narrowed(proof, folders, lambda name: self._may_search(name, folders))

    def _readable_folders(self, folders: tuple[str, ...]) -> tuple[str, ...]:
        """Return the folders all of whose tables may be searched: no statement is about more."""
        named = self._catalog.roots.named
        places = {root.tree.root: place_of(root.ref("", root.tree.root)) for root in named}
        wholly = {location for location, place in places.items() if self.rights.may(Right.ROWS, place)}
        return tuple(folder for folder in folders if folder in wholly)

    def _noted(self, name: str, facts: TableFacts) -> TableFacts:
        place = place_of(self._catalog.roots.locate(name))
        with self._lock:
            self._places.setdefault(facts.location, set()).add(place)
        return facts


class PersonalEntry:
    """The way in for the messages of one person: a `explorer.page.entry.Entry`.

    Args:
        tables: The tables as the person has them.
        recorder: Tells the record.
        limits: What the people of the server have at the moment.

    Attributes:
        line: As `Entry` has it.
    """

    def __init__(self, tables: PersonalTables, recorder: Recorder, limits: ServerLimits | None = None) -> None:
        self._tables, self._recorder, self._limits = tables, recorder, limits
        self.line: Line | None = None if limits is None else limits.line_of(recorder.identity)

    def require(self, right: Right, shown: OnShow) -> None:
        """Raise `NotAllowed` if the person lacks a right on the table of the address, or on the one that is drawn."""
        tables = self._tables
        if tables.rights.grants is None:
            return
        try:
            if shown.name and right is not Right.SEE:
                tables.require(right, shown.name)
            for place in tables.places_at(shown.location):
                tables.require_at(right, place)
        except NotAllowed as error:
            if error.reason == LACKS_RIGHT:
                event = Event(kind="refusal", outcome="refused", what=right.name.lower(), table=shown.name)
                self._recorder.refused(event)
            raise

    def may(self, right: Right, shown: OnShow) -> bool:
        """Return whether the person has a right, without a record of it."""
        rights, places = self._tables.rights, self._tables.places_at(shown.location)
        # A table that this person never opened is no table on which anything is given.
        return rights.grants is None or (bool(places) and all(rights.may(right, place) for place in places))

    def refuse_unknown(self, name: str) -> None:
        """Raise `NotAllowed` for a message or an export without a right of its own, where rights are given."""
        if self._tables.rights.grants is not None:
            raise NotAllowed(
                f"{name[:60]!r} has no right of its own, so it is refused where roles are given. This is a bug.",
                reason=LACKS_RIGHT,
            )

    def record(self, event: Event) -> Future[Any] | None:
        """Begin to record what is about to be done."""
        return self._recorder.begin(event)

    def export(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Return the making of an export, which counts as the person's until it has ended."""
        return work if self._limits is None else self._limits.export(self._recorder.identity, work)
