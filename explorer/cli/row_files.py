"""Rows -> a Parquet, CSV or JSON-lines file, whole or not at all.

In CSV, cells that a spreadsheet would run are marked as text (`explorer.spreadsheet`), unless exact ones are wanted.

A file is written aside, flushed, and renamed; what was there before stays until then. Parquet and JSON keep nested
values; CSV holds them as JSON text. A column of JSON is JSON in a line of JSON, and text in CSV. Text in CSV is quoted,
null is not, so that an empty text and null stay apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from explorer.cli.output import encode
from explorer.cli.report_files import check_place
from explorer.core.errors import RequestError, StorageError
from explorer.core.protocol.arrow.python_dates import with_python_dates
from explorer.spreadsheet import cells, escaped_words, text_column
from explorer.storage.atomic_write import atomic_write

FORMATS: Final = (".parquet", ".csv", ".jsonl")
_ROW_GROUP: Final = 131_072


def check_output(path: Path) -> None:
    """Refuse a place that cannot be written to, before anything is read.

    Raises:
        RequestError: The ending is not one of ours, the folder is absent, or the place is a folder.
    """
    if path.suffix not in FORMATS:
        raise RequestError(f"{path} must end in {', '.join(FORMATS)}: the ending chooses the format.", path=str(path))
    check_place(path)


def check_exact_csv(path: Path | None) -> None:
    """Refuse exact cells of CSV where no CSV is written.

    Raises:
        RequestError: The output is another format, or goes to the screen.
    """
    if path is None or path.suffix != ".csv":
        raise RequestError(
            "--exact-csv is only for CSV files. Remove it, or name a file that ends in .csv with --output: other "
            "formats contain exact values anyway.",
            field="exact_csv",
        )


def written_words(written: WrittenRows) -> str:
    """Return what was done to cells of CSV and how to get exact values, for people; empty if nothing was."""
    changed = escaped_words(written.escaped or 0)
    return f" {changed}. For the exact values use --exact-csv, or write Parquet or JSON lines." if changed else ""


def is_read_by_people(path: Path) -> bool:
    """Return whether a file of this ending holds text, in which a variant is its JSON."""
    return path.suffix != ".parquet"


_Writer = Callable[[IO[bytes], pa.Schema, Iterator[pa.RecordBatch]], int | None]


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """What was written: how many rows, and how many cells of CSV, names of columns included, had to be escaped.

    ``escaped`` is None in other formats.
    """

    rows: int
    escaped: int | None

    def facts(self) -> dict[str, int]:
        """Return the fields of the JSON document: rows, and escaped_cells where it is CSV."""
        return {"rows": self.rows} | ({} if self.escaped is None else {"escaped_cells": self.escaped})


def write_rows(
    path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch], *, exact_csv: bool = False
) -> WrittenRows:
    """Write all batches.

    Args:
        path: The file; its ending chooses the format.
        schema: The columns.
        batches: The rows.
        exact_csv: Leave the cells of CSV as they are, also those that a spreadsheet runs.

    Raises:
        StorageError: The file cannot be written.
    """
    written = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal written
        for batch in batches:
            written += batch.num_rows
            yield batch

    csv = partial(_write_csv, exact=exact_csv)
    writers: dict[str, _Writer] = {".parquet": _write_parquet, ".csv": csv, ".jsonl": _write_json}
    try:
        with atomic_write(os.path.abspath(path)) as file:
            escaped = writers[path.suffix](file, schema, counted())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error}). What was there is unchanged.", path=str(path)
        ) from error
    return WrittenRows(written, escaped)


def json_rows(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Yield the rows of a batch as JSON lines, without newlines; columns in order, maps with text keys as objects."""
    for values in zip(*plain_columns(batch), strict=True):
        yield encode(dict(zip(batch.schema.names, values, strict=True)))


def plain_columns(rows: pa.RecordBatch | pa.Table) -> list[list[Any]]:
    """Return the values of each column for JSON."""
    return [_plain_column(column) for column in rows.columns]


def _write_parquet(file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _grouped(batches):
            writer.write_table(pa.Table.from_batches(group, schema))


def _write_csv(file: IO[bytes], schema: pa.Schema, batches: Iterator[pa.RecordBatch], *, exact: bool) -> int:
    """Write CSV and return how many cells were escaped, names of columns included."""
    names, escaped = (schema.names, 0) if exact else cells(schema.names)
    flat = pa.schema([(name, _flat_type(field.type)) for name, field in zip(names, schema, strict=True)])
    with pa.csv.CSVWriter(file, flat) as writer:
        for batch in batches:
            columns = [_flat(column, field.type) for column, field in zip(batch.columns, flat, strict=True)]
            for place, column in enumerate(columns):
                if not exact and pa.types.is_string(column.type):
                    columns[place], changed = text_column(column)
                    escaped += changed
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=flat))
    return escaped


def _write_json(file: IO[bytes], _: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    for batch in batches:
        file.writelines(line + b"\n" for line in json_rows(batch))


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    for batch in batches:
        group.append(batch)
        if sum(part.num_rows for part in group) >= _ROW_GROUP:
            yield group
            group = []
    if group:
        yield group


def _flat_type(kind: pa.DataType) -> pa.DataType:
    """Return the type a column has in CSV: times and nested values are text."""
    textual = pa.types.is_nested(kind) or pa.types.is_timestamp(kind) or pa.types.is_binary(kind)
    return pa.string() if textual or isinstance(kind, pa.JsonType) else kind


def _flat(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if isinstance(column.type, pa.JsonType):
        return column.cast(kind)
    if pa.types.is_nested(column.type):
        return pa.array([None if value is None else encode(value).decode() for value in _plain_column(column)], kind)
    # Times and binary as they are in JSON.
    values = with_python_dates(column).to_pylist()
    texts = (None if value is None else encode(value).decode().strip('"') for value in values)
    return pa.array(list(texts), kind)


def _plain_column(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    column = with_python_dates(column)
    kind = column.type
    if not pa.types.is_nested(kind) and not isinstance(kind, pa.JsonType):
        values: list[Any] = column.to_pylist()
        return values
    return [_plain(value, kind) for value in column.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Return A nested value for JSON; pyarrow gives maps as lists of pairs."""
    if value is None:
        return None
    if isinstance(kind, pa.JsonType):
        return msgspec.Raw(value.encode())
    if pa.types.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        pairs = [(_plain(key, kind.key_type), _plain(item, kind.item_type)) for key, item in value]
        return dict(pairs) if pa.types.is_string(kind.key_type) else pairs
    if pa.types.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    return value
