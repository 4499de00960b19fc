"""Rows on the screen: Arrow batches as JSON lines, a few rows as a table."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from explorer import formatting as fmt
from explorer.cli.output import listing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["limited", "list_rows", "print_rows"]

_WIDEST = 60


def limited(batches: Iterator[pa.RecordBatch], limit: int | None) -> Iterator[pa.RecordBatch]:
    """The first rows, and no batch more than it takes; None is no limit."""
    left = limit
    while left is None or left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        yield batch if left is None else batch.slice(0, left)
        left = None if left is None else left - batch.num_rows


def print_rows(batches: Iterable[pa.RecordBatch]) -> None:
    """Write each row as a JSON line."""
    from explorer.cli.row_files import json_rows

    for batch in batches:
        sys.stdout.buffer.writelines(line + b"\n" for line in json_rows(batch))


def list_rows(rows: pa.Table) -> None:
    """Print rows as a table for people."""
    names = rows.column_names
    lines = (
        tuple(fmt.value_text(value, _WIDEST) for value in row) for row in zip(*rows.to_pydict().values(), strict=True)
    )
    listing(names, lines, f"No rows. Columns: {', '.join(names)}")
