"""The tables that are served, each opened once for all sessions and opened again when it has a newer version.

A table that cannot be read stays in the list, with its cause; it never hides another table.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import explorer
from explorer.activity.newest import NewestEntries
from explorer.auditing import Finding
from explorer.auditing.erasure import Neighbour, out_of_reach
from explorer.catalogs.folders import served_roots
from explorer.core.errors import ExplorerError
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.commit_info import ENGINE
from explorer.core.versions.delta_log import DeltaLog
from explorer.debug import log_failure
from explorer.page.approvals import Approvals
from explorer.page.kept_results import KeptResults
from explorer.page.palette_names import PaletteNames
from explorer.page.tables import FollowedTable, FollowedTables
from explorer.report.signature import SigningKey
from explorer.storage.roots import AllowedRoots
from explorer.storage.served_root import GivenRoots
from explorer.storage.served_roots import MOST_TABLES, TableRef
from explorer.views import TableFacts
from explorer.views.act.desk.draft import Attempts
from explorer.views.card import TONES
from explorer.views.many_tables.lanes import LaneCommits
from explorer.views.many_tables.traits import RECENT, TableTraits, folders_above, traits_of
from explorer.views.problems import Problem, problem_of
from explorer.views.table.commits import TimeBasis, redated_note, time_basis
from explorer.views.table.maintenance import maintenance_entries, maintenance_line
from explorer.web.notice_board import NoticeBoard, ServedNotices
from explorer.web.table_cache import TableCache
from explorer.web.table_list import TableList
from explorer.web.visit import Visits

SPARK_DAYS = 60
"""The days that a sparkline shows: the same ones for every table."""
_SPARK_BARS = 30
_SUGGESTED = 500
_CURRENT = 60.0
"""Seconds for which the summary of a table without a new commit is used again."""
_SHOWN = 600.0
"""Seconds for which the summary of another window is shown until the table is read again."""
_SAID = ("operation", "user_name", "reason")
_CUT = "it holds more tables than are listed here; serve a folder below it to see the others"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SparkBar:
    """Two days of a sparkline; heights are shares of the tallest, ``form`` marks a change of schema or properties."""

    added: float
    taken: float
    updated: float
    form: bool


@dataclass(frozen=True, slots=True)
class RecentCommits:
    """The newest commits.

    Attributes:
        times: ms since the epoch, ascending.
        authors: Who made each; the operation's engine, or "unknown" where the log has no name.
        capped: Whether the table has more.
    """

    times: tuple[int, ...] = ()
    authors: tuple[str, ...] = ()
    capped: bool = False


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """What was done with this program: a commit, or maintenance that the log has no place for.

    Attributes:
        version: The version that the commit wrote; of maintenance, the newest version then.
        time: ms since the epoch.
        operation, user, reason: What it was, by whom and why, as the log or the journal has it; empty if not said.
        done: What maintenance did to files; empty for a commit.
        digest: That of the plan of maintenance; empty for a commit.
    """

    version: int
    time: int
    operation: str
    user: str
    reason: str
    done: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class RecordedChanges:
    """Those among the newest commits of a table, and whether it has more commits than were searched."""

    made: tuple[RecordedChange, ...] = ()
    capped: bool = False


@dataclass(frozen=True, slots=True)
class TableSummary:
    """A row of the list of tables; all but the name is unknown where ``problem`` is set.

    ``redated`` says which of its commits are drawn at another time than that of their files. ``known_traits`` is what
    lists are filtered by, and ``lane`` its commits on the timeline of all tables; None where they are not known.
    """

    ref: TableRef
    problem: Problem | None = None
    version: int | None = None
    operation: str = ""
    user_name: str = ""
    timestamp: datetime | None = None
    basis: TimeBasis | None = None
    rows: int | None = None
    size: int | None = None
    files: int | None = None
    bars: tuple[SparkBar, ...] = ()
    redated: str = ""
    recent: RecentCommits = RecentCommits()
    recorded: RecordedChanges = RecordedChanges()
    findings: tuple[Finding, ...] = ()
    pending: bool = False
    known_traits: TableTraits | None = None
    lane: LaneCommits | None = None

    @property
    def health(self) -> str:
        """``ok``, or how bad the problem or the worst finding is: ``danger``, ``warning``, ``info``."""
        if self.problem is not None:
            return self.problem.severity
        return TONES[self.findings[0].severity] if self.findings else "ok"

    @property
    def status(self) -> str:
        """The group in the list: ``broken``, ``unread``, ``wrong``, ``watch``, ``fine``, or ``pending``."""
        if self.pending:
            return "pending"
        if self.problem is not None:
            return "broken" if self.health == "danger" else "unread"
        return {"danger": "wrong", "warning": "watch"}.get(self.health, "fine")

    @property
    def traits(self) -> TableTraits:
        """What lists are filtered by; of a table that is not read, or cannot be, its folders alone."""
        return self.known_traits or _unread(self.ref.folder)

    @property
    def row_id(self) -> str:
        """The id of the table's row on the page, the same as long as the table has its name."""
        return f"row-{hashlib.sha256(self.ref.name.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


