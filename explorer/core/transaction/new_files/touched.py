"""Files of which some rows are deleted, and what is known of them.

Protocol section: Deletion Vectors. Invariants: row indexes are positions in the data file, from 0,
ascending.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.core.protocol.actions import Add

__all__ = ["RowIndexes", "Touched"]

RowIndexes = npt.NDArray[np.uint64]


class Touched(msgspec.Struct, frozen=True):
    """A file with rows to delete.

    Attributes:
        add: Its action, as it is now.
        num_records: Its physical rows.
        hidden: Row indexes that its vector already hides, ascending.
        matched: Row indexes to delete, ascending, none of them hidden.
    """

    add: Add
    num_records: int
    hidden: RowIndexes
    matched: RowIndexes

    @property
    def is_emptied(self) -> bool:
        """True if no row is left."""
        return len(self.hidden) + len(self.matched) >= self.num_records

    @property
    def rows_left(self) -> int:
        """How many rows are left."""
        return self.num_records - len(self.hidden) - len(self.matched)
