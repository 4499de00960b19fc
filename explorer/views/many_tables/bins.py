"""Ranges of amounts as values of facets: how long a table is silent, how large it is, how many files it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from explorer.core.protocol.arrow.arrays import Float64s, Int64s

DAY: Final = 86_400_000
_MB: Final = 10**6


@dataclass(frozen=True, slots=True)
class Bins:
    """Ranges, ascending.

    Attributes:
        edges: Where each begins, the first at 0.
        keys: Their values in addresses.
        labels: Their names for people.
    """

    edges: tuple[float, ...]
    keys: tuple[str, ...]
    labels: tuple[str, ...]

    def places(self, amounts: Float64s) -> Int64s:
        """Return for each amount the range that it is in; -1 for NaN."""
        known = np.nan_to_num(amounts, nan=0.0)
        places = np.clip(np.searchsorted(self.edges, known, side="right") - 1, 0, None)
        return np.where(np.isnan(amounts), -1, places).astype(np.int64)


BINS: Final[Mapping[str, Bins]] = {
    "silent": Bins(
        (0, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 90 * DAY),
        ("0d", "1d", "2d", "7d", "30d", "90d"),
        (
            "in the last 24 h",
            "1 to 2 days ago",
            "2 to 7 days ago",
            "7 to 30 days ago",
            "30 to 90 days ago",
            "90+ days ago",
        ),
    ),
    "size": Bins(
        (0, _MB, 100 * _MB, 1_000 * _MB, 10_000 * _MB, 100_000 * _MB, 1_000_000 * _MB),
        ("0", "1M", "100M", "1G", "10G", "100G", "1T"),
        (
            "under 1 MB",
            "1 to 100 MB",
            "100 MB to 1 GB",
            "1 to 10 GB",
            "10 to 100 GB",
            "100 GB to 1 TB",
            "1 TB and more",
        ),
    ),
    "files": Bins(
        (0, 1, 10, 100, 1_000, 10_000, 100_000),
        ("0", "1", "10", "100", "1k", "10k", "100k"),
        ("none", "1 to 9", "10 to 99", "100 to 999", "1,000 to 9,999", "10,000 to 99,999", "over 100,000"),
    ),
}
"""The facets that are ranges."""