@lru_cache(maxsize=10_000)
def _unread(folder: str) -> TableTraits:
    return TableTraits(folders_above(folder))


@dataclass(frozen=True, slots=True)
class _Made:
    """A summary, what returns the facts that it is of as long as anything else needs them, and when it was made."""

    summary: TableSummary
    facts: Callable[[], TableFacts | None]
    time: float


def _no_facts() -> None:
    """Return the facts of a table that could not be read: none."""


class Catalog(FollowedTables):
    """The served tables; every method that takes a name raises `NotAllowed` where it leads outside the roots.

    Args:
        roots, most: As for `ServedRoots`.
        allow_commits: Open tables so that they can be changed; otherwise the table itself refuses every commit.
        key: Signs the reports and statements that are downloaded; None signs nothing.
        record: The newest entries of the record of who does what; None where there is none.
        notices: The notices of the server; None where there are none.

    Attributes:
        record: As given.
        notices: The notices about the served tables.
        roots: The roots.
        list: Their tables, searched in the background.
        allow_commits, key: As given.
        picks_files: No: no code sees what a browser selects.
        kept: Results that people share, for all windows.
        approvals: None: requests are those of one person.
        place, commits_with: As `DeskTables` has them.
        attempts: What the windows carry out.
        server_state: Returns what the server holds at the moment, in words; empty where it has no limits.
        palette_names: The served tables with their names, as far as they were read.
        cache: The tables that are kept in memory.
    """

    def __init__(
        self,
        roots: GivenRoots,
        *,
        allow_commits: bool = False,
        key: SigningKey | None = None,
        most: int | None = MOST_TABLES,
        record: NewestEntries | None = None,
        notices: ServedNotices | None = None,
    ) -> None:
        self.record = record
        self.roots = served_roots(roots, most=most)
        self.notices = None if notices is None else NoticeBoard(notices, self.roots)
        self.list = TableList(self.roots)
        self.visits = Visits(self.list)
        self.sources = AllowedRoots(self.roots.locations)
        self.key = key
        self.allow_commits = allow_commits
        self.picks_files = False
        self.kept: KeptResults | None = KeptResults()
        self.approvals: Approvals | None = None
        self.place, self.commits_with = "server", "delta-explorer serve ROOT --allow-commits"
        self.attempts = Attempts()
        self.server_state: Callable[[], str] = str
        self.palette_names = PaletteNames(
            self.names, lambda name: self._opened(self.roots.locate(name)), self.list.begin
        )
        self.cache = TableCache()
        self._summarizing = threading.Lock()
        self._made: dict[str, _Made] = {}

    def open(self, name: str) -> explorer.Table:
        """Return the table as an object of its own, to plan changes of it; read-only unless commits are allowed.

        Raises:
            NotAllowed: The name leads outside the served roots.
            ExplorerError: The table cannot be opened.
        """
        ref = self.roots.locate(name)
        table = _opened(ref, read_only=not self.allow_commits)
        # A log names files under its table's own root; a person may name rows under each root that is served.
        table.sources = self.sources
        table.known_by = None  # the entry of the person's windows records it
        return self._sharing(ref, table)

    def other(self, name: str) -> TableFacts:
        """Return the facts of a table to compare with."""
        return self.facts(name)

    def other_names(self) -> tuple[str, ...]:
        """Return the names of the tables that were found so far, as many as a field suggests."""
        return self.list.some_names(_SUGGESTED)

    def location(self, name: str) -> str:
        """Return where a table is; raise `NotAllowed` for a name outside the served roots."""
        return self.roots.locate(name).location

    def beside(self) -> tuple[Iterable[Neighbour], tuple[str, ...]]:
        """Return the served tables, with the logs that the pages read, and the roots under which these are all.

        What is below the roots and not served is named among them.
        """

        def others() -> Iterator[Neighbour]:
            for ref in self.roots.tables():
                yield Neighbour(ref.name, partial(self._log_named, ref.name))
            yield from (out_of_reach(root, _CUT) for root in self.roots.cut)
            yield from (out_of_reach(each.location, each.why) for each in self.roots.unlisted)

        return others(), self.roots.locations

    def names(self) -> tuple[list[str], bool]:
        """Return the names of the tables that were found, and whether more are looked for."""
        listing = self.list.listing()
        return [ref.name for ref in listing.refs], listing.searching

    def _log_named(self, name: str) -> DeltaLog:
        return self.facts(name).log

    def check_source(self, name: str, source: str) -> None:
        """Check that rows for a table may be read from a place.

        Raises:
            NotAllowed: The name, or the source, is outside the served roots.
        """
        self.roots.locate(name)
        self.sources.check_source(source)

    def summary(self, ref: TableRef) -> TableSummary:
        """Return a table's row in the list; any failure becomes the row's problem."""
        facts = None
        try:
            facts = self.facts(ref.name)
            made = self._made.get(ref.name)
            if made is not None and made.facts() is facts and time.monotonic() - made.time < _CURRENT:
                return made.summary
            summary = _summary(ref, facts)
            self.palette_names.put(ref.name, facts, summary.findings)
        except ExplorerError as error:
            summary = TableSummary(ref, problem=problem_of(error))
        except Exception as error:  # noqa: BLE001  # one table must not take the list with it; the fault is logged
            log_failure(_log, f"cannot summarize {ref.location}", error)
            summary = TableSummary(ref, problem=problem_of(error))
        self._keep_summary(ref.name, summary, facts)
        return summary

    def _keep_summary(self, name: str, summary: TableSummary, facts: TableFacts | None) -> None:
        """Keep a summary for a while, and without the facts that it is of."""
        known_facts = _no_facts if facts is None else weakref.ref(facts)
        with self._summarizing:
            now = time.monotonic()
            # The oldest are the first: a new one goes to the end.
            self._made.pop(name, None)
            self._made[name] = _Made(summary, known_facts, now)
            for each, made in list(self._made.items()):
                if now - made.time < _SHOWN:
                    break
                del self._made[each]

    def summary_before(self, ref: TableRef) -> TableSummary | None:
        """Return the row that was made for any window some minutes ago at most, to be shown until there is another."""
        made = self._made.get(ref.name)
        return made.summary if made is not None and time.monotonic() - made.time < _SHOWN else None

    def _followed_table(self, name: str) -> FollowedTable:
        """Return the table of a name; raise `NotAllowed` for a name outside the served roots."""
        located = self.roots.locate(name)
        opened = partial(self._opened, located)
        make = partial(FollowedTable, opened, located.title, located.store)
        return self.cache.followed(located.key, located.root, make)

    def check_again(self, name: str = "", *, reopen: bool = False) -> None:
        """Check the log at the next question, under whatever name; one that is not kept is read anew anyway."""
        for table in self.cache.kept(self.roots.locate(name).key):
            table.check_again(reopen=reopen)

    def _opened(self, ref: TableRef) -> explorer.Table:
        return self._sharing(ref, _opened(ref, read_only=True))

    def _sharing(self, ref: TableRef, table: explorer.Table) -> explorer.Table:
        """Return the table with the missing files that any window has learned of."""
        table.known_missing = self.cache.missing(ref.key, table.known_missing)
        return table


