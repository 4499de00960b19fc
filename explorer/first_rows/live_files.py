"""The files of a page: where they are, which of their rows are masked, and how they are read side by side.

Protocol section: Deletion Vectors. Invariants: a deletion vector is read once for a page; what a remote store must
answer for one file does not wait for its answers for another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.actions import DeletionVectorDescriptor
from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.file_locations import FileLocations
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import vector_descriptors

_T = TypeVar("_T")
MaskedRows = npt.NDArray[np.uint64]
_NONE: Final = np.empty(0, np.uint64)
_NONE.flags.writeable = False
_THREADS: Final = 64
# Threads take longer than local files, unless these are on a disk that lets a reader wait for longer, in seconds.
_PATIENCE: Final = 0.1


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file of a version.

    Attributes:
        store, key: Where it is.
        raw_path: Its path as the log has it.
        size: Its bytes by the log; None if it does not say.
        version: The version, for errors.
        vector: Its deletion vector.
        vectors: The store of its vector, where that is not absolute.
    """

    store: LogStore
    key: str
    raw_path: str
    size: int | None
    version: int
    vector: DeletionVectorDescriptor | None
    vectors: LogStore

    def masked(self) -> MaskedRows:
        """Read the places of its masked rows, ascending.

        Raises:
            CorruptDeletionVector, UnsupportedFeature, LimitExceeded: As for
                `explorer.core.protocol.deletion_vectors.read_rows`.
        """
        return _NONE if self.vector is None else read_rows(self.vectors, self.vector, self.raw_path, self.version)


def live_files(store: LogStore, files: pa.Table, version: int) -> list[LiveFile]:
    """Return the files of some rows of ``snapshot.file_part``.

    Args:
        store: The table's.
        version: For errors.
    """
    locations = FileLocations(store)
    listed = zip(
        *(files.column(name).to_pylist() for name in ("raw_path", "path", "size")),
        vector_descriptors(files),
        strict=True,
    )
    return [
        LiveFile(*locations.place_of(path), raw_path, size, version, vector, store)
        for raw_path, path, size, vector in listed
    ]


def read_side_by_side(
    files: Sequence[LiveFile], read: Callable[[int, Callable[[], MaskedRows]], _T], *, masked: bool
) -> list[_T]:
    """Return the results of a function for each file, which gets its number and what returns its masked rows.

    Args:
        masked: Take no row for masked.
    """
    none = masked or all(file.vector is None for file in files)
    if all(file.store.root.startswith("file:") for file in files):
        return _quick_first(lambda place: read(place, (lambda: _NONE) if none else files[place].masked), len(files))
    with _threads(len(files) if none else 2 * len(files)) as threads:
        # The vectors come first, so that no thread waits for one that has not begun.
        vectors = [(lambda: _NONE) if none else threads.submit(file.masked).result for file in files]
        return [each.result() for each in [threads.submit(read, place, vectors[place]) for place in range(len(files))]]


def read_vectors(files: Sequence[LiveFile]) -> list[MaskedRows]:
    """Return the masked rows of each file."""
    if len(files) < 2:
        return [file.masked() for file in files]
    with _threads(len(files)) as threads:
        return list(threads.map(LiveFile.masked, files))


def _quick_first(read: Callable[[int], _T], count: int) -> list[_T]:
    """Read one after the other while that is not to wait, and then the others side by side."""
    results: list[_T] = []
    began, worked = time.perf_counter(), time.thread_time()
    while len(results) < count:
        results.append(read(len(results)))
        waited = (time.perf_counter() - began) - (time.thread_time() - worked)
        if waited > _PATIENCE and len(results) < count:
            with _threads(min(16, count - len(results))) as threads:
                return [*results, *threads.map(read, range(len(results), count))]
    return results


@contextmanager
def _threads(most: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for some work; after an error, what has not begun is left."""
    threads = ThreadPoolExecutor(min(_THREADS, max(1, most)), thread_name_prefix="explorer-first-rows")
    try:
        yield threads
    finally:
        threads.shutdown(cancel_futures=True)
