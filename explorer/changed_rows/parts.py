"""The parts that files play in changes: all rows that a vector does not mask, or those whose masking changed.

Protocol sections: Add CDC File, Deletion Vectors. Invariant: rows outside the parts are never given (CDF-008, CDF-009).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.deletion_vectors import read_rows
from explorer.core.protocol.logical_files import vector_descriptors
from explorer.core.versions.change_feed.sources import masked_difference

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog

Side = Literal["insert", "delete"]


@dataclass(frozen=True, slots=True)
class SourcePart:
    """Some rows of the file of a source.

    Attributes:
        source: Its row among the sources.
        change: What happened to the rows; None where the file itself says.
        places: Places of rows in the file, ascending.
        inside: True for the rows at these places, False for all others.
    """

    source: int
    change: Side | None
    places: npt.NDArray[np.uint64]
    inside: bool


def source_parts(log: DeltaLog, files: pa.Table) -> Iterator[SourcePart]:
    """Yield the parts that the files of sources play; reads deletion vectors.

    Args:
        log: The table's log.
        files: Sources, columns as in `explorer.core.versions.change_feed.feed.ChangeSources`.

    Raises:
        CorruptDeletionVector: A vector does not match its descriptor; it names the file and the version.
    """
    none = np.empty(0, np.uint64)
    names = ("kind", "raw_path", "version")
    listed = zip(*(files.column(name).to_pylist() for name in names), strict=True)
    vectors = zip(vector_descriptors(files), vector_descriptors(files, "before_"), strict=True)
    for source, ((kind, raw_path, version), (vector, before)) in enumerate(zip(listed, vectors, strict=True)):
        if kind == "cdc":
            yield SourcePart(source, None, none, inside=False)
        elif kind == "difference":
            deleted, inserted = masked_difference(log.store, before, vector, raw_path, version)
            if len(deleted):
                yield SourcePart(source, "delete", deleted, inside=True)
            if len(inserted):
                yield SourcePart(source, "insert", inserted, inside=True)
        else:
            masked = none if vector is None else read_rows(log.store, vector, raw_path, version)
            yield SourcePart(source, kind, masked, inside=False)
