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
from typing import Self, TypeVar

import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError, UnsupportedFeature, VersionNotFound
from explorer.core.log.action_lines import action_lines
from explorer.core.log.catalog_commits import CatalogCommits
from explorer.core.log.checkpoint.kept_columns import KeptColumns
from explorer.core.log.commit import Commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment, list_log
from explorer.core.log.replay import read_commits
from explorer.core.log.verify.hash_chain import CommitSeal, seal
from explorer.core.log.verify.verify import IntegrityReport, verify
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.times import aware_moment
from explorer.core.versions.blame import blame
from explorer.core.versions.change_feed.feed import ChangeSources, change_sources, check_sources, without_vacuumed
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.diff import SnapshotDiff, diff_versions
from explorer.core.versions.history import History
from explorer.core.versions.kept_index import KeptIndexes
from explorer.core.versions.located import located
from explorer.core.versions.open_log.current import CurrentLog
from explorer.core.versions.open_log.histories import ReadOptions
from explorer.core.versions.open_log.reader import LogReader
from explorer.core.versions.open_log.source import LogSource
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.retention.folder_look import FolderLook
from explorer.core.versions.retention.horizon import Horizon, horizon
from explorer.core.versions.retention.known_missing import KnownMissing
from explorer.core.versions.retention.learning import data_file_of
from explorer.core.versions.retention.missing_files import absent, data_locations
from explorer.core.versions.retention.retention import version_retention
from explorer.core.versions.retention.version_states import VersionRisks
from explorer.core.versions.settings_history import setting_changes, settings_table
from explorer.core.versions.snapshot import Snapshot

__all__ = ["DeltaLog"]

_T = TypeVar("_T")


