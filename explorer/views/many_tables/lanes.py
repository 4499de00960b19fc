"""The commits of many tables on one axis of time: a lane a table, in marks as close as a screen can show.

Invariants: no commit in the range is left out, as those too close to tell apart are one mark; heights are one
logarithmic scale for all lanes; what a log does not count is drawn as a commit without rows; a silence is one against
the table's own rhythm, as the audit judges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.auditing.rhythm import Rhythm, rhythm_of, silences
from explorer.core.protocol.arrow.arrays import Float64s, Int64s, Mask, flags, joined, strings
from explorer.core.versions.commits.commits import Commits
from explorer.views.many_tables.time_range import DAY, TimeRange

PLACES: Final = 320
"""Places on the axis: commits in one of them are one mark."""
HEIGHT: Final = 100
"""The height of the largest amount on show."""
FORM, OPTIMIZE, VACUUM = 1, 2, 4
"""Bits of a mark: a change of schema, properties or protocol; a compaction; a vacuum."""
_OPTIMIZE: Final = ("OPTIMIZE", "REORG", "CLUSTER BY")
_VACUUM: Final = ("VACUUM START", "VACUUM END")


@dataclass(frozen=True, slots=True, eq=False)
class LaneCommits:
    """The commits of a table, oldest first, as columns of one length.

    Attributes:
        versions, times: The versions, and when, ms since the epoch.
        added, removed, masked, updated: Rows, or files where no commit counts its rows; 0 where unknown.
        kinds: What else each is, as bits.
        unit: ``rows`` or ``files``.
        rhythm: That of the commits that changed rows; None if they have none.
        changing: Which commits changed rows.
    """

    versions: Int64s
    times: Int64s
    added: Float64s
    removed: Float64s
    masked: Float64s
    updated: Float64s
    kinds: Int64s
    unit: str
    rhythm: Rhythm | None
    changing: Mask

    @classmethod
    def of(cls, commits: Commits) -> LaneCommits:
        """Return the lane of a table's commits."""
        amounts = commits.amounts
        masked = np.maximum(np.nan_to_num(amounts.masked), 0)
        kinds = commits.form * FORM + _are(commits, _OPTIMIZE) * OPTIMIZE + _are(commits, _VACUUM) * VACUUM
        changing: Mask = (amounts.up + amounts.down + amounts.updated) > 0
        rhythm = rhythm_of(commits.times[changing])
        return cls(
            commits.versions, commits.times, amounts.up, np.nan_to_num(amounts.removed), masked, amounts.updated,
            kinds.astype(np.int64), amounts.unit, rhythm, changing,
        )  # fmt: skip

    def within(self, start: int, end: int) -> slice:
        """Return which commits came in a range of time."""
        first, last = np.searchsorted(self.times, (start, end), side="left")
        return slice(int(first), int(last))


def _are(commits: Commits, operations: Sequence[str]) -> Mask:
    if not len(commits):
        return np.zeros(0, bool)
    column: pa.Array = joined(commits.history.column("operation"))
    return flags(pc.is_in(column, value_set=strings(operations)))


@dataclass(frozen=True, slots=True)
class Lane:
    """The lane of a table in a range of time.

    Attributes:
        marks: Each a place and what is there, numbers with commas between: the place, the heights of rows added,
            removed, masked and updated, the bits, the first and the last version, and how many commits.
        commits, added, removed: How many commits, and the rows that they added and removed or masked.
        unit: What these are of: ``rows`` or ``files``.
        kinds: Bits of all its commits.
        silences: Where it was silent against its own rhythm, as two shares of the axis each.
        silent: How long it is silent now, ms; None if it is not.
        usual: Its usual gap, ms; None if it has no rhythm.
        expected: Where the next commit is expected, as a share of the axis; None if that is not on it.
        last: When its last commit came, ms since the epoch; None if it has none.
    """

    marks: tuple[str, ...]
    commits: int
    added: int
    removed: int
    unit: str
    kinds: int
    silences: tuple[tuple[float, float], ...]
    silent: int | None
    usual: int | None
    expected: float | None
    last: int | None

    @property
    def drawn(self) -> str:
        """The marks as one text."""
        return " ".join(self.marks)


