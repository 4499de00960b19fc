"""The log of one table as it is being read: listing, segments, snapshots and history, each at the first need.

Protocol sections: Action Reconciliation, Metadata Cleanup. Invariants: what was read is kept, because versions never
change and only new ones appear; a file that vanishes while it is read (clean-up) makes one new attempt on what is there
(LOG-022); a checkpoint that lost a file is not used again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, tzinfo
from typing import Final, TypeVar

from explorer.core.catalog import CatalogCommits, ratified
from explorer.core.commits import Commit
from explorer.core.errors import ExplorerError, IncompleteCheckpoint, VersionGap
from explorer.core.history import (
    ENABLE_ICT,
    History,
    commit_time,
    mentions_in_commit_timestamps,
    moment,
    read_history,
)
from explorer.core.log_segment import LogListing, LogSegment, list_log
from explorer.core.logical_files import LogicalFiles
from explorer.core.ports import LogStore
from explorer.core.properties import flag
from explorer.core.replay import TableState, read_commits, replay_files, replay_state
from explorer.core.snapshot import Snapshot

__all__ = ["TableLog"]

_T = TypeVar("_T")
_KEPT_SNAPSHOTS: Final = 16


class TableLog:
    """The log of a table.

    Attributes:
        store: Where its bytes are.
        time_zone: Where partition values that say no zone were written.
    """

    def __init__(self, store: LogStore, catalog: CatalogCommits | None, time_zone: tzinfo) -> None:
        self.store, self.time_zone = store, time_zone
        self._catalog = catalog
        self._history: History | None = None
        self._snapshots: OrderedDict[int, Snapshot] = OrderedDict()
        self._unusable: set[int] = set()
        self._recent: LogListing = self._list(use_hint=True)
        self._whole: LogListing | None = None

    @property
    def latest(self) -> int:
        """The newest version, whether it can be rebuilt or not."""
        return self._recent.latest

    @property
    def listing(self) -> LogListing:
        """The whole listing, made at the first need; the latest version needs only its end."""
        if self._whole is None:
            self._whole = self._recent = self._list().without_checkpoints(self._unusable)
        return self._whole

    @property
    def history(self) -> History:
        """The recorded commits and lifetimes."""
        if self._history is None:
            self._history = read_history(self.store, self.listing)
        return self._history

    def refresh(self) -> None:
        """Look for new versions."""
        recent = self._list(use_hint=True)
        if recent.latest != self._recent.latest:
            self._recent, self._whole, self._history = recent, None, None
            self._snapshots.clear()

    def snapshot(self, version: int) -> Snapshot:
        """The table at a version; errors as `explorer.table.Table.snapshot`."""
        found = self._snapshots.get(version)
        if found is None:
            found = self._snapshots[version] = self._load(version)
            while len(self._snapshots) > _KEPT_SNAPSHOTS:
                self._snapshots.popitem(last=False)
        self._snapshots.move_to_end(version)
        return found

    def segment(self, version: int) -> LogSegment:
        """The files that rebuild a version."""
        listing = self._recent if version == self._recent.latest else self.listing
        return listing.segment(version)

    def on_segment(self, version: int, action: Callable[[LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, once more on what is there now (LOG-022).

        A checkpoint that lost a file is unusable (V2CKPT-007): an older one, or the commits, give the same state.
        """
        try:
            return action(self.segment(version))
        except (VersionGap, IncompleteCheckpoint) as error:
            if not error.vanished:
                raise
            if isinstance(error, IncompleteCheckpoint):
                self._unusable.add(error.version)
            self._whole = self._recent = self._list().without_checkpoints(self._unusable)
            return action(self.segment(version))

    def _load(self, version: int) -> Snapshot:
        def load(segment: LogSegment) -> Snapshot:
            commits = list(read_commits(self.store, segment.commits))
            state = replay_state(self.store, segment, commits)
            return Snapshot(
                self.store,
                version,
                state,
                lambda: self._located(lambda: self._replay_files(segment, commits)),
                lambda: self._located(lambda: self._timestamp(segment, state, commits)),
                by_catalog=self._catalog is not None,
                time_zone=self.time_zone,
            )

        return self.on_segment(version, load)

    def _replay_files(self, segment: LogSegment, commits: list[Commit]) -> LogicalFiles:
        def replay(found: LogSegment) -> LogicalFiles:
            same = found.commits == segment.commits
            return replay_files(self.store, found, commits if same else read_commits(self.store, found.commits))

        return self.on_segment(segment.version, replay)

    def _list(self, *, use_hint: bool = False) -> LogListing:
        listing = list_log(self.store, use_hint=use_hint)
        return listing if self._catalog is None else ratified(listing, self._catalog)

    def _timestamp(self, segment: LogSegment, state: TableState, commits: list[Commit]) -> datetime:
        """Time of the segment's last commit; that of its newest file where the commit is gone."""
        path = self.listing.commits.get(segment.version)
        if path is None:
            newest = segment.commits[-1:] or (segment.checkpoint.parts if segment.checkpoint else ())
            return moment(max((part.modified for part in newest), default=0))
        info = None
        if flag(state.metadata.configuration, ENABLE_ICT):
            commit = commits[-1] if commits else next(iter(read_commits(self.store, [path])))
            info = commit.commit_info()
        elif mentions_in_commit_timestamps(state.protocol, state.metadata):
            # The file's time is raised above timestamps in the commits before, so those have to be read.
            known = self.history.timestamp(segment.version)
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

    def _located(self, action: Callable[[], _T]) -> _T:
        """Run a step that comes later, and put the table's location into the error it may raise."""
        try:
            return action()
        except ExplorerError as error:
            error.add_facts(table=self.store.root)
            raise
