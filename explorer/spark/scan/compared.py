"""Values as engines compare them, where they are stored or shown otherwise: CHAR values padded, texts by collation.

Protocol section: Schema Serialization Format. Invariants: a row is chosen by the values that an engine compares, and
given with the values that were read; a collation concerns comparisons alone, so nothing is ever stored, grouped or
diffed by it.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.schema.char_types import padded_lengths
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.field_metadata import COLLATIONS
from explorer.spark.scan.layout import Layout
from explorer.spark.scan.physical import compared_column, quoted, type_mark
from explorer.spark.scan.predicate import condition

__all__ = ["as_compared", "kept_where"]

_KEPT: Final = "__explorer_kept"


def as_compared(frame: DataFrame, schema: StructType) -> DataFrame:
    """The same rows for conditions alone: texts of a column with a collation are compared by it.

    Args:
        frame: Rows with the columns of a schema, CHAR values padded, and maybe others.
        schema: The schema.
    """
    collated = {field.name: name for field in schema.fields if (name := _collation(field)) is not None}
    if not collated:
        return frame
    columns = [
        sf.collate(sf.col(quoted(name)), collated[name]).alias(name) if name in collated else sf.col(quoted(name))
        for name in frame.columns
    ]
    return frame.select(*columns)


def kept_where(frame: DataFrame, layout: Layout, where: str, *, marks: int = 0) -> DataFrame:
    """Keep the rows for which a predicate is TRUE.

    Args:
        frame: Rows of a layout: its columns, then those of its marks.
        layout: How they were read.
        where: SQL text of one boolean expression over these columns.
        marks: Number of columns at the end that the expression may not use.

    Raises:
        ExpressionRefused: The text is no such expression.
    """
    fields = {field.name: field for field in layout.schema.fields if _is_compared_otherwise(field, layout)}
    names = frame.columns
    if not fields:
        usable = st.StructType(frame.schema.fields[: len(names) - marks])
        return frame.where(condition(frame.sparkSession, usable, where))
    kept = [sf.col(quoted(name)).alias(f"{_KEPT}{place}") for place, name in enumerate(names) if name in fields]
    compared = [_compared(name, fields.get(name)) for name in names]
    both = frame.select(*compared, *kept)
    given = st.StructType(both.schema.fields[: len(names) - marks])
    chosen = both.where(condition(frame.sparkSession, given, where))
    back = [
        _shown(place, fields[name], layout) if name in fields else sf.col(quoted(name))
        for place, name in enumerate(names)
    ]
    return chosen.select(*back)


def _is_compared_otherwise(field: StructField, layout: Layout) -> bool:
    return _collation(field) is not None or (layout.unpadded and bool(padded_lengths(field)))


def _compared(name: str, field: StructField | None) -> Column:
    column = sf.col(quoted(name))
    if field is None:
        return column
    collation = _collation(field)
    if collation is not None:
        return sf.collate(column, collation).alias(name)
    return compared_column(column, field).alias(name, **type_mark(field))


def _shown(place: int, field: StructField, layout: Layout) -> Column:
    mark = {} if layout.unpadded else type_mark(field)
    return sf.col(f"{_KEPT}{place}").alias(field.name, **mark)


def _collation(field: StructField) -> str | None:
    """The collation of a column of texts; None of one that compares bytes.

    The metadata has the provider, the name and maybe a version, with dots between.
    """
    stated = field.metadata.get(COLLATIONS)
    found = stated.get(field.name) if isinstance(stated, dict) else None
    parts = found.split(".") if isinstance(found, str) else []
    name = parts[1] if len(parts) > 1 else parts[0] if parts else None
    return None if name in (None, "UTF8_BINARY") else name
