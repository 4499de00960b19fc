"""Rows and files chosen by the values that engines compare: CHAR values padded, strings by collation.

Protocol sections: Schema Serialization Format, Per-file Statistics (data skipping). Invariants: a row is chosen by the
values that an engine compares, and given with the values that were read; a collation concerns comparisons alone, so
nothing is ever stored, grouped or diffed by it. A file that the log cannot exclude is read; where Spark would read a
predicate differently from the core (another time zone, case-sensitive names), every file is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import ExpressionRefused, RequestError, UnsupportedFeature
from explorer.core.protocol.schema.char_types import padded_lengths
from explorer.core.protocol.schema.data_types import ArrayType, DataType, MapType, StructField, StructType
from explorer.core.protocol.schema.field_metadata import COLLATIONS
from explorer.data_files.column_sources import case_collides
from explorer.spark.engine.expressions import has_collation
from explorer.spark.engine.session import engine
from explorer.spark.scan.layout import Layout
from explorer.spark.scan.physical import compared_column, quoted, spark_type, type_mark
from explorer.spark.scan.predicate import condition

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot

_ZONE: Final = "spark.sql.session.timeZone"
_UTC: Final = frozenset({"UTC", "Etc/UTC", "Z", "+00:00", "GMT"})
_KEPT: Final = "__explorer_kept"


def reads_like_core(snapshot: Snapshot, session: SparkSession | None = None) -> bool:
    """Return whether a session reads the names and times of a predicate as the core does; see `RowEngine`."""
    zone = (session or engine().session()).conf.get(_ZONE)
    return zone in _UTC and not case_collides(snapshot.schema)


def needed_files(session: SparkSession, snapshot: Snapshot, files: pa.Table, where: str) -> pa.Table:
    """Return the files that may hold a row for which the predicate is TRUE.

    Args:
        session: Where the predicate will be evaluated.
        files: Some rows of ``snapshot.logical_files``.
        where: A vetted predicate; one that the core cannot read keeps every file.
    """
    if not reads_like_core(snapshot, session):
        return files
    try:
        mask = snapshot.skipping(where).files.column("kept")
    except RequestError:
        return files
    everything = snapshot.logical_files
    if files is everything:
        return files.filter(mask)
    return files.filter(pc.is_in(files.column("raw_path"), everything.column("raw_path").filter(mask).combine_chunks()))


def as_compared(frame: DataFrame, schema: StructType) -> DataFrame:
    """Return the same rows for conditions alone: texts of a column with a collation are compared by it.

    Args:
        frame: Rows with the columns of a schema, CHAR values padded, and maybe others.
    """
    collated = {field.name: kind for field in schema.fields if (kind := _collated(field)) is not None}
    if not collated:
        return frame
    for field in schema.fields:
        if (name := _unknown_collation(frame.sparkSession, field)) is not None:
            raise _cannot_compare(field, name)
    columns = [
        sf.col(quoted(name)).cast(collated[name]).alias(name) if name in collated else sf.col(quoted(name))
        for name in frame.columns
    ]
    return frame.select(*columns)


def matching(frame: DataFrame, layout: Layout, where: str, *, marks: int = 0) -> DataFrame:
    """Keep the rows for which a predicate is TRUE.

    Args:
        frame: Rows of a layout: its columns, then those of its marks.
        layout: How they were read.
        where: SQL text of one boolean expression over these columns.
        marks: Number of columns at the end that the expression may not use.

    Raises:
        ExpressionRefused: The text is not such an expression.
        UnsupportedFeature: It compares a column by a collation that Spark does not know.
    """
    unknown = {
        field.name: (field, name)
        for field in layout.schema.fields
        if (name := _unknown_collation(frame.sparkSession, field)) is not None
    }
    fields = {
        field.name: field
        for field in layout.schema.fields
        if field.name not in unknown and _is_compared_otherwise(field, layout)
    }
    names = frame.columns
    if unknown:
        _check_unused(frame, where, unknown, marks)
    if not fields:
        usable = st.StructType(frame.schema.fields[: len(names) - marks])
        return frame.where(condition(frame.sparkSession, usable, where))
    originals = [sf.col(quoted(name)).alias(f"{_KEPT}{place}") for place, name in enumerate(names) if name in fields]
    compared = [_compared(name, fields.get(name)) for name in names]
    both = frame.select(*compared, *originals)
    given = st.StructType(both.schema.fields[: len(names) - marks])
    chosen = both.where(condition(frame.sparkSession, given, where))
    back = [
        _shown(place, fields[name], layout) if name in fields else sf.col(quoted(name))
        for place, name in enumerate(names)
    ]
    return chosen.select(*back)


def _check_unused(frame: DataFrame, where: str, unknown: Mapping[str, tuple[StructField, str]], marks: int) -> None:
    """Refuse a predicate that needs one of the columns with an unknown collation."""
    usable = frame.schema.fields[: len(frame.columns) - marks]
    try:
        condition(frame.sparkSession, st.StructType([each for each in usable if each.name not in unknown]), where)
    except ExpressionRefused as error:
        # A fault of the predicate itself is reported first.
        condition(frame.sparkSession, st.StructType(usable), where)
        raise _cannot_compare(*next(iter(unknown.values()))) from error


def _cannot_compare(field: StructField, name: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"The values of the column {field.name} cannot be compared: its collation {name} is not one that Spark knows. "
        f"Leave {field.name} out of conditions, or use an engine that has the collation.",
        features=["collations"],
        operation="compare",
    )


def _unknown_collation(session: SparkSession, field: StructField) -> str | None:
    """Return a collation of a field's texts that Spark does not know; None if it knows all."""
    for name in dict.fromkeys(_collations(_collated(field))):
        if not has_collation(session, name):
            return name
    return None


