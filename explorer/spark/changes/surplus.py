"""Rows that one side has more often than the other: equal rows of the two sides cancel out one against one.

Values are equal as `explorer.spark.changes.comparable` says. Invariants: a row that was only copied from one file to
another is on both sides and is gone; of rows that are left every one keeps its exact values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from explorer.core.protocol.schema.data_types import StructType
from explorer.core.versions.change_feed.sources import read_estimate
from explorer.spark.changes.comparable import comparable, is_plain

__all__ = ["BOTH", "SIGN", "are_few", "balance", "surplus"]

SIGN: Final = "__explorer_sign"
"""Column of a row's side: 1 for the one, -1 for the other; after `surplus` how much more often a side has the row."""

BOTH: Final = "__explorer_both"
"""Column that `balance` adds: how many rows of the one side have an equal row on the other."""

# What one task compares in less time than it takes to spread it.
_FEW_ROWS: Final = 300_000
_FEW_BYTES: Final = 64 << 20


def surplus(rows: DataFrame, schema: StructType, *, few: bool) -> DataFrame:
    """Return each distinct row that one side has more often, with the surplus in `SIGN`; arguments as `balance`."""
    return balance(rows, schema, few=few).where(sf.col(SIGN) != 0).drop(BOTH)


def balance(
    rows: DataFrame, schema: StructType, shared: Sequence[str] = (), carried: Sequence[str] = (), *, few: bool
) -> DataFrame:
    """Return each distinct row: how much more often one side has it in `SIGN`, how many rows cancelled out in `BOTH`.

    Args:
        rows: The columns of the schema as ``c0``, ``c1`` and so on, those of ``shared`` and ``carried``, and `SIGN`.
        schema: The types meant.
        shared: Columns that rows must share to cancel out.
        carried: Columns of which one value of the equal rows is kept.
        few: The rows are few: compare them in one task, since spreading them takes longer.
    """
    both = rows.coalesce(1) if few else rows
    columns = [(f"c{place}", field.type) for place, field in enumerate(schema.fields)]
    forms = [comparable(sf.col(name), kind).alias(f"g{name}") for name, kind in columns]
    # Where the form for grouping is the value itself, grouping keeps it; of others one of the equal values is kept.
    firsts = [sf.first(name).alias(name) for name in [*(n for n, kind in columns if not is_plain(kind)), *carried]]
    net = sf.sum(SIGN)
    cancelled = ((sf.sum(sf.abs(SIGN)) - sf.abs(net)) / 2).cast("long")
    grouped = both.groupBy(*forms, *shared).agg(net.alias(SIGN), cancelled.alias(BOTH), *firsts)
    values = [sf.col(f"g{name}" if is_plain(kind) else name).alias(name) for name, kind in columns]
    return grouped.select(*values, *shared, *carried, SIGN, BOTH)


def are_few(files: pa.Table) -> bool:
    """Whether files are known to hold few rows; columns as in `ReadEstimate`'s sources."""
    records, size = files.column("num_records").to_pylist(), read_estimate(files).bytes
    if None in records or size is None:
        return False
    return sum(records) <= _FEW_ROWS and size <= _FEW_BYTES
