"""The log of a table, for reading. Listing, segments, snapshots and history are each read at first need.

Protocol sections: Action Reconciliation, Metadata Cleanup. Invariants: what was read is kept, because versions never
change and only new ones appear; if a file vanishes while it is read (clean-up), one new attempt reads what is left
(LOG-022); a checkpoint that lost a file is not used again; every error from here names the table.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from datetime import UTC, datetime, tzinfo
from functools import partial
from operator import index
from typing import Final, NamedTuple, Self, TypeVar

import msgspec
import pyarrow as pa

from explorer.core.errors import (
    ExplorerError,
    IncompleteCheckpoint,
    RequestError,
    StorageError,
    TableError,
    UnsupportedFeature,
    VersionGap,
    VersionNotFound,
)
from explorer.core.log.action_lines import action_lines
from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, check_published, ratified
from explorer.core.log.checkpoint.kept_columns import KeptColumns
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import Commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment, list_log, list_newer
from explorer.core.log.replay import advance_state, checkpoint_reader, read_commits, replay_files
from explorer.core.log.table_state import TableState
from explorer.core.log.verify.hash_chain import CommitSeal, seal
from explorer.core.log.verify.verify import IntegrityReport, verify
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.table_features import check_unmanaged, is_managed
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS
from explorer.core.protocol.times import aware_moment
from explorer.core.versions.blame import blame
from explorer.core.versions.change_feed.feed import ChangeSources, change_sources, check_sources, without_vacuumed
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.commit_times import commit_time, mentions_in_commit_timestamps, moment
from explorer.core.versions.diff import SnapshotDiff, diff_versions
from explorer.core.versions.history import PROVENANCE, History
from explorer.core.versions.history_reader import HistoryReader
from explorer.core.versions.kept_history import read_history, read_provenance, read_provenance_table
from explorer.core.versions.kept_index import KeptIndexes
from explorer.core.versions.located import located
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
_KEPT_SNAPSHOTS: Final = 16
_MOST_SINCE: Final = 1_000
_PAGE: Final = 1_000
"""So many names an object store gives at once: a log of fewer commits is listed whole, as it takes one request."""


class _Unusable(NamedTuple):
    """A checkpoint that could not be used: its files, and why."""

    parts: tuple[LogPath, ...]
    reason: str


class DeltaLog:
    """The log of a table, and what it says of every version.

    What was read is kept: versions never change, only new ones appear. `refresh` and `outdate` have the log listed
    again, and what was read of files that are others now is dropped.

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
        self._indexes = None if indexes is None or catalog is not None else indexes
        self.store = store if catalog is None else CatalogStore(store, catalog)
        self.time_zone = time_zone
        self.known_missing = KnownMissing()
        self._catalog = catalog
        self._history: History | None = None
        self._provenance: Provenance | None = None
        self._told: pa.Table | None = None
        self._follows = False
        self._watch: Callable[[int, int], None] | None = None
        self._columns: KeptColumns | None = None
        self._reader: HistoryReader | None = None
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()
        self._newest_state: tuple[int, TableState] | None = None
        # Whether in-commit timestamps were on in any version that was read: nothing says so once they were dropped.
        self._timed = False
        # Checkpoints that could not be used, by version; one that is written again may be.
        self._unusable: dict[int, _Unusable] = {}
        self._listed: LogListing = self._list(use_hint=True)
        self._whole: LogListing | None = None
        self._outdated = False
        self._rewritten = False

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
        recent = self._recent
        if recent.named is not None:
            try:
                self.check_unmanaged()
            except UnsupportedFeature:
                return recent.recorded
        return recent.latest

    @located
    def check_unmanaged(self) -> None:
        """Refuse a table whose commits a catalog manages, where the catalog's answer is not known.

        A table whose last published version cannot be read for another reason is not refused here.

        Raises:
            UnsupportedFeature: The log does not tell which version is the newest.
        """
        if self._catalog is not None:
            return
        with suppress(TableError, VersionNotFound, StorageError):
            try:
                self._snapshot(self._recent.recorded)
            except UnsupportedFeature as error:
                if is_managed(error):
                    raise

    @located
    def version_range(self) -> tuple[int, int]:
        """The oldest and the newest version that can be rebuilt.

        Raises:
            VersionGap: Not even the newest can be rebuilt.
            UnsupportedFeature: A catalog manages the commits, and staged ones show that it ratified more than these.
        """
        with self._managed_refused():
            return self.listing.earliest(), self.listing.latest

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
        return self._newest() if version is None else self._snapshot(_whole(version, "version"))

    @located
    def history_record(self) -> History:
        """The recorded commits and lifetimes, read at the first call."""
        if self._history is None or self._outdated:
            with self._managed_refused():
                self._history = self._read_history()
        return self._history

    @located
    def provenance_record(self) -> Provenance:
        """The recorded commits without their files, which is quicker to read; the history if that was read already."""
        if self._history is not None and not self._outdated:
            return self._history
        if self._provenance is None or self._outdated:
            listing = self.listing
            with self._managed_refused():
                self._provenance = read_provenance(self.store, listing, self._kept_indexes())
        return self._provenance

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
        if self._history is not None and not self._outdated:
            return self._history.table(_most(limit)).select(PROVENANCE)
        if self._told is None or self._outdated:
            listing = self.listing
            with self._managed_refused():
                self._told = read_provenance_table(self.store, listing, self._kept_indexes())
        return self._told.slice(0, _most(limit))

    @located
    def diff(self, from_version: int, to_version: int) -> SnapshotDiff:
        """Compare two versions, in either direction.

        Raises:
            VersionNotFound: One of them cannot be read.
        """
        first, last = _whole(from_version, "version"), _whole(to_version, "version")
        return diff_versions(self._unmanaged_history(), first, last)

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
        found = change_sources(
            self.store,
            self.listing,
            self.history_record(),
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
        history = self._unmanaged_history()
        needed = data_locations(history.lifetimes)
        missing = absent(self.store, needed)
        self.known_missing.looked_for_all(missing, history.latest)
        return version_retention(history, self.listing, now, missing)

    @located
    def version_risks(self) -> VersionRisks:
        """What leads to the loss of versions, from the log and the files that are known to be missing.

        `VersionRisks.at` says their states at a time.
        """
        return VersionRisks(self._unmanaged_history(), self.listing, self.known_missing)

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
        if self.is_history_kept:
            self._history, self._reader = read_history(
                self.store, self.listing, None, follow=self._follows, watch=watch
            )
        return self.history_record().lifetimes.contradictions

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
        if version not in self.listing.commits:
            raise VersionNotFound(f"The commit of version {version} is not in the log.", version=version)
        return seal(self.store, self.listing.commits, version)

    def follow(self) -> None:
        """Keep what `successor` needs to read new commits alone; call it before the history is read."""
        self._follows = True

    def keep_columns(self, columns: KeptColumns) -> None:
        """Keep what is read of a checkpoint, so that another version that begins with it reads its commits alone."""
        self._columns = columns

    def watch(self, tell: Callable[[int, int], None]) -> None:
        """Say how far the reading of the history is: how many commits are read, and how many there are.

        Args:
            tell: Called every some hundred commits, on the thread that reads; what it raises ends the reading.
        """
        self._watch = tell

    @located
    def newest_part(self) -> Self | None:
        """The log as if it began with its newest checkpoint, as another object; None if that is all there is.

        What it says of its versions is right. What it does not list may be in the log all the same.
        """
        listing = self._recent
        older = [checkpoint for checkpoint in listing.checkpoints if checkpoint.version < listing.latest]
        if not older and listing.checkpoints:
            # The newest version has a checkpoint itself: the part begins with the one before, if there is one.
            listing = self.listing
            older = [checkpoint for checkpoint in listing.checkpoints if checkpoint.version < listing.latest]
        if not older or listing.first_recorded() > older[-1].version + 1:
            return None
        start = older[-1].version
        if min(self.listing.first_recorded(), self.listing.earliest()) >= start:
            return None
        commits = VersionFiles.of(listing.commits).since(start + 1)
        found = copy(self)
        found._snapshots, found._unusable = OrderedDict(self._snapshots), dict(self._unusable)
        found._history = found._provenance = found._told = found._reader = found._indexes = found._watch = None
        found._listed = found._whole = msgspec.structs.replace(
            listing, commits=commits, checkpoints=tuple(older[-1:]), compactions=()
        )
        return found

    @located
    def successor(self) -> Self:
        """Return the log as it is now, as another object, for whose history only new commits are read.

        This object stays as it is. If the log is another one now, or was cleaned up, all of it is read.
        """
        found = copy(self)
        found._snapshots, found._unusable = OrderedDict(self._snapshots), dict(self._unusable)
        found._reader = None if self._reader is None else self._reader.copy()
        found._watch = None
        found.refresh()
        return found

    @property
    def listing(self) -> LogListing:
        """The whole listing, made at first need; the latest version needs only its end."""
        if self._outdated:
            self._relist()
        elif self._whole is None and not self._listed.is_whole:
            beginning = self._listed.beginning
            whole = None if beginning is None or self._catalog is not None else beginning()
            if whole is None:
                self._relist()
            else:
                self._listed = self._whole = self._usable(whole)
        return self._listed if self._whole is None else self._whole

    def outdate(self, *, rewritten: bool = False) -> None:
        """List new versions at the next question: there is one, and nothing has needed it yet.

        Args:
            rewritten: Files of earlier versions came or went, so that all of the log is listed.
        """
        self._outdated = True
        self._rewritten |= rewritten

    @located
    def refresh(self) -> None:
        """Look for new versions, and for a checkpoint or a clean-up that made none.

        What was read is dropped as far as the listing does not confirm it.
        """
        known, whole = self._listed, self._known_whole
        if self._catalog is not None or known.named is not None:
            self._accept(self._list(use_hint=True))
        elif self._rewritten or (whole is not None and (len(whole.commits) < _PAGE or self._is_cleaned_up(whole))):
            self._relist()
        else:
            self._accept(list_newer(self.store, known) or self._list(use_hint=True))

    def segment(self, version: int) -> LogSegment:
        """The files that rebuild a version."""
        listing = self._recent if version == self._recent.latest else self.listing
        return listing.segment(version)

    def newest_commit(self) -> LogPath | None:
        """The commit file of the newest version as listed; None where it is gone."""
        recent = self._recent
        return recent.commits.get(recent.latest)

    def on_segment(self, version: int, action: Callable[[LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, again on what is left (LOG-022).

        A checkpoint that lost a file is unusable (V2CKPT-007), and one that is cut off or otherwise unreadable too: an
        older one, or the commits, give the same state. So the step runs once more for each such checkpoint, and once
        more for commits.
        """
        lost: set[int | None] = set()
        while True:
            try:
                return action(self.segment(version))
            except (VersionGap, IncompleteCheckpoint) as error:
                checkpoint = error.version if isinstance(error, IncompleteCheckpoint) else None
                if checkpoint in lost or not (error.vanished or self._does_without(version, checkpoint)):
                    raise
                lost.add(checkpoint)
                reason = error.message
            self._relist(checkpoint, reason)

    def whole_listing(self) -> LogListing:
        """The whole listing with the checkpoints that reading did without."""
        return list_log(self.store) if self._unusable else self.listing

    @property
    def unusable_checkpoints(self) -> Mapping[int, str]:
        """Checkpoints that reading did without so far: version, and why it cannot be used."""
        return {version: each.reason for version, each in self._unusable.items()}

    def _does_without(self, version: int, checkpoint: int | None) -> bool:
        """Whether a version can be rebuilt without a checkpoint."""
        if checkpoint is None:
            return False
        try:
            self.listing.without_checkpoints({checkpoint, *self._unusable}).segment(version)
        except (VersionGap, VersionNotFound):
            return False
        return True

    def _kept_indexes(self) -> KeptIndexes | None:
        """What is kept of tables between processes; None keeps nothing."""
        return None if self._indexes is None else self._indexes()

    def _read_history(self) -> History:
        listing = self.listing
        reader, self._reader = self._reader, None
        if reader is not None and not reader.reads_on(listing):
            reader = None
        found, self._reader = read_history(
            self.store, listing, self._kept_indexes(), reader, follow=self._follows, watch=self._watch
        )
        return found

    @property
    def _recent(self) -> LogListing:
        """What is known of the newest versions."""
        if self._outdated:
            self.refresh()
        return self._listed

    def _relist(self, unusable: int | None = None, reason: str = "") -> None:
        """List the log again, without reading the hint; a checkpoint that is unusable is so as it is now."""
        found = self._list().with_named(self._listed.named)
        if unusable is not None:
            parts = {checkpoint.version: checkpoint.parts for checkpoint in found.checkpoints}
            self._unusable[unusable] = _Unusable(parts.get(unusable, ()), reason)
        self._accept(found)
        self._whole = self._listed

    def _accept(self, found: LogListing) -> None:
        """Take a new listing; drop what was read and is not confirmed by it.

        Versions are read again where a file that both listings have is another one, or the log is shorter than it was;
        what is known of all versions together, also where there is a new one or another file to begin at.
        """
        known, whole = self._listed, self._known_whole
        found = self._usable(found)
        before = whole if found.is_whole and whole is not None else known
        lost = before is whole and list(found.commits)[:1] != list(before.commits)[:1]
        if found.latest < known.latest or lost or not _same_files(found, known):
            self._snapshots.clear()
            self._newest_state, self._timed = None, False
            self._drop_history()
        elif found.latest != known.latest or _other_bases(found, before):
            self._drop_history()
        self._listed, self._outdated, self._rewritten = found, False, False

    def _drop_history(self) -> None:
        self._whole = self._history = self._provenance = self._told = None

    def _usable(self, listing: LogListing) -> LogListing:
        """A listing without the checkpoints that could not be used, as far as they are the same files."""
        there = {checkpoint.version: checkpoint.parts for checkpoint in listing.checkpoints}
        changed = [version for version, each in self._unusable.items() if there.get(version, each.parts) != each.parts]
        for version in changed:
            del self._unusable[version]
        return listing.without_checkpoints(self._unusable)

    @property
    def _known_whole(self) -> LogListing | None:
        """The whole listing, if it was made."""
        return self._listed if self._whole is None and self._listed.is_whole else self._whole

    def _is_cleaned_up(self, whole: LogListing) -> bool:
        """Whether the first commit that was listed is gone: a clean-up takes the oldest ones, and makes no version.

        A listing of new versions does not show it, and one of a long log takes longer than this question.
        """
        first = next(iter(whole.commits.values()))
        try:
            self.store.head(first.path)
        except FileNotFoundError:
            return True
        return False

    def _newest(self) -> Snapshot:
        with self._managed_refused():
            newest = self._snapshot(self._recent.latest)
        if self._catalog is None:
            check_published(self.store, newest.protocol, newest.version)
        return newest

    def _unmanaged_history(self) -> History:
        """The recorded commits, refused where the log does not tell which version is the newest."""
        history = self.history_record()
        protocol = history.protocol_at(history.latest)
        if self._catalog is None and protocol is not None:
            check_unmanaged(protocol, history.latest)
        return history

    @contextmanager
    def _managed_refused(self) -> Iterator[None]:
        """Where a catalog or a service orders the commits, versions without one are no loss: such a table is refused
        as what it is."""
        try:
            yield
        except VersionGap:
            recent = self._recent
            if recent.named is not None and recent.recorded >= 0:
                check_published(self.store, self._snapshot(recent.recorded).protocol, recent.recorded)
            raise

    def _snapshot(self, version: int) -> Snapshot:
        # Taken out and put back at the end in steps that threads cannot interrupt: two may ask at once.
        found = self._snapshots.pop(version, None)
        if found is None:
            found = self.on_segment(version, self._load)
        self._snapshots[version] = found
        while len(self._snapshots) > _KEPT_SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return found

    def _load(self, segment: LogSegment) -> Snapshot:
        base = checkpoint_reader(self.store, segment)
        commits, state = self._state(segment, base)
        if self._catalog is None:
            check_unmanaged(state.protocol, self._listed.recorded)
        return Snapshot(
            self.store,
            segment.version,
            state,
            partial(self._replay_files, segment, base, commits),
            partial(self._timestamp, segment, state, commits),
            by_catalog=self._catalog is not None,
            time_zone=self.time_zone,
        )

    def _state(self, segment: LogSegment, base: CheckpointReader | None) -> tuple[list[Commit], TableState]:
        """The small actions in force, and the commits read for them: those since a known state."""
        known = self._newest_state
        listed = self._listed.commits
        since = () if known is None else range(known[0] + 1, segment.version + 1)
        # The files come from a checkpoint in between: in a damaged log the commits before it may name other files.
        ahead = known is not None and segment.checkpoint is not None and segment.checkpoint.version > known[0]
        few = 0 < len(since) <= _MOST_SINCE and all(version in listed for version in since)
        before: TableState | None
        if known is not None and few and not ahead:
            commits, before = list(read_commits(self.store, [listed[version] for version in since])), known[1]
        else:
            commits, before = list(read_commits(self.store, segment.commits)), None if base is None else base.state()
        state = advance_state(before, commits, segment.version)
        metadata = (None if before is None else before.metadata, *(commit.metadata() for commit in commits))
        self._timed |= any(each is not None and IN_COMMIT_TIMESTAMPS.is_set(each.configuration) for each in metadata)
        if known is None or known[0] < segment.version:
            self._newest_state = segment.version, state
        return commits, state

    @located
    def _replay_files(self, segment: LogSegment, base: CheckpointReader | None, commits: list[Commit]) -> LogicalFiles:
        def replay(found: LogSegment) -> LogicalFiles:
            read = [commit.version for commit in commits]
            same = found.commits == segment.commits and read == [path.version for path in segment.commits]
            read_now = commits if same else read_commits(self.store, found.commits)
            opened = base if found.checkpoint == segment.checkpoint else checkpoint_reader(self.store, found)
            return replay_files(opened, read_now, self._columns)

        return self.on_segment(segment.version, replay)

    def _list(self, *, use_hint: bool = False) -> LogListing:
        listing = list_log(self.store, use_hint=use_hint)
        return listing if self._catalog is None else ratified(listing, self._catalog)

    @located
    def _timestamp(self, segment: LogSegment, state: TableState, commits: list[Commit]) -> datetime:
        """Time of the segment's last commit; that of its newest file where the commit is gone."""
        path = self.listing.commits.get(segment.version)
        if path is None:
            newest = segment.commits[-1:] or (segment.checkpoint.parts if segment.checkpoint else ())
            return moment(max((part.modified for part in newest), default=0))
        info = None
        if IN_COMMIT_TIMESTAMPS.of(state.metadata.configuration):
            commit = commits[-1] if commits else next(iter(read_commits(self.store, [path])))
            info = commit.commit_info()
        elif self._timed or mentions_in_commit_timestamps(state.protocol, state.metadata):
            # The file's time is raised above timestamps in the commits before, so those must be read.
            known = self.provenance_record().timestamp(segment.version)
            if known is not None:
                return moment(known)
        return moment(commit_time(path.modified, info, self._clock_before(segment.version)))

    def _clock_before(self, version: int) -> int:
        """Raised modification time of the commit before a version, or -1."""
        clock = -1
        for earlier, path in self.listing.commits.items():
            if earlier >= version:
                break
            clock = commit_time(path.modified, None, clock)
        return clock


def _other_bases(one: LogListing, other: LogListing) -> bool:
    """True if one listing has checkpoints or compactions that the other lacks."""
    return (one.checkpoints, one.compactions) != (other.checkpoints, other.compactions)


def _same_files(one: LogListing, other: LogListing) -> bool:
    """True if the commits and checkpoints that both list are the same files."""
    few, many = sorted((one.commits, other.commits), key=len)
    checkpoints = {each.version: each.parts for each in one.checkpoints}
    return all(many.get(version, path) == path for version, path in few.items()) and all(
        checkpoints.get(each.version, each.parts) == each.parts for each in other.checkpoints
    )


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
