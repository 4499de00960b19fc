"""Commits, oldest first -> `Lifetimes`.

Protocol section: Action Reconciliation. Invariants: files of the first checkpoint are looked up only if an action of
the record names their path; of a file whose add is older than the record, only the facts of its remove are known
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import LimitExceeded
from explorer.core.log.decoded_parts import DecodedPart
from explorer.core.log.similar_lines import SimilarActions
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
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.raw_actions import AddLine, RemoveLine
from explorer.core.versions.lifetimes.batches import Arrays, Batches, constant
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes
from explorer.core.versions.lifetimes.events import (
    ADD,
    IN_CHECKPOINT,
    LEAVE,
    REMOVE,
    FileContradiction,
    FileEvents,
    Intervals,
)
from explorer.core.versions.lifetimes.file_columns import (
    FileCodes,
    columns_of_lines,
    columns_of_similar,
    merged,
    vectors_of_similar,
)
from explorer.core.versions.lifetimes.lifetimes import InstanceFacts, Lifetimes
from explorer.core.versions.lifetimes.recorded_files import RecordedFilesBuilder
from explorer.core.versions.lifetimes.text_codes import TextCodes

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
_OTHER: Final = -1


class LifetimesBuilder:
    """Takes commits in ascending order, and a checkpoint where the record does not begin at version 0.

    Files that commits add are numbered from 0 in their order; `build` puts those of the checkpoint before them.

    Raises:
        LimitExceeded: The version numbers are too high.
    """

    def __init__(self, first: int, readable_from: int) -> None:
        if first > _LATEST_VERSION:
            raise LimitExceeded(
                f"The log begins with version {first:,}; versions up to {_LATEST_VERSION:,} are supported. "
                "A file name in the log is probably damaged.",
                version=first,
                allowed=_LATEST_VERSION,
            )
        self._first, self._readable_from = first, readable_from
        self._base = LogicalFiles([])
        self._codes = FileCodes(PathCodes(), TextCodes(), VectorCodes())
        self._recorded = RecordedFilesBuilder(self._codes)
        self._events = Batches()
        self._events_before = self._count = self._rows = 0
        self._left: Mask = np.zeros(0, bool)

    def copy(self) -> LifetimesBuilder:
        """Return a copy of the commits so far, to continue independently."""
        builder = LifetimesBuilder(self._first, self._readable_from)
        builder._base = self._base
        builder._codes = self._codes.copy()
        builder._recorded = self._recorded.copy(builder._codes)
        builder._events, builder._events_before = self._events.copy(), self._events_before
        builder._count, builder._rows = self._count, self._rows
        return builder

    def tables(self) -> dict[str, pa.Table]:
        """Return the taken commits as tables for `again`, after a call of `build` that was not the last one."""
        events = self._events.joined()
        files = self._recorded.table()
        heads = self._codes.vectors.listed()
        return {
            "events": pa.table({name: plain_array(events.get(name, np.zeros(0, _EVENT[name]))) for name in _EVENT}),
            "files": files.append_column("left", plain_array(self._left)),
            "paths": pa.table({"path": self._codes.paths.column()}),
            "partitions": pa.table({"text": self._codes.partitions.column()}),
            "vectors": pa.table({"kind": strings([kind for kind, _ in heads]), "path": strings([p for _, p in heads])}),
        }

    @property
    def events_before(self) -> int:
        """The number of file actions before the files of the checkpoint."""
        return self._events_before

    @classmethod
    def again(
        cls, tables: Mapping[str, pa.Table], versions: tuple[int, int], base: LogicalFiles, events_before: int
    ) -> LifetimesBuilder:
        """Continue from tables.

        Args:
            tables: The result of `tables`.
        """
        builder = cls(*versions)
        builder._base, builder._events_before = base, events_before
        builder._recorded = files_of_tables(tables)
        builder._codes = builder._recorded.codes
        events = tables["events"]
        builder._events = Batches(
            [{name: numpy_array(only_array(events, name), flags=name == "quiet") for name in _EVENT}]
        )
        builder._count, builder._rows = tables["events"].num_rows, tables["files"].num_rows
        return builder

    def checkpoint(self, files: LogicalFiles) -> None:
        """Take the live files of the first readable version; files that earlier commits added keep their rows."""
        self._base = files
        self._events_before = self._count

    def take(self, part: DecodedPart) -> list[int]:
        """Take the file actions of a part of the log.

        Args:
            part: The part; its commits are all up to the first readable version, or all after it.

        Returns:
            The indexes of the lines without a file action, among those that were decoded one by one.

        Raises:
            MalformedAction: A line contains two file actions, or a path is not valid.
        """
        leaves = self._first > 0 and part.pieces[-1].path.version <= self._readable_from
        lines = _sorted_lines(part, leaves)
        kinds = np.full(part.count, _OTHER, np.int8)
        kinds[lines.files], kinds[lines.removes] = ADD, LEAVE if leaves else REMOVE
        for actions in part.similar:
            kinds[actions.places] = ADD if isinstance(actions.like, AddLine) else REMOVE
        of_files = np.flatnonzero(kinds != _OTHER)
        if not len(of_files):
            return lines.others
        batch: Arrays = {name: np.zeros(part.count, dtype) for name, dtype in _EVENT.items()}
        batch["kind"], batch["version"] = kinds, part.versions().astype(np.int32)
        removals = [(lines.removes, self._removals(lines.removed))] if lines.removed else []
        files = [(lines.files, columns_of_lines(lines.added, self._codes))] if lines.added else []
        for actions, decoded, written in self._with_paths(part.similar):
            if isinstance(actions.like, AddLine):
                files.append((actions.places, columns_of_similar(actions, decoded, written, self._codes)))
            else:
                removals.append((actions.places, self._similar_removals(actions, decoded)))
        for places, columns in removals:
            for name, values in columns.items():
                batch[name][places] = values
        if files:
            rows = np.flatnonzero((kinds != REMOVE) & (kinds != _OTHER))
            added = merged([(np.searchsorted(rows, places), each) for places, each in files], len(rows))
            batch["path"][rows], batch["vector"][rows] = added.arrays["path"], added.arrays["vector"]
            self._recorded.take(added)
            self._rows += len(rows)
        self._events.append({name: values[of_files] for name, values in batch.items()})
        self._count += len(of_files)
        return lines.others

    def _removals(self, removes: Sequence[RemoveLine]) -> Arrays:
        """Return event columns of removals that were decoded one by one."""
        return {
            "path": self._codes.paths.of_files(TextSpans.of_texts([remove.path for remove in removes]))[0],
            "vector": self._codes.vectors.of([remove.deletion_vector for remove in removes]),
            "time": _deletion_times([remove.deletion_timestamp for remove in removes]),
            "quiet": np.array([remove.data_change is False for remove in removes], bool),
        }

    def _with_paths(self, groups: Sequence[SimilarActions]) -> Iterator[tuple[SimilarActions, Int32s, Int32s]]:
        """Yield actions of similar lines, with the numbers of their paths: decoded, and as written."""
        if groups:
            paths = TextSpans.together([actions.texts["path"] for actions in groups])
            decoded, written = self._codes.paths.of_files(paths)
            ends = np.cumsum([len(actions.places) for actions in groups])[:-1]
            yield from zip(groups, np.split(decoded, ends), np.split(written, ends), strict=True)

    def _similar_removals(self, removes: SimilarActions, paths: Int32s) -> Arrays:
        """Return event columns of removals from similar lines."""
        times = removes.numbers.get("deletion_timestamp")
        columns: Arrays = {
            "path": paths,
            "vector": vectors_of_similar(removes, self._codes.vectors),
            "quiet": constant(np.bool_(removes.like.data_change is False), len(removes.places)),
        }
        return columns if times is None else {**columns, "time": _in_range(times)}

    def build(self, newest: int, *, last: bool) -> Lifetimes:
        """Make the lifetimes of everything taken so far.

        Raises:
            MalformedAction: A path names no file.
        """
        base, split = self._base, self._base.num_rows
        rows, paths, vectors = self._named()
        intervals = Intervals(split + self._rows, self._first - 1)
        intervals.apply(self._all_events(rows, paths, vectors, last=last), self._codes.vectors)
        self._left = intervals.keep()[split:]
        recorded = self._recorded.build(self._left, last=last)
        in_base = np.full(len(self._codes.paths), -1, np.int32)
        in_base[paths] = rows
        own = recorded.path_codes
        path_ids = np.where(in_base[own] >= 0, in_base[own], own + split).astype(np.int32)
        of_base = np.zeros(split, np.int64)
        of_base[rows] = vectors
        return Lifetimes(
            base,
            InstanceFacts(recorded, np.concatenate([of_base, recorded.vector_codes]), self._codes.vectors),
            intervals,
            path_ids=np.concatenate([np.arange(split, dtype=np.int32), path_ids]),
            versions=(self._first, self._readable_from, newest),
            contradictions=self._contradictions(intervals.contradictions),
        )

    def _contradictions(self, contradictions: list[FileContradiction]) -> tuple[tuple[int, str, str], ...]:
        """Return version, kind and path of each, by version."""
        names = self._codes.paths.distinct() if contradictions else []
        return tuple(sorted((each.version, each.kind, names[each.path]) for each in contradictions))

    def _named(self) -> tuple[Int64s, Int32s, Int64s]:
        """Return the checkpoint's files whose path an action of the record names: row, path, deletion vector."""
        if not self._base.num_rows or not len(self._codes.paths):
            return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
        rows = self._base.rows_at(self._codes.paths.column())
        names = ("path", "dv_storage_type", "dv_path_or_inline", "dv_offset")
        paths, *parts = (column.to_pylist() for column in self._base.take(rows, names).columns)
        vectors = [
            None if kind is None else DeletionVectorId(kind, place, offset)
            for kind, place, offset in zip(*parts, strict=True)
        ]
        return rows, self._codes.paths.of(TextSpans.of_texts(paths)), self._codes.vectors.of(vectors)

    def _all_events(self, rows: Int64s, paths: Int32s, vectors: Int64s, *, last: bool) -> FileEvents:
        """Return the events of all batches, with the files of the checkpoint between those of commits."""
        checkpoint_files: Arrays = {name: np.zeros(len(rows), dtype) for name, dtype in _EVENT.items()}
        checkpoint_files |= {"path": paths, "vector": vectors}
        checkpoint_files["kind"][:], checkpoint_files["version"][:] = IN_CHECKPOINT, self._readable_from
        if last:
            events, self._events = self._events, Batches()
        else:
            events = self._events.copy()
        events.append(checkpoint_files)
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


