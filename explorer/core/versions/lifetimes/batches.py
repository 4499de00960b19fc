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

from explorer.core.protocol.arrow.arrays import Mask

Arrays: TypeAlias = dict[str, npt.NDArray[np.generic]]

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
_TOGETHER: Final = 8


class Batches:
    """Batches of some columns, in order."""

    def __init__(self, batches: Sequence[Arrays] = ()) -> None:
        self._large, self._small = list(batches), list[Arrays]()

    def __bool__(self) -> bool:
        return bool(self._large or self._small)

    def copy(self) -> Batches:
        """Return a copy of the batches, to continue independently."""
        batches = copy(self)
        batches._large, batches._small = list(self._large), list(self._small)
        return batches

    def append(self, batch: Arrays) -> None:
        """Append a batch."""
        self._small.append(batch)
        if len(self._small) == _TOGETHER:
            self._large.append(_joined(self._small))
            self._small = []

    def joined(self, *, last: bool = False) -> Arrays:
        """Return the columns of all batches; if nothing follows, each batch drops a column once it is copied."""
        batches = [*self._large, *self._small]
        self._large, self._small = [] if last else self._large, [] if last else self._small
        return _joined(batches) if batches else {}


def constant(value: _ScalarT, length: int) -> npt.NDArray[_ScalarT]:
    """Return a column of one value, which takes no memory."""
    return np.ndarray((length,), value.dtype, np.array(value), strides=(0,))


def thin(values: npt.NDArray[_ScalarT]) -> npt.NDArray[_ScalarT]:
    """Return the same values, in no memory where all are the same."""
    return constant(values[0], len(values)) if len(values) and (values == values[0]).all() else values


def chosen(columns: Mapping[str, npt.NDArray[_ScalarT]], rows: Mask) -> dict[str, npt.NDArray[_ScalarT]]:
    """Return some rows of columns."""
    if rows.all():
        return dict(columns)
    count = int(rows.sum())
    return {name: constant(of[0], count) if _is_constant(of) else of[rows] for name, of in columns.items()}


def _joined(batches: list[Arrays]) -> Arrays:
    """Return several batches as one; each drops a column once it is copied."""
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
