"""What each commit did to the rows that a reader sees, for the timeline, lists, cards and reports.

Protocol sections: Commit Provenance Information, Deletion Vectors. Invariants: rows that a commit only rewrote
(compaction, copy-on-write) and those that it updated count as neither added nor removed; a deletion vector over the old
values of updated rows masks nothing; masked rows are negative where a commit restores rows; a number that the log lacks
is unknown, never 0, and so are removed rows of which an unknown number was only rewritten; numbers are exact. Updated
rows are those of the operation's metrics, which readers may show but need not trust.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, floats, joined, numbers, only_array, strings

_UPDATES: Final = ("numUpdatedRows", "numTargetRowsUpdated")
"""Metrics of updated rows, of UPDATE and of MERGE."""


@dataclass(frozen=True, slots=True, eq=False)
class RowAmounts:
    """Rows by commit, in the order of their history; None where the log does not count them.

    Attributes:
        added, removed: Rows that a reader sees added and removed.
        masked: Rows newly hidden by a deletion vector; negative for restored rows.
        rewritten: Rows that were only rewritten.
        updated: Rows that got other values.
        updated_masked: Those of the updated rows whose earlier values a deletion vector hides.
    """

    added: list[int | None]
    removed: list[int | None]
    masked: list[int | None]
    rewritten: list[int | None]
    updated: list[int]
    updated_masked: list[int]


def row_amounts(history: pa.Table) -> RowAmounts:
    """Return the rows of each commit.

    Args:
        history: As `DeltaLog.history` returns it, or a part of it.
    """
    updated = updated_rows(history)
    (added, added_known), (removed, removed_known), (masked, masked_known), (copied, copied_known) = (
        _numbers_of(history, f"rows_{what}") for what in ("added", "removed", "masked", "rewritten")
    )
    # Some writers count as copied also the rows that they updated, or those of a file that stays with a deletion
    # vector: a rewritten row is in one added and one removed file.
    rewritten = np.where(added_known, np.minimum(copied, added - updated), copied)
    rewritten = np.where(removed_known, np.minimum(rewritten, removed), rewritten)
    net = np.maximum(removed - rewritten, 0)
    remasked = np.maximum(updated - net, 0)  # the earlier values of these are masked, those of the others removed
    return RowAmounts(
        added=_with_unknown(np.maximum(added - rewritten - updated, 0), added_known),
        removed=_with_unknown(np.maximum(net - updated, 0), removed_known & (copied_known | (removed == 0))),
        masked=_with_unknown(masked - remasked, masked_known),
        rewritten=_with_unknown(rewritten, copied_known),
        updated=updated.tolist(),
        updated_masked=remasked.tolist(),
    )


@dataclass(frozen=True)
class CommitAmounts:
    """The amounts of each commit to draw or compare: rows, or files where no commit counts its rows.

    Attributes:
        unit: ``rows`` or ``files``.
        added, removed, masked, updated: As in `RowAmounts`, NaN where unknown.
    """

    unit: Literal["rows", "files"]
    added: Float64s
    removed: Float64s
    masked: Float64s
    updated: Float64s

    @classmethod
    def of(cls, history: pa.Table) -> CommitAmounts:
        """Return the amounts of commits, in the order of their history."""
        rows = row_amounts(history)
        added, removed = _floats(rows.added), _floats(rows.removed)
        if np.isfinite(added).any() or np.isfinite(removed).any():
            return cls("rows", added, removed, _floats(rows.masked), np.array(rows.updated, np.float64))
        files = [floats(history.column(f"num_files_{what}")) for what in ("added", "removed", "remasked")]
        return cls("files", files[0], files[1], files[2], np.zeros(history.num_rows))

    @cached_property
    def up(self) -> Float64s:
        """Rows or files that a reader sees added, or restored; 0 where unknown."""
        return np.nan_to_num(self.added) + self.unmasked

    @cached_property
    def down(self) -> Float64s:
        """Rows or files that a reader sees removed, or masked; 0 where unknown."""
        return np.nan_to_num(self.removed) + np.maximum(np.nan_to_num(self.masked), 0)

    @property
    def unmasked(self) -> Float64s:
        """Restored rows; 0 where unknown."""
        return np.maximum(-np.nan_to_num(self.masked), 0)

    @property
    def unknown(self) -> Mask:
        """The commits whose added or removed rows are unknown."""
        return np.isnan(self.added) | np.isnan(self.removed)


def updated_rows(history: pa.Table) -> Int64s:
    """Return the rows that each commit updated; 0 where its metrics have no count, or more than its files can contain.

    Args:
        history: As `DeltaLog.history` returns it: ``metrics``, ``rows_added``, ``rows_removed``, ``rows_masked``.
    """
    if not history.num_rows:
        return np.zeros(0, np.int64)
    stated = np.sum([_metric(history.column("metrics"), name) for name in _UPDATES], axis=0)
    added, removed, masked = (_known_or_zero(history, f"rows_{what}") for what in ("added", "removed", "masked"))
    return np.where(stated <= np.minimum(added, removed + np.maximum(masked, 0)), stated, 0).astype(np.int64)


def _numbers_of(history: pa.Table, name: str) -> tuple[Int64s, Mask]:
    """Return a column of numbers, 0 where the log records none, and a mask of the recorded ones."""
    values, known = numbers(only_array(history, name))
    return values.astype(np.int64, copy=False), known


def _with_unknown(values: Int64s, known: Mask) -> list[int | None]:
    return [value if is_known else None for value, is_known in zip(values.tolist(), known.tolist(), strict=True)]


def _floats(values: list[int | None]) -> Float64s:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _known_or_zero(history: pa.Table, name: str) -> Float64s:
    """Return a column of numbers, with 0 where the log has none."""
    return np.nan_to_num(floats(history.column(name)))


def _metric(maps: pa.ChunkedArray, name: str) -> Int64s:
    """Return a number of each map of texts; 0 where there is none that can be read."""
    # Arrow makes a scalar of a value of Python with pandas, which takes longer to load than all else here.
    key, nothing = strings([name, None])
    texts = pc.map_lookup(joined(maps), key, "first")
    counts = pc.if_else(pc.match_substring_regex(texts, r"^[0-9]{1,18}$"), texts, nothing).cast(pa.int64())
    return numbers(counts)[0].astype(np.int64, copy=False)
