"""Commits, oldest first -> `Lifetimes`.

Protocol section: Action Reconciliation. Invariants: line order within a valid commit does not matter (LOG-020); what
a removal ends is decided by (path, deletion-vector id); files of the first checkpoint are looked up only if a later
action names their path.
"""

from __future__ import annotations

from array import array
from typing import Final

import msgspec
import numpy as np

from explorer.core.commits import AddLine, Commit, RemoveLine
from explorer.core.lifetimes import NEVER, Int32s, Lifetimes
from explorer.core.logical_files import LogicalFiles, rows_among
from explorer.core.record_counts import count_of_line
from explorer.core.uris import canonical_key

__all__ = ["LifetimesBuilder"]

_ABSENT: Final = msgspec.Raw()
_UNKNOWN: Final = -1
_LATEST_TIME: Final = 1 << 60


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
    """

    def __init__(self, first: int, readable_from: int) -> None:
        self._first, self._readable_from = first, readable_from
        self._lines: list[AddLine] = []
        self._counts: list[int | None] = []
        self._added: list[int] = []
        self._removed: list[int] = []
        self._previous: list[int] = []
        self._deleted = array("q")
        self._keys: list[str] = []
        self._rearranged: list[int] = []
        self._live: dict[str, int] = {}
        self._ends: dict[str, list[_End]] = {}
        self._base = LogicalFiles([])
        self._covered: set[str] = set()
        self._partitions: dict[bytes, msgspec.Raw] = {}

    def checkpoint(self, files: LogicalFiles) -> None:
        """Take the live files of the first readable version; those that commits had added before stay theirs."""
        self._base = files
        self._covered = set(self._live)
        # Before the checkpoint a removal named a file from before the record; from now on it may name one of these.
        self._ends = {}

    def commit(self, commit: Commit) -> list[int]:
        """Take the file actions of a commit, in line order, and return the places of its other lines."""
        version, ended = commit.version, dict[str, int]()
        others = []
        for place, line in enumerate(commit.lines):
            if (add := line.add) is not None:
                if line.remove is not None:
                    raise commit.two_actions(place)
                self._add(add, canonical_key(add.path), version, ended)
            elif (remove := line.remove) is not None:
                self._remove(remove, canonical_key(remove.path), version, ended)
            else:
                others.append(place)
        return others

    def build(self, last: int) -> Lifetimes:
        """Make the lifetimes of everything taken so far."""
        base, hidden = self._base, self._hidden_rows()
        split, count = base.num_rows, len(self._lines)
        added = np.concatenate([np.full(split, self._first - 1, np.int32), np.array(self._added, np.int32)])
        removed = np.concatenate([np.full(split, NEVER, np.int32), np.array(self._removed, np.int32)])
        previous = np.array(self._previous, np.int32)
        previous = np.concatenate([np.full(split, -1, np.int32), np.where(previous >= 0, previous + split, -1)])
        previous = previous.astype(np.int32)
        deleted = np.concatenate([np.zeros(split, np.int64), np.array(self._deleted, np.int64)])
        changed = np.ones(split + count, bool)
        changed[[row + split for row in self._rearranged]] = False
        path_ids = self._path_ids(split)
        for row, end in self._ended_rows():
            removed[row] = end.version
            changed[row] = end.data_change
            deleted[row] = end.deleted
            if end.successor >= 0:
                previous[end.successor + split] = row
        # Rows of the checkpoint that commits had added before are theirs: they never live.
        added[hidden] = removed[hidden] = self._first - 1
        return Lifetimes(
            base,
            self._lines,
            self._counts,
            added=added,
            removed=removed,
            previous=previous,
            path_ids=path_ids,
            removed_data_change=changed,
            deletion_times=deleted,
            versions=(self._first, self._readable_from, last),
        )

    def _add(self, add: AddLine, key: str, version: int, ended: dict[str, int]) -> None:
        current = self._live.get(key)
        if current is not None:
            self._removed[current] = version
            ended[key] = before = current
        else:
            before = ended.get(key, _UNKNOWN)
            if before < 0 and self._first:
                self._maybe_from_base(key, version, len(self._lines))
        self._live[key] = self._take(add, key, version, before)

    def _remove(self, remove: RemoveLine, key: str, version: int, ended: dict[str, int]) -> None:
        vector_id = remove.vector_id
        quiet, deleted = remove.data_change is False, _deletion_time(remove)
        current = self._live.get(key)
        if current is not None and self._lines[current].vector_id == vector_id:
            del self._live[key]
            self._removed[current] = version
            self._deleted[current] = deleted
            ended[key] = current
            if quiet:
                self._rearranged.append(current)
        elif key in ended:
            self._deleted[ended[key]] = deleted
            if quiet:
                self._rearranged.append(ended[key])
        elif version <= self._readable_from and self._first:
            self._leave(remove, key, version, ended, current)
        elif self._first:
            ends = self._ends.setdefault(key, [])
            if ends and ends[-1].version == version:
                ends[-1].data_change &= not quiet
                ends[-1].deleted = deleted
            ends.append(_End(version, vector_id, False, not quiet, deleted))

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
        row = self._take(gone, key, self._first - 1, _UNKNOWN)
        self._removed[row] = version
        self._deleted[row] = _deletion_time(remove)
        if remove.data_change is False:
            self._rearranged.append(row)
        if current is not None and self._added[current] == version:
            self._previous[current] = row
        else:
            ended[key] = row

    def _take(self, line: AddLine, key: str, version: int, previous: int) -> int:
        """Keep a line without what pins its commit's bytes: of the statistics the count, partition values shared."""
        self._counts.append(count_of_line(line.stats))
        text = bytes(line.partition_values)
        shared = self._partitions.get(text)
        if shared is None:
            shared = self._partitions[text] = msgspec.Raw(text)
        line.partition_values = shared
        line.stats = line.tags = _ABSENT
        self._lines.append(line)
        self._added.append(version)
        self._removed.append(NEVER)
        self._previous.append(previous)
        self._deleted.append(0)
        self._keys.append(key)
        return len(self._keys) - 1

    def _hidden_rows(self) -> Int32s:
        if not self._covered or not self._base.num_rows:
            return np.empty(0, np.int32)
        hidden: Int32s = rows_among(self._base.column("path"), self._covered).astype(np.int32)
        return hidden

    def _ended_rows(self) -> list[tuple[int, _End]]:
        """Rows of the checkpoint that a commit ended."""
        if not self._ends or not self._base.num_rows:
            return []
        paths, ids = self._base.column("path"), self._base.column("dv_unique_id")
        ended = []
        for row in rows_among(paths, self._ends).tolist():
            vector_id = ids[row].as_py()
            ends = self._ends[paths[row].as_py()]
            end = next((end for end in ends if end.any_vector or end.vector_id == vector_id), None)
            if end is not None:
                ended.append((row, end))
        return ended

    def _path_ids(self, split: int) -> Int32s:
        ids: dict[str, int] = {}
        numbered = [ids.setdefault(key, split + len(ids)) for key in self._keys]
        if split and ids:
            paths = self._base.column("path")
            in_base = {paths[row].as_py(): row for row in rows_among(paths, ids).tolist()}
            numbered = [in_base.get(key, number) for key, number in zip(self._keys, numbered, strict=True)]
        return np.concatenate([np.arange(split, dtype=np.int32), np.array(numbered, np.int32)])


def _deletion_time(remove: RemoveLine) -> int:
    """Time of a tombstone; one without it counts as expired for ever (FILE-003), as does a time out of this world."""
    time = remove.deletion_timestamp or 0
    return time if 0 <= time < _LATEST_TIME else 0