def lanes(tables: Sequence[LaneCommits], shown: TimeRange) -> list[Lane]:
    """Return the lanes of tables, all drawn to one scale.

    Args:
        tables: The commits of each.
        shown: The range of time.
    """
    binned = [_Binned.of(table, shown) for table in tables]
    most = max((each.most for each in binned), default=0.0)
    return [each.lane(table, shown, most) for each, table in zip(binned, tables, strict=True)]


@dataclass(frozen=True, slots=True)
class _Binned:
    """The commits of one table in a range: sums by place, for the places that have one."""

    inside: slice
    places: Int64s
    sums: Float64s
    firsts: Int64s
    lasts: Int64s
    bits: Int64s
    most: float

    @classmethod
    def of(cls, table: LaneCommits, shown: TimeRange) -> _Binned:
        inside = table.within(shown.start, shown.end + 1)
        times = table.times[inside]
        at = (times - shown.start) * PLACES // max(shown.until - shown.start, 1)
        begins = np.flatnonzero(np.append(True, at[1:] != at[:-1])) if len(at) else np.zeros(0, np.int64)
        amounts = [column[inside] for column in (table.added, table.removed, table.masked, table.updated)]
        sums = np.array([np.add.reduceat(column, begins) if len(at) else column for column in amounts])
        bits = np.bitwise_or.reduceat(table.kinds[inside], begins) if len(at) else table.kinds[inside]
        ends = np.append(begins[1:], len(at)) - 1 if len(at) else begins
        return cls(inside, at[begins], sums, begins, ends, bits, float(sums.max(initial=0.0)))

    def lane(self, table: LaneCommits, shown: TimeRange, most: float) -> Lane:
        versions = table.versions[self.inside]
        heights = np.ceil(HEIGHT * np.log1p(self.sums) / max(np.log1p(most), 1e-9)).astype(np.int64)
        firsts, lasts = versions[self.firsts], versions[self.lasts]
        counts = self.lasts - self.firsts + 1
        numbers = np.vstack([self.places, heights, self.bits, firsts, lasts, counts]).T.tolist()
        spans = silences(table.times[table.changing], table.rhythm, shown.now) if table.rhythm is not None else []
        on_axis = [(start, end) for start, end in spans if end > shown.start and start < shown.end]
        coming = table.rhythm.next_after(shown.now) if table.rhythm is not None else None
        added, removed, masked, _ = self.sums.sum(axis=1).tolist() if len(self.places) else (0.0, 0.0, 0.0, 0.0)
        return Lane(
            marks=tuple(",".join(map(str, each)) for each in numbers),
            commits=len(versions),
            added=int(added),
            removed=int(removed + masked),
            unit=table.unit,
            kinds=int(np.bitwise_or.reduce(self.bits)) if len(self.bits) else 0,
            silences=tuple((max(shown.share(start), 0.0), min(shown.share(end), 1.0)) for start, end in on_axis),
            silent=table.rhythm.silent_for(shown.now) if table.rhythm is not None else None,
            usual=table.rhythm.usual if table.rhythm is not None else None,
            expected=shown.share(coming) if coming is not None and coming < shown.until else None,
            last=int(table.times[-1]) if len(table.times) else None,
        )


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the overview: its commits as a share of the busiest day's, how many, and whether rows were lost."""

    share: float
    commits: int
    lost: bool


def overview(tables: Iterable[LaneCommits], start: int, days: int) -> list[Day]:
    """Return the commits of all tables by day.

    Args:
        tables: The commits of each.
        start: Where the first day begins, ms since the epoch.
        days: How many days.
    """
    commits, lost = np.zeros(days, np.int64), np.zeros(days)
    for table in tables:
        inside = table.within(start, start + days * DAY)
        places = (table.times[inside] - start) // DAY
        commits += np.bincount(places, minlength=days)
        lost += np.bincount(places, table.removed[inside] + table.masked[inside], days)
    most = max(int(commits.max(initial=0)), 1)
    pairs = zip(commits.tolist(), (lost > 0).tolist(), strict=True)
    return [Day(count / most, count, taken) for count, taken in pairs]
