"""What the core and the row engine exchange about data files: which to make, which lose rows, and what was written.

Protocol sections: Add File, Per-file Statistics, Identity Columns, Deletion Vectors. Invariants: facts are those of
exactly the rows in the file; values of an identity column lie a whole number of steps from the first one, and none is
given twice (IDENT-002); row indexes are positions in the data file, from 0, ascending.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.actions import Add


class LiveFacts(msgspec.Struct, frozen=True):
    """What the live rows of a file say about some leaves.

    Attributes:
        rows: How many there are.
        nulls: Nulls of each leaf.
        extremes: Two rows, the least and the greatest value, and a column for each leaf; null where it gets no bounds.
    """

    rows: int
    nulls: tuple[int, ...]
    extremes: pa.RecordBatch


class NewFileFacts(msgspec.Struct, frozen=True):
    """A new file.

    Attributes:
        location: Its key under the table's root, not percent-encoded.
        partition: Its partition values as in the log, in the order of the partition columns.
        size: Bytes.
        written_at: When it was finished, in ms since the epoch.
        rows: Rows.
        nulls: Nulls of each leaf that the layout describes.
        extremes: Two rows, the least and the greatest value, and a column for each of these leaves; null where a leaf
            gets no bounds.
    """

    location: str
    partition: tuple[str | None, ...]
    size: int
    written_at: int
    rows: int
    nulls: tuple[int, ...]
    extremes: pa.RecordBatch


class Arrangement(msgspec.Struct, frozen=True):
    """Which rows go together, and in which order.

    Attributes:
        groups: The group of each file, by its path in the log; without an order a group becomes one file.
        order: Dotted names of the columns to order the rows of a group by; empty keeps them as they come.
        curve: Order them along a Z-order curve, with equal weight of columns; else by one column after the other.
        files: How many files are to be made.
    """

    groups: Mapping[str, int]
    order: tuple[str, ...] = ()
    curve: bool = False
    files: int = 1

    @property
    def is_exact(self) -> bool:
        """Whether each group becomes one file; the rows of larger ones are cut into ranges by a sample."""
        return self.files == len(set(self.groups.values()))


class Numbering(msgspec.Struct, frozen=True):
    """How the rows of one commit are numbered.

    Attributes:
        column: The identity column's logical name.
        first: The value of the first row.
        step: What is added from row to row; never 0.
    """

    column: str
    first: int
    step: int

    def last(self, rows: int) -> int:
        """Return the value of the last of so many rows."""
        return self.first + self.step * (rows - 1)


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
