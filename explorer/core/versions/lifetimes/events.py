"""Adds and removes of every path -> the interval of versions of each file.

Protocol section: Action Reconciliation. Invariants: line order within a valid commit does not matter (LOG-020), and
lines of one that contradicts itself apply in their order (REPLAY-012); (path, deletion-vector id) decides what a
removal ends; a path is live with at most one vector (D-03).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Mask
from explorer.core.versions.lifetimes.codes import VectorCodes

NEVER: Final = int(np.iinfo(np.int32).max)
"""``removed`` of a file that is still live."""

REMOVE: Final = 0
ADD: Final = 1
LEAVE: Final = 2
"""A removal that may name a file from before the record, which then has a row of its own."""
IN_CHECKPOINT: Final = 3
"""A file of the checkpoint, at the end of its version."""


INTERVALS: Final = ("added", "removed", "previous", "removed_data_change", "deletion_times")
"""The columns of `Intervals`, an item for each file."""


@dataclass(frozen=True, slots=True)
class FileEvents:
    """Adds and removes of files, an item each, in the order of the log.

    Attributes:
        order: Ascends, except for files of the checkpoint.
        kind: `ADD`, `REMOVE`, `LEAVE` or `IN_CHECKPOINT`.
        path: Number of the path.
        version: The version of its commit.
        row: The file; not used for a `REMOVE`, which may end any.
        vector: Number of the deletion vector, 0 for none.
        time: Time of a tombstone, ms since the epoch; 0 if it has none.
        quiet: True for a removal that only rearranges data.
    """

    order: Int32s
    kind: npt.NDArray[np.int8]
    path: Int32s
    version: Int32s
    row: Int32s
    vector: Int64s
    time: Int64s
    quiet: Mask


class _Event(NamedTuple):
    path: int
    kind: int
    version: int
    row: int
    vector: int
    time: int
    quiet: bool


class FileContradiction(NamedTuple):
    """A contradiction of a commit about a file.

    Attributes:
        version: The commit.
        kind: ``added and removed``, ``added twice``, ``removed twice``, or ``removed but not live``, known only
            where the record begins with version 0.
        path: Number of the path.
    """

    version: int
    kind: str
    path: int


class Intervals:
    """The intervals of files: the columns of `explorer.core.versions.lifetimes.lifetimes.Lifetimes`.

    Args:
        count: Number of files; those whose adds are not among the events are from before the record.
    """

    def __init__(self, count: int, before: int) -> None:
        self._before = before
        self.added: Int32s = np.full(count, before, np.int32)
        self.removed: Int32s = np.full(count, NEVER, np.int32)
        self.previous: Int32s = np.full(count, -1, np.int32)
        self.removed_data_change: Mask = np.ones(count, bool)
        self.deletion_times: Int64s = np.zeros(count, np.int64)
        self._has_row: Mask = np.ones(count, bool)
        self.contradictions: list[FileContradiction] = []

    @classmethod
    def finished(cls, columns: Mapping[str, npt.NDArray[np.generic]], before: int) -> Intervals:
        """Return finished intervals from the columns `INTERVALS`; no more events can be applied."""
        intervals = cls(0, before)
        for name in INTERVALS:
            setattr(intervals, name, columns[name])
        return intervals

    def apply(self, events: FileEvents, vectors: VectorCodes) -> None:
        """Set the intervals of the files that events name.

        Ordinary paths, which are most, are handled together; the others one by one.
        """
        added = events.kind == ADD
        self.added[events.row[added]] = events.version[added]
        self._has_row[events.row[events.kind == LEAVE]] = False
        order = np.argsort(_by_path(events))
        tidy = _removals_first(events, order, vectors)
        irregular = _irregular_paths(events, tidy, vectors)[events.path]
        self._apply_tidy(events, tidy[~irregular[tidy]] if irregular.any() else tidy, vectors)
        rows = order[irregular[order]]
        columns = (events.path, events.kind, events.version, events.row, events.vector, events.time, events.quiet)
        others = map(_Event, *(column[rows].tolist() for column in columns))
        for _, path_events in groupby(others, attrgetter("path")):
            of_path = list(path_events)
            self._apply_irregular(of_path, vectors)
            self.contradictions += _contradictions(of_path, vectors, from_start=self._before < 0)

    def keep(self) -> Mask:
        """Drop the files that removals might have named but did not, and return a mask of the others."""
        has_row, positions = self._has_row, np.cumsum(self._has_row, dtype=np.int32) - 1
        if not has_row.all():
            self.added, self.removed, self.previous = self.added[has_row], self.removed[has_row], self.previous[has_row]
            self.previous = np.where(self.previous >= 0, positions[self.previous], np.int32(-1))
            self.removed_data_change = self.removed_data_change[has_row]
            self.deletion_times = self.deletion_times[has_row]
        return has_row

    def _apply_tidy(self, events: FileEvents, order: Int64s, vectors: VectorCodes) -> None:
        """Apply events in which each removal follows the add of its file, so files live until the next event."""
        follows, adds = _repeats(events.path[order]), _adds(events.kind[order])
        self._apply_next(events, order, follows & adds[:-1], adds)
        renewed = np.flatnonzero(follows & ~adds[:-1] & _repeats(events.version[order]))
        removals, adds_after = order[renewed], order[renewed + 1]
        self.previous[events.row[adds_after]] = events.row[order[renewed - 1]]
        same = removals[~vectors.differ(events.vector[removals], events.vector[adds_after])]
        both = zip(events.version[same].tolist(), events.path[same].tolist(), strict=True)
        self.contradictions += [FileContradiction(at, "added and removed", name) for at, name in both]

    def _apply_next(self, events: FileEvents, order: Int64s, lasts: Mask, adds: Mask) -> None:
        """End each file at the next event of its path; an add there replaces it."""
        ended, by = events.row[order[:-1][lasts]], order[1:][lasts]
        self.removed[ended] = events.version[by]
        self.deletion_times[ended] = events.time[by]
        self.removed_data_change[ended] = ~events.quiet[by]
        replaced = np.flatnonzero(lasts & adds[1:])
        self.previous[events.row[order[replaced + 1]]] = events.row[order[replaced]]

    def _apply_irregular(self, events: list[_Event], vectors: VectorCodes) -> None:
        """Apply the events of one path in the order of the lines; each file of a damaged checkpoint separately."""
        for chosen in [event for event in events if event.kind == IN_CHECKPOINT] or [events[0]]:
            path = _Path(self, vectors)
            for event in events:
                if event.kind != IN_CHECKPOINT or event is chosen:
                    path.apply(event)

    def end(self, row: int, event: _Event) -> None:
        """End a file; a second event of the version that ended it only adds its facts."""
        again = self.removed[row] == event.version
        self.removed[row], self.deletion_times[row] = event.version, event.time
        self.removed_data_change[row] = not event.quiet and (not again or self.removed_data_change[row])

    def leave(self, row: int, event: _Event) -> None:
        """Include a file from before the record, of which only the removal is known."""
        self._has_row[row] = True
        self.end(row, event)


class _Path:
    """One path, event by event: the live file, and the one that the current version ended."""

    def __init__(self, intervals: Intervals, vectors: VectorCodes) -> None:
        self._intervals, self._vectors = intervals, vectors
        self._live: _Event | None = None
        self._ended, self._version = -1, -1

    def apply(self, event: _Event) -> None:
        if event.version != self._version:
            self._ended, self._version = -1, event.version
        if event.kind == ADD:
            self._add(event)
        elif event.kind == IN_CHECKPOINT:
            self._find(event)
        else:
            self._remove(event)

    def _add(self, event: _Event) -> None:
        if self._live is not None:
            self._intervals.end(self._live.row, event)
            self._ended = self._live.row
        self._intervals.previous[event.row] = self._ended
        self._live = event

    def _find(self, event: _Event) -> None:
        if self._live is None:
            self._live = event
        else:
            # A commit added it before: its row is that of the commit, and this row never lives.
            self._intervals.removed[event.row] = self._intervals.added[event.row]

    def _remove(self, event: _Event) -> None:
        live = self._live
        if live is not None and not self._vectors.differ(np.array([live.vector]), np.array([event.vector]))[0]:
            self._intervals.end(live.row, event)
            self._live, self._ended = None, live.row
        elif self._ended >= 0:
            self._intervals.end(self._ended, event)
        elif event.kind == LEAVE:
            self._intervals.leave(event.row, event)
            if live is not None and live.kind == ADD and live.version == event.version:
                self._intervals.previous[live.row] = event.row
            else:
                self._ended = event.row


def _contradictions(events: list[_Event], vectors: VectorCodes, *, from_start: bool) -> Iterator[FileContradiction]:
    """Yield the contradictions in the commits of one path; an irregular path need not have any."""
    identities = vectors.identities(np.array([event.vector for event in events]))
    live: str | None = ""
    for version, pairs in groupby(zip(events, identities, strict=True), lambda pair: pair[0].version):
        commit_events = list(pairs)
        adds = [identity for event, identity in commit_events if event.kind == ADD]
        removes = [identity for event, identity in commit_events if event.kind in {REMOVE, LEAVE}]
        path = commit_events[0][0].path
        if set(adds) & set(removes):
            yield FileContradiction(version, "added and removed", path)
        if len(adds) > 1:
            yield FileContradiction(version, "added twice", path)
        if len(removes) > len(set(removes)):
            yield FileContradiction(version, "removed twice", path)
        if from_start and set(removes) - {live, *adds}:
            yield FileContradiction(version, "removed but not live", path)
        live = adds[-1] if adds else "" if live in removes else live


def _by_path(events: FileEvents) -> Int64s:
    """Return a sort key by path, then by order; it takes no more memory than the column."""
    keys: Int64s = events.path.astype(np.int64)
    keys <<= 32
    keys |= events.order
    return keys


def _adds(kinds: npt.NDArray[np.int8]) -> Mask:
    adds: Mask = (kinds == ADD) | (kinds == IN_CHECKPOINT)
    return adds


def _removals_first(events: FileEvents, order: Int64s, vectors: VectorCodes) -> Int64s:
    """Return the events of each path; within a version, a removal comes before the add of another file."""
    adds = _adds(events.kind[order])
    together = _repeats(events.path[order]) & _repeats(events.version[order])
    swapped = np.flatnonzero(together & (events.kind[order[:-1]] == ADD) & ~adds[1:])
    swapped = swapped[vectors.differ(events.vector[order[swapped]], events.vector[order[swapped + 1]])]
    if not len(swapped):
        return order
    reordered = order.copy()
    reordered[swapped], reordered[swapped + 1] = order[swapped + 1], order[swapped]
    return reordered


def _irregular_paths(events: FileEvents, order: Int64s, vectors: VectorCodes) -> Mask:
    """Return for each path whether any of its events does more than add the path or end the live file."""
    adds = _adds(events.kind[order])
    follows = _from_second(_repeats(events.path[order]))
    after_add = follows & _from_second(adds[:-1])
    earlier = _from_second(_rises(events.version[order]))
    ends = ~adds & after_add & earlier
    pairs = np.flatnonzero(ends)
    ends[pairs] = ~vectors.differ(events.vector[order[pairs - 1]], events.vector[order[pairs]])
    plain = np.where(adds, ~after_add | earlier, ends)
    plain &= (events.kind[order] != IN_CHECKPOINT) | ~follows
    irregular = np.zeros(int(events.path.max(initial=-1)) + 1, bool)
    irregular[events.path[order[~plain]]] = True
    return irregular


def _repeats(column: npt.NDArray[np.generic]) -> Mask:
    """Return for each value but the first whether it equals the one before it."""
    repeats: Mask = column[1:] == column[:-1]
    return repeats


def _rises(column: Int32s) -> Mask:
    """Return for each value but the first whether it is more than the one before it."""
    rises: Mask = column[:-1] < column[1:]
    return rises


def _from_second(mask: Mask) -> Mask:
    """Return a mask without its first item with False for that item."""
    return np.concatenate([[False], mask])
