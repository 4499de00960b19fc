"""Rows that a commit updated: neither added nor removed, though the files with them were.

Source: the operation's metrics in commitInfo, which readers may show but need not trust (protocol, Commit Provenance
Information).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.protocol.arrow.arrays import Float64s, Int64s, floats, numbers

__all__ = ["updated_rows"]

_METRICS: Final = ("numUpdatedRows", "numTargetRowsUpdated")
"""Of UPDATE and of MERGE."""


def updated_rows(history: pa.Table) -> Int64s:
    """Return the rows that each commit updated; 0 where its metrics have no count, or more than its files can contain.

    Args:
        history: As `DeltaLog.history` returns it: ``metrics``, ``rows_added``, ``rows_removed``, ``rows_masked``.
    """
    if not history.num_rows:
        return np.zeros(0, np.int64)
    stated = np.sum([_numbers(history.column("metrics"), name) for name in _METRICS], axis=0)
    added, removed, masked = (_known(history, f"rows_{what}") for what in ("added", "removed", "masked"))
    return np.where(stated <= np.minimum(added, removed + np.maximum(masked, 0)), stated, 0).astype(np.int64)


def _known(history: pa.Table, name: str) -> Float64s:
    """Return a column of numbers, with 0 where the log has none."""
    return np.nan_to_num(floats(history.column(name)))


def _numbers(maps: pa.ChunkedArray, name: str) -> Int64s:
    """Return a number of each map of texts; 0 where there is none that can be read."""
    texts = pc.map_lookup(maps.combine_chunks(), name, "first")
    counts = pc.if_else(pc.match_substring_regex(texts, r"^[0-9]{1,18}$"), texts, None).cast(pa.int64())
    return numbers(counts)[0].astype(np.int64, copy=False)
