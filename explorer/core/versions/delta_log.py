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

from explorer.core.errors import ExplorerError, IncompleteCheckpoint, VersionGap
from explorer.core.log.catalog_commits import CatalogCommits, ratified
from explorer.core.log.commit import Commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, LogSegment, list_log, list_newer
from explorer.core.log.replay import advance_state, read_commits, replay_files, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.table_properties.keys import ENABLE_ICT
from explorer.core.protocol.table_properties.values import flag
from explorer.core.versions.commit_times import commit_time, mentions_in_commit_timestamps, moment
from explorer.core.versions.history import History, read_history
from explorer.core.versions.snapshot import Snapshot

__all__ = ["TableLog"]

_T = TypeVar("_T")
_KEPT_SNAPSHOTS: Final = 16
_MOST_SINCE: Final = 1_000


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
        self._newest_state: tuple[int, TableState] | None = None
        self._unusable: set[int] = set()
        self._listed: LogListing = self._list(use_hint=True)
        self._whole: LogListing | None = None
        self._outdated = False

    @property
    def latest(self) -> int:
        """The newest version, whether it can be rebuilt or not."""
        return self._recent.latest

    @property
    def listing(self) -> LogListing:
        """The whole listing, made at the first need; the latest version needs only its end."""
        if self._whole is None or self._outdated:
            self._relist()
        return self._listed if self._whole is None else self._whole

    @property
    def history(self) -> History:
        """The recorded commits and lifetimes."""
        if self._history is None or self._outdated:
            self._history = read_history(self.store, self.listing)
        return self._history

    def outdate(self) -> None:
        """Look for new versions at the next question: there is one, and nobody has asked yet."""
        self._outdated = True

    def refresh(self) -> None:
        """Look for new versions."""
        newer = None if self._catalog is not None else list_newer(self.store, self._listed)
        if newer is None:
            self._accept(self._list(use_hint=True))
        else:
            if newer.latest != self._listed.latest:
                self._whole = self._history = None
            self._listed, self._outdated = newer.without_checkpoints(self._unusable), False

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

    def newest_commit(self) -> LogPath | None:
        """The commit file of the newest version as it was listed; None where it is gone."""
        recent = self._recent
        return recent.commits.get(recent.latest)

    def on_segment(self, version: int, action: Callable[[LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, once more on what is there now (LOG-022).

        A checkpoint that lost a file is unusable (V2CKPT-007): an older one, or the commits, give the same state.
        """
        try:
            return action(self.segment(version))
        except (VersionGap, IncompleteCheckpoint) as error:
            if not error.vanished:
                raise
            if isinstance(error, IncompleteCheckpoint) and error.version is not None:
                self._unusable.add(error.version)
            self._relist()
            return action(self.segment(version))

    @property
    def _recent(self) -> LogListing:
        """What is known of the newest versions."""
        if self._outdated:
            self.refresh()
        return self._listed

    def _relist(self) -> None:
        self._accept(self._list())
        self._whole = self._listed

    def _accept(self, found: LogListing) -> None:
        """Take a new listing; forget what was read if it is the log of another table, or was cleaned up."""
        known = self._listed
        if found.latest != known.latest:
            self._whole = self._history = None
        if found.latest < known.latest or not _same_commits(found, known):
            self._snapshots.clear()
            self._newest_state = self._history = None
        self._listed, self._outdated = found.without_checkpoints(self._unusable), False

    def _load(self, version: int) -> Snapshot:
        def load(segment: LogSegment) -> Snapshot:
            commits, state = self._state(segment)
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

    def _state(self, segment: LogSegment) -> tuple[list[Commit], TableState]:
        """The small actions in force, and the commits that were read for it: those since a state that is known."""
        known = self._newest_state
        listed = self._listed.commits
        since = () if known is None else range(known[0] + 1, segment.version + 1)
        # A checkpoint on the way is what the files come from: in a damaged log its commits may tell of other ones.
        ahead = known is not None and segment.checkpoint is not None and segment.checkpoint.version > known[0]
        few = 0 < len(since) <= _MOST_SINCE and all(version in listed for version in since)
        if known is not None and few and not ahead:
            commits = list(read_commits(self.store, [listed[version] for version in since]))
            state = advance_state(known[1], commits, segment.version)
        else:
            commits = list(read_commits(self.store, segment.commits))
            state = replay_state(self.store, segment, commits)
        if known is None or known[0] < segment.version:
            self._newest_state = segment.version, state
        return commits, state

    def _replay_files(self, segment: LogSegment, commits: list[Commit]) -> LogicalFiles:
        def replay(found: LogSegment) -> LogicalFiles:
            read = [commit.version for commit in commits]
            same = found.commits == segment.commits and read == [path.version for path in segment.commits]
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
            error.table = error.table or self.store.root
            raise


def _same_commits(one: LogListing, other: LogListing) -> bool:
    """True if the commits that both list are the same files."""
    return all(one.commits[version] == other.commits[version] for version in one.commits.keys() & other.commits.keys())
