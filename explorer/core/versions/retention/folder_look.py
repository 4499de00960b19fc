"""The result of a scan of the table's folder: the files that a VACUUM could delete, and the missing ones.

Invariant: a file counts as missing only if something that can be read needs it.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Mask, mask, numbers, validity
from explorer.core.versions.retention.expiry import FOREVER

__all__ = ["FILE_STATES", "FolderLook"]

FILE_STATES: Final = ("live", "removed", "changes", "orphan")
"""The state of a stored file in the log: live; removed; with recorded changes; in no action."""


class FolderLook(msgspec.Struct, frozen=True):
    """The folder's listing compared with the log.

    Attributes:
        files: The files that VACUUM considers, by path: path, size (bytes), modified (ms since the epoch), state (one
            of `FILE_STATES`), needed_until (ms since the epoch, until when something needed it; null while something
            does, or if nothing ever did).
        missing: The decoded locations that a readable version needs and at which there is no file.
        changes: For each version that recorded changes and whose files all exist, when VACUUM could first
            count them as old: ms since the epoch.
        other_tables: Folders inside that are tables of their own; VACUUM skips them.
    """

    files: pa.Table
    missing: frozenset[str]
    changes: dict[int, int]
    other_tables: tuple[str, ...] = ()

    @property
    def old_from(self) -> Int64s:
        """When VACUUM could first count each file as old: `FOREVER` while something needs it."""
        until = self.files.column("needed_until").combine_chunks()
        modified = numbers(self.files.column("modified").combine_chunks())[0]
        needed = (~validity(until)) & ~self.states("orphan")
        return np.where(needed, FOREVER, np.maximum(numbers(until)[0], modified))

    def states(self, state: str) -> Mask:
        """Return a mask of the files of a state."""
        in_state: Mask = np.array(self.files.column("state").to_pylist(), object) == state
        return in_state

    def modified(self, locations: pa.StringArray) -> Int64s:
        """Return when the files at decoded locations were written, ms since the epoch; 0 if not in the folder."""
        import pyarrow.compute as pc

        positions = pc.index_in(locations, value_set=self.files.column("path").combine_chunks())
        times = self.files.column("modified").combine_chunks()
        modified_times: Int64s = numbers(times.take(positions).cast(pa.int64()))[0]
        return modified_times

    @property
    def orphans(self) -> pa.Table:
        """The files that are in no action of the log: path, size, modified."""
        return self.files.filter(mask(self.states("orphan"))).select(["path", "size", "modified"])

    @property
    def orphan_bytes(self) -> int:
        """The bytes of these."""
        return int(numbers(self.orphans.column("size").combine_chunks())[0].sum())
