"""The values that a commit gives to an identity column.

Protocol section: Identity Columns. Invariants: values lie a whole number of steps from the first one, on its side of
it; none is given twice (IDENT-002).
"""

from __future__ import annotations

import msgspec

__all__ = ["Numbering"]


class Numbering(msgspec.Struct, frozen=True):
    """How the rows of one commit are numbered.

    Attributes:
        column: The identity column's logical name.
        first: The value of the first row.
        step: What is added from row to row; never 0.
    """

    column: str
    first: int
    step: int

    def last(self, rows: int) -> int:
        """The value of the last of so many rows."""
        return self.first + self.step * (rows - 1)
