"""How files are made of the rows of other files."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["Arrangement"]


class Arrangement(msgspec.Struct, frozen=True):
    """Which rows go together, and in which order.

    Attributes:
        groups: The group of each file, by its path in the log; without an order a group becomes one file.
        order: Dotted names of the columns to order the rows of a group by; empty keeps them as they come.
        curve: Order them along a Z-order curve, which treats all columns alike; else by one column after the other.
        files: How many files are to be made.
    """

    groups: Mapping[str, int]
    order: tuple[str, ...] = ()
    curve: bool = False
    files: int = 1

    @property
    def is_exact(self) -> bool:
        """Whether each group becomes one file; the rows of larger ones are cut into ranges by a sample."""
        return self.files == len(set(self.groups.values()))
