"""How many bytes a row takes on its way to Python's workers, and batches whose rows need not be weighed.

Spark weighs the whole batch again at every row, so that no batch outgrows the memory of a worker. On rows of a few
numbers and short texts that takes half of the time of an append. Invariants: rows are handed over unweighed only where
the widest of them is known, and a batch of such rows stays below the limit that Spark has by default; a limit that the
user sets is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.spark.scan.physical import quoted

__all__ = ["unweighed", "widest_row"]

_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ROWS_BY_DEFAULT: Final = 10_000
_MOST_BYTES: Final = 64 << 20
_UNLIMITED: Final = (1 << 31) - 1
# The widest are decimals.
_FIXED_BYTES: Final = 16
_TEXTS: Final = (st.StringType, st.CharType, st.VarcharType)
_FIXED: Final = (st.NumericType, st.BooleanType, st.DateType, st.TimestampType, st.TimestampNTZType)


def widest_row(frame: DataFrame) -> Column | None:
    """The aggregate that gives the most bytes of text in a row; null without rows.

    Args:
        frame: The rows.

    Returns:
        None where a column is neither a text nor of a fixed width: nothing is known of such rows.
    """
    if not all(isinstance(field.dataType, _TEXTS + _FIXED) for field in frame.schema.fields):
        return None
    texts = [field.name for field in frame.schema.fields if isinstance(field.dataType, _TEXTS)]
    width = sf.lit(0).cast("long")
    for name in texts:
        width += sf.coalesce(sf.octet_length(sf.col(quoted(name))), sf.lit(0))
    return sf.max(width)


@contextmanager
def unweighed(frame: DataFrame, widest: int | None) -> Iterator[None]:
    """Let jobs of this thread hand rows over without weighing each, if a full batch of the widest is small enough.

    Args:
        frame: The rows.
        widest: The most bytes of text in a row; None where it is not known.
    """
    session = frame.sparkSession
    fits = (
        widest is not None
        and (widest + _FIXED_BYTES * len(frame.columns)) * int(str(session.conf.get(_ROWS, str(_ROWS_BY_DEFAULT))))
        <= _MOST_BYTES
    )
    # A session of Spark Connect has no properties of threads.
    context = getattr(session, "_sc", None)
    if context is None or not fits:
        yield
        return
    before = context.getLocalProperty(_BYTES)
    context.setLocalProperty(_BYTES, str(_UNLIMITED))
    try:
        yield
    finally:
        context.setLocalProperty(_BYTES, before)
