"""Conditions over rows whose values are stored otherwise than engines compare them.

Protocol section: Schema Serialization Format. Invariant: a row is chosen by the values that an engine compares, and
given with the values that were read.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.schema.char_types import padded_lengths
from explorer.spark.scan.layout import Layout
from explorer.spark.scan.physical import compared_column, quoted, type_mark
from explorer.spark.scan.predicate import condition, filtered

__all__ = ["kept_where"]

_KEPT: Final = "__explorer_kept"


def kept_where(frame: DataFrame, layout: Layout, where: str) -> DataFrame:
    """Keep the rows for which a predicate is TRUE.

    Args:
        frame: Rows of a layout: its columns, then those of its marks.
        layout: How they were read.
        where: SQL text of one boolean expression over these columns.

    Raises:
        ExpressionRefused: The text is no such expression.
    """
    others = {field.name: field for field in layout.schema.fields if layout.unpadded and padded_lengths(field)}
    if not others:
        return filtered(frame, where)
    names = frame.columns
    kept = [sf.col(quoted(name)).alias(f"{_KEPT}{place}") for place, name in enumerate(names) if name in others]
    compared = [
        compared_column(sf.col(quoted(name)), others[name]).alias(name, **type_mark(others[name]))
        if name in others
        else sf.col(quoted(name))
        for name in names
    ]
    both = frame.select(*compared, *kept)
    given = st.StructType(both.schema.fields[: len(names)])
    chosen = both.where(condition(frame.sparkSession, given, where))
    back = [
        sf.col(f"{_KEPT}{place}").alias(name) if name in others else sf.col(quoted(name))
        for place, name in enumerate(names)
    ]
    return chosen.select(*back)
