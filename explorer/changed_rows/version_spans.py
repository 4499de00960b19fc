"""The versions in which rows of files were visible.

Protocol section: Deletion Vectors. Invariants: a row is visible from the version that added its file to the one before
its file was removed or masked it; spans of one value neither overlap nor touch with the same number of copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import pyarrow as pa

from explorer.changed_rows.comparable import comparable_rows
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import vector_descriptors

_Row = TypeVar("_Row")


def row_spans(store: LogStore, files: pa.Table, rows: pa.Table) -> pa.Table:
    """Return the versions in which each row was visible.

    Args:
        store: The table's store; deletion vectors are read from it.
        files: The files, one row for each deletion vector that they had; columns of
            `explorer.core.versions.change_feed.key_files`.
        rows: The rows: any columns, then the file's decoded path and the row's index.

    Returns:
        from_version, to_version (inclusive), copies, row (a struct of the columns); ascending.

    Raises:
        CorruptDeletionVector: A vector does not match its descriptor.
    """
    values = rows.select(range(rows.num_columns - 2)).combine_chunks()
    identities: list[Hashable] = list(
        comparable_rows([column.combine_chunks() for column in values.columns], values.num_rows)
    )
    first_place = {identity: place for place, identity in reversed(list(enumerate(identities)))}
    changes: dict[Hashable, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    places = zip(identities, *(rows.column(-2 + i).to_pylist() for i in range(2)), strict=True)
    by_file: dict[str, list[tuple[Hashable, int]]] = defaultdict(list)
    for identity, path, index in places:
        by_file[path].append((identity, index))
    for path, first, last, masked in instances_of(store, files, by_file):
        for identity, index in by_file[path]:
            if index not in masked:
                changes[identity][first] += 1
                changes[identity][last + 1] -= 1
    spans = sorted(
        (begin, end, copies, first_place[identity])
        for identity, steps in changes.items()
        for begin, end, copies in _runs(steps)
    )
    return _table(spans, values)


def instances_of(
    store: LogStore, files: pa.Table, wanted: Mapping[str, Sequence[tuple[_Row, int]]]
) -> Iterator[tuple[str, int, int, frozenset[int]]]:
    """Yield path, first and last version, and masked rows of the instances of some paths."""
    facts = (files.column(name).to_pylist() for name in ("path", "raw_path", "first", "last"))
    for path, raw_path, first, last, vector in zip(*facts, vector_descriptors(files), strict=True):
        if path not in wanted:
            continue
        masked: frozenset[int] = frozenset()
        if vector is not None:
            indexes = np.array([index for _, index in wanted[path]], np.uint64)
            masked = frozenset(np.intersect1d(indexes, read_rows(store, vector, raw_path, last)).tolist())
        yield path, first, last, masked


def _runs(steps: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """Yield the longest runs of versions with the same number of copies, from what changes at each version."""
    copies = 0
    for begin, following in pairwise(sorted(version for version, change in steps.items() if change)):
        copies += steps[begin]
        if copies:
            yield begin, following - 1, copies


def _table(spans: list[tuple[int, int, int, int]], values: pa.Table) -> pa.Table:
    columns = list(zip(*spans, strict=True)) or [(), (), (), ()]
    arrays = [column.combine_chunks() for column in values.columns]
    row = pa.StructArray.from_arrays(arrays, names=values.column_names)
    return pa.table(
        {
            "from_version": pa.array(columns[0], pa.int64()),
            "to_version": pa.array(columns[1], pa.int64()),
            "copies": pa.array(columns[2], pa.int64()),
            "row": row.take(pa.array(columns[3], pa.int64())),
        }
    )
