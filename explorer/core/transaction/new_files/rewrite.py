"""Files of which some rows are deleted: what is known of them, and the files that replace them.

Protocol sections: Deletion Vectors, Add CDC File. Invariants: row indexes are positions in the data file, from 0,
ascending.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from explorer.core.protocol.actions import Add, AddCDCFile
from explorer.core.transaction.proposal import StagedFile

__all__ = ["Rewrite", "RowIndexes", "Touched"]

RowIndexes = npt.NDArray[np.uint64]


class Rewrite(msgspec.Struct, frozen=True):
    """What replaces the files that keep some rows.

    Attributes:
        adds: The files of the rows that stay.
        changes: Those that record what was deleted.
        copied_rows: The rows that stay.
        staged: Those of these files that are not written yet.
    """

    adds: tuple[Add, ...]
    changes: tuple[AddCDCFile, ...]
    copied_rows: int
    staged: tuple[StagedFile, ...] = ()


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
