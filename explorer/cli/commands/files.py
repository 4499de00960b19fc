"""``files``, ``deletion-vectors`` and ``statistics``: what the log knows of the data files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument, VersionOption
from explorer.cli.output import emit, listing, patience
from explorer.core.protocol.schema.data_types import type_name

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("files")(files)
    app.command("deletion-vectors")(deletion_vectors)
    app.command("statistics")(statistics)


def files(table: TableArgument, version: VersionOption = None, json: JsonFlag = False) -> None:
    """List the live files of a version.

    JSON, a line a file: path (as in the log), partitionValues, size, modificationTime (ms since the epoch), numRecords,
    deletionVector {storageType, uniqueId, cardinality, sizeInBytes} or null.
    """
    with patience("Reading the log"):
        found = explorer.open_table(table).snapshot(version)
        rows = found.logical_files
    if json:
        for row in _rows(rows):
            emit(_file(row))
        return
    listing(
        ["path", "size", "rows", "masked", "partition"],
        (
            (
                row["path"],
                fmt.size(row["size"]),
                fmt.count(row["num_records"]),
                fmt.count(row["dv_cardinality"] or 0),
                _partition(row["partition_values"]),
            )
            for row in _rows(rows)
        ),
        f"Version {found.version} has no files.",
        numbers=("size", "rows", "masked"),
    )


def deletion_vectors(table: TableArgument, version: VersionOption = None, json: JsonFlag = False) -> None:
    """List the files with masked rows, and where the vectors are.

    JSON, a line a file: path (as in the log), storageType (u: file beside the table, p: absolute, i: inline), uniqueId,
    file (null when inline), offset, sizeInBytes, cardinality (rows masked), numRecords.
    """
    with patience("Reading the log"):
        found = explorer.open_table(table).snapshot(version)
        rows = found.deletion_vectors()
    if json:
        for row in _rows(rows):
            emit(
                {
                    "path": row["raw_path"],
                    "storageType": row["storage_type"],
                    "uniqueId": row["unique_id"],
                    "file": row["file"],
                    "offset": row["offset"],
                    "sizeInBytes": row["size_in_bytes"],
                    "cardinality": row["cardinality"],
                    "numRecords": row["num_records"],
                }
            )
        return
    listing(
        ["path", "masked", "of rows", "size", "vector"],
        (
            (
                row["path"],
                fmt.count(row["cardinality"]),
                fmt.count(row["num_records"]),
                fmt.size(row["size_in_bytes"]),
                "inline" if row["file"] is None else f"{row['file']} at byte {row['offset'] or 0}",
            )
            for row in _rows(rows)
        ),
        f"No rows are masked at version {found.version}.",
        numbers=("masked", "of rows", "size"),
    )


def statistics(
    table: TableArgument,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="C", help="Only this column, such as address.city; may be given repeatedly."),
    ] = None,
    version: VersionOption = None,
    json: JsonFlag = False,
) -> None:
    """Show the bounds of each column in each file.

    JSON, a line a file and column: path (as in the log), column, type, min, max, nullCount, numRecords (physical rows),
    tight (false: the bounds may be wider than the rows that are left). Null means that the log does not say.
    """
    with patience("Reading the log"):
        found = explorer.open_table(table).snapshot(version)
        rows = _statistics(found, column)
        first = next(rows, None)
    if json:
        while first is not None:
            emit(first)
            first = next(rows, None)
        return
    chosen = [] if first is None else [first, *rows]
    listing(
        ["column", "path", "min", "max", "nulls", "rows", "bounds"],
        (
            (
                row["column"],
                row["path"],
                _bound(row["min"]),
                _bound(row["max"]),
                fmt.count(row["nullCount"]),
                fmt.count(row["numRecords"]),
                {True: "tight", False: "wide", None: fmt.UNKNOWN}[row["tight"]],
            )
            for row in chosen
        ),
        f"Version {found.version} has no files, or no column that can have statistics.",
        numbers=("nulls", "rows"),
    )


def _statistics(found: explorer.Snapshot, names: list[str] | None) -> Iterator[dict[str, Any]]:
    """One record a file and column; every column asked for is looked up before the first record."""
    known = {column.name: type_name(column.type) for column in found.statistics_columns}
    chosen = list(known) if names is None else names
    ranges = [(name, found.column_ranges(name)) for name in chosen]
    paths = found.logical_files.column("raw_path")
    for name, table in ranges:
        for path, row in zip(paths, _rows(table), strict=True):
            yield {
                "path": path.as_py(),
                "column": name,
                "type": known.get(name),
                "min": row["min"],
                "max": row["max"],
                "nullCount": row["null_count"],
                "numRecords": row["num_records"],
                "tight": row["tight"],
            }


def _file(row: dict[str, Any]) -> dict[str, Any]:
    vector = None
    if row["dv_unique_id"] is not None:
        vector = {
            "storageType": row["dv_storage_type"],
            "uniqueId": row["dv_unique_id"],
            "cardinality": row["dv_cardinality"],
            "sizeInBytes": row["dv_size_in_bytes"],
        }
    return {
        "path": row["raw_path"],
        "partitionValues": row["partition_values"] or {},
        "size": row["size"],
        "modificationTime": row["modification_time"],
        "numRecords": row["num_records"],
        "deletionVector": vector,
    }


def _rows(table: Any) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow table, some thousands at a time."""
    for batch in table.to_batches(max_chunksize=5_000):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _partition(values: dict[str, str | None] | None) -> str:
    return ", ".join(f"{name}={fmt.value_text(value)}" for name, value in (values or {}).items())


def _bound(value: object) -> str:
    return fmt.UNKNOWN if value is None else fmt.value_text(value, 40)
