"""Some of the rows in which two versions differ, and how many there are, whoever read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa

from explorer.core.versions.change_feed.sources import ReadEstimate
from explorer.core.versions.column_matching import UncomparedColumn

KINDS: Final = ("update", "delete", "insert")
"""Kinds of differences, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class RowDiffCounts:
    """How many rows differ, exactly.

    Attributes:
        inserted: Rows that only the second version has; without keys, copies counted.
        deleted: Rows that only the first version has.
        updated: Rows that both have under one key, with other values.
        rows_of_repeated_keys: Rows among those inserted and deleted whose key appears more than once on one side, so
            that old and new could not be matched.
    """

    inserted: int
    deleted: int
    updated: int
    rows_of_repeated_keys: int


@dataclass(frozen=True, slots=True)
class RowDiffPreview:
    """Some rows in which two versions differ, and how many there are.

    Attributes:
        table: Up to the limit of each kind, updates first: change (``update``, ``delete``, ``insert``), count,
            repeated_key, changed_columns, before, after, as in `explorer.spark.changes.row_diff.RowDiff.frame`;
            variants as JSON text.
        counts: All of them, exactly.
        note: The share of the differences that ``table`` has, in words.
        complete: True if ``table`` holds every row that differs.
        from_version, to_version: The versions.
        keys: The key columns; empty if entire rows were compared.
        left_out: Columns that could not be compared, and why.
        estimate: Files and bytes that were read.
        by_spark: Spark read them; otherwise this process did.
        reason: Why they were left to Spark; empty where nothing else was tried.
    """

    table: pa.Table
    counts: RowDiffCounts
    note: str
    complete: bool
    from_version: int
    to_version: int
    keys: tuple[str, ...]
    left_out: tuple[UncomparedColumn, ...]
    estimate: ReadEstimate
    by_spark: bool
    reason: str = ""


class ComparedVersions(Protocol):
    """What was compared: versions, keys, and columns as in `RowDiffPreview`."""

    @property
    def from_version(self) -> int:
        """The first version."""

    @property
    def to_version(self) -> int:
        """The second."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""

    @property
    def left_out(self) -> tuple[UncomparedColumn, ...]:
        """Columns that could not be compared."""

    @property
    def estimate(self) -> ReadEstimate:
        """Files and bytes to be read."""


def difference_preview(
    rows: pa.Table, counts: RowDiffCounts, compared: ComparedVersions, *, by_spark: bool, reason: str = ""
) -> RowDiffPreview:
    """Return the preview of a comparison.

    Args:
        rows: Some rows of each kind.
        counts: How many there are.
        compared: What was compared.
        by_spark, reason: As in `RowDiffPreview`.
    """
    total = counts.inserted + counts.deleted + counts.updated
    shown = sum(rows.column("count").to_pylist())
    ends = compared.from_version, compared.to_version
    return RowDiffPreview(
        rows,
        counts,
        _diff_note(ends, shown, total),
        shown == total,
        *ends,
        compared.keys,
        compared.left_out,
        compared.estimate,
        by_spark,
        reason,
    )


def _diff_note(versions: tuple[int, int], shown: int, total: int) -> str:
    where = f"between version {versions[0]} and version {versions[1]}"
    if total == 0:
        return f"No row differs {where}."
    if shown == total:
        return f"All {total:,} rows that differ {where}."
    return f"{shown:,} of {total:,} rows that differ {where}."
