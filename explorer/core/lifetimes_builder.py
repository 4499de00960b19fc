"""Commits, oldest first -> `Lifetimes`.

Protocol section: Action Reconciliation. Invariants: line order within a valid commit does not matter (LOG-020); what
a removal ends is decided by (path, deletion-vector id); files of the first checkpoint are looked up only if a later
action names their path.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
import numpy as np

from explorer.core.actions import DeletionVectorDescriptor
from explorer.core.commits import AddLine, Commit, RemoveLine
from explorer.core.errors import LimitExceeded
from explorer.core.lifetimes import NEVER, Int32s, Int64s, Lifetimes, Mask
from explorer.core.logical_files import LogicalFiles
from explorer.core.record_counts import counts_of_lines
from explorer.core.uris import canonical_key

__all__ = ["LifetimesBuilder"]

_ABSENT: Final = msgspec.Raw()
_UNKNOWN: Final = -1
_LATEST_TIME: Final = 1 << 60
_LATEST_VERSION: Final = 1 << 30
# Lines that are kept with the bytes of their commits until they are trimmed together.
_BATCH: Final = 1 << 14


class _End(msgspec.Struct, gc=False):
    """What ended a path that no commit so far had added: it may be a file of the checkpoint."""

    version: int
    vector_id: str | None
    any_vector: bool
    data_change: bool
    deleted: int = 0
    successor: int = _UNKNOWN


class LifetimesBuilder:
    """Takes commits in ascending order, and a checkpoint where the record does not begin at version 0.

    Instances that commits add are numbered from 0 as they come; `build` puts those of the checkpoint before them.

    Raises:
        LimitExceeded: The versions are too high to be told.
    """

    def __init__(self, first: int, readable_from: int) -> None:
        if first > _LATEST_VERSION:
            raise LimitExceeded(
                f"The log begins with version {first:,}; versions up to {_LATEST_VERSION:,} are told. "
                "A name in the log is most likely broken.",
                version=first,
                allowed=_LATEST_VERSION,
            )
        self._first, self._readable_from = first, readable_from
        self._lines: list[AddLine] = []
        self._keys: list[str] = []
        # Version of each commit, and how many instances there were before it.
        self._versions, self._starts = array("i"), array("q")
        # Rows that ended, the version that ended them, and the time of the tombstone.
        self._ended, self._ended_in, self._ended_at = array("q"), array("i"), array("q")
        self._left = array("q")
        # Rows that took the place of another in one version, and those others.
        self._successor, self._previous = array("q"), array("q")
        self._rearranged = array("q")
        self._live: dict[str, int] = {}
        self._ends: dict[str, list[_End]] = {}
        self._base = LogicalFiles([])
        self._covered: set[str] = set()
        self._partitions: dict[bytes, msgspec.Raw] = {}
        self._counts: list[tuple[Int64s, Mask]] = []
        self._trimmed = 0

    def checkpoint(self, files: LogicalFiles) -> None:
        """Take the live files of the first readable version; those that commits had added before stay theirs."""
        self._base = files
        self._covered = set(self._live)
        # Before the checkpoint a removal named a file from before the record; from now on it may name one of these.
        self._ends = {}

    def commit(self, commit: Commit) -> list[int]:
        """Take the file actions of a commit, in line order, and return the places of its other lines."""
        # Hundreds of thousands of lines go through this loop, so it calls nothing for those of the usual kind.
        version, first, live, lines, keys = commit.version, self._first, self._live, self._lines, self._keys
        end_row, end_version, end_time = self._ended.append, self._ended_in.append, self._ended_at.append
        ended: dict[str, int] = {}
        others = []
        self._versions.append(version)
        self._starts.append(len(lines))
        for place, line in enumerate(commit.lines):
            if (add := line.add) is not None:
                if line.remove is not None:
                    raise commit.two_actions(place)
                path = add.path
                key = canonical_key(path) if "%" in path or ":" in path or path[:1] == "/" else path
                current = live.get(key)
                if current is not None:
                    self._end(current, version, 0)
                    self._successor.append(len(lines))
                    self._previous.append(current)
                    ended[key] = current
                elif key in ended:
                    self._successor.append(len(lines))
                    self._previous.append(ended[key])
                elif first:
                    self._maybe_from_base(key, version, len(lines))
                live[key] = len(lines)
                lines.append(add)
                keys.append(key)
            elif (remove := line.remove) is not None:
                path = remove.path
                key = canonical_key(path) if "%" in path or ":" in path or path[:1] == "/" else path
                current = live.get(key)
                if current is not None and _same(lines[current].deletion_vector, remove.deletion_vector):
                    del live[key]
                    end_row(current)
                    end_version(version)
                    end_time(_deletion_time(remove))
                    ended[key] = current
                    if remove.data_change is False:
                        self._rearranged.append(current)
                else:
                    self._remove(remove, key, version, ended, current)
            else:
                others.append(place)
        if len(lines) - self._trimmed >= _BATCH:
            self._trim()
        return others

    def build(self, last: int) -> Lifetimes:
        """Make the lifetimes of everything taken so far."""
        self._trim()
        base, hidden = self._base, self._hidden_rows()
        split, count = base.num_rows, len(self._lines)
        added = np.full(split + count, self._first - 1, np.int32)
        added[split:] = np.repeat(np.array(self._versions), np.diff(np.array([*self._starts, count])))
        added[np.array(self._left, np.int64) + split] = self._first - 1
        removed, deleted = np.full(split + count, NEVER, np.int32), np.zeros(split + count, np.int64)
        ended = np.array(self._ended, np.int64) + split
        removed[ended], deleted[ended] = self._ended_in, self._ended_at
        previous = np.full(split + count, -1, np.int32)
        previous[np.array(self._successor) + split] = np.array(self._previous) + split
        changed = np.ones(split + count, bool)
        changed[np.array(self._rearranged, np.int64) + split] = False
        for row, end in self._ended_rows():
            removed[row] = end.version
            changed[row] = end.data_change
            deleted[row] = end.deleted
            if end.successor >= 0:
                previous[end.successor + split] = row
        # Rows of the checkpoint that commits had added before are theirs: they never live.
        added[hidden] = removed[hidden] = self._first - 1
        counts = [np.concatenate(parts) for parts in zip(*self._counts, strict=True)]
        return Lifetimes(
            base,
            self._lines,
            (counts[0], counts[1]) if counts else (np.zeros(0, np.int64), np.zeros(0, bool)),
            added=added,
            removed=removed,
            previous=previous,
            path_ids=partial(_path_ids, base, self._keys),
            removed_data_change=changed,
            deletion_times=deleted,
            versions=(self._first, self._readable_from, last),
        )

    def _end(self, row: int, version: int, deleted: int) -> None:
        self._ended.append(row)
        self._ended_in.append(version)
        self._ended_at.append(deleted)

    def _remove(self, remove: RemoveLine, key: str, version: int, ended: dict[str, int], current: int | None) -> None:
        """A removal that does not name the file that is live: it ended in this version, or is from before."""
        quiet, deleted = remove.data_change is False, _deletion_time(remove)
        if key in ended:
            self._end(ended[key], version, deleted)
            if quiet:
                self._rearranged.append(ended[key])
        elif version <= self._readable_from and self._first:
            self._leave(remove, key, version, ended, current)
        elif self._first:
            ends = self._ends.setdefault(key, [])
            if ends and ends[-1].version == version:
                ends[-1].data_change &= not quiet
                ends[-1].deleted = deleted
            ends.append(
                _End(version, vector_id=remove.vector_id, any_vector=False, data_change=not quiet, deleted=deleted)
            )

    def _maybe_from_base(self, key: str, version: int, row: int) -> None:
        """An add of a path that no commit had added: if the checkpoint has it, it is replaced, or was just ended."""
        ends = self._ends.setdefault(key, [])
        for end in ends:
            if end.version == version:
                end.successor = row
        ends.append(_End(version, None, True, True, successor=row))

    def _leave(self, remove: RemoveLine, key: str, version: int, ended: dict[str, int], current: int | None) -> None:
        """A file that the record only shows leaving: what is known of it is what its remove says (FILE-004)."""
        extended = remove.extended_file_metadata is True
        gone = AddLine(
            remove.path,
            remove.partition_values if extended else _ABSENT,
            remove.size if extended else None,
            stats=remove.stats,
            deletion_vector=remove.deletion_vector,
        )
        row = len(self._lines)
        self._lines.append(gone)
        self._keys.append(key)
        self._left.append(row)
        self._end(row, version, _deletion_time(remove))
        if remove.data_change is False:
            self._rearranged.append(row)
        if current is not None and current >= self._starts[-1]:
            self._successor.append(current)
            self._previous.append(row)
        else:
            ended[key] = row

    def _trim(self) -> None:
        """Keep of the newest lines what does not pin their commits' bytes: of the statistics the counts alone."""
        lines, partitions = self._lines[self._trimmed :], self._partitions
        self._counts.append(counts_of_lines([line.stats for line in lines]))
        for line in lines:
            text = bytes(line.partition_values)
            shared = partitions.get(text)
            if shared is None:
                shared = partitions[text] = msgspec.Raw(text)
            line.partition_values = shared
            line.stats = line.tags = _ABSENT
        self._trimmed = len(self._lines)

    def _hidden_rows(self) -> Int32s:
        if not self._covered or not self._base.num_rows:
            return np.empty(0, np.int32)
        hidden: Int32s = self._base.rows_at(self._covered).astype(np.int32)
        return hidden

    def _ended_rows(self) -> list[tuple[int, _End]]:
        """Rows of the checkpoint that a commit ended."""
        if not self._ends or not self._base.num_rows:
            return []
        rows = self._base.rows_at(self._ends)
        paths, ids = (column.to_pylist() for column in self._base.take(rows, ["path", "dv_unique_id"]).columns)
        ended = []
        for row, path, vector_id in zip(rows.tolist(), paths, ids, strict=True):
            ends = self._ends[path]
            end = next((end for end in ends if end.any_vector or end.vector_id == vector_id), None)
            if end is not None:
                ended.append((row, end))
        return ended


