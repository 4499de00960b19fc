"""The present state of the log: the record, and the listings that replace it.

Protocol sections: Delta Log Entries, Checkpoints, Metadata Cleanup. Invariants: the record is replaced by one
assignment; one thread lists at a time; if a file vanishes while it is read (log cleanup), one new attempt reads the
remaining files (LOG-022); a checkpoint that lost a file is not used again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import msgspec

from explorer.core.errors import IncompleteCheckpoint, VersionGap, VersionNotFound
from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, CommitCatalog, ratified
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing, LogSegment, list_log, list_newer
from explorer.core.protocol.log_store import LogStore
from explorer.core.versions.open_log.log_state import Due, LogState


@dataclass(frozen=True, slots=True)
class LogSource:
    """The files of one log.

    Attributes:
        store: The store of the files; the commits whose content the catalog gave are in it too.
        catalog: The catalog that ratifies the commits; None for a table that no catalog manages.
    """

    store: LogStore
    catalog: CommitCatalog | None = None

    @classmethod
    def of(cls, store: LogStore, catalog: CommitCatalog | None) -> LogSource:
        """Return the source of the log in a store."""
        return cls(CatalogStore(store, catalog) if isinstance(catalog, CatalogCommits) else store, catalog)

    def newest(self) -> LogListing:
        """List the newest versions: from the checkpoint on that the hint names, else all.

        Raises:
            TableNotFound: There is no log.
        """
        return self._ratified(partial(list_log, self.store, use_hint=True))

    def all(self) -> LogListing:
        """List the log from its beginning.

        Raises:
            TableNotFound: There is no log.
        """
        return self._ratified(partial(list_log, self.store))

    def with_newer(self, known: LogListing) -> LogListing:
        """List the files after a listing; the newest versions where its newest commit is another file now."""
        return list_newer(self.store, known) or self.newest()

    def lacks(self, path: LogPath) -> bool:
        """Return whether a file of the log is missing now."""
        try:
            self.store.head(path.path)
        except FileNotFoundError:
            return True
        return False

    def _ratified(self, listed: Callable[[], LogListing]) -> LogListing:
        """List after the catalog answered: what is published in between is in both, and nothing is in neither."""
        if self.catalog is None:
            return listed()
        answer = self.catalog.current()
        listing = listed()
        beginning = None if listing.beginning is None else partial(_beginning, listing.beginning, answer)
        return msgspec.structs.replace(ratified(listing, answer), beginning=beginning)


def _beginning(listed: Callable[[], LogListing | None], answer: CatalogCommits) -> LogListing | None:
    """Complete a listing with the answer that its end has."""
    full = listed()
    return None if full is None else ratified(full, answer)


_T = TypeVar("_T")
_PAGE: Final = 1_000
"""The most names an object store returns at once: a log of fewer commits is listed in full, as it takes one request."""


class CurrentLog:
    """The present state of one log; every method may be called from any thread.

    Args:
        known: Its state; None lists it.

    Attributes:
        source: As given.

    Raises:
        TableNotFound: There is no log.
    """

    def __init__(self, source: LogSource, known: LogState | None = None) -> None:
        self.source = source
        self._listing = threading.RLock()
        self._known = LogState.of(source.newest()) if known is None else known

    @property
    def known(self) -> LogState:
        """Return the present state, though new versions may be due to be listed."""
        return self._known

    def recent(self) -> LogState:
        """Return the state with the newest versions."""
        known = self._known
        if known.due is Due.NOTHING:
            return known
        with self._listing:
            return self._known if self._known.due is Due.NOTHING else self.refresh()

    def full(self) -> LogState:
        """Return the state with a listing of all of the log, made at the first need."""
        known = self._known
        if known.is_complete:
            return known
        with self._listing:
            return self._known if self._known.is_complete else self._complete()

    def holding(self, version: int) -> LogState:
        """Return the state with the files of a version listed: the newest one needs only the log's end."""
        recent = self.recent()
        return recent if version == recent.listing.latest else self.full()

    def outdate(self, *, rewritten: bool = False) -> None:
        """List new versions at the next call; all of the log if old files were added or deleted."""
        with self._listing:
            self._known = self._known.outdated(Due.ALL if rewritten else Due.NEWER)

    def refresh(self) -> LogState:
        """List new files, and return the new state.

        Raises:
            TableNotFound: The log no longer exists.
        """
        with self._listing:
            self._known = self._known.listed_again(self._listed())
            return self._known

    def on_segment(self, version: int, action: Callable[[LogState, LogSegment], _T]) -> _T:
        """Run a step on the files of a version; if one vanished meanwhile, again on the remaining ones (LOG-022).

        A checkpoint that lost a file is unusable (V2CKPT-007), and one that is cut off or otherwise unreadable too: an
        older one, or the commits, give the same state. So the step runs once more for each such checkpoint, and once
        more for commits.
        """
        lost: set[int | None] = set()
        while True:
            try:
                known = self.holding(version)
                return action(known, known.listing.segment(version))
            except (VersionGap, IncompleteCheckpoint) as error:
                checkpoint = error.version if isinstance(error, IncompleteCheckpoint) else None
                if checkpoint in lost or not (error.vanished or self._does_without(version, checkpoint)):
                    raise
                lost.add(checkpoint)
                reason = error.message
            self._list_all(checkpoint, reason)

    def newest_part(self) -> CurrentLog | None:
        """Return the log as if it began with its newest checkpoint before the newest version; None if it does."""
        known = self.recent()
        if not _older_checkpoints(known.listing) and known.listing.checkpoints:
            # The newest version has a checkpoint itself: the part begins with the one before, if there is one.
            known = self.full()
        older = _older_checkpoints(known.listing)
        if not older or known.listing.first_recorded() > older[-1].version + 1:
            return None
        full = self.full().listing
        if min(full.first_recorded(), full.earliest()) >= older[-1].version:
            return None
        return CurrentLog(self.source, known.beginning_with(older[-1]))

    def successor(self) -> CurrentLog:
        """Return the log as it is now, to continue independently; the state here stays.

        Raises:
            TableNotFound: The log no longer exists.
        """
        current = CurrentLog(self.source, self._known.copy())
        current.refresh()
        return current

    def _listed(self) -> LogListing:
        """List the log: only its new files, or all of it where that costs no more, or files were deleted."""
        known, listing = self._known, self._known.listing
        if self.source.catalog is not None or listing.missing_version is not None:
            return self.source.newest()
        if known.due is Due.ALL or (listing.is_complete and (len(listing.commits) < _PAGE or self._is_cleaned_up())):
            return self.source.all()
        return self.source.with_newer(listing)

    def _is_cleaned_up(self) -> bool:
        """Return whether the first listed commit was deleted: log cleanup deletes the oldest and makes no version.

        A listing of new versions does not show it, and one of a long log takes longer than this check.
        """
        return self.source.lacks(next(iter(self._known.listing.commits.values())))

    def _complete(self) -> LogState:
        """List the part of the log that was not listed; all of it where that is due or not possible."""
        known = self._known
        beginning = known.listing.beginning if known.due is Due.NOTHING else None
        full = None if beginning is None else beginning()
        if full is None:
            return self._list_all()
        self._known = known.completed(full)
        return self._known

    def _list_all(self, unusable: int | None = None, reason: str = "") -> LogState:
        """List all of the log, without reading the hint; record an unusable checkpoint with its present files."""
        with self._listing:
            known = self._known
            listing = self.source.all().with_missing(known.listing.missing_version)
            if unusable is not None:
                known = known.doing_without(unusable, reason, listing)
            self._known = known.listed_again(listing)
            return self._known

    def _does_without(self, version: int, checkpoint: int | None) -> bool:
        """Return whether a version can be rebuilt without a checkpoint."""
        if checkpoint is None:
            return False
        known = self.full()
        try:
            known.listing.without_checkpoints({checkpoint, *known.unusable}).segment(version)
        except (VersionGap, VersionNotFound):
            return False
        return True


def _older_checkpoints(listing: LogListing) -> list[CompleteCheckpoint]:
    """Return the checkpoints before the newest version."""
    return [checkpoint for checkpoint in listing.checkpoints if checkpoint.version < listing.latest]
