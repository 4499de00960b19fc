"""Facts about one table, read once and kept: history, timeline, snapshots, diffs, lineage.

One `TableFacts` serves all sessions that show a table. It belongs to the newest version of the time it was made; when
the table has a newer version, a new one is made. Its methods may be called from several threads: one lock serialises
the calls into the core.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import pyarrow as pa

from explorer import formatting as fmt
from explorer.auditing import Audit, Subject, audit
from explorer.core.errors import ExplorerError, RequestError, TableError, VersionGap, VersionNotFound
from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.commit_infos import plain_reason
from explorer.core.log.log_path import LogPath
from explorer.core.protocol.times import milliseconds
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commits.commits import Commits
from explorer.core.versions.commits.time_words import EXAMPLES, NO_TIME
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.diff import SnapshotDiff
from explorer.core.versions.named_version import version_at, version_number
from explorer.core.versions.retention.horizon import Horizon
from explorer.core.versions.retention.version_states import VersionStates
from explorer.core.versions.settings_history import SettingChange, setting_changes
from explorer.core.versions.snapshot import Snapshot
from explorer.file_names import FileNames
from explorer.system import my_clients
from explorer.views.problems import Problem, data_problems
from explorer.views.table.lanes import Span, VersionLane, feed_lane, retention_lanes
from explorer.views.table.ranges import ColumnRanges, column_ranges
from explorer.views.table.timeline import MARKS, Colouring, Signs, Timeline, timeline_of
from explorer.views.table.version_axis import AxisKind

if TYPE_CHECKING:
    from explorer.catalogs.entry import CatalogEntry

_KEPT = 64
_FRESH_MINUTES = 5
# How many commits and files there may be for the rules to be asked while a person waits.
_FEW_COMMITS, _FEW_FILES = 2_000, 20_000
# One for all tables that a process shows, so that its 256 MiB are all that is kept of their checkpoints.
_COLUMNS = ColumnCache()
_LOST = "Its rows can no longer be read or restored; the log still shows what it changed."
T = TypeVar("T")


class TableFacts:
    """Answers about a table, cached.

    Args:
        log: The table's log.
        name: Its name for people; the table's own name unless given.
        clock: Says what time it is.
        before: A gap in the log: only the versions before it are asked for.
        partial: The log is the newest part of one whose older commits are not read yet.
        store: Tells apart tables that have one location in several stores; empty where there is only one.

    Attributes:
        partial: As given; what became of other versions is not known.
        place: The location and the store: what results of this table are told apart by from those of any other.
        first, last: The readable versions.
        newest: The newest commit's file, as it was listed.
        commits: The commits; empty if the history cannot be read.
        problem: Why the history cannot be read, or None.

    Raises:
        ExplorerError: The table cannot be read at all.
    """

    def __init__(
        self,
        log: DeltaLog,
        name: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        before: VersionGap | None = None,
        partial: bool = False,
        store: str = "",
    ) -> None:
        self.log, self.partial = log, partial
        log.cache_columns(_COLUMNS)
        self._clock = clock
        self.name: str = name or log.name
        self.location: str = log.location
        self.place: tuple[str, str] = (log.location, store)
        self._lock = threading.RLock()
        # Taken before the other one, never after it.
        self._judging = threading.Lock()
        self._judged: tuple[Hashable, bool] | None = None
        self._cached_lanes: tuple[VersionLane, ...] | None = None
        self._cached_audit: Audit | None = None
        self._cached: OrderedDict[Hashable, object] = OrderedDict()
        self.problem: TableError | None = before
        self.newest: LogPath | None = None
        self.commits = Commits(None)
        if before is not None and before.earliest is not None:
            # The newest version is known, and cannot be shown: asking for it says why.
            self.first, self.last = before.earliest, log.listing.latest
            return
        self.first, self.last = log.version_range()
        self.newest = log.newest_commit()
        try:
            self.commits = Commits(log.history())
        except TableError as error:
            # A line that cannot be read makes the history unreadable, but not the versions before it.
            self.problem = error
        log.check_unmanaged()

    def check(self, version: int) -> int:
        """Return the version if it can be shown.

        Raises:
            VersionNotFound: It is outside the readable range; ``nearest`` is the closest one inside.
        """
        if self.first <= version <= self.last:
            return version
        raise VersionNotFound(
            f"{self.name} has no version {version} to show: versions {self.first} to {self.last} can be shown.",
            version=version,
            earliest=self.first,
            latest=self.last,
            nearest=min(max(version, self.first), self.last),
        )

    def version_named(self, text: str) -> int:
        """Return the version that a person names: ``12``, ``v12``, or a time; raise as `named`."""
        return self.named(text)[0]

    def now(self) -> datetime:
        """Return the present, by which times in words are read."""
        return self._clock()

    def named(self, text: str) -> tuple[int, str]:
        """Return the version that a person names, and how a time was read; empty for a number.

        Times are those of `explorer.core.versions.commits.time_words`: without a zone, UTC, as all times are shown.

        Raises:
            VersionNotFound: It is neither a number nor a time, or no version that can be shown.
            TimestampOutOfRange: The time is before the first version, or in the future.
            RequestError: It is more than one time, or its zone is not known.
        """
        number = version_number(text)
        if number is not None:
            return self.check(number), ""
        digits = text.strip().removeprefix("v")
        try:
            with self._lock:
                version = version_at("" if digits.isdecimal() else text, self._clock(), self.log.history_record)
        except RequestError as error:
            if error.reason != NO_TIME:
                raise
            raise VersionNotFound(
                f"\u201c{fmt.shorten(text, 60)}\u201d is not a version of {self.name}: versions {self.first} to "
                f"{self.last} can be shown, by number or by a time such as {', '.join(EXAMPLES[:-1])}, or "
                f"{EXAMPLES[-1]}.",
                earliest=self.first,
                latest=self.last,
                nearest=self.last,
            ) from None
        return self.check(version.version), version.reading

    @property
    def catalog_entry(self) -> CatalogEntry | None:
        """What the catalog says of the table; None if it was opened by its location, or as a log alone."""
        entry: CatalogEntry | None = getattr(self.log, "catalog_entry", None)
        return entry

    def follows(self, other: TableFacts) -> bool:
        """Return whether these facts are of the same log at the same or a later version.

        A commit that the log no longer lists was cleaned up if there are later ones; one that could not be read may
        have been repaired; one that differs by its file's time alone was touched or copied.
        """
        newest, now = other.newest, self.log.listing.commits.get(other.last)
        if now == newest or other.problem is not None:
            return True
        if now is None or newest is None:
            return self.last > other.last
        mine, theirs = self.commits.record(other.last), other.commits.record(other.last)
        if mine is None or theirs is None or now.size != newest.size:
            return False
        same_table = self.snapshot(other.last).metadata.id == other.snapshot(other.last).metadata.id
        return same_table and replace(mine, timestamp=None) == replace(theirs, timestamp=None)

    def snapshot(self, version: int) -> Snapshot:
        """Return the snapshot of a version."""
        return self.keep(("snapshot", version), lambda: self.log.snapshot(version=self.check(version)))

    def snapshot_works(self, version: int) -> bool:
        """Return whether the version itself can be shown."""
        try:
            self.snapshot(version)
        except ExplorerError:
            return False
        return True

    def diff(self, from_version: int, to_version: int) -> SnapshotDiff:
        """Return the difference of two versions."""
        return self.keep(("diff", from_version, to_version), lambda: self.log.diff(from_version, to_version))

    def lineage(self) -> Lineage:
        """Return the columns' lineage over all versions."""
        return self.keep("lineage", self.log.column_lineage)

    def settings(self) -> tuple[SettingChange, ...]:
        """Return every change of a column, property, constraint, feature and domain that the history tells."""
        return self.keep("settings", lambda: setting_changes(self.log.history_record()))

    @property
    def settings_cached(self) -> bool:
        """Whether `settings` answers at once."""
        return "settings" in self._cached

    def coverage(self, version: int) -> pa.Table:
        """Return which columns have statistics in how many files."""
        return self.keep(("coverage", version), self.snapshot(version).statistics_coverage)

    def file_names(self, version: int) -> FileNames:
        """Return the names of the live files of a version."""
        return self.keep(
            ("file names", version), lambda: FileNames(self.snapshot(version).files(["path"]).column("path"))
        )

    def ranges(self, version: int, column: str) -> ColumnRanges:
        """Return the ranges of a column at a version, with the names of the files."""
        names = self.file_names(version)
        return self.keep(
            ("ranges", version, column),
            lambda: column_ranges(names.named(self.snapshot(version).column_ranges(column))),
        )

    @property
    def whole(self) -> tuple[int, int]:
        """The versions that the strip covers: those with a commit in the log, and those that can be read."""
        if not len(self.commits):
            return self.first, self.last
        return min(self.first, self.commits.first), max(self.last, self.commits.last)

    def timeline(
        self,
        window: tuple[int, int] | None = None,
        marks: int = MARKS,
        colouring: Colouring = "effect",
        axis: AxisKind = "version",
    ) -> Timeline:
        """Return the timeline of all versions, or of those in a window, in so many marks at most."""
        shown = window or self.whole
        return self.keep(
            ("timeline", window, marks, colouring, axis),
            lambda: timeline_of(self.commits, shown, marks=marks, colouring=colouring, signs=self.signs(), axis=axis),
        )

    @property
    def has_times(self) -> bool:
        """Whether commits have times that differ, so that they can be drawn by them."""
        return len(self.commits) > 1 and bool(self.commits.times[-1] > self.commits.times[0])

    def signs(self) -> Signs:
        """Return the diamonds and flags of all versions."""
        return self.keep("signs", self._signs)

    def lanes(self) -> tuple[VersionLane, ...]:
        """Return what can be read, what may be lost by the table's own retention, and where the feed was recorded.

        It follows from the log, as of some minutes ago at most, and from what is known of missing files. Nothing is
        said of a log that is known in part.
        """
        if self.partial:
            return ()
        return self.keep(("lanes", self._moment()), self._lanes)

    def feed_lane(self) -> VersionLane | None:
        """Return the versions whose commits recorded the change feed; None if the feed was never on.

        A commit records changes if the property is on in the metadata after it.
        """
        return self.keep("feed", lambda: feed_lane(self.commits.versions, self.commits.flags("change_feed")))

    def states(self) -> VersionStates:
        """Return which versions can be read now, which a clean-up may take, and which are gone.

        By the log, and by the files that are known to be missing.

        Raises:
            TableError: The history, or the value of a property of retention, cannot be read.
        """
        return self.keep("risks", self.log.version_risks).at(milliseconds(self._clock()))

    def lost_data(self, version: int) -> str:
        """Return why the rows of a version can no longer be read; empty where its data is not known to be lost."""
        states = None if self.partial else self._known_or_none(self.states)
        if states is None or states.state(version) != "data gone":
            return ""
        place = version - states.readable_from
        missing = 0 if states.lost is None else int(states.lost.count[place])
        if states.lost is not None and missing:
            example = f", such as {states.lost.named[place][0]}" if missing > 1 else f": {states.lost.named[place][0]}"
            return f"{fmt.plural(missing, 'file')} of v{version} no longer {_exist(missing)}{example}. {_LOST}"
        vacuum = int(states.vacuums[version - states.first])
        return f"v{vacuum} records a VACUUM that deleted files of v{version}. {_LOST}"

    def alerts(self, version: int) -> tuple[Problem, ...]:
        """Return what is wrong with the rows of a version: the one source for wherever they are shown."""
        return data_problems(self.snapshot(version).contested, self.lost_data(version))

    def horizon(self) -> Horizon:
        """Return what a VACUUM with any retention would take now, by the log and what is known of missing files.

        Raises:
            TableError: The history, or the value of a property of retention, cannot be read.
        """
        return self.keep(("horizon", self._moment()), lambda: self.log.horizon(self._clock()))

    def audit(self, *, wait: bool = True) -> Audit:
        """Return what the rules find in the table as it is now, by the log alone.

        Args:
            wait: Read the log again for the rules that trust nothing that is kept of it; else they have no answer while
                `awaits_log` is true.
        """
        unread = not wait and self.awaits_log
        return self.keep(("audit", self._moment(), unread), lambda: audit(self.subject(unread=unread)))

    def cached_audit(self) -> Audit | None:
        """Return the findings of the last `judge`; None before the first."""
        return self._cached_audit

    def cached_lanes(self) -> tuple[VersionLane, ...]:
        """Return the lanes of the last `judge`; before the first those of retention are empty."""
        if self.partial:
            return ()
        if self._cached_lanes is not None:
            return self._cached_lanes
        feed = self.feed_lane()
        return (VersionLane("log", ()), VersionLane("data", ()), *(() if feed is None else (feed,)))

    @property
    def is_judged(self) -> bool:
        """Whether `judge` was asked some minutes ago at most, and would find nothing else."""
        return self.partial or self._judged == (self._moment(), self.awaits_log)

    @property
    def is_judged_soon(self) -> bool:
        """Whether `judge` takes no more than a moment."""
        if not len(self.commits):
            return True
        newest = self.commits.record(self.commits.last)
        files = newest.num_files if newest is not None else None
        return len(self.commits) <= _FEW_COMMITS and (files or 0) <= _FEW_FILES

    def judge(self) -> None:
        """Find out what takes long on a large log, its lanes and findings; other questions are answered meanwhile.

        It does not read the log again: see `prepare_audit`. Of versions at risk it checks some files, as nothing
        records the vacuum of this program, or of another, that took them.
        """
        with self._judging:
            if self.is_judged:
                return
            risks, lineage = self._known_or_none(self.log.version_risks), self._known_or_none(self.lineage)
            if risks is not None:
                self._known_or_none(lambda: self.log.find_missing(risks.deciding(milliseconds(self._clock()))))
                self.keep("risks", lambda: risks)
                changes = setting_changes(self.log.history_record())
                self.keep("settings", lambda: changes)
            judged = self._moment(), self.awaits_log
            self._cached_lanes = self.lanes() if len(self.commits) else ()
            commits, unread = self.commits, judged[1]
            # Nothing that the rules ask for may wait for this object's lock: who holds it may be waiting for them.
            result = audit(
                Subject(
                    self.log,
                    self._clock(),
                    commits=lambda: commits.history,
                    lineage=None if lineage is None else lambda: lineage,
                    risks=None if risks is None else lambda: risks,
                    contradictions=(lambda: None) if unread else self.log.contradictions,
                    problem=self.problem,
                    mine=my_clients(),
                )
            )
            self._cached_audit, self._judged = result, judged

    @property
    def awaits_log(self) -> bool:
        """True until the log is read for the rules that use no cache."""
        return self.problem is None and self.log.is_history_cached

    def prepare_audit(self, watch: Callable[[int, int], None] | None = None) -> None:
        """Read the log again for an audit, as its rules ask; other questions are answered meanwhile.

        Args:
            watch: As for `DeltaLog.watch`.

        Raises:
            TableError: It cannot be read; an audit names the rules that cannot be answered for that.
        """
        self.keep("recorded", self.log.history_record)
        contradictions = self.log.contradictions(watch)
        self.keep("contradictions", lambda: contradictions)

    def subject(self, *, unread: bool = False) -> Subject:
        """Return the table as rules and reports are asked of it, with what is known already.

        Args:
            unread: Leave open what the log has to be read again for.
        """
        return Subject(
            self.log,
            self._clock(),
            commits=lambda: self.commits.history,
            lineage=self.lineage,
            risks=lambda: self.keep("risks", self.log.version_risks),
            contradictions=lambda: None if unread else self.keep("contradictions", self.log.contradictions),
            problem=self.problem,
            mine=my_clients(),
        )

    @staticmethod
    def _known_or_none(read: Callable[[], T]) -> T | None:
        """Return the answer of a question to the log; None if there is none, as its caller reports the cause."""
        try:
            return read()
        except ExplorerError:
            return None

    def _now(self) -> datetime:
        """Return the time, rounded to some minutes, for which results are reused."""
        now = self._clock()
        return now.replace(minute=now.minute // _FRESH_MINUTES * _FRESH_MINUTES, second=0, microsecond=0)

    def _moment(self) -> Hashable:
        """Return the basis of an answer about lost versions: the time and the known missing files."""
        return self._now(), self.log.known_missing.now.revision

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value kept under a key, or make it (one thread at a time) and keep it."""
        with self._lock:
            if key in self._cached:
                self._cached.move_to_end(key)
                return cast("T", self._cached[key])  # a key means one type
            made = self._cached[key] = make()
            while len(self._cached) > _KEPT:
                self._cached.popitem(last=False)
            return made

    def _signs(self) -> Signs:
        commits, history = self.commits, self.log.history_record()
        versions = commits.versions
        form = versions[commits.form]
        jumps = [int(v) for v in versions[commits.flags("protocol_changed")] if v > 0]
        protocols = [(version, protocol) for version in jumps if (protocol := history.protocol_at(version)) is not None]
        tagged = np.flatnonzero(commits.history.column("reason").is_valid().to_numpy())
        texts = commits.history.column("reason").take(pa.array(tagged)).to_pylist()
        return Signs(
            form=form,
            protocols=tuple(
                (v, f"protocol {p.min_reader_version} \u00b7 {p.min_writer_version}") for v, p in protocols
            ),
            tags=tuple(
                (int(versions[place]), plain_reason(text)) for place, text in zip(tagged, texts, strict=True) if text
            ),
            checkpoints=tuple(sorted({checkpoint.version for checkpoint in self.log.listing.checkpoints})),
        )

    def _lanes(self) -> tuple[VersionLane, ...]:
        feed = self.feed_lane()
        try:
            retention = retention_lanes(self.states())
        except TableError as error:
            # A property without a readable value: the versions can be read, but their end date is unknown.
            unknown = Span(self.first, self.last, "unknown", f"until when is unknown: {error}")
            return (VersionLane("log", (unknown,)), *((feed,) if feed else ()))
        return (*retention, *((feed,) if feed else ()))


def _exist(count: int) -> str:
    return "exists" if count == 1 else "exist"
