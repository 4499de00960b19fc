"""Every logical file as an interval of versions: any version's live files are one mask, any diff one XOR.

Protocol section: Action Reconciliation. Invariants: an instance lives from the version that added it up to, not
including, the version that removed or replaced it; two instances of one path never live at once (D-03); an instance
that re-adds or re-masks a path in the version that ends the earlier one points back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import VersionNotFound
from explorer.core.protocol.actions import DeletionVectorId
from explorer.core.protocol.arrow.arrays import (
    Int32s,
    Int64s,
    Integers,
    Mask,
    int64s,
    numbers,
    numpy_array,
    one_array,
    only_array,
    plain_array,
    validity,
)
from explorer.core.protocol.logical_files import SCHEMA, LogicalFiles
from explorer.core.versions.lifetimes.codes import VectorCodes
from explorer.core.versions.lifetimes.events import INTERVALS, NEVER, Intervals
from explorer.core.versions.lifetimes.recorded_files import RecordedFiles

__all__ = ["COLUMNS", "NEVER", "InstanceFacts", "Lifetimes"]

COLUMNS: Final = tuple(name for name in SCHEMA.names if name not in ("tags", "stats"))
"""The columns that every instance has."""

_VECTOR_FILE: Final = ("dv_storage_type", "dv_path_or_inline")


class InstanceFacts(NamedTuple):
    """The facts of instances other than their intervals.

    Attributes:
        files: Those that commits added.
        vectors: The number of the deletion vector of each instance, 0 for none.
        codes: The meaning of the numbers.
    """

    files: RecordedFiles
    vectors: Int64s
    codes: VectorCodes


class Lifetimes:
    """All instances of logical files over the recorded versions, those of the first checkpoint before the others.

    Attributes:
        added: Version that added each; ``first - 1`` for files from before the record.
        removed: Version that removed or replaced each; `NEVER` if live at the end.
        previous: Row of the instance of the same path that this one replaced in the same version, or -1.
        path_ids: Equal for instances of one path.
        removed_data_change: False where the removal only rearranged data.
        deletion_times: When each was removed by its tombstone, ms since the epoch; 0 where the tombstone has no time
        (FILE-003), where there is none, or where the file is live.
        first, last: The recorded versions.
        readable_from: The first version whose live files are all known.
        contradictions: Contradictory statements of commits about files: version, kind
            (`explorer.core.versions.lifetimes.events.FileContradiction`) and path, by version.
    """

    def __init__(
        self,
        base: LogicalFiles,
        described: InstanceFacts | Callable[[], InstanceFacts],
        intervals: Intervals,
        *,
        path_ids: Int32s,
        versions: tuple[int, int, int],
        contradictions: tuple[tuple[int, str, str], ...] = (),
    ) -> None:
        self._base, self._described = base, described
        self.added, self.removed, self.previous = intervals.added, intervals.removed, intervals.previous
        self.removed_data_change, self.deletion_times = intervals.removed_data_change, intervals.deletion_times
        self.path_ids = path_ids
        self.contradictions = contradictions
        self.first, self.readable_from, self.last = versions

    def table(self) -> pa.Table:
        """Return the input of `again` other than the files."""
        columns = {name: getattr(self, name) for name in INTERVALS}
        columns |= {"path_ids": self.path_ids, "vectors": self.described.vectors}
        return pa.table({name: plain_array(values) for name, values in columns.items()})

    @classmethod
    def again(
        cls,
        stays: pa.Table,
        base: LogicalFiles,
        described: Callable[[], InstanceFacts],
        *,
        versions: tuple[int, int, int],
        contradictions: tuple[tuple[int, str, str], ...],
    ) -> Lifetimes:
        """Return the lifetimes of tables.

        Args:
            stays: The result of `table`.
        """
        columns = {
            name: numpy_array(only_array(stays, name), flags=name == "removed_data_change")
            for name in (*INTERVALS, "path_ids")
        }
        return cls(
            base,
            described,
            Intervals.finished(columns, versions[0] - 1),
            path_ids=columns["path_ids"].astype(np.int32, copy=False),
            versions=versions,
            contradictions=contradictions,
        )

    @cached_property
    def described(self) -> InstanceFacts:
        """The files that commits added, and the deletion vectors of all."""
        return self._described if isinstance(self._described, InstanceFacts) else self._described()

    @property
    def base_rows(self) -> int:
        """The number of instances that are files of the checkpoint."""
        return self._base.num_rows

    def live(self, version: int) -> Mask:
        """Return a mask of the instances live at a version.

        Raises:
            VersionNotFound: The version is not among the readable ones.
        """
        if not self.readable_from <= version <= self.last:
            nearest = self.readable_from if version < self.readable_from else self.last
            raise VersionNotFound(
                f"Version {version} is not among the versions {self.readable_from} to {self.last} that the history "
                f"has. The nearest is {nearest}.",
                version=version,
                earliest=self.readable_from,
                latest=self.last,
                nearest=nearest,
            )
        mask: Mask = (self.added <= version) & (self.removed > version)
        return mask

    def files_at(self, version: int) -> pa.Table:
        """Return the live files of a version, columns `COLUMNS`."""
        return self.take(np.flatnonzero(self.live(version)))

    def take(self, rows: Integers, names: Sequence[str] = COLUMNS) -> pa.Table:
        """Return the files of some instances, in the requested order."""
        split = self._base.num_rows
        base, recorded = rows[rows < split], rows[rows >= split] - split
        columns = [self.described.files.column(name, recorded) for name in names]
        table = pa.Table.from_arrays(columns, schema=pa.schema([SCHEMA.field(name) for name in names]))
        if len(base):
            table = pa.concat_tables([self._base.take(base, names), table])
            order = np.concatenate([np.flatnonzero(rows < split), np.flatnonzero(rows >= split)])
            if (np.diff(order) < 0).any():
                table = table.take(int64s(np.argsort(order)))
        return table.combine_chunks()

    @cached_property
    def rows(self) -> tuple[Int64s, Mask]:
        """Rows a reader sees in each instance (physical less masked), and a mask of the known ones."""
        records, known = numbers(self._column("num_records"))
        return records - self.masked, known

    @cached_property
    def sizes(self) -> tuple[Int64s, Mask]:
        """Bytes of each instance, and a mask of those that the log records."""
        values, known = numbers(self._column("size"))
        return values, known

    @cached_property
    def masked(self) -> Int64s:
        """Rows hidden by each instance's deletion vector."""
        masked_rows: Int64s = numbers(self._column("dv_cardinality"))[0]
        return masked_rows

    @cached_property
    def with_vector(self) -> Mask:
        """A mask of the instances with a deletion vector."""
        has_vector: Mask = self.described.vectors != 0
        return has_vector

    @cached_property
    def first_added(self) -> Int32s:
        """For each instance the version that first added its path, also where that was removed meanwhile."""
        first = np.full(self._paths, NEVER, np.int32)
        np.minimum.at(first, self.path_ids, self.added)
        versions: Int32s = first[self.path_ids]
        return versions

    @cached_property
    def data_change(self) -> Mask:
        """True where the add changed data; the flags in a checkpoint do not come from the adds."""
        return np.concatenate([np.ones(self._base.num_rows, bool), self.described.files.data_change])

    @cached_property
    def remasked(self) -> npt.NDArray[np.int64]:
        """Rows of the instances whose deletion vector differs from that of the instance they replaced."""
        rows = np.flatnonzero(self.previous >= 0)
        return rows[self.vectors_differ(self.previous[rows], rows)]

    @cached_property
    def vector_files(self) -> tuple[Int32s, tuple[DeletionVectorId, ...]]:
        """For each instance, its index in a list with one identity for each file of vectors; -1 without a file."""
        files = np.full(len(self.added), -1, np.int32)
        kinds = self._column("dv_storage_type")
        rows = np.flatnonzero(validity(kinds))
        if not len(rows):
            return files, ()
        places: dict[tuple[str, str], int] = {}
        kinds, paths = (column.to_pylist() for column in self.take(rows, _VECTOR_FILE).columns)
        files[rows] = [
            -1 if kind == "i" else places.setdefault((kind, path), len(places))
            for kind, path in zip(kinds, paths, strict=True)
        ]
        return files, tuple(DeletionVectorId(kind, path) for kind, path in places)

    def vectors_differ(self, some: Integers, others: Integers) -> Mask:
        """Return for pairs of instances of one path whether their deletion vectors differ."""
        _, vectors, codes = self.described
        return codes.differ(vectors[some], vectors[others])

    def same_path(self, some: Integers, others: Integers) -> Int32s:
        """Return for each of ``others`` the position in ``some`` of the instance of the same path, or -1.

        No two of ``some`` may be of one path.
        """
        slots = np.full(self._paths, -1, np.int32)
        slots[self.path_ids[some]] = np.arange(len(some), dtype=np.int32)
        positions: Int32s = slots[self.path_ids[others]]
        return positions

    @cached_property
    def _paths(self) -> int:
        return int(self.path_ids.max(initial=-1)) + 1

    def _column(self, name: str) -> pa.Array:
        """Return a column of all instances."""
        return one_array([self._base.column(name), self.described.files.column(name)], SCHEMA.field(name).type)
