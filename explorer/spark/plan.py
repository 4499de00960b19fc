"""The Spark plan of a scan: files, deletion vectors, mapping and partition values.

Protocol sections: Reader Requirements, Deletion Vectors, Column Mapping, Partition Value Serialization. One read of all
live files; where a file needs more than its own bytes (partition values, masked rows) one broadcast join on the file's
name brings it. Invariants: a file that the join does not know raises, it never drops rows; partition values come from
the log alone (PART-001, PART-014); nothing here starts a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.actions import DeletionVectorDescriptor
from explorer.core.deletion_vectors import read_rows
from explorer.core.errors import CorruptTable, ExplorerError
from explorer.core.partition_values import parse_partition_value
from explorer.core.schema import StructField, StructType, to_arrow
from explorer.core.uris import is_absolute
from explorer.spark.data_files import FileAddress, address_of, check_present, leaves_table
from explorer.spark.failures import failure_of
from explorer.spark.masks import is_masked, mask_column, mask_words
from explorer.spark.physical import (
    case_collides,
    logical_column,
    quoted,
    read_schema,
    spark_type,
    unmapped,
)
from explorer.spark.predicate import filtered
from explorer.spark.row_identity import RowIdentity, row_identity
from explorer.spark.scan import Scan
from explorer.spark.session import engine

if TYPE_CHECKING:
    from explorer.core.snapshot import Snapshot
    from explorer.table import Table

__all__ = ["plan"]

# Set for each read, so that the session's own settings (it may be the user's) cannot make an answer wrong.
_READ_OPTIONS: Final = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "recursiveFileLookup": "false",
    # Files say themselves if Spark 2 wrote them in the Julian calendar; those that do not are Gregorian.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
_FIELD_ID_READ: Final = "spark.sql.parquet.fieldId.read.enabled"
_PREFIX: Final = "__explorer_"


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the columns come about: from files, from the log, or from nothing (void)."""

    schema: StructType
    stored: tuple[StructField, ...]
    partitions: tuple[StructField, ...]
    by_id: bool
    identity: RowIdentity | None


@dataclass(frozen=True, slots=True)
class _FileFacts:
    """What rows need to know of their files: one row a file, and whether one of them has a deletion vector."""

    columns: pa.Table
    types: st.StructType
    masked: bool


def plan(table: Table, snapshot: Snapshot, files: pa.Table, where: str | None, *, identified: bool = False) -> Scan:
    """Plan a scan of some of a snapshot's live files; see `explorer.spark.scan.scan`."""
    layout = _layout(snapshot, identified=identified)
    addresses = _addresses(table, files)
    check_present(addresses, files.column("size").to_pylist(), snapshot.version)
    facts = _file_facts(table, snapshot, layout, files, addresses)
    session = engine().case_sensitive_session() if case_collides(layout.schema) else engine().session()
    if addresses:
        frame = _live_rows(_read(session, layout, addresses, snapshot.version), layout, facts)
    else:
        frame = _no_rows(session, layout)
    if where is not None:
        frame = filtered(frame, where)
    return Scan(frame, tuple(addresses), snapshot.version, where)


def _layout(snapshot: Snapshot, *, identified: bool) -> _Layout:
    mode = snapshot.column_mapping_mode
    schema = unmapped(snapshot.schema) if mode == "none" else snapshot.schema
    partitions = []
    for name in snapshot.partition_columns:
        field = schema.field(name)
        if field is None:
            raise CorruptTable(
                f"The partition column {name!r} of version {snapshot.version} is not in the schema.",
                column=name,
                version=snapshot.version,
            )
        partitions.append(field)
    names = {field.name for field in partitions}
    stored = tuple(field for field in schema.fields if field.name not in names)
    identity = row_identity(snapshot, schema) if identified else None
    return _Layout(schema, stored, tuple(partitions), mode == "id", identity)


def _addresses(table: Table, files: pa.Table) -> list[FileAddress]:
    raw_paths, paths = files.column("raw_path").to_pylist(), files.column("path").to_pylist()
    for path in paths:
        if leaves_table(path):
            # Raises NotAllowed where the log points outside the places that may be read.
            table.store.elsewhere(path if is_absolute(path) else f"{table.location}/{path}")
    return [address_of(table.location, raw, path) for raw, path in zip(raw_paths, paths, strict=True)]


def _no_rows(session: SparkSession, layout: _Layout) -> DataFrame:
    columns = [sf.lit(None).cast(spark_type(field.type)).alias(field.name) for field in layout.schema.fields]
    return session.range(0).select(*columns, *(layout.identity.no_columns() if layout.identity else ()))


def _live_rows(frame: DataFrame, layout: _Layout, facts: _FileFacts | None) -> DataFrame:
    sources = {field.name: sf.col(quoted(field.physical_name)) for field in layout.stored}
    if facts is not None:
        frame, sources = _joined(frame, layout, facts)
    columns = [logical_column(sources[field.name], field) for field in layout.schema.fields]
    if layout.identity is not None:
        columns += layout.identity.columns(sf.col(f"{_PREFIX}row"))
    return frame.select(*columns)


def _read(session: SparkSession, layout: _Layout, addresses: Sequence[FileAddress], version: int) -> DataFrame:
    schema = read_schema(layout.stored, layout.by_id)
    if layout.identity is not None:
        schema = st.StructType([*schema.fields, *layout.identity.read_fields()])
    if layout.by_id and session.conf.get(_FIELD_ID_READ, "false") != "true":
        # Concerns only reads whose schema carries field ids, so it changes no other read of the session.
        session.conf.set(_FIELD_ID_READ, "true")
    try:
        reader = session.read.schema(schema).options(**_READ_OPTIONS)
        return reader.parquet(*(address.reader_path for address in addresses))
    except AnalysisException as error:
        raise failure_of(error, addresses, version) from error


