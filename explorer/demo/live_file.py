"""A logical file as the writer of the demo keeps it: its action, its rows, and which of them are hidden."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.actions import Add, Remove

__all__ = ["LiveFile", "Mask"]

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A logical file as the writer keeps it.

    Attributes:
        add: Its action.
        rows: Its rows in file order, physical names, partition columns included.
        masked: True for a row that its deletion vector hides.
    """

    add: Add
    rows: pa.Table
    masked: Mask

    def remove(self, time: int, *, data_change: bool = True) -> Remove:
        """The tombstone of this logical file."""
        return Remove(
            path=self.add.path,
            deletion_timestamp=time,
            data_change=data_change,
            extended_file_metadata=True,
            partition_values=self.add.partition_values,
            size=self.add.size,
            deletion_vector=self.add.deletion_vector,
        )
