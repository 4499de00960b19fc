"""A Z-order curve through rows: rows near each other on it are near each other in every column.

Each column is cut into ranges of about as many rows each, by a sample; the numbers of a row's ranges, bit by bit in
turns, are its place on the curve. Invariants: equal values have equal numbers; nulls come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from explorer.spark.engine.expressions import joined

_BITS: Final = 8
_SAMPLE: Final = 20_000


def z_ordered(frame: DataFrame, columns: Sequence[Column], name: str) -> DataFrame:
    """Add the place of each row on the curve.

    Args:
        columns: What to order by.
        name: The name of the new column, whole numbers.
    """
    named = [column.alias(f"c{place}") for place, column in enumerate(columns)]
    rows = frame.select(*named)
    total = max(1, frame.count())
    sample = rows.sample(min(1.0, 4 * _SAMPLE / total), seed=7).limit(_SAMPLE)
    # Sorted in a step of its own: within `_cuts` the values would be sorted again for each of them.
    values = sample.agg(*(sf.sort_array(sf.collect_list(f"c{n}")).alias(f"c{n}") for n in range(len(columns))))
    cuts = values.select(*(_cuts(sf.col(f"c{place}")).alias(f"{name}{place}") for place in range(len(columns))))
    cut = frame.crossJoin(sf.broadcast(cuts))
    ranges = [f"{name}{place}" for place in range(len(columns))]
    numbered = cut.withColumns(
        {own: _range_of(column, sf.col(own)) for own, column in zip(ranges, columns, strict=True)}
    )
    return numbered.withColumn(name, _interleaved([sf.col(own) for own in ranges])).drop(*ranges)


def _cuts(values: Column) -> Column:
    """Return where each range but the first begins, ascending: values at equal distances in the sorted sample."""
    step = sf.greatest(sf.lit(1), sf.floor(sf.size(values) / sf.lit(1 << _BITS)).cast("int"))
    starts = sf.array_distinct(sf.filter(values, lambda _, place: place % step == 0))
    return sf.slice(starts, 2, 1 << _BITS)


def _range_of(value: Column, cuts: Column) -> Column:
    """Return the number of the range that a value is in, from 0: how many cuts are not above it, by halving."""
    halves = sf.array(*(sf.lit(1 << bit) for bit in reversed(range(_BITS))))
    return sf.aggregate(
        halves,
        sf.lit(0),
        lambda low, half: low + sf.when(sf.get(cuts, low + half - sf.lit(1)) <= value, half).otherwise(sf.lit(0)),
    )


def _interleaved(numbers: Sequence[Column]) -> Column:
    """Return the bits of the numbers in turns, the first number's highest one in front."""
    count = len(numbers)
    parts = [
        sf.shiftleft(sf.shiftright(number, bit).bitwiseAND(sf.lit(1)).cast("long"), bit * count + count - 1 - place)
        for place, number in enumerate(numbers)
        for bit in range(min(_BITS, 62 // count))
    ]
    return joined(parts, lambda left, right: left.bitwiseOR(right))
