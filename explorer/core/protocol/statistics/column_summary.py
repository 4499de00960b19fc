"""A column over all live files, by their statistics: how many rows are null, minimum and maximum, and how sure that is.

Protocol section: Per-file Statistics. Invariants: files without a live row count for nothing; an absent statistic is
unknown, and is counted (STATS-002); a null count of wide statistics says something only where it is 0 or all rows
(STATS-007); a bound is tight only where a live row of a file attains it (STATS-005, STATS-006).
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s, Mask, exact_sum, flags, mask, numbers, validity
from explorer.core.protocol.arrow.python_dates import value_in_python
from explorer.core.protocol.schema.data_types import type_name
from explorer.core.protocol.statistics.column_facts import ColumnFacts
from explorer.core.protocol.statistics.file_statistics import FileStatistics, StatisticsColumn

BoundValue: TypeAlias = bool | int | float | str | Decimal | date | datetime


class ColumnSummary(msgspec.Struct, frozen=True):
    """A column of a version, by the log.

    Attributes:
        column: Dotted logical name.
        type: Its type, as in SQL.
        partition: It is a partition column, whose values are in the log.
        files: Live files that may hold live rows.
        files_bounded: Of those, the ones whose minimum and maximum are known, or whose values are all null.
        files_counted: Of those, the ones with a null count.
        rows: Live rows of the files with a null count; None if there are none of these files.
        least_nulls, most_nulls: Between how many of these rows are null; equal where that is exact.
        min, max: Least and greatest value in statistics; None where no file has one. NaN is in no statistics.
        min_tight, max_tight: Whether a live row has the value, but for cut strings and times; None without a value.
        wide_files: Of the files with statistics, those that are wide.
    """

    column: str
    type: str
    partition: bool
    files: int
    files_bounded: int
    files_counted: int
    rows: int | None
    least_nulls: int
    most_nulls: int
    min: BoundValue | None
    max: BoundValue | None
    min_tight: bool | None
    max_tight: bool | None
    wide_files: int

    @property
    def nulls_exact(self) -> bool:
        """Whether the null count of every file is known."""
        return self.files_counted == self.files and self.least_nulls == self.most_nulls


def column_summary(statistics: FileStatistics, column: StatisticsColumn) -> ColumnSummary:
    """Return a column over all live files."""
    bounds, facts = statistics.bounds(column), ColumnFacts.of(statistics, column)
    physical, sized = numbers(statistics.num_records)
    hidden, _ = numbers(statistics.num_masked)
    live = np.maximum(physical - hidden, 0)
    holding = ~sized | (live > 0)
    tight, stated = flags(statistics.tight(column)), validity(statistics.tight(column))
    nulls = _nulls(bounds.nulls, physical, live, counted=sized & holding, tight=tight)
    only_nulls = holding & (facts.all_null | (nulls.counted & (nulls.least == live)))
    known = facts.low.known & facts.high.known & holding & ~only_nulls
    least, least_tight = _furthest(bounds.low, known, tight, greatest=False)
    most, most_tight = _furthest(bounds.high, known, tight, greatest=True)
    return ColumnSummary(
        column=column.name,
        type=type_name(column.type),
        partition=column.partition,
        files=int(holding.sum()),
        files_bounded=int((known | only_nulls).sum()),
        files_counted=int(nulls.counted.sum()),
        rows=exact_sum(live[nulls.counted]) if nulls.counted.any() else None,
        least_nulls=exact_sum(nulls.least[nulls.counted]),
        most_nulls=exact_sum(nulls.most[nulls.counted]),
        min=least,
        max=most,
        min_tight=least_tight,
        max_tight=most_tight,
        wide_files=int((holding & stated & ~tight).sum()),
    )


class _Nulls(msgspec.Struct, frozen=True):
    """Between how many live rows of each file are null, where that is counted."""

    least: Int64s
    most: Int64s
    counted: Mask


def _nulls(column: pa.Array, physical: Int64s, live: Int64s, *, counted: Mask, tight: Mask) -> _Nulls:
    stated, known = numbers(column)
    every = stated >= physical
    exact = np.where(every, live, np.minimum(stated, live))
    sure = tight | every | (stated == 0)
    return _Nulls(np.where(sure, exact, 0), np.where(sure, exact, live), counted & known)


def _furthest(values: pa.Array, known: Mask, tight: Mask, *, greatest: bool) -> tuple[BoundValue | None, bool | None]:
    """Return the furthest of the known bounds, and whether a tight file has it."""
    if not known.any():
        return None, None
    import pyarrow.compute as pc

    chosen = values.filter(mask(known))
    furthest = (pc.max if greatest else pc.min)(chosen)
    attained = flags(pc.equal(chosen, furthest)) & tight[known]
    place = int(pc.index(chosen, furthest).as_py())
    least_or_most: BoundValue = value_in_python(chosen, place)
    return least_or_most, bool(attained.any())
