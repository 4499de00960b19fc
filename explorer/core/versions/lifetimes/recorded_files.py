"""The files that commits added, as columns that stay after the bytes of their commits are released.

Protocol section: Add File and Remove File. Invariants: a path is stored once, however many files have it; a number that
is not in the log is null, never 0 (STATS-002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.errors import MalformedAction
from explorer.core.protocol.arrow.arrays import (
    Int32s,
    Int64s,
    Integers,
    Mask,
    int64s,
    known_int64s,
    mask,
    numbers,
    numpy_array,
    only_array,
    plain_array,
    string_maps,
    strings,
)
from explorer.core.protocol.logical_files import SCHEMA, decode_map
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.versions.lifetimes.batches import Arrays, Batches, chosen
from explorer.core.versions.lifetimes.codes import VectorCodes
from explorer.core.versions.lifetimes.file_columns import FileCodes, FileColumns, columns_of_lines

_NO_LINE: Final = AddLine("")
_CODES: Final = ("path", "raw_path", "partition", "vector", "data_change")


class RecordedFilesBuilder:
    """Takes files in the order of the commits that added them, a batch at a time.

    Attributes:
        codes: As given.
    """

    def __init__(self, codes: FileCodes) -> None:
        self.codes = codes
        self._arrays, self._known = Batches(), Batches()

    def copy(self, codes: FileCodes) -> RecordedFilesBuilder:
        """Return a copy of the files so far, to continue independently, with a copy of the codes."""
        builder = RecordedFilesBuilder(codes)
        builder._arrays, builder._known = self._arrays.copy(), self._known.copy()
        return builder

    def take(self, files: FileColumns) -> None:
        """Add some files."""
        self._arrays.append(files.arrays)
        self._known.append(files.known)

    def table(self) -> pa.Table:
        """Return all files so far, as columns that `again` takes."""
        self._take_none()
        arrays, known = self._arrays.joined(), self._known.joined()
        columns = {name: plain_array(arrays[name]) for name in _CODES}
        for name, values in known.items():
            columns[name] = (
                known_int64s(arrays[name].astype(np.int64, copy=False), values.astype(np.bool_, copy=False))
                if values.any()
                else pa.nulls(len(values))
            )
        return pa.table(columns)

    @classmethod
    def again(cls, files: pa.Table, codes: FileCodes) -> RecordedFilesBuilder:
        """Return a builder that continues from a table."""
        builder, columns = cls(codes), {name: only_array(files, name) for name in files.column_names}
        numbered = {name: _restored(columns[name]) for name in columns.keys() - {*_CODES}}
        coded = {name: numpy_array(columns[name], flags=name == "data_change") for name in _CODES}
        builder._arrays = Batches([{**coded, **{name: values for name, (values, _) in numbered.items()}}])
        builder._known = Batches([{name: known for name, (_, known) in numbered.items()}])
        return builder

    def build(self, rows: Mask, *, last: bool) -> RecordedFiles:
        """Join the batches, with some of the files.

        Args:
            last: Nothing is taken afterwards; the builder is empty then.
        """
        self._take_none()
        arrays, known = self._arrays.joined(last=last), self._known.joined(last=last)
        # One batch from now on, which shares its columns with what is returned.
        self._arrays, self._known = (Batches(), Batches()) if last else (Batches([arrays]), Batches([known]))
        return RecordedFiles(self.codes, chosen(arrays, rows), chosen(known, rows))

    def _take_none(self) -> None:
        """Create all columns, even without a file."""
        if not self._arrays:
            self.take(columns_of_lines((), self.codes))


class RecordedFiles:
    """Files that commits added, as columns.

    Args:
        known: Masks of the columns of numbers: where they are not null.
    """

    def __init__(self, codes: FileCodes, arrays: Arrays, known: Arrays) -> None:
        self._codes, self._arrays, self._known = codes, arrays, known

    @property
    def data_change(self) -> Mask:
        """A mask: true where the add changed data."""
        return self._arrays["data_change"].astype(np.bool_, copy=False)

    @property
    def path_codes(self) -> Int32s:
        """Numbers of the decoded paths."""
        return self._arrays["path"].astype(np.int32, copy=False)

    @property
    def vector_codes(self) -> Int64s:
        """Numbers of the deletion vectors, 0 for none."""
        return self._arrays["vector"].astype(np.int64, copy=False)

    def column(self, name: str, rows: Int64s | None = None) -> pa.Array:
        """Return a column of `SCHEMA`, except tags and statistics, which are not stored.

        Args:
            rows: Of these files, in this order; None means all.

        Raises:
            MalformedAction: Partition values are not valid by the protocol.
        """
        chosen = slice(None) if rows is None else rows
        match name:
            case "path" | "raw_path":
                return self._codes.paths.texts(self._arrays[name][chosen])
            case "partition_values":
                return self._maps(self._arrays["partition"][chosen])
            case "data_change":
                return mask(self.data_change[chosen])
            case "dv_unique_id":
                used, places = np.unique(self.vector_codes[chosen], return_inverse=True)
                return strings(self._codes.vectors.identities(used)).take(int64s(places))
            case "dv_storage_type" | "dv_path_or_inline":
                heads = [kind if name == "dv_storage_type" else path for kind, path in self._codes.vectors.listed()]
                return _of_codes(strings, heads, VectorCodes.places(self.vector_codes[chosen]))
            case "dv_offset":
                return known_int64s(*VectorCodes.offsets(self.vector_codes[chosen])).cast(SCHEMA.field(name).type)
            case _:
                values = self._arrays[name][chosen].astype(np.int64, copy=False)
                return known_int64s(values, self._known[name][chosen].astype(np.bool_, copy=False)).cast(
                    SCHEMA.field(name).type
                )

    def _maps(self, codes: npt.NDArray[np.generic]) -> pa.MapArray:
        """Decode partition values, each distinct text once."""
        used, places = np.unique(codes, return_inverse=True)
        maps = []
        for code, text in zip(used.tolist(), self._codes.partitions.texts(used).to_pylist(), strict=True):
            raw = msgspec.Raw(text.encode())
            try:
                maps.append(decode_map(raw, _NO_LINE, "partitionValues") or {})
            except MalformedAction:
                row = np.flatnonzero(self._arrays["partition"] == code)[:1]
                decode_map(raw, AddLine(self.column("raw_path", row)[0].as_py()), "partitionValues")
        return string_maps(maps).take(int64s(places))


def _restored(column: pa.Array) -> tuple[Integers, Mask]:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64), np.zeros(len(column), bool)
    return numbers(column)


def _of_codes(
    column: Callable[[Sequence[str | None]], pa.Array], values: Sequence[str], codes: npt.NDArray[np.generic]
) -> pa.Array:
    """Return a column of some values by their numbers; null where the number is negative."""
    used, places = np.unique(codes, return_inverse=True)
    return column([None if code < 0 else values[code] for code in used.tolist()]).take(int64s(places))
