"""Rows of a stream on the screen or in a file, for `rows` and `changes`; and jobs with a progress bar and Ctrl-C."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from explorer import formatting as fmt
from explorer.cli.in_force import in_force
from explorer.cli.output import later, listing
from explorer.core.protocol.arrow.python_dates import with_python_dates
from explorer.core.protocol.json_values import JsonRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from explorer.cli.row_files import WrittenRows
    from explorer.job import Job
    from explorer.spark.rows.row_streams import RowStream

_POLL_SECONDS: Final = 0.1


def waiting(job: Job[Any]) -> Any:
    """Wait for a job's result, with progress; Ctrl-C cancels it."""
    try:
        with followed(job):
            while job.state == "running":
                with contextlib.suppress(TimeoutError):
                    job.result(_POLL_SECONDS)
        return job.result()
    finally:
        job.cancel()


@contextlib.contextmanager
def followed(job: Job[Any]) -> Iterator[None]:
    """Show a progress bar on a terminal's stderr for work of more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    parts = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    progress = Progress(*parts, console=Console(stderr=True, markup=False, emoji=False), transient=True)
    task = progress.add_task(fmt.plain(job.phase), total=None)

    def update(changed: Job[Any]) -> None:
        progress.update(task, description=fmt.plain(changed.phase), completed=changed.done, total=changed.total or None)

    unsubscribe = job.subscribe(update)
    try:
        with later(progress):
            yield
    finally:
        unsubscribe()


_WIDEST = 60


class WrittenFile(JsonRecord, frozen=True, kw_only=True):
    """The file of --output.

    Attributes:
        rows: How many were written.
        escaped_cells: Cells of CSV that were marked as text; left out for other formats.
    """

    output: str
    rows: int
    escaped_cells: int | msgspec.UnsetType = msgspec.UNSET
    table: str


def check_output_options(output: Path | None, *, exact_csv: bool | None) -> bool:
    """Refuse a file that cannot be written, before anything is read; return whether cells of CSV are exact.

    Args:
        output: The file; None for the screen.
        exact_csv: As the command line says; None for what the configuration says.

    Raises:
        RequestError: Its ending is not one of ours, it cannot be there, or it is not CSV and exact cells are wanted.
    """
    from explorer.cli.row_files import check_exact_csv, check_output

    if output is not None:
        check_output(output)
    if exact_csv:
        check_exact_csv(output)
    return in_force().values.exact_csv if exact_csv is None else exact_csv


def write_stream(stream: RowStream, output: Path, limit: int | None, *, exact_csv: bool) -> WrittenRows:
    """Write the rows to a file."""
    from explorer.cli.row_files import write_rows
    from explorer.cli.row_output import followed
    from explorer.spark.rows.batches import row_batches

    with closing(row_batches(stream, followed)) as batches:
        return write_rows(output, stream.schema, limited(batches, limit), exact_csv=exact_csv)


def print_stream(stream: RowStream, limit: int | None) -> None:
    """Write each row as a JSON line."""
    from explorer.cli.row_output import followed
    from explorer.spark.rows.batches import row_batches

    with closing(row_batches(stream, followed)) as batches:
        for batch in limited(batches, limit):
            _print_batch(batch)


def print_rows(rows: pa.Table) -> None:
    """Write each row of a table as a JSON line."""
    for batch in rows.to_batches():
        _print_batch(batch)


def _print_batch(batch: pa.RecordBatch) -> None:
    from explorer.cli.row_files import json_rows

    sys.stdout.buffer.writelines(line + b"\n" for line in json_rows(batch))


def limited(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the first rows, and no batch more than they need; None does not limit them."""
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        yield batch if left is None else batch.slice(0, left)
        left = None if left is None else left - batch.num_rows


def list_rows(rows: pa.Table) -> None:
    """Print rows as a table for people."""
    names = rows.column_names
    lines = (
        tuple(fmt.value_text(value, _WIDEST) for value in row)
        for row in zip(*(with_python_dates(column).to_pylist() for column in rows.columns), strict=True)
    )
    listing(names, lines, f"No rows. Columns: {', '.join(names)}")