class DeltaLog:
    """The log of a table, and what it records of every version.

    What was read stays in memory: versions never change, only new ones appear. `refresh` and `outdate` have the log
    listed again, and what was read of files that are others now is forgotten.

    Threads: any number may ask questions, call `refresh` and `outdate`, and make successors of one log at once. Each
    answer comes from one listing, and a `refresh` never puts an older listing in place of a newer one. A history is
    read by one thread, while others that need it wait. Two questions may be answered by two listings if a `refresh`
    comes between them; a `successor` is a log that nothing else refreshes. `follow`, `keep_columns` and `watch` are
    called before other threads have the log.

    Attributes:
        store: The store of its files.
        time_zone: The zone of partition values without a zone.
        known_missing: The files that are known to be missing; objects of the same table may share it.
    """

    @located
    def __init__(
        self,
        store: LogStore,
        catalog: CatalogCommits | None = None,
        time_zone: tzinfo = UTC,
        indexes: Callable[[], KeptIndexes | None] | None = None,
    ) -> None:
        """Open the log.

        Args:
            store: The store of its files.
            catalog: The commits that its catalog ratified, for a table whose commits a catalog manages.
            time_zone: The zone of partition values without a zone.
            indexes: Opens what is kept of tables between processes; None keeps nothing. It does not serve a table
                whose commits a catalog manages.

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
    def name(self) -> str:
        """The last part of the location."""
        return self.location.rstrip("/").rsplit("/", 1)[-1]

    @located
    def latest_version(self) -> int:
        """The newest version, whether it can be rebuilt or not.

        Where a catalog manages the commits, and its answer is not known, the last one that is published.
        """
        recent = self._current.recent().listing
        if recent.named is not None:
            try:
                self._reader.check_unmanaged()
            except UnsupportedFeature:
                return recent.recorded
        return recent.latest

    @located
    def check_unmanaged(self) -> None:
        """Refuse a table whose commits a catalog manages; see `LogReader.check_unmanaged`.

        Raises:
            UnsupportedFeature: The log does not tell which version is the newest.
        """
        self._reader.check_unmanaged()

    @located
    def version_range(self) -> tuple[int, int]:
        """The oldest and the newest version that can be rebuilt.

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
            version: The version.
            timestamp: An aware datetime, or ISO 8601 text with a zone; the newest version committed at or before it.

        Raises:
            VersionNotFound: There is no such version, or it can no longer be rebuilt.
            TimestampOutOfRange: No readable version was current then.
            UnsupportedFeature: The version uses a feature this program does not read.
            TableError: The log is broken.
        """
        if version is not None and timestamp is not None:
            raise RequestError("Give a version or a timestamp, not both.")
        if timestamp is not None:
            version = self.provenance_record().version_at(aware_moment(timestamp))
        return self._reader.newest() if version is None else self._reader.snapshot(_whole(version, "version"))

    @located
    def history_record(self) -> History:
        """The recorded commits and lifetimes, read at the first call."""
        return self._reader.history()

    @located
    def provenance_record(self) -> Provenance:
        """The recorded commits without their files, which is quicker to read; the history if that was read already."""
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
            those before, not merely written again; an identity mark, which rows move, is no change), data_change,
            change_files, change_feed, reason. Null means that the log does not say.
        """
        return self.history_record().table(_most(limit))

    @located
    def provenance(self, limit: int | None = None) -> pa.Table:
        """Return who did what and when, newest first, out of what the commits say of themselves.

        It is quick where commits begin with that, as nearly all do, and have no in-commit timestamp.

        Returns:
            The columns of `history` that need no file and no state: version, timestamp, timestamp_basis,
            commit_info_timestamp, operation, user_name, engine_info, parameters, metrics, is_blind_append, reason.

        Raises:
            MalformedAction: A commit that does not begin with its provenance is broken; `verify` reads all of each.
        """
        return self._reader.provenance_table(_most(limit))

    @located
    def diff(self, from_version: int, to_version: int) -> SnapshotDiff:
        """Compare two versions, in either direction.

        Raises:
            VersionNotFound: One of them cannot be read.
        """
        first, last = _whole(from_version, "version"), _whole(to_version, "version")
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
    ) -> ChangeSources:
        """Find the files that hold the changes of a range of versions, both ends included, and check that they exist.

        Args:
            from_version, to_version: The range.
            inferred: Infer the changes of versions without a recorded change feed from their added and removed files;
                `explorer.spark.changes.changes` leaves out the rows that such a commit only copied.
            schema_version: Version whose schema the rows have; see `explorer.core.versions.change_feed`.
            skip: Leave out versions whose changes cannot be found, and name them, instead of refusing the range.

        Raises:
            RequestError: The range runs backwards.
            VersionNotFound: It leaves the versions that the log records.
            ChangeFeedGap: The feed was off in between, the schema changed, or a file was deleted by VACUUM.
        """
        history, listing = self._reader.history_and_listing()
        found = change_sources(
            self.store,
            listing,
            history,
            _whole(from_version, "version"),
            _whole(to_version, "version"),
            inferred=inferred,
            schema_version=schema_version,
            skip=skip,
        )
        if skip:
            return without_vacuumed(found, self.look_for)
        check_sources(found, self.look_for)
        return found

    def look_for(self, locations: Iterable[str]) -> frozenset[str]:
        """Return the decoded locations at which there is no file, and know it from now on.

        Raises:
            NotAllowed: An absolute location is outside the places that may be read.
        """
        wanted = frozenset(locations)
        missing = absent(self.store, wanted)
        self.known_missing.looked_for(wanted, missing)
        return missing

    def learn(self, error: BaseException | None) -> None:
        """Look for the data file that a failed read names, and know from now on if it is missing."""
        path = data_file_of(error)
        if path is not None:
            with suppress(ExplorerError):
                self.look_for([path])

    @located
    def retention(self, now: datetime) -> pa.Table:
        """Say of every version whether it can be read, and until when that is certain; checks that all its files exist.

        Args:
            now: The present, with a zone.

        Returns:
            One row a version, ascending: version, status (readable, at risk, log gone, data gone), at_risk_from (ms,
            UTC), by (the property that sets the time), reason, missing_files (some of those that are gone),
            num_missing_files; see `explorer.core.versions.retention`.
        """
        history, listing = self._reader.history_and_listing()
        needed = data_locations(history.lifetimes)
        missing = absent(self.store, needed)
        self.known_missing.looked_for_all(missing, history.latest)
        return version_retention(history, listing, now, missing)

    @located
    def version_risks(self) -> VersionRisks:
        """What leads to the loss of versions, from the log and the files that are known to be missing.

        `VersionRisks.at` says their states at a time.
        """
        return VersionRisks(*self._reader.history_and_listing(), self.known_missing)

    @located
    def settings_history(self) -> pa.Table:
        """Return who changed what, when and why: every column, property, constraint, feature and domain, newest first.

        Returns:
            One row a change: version, timestamp (ms, UTC), kind, name, before, after, column (its identity through
            renames), initial, known, user_name, operation, reason, engine_info; see
            `explorer.core.versions.settings_history`.
        """
        history = self.provenance_record()
        return settings_table(history, setting_changes(history))

    @located
    def blame(self, name: str | None = None) -> pa.Table:
        """Say since when a column, property, constraint, feature or domain is as it is, by whom and why.

        Args:
            name: What it is called now, or was called last; None for everything that there is now.

        Returns:
            Its entries, newest first: the columns of `settings_history`, ``current`` and ``current_name``.

        Raises:
            RequestError: Nothing has that name; ``nearest`` has names that come close.
        """
        return blame(self.provenance_record(), name)

    @located
    def horizon(self, now: datetime, *, look: FolderLook | None = None) -> Horizon:
        """Find out what a VACUUM now would leave readable, and what it would free, for every retention.

        Args:
            now: The present, with a zone.
            look: What the folder holds, from `explorer.core.maintenance.folder_listing`; None goes by the log alone.
        """
        return horizon(self.history_record(), self.version_risks(), now, look)

    @property
    def is_history_kept(self) -> bool:
        """True if the history is one that was kept from an earlier process, so that `contradictions` reads the log."""
        return self.history_record().kept

    @located
    def contradictions(self, watch: Callable[[int, int], None] | None = None) -> tuple[tuple[int, str, str], ...]:
        """What commits must not say of a file and do: version, kind and path, out of the log and nothing kept of it.

        A history that was kept from an earlier process is replaced by the one that is read here, so that the log is
        read whole once, however often somebody asks and however it grows.
        """
        return self._reader.history_of_log(watch).lifetimes.contradictions

    @located
    def verify(self) -> IntegrityReport:
        """Verify the whole log: gaps, broken and contradictory commits, checksums and checkpoints against replay.

        Returns:
            The problems, the range of versions, and the head of a hash chain over the commits.
        """
        return verify(self.store)

    @located
    def column_lineage(self) -> Lineage:
        """How each column was named and typed over the readable versions."""
        return self.provenance_record().lineage()

    def commits(self, from_version: int, to_version: int) -> Iterator[Commit]:
        """Read the commits of a range of versions, both ends included, as far as they are in the log."""
        found = self.listing.commits.items()
        return read_commits(self.store, [path for version, path in found if from_version <= version <= to_version])

    @located
    def commit_actions(self, version: int) -> list[bytes]:
        """Return the lines of one commit as the log holds them, each action on one.

        Raises:
            VersionNotFound: The commit's file is gone.
        """
        path = self.listing.commits.get(version)
        if path is None:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        lines = (line.removesuffix(b"\r") for line in action_lines(self.store.read(path.path)))
        return [line for line in lines if line.strip()]

    @located
    def commit_seal(self, version: int) -> CommitSeal:
        """Return the digest of a commit's file, and the head of the hash chain that ends with it.

        Raises:
            VersionNotFound: The commit's file is gone.
        """
        commits = self.listing.commits
        if version not in commits:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        return seal(self.store, commits, version)

    def follow(self) -> None:
        """Keep what `successor` needs to read new commits alone; call it before the history is read."""
        self._reader.options = replace(self._reader.options, follows=True)

    def keep_columns(self, columns: KeptColumns) -> None:
        """Keep what is read of a checkpoint, so that another version that begins with it reads its commits alone."""
        self._reader.options = replace(self._reader.options, columns=columns)

    def watch(self, tell: Callable[[int, int], None]) -> None:
        """Say how far the reading of the history is: how many commits are read, and how many there are.

        Args:
            tell: Called every some hundred commits, on the thread that reads; what it raises ends the reading.
        """
        self._reader.options = replace(self._reader.options, watch=tell)

    @located
    def newest_part(self) -> Self | None:
        """The log as if it began with its newest checkpoint, as another object; None if that is all there is.

        What it says of its versions is right. What it does not list may be in the log all the same.
        """
        part, options = self._current.newest_part(), self._reader.options
        return None if part is None else self._with(part, replace(options, indexes=None, watch=None))

    @located
    def successor(self) -> Self:
        """Return the log as it is now, as another object, for whose history only new commits are read.

        This object stays as it is. If the log is another one now, or was cleaned up, all of it is read.
        """
        return self._with(self._current.successor(), replace(self._reader.options, watch=None))

    @property
    def listing(self) -> LogListing:
        """The whole listing, made at first need; the latest version needs only its end."""
        return self._current.whole().listing

    def outdate(self, *, rewritten: bool = False) -> None:
        """List new versions at the next question: there is one, and nothing has needed it yet.

        Args:
            rewritten: Files of earlier versions came or went, so that all of the log is listed.
        """
        self._current.outdate(rewritten=rewritten)

    @located
    def refresh(self) -> None:
        """Look for new versions, and for a checkpoint or a clean-up that made none.

        What was read is dropped as far as the listing does not confirm it.
        """
        self._current.refresh()

    def segment(self, version: int) -> LogSegment:
        """The files that rebuild a version."""
        return self._current.holding(version).listing.segment(version)

    def newest_commit(self) -> LogPath | None:
        """The commit file of the newest version as listed; None where it is gone."""
        recent = self._current.recent().listing
        return recent.commits.get(recent.latest)

    def on_segment(self, version: int, action: Callable[[LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, again on what is left (LOG-022).

        See `explorer.core.versions.open_log.current.CurrentLog.on_segment`.
        """
        return self._current.on_segment(version, lambda _, segment: action(segment))

    def whole_listing(self) -> LogListing:
        """The whole listing with the checkpoints that reading did without."""
        return list_log(self.store) if self._current.known.unusable else self.listing

    @property
    def unusable_checkpoints(self) -> Mapping[int, str]:
        """Checkpoints that reading did without so far: version, and why it cannot be used."""
        return {version: each.reason for version, each in self._current.known.unusable.items()}

    @property
    def _current(self) -> CurrentLog:
        return self._reader.current

    def _with(self, current: CurrentLog, options: ReadOptions) -> Self:
        """The same table over another state of its log."""
        found = copy(self)
        found._reader = self._reader.over(current, options)
        return found


def _whole(number: int, of: str) -> int:
    """A number that a person gave, of any type that counts: NumPy's too, and no truth value."""
    if not isinstance(number, bool):
        with suppress(TypeError):
            return index(number)
    raise RequestError(f"{number!r} is no {of}. Give a whole number.", field=of, found=repr(number))


def _most(limit: int | None) -> int | None:
    """How many rows are asked for."""
    if limit is None:
        return None
    most = _whole(limit, "limit")
    if most < 0:
        raise RequestError(
            f"There are no {most} commits. Give a limit of 0 or more, or none.", field="limit", found=most
        )
    return most