def _joined(frame: DataFrame, layout: _Layout, facts: _FileFacts) -> tuple[DataFrame, dict[str, Column]]:
    """Join to each row what the log knows of its file, and drop masked rows."""
    metadata = frame.metadataColumn("_metadata")
    stored = [field for field in layout.stored if field.physical_name in frame.columns]
    # Positional names: a physical name may be anything, ours included.
    frame = frame.select(
        *(sf.col(quoted(field.physical_name)).alias(f"{_PREFIX}c{i}") for i, field in enumerate(stored)),
        metadata.getField("file_path").alias(f"{_PREFIX}file"),
        metadata.getField("row_index").alias(f"{_PREFIX}row"),
        *(layout.identity.read_columns() if layout.identity else ()),
    )
    path = sf.col(f"{_PREFIX}file")
    known = frame.sparkSession.createDataFrame(facts.columns, schema=facts.types)
    frame = frame.join(sf.broadcast(known), path == sf.col(f"{_PREFIX}path"), "left")
    unknown = sf.raise_error(sf.concat(sf.lit("explorer: no entry of the log for the file "), path)).cast("boolean")
    kept = sf.when(sf.col(f"{_PREFIX}path").isNull(), unknown)
    kept = kept.otherwise(
        ~is_masked(sf.col(f"{_PREFIX}mask"), sf.col(f"{_PREFIX}row")) if facts.masked else sf.lit(True)
    )
    sources = {field.name: sf.col(f"{_PREFIX}c{i}") for i, field in enumerate(stored)}
    sources |= {field.name: sf.lit(None) for field in layout.stored if field.name not in sources}
    sources |= {field.name: sf.col(f"{_PREFIX}p{i}") for i, field in enumerate(layout.partitions)}
    return frame.where(kept), sources


def _file_facts(
    table: Table, snapshot: Snapshot, layout: _Layout, files: pa.Table, addresses: Sequence[FileAddress]
) -> _FileFacts | None:
    """The name Spark gives each file, its typed partition values, its mask, its ids; None if only its bytes matter."""
    masks = _masks(table, files)
    values = _partition_arrays(snapshot, layout, files)
    if masks is None and not values and layout.identity is None:
        return None
    columns: dict[str, Any] = {f"{_PREFIX}path": pa.array([address.metadata_path for address in addresses])}
    fields = [st.StructField(f"{_PREFIX}path", st.StringType())]
    for index, field in enumerate(layout.partitions):
        columns[f"{_PREFIX}p{index}"] = values[field.name]
        fields.append(st.StructField(f"{_PREFIX}p{index}", spark_type(field.type)))
    if masks is not None:
        columns[f"{_PREFIX}mask"] = masks
        fields.append(st.StructField(f"{_PREFIX}mask", st.ArrayType(st.ArrayType(st.LongType()))))
    if layout.identity is not None:
        columns |= layout.identity.facts(files)
        fields += layout.identity.fact_fields()
    return _FileFacts(pa.table(columns), st.StructType(fields), masked=masks is not None)


def _masks(table: Table, files: pa.Table) -> Any | None:
    """The files' deletion vectors as an Arrow column; None if no file has one."""
    kinds = files.column("dv_storage_type").to_pylist()
    if not any(kinds):
        return None
    places, sizes, cardinalities, offsets = (
        files.column(f"dv_{name}").to_pylist() for name in ("path_or_inline", "size_in_bytes", "cardinality", "offset")
    )
    masks = [
        None if kind is None else mask_words(read_rows(table.store, DeletionVectorDescriptor(kind, *rest)))
        for kind, *rest in zip(kinds, places, sizes, cardinalities, offsets, strict=True)
    ]
    return mask_column(masks)


def _partition_arrays(snapshot: Snapshot, layout: _Layout, files: pa.Table) -> dict[str, Any]:
    """Typed partition values, one Arrow array a column; keys are logical names."""
    if not layout.partitions:
        return {}
    maps = [dict(entries or ()) for entries in files.column("partition_values").to_pylist()]
    raw_paths = files.column("raw_path").to_pylist()
    return {field.name: _partition_array(snapshot, field, maps, raw_paths) for field in layout.partitions}


def _partition_array(
    snapshot: Snapshot, field: StructField, maps: Sequence[dict[str, str | None]], raw_paths: Sequence[str]
) -> Any:
    typed = []
    for values, raw_path in zip(maps, raw_paths, strict=True):
        key = _partition_key(values, field)
        if key is None:
            raise CorruptTable(
                f"The file {raw_path} of version {snapshot.version} has no value for the partition column "
                f"{field.name!r}; the protocol demands one for every file, null included.",
                path=raw_path,
                version=snapshot.version,
                column=field.name,
            )
        try:
            typed.append(parse_partition_value(values[key], field.type, field.name))
        except ExplorerError as error:
            error.add_facts(path=raw_path, version=snapshot.version)
            raise
    try:
        return pa.array(typed, to_arrow(field.type))
    except (pa.ArrowInvalid, OverflowError) as error:
        raise CorruptTable(
            f"A partition value of column {field.name!r} at version {snapshot.version} does not fit its type: {error}.",
            column=field.name,
            version=snapshot.version,
        ) from error


def _partition_key(values: dict[str, str | None], field: StructField) -> str | None:
    """The key under which the file holds the column's value: exactly, else ignoring case as the reference does."""
    if field.physical_name in values:
        return field.physical_name
    lowered = field.physical_name.lower()
    return next((key for key in values if key.lower() == lowered), None)
