"""The Spark plan of a scan: files, deletion vectors, mapping and partition values.

Protocol sections: Reader Requirements, Deletion Vectors, Column Mapping, Partition Value Serialization. One read of all
live files; where a file needs more than its own bytes (partition values, masked rows) one broadcast join on the file's
name brings it. Invariants: a file that the join does not know raises, it never drops rows; partition values come from
the log alone (PART-001, PART-014); nothing here starts a job.

`file_rows` is what all reads of rows share: a snapshot's live rows, changes, and differences of versions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, assert_never
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.data_files.partition_columns import partition_columns
from explorer.first_rows.first_rows import check_listed_once
from explorer.spark.engine.failures import failure_of
from explorer.spark.engine.file_addresses import (
    FileAddress,
    check_present,
    check_readable,
    local_address,
    local_path,
    remote_address,
)
from explorer.spark.engine.session import engine
from explorer.spark.scan.compared import matching, needed_files
from explorer.spark.scan.layout import Layout, layout_of
from explorer.spark.scan.masks import is_masked, mask_column, mask_words
from explorer.spark.scan.object_files import RawRows, needs_tasks, read_objects, remote_file, spooled
from explorer.spark.scan.physical import logical_column, quoted, read_schema, spark_type
from explorer.spark.scan.results import Scan
from explorer.spark.scan.row_marks import RowMarks, row_identity
from explorer.storage.schemes import scheme_of

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

# Set for each read, so that the settings of the session, which may be the user's, cannot make an answer wrong.
_READ_OPTIONS: Final = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "recursiveFileLookup": "false",
    # Files say if Spark 2 wrote them in the Julian calendar; all others are Gregorian.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
_FIELD_ID_READ: Final = "spark.sql.parquet.fieldId.read.enabled"
_PREFIX: Final = "__explorer_"
PATH: Final = f"{_PREFIX}path"
ROW: Final = f"{_PREFIX}row"
MASK: Final = f"{_PREFIX}mask"
_FILE: Final = f"{_PREFIX}file"
_places: Final[WeakKeyDictionary[DeltaLog, FileLocations]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class JoinedFacts:
    """What rows need to know of their files: one row for each part that a file plays.

    Attributes:
        columns: `PATH` (the name Spark gives the file), partition values, masks, and the facts of the marks.
        types: Their Spark types.
        is_given: Whether a row of a known file is given, over these columns and the row's index; never null.
    """

    columns: pa.Table
    types: st.StructType
    is_given: Column


def plan(
    log: DeltaLog,
    snapshot: Snapshot,
    files: pa.Table,
    where: str | None,
    *,
    identified: bool = False,
    marks: RowMarks | None = None,
    hidden: Mapping[str, npt.NDArray[np.uint64]] | None = None,
    needed: bool = False,
    unpadded: bool = False,
    doubted: Collection[str] = (),
) -> Scan:
    """Plan a scan of some of a snapshot's live files; see `explorer.spark.scan.scan.scan`.

    Args:
        table, snapshot, files, where: As there.
        identified: As ``row_identity`` there.
        marks: Other columns to give after those of the table.
        hidden: As there, by the path of the file in the log as it is written.
        needed, unpadded, doubted: As there.
    """
    layout = replace(layout_of(snapshot), unpadded=unpadded)
    if identified:
        marks = row_identity(snapshot, layout.schema)
    if marks is not None:
        layout = layout.with_marks(marks)
    session = session_of(layout)
    if where is not None and not needed:
        files = _with_doubted(files, needed_files(session, snapshot, files, where), doubted)
    check_listed_once(snapshot, files)
    addresses = addresses_of(log, files)
    if not needed:
        check_present(addresses, files.column("size").to_pylist(), snapshot.version)
    masks = _masks(log, files, snapshot.version, hidden or {})
    facts = None
    if masks is not None or layout.partitions or layout.marks is not None:
        is_live = sf.lit(True) if masks is None else ~is_masked(sf.col(MASK), sf.col(ROW))
        facts = file_facts(layout, files, addresses, {} if masks is None else {MASK: masks}, is_live)
    frame = file_rows(session, layout, addresses, facts)
    if where is not None:
        frame = matching(frame, layout, where)
    return Scan(frame, tuple(addresses), snapshot.version, where)


def _with_doubted(files: pa.Table, needed: pa.Table, doubted: Collection[str]) -> pa.Table:
    """Return the files that a condition needs, and the doubted ones, in the order of the log."""
    if not doubted:
        return needed
    chosen = pc.is_in(files.column("raw_path"), value_set=needed.column("raw_path").combine_chunks())
    named = pc.is_in(files.column("path"), value_set=strings(list(doubted)))
    return files.filter(pc.or_(chosen, named))


def files_to_read(log: DeltaLog, snapshot: Snapshot, where: str | None) -> pa.Table:
    """Return the files of a scan; see `explorer.spark.scan.scan.files_to_read`."""
    files = snapshot.logical_files
    if where is not None:
        files = needed_files(session_of(layout_of(snapshot)), snapshot, files, where)
    check_present(addresses_of(log, files), files.column("size").to_pylist(), snapshot.version)
    return files


def session_of(layout: Layout) -> SparkSession:
    """Return the session to read with. Ask for it before making the first Column, as a Column needs a session.

    Raises:
        EngineUnavailable: Spark or Java is missing.
    """
    return engine().case_sensitive_session() if layout.case_sensitive else engine().session()


def file_rows(
    session: SparkSession, layout: Layout, addresses: Sequence[FileAddress], facts: JoinedFacts | None
) -> DataFrame:
    """Return the rows of some files: the layout's columns and marks.

    Args:
        session: What reads them; see `session_of`.
        layout: How to read them.
        addresses: The files, each once.
        facts: What to join to each row; None if rows need only what their files hold.

    Raises:
        StorageError: A file is missing.
    """
    if not addresses:
        return _no_rows(session, layout)
    return _selected(_read(session, layout, addresses), layout, facts)


def file_facts(
    layout: Layout, files: pa.Table, addresses: Sequence[FileAddress], masks: Mapping[str, Any], condition: Column
) -> JoinedFacts:
    """Put together what is known of files.

    Args:
        files: The facts of each in the log: raw_path, partition_values, and what the marks need.
        addresses: Their addresses, one for each row of ``files``; the same file may come several times.
        masks: Columns of `explorer.spark.scan.masks.MASK_TYPE`, or of booleans, that ``condition`` needs.
        condition: As in `JoinedFacts`.

    Raises:
        CorruptTable: A partition value is missing or does not parse.
    """
    columns: dict[str, Any] = {PATH: pa.array([address.metadata_path for address in addresses])}
    fields = [st.StructField(PATH, st.StringType())]
    values = partition_columns(layout, files)
    for index, field in enumerate(layout.partitions):
        columns[f"{_PREFIX}p{index}"] = values[field.name]
        fields.append(st.StructField(f"{_PREFIX}p{index}", spark_type(field.type)))
    for name, column in masks.items():
        columns[name] = column
        kind = st.BooleanType() if column.type == pa.bool_() else st.ArrayType(st.ArrayType(st.LongType()))
        fields.append(st.StructField(name, kind))
    if layout.marks is not None:
        columns |= layout.marks.facts(files)
        fields += layout.marks.fact_fields()
    return JoinedFacts(pa.table(columns), st.StructType(fields), condition)


def addresses_of(log: DeltaLog, files: pa.Table) -> list[FileAddress]:
    """Return where the files are, one address for each row of ``files``.

    Raises:
        NotAllowed: The log or a link points outside the places that may be read.
        StorageError: A file of a table in memory is missing, or a path is the name of no file.
    """
    raw_paths, paths = files.column("raw_path").to_pylist(), files.column("path").to_pylist()
    sizes = files.column("size").to_pylist()
    places, first = _places.setdefault(log, FileLocations(log.store)), dict[str, str]()
    addresses = list[FileAddress]()
    for raw_path, path, size in zip(raw_paths, paths, sizes, strict=True):
        address = _address(places, raw_path, path, size)
        if address.local is not None and first.setdefault(address.local, path) != path:
            # Two files of the log are one on this disk; Spark tells them apart by their names.
            address = local_address(raw_path, address.local, alias=True)
        addresses.append(address)
    return addresses


def _address(places: FileLocations, raw_path: str, path: str, size: int | None) -> FileAddress:
    holder, key = places.place_of(path)
    scheme = scheme_of(holder.root)
    match scheme.rows:
        case "on disk":
            return local_address(raw_path, local_path(holder, key))
        case "copied":
            return local_address(raw_path, spooled(holder, key))
        case "fetched":
            location = places.location_of(path)
            return remote_address(raw_path, location, remote_file(*places.store_at(location), size, scheme))
        case _:
            assert_never(scheme.rows)


def _no_rows(session: SparkSession, layout: Layout) -> DataFrame:
    columns = [sf.lit(None).cast(spark_type(field.type)).alias(field.name) for field in layout.schema.fields]
    return session.range(0).select(*columns, *(layout.marks.no_columns() if layout.marks else ()))


def _selected(rows: RawRows, layout: Layout, facts: JoinedFacts | None) -> DataFrame:
    sources = {field.name: sf.col(quoted(field.physical_name)) for field in layout.stored}
    frame = rows.frame
    if facts is not None:
        frame, sources = _joined(rows, layout, facts)
    fields = layout.schema.fields
    columns = [logical_column(sources[field.name], field, unpadded=layout.unpadded) for field in fields]
    if layout.marks is not None:
        columns += layout.marks.columns(sf.col(ROW))
    return frame.select(*columns)


def _read(session: SparkSession, layout: Layout, addresses: Sequence[FileAddress]) -> RawRows:
    schema = read_schema(layout.stored, layout.by_id)
    if layout.marks is not None:
        schema = st.StructType([*schema.fields, *layout.marks.read_fields()])
    if layout.by_id and session.conf.get(_FIELD_ID_READ, "false") != "true":
        # Concerns only reads whose schema carries field ids, so it changes no other read of the session.
        session.conf.set(_FIELD_ID_READ, "true")
    if needs_tasks(session, addresses):
        return read_objects(session, addresses, schema)
    check_readable(addresses)
    try:
        reader = session.read.schema(schema).options(**_READ_OPTIONS)
        frame = reader.parquet(*(address.reader_path for address in addresses))
    except AnalysisException as error:
        raise failure_of(error, addresses, layout.version) from error
    metadata = frame.metadataColumn("_metadata")
    return RawRows(frame, metadata.getField("file_path"), metadata.getField("row_index"))


def _joined(rows: RawRows, layout: Layout, facts: JoinedFacts) -> tuple[DataFrame, dict[str, Column]]:
    """Join to each row what is known of its file, and drop the rows that are not given."""
    names = set(rows.frame.columns)
    stored = [field for field in layout.stored if field.physical_name in names]
    # Positional names: a physical name may be anything, even one of ours.
    frame = rows.frame.select(
        *(sf.col(quoted(field.physical_name)).alias(f"{_PREFIX}c{i}") for i, field in enumerate(stored)),
        rows.path.alias(_FILE),
        rows.row.alias(ROW),
        *(layout.marks.read_columns() if layout.marks else ()),
    )
    path = sf.col(_FILE)
    known = frame.sparkSession.createDataFrame(facts.columns, schema=facts.types)
    frame = frame.join(sf.broadcast(known), path == sf.col(PATH), "left")
    unknown = sf.raise_error(sf.concat(sf.lit("explorer: no entry of the log for the file "), path)).cast("boolean")
    is_live = sf.when(sf.col(PATH).isNull(), unknown).otherwise(facts.is_given)
    sources = {field.name: sf.col(f"{_PREFIX}c{i}") for i, field in enumerate(stored)}
    sources |= {field.name: sf.lit(None) for field in layout.stored if field.name not in sources}
    sources |= {field.name: sf.col(f"{_PREFIX}p{i}") for i, field in enumerate(layout.partitions)}
    return frame.where(is_live), sources


def _masks(log: DeltaLog, files: pa.Table, version: int, hidden: Mapping[str, npt.NDArray[np.uint64]]) -> Any | None:
    """Return the rows of each file that are left out as an Arrow column; None if there are none."""
    vectors = vector_descriptors(files)
    if not any(vectors) and not hidden:
        return None
    none = np.empty(0, np.uint64)
    masks = []
    for raw_path, vector in zip(files.column("raw_path").to_pylist(), vectors, strict=True):
        masked = none if vector is None else read_rows(log.store, vector, raw_path, version)
        rows = np.union1d(masked, hidden.get(raw_path, none))
        masks.append(mask_words(rows) if len(rows) else None)
    return mask_column(masks)
