"""``rows``: the rows of a version, through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import (
    SCREEN,
    ExactCsvFlag,
    JsonFlag,
    LimitOption,
    OutputOption,
    SparkOption,
    TableArgument,
    TimestampOption,
    VersionOption,
    use_spark,
)
from explorer.cli.output import check_agreed, emit, note, patience
from explorer.cli.row_output import WrittenFile, check_output_options, list_rows, print_stream, waiting, write_stream

__all__ = ["RowsFile", "rows"]


class RowsFile(WrittenFile, frozen=True, kw_only=True):
    """The rows of a version in a file."""

    version: int


def rows(
    table: TableArgument,
    *,
    version: VersionOption = None,
    timestamp: TimestampOption = None,
    where: Annotated[
        str | None, typer.Option("--where", metavar="SQL", help="Only rows for which this expression is true.")
    ] = None,
    limit: LimitOption = None,
    output: OutputOption = None,
    exact_csv: ExactCsvFlag = False,
    spark: SparkOption = None,
    json: JsonFlag = False,
) -> None:
    """Read the rows of a version through Spark; masked rows are left out.

    Columns come in the order of the table's schema, under logical names; the order of the rows is not fixed. An output
    file is complete or absent. Ctrl-C cancels.

    JSON lines hold decimals as numbers with all digits, times as ISO 8601 text, binary as base64 and variants as JSON.
    In Parquet a variant is its two binaries. If the log contradicts itself, so that other clients read other rows, an
    error with both counts follows the rows, and the exit code is 3.
    """
    check_output_options(output, exact_csv=exact_csv)
    use_spark(spark)
    with patience("Reading the log"):
        opened = explorer.open_table(table)
        snapshot = opened.snapshot(version, timestamp)
    if output is not None:
        _write(opened, snapshot, where, limit, output, exact_csv=exact_csv, as_json=json)
    elif json:
        _print_json(opened, snapshot, where, limit)
    else:
        _print(opened, snapshot, where, SCREEN if limit is None else limit)
    check_agreed(snapshot)


def _write(
    table: explorer.Table,
    snapshot: explorer.Snapshot,
    where: str | None,
    limit: int | None,
    output: Path,
    *,
    exact_csv: bool,
    as_json: bool,
) -> None:
    from explorer.cli.row_files import is_read_by_people, written_words
    from explorer.spark.rows.batches import version_stream

    stream = version_stream(table, snapshot, where, readable=is_read_by_people(output), limit=limit)
    written = write_stream(stream, output, limit, exact_csv=exact_csv)
    if as_json:
        emit(RowsFile(output=str(output), **written.facts(), table=table.location, version=snapshot.version))
    else:
        size = fmt.size(output.stat().st_size)
        what = f"{fmt.plural(written.rows, 'row')} of version {snapshot.version}"
        note(f"Wrote {what} to {output} ({size}).{written_words(written)}")


def _print_json(table: explorer.Table, snapshot: explorer.Snapshot, where: str | None, limit: int | None) -> None:
    from explorer.spark.rows.batches import version_stream

    print_stream(version_stream(table, snapshot, where, readable=True, limit=limit), limit)


def _print(table: explorer.Table, snapshot: explorer.Snapshot, where: str | None, limit: int) -> None:
    from explorer.spark.rows.preview import preview

    seen = waiting(preview(table, snapshot, limit, where))
    list_rows(seen.table)
    note(seen.note)
