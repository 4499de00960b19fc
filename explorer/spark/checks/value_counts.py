"""The values of one column over all live rows of a version: the commonest ones, or counts by range.

Invariants: counts are exact; those of a range are counted by the condition that finds its rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from explorer.core.protocol.arrow.python_dates import value_in_python
from explorer.core.protocol.sql.constants import quoted_column, range_text
from explorer.first_rows.column_values import MOST_VALUES, ColumnValues, ValueBar, range_ends, value_bars
from explorer.spark.engine.expressions import expressions
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from explorer.core.protocol.schema.data_types import PrimitiveType
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot
    from explorer.spark.scan.results import Scan


def counted_values(
    log: DeltaLog, snapshot: Snapshot, path: tuple[str, ...], kind: PrimitiveType, counted: ColumnValues
) -> ColumnValues:
    """Count the values of a column.

    Args:
        log: The table's log.
        snapshot: The version.
        path: The column.
        kind: Its type, whose values can be compared.
        counted: The rows, nulls, and the estimate of different values.
    """
    column = sf.col(quoted_column(path))
    planned = scan(log, snapshot)

    values = planned.frame.where(column.isNotNull()).groupBy(column.alias("value")).agg(sf.count(sf.lit(1)).alias("n"))
    first = _ran(planned, values.orderBy(sf.desc("n"), sf.asc("value")).limit(MOST_VALUES + 1))
    try:
        rows = first.to_pylist()
    except (OverflowError, ValueError):
        # Python lacks one of the dates or times: it could be neither compared nor searched for.
        return replace(counted, others=counted.rows - counted.nulls)
    pairs = [(row["value"], row["n"]) for row in rows]
    complete = len(pairs) <= MOST_VALUES
    distinct = len(pairs) if complete else max(counted.distinct or 0, len(pairs))
    bars = value_bars(pairs, kind, distinct)
    if bars is None:
        finite = column if kind.name not in {"float", "double"} else _finite(column)
        extremes = planned.frame.agg(sf.min(finite).alias("low"), sf.max(finite).alias("high"))
        low, high = (value_in_python(each, 0) for each in _ran(planned, extremes).columns)
        ends = () if low is None or isinstance(low, str) or isinstance(high, str) else range_ends(low, high, kind)
        bars = _in_ranges(path, kind, ends, planned)
    if not bars:
        bars = tuple(ValueBar(count, value) for value, count in pairs[:MOST_VALUES])
    others = counted.rows - counted.nulls - sum(bar.count for bar in bars)
    return replace(counted, distinct=distinct, exact=complete, bars=bars, others=max(0, others))


def _in_ranges(path: tuple[str, ...], kind: PrimitiveType, ends: Sequence[Any], planned: Scan) -> tuple[ValueBar, ...]:
    """Count the rows of each range by the condition that finds them."""
    ranges = list(pairwise(ends))
    if not ranges:
        return ()
    texts = [range_text(path, *each, kind) or "false" for each in ranges]
    parts = [
        sf.count_if(condition).alias(str(place)) for place, condition in enumerate(expressions(planned.frame, texts))
    ]
    counts = _ran(planned, planned.frame.agg(*parts)).to_pylist()[0]
    return tuple(ValueBar(counts[str(place)], *each) for place, each in enumerate(ranges))


def _ran(planned: Scan, frame: DataFrame) -> pa.Table:
    return replace(planned, frame=frame).to_arrow()


def _finite(column: Column) -> Column:
    infinite = column.isin(float("inf"), float("-inf"))
    return sf.when(~(sf.isnan(column) | infinite), column)