def _opened(ref: TableRef, *, read_only: bool) -> explorer.Table:
    return explorer.open_table(
        ref.location, storage_options=ref.storage_options, roots=(ref.root,), read_only=read_only
    )


def _summary(ref: TableRef, facts: TableFacts) -> TableSummary:
    # A table whose last version cannot be shown right is not healthy, whatever its history says.
    facts.snapshot(facts.last)
    commit = facts.commits.record(facts.last)
    if commit is None:
        snapshot = facts.snapshot(facts.last)
        rows = snapshot.num_records
        return TableSummary(
            ref,
            version=facts.last,
            timestamp=snapshot.timestamp,
            rows=None if rows is None else rows - snapshot.num_deleted_records,
            size=snapshot.size_in_bytes,
            files=snapshot.num_files,
            findings=(found := facts.audit().findings),
            known_traits=traits_of(facts, ref.folder, found, milliseconds(snapshot.timestamp)),
        )
    return TableSummary(
        ref,
        version=facts.last,
        operation=commit.operation,
        user_name=commit.user_name,
        timestamp=commit.timestamp,
        basis=time_basis(commit),
        rows=commit.num_rows,
        size=commit.num_bytes,
        files=commit.num_files,
        bars=_bars(facts),
        redated=redated_note(facts.commits),
        recent=_recent(facts),
        recorded=_recorded_changes(facts),
        findings=(found := facts.audit().findings),
        known_traits=traits_of(facts, ref.folder, found, int(facts.commits.times[-1])),
        lane=LaneCommits.of(facts.commits),
    )


