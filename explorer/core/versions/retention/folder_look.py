"""What a look at the table's folder found: the files that a VACUUM could delete, and those that should be there.

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
"""What the log says of a stored file: live; removed by it; holds recorded changes; not named by any action."""


class FolderLook(msgspec.Struct, frozen=True):
    """The folder's listing against the log.

    Attributes:
        files: What VACUUM looks at, by path: path, size (bytes), modified (ms since the epoch), state (one of
            `FILE_STATES`), needed_until (ms since the epoch, until when something needed it; null while something
            does, or if nothing ever did).
        missing: The decoded locations that a readable version needs and at which there is no file.
        changes: For each version that recorded changes and whose files are all there, from when on VACUUM could
            count them as old: ms since the epoch.
        other_tables: Folders inside that are tables of their own; VACUUM leaves them alone.
    """

    files: pa.Table
    missing: frozenset[str]
    changes: dict[int, int]
    other_tables: tuple[str, ...] = ()

    @property
    def old_from(self) -> Int64s:
        """From when on VACUUM could count each file as old: `FOREVER` while something needs it."""
        until = self.files.column("needed_until").combine_chunks()
        modified = numbers(self.files.column("modified").combine_chunks())[0]
        needed = (~validity(until)) & ~self.states("orphan")
        return np.where(needed, FOREVER, np.maximum(numbers(until)[0], modified))

    def states(self, state: str) -> Mask:
        """Where files are of a state."""
        found: Mask = np.array(self.files.column("state").to_pylist(), object) == state
        return found

    def modified(self, locations: pa.StringArray) -> Int64s:
        """When the files at decoded locations were written, ms since the epoch; 0 for what is not in the folder."""
        import pyarrow.compute as pc

        places = pc.index_in(locations, value_set=self.files.column("path").combine_chunks())
        times = self.files.column("modified").combine_chunks()
        found: Int64s = numbers(times.take(places).cast(pa.int64()))[0]
        return found

    @property
    def orphans(self) -> pa.Table:
        """The files that no action of the log names: path, size, modified."""
        return self.files.filter(mask(self.states("orphan"))).select(["path", "size", "modified"])

    @property
    def orphan_bytes(self) -> int:
        """How many bytes these are."""
        return int(numbers(self.orphans.column("size").combine_chunks())[0].sum())
