"""Rows in which two versions differ, as a person reads them: inserted, deleted or updated, old and new side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from explorer import formatting as fmt

if TYPE_CHECKING:
    from explorer.changed_rows.difference_preview import RowDiffPreview

_SIGNS = {"insert": ("+", "added"), "delete": ("\u2212", "removed"), "update": ("\u0394", "changed")}
_COLUMNS = 60
_WIDTH = 120


@dataclass(frozen=True, slots=True)
class DifferenceCell:
    """A value; ``before`` is the old one where it changed, else None."""

    text: str
    before: str | None = None
    is_null: bool = False


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A row that differs: its sign and number of copies; ``repeated`` if several rows share its key."""

    sign: str
    tone: str
    count: int
    repeated: bool
    cells: tuple[DifferenceCell, ...]


@dataclass(frozen=True, slots=True)
class RowDifferences:
    """What a comparison of rows shows.

    Attributes:
        columns: Names of the columns shown: keys first, then those that changed, then the others.
        numeric: For each of them, whether its values are numbers.
        changed: How many of them changed in some row that is shown.
        more_columns: Columns that are not shown.
        rows: The rows.
        inserted, deleted, updated, repeated: How many there are in all.
        note: What the rows are of the whole.
        left_out: Columns that could not be compared, and why.
        by_spark, reason: As in `explorer.changed_rows.difference_preview.RowDiffPreview`.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    changed: int
    more_columns: int
    rows: tuple[DifferenceRow, ...]
    inserted: int
    deleted: int
    updated: int
    repeated: int
    note: str
    left_out: tuple[tuple[str, str], ...]
    by_spark: bool
    reason: str


def row_differences(preview: RowDiffPreview) -> RowDifferences:
    """Describe the rows that were fetched.

    Args:
        preview: The rows, and how many there are.
    """
    kind = preview.table.schema.field("before").type
    names = [kind.field(index).name for index in range(kind.num_fields)]
    records = preview.table.to_pylist()
    changed = {name for record in records for name in record["changed_columns"] or ()}
    keys = [name for name in names if name in preview.keys]
    ordered = [*keys, *(name for name in names if name in changed)]
    ordered += [name for name in names if name not in ordered]
    shown = ordered[:_COLUMNS]
    counts = preview.counts
    return RowDifferences(
        columns=tuple(shown),
        numeric=tuple(_is_number(kind.field(name).type) for name in shown),
        changed=len(changed),
        more_columns=len(ordered) - len(shown),
        rows=tuple(_row(record, shown) for record in records),
        inserted=counts.inserted,
        deleted=counts.deleted,
        updated=counts.updated,
        repeated=counts.rows_of_repeated_keys,
        note=preview.note,
        left_out=tuple((column.column, column.reason) for column in preview.left_out),
        by_spark=preview.by_spark,
        reason=preview.reason,
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _row(record: Mapping[str, Any], columns: Sequence[str]) -> DifferenceRow:
    sign, tone = _SIGNS[record["change"]]
    before, after = record["before"], record["after"]
    current = after if after is not None else before
    changed = set(record["changed_columns"] or ())
    cells = tuple(
        DifferenceCell(
            fmt.value_text(current[name], _WIDTH),
            fmt.value_text(before[name], _WIDTH) if name in changed else None,
            current[name] is None,
        )
        for name in columns
    )
    return DifferenceRow(sign, tone, record["count"], bool(record["repeated_key"]), cells)
