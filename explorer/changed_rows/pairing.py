"""Rows of two sides: copies cancel out, and those that are left pair before and after by a key or a row ID.

Protocol section: Row Tracking. The rules are those of `explorer.spark.changes.pairing`: equal rows cancel out one
against one; a key or an ID that a side has more than once pairs nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Rows = Sequence[Hashable]


@dataclass(frozen=True, slots=True)
class Surplus:
    """The rows that one side has more often.

    Attributes:
        rows: One row of each kind of equal rows, and how much more often its side has it: above zero for the new side.
        cancelled: How many rows of a side have an equal row on the other.
    """

    rows: tuple[tuple[int, int], ...]
    cancelled: int


@dataclass(frozen=True, slots=True)
class Matched:
    """Rows matched by key.

    Attributes:
        pairs: The old and the new row under one key.
        others: Rows of one side as in `Surplus`, and whether their key is on a side more than once.
    """

    pairs: tuple[tuple[int, int], ...]
    others: tuple[tuple[int, int, bool], ...]


def surplus(rows: Rows, is_new: Sequence[bool], among: Sequence[int]) -> Surplus:
    """Cancel out equal rows.

    Args:
        rows: A value for each row, as of `explorer.changed_rows.comparable.comparable_rows`.
        is_new: Which side each is on.
        among: The numbers of the rows to look at.
    """
    sides: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in among:
        sides[rows[row]][is_new[row]].append(row)
    left, cancelled = [], 0
    for old, new in sides.values():
        cancelled += min(len(old), len(new))
        if len(old) != len(new):
            left.append(((new if len(new) > len(old) else old)[-1], len(new) - len(old)))
    return Surplus(tuple(left), cancelled)


def matched_by_key(left: Surplus, keys: Rows) -> Matched:
    """Match the rows that are left by their keys, where null is the same as null."""
    groups: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for row, count in left.rows:
        groups[keys[row]].append((row, count))
    pairs, others = [], []
    for group in groups.values():
        old, new = (sum(max(sign * count, 0) for _, count in group) for sign in (-1, 1))
        if old == new == 1:
            (one, count), (other, _) = group
            pairs.append((one, other) if count < 0 else (other, one))
        else:
            others += [(row, count, max(old, new) > 1) for row, count in group]
    return Matched(tuple(pairs), tuple(others))


def pairs_by_id(rows: Rows, is_new: Sequence[bool], ids: Sequence[int | None], among: Sequence[int]) -> Matched:
    """Return the rows that a commit updated, by their IDs; rows with the same values are not among them."""
    sides: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row in among:
        if (id_ := ids[row]) is not None:
            sides[id_][is_new[row]].append(row)
    single = [(old[0], new[0]) for old, new in sides.values() if len(old) == len(new) == 1]
    return Matched(tuple(pair for pair in single if rows[pair[0]] != rows[pair[1]]), ())
