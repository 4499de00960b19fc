"""The files that commits added, as columns: what is kept of them once the bytes of their commits are gone.

Protocol section: Add File and Remove File. Invariants: a path is kept once, however many files have it; a number that
the log does not give is null, never 0 (STATS-002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import MalformedAction
from explorer.core.protocol.arrow.arrays import (
    Int32s,
    Int64s,
    Mask,
    int64s,
    integers,
    known_int64s,
    mask,
    one_array,
    string_maps,
    strings,
)
from explorer.core.protocol.logical_files import SCHEMA, decode_map
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import counts_of_lines
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes

__all__ = ["RecordedFiles"]

_Batch = dict[str, npt.NDArray[Any]]
_NO_LINE: Final = AddLine("")


class RecordedFiles:
    """Files in the order of the commits that added them; taken in batches, then read as columns.

    Args:
        paths: Takes their paths.
        vectors: Takes their deletion vectors.
    """

    def __init__(self, paths: PathCodes, vectors: VectorCodes) -> None:
        self._paths, self._vectors = paths, vectors
        self._batches: list[_Batch] = []
        self._partitions: list[pa.LargeBinaryArray] = []
        self._columns: _Batch = {}

    def take(self, lines: Sequence[AddLine]) -> tuple[Int32s, Int64s]:
        """Keep some files; returns the numbers of their decoded paths and of their deletion vectors.

        Raises:
            MalformedAction: A path names no file.
        """
        paths, raw_paths = self._paths.of_files([line.path for line in lines])
        found = [line.deletion_vector for line in lines]
        counts, counted = counts_of_lines([line.stats for line in lines])
        vectors = self._vectors.of(found)
        batch: _Batch = {
            "path": paths,
            "raw_path": raw_paths,
            "data_change": np.array([line.data_change is not False for line in lines], bool),
            "num_records": counts,
            "num_records known": counted,
            "vector": vectors,
        }
        for name, values in (
            ("size", [line.size for line in lines]),
            ("modification_time", [line.modification_time for line in lines]),
            ("base_row_id", [line.base_row_id for line in lines]),
            ("default_row_commit_version", [line.default_row_commit_version for line in lines]),
        ):
            batch[name], batch[f"{name} known"] = integers(values)
        masked = [vector for vector in found if vector is not None]
        for name in ("dv_cardinality", "dv_size_in_bytes"):
            batch[name] = np.zeros(len(lines), np.int64)
        if masked:
            rows = vectors > 0
            batch["dv_cardinality"][rows] = [vector.cardinality for vector in masked]
            batch["dv_size_in_bytes"][rows] = [vector.size_in_bytes for vector in masked]
        self._batches.append(batch)
        self._partitions.append(_binaries([line.partition_values for line in lines]))
        return paths, vectors

    def close(self, kept: Mask) -> None:
        """Put the batches together, of the files those that are to be kept."""
        names = tuple(self._batches[0]) if self._batches else ()
        for name in names:
            column = np.concatenate([batch.pop(name) for batch in self._batches])
            self._columns[name] = column if kept.all() else column[kept]
        partitions = one_array(self._partitions, pa.large_binary())
        self._partitions = [partitions if kept.all() else partitions.take(int64s(np.flatnonzero(kept)))]
        self._batches = []

    @property
    def data_change(self) -> Mask:
        """True where the add changed data."""
        return self._columns["data_change"] if self._columns else np.zeros(0, bool)

    @property
    def path_codes(self) -> Int32s:
        """Numbers of the decoded paths."""
        return self._columns["path"] if self._columns else np.zeros(0, np.int32)

    @property
    def vector_codes(self) -> Int64s:
        """Numbers of the deletion vectors, 0 for none."""
        return self._columns["vector"] if self._columns else np.zeros(0, np.int64)

    def column(self, name: str, rows: Int64s | None = None) -> pa.Array:
        """A column of `SCHEMA`, but for tags and statistics, which are not kept.

        Args:
            name: The column.
            rows: Of these files, in this order; None means all.

        Raises:
            MalformedAction: Partition values are not what the protocol says.
        """
        if not self._columns:
            return pa.nulls(0, SCHEMA.field(name).type)
        chosen = slice(None) if rows is None else rows
        if name in ("path", "raw_path"):
            return _of_codes(strings, self._paths.distinct(), self._columns[name][chosen])
        if name == "partition_values":
            return self._maps(self._partitions[0] if rows is None else self._partitions[0].take(int64s(rows)))
        if name == "data_change":
            return mask(self._columns[name][chosen])
        if name.startswith("dv_"):
            return self._of_vectors(name, chosen)
        return known_int64s(self._columns[name][chosen], self._columns[f"{name} known"][chosen])

    def _of_vectors(self, name: str, chosen: Any) -> pa.Array:
        codes = self._columns["vector"][chosen]
        if name == "dv_unique_id":
            used, places = np.unique(codes, return_inverse=True)
            return strings(self._vectors.identities(used)).take(int64s(places))
        if name in ("dv_storage_type", "dv_path_or_inline"):
            return _of_codes(strings, self._vectors.heads(name == "dv_storage_type"), VectorCodes.places(codes))
        offsets = name == "dv_offset"
        values, known = VectorCodes.offsets(codes) if offsets else (self._columns[name][chosen], codes > 0)
        return known_int64s(values, known).cast(SCHEMA.field(name).type)

    def _maps(self, texts: pa.LargeBinaryArray) -> pa.MapArray:
        """Decode partition values, each distinct text once."""
        encoded = texts.dictionary_encode()
        maps = []
        for text in encoded.dictionary.to_pylist():
            try:
                maps.append(decode_map(msgspec.Raw(text), _NO_LINE, "partitionValues") or {})
            except MalformedAction:
                row = self._partitions[0].index(pa.scalar(text, pa.large_binary())).as_py()
                path = self.column("raw_path", np.array([row]))[0].as_py()
                decode_map(msgspec.Raw(text), AddLine(path), "partitionValues")
        return string_maps(maps).take(encoded.indices)


def _of_codes(column: Callable[[Any], pa.Array], values: Any, codes: Any) -> pa.Array:
    """The column of some values by their numbers; null where the number is negative."""
    used, places = np.unique(codes, return_inverse=True)
    return column([None if code < 0 else values[code] for code in used.tolist()]).take(int64s(places))


def _binaries(raws: Sequence[msgspec.Raw]) -> pa.LargeBinaryArray:
    offsets = np.zeros(len(raws) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(raws))]
    return pa.Array.from_buffers(pa.large_binary(), len(raws), buffers)
