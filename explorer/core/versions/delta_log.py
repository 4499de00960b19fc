"""The log of a table, for reading. Listing, segments, snapshots and history are each read at first need.

Protocol sections: Action Reconciliation, Metadata Cleanup. Invariants: what is known and how more is read is in
`explorer.core.versions.open_log`; an answer that needs a history and a listing takes both from one listing; every error
from here names the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from operator import index
from typing import TYPE_CHECKING, Self, TypeVar

import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError, UnsupportedFeature, VersionNotFound
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.checkpoint.column_cache import ColumnCache
from explorer.core.log.commit import Commit
from explorer.core.log.index_cache import IndexCache
from explorer.core.log.log_path import LogPath, commit_name
from explorer.core.log.log_segment import LogListing, LogSegment, list_log
from explorer.core.log.replay import read_commits
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.times import aware_moment
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.located import data_file_of, located
from explorer.core.versions.open_log.current import CurrentLog, LogSource
from explorer.core.versions.open_log.histories import ReadOptions
from explorer.core.versions.open_log.reader import LogReader
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.retention.missing_files import KnownMissing, absent, data_locations
from explorer.core.versions.snapshot import Snapshot

if TYPE_CHECKING:
    from explorer.core.log.verify.hash_chain import CommitSeal
    from explorer.core.log.verify.integrity import IntegrityReport
    from explorer.core.versions.change_feed.feed import ChangeSources
    from explorer.core.versions.diff import SnapshotDiff
    from explorer.core.versions.history import History
    from explorer.core.versions.retention.horizon import Horizon
    from explorer.core.versions.retention.readable_until import FolderScan
    from explorer.core.versions.retention.version_states import VersionRisks

_T = TypeVar("_T")


class DeltaLog:
    """The log of a table, and what it records of every version.

    What was read stays in memory: versions never change, only new ones appear. `refresh` and `outdate` make the log
    be listed again, and drop what was read of files that have changed since.

    Threads: any number may read, call `refresh` and `outdate`, and make successors of one log at once. Each result
    comes from one listing, and a `refresh` never puts an older listing in place of a newer one. A history is read by
    one thread, while others that need it wait. Two calls may use two listings if a `refresh` comes between them; a
    `successor` is a log that nothing else refreshes. `follow`, `cache_columns` and `watch` are called before other
    threads have the log.

    Attributes:
        store: The store of its files.
        time_zone: The zone of partition values without a zone.
        known_missing: The files that are known to be missing; objects of the same table may share it.
    """

    @located
    def __init__(
        self,
        store: LogStore,
        catalog: CommitCatalog | None = None,
        time_zone: tzinfo = UTC,
        indexes: Callable[[], IndexCache | None] | None = None,
    ) -> None:
        """Open the log.

        Args:
            time_zone: The zone of partition values without a zone.
            catalog: The catalog that ratifies the commits; None for a table that no catalog manages.
            indexes: Opens the cache of tables between processes; None caches nothing. It does not serve a table whose
                commits a catalog manages.

        Raises:
            TableNotFound: There is no log.
        """
        source = LogSource.of(store, catalog)
        self.store, self.time_zone = source.store, time_zone
        self.known_missing = KnownMissing()
        options = ReadOptions(indexes=None if catalog is not None else indexes)
        self._reader = LogReader(CurrentLog(source), options, time_zone)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location!r})"

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self.store.root

    @property
    def catalog(self) -> CommitCatalog | None:
        """The catalog that ratifies the commits; None if there is none, or the table was opened without it."""
        return self._current.source.catalog

    @property
    def name(self) -> str:
        """The last part of the location."""
        return self.location.rstrip("/").rsplit("/", 1)[-1]

    @located
    def latest_version(self) -> int:
        """Return the newest version, whether it can be rebuilt or not.

        Where a catalog manages the commits, and its response is unknown, the last one that is published.
        """
        recent = self._current.recent().listing
        if recent.missing_version is not None:
            try:
                self._reader.check_unmanaged()
            except UnsupportedFeature:
                return recent.recorded
        return recent.latest

    @located
    def check_unmanaged(self) -> None:
        """Refuse a table whose commits a catalog manages; see `LogReader.check_unmanaged`.

        Raises:
            UnsupportedFeature: The log does not show which version is the newest.
        """
        self._reader.check_unmanaged()

    @located
    def version_range(self) -> tuple[int, int]:
        """Return the oldest and the newest version that can be rebuilt.

        Raises:
            VersionGap: Not even the newest can be rebuilt.
            UnsupportedFeature: A catalog manages the commits, and staged ones show that it ratified more than these.
        """
        with self._reader.managed_refused():
            listing = self.listing
            return listing.earliest(), listing.latest

    @located
    def snapshot(self, version: int | None = None, timestamp: datetime | str | None = None) -> Snapshot:
        """Return the table at a version, at a time, or now.

        Args:
            timestamp: An aware datetime, or ISO 8601 text with a zone; the newest version committed at or before it.

        Raises:
            VersionNotFound: There is no such version, or it can no longer be rebuilt.
            TimestampOutOfRange: No readable version was current then.
            UnsupportedFeature: The version uses a feature this program does not read.
            TableError: The log is damaged.
        """
        if version is not None and timestamp is not None:
            raise RequestError("Give a version or a timestamp, not both.")
        if timestamp is not None:
            version = self.provenance_record().version_at(aware_moment(timestamp))
        return self._reader.newest() if version is None else self._reader.snapshot(_integer(version, "version"))

    @located
    def history_record(self) -> History:
        """Return the recorded commits and lifetimes, read at the first call."""
        return self._reader.history()

    @located
    def provenance_record(self) -> Provenance:
        """Return the recorded commits without their files, which are quicker to read; or the history if it was read."""
        return self._reader.provenance()

    @located
    def history(self, limit: int | None = None) -> pa.Table:
        """Return the commits, newest first.

        Returns:
            version, timestamp (ms, UTC), timestamp_basis (``in-commit``, or ``file``: that of the commit file, which
            a copy changes), commit_info_timestamp (the writer's clock, which decides nothing), operation, user_name,
            engine_info, parameters, metrics (maps of text), is_blind_append, num_files_added / _removed / _remasked,
            bytes_added / _removed, rows_added / _removed (rows a reader sees in the added and removed files),
            rows_masked (rows newly hidden in files that stay), rows_rewritten (rows among those added that existed
            before), num_files, num_bytes, num_rows,
            num_deleted_rows (after the commit), metadata_changed, protocol_changed, schema_changed (values differ from
            those before, not merely written again; an identity mark, which writing rows moves, does not count),
            data_change, change_files, change_feed, reason. Null means that the log does not record it.
        """
        return self.history_record().table(_most(limit))

    @located
    def provenance(self, limit: int | None = None) -> pa.Table:
        """Return author, time and operation of each commit, newest first, from its provenance alone.

        It is quick where commits begin with their provenance, as nearly all do, and have no in-commit timestamp.

        Returns:
            The columns of `history` that need no file and no state: version, timestamp, timestamp_basis,
            commit_info_timestamp, operation, user_name, engine_info, parameters, metrics, is_blind_append, reason.

        Raises:
            MalformedAction: A commit that does not begin with its provenance is damaged; `verify` reads all of each.
        """
        return self._reader.provenance_table(_most(limit))

    @located
    def diff(self, from_version: int, to_version: int) -> SnapshotDiff:
        """Compare two versions, in either direction.

        Raises:
            VersionNotFound: One of them cannot be read.
        """
        from explorer.core.versions.diff import diff_versions

        first, last = _integer(from_version, "version"), _integer(to_version, "version")
        return diff_versions(self._reader.history_and_listing()[0], first, last)

    @located
    def change_sources(
        self,
        from_version: int,
        to_version: int,
        inferred: bool = False,
        *,
        schema_version: int | None = None,
        skip: bool = False,
        by_id: bool = False,
    ) -> ChangeSources:
        """Return the files with the changes of a range of versions, both ends included, and check that they exist.

        Args:
            inferred: Infer the changes of versions without a recorded change feed from their added and removed files;
                `explorer.spark.changes.changes` leaves out the rows that such a commit only copied.
            schema_version: Version whose schema the rows have; see `explorer.core.versions.change_feed`.
            skip: Leave out versions whose changes cannot be found, and name them, instead of refusing the range.
            by_id: Read across renames of columns; see `explorer.core.versions.change_feed.feed.change_sources`.

        Raises:
            RequestError: The range is reversed.
            VersionNotFound: It leaves the versions that the log records.
            ChangeFeedGap: The feed was off in between, the schema changed, or a file was deleted by VACUUM.
        """
        from explorer.core.versions.change_feed.feed import change_sources, check_sources, without_vacuumed

        history, listing = self._reader.history_and_listing()
        sources = change_sources(
            self.store,
            listing,
            history,
            _integer(from_version, "version"),
            _integer(to_version, "version"),
            inferred=inferred,
            schema_version=schema_version,
            skip=skip,
            by_id=by_id,
        )
        if skip:
            return without_vacuumed(sources, self.find_missing)
        check_sources(sources, self.find_missing)
        return sources

    def find_missing(self, locations: Iterable[str]) -> frozenset[str]:
        """Return the decoded locations at which there is no file, and remember them.

        Raises:
            NotAllowed: An absolute location is outside the locations that may be read.
        """
        wanted = frozenset(locations)
        missing = absent(self.store, wanted)
        self.known_missing.record_checked(wanted, missing)
        return missing

    def learn(self, error: BaseException | None) -> None:
        """Check whether the data file that a failed read names exists, and remember it if it is missing."""
        path = data_file_of(error)
        if path is not None:
            with suppress(ExplorerError):
                self.find_missing([path])

    @located
    def retention(self, now: datetime) -> pa.Table:
        """Return whether each version can be read, and until when that is certain; checks that all its files exist.

        Args:
            now: The present, with a zone.

        Returns:
            One row a version, ascending: version, status (readable, at risk, log gone, data gone), at_risk_from (ms,
            UTC), by (the property that sets the time), reason, missing_files (some of those that are missing),
            num_missing_files; see `explorer.core.versions.retention`.
        """
        from explorer.core.versions.retention.version_retention import version_retention

        history, listing = self._reader.history_and_listing()
        needed = data_locations(history.lifetimes)
        missing = absent(self.store, needed)
        self.known_missing.record_all_checked(missing, history.latest)
        return version_retention(history, listing, now, missing)

    @located
    def version_risks(self) -> VersionRisks:
        """Return the causes of the loss of versions, from the log and the files that are known to be missing.

        `VersionRisks.at` returns their states at a time.
        """
        from explorer.core.versions.retention.version_states import VersionRisks

        return VersionRisks(*self._reader.history_and_listing(), self.known_missing)

    @located
    def settings_history(self) -> pa.Table:
        """Return who changed what, when and why: every column, property, constraint, feature and domain, newest first.

        Returns:
            One row a change: version, timestamp (ms, UTC), kind, name, before, after, column (its identity through
            renames), initial, known, user_name, operation, reason, engine_info; see
            `explorer.core.versions.settings_history`.
        """
        from explorer.core.versions.settings_history import setting_changes, settings_table

        history = self.provenance_record()
        return settings_table(history, setting_changes(history))

    @located
    def blame(self, name: str | None = None) -> pa.Table:
        """Return who set a column, property, constraint, feature or domain to its current state, when and why.

        Args:
            name: Its current or last name; None for everything that exists now.

        Returns:
            Its entries, newest first: the columns of `settings_history`, ``current`` and ``current_name``.

        Raises:
            RequestError: Nothing has that name; ``nearest`` has similar names.
        """
        from explorer.core.versions.blame import blame

        return blame(self.provenance_record(), name)

    @located
    def horizon(self, now: datetime, *, scan: FolderScan | None = None) -> Horizon:
        """Return what a VACUUM now would leave readable, and what it would free, for every retention period.

        Args:
            now: The present, with a zone.
            look: The files in the folder, from `explorer.core.maintenance.folder_listing`; None goes by the log alone.
        """
        from explorer.core.versions.retention.horizon import horizon

        return horizon(self.history_record(), self.version_risks(), now, scan)

    @property
    def is_history_cached(self) -> bool:
        """True if the history is one that an earlier process cached, so that `contradictions` reads the log."""
        return self.history_record().cached

    @located
    def contradictions(self, watch: Callable[[int, int], None] | None = None) -> tuple[tuple[int, str, str], ...]:
        """Return contradictory statements of commits about files: version, kind and path, read from the log alone.

        A cached history is replaced by the one that is read here, so that the log is read in full once, however often
        this is called and however it grows.
        """
        return self._reader.history_of_log(watch).lifetimes.contradictions

    @located
    def verify(self, *, check_cancelled: Callable[[], None] = lambda: None) -> IntegrityReport:
        """Verify the whole log: gaps, damaged and contradictory commits, checksums and checkpoints against replay.

        Args:
            check_cancelled: Called before each version; what it raises ends the replay.

        Returns:
            The problems, the range of versions, and the head of a hash chain over the commits.
        """
        from explorer.core.log.verify.integrity import verify

        return verify(self.store, self.catalog, check_cancelled)

    @located
    def column_lineage(self) -> Lineage:
        """Return how each column was named and typed over the readable versions."""
        return self.provenance_record().lineage()

    def commits(self, from_version: int, to_version: int) -> Iterator[Commit]:
        """Read the commits of a range of versions, both ends included, as far as they are in the log."""
        paths = self.listing.commits.items()
        return read_commits(self.store, [path for version, path in paths if from_version <= version <= to_version])

    @located
    def commit_actions(self, version: int) -> list[bytes]:
        """Return the lines of one commit as they are in the log, one action each.

        Raises:
            VersionNotFound: The commit's file is missing.
        """
        from explorer.core.log.action_lines import action_lines

        path = self.listing.commits.get(version)
        if path is None:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        lines = (line.removesuffix(b"\r") for line in action_lines(self.store.read(path.path)))
        return [line for line in lines if line.strip()]

    @located
    def commit_seal(self, version: int) -> CommitSeal:
        """Return the digest of a commit's file, and the head of the hash chain that ends with it.

        Raises:
            VersionNotFound: The commit's file is missing.
        """
        from explorer.core.log.verify.hash_chain import seal

        commits = self.listing.commits
        if version not in commits:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        return seal(self.store, commits, version)

    def follow(self) -> None:
        """Keep what `successor` needs to read new commits alone; call it before the history is read."""
        self._reader.options = replace(self._reader.options, follows=True)

    def cache_columns(self, columns: ColumnCache) -> None:
        """Cache the columns of checkpoints, so that another version that begins with one reads only its commits."""
        self._reader.options = replace(self._reader.options, columns=columns)

    def watch(self, report: Callable[[int, int], None]) -> None:
        """Report the progress of reading the history: how many commits are read, and how many there are.

        Args:
            report: Called every some hundred commits, on the thread that reads; an exception from it ends the reading.
        """
        self._reader.options = replace(self._reader.options, watch=report)

    @located
    def newest_part(self) -> Self | None:
        """Return the log as if it began with its newest checkpoint, as another object; None if that is all there is.

        Its versions are correct. What it does not list may be in the log all the same.
        """
        part, options = self._current.newest_part(), self._reader.options
        return None if part is None else self._with(part, replace(options, indexes=None, watch=None))

    @located
    def successor(self) -> Self:
        """Return the log as it is now, as another object, for whose history only new commits are read.

        This object stays as it is, and the other one does not keep it. If the log is another one now, or was cleaned
        up, all of it is read.
        """
        log = self._with(self._current.successor(), replace(self._reader.options, watch=None))
        log._reader.take_over()
        return log

    @property
    def listing(self) -> LogListing:
        """The full listing, made at first need; the latest version needs only its end."""
        return self._current.full().listing

    def outdate(self, *, rewritten: bool = False) -> None:
        """List new versions at the next call: there is one, and nothing has needed it yet.

        Args:
            rewritten: Files of earlier versions were added or deleted, so that all of the log is listed.
        """
        self._current.outdate(rewritten=rewritten)

    @located
    def refresh(self) -> None:
        """List new versions, and a checkpoint or a log cleanup that made none.

        What was read is dropped unless the listing confirms it.
        """
        self._current.refresh()

    def segment(self, version: int) -> LogSegment:
        """Return the files that rebuild a version."""
        return self._current.holding(version).listing.segment(version)

    def newest_commit(self) -> LogPath | None:
        """Return the commit file of the newest version as listed; None where it is missing."""
        recent = self._current.recent().listing
        return recent.commits.get(recent.latest)

    def commit_path(self, version: int) -> str:
        """Return the key of the commit file of a version; until it is published, that of its staged file."""
        path = self._current.recent().listing.commits.get(version)
        return commit_name(version) if path is None else path.path

    def on_segment(self, version: int, action: Callable[[LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, again on the remaining ones (LOG-022).

        See `explorer.core.versions.open_log.current.CurrentLog.on_segment`.
        """
        return self._current.on_segment(version, lambda _, segment: action(segment))

    def full_listing(self) -> LogListing:
        """Return the full listing with the checkpoints that could not be used."""
        return list_log(self.store) if self._current.known.unusable else self.listing

    @property
    def unusable_checkpoints(self) -> Mapping[int, str]:
        """Checkpoints that could not be used so far: version, and the reason."""
        return {version: each.reason for version, each in self._current.known.unusable.items()}

    @property
    def _current(self) -> CurrentLog:
        return self._reader.current

    def _with(self, current: CurrentLog, options: ReadOptions) -> Self:
        """Return the same table over another state of its log."""
        log = copy(self)
        log._reader = self._reader.over(current, options)
        return log


def _integer(number: int, of: str) -> int:
    """Return a number of any integer type, NumPy's too, but not a Boolean."""
    if not isinstance(number, bool):
        with suppress(TypeError):
            return index(number)
    raise RequestError(f"{number!r} is not a {of}. Give a whole number.", field=of, found=repr(number))


def _most(limit: int | None) -> int | None:
    """Return the limit of rows, checked."""
    if limit is None:
        return None
    most = _integer(limit, "limit")
    if most < 0:
        raise RequestError(
            f"The limit {most} is negative. Give a limit of 0 or more, or none.", field="limit", found=most
        )
    return most