def _path_ids(base: LogicalFiles, keys: Sequence[str]) -> Int32s:
    """Equal numbers for instances of one path: those of the checkpoint, then those of commits."""
    split = base.num_rows
    ids: dict[str, int] = {}
    numbered = [ids.setdefault(key, split + len(ids)) for key in keys]
    if split and ids:
        rows = base.rows_at(ids)
        in_base = dict(zip(base.take(rows, ["path"]).column(0).to_pylist(), rows.tolist(), strict=True))
        numbered = [in_base.get(key, number) for key, number in zip(keys, numbered, strict=True)]
    return np.concatenate([np.arange(split, dtype=np.int32), np.array(numbered, np.int32)])


def _same(some: DeletionVectorDescriptor | None, other: DeletionVectorDescriptor | None) -> bool:
    if some is None or other is None:
        return some is other
    if some.path_or_inline_dv != other.path_or_inline_dv or some.storage_type != other.storage_type:
        # Spelt otherwise they may still be one: what counts is the whole identity.
        return some.unique_id == other.unique_id
    return some.offset == other.offset


def _deletion_time(remove: RemoveLine) -> int:
    """Time of a tombstone; one without it counts as expired for ever (FILE-003), as does a time out of this world."""
    time = remove.deletion_timestamp or 0
    return time if 0 <= time < _LATEST_TIME else 0
