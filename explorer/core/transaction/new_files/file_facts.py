"""A file that a task of the engine wrote, as the task describes it.

Protocol sections: Add File, Per-file Statistics. Invariants: the facts are those of exactly the rows in the file; what
they mean to the log (statistics as text, the path as a URI) is worked out by the layout.
"""

from __future__ import annotations

import msgspec
import pyarrow as pa

__all__ = ["FileFacts", "LiveFacts"]


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


class FileFacts(msgspec.Struct, frozen=True):
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
