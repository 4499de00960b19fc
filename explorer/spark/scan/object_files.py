"""Rows of tables in an object store or in memory.

Spark's own reader needs jars for an object store that PySpark does not bring. Where the session has them, and reaches
the store with its own settings, it reads itself; otherwise the tasks read with obstore and PyArrow, which come with
this program, and credentials go to them inside the function they run: never into the session's settings, a plan or a
log. A table in memory is written to a folder of this process first. Invariant: either way the frame has the physical
columns, the file's name and the row's place.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_type

from explorer.core.errors import StorageError
from explorer.core.protocol import limits
from explorer.core.protocol.arrow import chunk_sizes, footer_sizes, page_headers, rows_at_once, thrift
from explorer.data_files import arrow_columns, measured_batches, object_rows
from explorer.data_files.arrow_columns import Shape
from explorer.data_files.measured_batches import Room
from explorer.data_files.object_rows import ObjectRows
from explorer.spark.engine.file_addresses import FileAddress, RemoteFile
from explorer.spark.engine.session import is_connect
from explorer.storage import ranged_file, refusals
from explorer.storage.atomic_write import atomic_write
from explorer.storage.objects import ObjectLogStore
from explorer.storage.schemes import SCHEMES, Scheme

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore

_FIELD_ID: Final = "parquet.field.id"
_MOST_TASKS: Final = 64
# The modules that the tasks read with, and their imports of this program.
_SENT: Final = (
    object_rows,
    arrow_columns,
    measured_batches,
    ranged_file,
    refusals,
    chunk_sizes,
    footer_sizes,
    page_headers,
    rows_at_once,
    thrift,
)
_FOOTERS: Final = (
    "name string, rows long, digest string, columns array<struct<path: array<string>, id: int>>, failure string"
)


@dataclass(frozen=True, slots=True)
class RawRows:
    """Rows as the files have them.

    Attributes:
        frame: The physical columns.
        path: The file's name, as its address has it.
        row: The row's place in the file, from 0.
    """

    frame: DataFrame
    path: Column
    row: Column


def remote_file(store: LogStore, key: str, size: int | None, scheme: Scheme) -> RemoteFile:
    """Describe how a task reads a file of a table in an object store.

    Args:
        store: The store that holds the file.
        key: The file's key in it.
        size: Its size in bytes by the log, or None.
        scheme: How the store's URL begins.
    """
    assert isinstance(store, ObjectLogStore), f"{store.root} has a scheme whose rows are fetched"
    sent, sent_key = store.sendable(key)
    return RemoteFile(sent, sent_key, size, scheme, store.configured, store.secrets)


def needs_tasks(session: SparkSession, addresses: Sequence[FileAddress]) -> bool:
    """Return whether the tasks have to read the files, as Spark's own reader cannot reach some of them."""
    remote = [address.remote for address in addresses if address.remote is not None]
    if not remote:
        return False
    if any(file.configured for file in remote):
        return True
    if is_connect(session):
        return False
    private: Any = session
    configuration = private._jsc.hadoopConfiguration()
    wanted = {file.scheme.file_system for file in remote}
    return any(name is None or configuration.getClassByNameOrNull(name) is None for name in wanted)


def read_objects(session: SparkSession, addresses: Sequence[FileAddress], schema: st.StructType) -> RawRows:
    """Return the files' rows, read by the tasks.

    Args:
        addresses: The files, local ones too.
        schema: What to read, physical names, Parquet field ids in the metadata of fields that are identified by them.
    """
    _send_code()
    path, row = _free("__explorer_object", schema), _free("__explorer_place", schema)
    shapes = tuple(_shape(field.name, field.dataType, field.metadata) for field in schema.fields)
    files, stores = sent_files(addresses)
    fields = [st.StructField(field.name, field.dataType) for field in schema.fields]
    fields += [st.StructField(path, st.StringType()), st.StructField(row, st.LongType())]
    frame = session.createDataFrame(files).repartition(min(files.num_rows, _MOST_TASKS))
    read = object_rows.reader(ObjectRows(stores, secrets_in(addresses), shapes, path, row, room()))
    return RawRows(frame.mapInArrow(read, st.StructType(fields)), sf.col(path), sf.col(row))


