"""A source of rows: read through Spark, and whether it is still what it was when the plan was made.

A plan counts rows and judges them, and the commit reads them again to write them. Invariants: a source that gave other
rows in between keeps the commit from being made; files of this machine are compared as `explorer.spark.writes.
source_files` sees them, and any source by how many rows it gave and which rows of the table they change.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema

from explorer.core.errors import Cancelled, EngineUnavailable, ExplorerError, InvalidIntent, NotAllowed
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.data_types import StructType, format_column
from explorer.core.transaction.proposal import SOURCE_UNCHANGED, GuardResult
from explorer.spark.engine.failures import PLANNING_ERRORS, condition_of, failure_of, first_sentence
from explorer.spark.engine.file_addresses import escaped, is_hidden
from explorer.spark.engine.session import engine
from explorer.spark.writes.source_files import SourcePlace
from explorer.storage.roots import check_plain


def source_frame(session: SparkSession, source_place: SourcePlace) -> DataFrame:
    """Return the rows of a source: a Parquet or CSV file or folder, an Arrow table, or a DataFrame of Spark.

    Raises:
        InvalidIntent: It is none of these, or a Delta table.
    """
    source = source_place.named
    if isinstance(source, pa.Table):
        if source.num_rows:
            return session.createDataFrame(source)
        # Spark Connect asks for the types of a table without rows.
        zoneless = session.conf.get("spark.sql.timestampType") == "TIMESTAMP_NTZ"
        return session.createDataFrame([], from_arrow_schema(source.schema, prefer_timestamp_ntz=zoneless))
    if not isinstance(source, str):
        # A DataFrame of Spark Connect is of another class than one of Spark's own.
        if not hasattr(source, "mapInArrow"):
            raise InvalidIntent(f"Rows cannot be read from {type(source).__name__}.", field="source")
        return cast("DataFrame", source)
    place, local = _place_of(source, source_place.real)
    if local is not None and os.path.isdir(f"{local}/_delta_log"):
        raise InvalidIntent(
            f"The source {source!r} is a Delta table: its files also contain deleted rows. Append the rows of a "
            "version instead: write them to a file (delta-explorer rows TABLE --output), or give them as rows.",
            field="source",
        )
    suffix = PurePosixPath(source.rstrip("/")).suffix.lower()
    reader = session.read.options(recursiveFileLookup="false")
    match suffix:
        case ".csv":
            return reader.csv(place, header=True, inferSchema=False, mode="FAILFAST", enforceSchema=False)
        case ".parquet" | "":
            return _without_defaults(reader, place)
        case _:
            raise InvalidIntent(
                f"The source {source!r} has a name that is neither Parquet nor CSV.",
                field="source",
                allowed=[".parquet", ".csv", "a folder of Parquet files"],
            )


def _without_defaults(reader: DataFrameReader, source: str) -> DataFrame:
    """Read Parquet files without the default expressions that a file can name, as Spark would evaluate them."""
    frame = reader.parquet(source)
    if not any(field.metadata for field in frame.schema.fields):
        return frame
    plain = _nullable(frame.schema)
    assert isinstance(plain, st.StructType)
    return reader.schema(plain).parquet(source)


def _place_of(source: str, path: str | None) -> tuple[str, str | None]:
    """Return where Spark is to read a source, and its real path where it is on this machine.

    Raises:
        RequestError: The source is an address with credentials.
        InvalidIntent: It is a pattern, or a file whose name Spark skips.
    """
    check_plain(source)
    if path is None:
        return source, None
    if os.path.exists(path):
        if is_hidden(path):
            raise InvalidIntent(
                f"Spark skips a source of this name: {source!r}. It treats names that begin with _ or . as hidden. "
                "Rename it, or give the rows themselves.",
                field="source",
            )
        return f"file:{escaped(path)}", path
    if escaped(source) != source:
        raise InvalidIntent(
            f"The source {source!r} does not exist, and patterns are not expanded. Give one file, or a folder.",
            field="source",
        )
    # It may be on the machines of a cluster.
    return source, None


def new_fields(schema: StructType, source: object) -> tuple[JsonObject, ...]:
    """Return the columns and nested fields of a source that the table lacks; see `RowEngine.new_fields`."""
    try:
        frame = source_frame(engine().session(), SourcePlace.of(source))
        return tuple(_foreign((), frame.schema.fields, schema))
    except PLANNING_ERRORS as error:
        raise unfit(error) from error


def _foreign(parent: tuple[str, ...], given: Sequence[st.StructField], known: StructType) -> Iterator[JsonObject]:
    fields = {field.name.lower(): field for field in known.fields}
    for field in given:
        own = fields.get(field.name.lower())
        if own is None:
            kind = _nullable(field.dataType).jsonValue()
            yield {"name": format_column((*parent, field.name)), "type": kind, "nullable": True, "metadata": {}}
        elif isinstance(own.type, StructType) and isinstance(field.dataType, st.StructType):
            yield from _foreign((*parent, own.name), field.dataType.fields, own.type)


def _nullable(kind: st.DataType) -> st.DataType:
    """Return a type with every part nullable and without metadata of fields."""
    match kind:
        case st.StructType():
            return st.StructType([st.StructField(field.name, _nullable(field.dataType)) for field in kind.fields])
        case st.ArrayType():
            return st.ArrayType(_nullable(kind.elementType))
        case st.MapType():
            return st.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind


def unchanged_guard(planned: object, current: object, what: str) -> tuple[GuardResult, ...]:
    """Return the guard that fails where a source is another one than when it was planned; none where it is the same.

    Args:
        planned: What was seen of it when the plan was made.
        current: The same, when its rows were written.
        what: Names it in words.
    """
    if planned == current:
        return ()
    evidence = {"detail": f"The source changed while it was read: {what} are not those of the plan."}
    remedy = "Make a new plan once nothing writes to the source. Rows that differ at each reading must be stored first."
    return (GuardResult(SOURCE_UNCHANGED, "fail", evidence, remedy),)


def refusal(error: Exception, what: str, field: str) -> ExplorerError:
    """Return the error of the intent for what Spark raised over the rows of a source, or over expressions.

    Args:
        what: The part that does not fit, as the beginning of a sentence.
        field: The field of the intent that it is in.
    """
    failure = failure_of(error)
    if isinstance(failure, (EngineUnavailable, Cancelled, NotAllowed)):
        return failure
    if condition_of(error) == "PATH_NOT_FOUND":
        return InvalidIntent(f"The source cannot be read: {first_sentence(error)} Check its path.", field="source")
    if condition_of(error) is None:
        return InvalidIntent(f"{what}. {failure.message}", field=field)
    return InvalidIntent(f"{what}: {first_sentence(error)}", field=field)


def unfit(error: Exception) -> ExplorerError:
    """Return the error for rows that do not fit the table."""
    return refusal(error, "The rows do not fit the table", "source")
