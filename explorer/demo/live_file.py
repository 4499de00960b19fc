"""A live file of a demo table with its rows, and which of them are hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.actions import Add

__all__ = ["LiveFile", "Mask"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file of the newest version.

    Attributes:
        path: Its decoded path.
        add: Its action.
        rows: Its rows in file order, logical names, partition columns included.
        masked: True for a row that its deletion vector hides.
    """

    path: str
    add: Add
    rows: pa.Table
    masked: Mask

    def kept(self, gone: Mask | None = None) -> pa.Table:
        """The rows that are not hidden, and not ``gone``."""
        return self.rows.filter(pa.array(~(self.masked if gone is None else self.masked | gone)))
