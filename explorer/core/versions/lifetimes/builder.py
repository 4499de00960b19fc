"""Commits, oldest first -> `Lifetimes`.

Protocol section: Action Reconciliation. Invariants: files of the first checkpoint are looked up only if an action of
the record names their path; of a file whose add is older than the record, only what its remove says is known
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import LimitExceeded
from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.arrow.arrays import (
    Int32s,
    Int64s,
    Mask,
    integers,
    numpy_array,
    only_array,
    plain_array,
    strings,
)
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.versions.lifetimes.batches import Arrays, Batches
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes
from explorer.core.versions.lifetimes.events import ADD, FOUND, LEAVE, REMOVE, Contradiction, FileEvents, Intervals
from explorer.core.versions.lifetimes.lifetimes import Described, Lifetimes
from explorer.core.versions.lifetimes.recorded_files import RecordedFilesBuilder

__all__ = ["LifetimesBuilder", "kept_files"]

_ABSENT: Final = msgspec.Raw()
_EVENT: Final[dict[str, type[np.generic]]] = {
    "kind": np.int8,
    "path": np.int32,
    "version": np.int32,
    "vector": np.int64,
    "time": np.int64,
    "quiet": np.bool_,
}
_LATEST_TIME: Final = 1 << 60
_LATEST_VERSION: Final = 1 << 30
# Lines that are kept with the bytes of their commits until they become columns together: no more than caches hold.
_BATCH: Final = 1 << 12


class LifetimesBuilder:
    """Takes commits in ascending order, and a checkpoint where the record does not begin at version 0.

    Files that commits add are numbered from 0 as they come; `build` puts those of the checkpoint before them.

    Raises:
        LimitExceeded: The version numbers are too high.
    """

    def __init__(self, first: int, readable_from: int) -> None:
        if first > _LATEST_VERSION:
            raise LimitExceeded(
                f"The log begins with version {first:,}; versions up to {_LATEST_VERSION:,} are supported. "
                "A file name in the log is most likely broken.",
                version=first,
                allowed=_LATEST_VERSION,
            )
        self._first, self._readable_from = first, readable_from
        self._base = LogicalFiles([])
        self._paths, self._vectors = PathCodes(), VectorCodes()
        self._recorded = RecordedFilesBuilder(self._paths, self._vectors)
        self._events = Batches()
        self._events_before = self._count = self._rows = 0
        self._left: Mask = np.zeros(0, bool)
        # What did not become columns yet: files that get a row, removals, and the kind of each event, commit by commit.
        self._files: list[AddLine] = []
        self._removes: list[RemoveLine] = []
        self._kinds = bytearray()
        self._versions: list[int] = []
        self._bounds: list[int] = [0]

    def copy(self) -> LifetimesBuilder:
        """The same commits so far, to go on with apart."""
        self._take()
        found = LifetimesBuilder(self._first, self._readable_from)
        found._base = self._base
        found._paths, found._vectors = self._paths.copy(), self._vectors.copy()
        found._recorded = self._recorded.copy(found._paths, found._vectors)
        found._events, found._events_before = self._events.copy(), self._events_before
        found._count, found._rows = self._count, self._rows
        return found

    def kept(self) -> dict[str, pa.Table]:
        """What was taken, as tables that `again` takes; `build` was the last call, and not the last one of all."""
        events = self._events.joined()
        files = self._recorded.kept()
        heads = self._vectors.listed()
        return {
            "events": pa.table({name: plain_array(events.get(name, np.zeros(0, _EVENT[name]))) for name in _EVENT}),
            "files": files.append_column("left", plain_array(self._left)),
            "paths": pa.table({"path": self._paths.column()}),
            "vectors": pa.table({"kind": strings([kind for kind, _ in heads]), "path": strings([p for _, p in heads])}),
        }

    @property
    def events_before(self) -> int:
        """How many file actions come before the files of the checkpoint."""
        return self._events_before

    @classmethod
    def again(
        cls,
        tables: Mapping[str, pa.Table],
        versions: tuple[int, int],
        base: LogicalFiles,
        events_before: int,
    ) -> LifetimesBuilder:
        """Go on with what was kept.

        Args:
            tables: What `kept` gave.
            versions: The first recorded version and the first readable one.
            base: The files of the checkpoint.
            events_before: As it was.
        """
        found = cls(*versions)
        found._base, found._events_before = base, events_before
        found._paths, found._vectors, found._recorded = kept_files(tables)
        events = tables["events"]
        found._events = Batches(
            [{name: numpy_array(only_array(events, name), flags=name == "quiet") for name in _EVENT}]
        )
        found._count, found._rows = tables["events"].num_rows, tables["files"].num_rows
        return found

    def checkpoint(self, files: LogicalFiles) -> None:
        """Take the live files of the first readable version; files that earlier commits added keep their rows."""
        self._base = files
        self._events_before = self._count + len(self._kinds)

    def commit(self, commit: Commit) -> list[int]:
        """Take the file actions of a commit, in line order, and return the places of its other lines.

        Raises:
            MalformedAction: A line holds two file actions, or a path is not valid; a later call may find it.
        """
        # Hundreds of thousands of lines go through this loop, so it only stores them.
        keep_file, keep_remove, keep_kind = self._files.append, self._removes.append, self._kinds.append
        leaves = self._first > 0 and commit.version <= self._readable_from
        others = []
        for place, line in enumerate(commit.lines):
            if (add := line.add) is not None:
                if line.remove is not None:
                    raise commit.two_actions(place)
                keep_file(add)
                keep_kind(ADD)
            elif (remove := line.remove) is not None:
                keep_remove(remove)
                if leaves:
                    keep_file(_leaving(remove))
                    keep_kind(LEAVE)
                else:
                    keep_kind(REMOVE)
            else:
                others.append(place)
        self._versions.append(commit.version)
        self._bounds.append(len(self._kinds))
        if len(self._kinds) >= _BATCH:
            self._take()
        return others

    def build(self, newest: int, *, last: bool) -> Lifetimes:
        """Make the lifetimes of everything taken so far.

        Args:
            newest: The newest version.
            last: Nothing is taken afterwards, so the actions need not be kept.

        Raises:
            MalformedAction: A path names no file.
        """
        self._take()
        base, split = self._base, self._base.num_rows
        rows, paths, vectors = self._named()
        intervals = Intervals(split + self._rows, self._first - 1)
        intervals.apply(self._all_events(rows, paths, vectors, last=last), self._vectors)
        self._left = intervals.keep()[split:]
        recorded = self._recorded.build(self._left, last=last)
        in_base = np.full(len(self._paths), -1, np.int32)
        in_base[paths] = rows
        own = recorded.path_codes
        path_ids = np.where(in_base[own] >= 0, in_base[own], own + split).astype(np.int32)
        of_base = np.zeros(split, np.int64)
        of_base[rows] = vectors
        return Lifetimes(
            base,
            Described(recorded, np.concatenate([of_base, recorded.vector_codes]), self._vectors),
            intervals,
            path_ids=np.concatenate([np.arange(split, dtype=np.int32), path_ids]),
            versions=(self._first, self._readable_from, newest),
            contradictions=self._contradictions(intervals.contradictions),
        )

    def _contradictions(self, found: list[Contradiction]) -> tuple[tuple[int, str, str], ...]:
        """Version, kind and path of each, by version."""
        names = self._paths.distinct() if found else []
        return tuple(sorted((each.version, each.kind, names[each.path]) for each in found))

    def _take(self) -> None:
        """Make columns of the newest actions, and release the bytes of their commits."""
        if not self._kinds:
            return
        kind = np.frombuffer(bytes(self._kinds), np.int8)
        batch: Arrays = {name: np.zeros(len(kind), dtype) for name, dtype in _EVENT.items()}
        batch["kind"], batch["version"] = kind, np.repeat(np.array(self._versions, np.int32), np.diff(self._bounds))
        files, removals, removes = kind != REMOVE, kind != ADD, self._removes
        batch["path"][removals], _ = self._paths.of_files([remove.path for remove in removes])
        batch["vector"][removals] = self._vectors.of([remove.deletion_vector for remove in removes])
        batch["time"][removals] = _deletion_times([remove.deletion_timestamp for remove in removes])
        batch["quiet"][removals] = [remove.data_change is False for remove in removes]
        batch["path"][files], batch["vector"][files] = self._recorded.take(self._files)
        self._events.append(batch)
        self._count += len(kind)
        self._rows += len(self._files)
        self._files, self._removes, self._kinds, self._versions, self._bounds = [], [], bytearray(), [], [0]

    def _named(self) -> tuple[Int64s, Int32s, Int64s]:
        """Files of the checkpoint whose path an action of the record names: row, path, deletion vector."""
        if not self._base.num_rows or not len(self._paths):
            return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
        rows = self._base.rows_at(strings(self._paths.distinct()))
        names = ("path", "dv_storage_type", "dv_path_or_inline", "dv_offset")
        paths, *parts = (column.to_pylist() for column in self._base.take(rows, names).columns)
        vectors = [
            None if kind is None else DeletionVectorId(kind, place, offset)
            for kind, place, offset in zip(*parts, strict=True)
        ]
        return rows, self._paths.of(paths), self._vectors.of(vectors)

    def _all_events(self, rows: Int64s, paths: Int32s, vectors: Int64s, *, last: bool) -> FileEvents:
        """The events of all batches, and the files of the checkpoint between those of commits."""
        found: Arrays = {name: np.zeros(len(rows), dtype) for name, dtype in _EVENT.items()}
        found |= {"path": paths, "vector": vectors}
        found["kind"][:], found["version"][:] = FOUND, self._readable_from
        if last:
            events, self._events = self._events, Batches()
        else:
            events = self._events.copy()
        events.append(found)
        columns = events.joined(last=last)
        # Files that get a row are numbered as they come, after those of the checkpoint.
        row = np.cumsum(columns["kind"] != REMOVE, dtype=np.int32)
        row += np.int32(self._base.num_rows - 1)
        row[self._count :] = rows
        order = np.arange(1, 2 * len(row) + 1, 2, dtype=np.int32)
        order[self._count :] = 2 * self._events_before
        return FileEvents(
            order=order,
            kind=columns["kind"].astype(np.int8, copy=False),
            path=columns["path"].astype(np.int32, copy=False),
            version=columns["version"].astype(np.int32, copy=False),
            row=row,
            vector=columns["vector"].astype(np.int64, copy=False),
            time=columns["time"].astype(np.int64, copy=False),
            quiet=columns["quiet"].astype(np.bool_, copy=False),
        )


def kept_files(tables: Mapping[str, pa.Table]) -> tuple[PathCodes, VectorCodes, RecordedFilesBuilder]:
    """The files that `LifetimesBuilder.kept` gave, with the numbers of their paths and deletion vectors."""
    paths = PathCodes(only_array(tables["paths"], "path"))
    heads = (column.to_pylist() for column in tables["vectors"].columns)
    vectors = VectorCodes(list(zip(*heads, strict=True)))
    return paths, vectors, RecordedFilesBuilder.again(tables["files"].drop_columns("left"), paths, vectors)


def _leaving(remove: RemoveLine) -> AddLine:
    """What the record knows of a file of which it only has the remove."""
    extended = remove.extended_file_metadata is True
    return AddLine(
        remove.path,
        remove.partition_values if extended else _ABSENT,
        remove.size if extended else None,
        stats=remove.stats,
        deletion_vector=remove.deletion_vector,
    )


def _deletion_times(times: Sequence[int | None]) -> Int64s:
    """Times of tombstones; a missing one counts as long expired (FILE-003), and so does one out of range."""
    try:
        found: Int64s = integers(times)[0]
    except OverflowError:
        found = np.array([time if time is not None and 0 <= time < _LATEST_TIME else 0 for time in times], np.int64)
    return np.where((found >= 0) & (found < _LATEST_TIME), found, 0)
