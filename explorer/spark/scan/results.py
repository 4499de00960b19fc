"""Bring the rows of a scan to Arrow, exactly, with typed errors.

Invariants: values arrive as they are in the table (timestamps in UTC microseconds); errors of Spark become typed
errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.errors import ExplorerError
from explorer.spark.engine.failures import SPARK_ERRORS, failure_of
from explorer.spark.engine.file_addresses import FileAddress
from explorer.spark.engine.session import is_connect
from explorer.spark.scan.physical import quoted


class Planned(Protocol):
    """Rows that are planned and not run: a scan, changes, a difference."""

    @property
    def frame(self) -> DataFrame:
        """The rows."""

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception of running it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Rows made of other planned rows, which know what a failure means."""

    frame: DataFrame
    failure: Callable[[Exception], ExplorerError]


def to_arrow(planned: Planned, limit: int | None = None, *, readable: bool = False) -> pa.Table:
    """Run a plan; arguments and errors as of `PlannedRows.to_arrow`."""
    frame = readable_frame(planned.frame) if readable else planned.frame
    frame = frame if limit is None else frame.limit(limit)
    try:
        return _collected(frame)
    except SPARK_ERRORS as error:
        raise planned.failure(error) from error


def readable_frame(frame: DataFrame) -> DataFrame:
    """Return the same rows with every variant, at any depth, as JSON text."""
    if not _holds_variant(frame.schema):
        return frame
    return frame.select(*(_readable(sf.col(quoted(f.name)), f.dataType).alias(f.name) for f in frame.schema.fields))


def _collected(frame: DataFrame) -> pa.Table:
    schema = frame.schema
    if not _holds_variant(schema):
        return frame.toArrow()
    # toArrow fails on null variants: it casts the batches to a schema that forbids null in their parts.
    private: Any = frame
    if is_connect(frame):
        collected, _ = private._to_table()
    else:
        collected = pa.Table.from_batches(private._collect_as_arrow(empty_list_if_zero_records=False))
    columns = zip(collected.columns, schema.fields, strict=True)
    arrays = [_exact(column.combine_chunks(), field.dataType) for column, field in columns]
    return pa.Table.from_arrays(arrays, names=schema.names)


def _exact(array: Any, kind: st.DataType) -> Any:
    """Cast as toArrow does, except for variants: nullable, metadata before value as in the schema."""
    if not _holds_variant(kind):
        return array.cast(pa.timestamp("us", "UTC")) if isinstance(kind, st.TimestampType) else array
    match kind:
        case st.StructType():
            exact = [_exact(part, field.dataType) for part, field in zip(array.flatten(), kind.fields, strict=True)]
            return pa.StructArray.from_arrays(exact, names=kind.names, mask=array.is_null())
        case st.ArrayType():
            items = _exact(array.values, kind.elementType)
            return pa.ListArray.from_arrays(array.offsets, items, mask=array.is_null())
        case st.MapType():
            keys, items = _exact(array.keys, kind.keyType), _exact(array.items, kind.valueType)
            return pa.MapArray.from_arrays(array.offsets, keys, items, mask=array.is_null())
    names = ["metadata", "value"]
    parts = [array.field(name) for name in names]
    return pa.StructArray.from_arrays(parts, names=names, mask=array.is_null())


def _holds_variant(kind: st.DataType) -> bool:
    match kind:
        case st.VariantType():
            return True
        case st.StructType():
            return any(_holds_variant(field.dataType) for field in kind.fields)
        case st.ArrayType():
            return _holds_variant(kind.elementType)
        case st.MapType():
            return _holds_variant(kind.keyType) or _holds_variant(kind.valueType)
    return False


def _readable(source: Column, kind: st.DataType) -> Column:
    if not _holds_variant(kind):
        return source
    match kind:
        case st.StructType():
            parts = [_readable(source.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
            return sf.when(source.isNotNull(), sf.struct(*parts))
        case st.ArrayType():
            element = kind.elementType
            return sf.transform(source, lambda item: _readable(item, element))
        case st.MapType():
            value = kind.valueType
            return sf.transform_values(source, lambda _, item: _readable(item, value))
    return sf.to_json(source)


class PlannedRows:
    """The rows of a scan, of changes or of a difference: planned, and run on request."""

    __slots__ = ()

    def to_arrow(self: Planned, limit: int | None = None, *, readable: bool = False) -> pa.Table:
        """Run it.

        Args:
            limit: Number of rows to stop at; None takes all, which must fit into memory.
            readable: True gives variants as JSON text instead of their binaries.

        Raises:
            ExplorerError: What Spark raised, typed, naming the file and the version.
        """
        return to_arrow(self, limit, readable=readable)


@dataclass(frozen=True, slots=True)
class Scan(PlannedRows):
    """Rows of some files of one version, planned and not run.

    Attributes:
        frame: The rows: one column for each of the schema, in its order, logical names, exact types, all nullable;
            after them those of row identity, on request.
        addresses: The files that are read.
        version: Version of the snapshot.
        where: The predicate, or None.
    """

    frame: DataFrame
    addresses: tuple[FileAddress, ...]
    version: int
    where: str | None

    def failure(self, error: Exception) -> ExplorerError:
        """Return the typed error for an exception out of Spark."""
        return failure_of(error, self.addresses, self.version, self.where)
