"""What is kept of a table between processes: tables by name, at the table's location.

Invariants: what is kept is never trusted for more than it says: whoever uses it compares the files of the log that it
covers with those that are there. What is broken, of another format or not there is the same: nothing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import pyarrow as pa

from explorer.core.log.log_path import LogPath

__all__ = ["KeptIndex", "KeptIndexes"]


class KeptIndex(Protocol):
    """What is kept of one table."""

    def table(self, name: str) -> pa.Table | None:
        """One of its tables, each column in one array at most; None if it is broken."""
        ...


class KeptIndexes(Protocol):
    """What is kept of all tables. No method fails: a place that cannot be read or written keeps nothing."""

    def wants(self, commits: int, size: int) -> bool:
        """Whether that many commits, of so many bytes, take longer to read again than what is kept of them."""
        ...

    def find(self, location: str) -> KeptIndex | None:
        """What is kept of the table at a location."""
        ...

    def keep(self, location: str, covered: Sequence[LogPath], tables: Callable[[], Mapping[str, pa.Table]]) -> None:
        """Keep something of the table at a location, in place of what was kept before.

        Args:
            location: The table's root as a URL.
            covered: The files of the log that it was read from, as they were listed before they were read.
            tables: Makes the tables.
        """
        ...

    def drop(self, location: str) -> None:
        """Forget what is kept of the table at a location."""
        ...
