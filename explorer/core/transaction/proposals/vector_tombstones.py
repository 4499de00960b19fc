"""Tombstones for files of deletion vectors, written when a table drops the feature.

Protocol sections: Deletion Vectors, Action Reconciliation (tombstones). Clients without the feature see a file of
vectors as one that nothing names, and their VACUUM deletes it at once, while earlier versions still need it.
Invariant: each file of vectors that an unexpired tombstone names gets a tombstone of its own, as in the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from explorer.core.log.writing.writer_state import CarriedActions
from explorer.core.protocol.actions import DeletionVectorId, Remove
from explorer.core.protocol.arrow.arrays import mask, numbers
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import canonical_key, encode_path, is_absolute
from explorer.core.protocol.raw_actions import RemoveLine
from explorer.core.protocol.table_properties.registry import FILE_RETENTION
from explorer.core.protocol.times import span_milliseconds

__all__ = ["vector_tombstones"]

_CHUNK: Final = 1 << 14


def vector_tombstones(carried: CarriedActions, now: int) -> tuple[Remove, ...]:
    """Make the tombstones.

    Args:
        carried: The version with its tombstones.
        now: ms since the epoch.

    Raises:
        CorruptTable: The retention has no readable value.
        CorruptDeletionVector: A vector does not say where it is.
    """
    configuration = carried.state.metadata.configuration
    after = now - span_milliseconds(FILE_RETENTION.of(configuration))
    places: set[str] = set()
    removed: set[str] = set()
    for path, vector in _tombstones(carried, after):
        removed.add(canonical_key(path))
        place = None if vector is None else location(vector)
        # Vectors at absolute locations belong to the table that a clone was made from.
        if place is not None and not is_absolute(place):
            places.add(place)
    paths = (encode_path(place) for place in sorted(places - removed))
    return tuple(Remove(path=path, deletion_timestamp=now, data_change=False) for path in paths)


def _tombstones(carried: CarriedActions, after: int) -> Iterator[tuple[str, DeletionVectorId | None]]:
    """Path and vector of each tombstone whose time is after a moment."""
    for chunk in carried.removes(_CHUNK):
        if isinstance(chunk, list):
            yield from ((line.path, _id(line)) for line in chunk if (line.deletion_timestamp or 0) > after)
        else:
            yield from _of_checkpoint(chunk, after)


def _id(line: RemoveLine) -> DeletionVectorId | None:
    return None if line.deletion_vector is None else line.deletion_vector.id


def _of_checkpoint(chunk: pa.StructArray, after: int) -> Iterator[tuple[str, DeletionVectorId | None]]:
    members = dict(zip([field.name for field in chunk.type], chunk.flatten(), strict=True))
    if "deletionTimestamp" not in members:
        return
    times, _ = numbers(members["deletionTimestamp"].cast(pa.int64()))
    young = mask(times > after)
    paths = members["path"].filter(young).to_pylist()
    vectors = (
        members["deletionVector"].filter(young).to_pylist() if "deletionVector" in members else [None] * len(paths)
    )
    for path, vector in zip(paths, vectors, strict=True):
        if vector is None or vector["storageType"] is None:
            yield path, None
        else:
            yield path, DeletionVectorId(vector["storageType"], vector["pathOrInlineDv"])