def _collations(kind: st.DataType | None) -> Iterator[str]:
    match kind:
        case st.StringType():
            yield kind.collation
        case st.ArrayType():
            yield from _collations(kind.elementType)
        case st.MapType():
            yield from _collations(kind.keyType)
            yield from _collations(kind.valueType)
        case st.StructType():
            for each in kind.fields:
                yield from _collations(each.dataType)


def _is_compared_otherwise(field: StructField, layout: Layout) -> bool:
    return _collated(field) is not None or (layout.unpadded and bool(padded_lengths(field)))


def _compared(name: str, field: StructField | None) -> Column:
    column = sf.col(quoted(name))
    if field is None:
        return column
    collated = _collated(field)
    if collated is not None:
        return column.cast(collated).alias(name)
    return compared_column(column, field).alias(name, **type_mark(field))


def _shown(place: int, field: StructField, layout: Layout) -> Column:
    mark = {} if layout.unpadded else type_mark(field)
    return sf.col(f"{_KEPT}{place}").alias(field.name, **mark)


def _collated(field: StructField) -> st.DataType | None:
    """Return the type of a column with the collations of its strings, at every depth; None if all compare bytes."""
    kind = _with_collations(field.type, field.name, field)
    return None if kind == spark_type(field.type) else kind


def _with_collations(kind: DataType, path: str, field: StructField) -> st.DataType:
    """Return the type at a path inside a field, whose metadata has the collations up to the next field.

    A collation is stated as provider, name and maybe a version, with dots between.
    """
    match kind:
        case StructType():
            inner = [st.StructField(each.name, _with_collations(each.type, each.name, each)) for each in kind.fields]
            return st.StructType(inner)
        case ArrayType():
            return st.ArrayType(_with_collations(kind.element_type, f"{path}.element", field))
        case MapType():
            key = _with_collations(kind.key_type, f"{path}.key", field)
            return st.MapType(key, _with_collations(kind.value_type, f"{path}.value", field))
        case _:
            stated = field.metadata.get(COLLATIONS)
            collation = stated.get(path) if isinstance(stated, dict) and kind.name == "string" else None
            parts = collation.split(".") if isinstance(collation, str) else []
            return st.StringType(parts[min(1, len(parts) - 1)]) if parts else spark_type(kind)
