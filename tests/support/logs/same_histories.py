"""Two readings of one log: whether they say the same of every version."""

from __future__ import annotations

import numpy as np

import explorer
from explorer.core.protocol.arrow.arrays import Int32s, Int64s
from tests.support.dose import some_of

__all__ = ["same"]

INTERVALS = ("added", "removed", "previous", "removed_data_change", "deletion_times", "data_change")


def same(mine: explorer.Table, meant: explorer.Table) -> None:
    """Both say the same of every version."""
    assert mine.history().equals(meant.history())
    one, other = mine.history_record(), meant.history_record()
    assert one.commits == other.commits
    assert (one.base_domains, one.first_readable, one.latest) == (
        other.base_domains,
        other.first_readable,
        other.latest,
    )
    for name in INTERVALS:
        assert np.array_equal(getattr(one.lifetimes, name), getattr(other.lifetimes, name)), name
    assert np.array_equal(_first_places(one.lifetimes.path_ids), _first_places(other.lifetimes.path_ids))
    assert one.lifetimes.contradictions == other.lifetimes.contradictions
    versions = range(other.first_readable, other.latest + 1)
    for version in some_of(versions, 4):
        assert one.lifetimes.files_at(version).equals(other.lifetimes.files_at(version)), version
        assert one.metadata_at(version) == other.metadata_at(version)
        assert one.protocol_at(version) == other.protocol_at(version)


def _first_places(numbers: Int32s) -> Int64s:
    """For each number the first place that has it: numbers mean nothing but which are equal."""
    _, firsts, places = np.unique(numbers, return_index=True, return_inverse=True)
    found: Int64s = firsts[places]
    return found