def files_of_tables(tables: Mapping[str, pa.Table]) -> RecordedFilesBuilder:
    """Return the files of `LifetimesBuilder.tables`, with the numbers of their paths, partition values and vectors."""
    heads = (column.to_pylist() for column in tables["vectors"].columns)
    codes = FileCodes(
        PathCodes(only_array(tables["paths"], "path")),
        TextCodes(only_array(tables["partitions"], "text")),
        VectorCodes(list(zip(*heads, strict=True))),
    )
    return RecordedFilesBuilder.again(tables["files"].drop_columns("left"), codes)


class _SortedLines(NamedTuple):
    """Lines that were decoded one by one, by kind.

    Attributes:
        added, files: Files that get a row, and the places of their lines in the part.
        removed, removes: Removals, and the places of theirs.
        others: The indexes of lines without a file action.
    """

    added: list[AddLine]
    files: Int64s
    removed: list[RemoveLine]
    removes: Int64s
    others: list[int]


def _sorted_lines(part: DecodedPart, leaves: bool) -> _SortedLines:
    """Sort the lines of a part by kind; with `leaves` each removal gets a row too."""
    added, removed, others = list[AddLine](), list[RemoveLine](), list[int]()
    files, removes = list[int](), list[int]()
    # Hundreds of thousands of lines may go through this loop, so it only stores them.
    for line_at, line in enumerate(part.lines):
        if (add := line.add) is not None:
            if line.remove is not None:
                raise part.two_actions(line_at)
            added.append(add)
            files.append(line_at)
        elif (remove := line.remove) is not None:
            removed.append(remove)
            removes.append(line_at)
            if leaves:
                added.append(_leaving(remove))
                files.append(line_at)
        else:
            others.append(line_at)
    return _SortedLines(added, part.places[files], removed, part.places[removes], others)


def _leaving(remove: RemoveLine) -> AddLine:
    """Return the facts that the record has of a file of which it only has the remove."""
    extended = remove.extended_file_metadata is True
    return AddLine(
        remove.path,
        remove.partition_values if extended else _ABSENT,
        remove.size if extended else None,
        stats=remove.stats,
        deletion_vector=remove.deletion_vector,
    )


def _deletion_times(times: Sequence[int | None]) -> Int64s:
    """Return tombstone times; missing or negative ones count as long expired (FILE-003), later ones as never."""
    try:
        bounded: Int64s = integers(times)[0]
    except OverflowError:
        bounded = np.array([max(0, min(time or 0, _LATEST_TIME)) for time in times], np.int64)
    return _in_range(bounded)


def _in_range(times: Int64s) -> Int64s:
    return np.clip(times, 0, _LATEST_TIME)