def read_footers(session: SparkSession, addresses: Sequence[FileAddress]) -> DataFrame:
    """The files' footers, read by the tasks: one row a file, columns `explorer.data_files.object_rows.FOOTERS`.

    Args:
        addresses: The files, local ones too; at least one.
    """
    _send_code()
    files, stores = sent_files(addresses)
    frame = session.createDataFrame(files).repartition(min(files.num_rows, _MOST_TASKS))
    read = object_rows.footer_reader(ObjectRows(stores, secrets_in(addresses), (), "", "", room()))
    return frame.mapInArrow(read, _FOOTERS)


def _send_code() -> None:
    for module in _SENT:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # PySpark's own


def room() -> Room:
    """Return how much memory a file may take in a task."""
    return Room(limits.footer_bytes(), limits.MAX_DECODED_BYTES, limits.DECODED_RATIO, limits.MOST_DECODED_BYTES)


def secrets_in(addresses: Sequence[FileAddress]) -> tuple[str, ...]:
    """Return the texts that no error may contain, longest first, as one may contain another."""
    secrets = {secret for address in addresses if address.remote is not None for secret in address.remote.secrets}
    return tuple(sorted(secrets, key=len, reverse=True))


def _free(name: str, schema: st.StructType) -> str:
    taken = {field.name.lower() for field in schema.fields}
    while name in taken:
        name = f"{name}_"
    return name


def spooled(store: LogStore, key: str) -> str:
    """Return a copy on disk of a file of a table in memory; it lives as long as this process.

    Raises:
        StorageError: The table has no such file.
    """
    try:
        data = store.read(key)
    except FileNotFoundError as error:
        raise StorageError(f"The data file {key} does not exist.", path=key) from error
    target = os.path.join(_spool(), sha256(data).hexdigest() + ".parquet")
    if not os.path.exists(target):
        # Two threads may write the same bytes at once; each to a name of its own.
        with atomic_write(target, durable=False) as file:
            file.write(data)
    return target


def sent_files(addresses: Sequence[FileAddress]) -> tuple[pa.Table, tuple[Any, ...]]:
    """Return one row a file for the tasks, and the stores that the rows speak of by number."""
    stores: list[Any] = []
    numbers: dict[int, int] = {}
    columns: tuple[list[Any], ...] = ([], [], [], [])
    for address in addresses:
        remote = address.remote or _local(address)
        if id(remote.store) not in numbers:
            numbers[id(remote.store)] = len(stores)
            stores.append(remote.store)
        row = (numbers[id(remote.store)], remote.key, remote.size, address.metadata_path)
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    types = {"store": pa.int32(), "key": pa.string(), "size": pa.int64(), "name": pa.string()}
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types)), tuple(stores)


def _local(address: FileAddress) -> RemoteFile:
    assert address.local is not None
    return RemoteFile(_disk(), address.local.lstrip("/"), None, SCHEMES["file"], configured=False)


@functools.cache
def _disk() -> Any:
    from obstore.store import LocalStore

    return LocalStore("/")


def _shape(name: str, kind: st.DataType, metadata: dict[str, Any] | None = None) -> Shape:
    field_id = (metadata or {}).get(_FIELD_ID)
    match kind:
        case st.StructType():
            parts = tuple(_shape(field.name, field.dataType, field.metadata) for field in kind.fields)
            return Shape(name, field_id, pa.struct([]), parts)
        case st.ArrayType():
            return Shape(name, field_id, pa.list_(pa.null()), (_shape("element", kind.elementType),))
        case st.MapType():
            parts = (_shape("key", kind.keyType), _shape("value", kind.valueType))
            return Shape(name, field_id, pa.map_(pa.string(), pa.null()), parts)
        case st.VariantType():
            halves = tuple(Shape(half, None, pa.binary()) for half in ("value", "metadata"))
            return Shape(name, field_id, pa.struct([]), halves)
    return Shape(name, field_id, to_arrow_type(kind, timezone="UTC"))


@functools.cache
def _spool() -> str:
    folder = tempfile.mkdtemp(prefix="delta-table-explorer-memory-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
