"""The story of a row: its values at every version of a range, and what each commit did to it.

Invariants: a row is visible from the version that added its file to the one before its file was removed or masked it;
a key that several rows of a version have is named with that version and their files, and each of these rows is given.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa

from explorer.changed_rows.comparable import comparable_rows
from explorer.changed_rows.followed_range import FollowedRange
from explorer.changed_rows.version_spans import instances_of
from explorer.core.errors import RequestError
from explorer.core.versions.column_matching import UncomparedColumn

if TYPE_CHECKING:
    from explorer.core.protocol.log_store import LogStore

MOST_STORED: Final = 1_000
"""Rows of all files together that a key may have."""
StepKind = Literal["present", "insert", "update", "delete", "move", "several"]


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row in a file.

    Attributes:
        number: Its place in `RowStory.rows`.
        path: The decoded path of the file.
        row: Its place in the file, from 0.
    """

    number: int
    path: str
    row: int


@dataclass(frozen=True, slots=True)
class RowStep:
    """What a version did to the row.

    Attributes:
        version: The version.
        kind: ``present`` (it was there when the range began), ``insert``, ``update``, ``delete``, ``move`` (the same
            values in another place), ``several`` (the key is not unique: more than one row has it, or had).
        rows: The rows after the version.
        before: The rows before it.
        changed: Names of the columns with other values, of an update.
    """

    version: int
    kind: StepKind
    rows: tuple[StoredRow, ...]
    before: tuple[StoredRow, ...]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowStory:
    """A row over a range of versions.

    Attributes:
        followed: The range, and by what the row is followed.
        rows: The stored rows: the columns of the last version.
        steps: What happened to it, ascending.
        left_out: Columns that cannot be shown over the whole range, and why.
        files_read, files_total: Files that were read, and that were live at a version of the range.
        by_spark: Spark read them; otherwise this process did.
        reason: Why they were left to Spark; empty where nothing else was tried.
    """

    followed: FollowedRange
    rows: pa.Table
    steps: tuple[RowStep, ...]
    left_out: tuple[UncomparedColumn, ...]
    files_read: int
    files_total: int
    by_spark: bool
    reason: str = ""

    @property
    def latest(self) -> tuple[StoredRow, ...]:
        """The rows at the end of the range."""
        return self.steps[-1].rows if self.steps else ()


def row_story(
    store: LogStore, followed: FollowedRange, rows: pa.Table, *, files_read: int, by_spark: bool, reason: str = ""
) -> RowStory:
    """Return the story of the rows that were read.

    Args:
        store: The table's store; deletion vectors are read from it.
        followed: The range.
        rows: The rows that have the key in any file: the columns, then the file's decoded path and the row's place.
        files_read, by_spark, reason: As in `RowStory`.

    Raises:
        RequestError: There are more than `MOST_STORED`.
        CorruptDeletionVector: A vector does not match its descriptor.
    """
    if rows.num_rows > MOST_STORED:
        raise RequestError(
            f"More than {MOST_STORED:,} rows of the files of versions {followed.first} to {followed.last} have these "
            "values: they are not a key. Add columns to the key.",
            columns=list(followed.key),
            field="rk",
        )
    values = rows.select(range(rows.num_columns - 2))
    places = zip(*(rows.column(-2 + each).to_pylist() for each in range(2)), strict=True)
    stored = [StoredRow(number, path, row) for number, (path, row) in enumerate(places)]
    same = comparable_rows([column.combine_chunks() for column in values.columns], values.num_rows)
    steps = _steps(_visible(store, followed.may_hold, stored, followed.last), same, values.column_names, followed.first)
    return RowStory(
        followed, values, tuple(steps), followed.left_out, files_read, followed.files_total, by_spark, reason
    )


def _visible(
    store: LogStore, files: pa.Table, stored: Sequence[StoredRow], last: int
) -> list[tuple[int, tuple[StoredRow, ...]]]:
    """The versions at which the visible rows change, ascending, and the rows from then on."""
    by_path: dict[str, list[tuple[StoredRow, int]]] = defaultdict(list)
    for row in stored:
        by_path[row.path].append((row, row.row))
    begins: dict[int, set[StoredRow]] = defaultdict(set)
    ends: dict[int, set[StoredRow]] = defaultdict(set)
    for path, first, end, masked in instances_of(store, files, by_path):
        for row, place in by_path[path]:
            if place not in masked:
                begins[first].add(row)
                ends[end + 1].add(row)
    visible: set[StoredRow] = set()
    states = []
    for version in sorted({*begins, *(each for each in ends if each <= last)}):
        now = (visible - ends[version]) | begins[version]
        if now != visible:
            states.append((version, tuple(sorted(now, key=lambda row: row.number))))
        visible = now
    return states


def _steps(
    visible: Sequence[tuple[int, tuple[StoredRow, ...]]],
    same: Sequence[tuple[Hashable, ...]],
    names: Sequence[str],
    first: int,
) -> list[RowStep]:
    steps = []
    for (_, before), (version, after) in pairwise([(first, ()), *visible]):
        if len(before) > 1 or len(after) > 1:
            steps.append(RowStep(version, "several", after, before))
        elif before and after:
            pairs = zip(names, same[before[0].number], same[after[0].number], strict=True)
            changed = tuple(name for name, old, new in pairs if old != new)
            steps.append(RowStep(version, "update" if changed else "move", after, before, changed))
        elif after:
            # At version 0 nothing was there before.
            steps.append(RowStep(version, "present" if version == first and first else "insert", after, before))
        else:
            steps.append(RowStep(version, "delete", after, before))
    return steps
