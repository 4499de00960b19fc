"""Temporary files of writers that were stopped in the middle of a write.

Protocol section: Delta Log Entries. Invariants: no file of a table has such a name, so none is ever read as one
(LOG-004); nothing is deleted here, because a writer may still need it.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa

from explorer.core.protocol.arrow.arrays import int64s, strings
from explorer.core.protocol.log_store import LogStore

__all__ = ["is_leftover", "leftovers"]

_NAME: Final = re.compile(
    r"\..+\.[0-9a-f]{16}\.tmp"  # this program
    r"|\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp(?:\.crc)?"  # Spark
    r"|_commit_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json\.tmp"  # delta-rs
)


def is_leftover(key: str) -> bool:
    """Whether a key is the name of a file that is being written, by this program or others."""
    return _NAME.fullmatch(key.rpartition("/")[2]) is not None


def leftovers(store: LogStore) -> pa.Table:
    """List the temporary files of a table, in the log and among the data.

    Returns:
        path, size (bytes), modified (ms, UTC), by path. A recent one may belong to a running writer.
    """
    found = []
    for key in sorted(filter(is_leftover, store.list_tree())):
        try:
            found.append(store.head(key))
        except FileNotFoundError:
            continue  # its writer has ended
    return pa.table(
        {
            "path": strings([each.path for each in found]),
            "size": int64s([each.size for each in found]),
            "modified": int64s([each.modified for each in found]).view(pa.timestamp("ms", "UTC")),
        }
    )
