"""Statistics of live files that contradict themselves, by what an audit has parsed anyway.

Protocol section: Per-file Statistics. Invariant: a contradiction is reported only where no value can satisfy both
sides: a minimum above the maximum, or more nulls than rows. This program skips no file by such
bounds; other clients do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.auditing.subject import Subject
from explorer.core.protocol.arrow.arrays import Mask, flags, mask, numbers, only_array
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn

__all__ = ["ContradictoryStatistic", "contradictory_statistics"]

# Writers cut the greatest time to milliseconds, and not the least.
_CUT_OFF: Final = 1_000  # microseconds


class ContradictoryStatistic(msgspec.Struct, frozen=True):
    """Statistics of one column in one file that no value can satisfy.

    Attributes:
        path: The file, decoded.
        column: Dotted logical name.
        detail: Both sides.
    """

    path: str
    column: str
    detail: str


def contradictory_statistics(subject: Subject) -> Iterator[ContradictoryStatistic]:
    """Yield what no value can satisfy, column by column."""
    names = [column.name for column in subject.snapshot.statistics_columns if not column.partition]
    for column, ranges in subject.column_ranges_of(names):
        for row in ranges.filter(mask(_is_out_of_order(ranges, column))).to_pylist():
            yield ContradictoryStatistic(row["path"], column.name, f"minimum {row['min']}, maximum {row['max']}")
        for row in ranges.filter(mask(_has_odd_nulls(ranges))).to_pylist():
            yield ContradictoryStatistic(
                row["path"], column.name, f"{row['null_count']} nulls in {row['num_records']} rows"
            )


def _is_out_of_order(ranges: pa.Table, column: StatisticsColumn) -> Mask:
    """Whether the minimum of each file is certainly above its maximum; false where one of them is not known."""
    low, high = only_array(ranges, "min"), only_array(ranges, "max")
    match column.type.name:
        case "binary" | "variant" | "void":
            return np.zeros(ranges.num_rows, bool)
        case "boolean":
            low, high = low.cast(pa.int8()), high.cast(pa.int8())
        case "timestamp" | "timestamp_ntz":
            (least, has_least), (greatest, has_greatest) = (numbers(each.cast(pa.int64())) for each in (low, high))
            # A difference beyond 64 bits is below zero.
            difference = least - greatest
            return has_least & has_greatest & (least > greatest) & ((difference > _CUT_OFF) | (difference < 0))
    return flags(pc.greater(low, high))


def _has_odd_nulls(ranges: pa.Table) -> Mask:
    """Whether more values of each file are null than it has rows, or fewer than none."""
    (nulls, has_nulls), (rows, has_rows) = (numbers(only_array(ranges, name)) for name in ("null_count", "num_records"))
    return has_nulls & ((nulls < 0) | (has_rows & (nulls > rows)))
