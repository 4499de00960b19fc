"""The cache of tables between processes: Arrow tables by name, at the Delta table's location.

Invariants: a cache is used only after the log files that it covers were compared with those that exist. Damaged, of
another format, or missing are the same: nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from explorer.core.log.log_path import LogPath


class CachedIndex(Protocol):
    """The cached tables of one Delta table."""

    def table(self, name: str) -> pa.Table | None:
        """Return one of its tables, each column in at most one array; None if it is damaged."""
        ...


class IndexCache(Protocol):
    """The cache of all tables. No method fails: a folder that cannot be read or written caches nothing."""

    def wants(self, commits: int, size: int) -> bool:
        """Return whether that many commits, of so many bytes, take longer to read again than their cache."""
        ...

    def find(self, location: str) -> CachedIndex | None:
        """Return the cache of the table at a location."""
        ...

    def keep(self, location: str, covered: Sequence[LogPath], tables: Callable[[], Mapping[str, pa.Table]]) -> None:
        """Cache tables of the table at a location, in place of earlier ones."""
        ...

    def drop(self, location: str) -> None:
        """Drop the cache of the table at a location."""
        ...
