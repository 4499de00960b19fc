"""Every logical file as an interval of versions: any version's live files are one mask, any diff one XOR.

Protocol section: Action Reconciliation. Invariants: an instance lives from the version that added it up to, not
including, the version that removed or replaced it; two instances of one path never live at once (D-03); an instance
that re-adds or re-masks a path in the version that ends the former one points back to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.columns import int64s
from explorer.core.commits import AddLine, Commit, RemoveLine
from explorer.core.errors import VersionNotFound
from explorer.core.logical_files import empty_files, from_lines
from explorer.core.uris import canonical_key

__all__ = ["NEVER", "Lifetimes", "LifetimesBuilder"]

Mask = npt.NDArray[np.bool_]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

NEVER: Final = np.iinfo(np.int32).max
"""``removed`` of a file that is still live."""


class Lifetimes:
    """All instances of logical files over the recorded versions.

    Attributes:
        files: One row an instance, columns of `explorer.core.logical_files.SCHEMA`.
        added: Version that added each; ``first - 1`` for files from before the record.
        removed: Version that removed or replaced each; `NEVER` if live at the end.
        previous: Row of the instance of the same path that this one replaced in the same version, or -1.
        removed_data_change: False where the removal only rearranged data.
        first, last: The recorded versions.
        readable_from: The first version whose live files are known whole.
    """

    def __init__(
        self,
        files: pa.Table,
        *,
        added: Int32s,
        removed: Int32s,
        previous: Int32s,
        removed_data_change: Mask,
        versions: tuple[int, int, int],
    ) -> None:
        self.files = files
        self.added, self.removed, self.previous = added, removed, previous
        self.removed_data_change = removed_data_change
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
        """The live files of a version."""
        return self.files.filter(pa.array(self.live(version)))

    def rows(self) -> tuple[Int64s, Mask]:
        """Rows a reader sees in each instance (physical less masked), and where that is known."""
        records, known = _numbers(self.files.column("num_records"))
        masked, _ = _numbers(self.files.column("dv_cardinality"))
        return records - masked, known

    def sizes(self) -> tuple[Int64s, Mask]:
        """Bytes of each instance, and where the log says so."""
        return _numbers(self.files.column("size"))

    def masked(self) -> Int64s:
        """Rows hidden by each instance's deletion vector."""
        return _numbers(self.files.column("dv_cardinality"))[0]

    def data_change(self) -> Mask:
        """True where the add changed data."""
        return np.array([flag is not False for flag in self.files.column("data_change").to_pylist()], bool)


class LifetimesBuilder:
    """Takes commits in ascending order, and a checkpoint where the record does not begin at version 0.

    Rows are numbered as they come; those of the checkpoint come together, so that both sources stay whole columns.
    """

    def __init__(self, first: int, readable_from: int) -> None:
        self._first, self._readable_from = first, readable_from
        self._lines: list[AddLine] = []
        self._base: tuple[int, pa.Table] = (0, empty_files())
        self._added: list[int] = []
        self._removed: list[int] = []
        self._previous: list[int] = []
        self._rearranged: list[int] = []
        self._live: dict[str, tuple[int, str | None]] = {}

    def checkpoint(self, files: pa.Table) -> None:
        """Take the live files of the first readable version; those already seen stay as they are."""
        keys = files.column("path").to_pylist()
        vector_ids = files.column("dv_unique_id").to_pylist()
        unseen = [row for row, key in enumerate(keys) if key not in self._live]
        self._base = len(self._lines), files.take(int64s(unseen))
        for row in unseen:
            self._live[keys[row]] = self._append(self._first - 1), vector_ids[row]

    def commit(self, commit: Commit) -> None:
        """Take the file actions of a commit, in line order."""
        ended: dict[str, int] = {}
        for line in commit.lines:
            if line.add is not None:
                self._add(line.add, commit.version, ended)
            elif line.remove is not None:
                self._remove(line.remove, commit.version, ended)

    def build(self, last: int) -> Lifetimes:
        """Make the table of everything taken so far."""
        split, base = self._base
        files = pa.concat_tables([from_lines(self._lines[:split]), base, from_lines(self._lines[split:])])
        changed = np.ones(len(self._added), bool)
        changed[self._rearranged] = False
        return Lifetimes(
            files.combine_chunks(),
            added=np.array(self._added, np.int32),
            removed=np.array(self._removed, np.int32),
            previous=np.array(self._previous, np.int32),
            removed_data_change=changed,
            versions=(self._first, self._readable_from, last),
        )

    def _add(self, add: AddLine, version: int, ended: dict[str, int]) -> None:
        key = canonical_key(add.path)
        current = self._live.get(key)
        if current is not None:
            self._end(current[0], version)
            ended[key] = current[0]
        self._lines.append(add)
        row = self._append(version, ended.get(key, -1))
        self._live[key] = row, _vector_id(add)

    def _remove(self, remove: RemoveLine, version: int, ended: dict[str, int]) -> None:
        key, vector_id = canonical_key(remove.path), _vector_id(remove)
        current = self._live.get(key)
        if current is not None and current[1] == vector_id:
            row = current[0]
            del self._live[key]
            self._end(row, version)
            ended[key] = row
        elif current is not None and self._added[current[0]] == version and key in ended:
            row = ended[key]
        elif version <= self._readable_from and key not in ended:
            row = self._from_before(remove, version)
            ended[key] = row
            if current is not None and self._added[current[0]] == version:
                self._previous[current[0]] = row
        else:
            return
        if remove.data_change is False:
            self._rearranged.append(row)

    def _from_before(self, remove: RemoveLine, version: int) -> int:
        """A file that the record only shows leaving: what is known of it is what its remove says."""
        self._lines.append(
            AddLine(
                remove.path,
                remove.partition_values,
                remove.size,
                stats=remove.stats,
                deletion_vector=remove.deletion_vector,
            )
        )
        row = self._append(self._first - 1)
        self._end(row, version)
        return row

    def _append(self, version: int, previous: int = -1) -> int:
        self._added.append(version)
        self._removed.append(NEVER)
        self._previous.append(previous)
        return len(self._added) - 1

    def _end(self, row: int, version: int) -> None:
        self._removed[row] = version


def _vector_id(line: AddLine | RemoveLine) -> str | None:
    return None if line.deletion_vector is None else line.deletion_vector.unique_id


def _numbers(column: pa.ChunkedArray) -> tuple[Int64s, Mask]:
    """Values with 0 for null, and where they are not null."""
    known: Mask = np.array(column.is_valid().to_pylist(), bool)
    values: Int64s = np.zeros(len(column), np.int64)
    values[known] = column.drop_null().to_numpy()
    return values, known
