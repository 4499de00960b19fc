"""Columns that grow by batches, and become one at the end.

Invariants: a column that is the same in all rows takes no memory; batches are put together eight at a time, because
many small arrays that stay scatter what is free between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from explorer.core.protocol.arrow.arrays import SYSTEM_POOL, Mask, one_array

__all__ = ["Arrays", "Batches", "Texts", "chosen", "constant", "encoded", "thin"]

Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_TOGETHER: Final = 8
_MUCH: Final = 1 << 23  # bytes of text from which on it is worth the time to keep each once


class Batches:
    """Batches of some columns, in order."""

    def __init__(self, batches: Sequence[Arrays] = ()) -> None:
        self._large, self._small = list(batches), list[Arrays]()

    def __bool__(self) -> bool:
        return bool(self._large or self._small)

    def copy(self) -> Batches:
        """The same batches, to go on with apart."""
        found = copy(self)
        found._large, found._small = list(self._large), list(self._small)
        return found

    def append(self, batch: Arrays) -> None:
        """Take the next batch."""
        self._small.append(batch)
        if len(self._small) == _TOGETHER:
            self._large.append(_joined(self._small))
            self._small = []

    def joined(self, *, last: bool = False) -> Arrays:
        """The columns of all batches; if nothing follows, each batch drops a column once it is copied."""
        batches = [*self._large, *self._small]
        self._large, self._small = [] if last else self._large, [] if last else self._small
        return _joined(batches) if batches else {}


class Texts:
    """Batches of one column of texts; of much text, each distinct one is there once, or nearly so."""

    def __init__(self, batches: Sequence[pa.LargeBinaryArray | pa.DictionaryArray] = ()) -> None:
        # Eight of a level become one of the next, so that no text is looked at more often than there are levels.
        self._levels = [list(batches)]
        self._size = sum(batch.nbytes for batch in batches)

    def copy(self) -> Texts:
        """The same batches, to go on with apart."""
        found = copy(self)
        found._levels = [list(level) for level in self._levels]
        return found

    def append(self, batch: pa.LargeBinaryArray) -> None:
        """Take the next batch."""
        self._size += batch.nbytes
        whole = batch if self._size < _MUCH else encoded(batch)
        for level in self._levels:
            level.append(whole)
            if len(level) < _TOGETHER:
                return
            whole = _together(level)
            level.clear()
        self._levels.append([whole])

    def joined(self) -> pa.LargeBinaryArray | pa.DictionaryArray:
        """All batches as one."""
        return _together([batch for level in reversed(self._levels) for batch in level])


def _together(batches: Sequence[pa.LargeBinaryArray | pa.DictionaryArray]) -> pa.LargeBinaryArray | pa.DictionaryArray:
    if all(pa.types.is_large_binary(batch.type) for batch in batches):
        return one_array(batches, pa.large_binary())
    if len(batches) == 1:
        return batches[0]
    chunks = pa.chunked_array([encoded(batch) for batch in batches]).unify_dictionaries(SYSTEM_POOL).chunks
    indices = one_array([chunk.indices for chunk in chunks], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, chunks[-1].dictionary)


def encoded(texts: pa.Array) -> pa.DictionaryArray:
    """The same texts, each distinct one once."""
    if pa.types.is_dictionary(texts.type):
        return texts
    return pyarrow.compute.dictionary_encode(texts, memory_pool=SYSTEM_POOL)


def constant(value: _ScalarT, length: int) -> npt.NDArray[_ScalarT]:
    """A column of one value, which takes no memory."""
    return np.ndarray((length,), value.dtype, np.array(value), strides=(0,))


def thin(values: Mask) -> Mask:
    """The same flags, in no memory where all are the same."""
    return constant(values[0], len(values)) if len(values) and (values == values[0]).all() else values


def chosen(columns: Mapping[str, npt.NDArray[_ScalarT]], kept: Mask) -> dict[str, npt.NDArray[_ScalarT]]:
    """Some rows of columns."""
    if kept.all():
        return dict(columns)
    count = int(kept.sum())
    return {name: constant(of[0], count) if _is_constant(of) else of[kept] for name, of in columns.items()}


def _joined(batches: list[Arrays]) -> Arrays:
    """One batch of several, each of which drops a column once it is copied."""
    if len(batches) == 1:
        return batches[0]
    parts = [dict(batch) for batch in batches]
    batches.clear()
    return {name: _one([part.pop(name) for part in parts]) for name in tuple(parts[0])}


def _one(parts: Sequence[npt.NDArray[_ScalarT]]) -> npt.NDArray[_ScalarT]:
    filled = [part for part in parts if len(part)] or parts[:1]
    if all(_is_constant(part) and part[0] == filled[0][0] for part in filled):
        return constant(filled[0][0], sum(map(len, filled)))
    return np.concatenate(parts)


def _is_constant(values: npt.NDArray[np.generic]) -> bool:
    return len(values) > 0 and values.strides == (0,)
