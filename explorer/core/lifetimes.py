"""Every logical file as an interval of versions: any version's live files are one mask, any diff one XOR.

Protocol section: Action Reconciliation. Invariants: an instance lives from the version that added it up to, not
including, the version that removed or replaced it; two instances of one path never live at once (D-03); an instance
that re-adds or re-masks a path in the version that ends the former one points back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.actions import DeletionVectorDescriptor
from explorer.core.columns import int64s, numbers, validity
from explorer.core.commits import AddLine
from explorer.core.errors import VersionNotFound
from explorer.core.logical_files import SCHEMA, LineSource, LogicalFiles

__all__ = ["COLUMNS", "NEVER", "Lifetimes"]

Mask = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

NEVER: Final = int(np.iinfo(np.int32).max)
"""``removed`` of a file that is still live."""

COLUMNS: Final = tuple(name for name in SCHEMA.names if name not in ("tags", "stats"))
"""The columns that are kept of every instance."""


class Lifetimes:
    """All instances of logical files over the recorded versions, those of the first checkpoint before the others.

    Attributes:
        added: Version that added each; ``first - 1`` for files from before the record.
        removed: Version that removed or replaced each; `NEVER` if live at the end.
        previous: Row of the instance of the same path that this one replaced in the same version, or -1.
        removed_data_change: False where the removal only rearranged data.
        deletion_times: When each was removed by its tombstone, ms since the epoch; 0 where the tombstone does not say
            (FILE-003), where there is none, or where it is live.
        first, last: The recorded versions.
        readable_from: The first version whose live files are known whole.
    """

    def __init__(
        self,
        base: LogicalFiles,
        lines: Sequence[AddLine],
        counts: tuple[Int64s, Mask],
        *,
        added: Int32s,
        removed: Int32s,
        previous: Int32s,
        path_ids: Callable[[], Int32s],
        removed_data_change: Mask,
        deletion_times: Int64s,
        versions: tuple[int, int, int],
    ) -> None:
        self._base, self._lines, self._counts = base, lines, counts
        self.added, self.removed, self.previous, self._make_path_ids = added, removed, previous, path_ids
        self.removed_data_change, self.deletion_times = removed_data_change, deletion_times
        self.first, self.readable_from, self.last = versions

    def live(self, version: int) -> Mask:
        """Mask of the instances live at a version.

        Raises:
            VersionNotFound: The version is not among the readable ones.
        """
        if not self.readable_from <= version <= self.last:
            nearest = self.readable_from if version < self.readable_from else self.last
            raise VersionNotFound(
                f"Version {version} is not among the readable versions {self.readable_from} to {self.last}. "
                f"The nearest is {nearest}.",
                version=version,
                earliest=self.readable_from,
                latest=self.last,
                nearest=nearest,
            )
        mask: Mask = (self.added <= version) & (self.removed > version)
        return mask

    def files_at(self, version: int) -> pa.Table:
        """The live files of a version, columns `COLUMNS`."""
        return self.take(np.flatnonzero(self.live(version)))

    def take(self, rows: npt.NDArray[Any], names: Sequence[str] = COLUMNS) -> pa.Table:
        """The files of some instances, in the order asked."""
        split = self._base.num_rows
        base, lines = rows[rows < split], rows[rows >= split] - split
        parts = [self._base.take(base, names)] if len(base) else []
        chosen = [self._lines[row] for row in lines.tolist()]
        table = LogicalFiles([LineSource(chosen)]).select(names)
        if "num_records" in names:
            values, known = self._counts
            counts = int64s([int(values[row]) if known[row] else None for row in lines.tolist()])
            table = table.set_column(names.index("num_records"), "num_records", counts)
        joined = pa.concat_tables([*parts, table]) if chosen or not parts else parts[0]
        order = np.concatenate([np.flatnonzero(rows < split), np.flatnonzero(rows >= split)])
        if (np.diff(order) < 0).any():
            joined = joined.take(int64s(np.argsort(order).tolist()))
        return joined.combine_chunks()

    @cached_property
    def path_ids(self) -> Int32s:
        """Equal for instances of one path."""
        return self._make_path_ids()

    @cached_property
    def rows(self) -> tuple[Int64s, Mask]:
        """Rows a reader sees in each instance (physical less masked), and where that is known."""
        records, known = self._numbers("num_records", self._counts)
        return records - self.masked, known

    @cached_property
    def sizes(self) -> tuple[Int64s, Mask]:
        """Bytes of each instance, and where the log says so."""
        return self._numbers("size", numbers(int64s([line.size for line in self._lines])))

    @cached_property
    def masked(self) -> Int64s:
        """Rows hidden by each instance's deletion vector."""
        vectors = [line.deletion_vector for line in self._lines]
        cards = [0 if vector is None else vector.cardinality for vector in vectors]
        return self._numbers("dv_cardinality", numbers(int64s(cards)))[0]

    @cached_property
    def data_change(self) -> Mask:
        """True where the add changed data."""
        lines = np.fromiter((line.data_change is not False for line in self._lines), bool, len(self._lines))
        return np.concatenate([np.ones(self._base.num_rows, bool), lines])

    @cached_property
    def remade(self) -> npt.NDArray[np.int64]:
        """Rows of the instances whose deletion vector differs from that of the instance they replaced."""
        rows = np.flatnonzero(self.previous >= 0)
        return rows[self.vectors_differ(self.previous[rows], rows)]

    @cached_property
    def vector_files(self) -> tuple[Int32s, tuple[DeletionVectorDescriptor, ...]]:
        """For each instance, its place in a list of descriptors, one for each file of vectors; -1 without a file."""
        places: dict[str, int] = {}
        found: list[DeletionVectorDescriptor] = []
        files = np.full(len(self.added), -1, np.int32)
        for row, vector in self._vectors():
            if vector.storage_type == "i":
                continue
            place = places.setdefault(vector.storage_type + vector.path_or_inline_dv, len(found))
            if place == len(found):
                found.append(vector)
            files[row] = place
        return files, tuple(found)

    def _vectors(self) -> Iterator[tuple[int, DeletionVectorDescriptor]]:
        """(row, descriptor) of the instances with a deletion vector."""
        split, kinds = self._base.num_rows, self._base.column("dv_storage_type")
        if kinds.null_count < split:
            rows = np.flatnonzero(validity(kinds))
            columns = ("dv_storage_type", "dv_path_or_inline", "dv_size_in_bytes", "dv_cardinality", "dv_offset")
            values = (column.to_pylist() for column in self._base.take(rows, columns).columns)
            for row, parts in zip(rows.tolist(), zip(*values, strict=True), strict=True):
                yield row, DeletionVectorDescriptor(*parts)
        for row, line in enumerate(self._lines, split):
            if line.deletion_vector is not None:
                yield row, line.deletion_vector

    def vectors_differ(self, some: npt.NDArray[Any], others: npt.NDArray[Any]) -> Mask:
        """For pairs of instances, whether their deletion vectors are different ones."""
        differs: Mask = self._vector_codes[some] != self._vector_codes[others]
        return differs

    def same_path(self, some: npt.NDArray[Any], others: npt.NDArray[Any]) -> Int32s:
        """For each of ``others``, the position in ``some`` of the instance of the same path, or -1.

        No two of ``some`` may be of one path.
        """
        slots = np.full(self._paths, -1, np.int32)
        slots[self.path_ids[some]] = np.arange(len(some), dtype=np.int32)
        found: Int32s = slots[self.path_ids[others]]
        return found

    @cached_property
    def _paths(self) -> int:
        return int(self.path_ids.max(initial=-1)) + 1

    @cached_property
    def _vector_codes(self) -> Int32s:
        """Equal numbers for instances with the same deletion vector; 0 for none."""
        codes: dict[str, int] = {}
        numbered = np.zeros(len(self.added), np.int32)
        found = list(self._vectors())
        rows = [row for row, _ in found]
        numbered[rows] = [codes.setdefault(vector.unique_id, len(codes) + 1) for _, vector in found]
        return numbered

    def _numbers(self, name: str, lines: tuple[Int64s, Mask]) -> tuple[Int64s, Mask]:
        """Values with 0 for null, and where they are not null: base first, then lines."""
        head, head_known = numbers(self._base.column(name))
        return np.concatenate([head, lines[0]]), np.concatenate([head_known, lines[1]])
