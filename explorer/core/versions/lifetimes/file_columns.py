"""Files of some lines as columns, whether the lines were decoded one by one or are similar.

Protocol section: Add File and Remove File. Invariants: a number that is not in the log is unknown, never 0 (STATS-002);
a column that is the same in all files takes no memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from explorer.core.log.similar_lines import SimilarActions
from explorer.core.protocol.arrow.arrays import Int32s, Int64s, Integers, Mask, integers
from explorer.core.protocol.arrow.text_spans import TextSpans
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.record_counts import counts_of_lines
from explorer.core.versions.lifetimes.batches import Arrays, constant, thin
from explorer.core.versions.lifetimes.codes import PathCodes, VectorCodes
from explorer.core.versions.lifetimes.text_codes import TextCodes

_NUMBERS: Final = (
    "size",
    "modification_time",
    "base_row_id",
    "default_row_commit_version",
    "dv_cardinality",
    "dv_size_in_bytes",
)


class FileColumns(NamedTuple):
    """Some files.

    Attributes:
        arrays: Numbers of decoded paths, of paths as written, of partition values and of deletion vectors, whether
        data changed, and the numbers of the log.
        known: Masks: where the log has the latter.
    """

    arrays: Arrays
    known: Arrays


class FileCodes(NamedTuple):
    """The numbers of paths, of partition values as JSON, and of deletion vectors."""

    paths: PathCodes
    partitions: TextCodes
    vectors: VectorCodes

    def copy(self) -> FileCodes:
        """Return a copy of the numbers, to continue independently."""
        return FileCodes(self.paths.copy(), self.partitions.copy(), self.vectors.copy())


def columns_of_lines(lines: Sequence[AddLine], codes: FileCodes) -> FileColumns:
    """Return the columns of adds that were decoded one by one.

    Raises:
        MalformedAction: A path names no file.
    """
    decoded, written = codes.paths.of_files(TextSpans.of_texts([line.path for line in lines]))
    descriptors = [line.deletion_vector for line in lines]
    recorded = {
        "num_records": counts_of_lines(TextSpans.of_bytes([line.stats for line in lines])),
        "size": _known_integers([line.size for line in lines]),
        "modification_time": _known_integers([line.modification_time for line in lines]),
        "base_row_id": _known_integers([line.base_row_id for line in lines]),
        "default_row_commit_version": _known_integers([line.default_row_commit_version for line in lines]),
        "dv_cardinality": _known_integers([None if vector is None else vector.cardinality for vector in descriptors]),
        "dv_size_in_bytes": _known_integers(
            [None if vector is None else vector.size_in_bytes for vector in descriptors]
        ),
    }
    coded: Arrays = {
        "path": decoded,
        "raw_path": written,
        "partition": codes.partitions.of(TextSpans.of_bytes([line.partition_values for line in lines])),
        "vector": codes.vectors.of(descriptors),
        "data_change": thin(np.array([line.data_change is not False for line in lines], bool)),
    }
    return _columns(coded, recorded)


def columns_of_similar(adds: SimilarActions, decoded: Int32s, written: Int32s, codes: FileCodes) -> FileColumns:
    """Return the columns of adds from similar lines.

    Args:
        decoded, written: The numbers of their paths, as `PathCodes.of_files` returns them.
    """
    count = len(adds.places)
    stats = adds.texts.get("stats")
    recorded = {"num_records": _unknown(count) if stats is None else counts_of_lines(stats)}
    for name in _NUMBERS:
        values = adds.numbers.get(name)
        recorded[name] = _unknown(count) if values is None else (values, constant(np.bool_(1), count))
    partitions = adds.texts.get("partition_values")
    if partitions is None:
        partitions = TextSpans.of_bytes([b""] * count)
    coded: Arrays = {
        "path": decoded,
        "raw_path": written,
        "partition": codes.partitions.of(partitions),
        "vector": vectors_of_similar(adds, codes.vectors),
        "data_change": constant(np.bool_(adds.like.data_change is not False), count),
    }
    return _columns(coded, recorded)


def vectors_of_similar(actions: SimilarActions, vectors: VectorCodes) -> Int64s:
    """Return the numbers of the deletion vectors of actions from similar lines, 0 for none."""
    vector = actions.like.deletion_vector
    if vector is None:
        return np.zeros(len(actions.places), np.int64)
    offsets = actions.numbers.get("dv_offset")
    return vectors.of_texts(vector.storage_type, actions.texts["dv_path_or_inline"], offsets)


def merged(parts: Sequence[tuple[Int64s, FileColumns]], count: int) -> FileColumns:
    """Return files of several groups as one, each at its position."""
    if len(parts) == 1:
        return parts[0][1]
    columns = [files for _, files in parts]
    order = np.empty(count, np.int64)
    order[np.concatenate([places for places, _ in parts])] = np.arange(count)
    arrays = {name: thin(np.concatenate([each.arrays[name] for each in columns])[order]) for name in columns[0].arrays}
    known = {name: thin(np.concatenate([each.known[name] for each in columns])[order]) for name in columns[0].known}
    return FileColumns(arrays, known)


def _columns(coded: Arrays, recorded: Mapping[str, tuple[Integers, Mask]]) -> FileColumns:
    """Return numbers of texts and flags, and the numbers of the log, with masks of the known ones."""
    values, known = ({name: pair[of] for name, pair in recorded.items()} for of in (0, 1))
    return FileColumns({**coded, **values}, {name: thin(flags) for name, flags in known.items()})


def _unknown(count: int) -> tuple[Integers, Mask]:
    return constant(np.int64(0), count), constant(np.bool_(0), count)


def _known_integers(values: Sequence[int | None]) -> tuple[Integers, Mask]:
    """Return integers and a mask of the known ones; a column that a table does not use is null in all of its files."""
    if values.count(None) == len(values):
        return _unknown(len(values))
    return integers(values)
