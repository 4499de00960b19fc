"""Statistics of live files that contradict themselves, by what an audit has parsed anyway.

Protocol section: Per-file Statistics. Invariant: a contradiction is reported only where no value can satisfy both
sides: a minimum above the maximum, or more nulls than rows. This program skips no file by such
bounds; other clients do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from explorer.auditing.subject import Subject
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn

__all__ = ["Contradiction", "contradictory_statistics"]

# Writers cut the greatest time to milliseconds, and not the least.
_CUT_OFF: Final = pa.scalar(1_000, pa.duration("us"))


class Contradiction(msgspec.Struct, frozen=True):
    """Statistics of one column in one file that no value can satisfy.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name.
        detail: Both sides.
    """

    path: str
    column: str
    detail: str


def contradictory_statistics(subject: Subject) -> Iterator[Contradiction]:
    """Yield what no value can satisfy, column by column."""
    names = [column.name for column in subject.snapshot.statistics_columns if not column.partition]
    for column, ranges in subject.column_ranges_of(names):
        bounds = ranges.filter(_is_out_of_order(ranges, column))
        for row in bounds.to_pylist():
            yield Contradiction(row["path"], column.name, f"minimum {row['min']}, maximum {row['max']}")
        nulls = pc.or_(pc.greater(ranges["null_count"], ranges["num_records"]), pc.less(ranges["null_count"], 0))
        for row in ranges.filter(nulls).to_pylist():
            yield Contradiction(row["path"], column.name, f"{row['null_count']} nulls in {row['num_records']} rows")


def _is_out_of_order(ranges: pa.Table, column: StatisticsColumn) -> pa.ChunkedArray:
    """Whether the minimum of each file is certainly above its maximum; null where one of them is not known."""
    low, high = ranges["min"], ranges["max"]
    match column.type.name:
        case "binary" | "variant" | "void":
            return pa.chunked_array([pa.nulls(ranges.num_rows, pa.bool_())])
        case "boolean":
            low, high = low.cast(pa.int8()), high.cast(pa.int8())
        case "timestamp" | "timestamp_ntz":
            low = pc.subtract(low, _CUT_OFF)
    return pc.greater(low, high)