def _bars(facts: TableFacts) -> tuple[SparkBar, ...]:
    """Return the rows added, removed and updated in the last days, the same days for every table."""
    commits, amounts = facts.commits, facts.commits.amounts
    width = SPARK_DAYS * 86_400_000 // _SPARK_BARS
    places = (commits.times - milliseconds(datetime.now(UTC)) + width * _SPARK_BARS) // width
    inside = (places >= 0) & (places < _SPARK_BARS)
    kinds = (amounts.up, amounts.down, amounts.updated)
    sums = np.sqrt([np.bincount(places[inside], kind[inside], _SPARK_BARS) for kind in kinds])
    form = np.bincount(places[inside], commits.form[inside], _SPARK_BARS)
    heights = (sums / max(float(sums.max(initial=0)), 1.0)).tolist()
    return tuple(SparkBar(*bar) for bar in zip(*heights, (form > 0).tolist(), strict=True))


def _recent(facts: TableFacts) -> RecentCommits:
    newest = facts.commits.history.slice(max(len(facts.commits) - RECENT, 0))
    names = zip(newest.column("user_name").to_pylist(), newest.column("engine_info").to_pylist(), strict=True)
    return RecentCommits(
        tuple(facts.commits.times[-RECENT:].tolist()),
        tuple(user or (engine or "unknown").partition("/")[0] for user, engine in names),
        len(facts.commits) > RECENT,
    )


def _recorded_changes(facts: TableFacts) -> RecordedChanges:
    start = max(len(facts.commits) - RECENT, 0)
    newest = facts.commits.history.slice(start)
    ours = pc.starts_with(newest.column("engine_info"), f"{ENGINE}/").fill_null(False)
    chosen = newest.append_column("time", pa.array(facts.commits.times[start:])).filter(ours)
    rows = chosen.select(["version", "time", "operation", "user_name", "reason"]).to_pylist()
    made = [RecordedChange(row["version"], row["time"], *(row[name] or "" for name in _SAID)) for row in rows]
    return RecordedChanges((*made, *_maintained(facts)), start > 0)


def _maintained(facts: TableFacts) -> Iterator[RecordedChange]:
    """Yield the maintenance that no commit records."""
    try:
        entries = maintenance_entries(facts)
    except ExplorerError as error:
        _log.warning("the maintenance of %s cannot be read: %s", facts.name, error)
        return
    for entry in entries[:RECENT]:
        if not entry.recorded_in:
            line = maintenance_line(entry)
            yield RecordedChange(
                entry.version, milliseconds(entry.time), line.title, line.by, line.reason, line.files, line.digest
            )
