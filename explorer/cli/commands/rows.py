"""``rows`` and ``head``: the rows of a version, the first ones without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import (
    SCREEN,
    ExactCsvFlag,
    JsonFlag,
    LimitOption,
    OutputOption,
    SparkConfOption,
    SparkOption,
    TableArgument,
    TimestampOption,
    VersionOption,
    use_spark,
)
from explorer.cli.named_times import snapshot_named
from explorer.cli.output import check_agreed, emit, note, patience
from explorer.cli.row_output import (
    WrittenFile,
    check_output_options,
    list_rows,
    print_rows,
    print_stream,
    waiting,
    write_stream,
)
from explorer.cli.tables import open_named

if TYPE_CHECKING:
    from explorer.first_rows.row_page import RowPage


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
    exact_csv: ExactCsvFlag = None,
    spark: SparkOption = None,
    spark_conf: SparkConfOption = None,
    json: JsonFlag = False,
) -> None:
    """Read the rows of a version; masked rows are skipped.

    A few rows, and those of a condition that compares columns with constants, are read directly from the data files, in
    the order of the files in the log. Spark reads everything else, in no fixed order.

    Columns come in the order of the table's schema, under logical names. An output file is complete or absent. Ctrl-C
    cancels.

    JSON lines contain decimals as numbers with all digits, times as ISO 8601 strings, binary as base64 and variants as
    JSON. In Parquet, a variant is its two binaries. If the log contradicts itself, so that clients read different rows,
    an error with both counts follows the rows, and the exit code is 3.
    """
    exact = check_output_options(output, exact_csv=exact_csv)
    use_spark(spark, spark_conf)
    with patience("Reading the log"):
        opened = open_named(table)
        snapshot = snapshot_named(opened, version, timestamp)
    most = SCREEN if limit is None and output is None and not json else limit
    page = None if spark is not None else _first_rows(opened, snapshot, most, where)
    if output is not None:
        _write(opened, snapshot, where, limit, output, page=page, exact_csv=exact, as_json=json)
    elif json:
        _print_json(opened, snapshot, where, limit, page)
    elif page is not None:
        list_rows(page.table)
        note(_share(snapshot, page, where=where is not None))
    else:
        _print(opened, snapshot, where, most)
    check_agreed(snapshot)


def head(
    table: TableArgument,
    *,
    version: VersionOption = None,
    timestamp: TimestampOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Maximum number of rows.")] = 10,
    json: JsonFlag = False,
) -> None:
    """Read the first rows of a version without Spark; masked rows are skipped.

    Rows, columns and JSON lines are those of `rows`. If only Spark can read them, the error says why.
    """
    with patience("Reading the log"):
        opened = open_named(table)
        snapshot = snapshot_named(opened, version, timestamp)
    from explorer.first_rows.first_rows import head as first

    page = first(opened, snapshot, limit)
    if json:
        print_rows(page.table)
    else:
        list_rows(page.table)
        note(_share(snapshot, page))
    check_agreed(snapshot)


def _first_rows(
    table: explorer.Table, snapshot: explorer.Snapshot, limit: int | None, where: str | None
) -> RowPage | None:
    """The first rows where they are read without Spark; None where Spark must read them."""
    from explorer.first_rows.first_rows import MOST_ROWS, SparkOnly, first_rows

    if limit is None or limit > MOST_ROWS:
        return None
    page = first_rows(table, snapshot, None, limit, where=where)
    return None if isinstance(page, SparkOnly) else page


def _share(snapshot: explorer.Snapshot, page: RowPage, *, where: bool = False) -> str:
    from explorer.first_rows.row_page import share_note

    complete = page.following is None
    return share_note(snapshot, page.table.num_rows, page.files_read, complete=complete, where=where)


def _write(
    table: explorer.Table,
    snapshot: explorer.Snapshot,
    where: str | None,
    limit: int | None,
    output: Path,
    *,
    page: RowPage | None,
    exact_csv: bool,
    as_json: bool,
) -> None:
    from explorer.cli.row_files import is_read_by_people, write_rows, written_words
    from explorer.spark.rows.row_streams import version_stream

    if page is None:
        stream = version_stream(table, snapshot, where, readable=is_read_by_people(output), limit=limit)
        written = write_stream(stream, output, limit, exact_csv=exact_csv)
    else:
        written = write_rows(output, page.table.schema, iter(page.table.to_batches()), exact_csv=exact_csv)
    if as_json:
        emit(RowsFile(output=str(output), **written.facts(), table=table.location, version=snapshot.version))
    else:
        size = fmt.size(output.stat().st_size)
        what = f"{fmt.plural(written.rows, 'row')} of version {snapshot.version}"
        note(f"Wrote {what} to {output} ({size}).{written_words(written)}")


def _print_json(
    table: explorer.Table, snapshot: explorer.Snapshot, where: str | None, limit: int | None, page: RowPage | None
) -> None:
    if page is not None:
        print_rows(page.table)
        return
    from explorer.spark.rows.row_streams import version_stream

    print_stream(version_stream(table, snapshot, where, readable=True, limit=limit), limit)


def _print(table: explorer.Table, snapshot: explorer.Snapshot, where: str | None, limit: int | None) -> None:
    from explorer.spark.rows.preview import preview

    seen = waiting(preview(table, snapshot, SCREEN if limit is None else limit, where))
    list_rows(seen.table)
    note(seen.note)
