"""Values in a form in which Python compares and groups them as SQL's ``IS NOT DISTINCT FROM`` does, at every depth.

Null is the same as null, NaN as NaN, 0.0 as -0.0; maps are the same with the same entries in any order; strings and
binaries byte by byte. Invariant: no date or time is too early or too late for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import pyarrow as pa

MOST_VALUES: Final = 2_000_000
"""Values that are compared in one answer, those inside others counted."""
_NAN: Final = ("NaN",)


def comparable_rows(columns: Sequence[Any], rows: int) -> list[tuple[Hashable, ...]]:
    """Return a value for each row, equal for rows that are the same.

    Args:
        columns: Arrays of as many values.
        rows: How many.
    """
    return list(zip(*map(comparable_values, columns), strict=True)) if columns else [()] * rows


def comparable_values(array: Any) -> list[Hashable]:
    """Return a value for each value of an array, equal for those that are the same; variants are their JSON text."""
    if isinstance(array, pa.ExtensionArray):
        return comparable_values(array.storage)
    kind = array.type
    if pa.types.is_struct(kind):
        parts = [comparable_values(part) for part in array.flatten()]
        rows = list(zip(*parts, strict=True)) if parts else [()] * len(array)
        return [row if known else None for row, known in zip(rows, _known(array), strict=True)]
    if pa.types.is_map(kind):
        keys, items = comparable_values(array.keys), comparable_values(array.items)
        entries = list(zip(keys, items, strict=True))
        return _sliced(array, entries, lambda part: tuple(sorted(part, key=repr)))
    if pa.types.is_list(kind):
        return _sliced(array, comparable_values(array.values), tuple)
    if pa.types.is_floating(kind):
        return [_NAN if value != value else value for value in array.to_pylist()]  # noqa: PLR0124  # NaN alone
    if pa.types.is_date32(kind):
        return _values(array.view(pa.int32()))
    if pa.types.is_timestamp(kind):
        return _values(array.view(pa.int64()))
    if pa.types.is_string(kind):
        return _values(array.view(pa.binary()))
    return _values(array)


def value_count(array: Any) -> int:
    """Return how many values an array has, those inside others counted."""
    if isinstance(array, pa.ExtensionArray):
        return value_count(array.storage)
    kind = array.type
    if pa.types.is_struct(kind):
        return len(array) + sum(value_count(array.field(place)) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return len(array) + value_count(array.keys) + value_count(array.items)
    return len(array) + (value_count(array.values) if pa.types.is_list(kind) else 0)


def _values(array: Any) -> list[Hashable]:
    values: list[Hashable] = array.to_pylist()
    return values


def _known(array: Any) -> list[bool]:
    known: list[bool] = array.is_valid().to_pylist()
    return known


def _sliced(array: Any, values: Sequence[Hashable], made: Callable[[Sequence[Hashable]], Hashable]) -> list[Hashable]:
    """Cut the values inside an array of lists into those of each list."""
    ends = array.offsets.to_pylist()
    bounds = zip(ends[:-1], ends[1:], _known(array), strict=True)
    return [made(values[start:end]) if known else None for start, end, known in bounds]
