"""Reads the versions and the histories of an open log, each at the first need.

Protocol sections: Action Reconciliation, In-Commit Timestamps, Catalog-managed tables. Invariants: what was read is put
in the state whose listing it was read by; every later error names the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from explorer.core.errors import StorageError, TableError, UnsupportedFeature, VersionGap, VersionNotFound
from explorer.core.log.catalog_commits import check_published
from explorer.core.log.checkpoint.reader import CheckpointReader
from explorer.core.log.commit import Commit
from explorer.core.log.log_segment import LogListing, LogSegment
from explorer.core.log.replay import advance_state, checkpoint_reader, read_commits, replay_files
from explorer.core.log.table_state import TableState
from explorer.core.log.version_files import VersionFiles
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.table_features import check_unmanaged, is_managed
from explorer.core.protocol.table_properties.registry import IN_COMMIT_TIMESTAMPS
from explorer.core.versions.commit_times import commit_time, file_times, mentions_in_commit_timestamps, moment
from explorer.core.versions.located import located
from explorer.core.versions.open_log.current import CurrentLog
from explorer.core.versions.open_log.histories import ReadOptions
from explorer.core.versions.open_log.log_state import LogState
from explorer.core.versions.provenance import Provenance
from explorer.core.versions.snapshot import Snapshot

if TYPE_CHECKING:
    from explorer.core.versions.history import History

_MOST_SINCE: Final = 1_000


class LogReader:
    """Reads one log; its methods may be called from any thread.

    Args:
        time_zone: The zone of partition values without a zone.

    Attributes:
        current: As given.
        options: As given; replaced as a unit when the log is to be read in another way.
    """

    def __init__(self, current: CurrentLog, options: ReadOptions, time_zone: tzinfo = UTC) -> None:
        self.current, self.options = current, options
        self._time_zone = time_zone

    @property
    def location(self) -> str:
        """The table's root as a URL."""
        return self._store.root

    def over(self, current: CurrentLog, options: ReadOptions) -> LogReader:
        """Return another reader, of another state of the log."""
        return LogReader(current, options, self._time_zone)

    def take_over(self) -> None:
        """Load the rest of the versions that another reader read, so that its log is not kept for that."""
        self.current.known.versions.replace_each(lambda snapshot: snapshot.loaded_by(self._own))

    def _own(self, load: Callable[[], Any]) -> Callable[[], Any]:
        """Return what loads a part of a version by this reader, given what does so by another one."""
        return partial(getattr(self, load.func.__name__), *load.args) if isinstance(load, partial) else load

    def snapshot(self, version: int) -> Snapshot:
        """Return the table at a version.

        Raises:
            VersionNotFound: There is no such version, or it can no longer be rebuilt.
            UnsupportedFeature: The version uses a feature this program does not read.
            TableError: The log is damaged.
        """
        cached = self.current.known.versions.find(version)
        return self.current.on_segment(version, self._load) if cached is None else cached

    def newest(self) -> Snapshot:
        """Return the table at the newest version.

        Raises:
            VersionGap: The newest version cannot be rebuilt.
            UnsupportedFeature: It uses a feature this program does not read, or may not be the newest of the table.
            TableError: The log is damaged.
        """
        with self.managed_refused():
            snapshot = self.snapshot(self.current.recent().listing.latest)
        if self._by_catalog:
            return snapshot
        check_published(self._store, snapshot.protocol, snapshot.version)
        return snapshot

    def history(self) -> History:
        """Return the recorded commits and lifetimes; see `Histories.history`."""
        return self.history_and_listing()[0]

    def history_and_listing(self) -> tuple[History, LogListing]:
        """Return the history and the listing of all of the log that it was read by.

        Raises:
            UnsupportedFeature: The log does not record which version is the newest.
        """
        with self.managed_refused():
            known = self.current.full()
            history = known.histories.history(self._store, self.options)
        self._check_recorded(history)
        return history, known.listing

    def check_unmanaged(self) -> None:
        """Refuse a table whose commits a catalog manages, where the catalog's response is not known.

        A table whose last published version cannot be read for another reason is not refused here.

        Raises:
            UnsupportedFeature: The log does not show which version is the newest.
        """
        if self._by_catalog:
            return
        with suppress(TableError, VersionNotFound, StorageError):
            try:
                self.snapshot(self.current.recent().listing.recorded)
            except UnsupportedFeature as error:
                if is_managed(error):
                    raise

    def history_of_log(self, watch: Callable[[int, int], None] | None) -> History:
        """Return the history read from the log, without the cache.

        Args:
            watch: As of `ReadOptions`, if the log is read once more.
        """
        self.history()
        with self.managed_refused():
            histories = self.current.full().histories
            return histories.history_of_log(self._store, replace(self.options, watch=watch))

    def provenance(self) -> Provenance:
        """Return the recorded commits without their files; see `Histories.provenance`."""
        provenance = self._provenance()
        self._check_recorded(provenance)
        return provenance

    def provenance_table(self, most: int | None) -> pa.Table:
        """Return the provenance that commits record of themselves; see `Histories.provenance_table`."""
        with self.managed_refused():
            histories = self.current.full().histories
            return histories.provenance_table(self._store, self.options, most, self._check_recorded)

    @contextmanager
    def managed_refused(self) -> Iterator[None]:
        """Refuse a table whose commits a catalog or a service orders: there a missing version is not a loss.

        Raises:
            UnsupportedFeature: A version is missing, and staged commits show that there are more than these.
        """
        try:
            yield
        except VersionGap:
            recent = self.current.recent().listing
            if recent.missing_version is not None and recent.recorded >= 0:
                check_published(self._store, self.snapshot(recent.recorded).protocol, recent.recorded)
            raise

    def _check_recorded(self, commits: Provenance) -> None:
        """Refuse commits that may not be all, as the log does not record which version is the newest."""
        if not self._by_catalog and (protocol := commits.newest_protocol) is not None:
            check_unmanaged(protocol, commits.latest)

    def _provenance(self) -> Provenance:
        with self.managed_refused():
            return self.current.full().histories.provenance(self._store, self.options)

    @property
    def _store(self) -> LogStore:
        return self.current.source.store

    @property
    def _by_catalog(self) -> bool:
        return self.current.source.catalog is not None

    def _load(self, known: LogState, segment: LogSegment) -> Snapshot:
        base = checkpoint_reader(self._store, segment)
        commits, state = self._state(known, segment, base)
        if not self._by_catalog:
            check_unmanaged(state.protocol, known.listing.recorded)
        snapshot = Snapshot(
            self._store,
            segment.version,
            state,
            partial(self._replay_files, segment, base, commits),
            partial(self._timestamp, segment, state, commits),
            by_catalog=self._by_catalog,
            time_zone=self._time_zone,
        )
        return known.versions.keep(snapshot)

    def _state(
        self, known: LogState, segment: LogSegment, base: CheckpointReader | None
    ) -> tuple[list[Commit], TableState]:
        """Return the small actions in force, and the commits read for them: those since a known state."""
        newest, listed = known.versions.newest, known.listing.commits
        since = () if newest is None else range(newest.version + 1, segment.version + 1)
        # The files come from a checkpoint in between: in a damaged log the commits before it may name other files.
        ahead = newest is not None and segment.checkpoint is not None and segment.checkpoint.version > newest.version
        few = 0 < len(since) <= _MOST_SINCE and all(version in listed for version in since)
        before: TableState | None
        if newest is not None and few and not ahead:
            commits, before = list(read_commits(self._store, [listed[version] for version in since])), newest.state
        else:
            commits, before = list(read_commits(self._store, segment.commits)), None if base is None else base.state()
        state = advance_state(before, commits, segment.version)
        metadata = (None if before is None else before.metadata, *(commit.metadata() for commit in commits))
        timed = any(each is not None and IN_COMMIT_TIMESTAMPS.is_set(each.configuration) for each in metadata)
        known.versions.learn(segment.version, state, timed=timed)
        return commits, state

    @located
    def _replay_files(self, segment: LogSegment, base: CheckpointReader | None, commits: list[Commit]) -> LogicalFiles:
        def replay(_: LogState, remaining: LogSegment) -> LogicalFiles:
            read = [commit.version for commit in commits]
            same = remaining.commits == segment.commits and read == [path.version for path in segment.commits]
            read_now = commits if same else read_commits(self._store, remaining.commits)
            opened = base if remaining.checkpoint == segment.checkpoint else checkpoint_reader(self._store, remaining)
            return replay_files(opened, read_now, self.options.columns, self.options.indexes)

        return self.current.on_segment(segment.version, replay)

    @located
    def _timestamp(self, segment: LogSegment, state: TableState, commits: list[Commit]) -> datetime:
        """Return the time of the segment's last commit; that of its newest file where the commit is missing."""
        known = self.current.full()
        path = known.listing.commits.get(segment.version)
        if path is None:
            newest = segment.commits[-1:] or (segment.checkpoint.parts if segment.checkpoint else ())
            return moment(max((part.modified for part in newest), default=0))
        info = None
        if IN_COMMIT_TIMESTAMPS.of(state.metadata.configuration):
            commit = commits[-1] if commits else next(iter(read_commits(self._store, [path])))
            info = commit.commit_info()
        elif known.versions.timed or mentions_in_commit_timestamps(state.protocol, state.metadata):
            # The file's time is raised above timestamps in the commits before, so those must be read.
            recorded = self._provenance().timestamp(segment.version)
            if recorded is not None:
                return moment(recorded)
        return moment(commit_time(path.modified, info, _clock_before(known.listing, segment.version)))


def _clock_before(listing: LogListing, version: int) -> int:
    """Return the raised modification time of the commit before a version, or -1."""
    commits = VersionFiles.of(listing.commits)
    before = commits.oldest(int(np.searchsorted(commits.versions, version)))
    return int(file_times(before.modified)[-1]) if len(before) else -1
