"""The source of the listings of a log: its store, and its catalog where one manages the commits.

Protocol sections: Delta Log Entries, Catalog-managed tables. Invariant: a listing of a table whose commits a catalog
manages has the catalog's commits, and cannot be completed without a new request.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from explorer.core.log.catalog_commits import CatalogCommits, CatalogStore, ratified
from explorer.core.log.log_path import LogPath
from explorer.core.log.log_segment import LogListing, list_log, list_newer
from explorer.core.protocol.log_store import LogStore

__all__ = ["LogSource"]


@dataclass(frozen=True, slots=True)
class LogSource:
    """The files of one log.

    Attributes:
        store: The store of the files; the commits whose content the catalog gave are in it too.
        catalog: The commits that the catalog ratified; None for a table that no catalog manages.
    """

    store: LogStore
    catalog: CatalogCommits | None = None

    @classmethod
    def of(cls, store: LogStore, catalog: CatalogCommits | None) -> LogSource:
        """Return the source of the log in a store."""
        return cls(store if catalog is None else CatalogStore(store, catalog), catalog)

    def newest(self) -> LogListing:
        """List the newest versions: from the checkpoint on that the hint names, else all.

        Raises:
            TableNotFound: There is no log.
        """
        return self._ratified(list_log(self.store, use_hint=True))

    def all(self) -> LogListing:
        """List the log from its beginning.

        Raises:
            TableNotFound: There is no log.
        """
        return self._ratified(list_log(self.store))

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

    def _ratified(self, listing: LogListing) -> LogListing:
        if self.catalog is None:
            return listing
        return msgspec.structs.replace(ratified(listing, self.catalog), beginning=None)
