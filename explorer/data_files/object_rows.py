"""Read data files of an object store inside Spark's tasks: the part that runs there.

It is sent to the workers by value, with what it imports of this program; all of that imports only PyArrow and obstore,
so the workers need nothing else of it. Invariants: columns are identified by physical name, or by Parquet field ID
where the table maps by ID; a column that a file lacks is null; rows are numbered by their place in the file; a file
that is missing, of another size than the log says, too large in memory, or unreadable raises with its name, and no
error text contains a credential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from explorer.core.protocol.arrow.footer_sizes import footer_size
from explorer.data_files.arrow_columns import (
    Shape,
    check_field_ids,
    columns_of,
    in_96_bits,
    is_in_old_calendar,
    stored_names,
)
from explorer.data_files.measured_batches import Room, TooManyBytes, measured_batches
from explorer.storage.ranged_file import ranged_file
from explorer.storage.refusals.reasons import refusal_of

FOOTERS = pa.schema(
    [
        ("name", pa.string()),
        ("rows", pa.int64()),
        ("digest", pa.string()),
        ("columns", pa.list_(pa.struct([("path", pa.list_(pa.string())), ("id", pa.int32())]))),
        ("failure", pa.string()),
    ]
)
"""The facts of the footer of a file: name, physical rows, SHA-256 of the footer (thrift bytes, their length, closing
magic) in hexadecimal, columns at every level with their field ids; or why it could not be read."""

# So many bytes at the end of a file are fetched at once: most footers are shorter.
_END = 1 << 16
_OWN_READER = "give Spark the jars and the settings of the object store and open the table without storage_options"


@dataclass(frozen=True)
class ObjectRows:
    """The input of the tasks.

    Attributes:
        stores: obstore stores.
        secrets: Texts that no error may contain.
        columns: What to read.
        file_column, row_column: Names of the columns for the file's name and the row's place; None leaves both out.
        room: How much memory a file may take.
    """

    stores: tuple[Any, ...]
    secrets: tuple[str, ...]
    columns: tuple[Shape, ...]
    file_column: str
    row_column: str
    room: Room


def reader(rows: ObjectRows) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Work as the function of ``mapInArrow``, over rows of files: store (its number), key, size (or null), name."""

    def read_files(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                yield from _rows_of(rows, file)

    return read_files


def footer_reader(rows: ObjectRows) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` that gives `FOOTERS`; a file that cannot be read does not stop it."""

    def read_footers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([_footer_of(rows, file)], schema=FOOTERS)

    return read_footers


def _footer_of(rows: ObjectRows, file: dict[str, Any]) -> dict[str, Any]:
    import pyarrow.parquet as pq

    answer: dict[str, Any] = dict.fromkeys(FOOTERS.names) | {"name": file["name"]}
    try:
        source = open_file(rows, file)
        ended = _end_of(rows, source, file["name"])
        digest = _footer_digest(*ended)
        parquet = pq.ParquetFile(source, metadata=_metadata(*ended))
        columns = [column for field in parquet.schema_arrow for column in _columns(field, ())]
        return answer | {"rows": parquet.metadata.num_rows, "digest": digest, "columns": columns}
    except ImportError:
        raise
    except FileNotFoundError:
        return answer | {"failure": "the file is missing"}
    except _FileFailure as reported:
        return answer | {"failure": str(reported).replace("explorer: ", "the ", 1).replace(f": {file['name']}", "")}
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one file, the others are read
        return answer | {"failure": f"the file cannot be read: {_safe_text(error, rows.secrets)}"}


def _footer_digest(footer: bytes, tail: bytes) -> str:
    import hashlib

    if len(tail) < 8 or tail[4:] != b"PAR1" or not footer:
        raise ValueError("it is not a Parquet file, or its footer is encrypted or cut off")
    return hashlib.sha256(footer + tail).hexdigest()


def _end_of(rows: ObjectRows, source: Any, name: str) -> tuple[bytes, bytes]:
    """Return the footer of a file and the eight bytes after it; refuse a footer that takes too much memory."""
    footer, tail = _footer(source, rows.room.footer)
    size = footer_size(footer, rows.room.footer)
    if size > rows.room.footer:
        raise _FileFailure(_message("has too large a footer", name, str(size)))
    return footer, tail


def _footer(source: Any, longest: int) -> tuple[bytes, bytes]:
    """Return the footer of a file, empty if it is cut off, and the eight bytes after it; no more than requested."""
    size = source.size()
    start = max(0, size - _END)
    source.seek(start)
    end = source.read(size - start)
    tail = end[-8:]
    length = int.from_bytes(tail[:4], "little")
    begin = size - 8 - length
    if begin < 4:
        footer = b""
    elif begin >= start:
        footer = end[begin - start : -8]
    else:
        source.seek(begin)
        footer = source.read(min(length, longest + 1))
    source.seek(0)
    return footer, tail


def _metadata(footer: bytes, tail: bytes) -> Any:
    """Decode a footer, so that Arrow does not fetch it again; None where it is cut off, which Arrow reports."""
    import pyarrow.parquet as pq

    return pq.read_metadata(pa.BufferReader(b"PAR1" + footer + tail)) if footer else None


def _columns(field: Any, above: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield a field of a file and what is inside it, elements of lists and maps included."""
    number = (field.metadata or {}).get(b"PARQUET:field_id")
    path = (*above, field.name)
    yield {"path": list(path), "id": None if number is None else int(number)}
    kind = field.type
    if pa.types.is_map(kind):
        yield from _columns(kind.key_field.with_name("key"), path)
        yield from _columns(kind.item_field.with_name("value"), path)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _columns(kind.value_field.with_name("element"), path)
    elif pa.types.is_struct(kind):
        for inner in kind:
            yield from _columns(inner, path)


def _rows_of(rows: ObjectRows, file: dict[str, Any]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    name = file["name"]
    try:
        source = open_file(rows, file)
        metadata = _metadata(*_end_of(rows, source, name))
        parquet = pq.ParquetFile(source, metadata=metadata, coerce_int96_timestamp_unit="us")
        footer = parquet.metadata
        if is_in_old_calendar(parquet.schema_arrow, footer.metadata, rows.columns, in_96_bits(footer.schema)):
            what = "its dates and times are in the calendar of Spark 2, which only Spark's own reader converts"
            raise _FileFailure(_message("cannot be read", name, f"{what}; {_OWN_READER}"))
        check_field_ids(parquet.schema_arrow, rows.columns)
        chosen = stored_names(parquet.schema_arrow, rows.columns)
        place = 0
        for batch in measured_batches(source, parquet, chosen, rows.room):
            columns = columns_of(batch, rows.columns)
            columns += [
                pa.array([name], pa.string()).take(pa.array([0] * batch.num_rows, pa.int32())),
                pa.array(range(place, place + batch.num_rows), pa.int64()),
            ]
            names = [shape.name for shape in rows.columns] + [rows.file_column, rows.row_column]
            yield pa.RecordBatch.from_arrays(columns, names=names)
            place += batch.num_rows
    except (_FileFailure, ImportError):
        raise
    except FileNotFoundError:
        raise _FileFailure(_message("is missing", name)) from None
    except TooManyBytes as error:
        raise _FileFailure(_message("takes too much memory", name, f"{error.needed} of {error.allowed}")) from None
    except Exception as error:  # noqa: BLE001 - it goes to the JVM as text, so only its first line may pass
        raise _failed("cannot be read", name, error, rows.secrets) from None


def _message(what: str, name: str, detail: str = "") -> str:
    # Put together here: a traceback shows the line that raises, which must not look like the message.
    return f"explorer: file {what}: {name}" + (f" :: {detail}" if detail else "")


def _failed(what: str, name: str, error: Exception, secrets: tuple[str, ...]) -> _FileFailure:
    """Make an error without its cause and without secrets: a store may quote what was sent, signatures included.

    Args:
        what, name: As for the message.
        error: What happened.
        secrets: Texts to leave out, longest first, as one may hold another.
    """
    return _FileFailure(_message(what, name, _safe_text(error, secrets)))


def _safe_text(error: Exception, secrets: tuple[str, ...]) -> str:
    text = str(error)
    for secret in secrets:
        text = text.replace(secret, "***")
    if "\n\nDebug source:" in text:  # of obstore
        return refusal_of(text).sentences("read", "")
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]


class _FileFailure(RuntimeError):
    """An error whose text the driver understands."""


def open_file(rows: ObjectRows, file: dict[str, Any]) -> Any:
    """Open a file of a store for random access: ``store`` (its number), ``key``, ``size`` (or null), ``name``."""
    import obstore

    store, key, size, name = rows.stores[file["store"]], file["key"], file["size"], file["name"]

    def fetched(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except FileNotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise _failed("cannot be fetched", name, error, rows.secrets) from None

    actual_size = fetched(lambda: obstore.head(store, key))["size"]
    if size is not None and actual_size != size:
        raise _FileFailure(_message("has another size", name, f"{actual_size} bytes, but the log records {size}"))

    def fetch(start: int, end: int) -> bytes:
        return bytes(fetched(lambda: obstore.get_range(store, key, start=start, end=end)))

    return pa.PythonFile(ranged_file(fetch, actual_size), mode="r")
