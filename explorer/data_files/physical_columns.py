"""Columns of rows under the names and types that a file holds, at every depth.

Protocol section: Column Mapping (Writer Requirements for Column Mapping). Invariants: values stay as they are; members
that the file does not hold are left out. It needs nothing but PyArrow, as it is sent to Spark's workers by value.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from explorer.core.protocol.arrow.arrow_types import to_arrow
from explorer.core.protocol.schema.data_types import PrimitiveType

_VARIANT: Final = to_arrow(PrimitiveType("variant"))


def physical_column(column: Any, target: pa.DataType) -> Any:
    """Give an array the names of a type of the same shape; members that the target lacks are left out."""
    if target == _VARIANT:
        # Writers disagree on which of the two comes first.
        import pyarrow.compute as pc

        # The halves of a null variant are null in Spark's batches, and no half may be in a file.
        parts = [pc.fill_null(column.field(half), b"") for half in ("metadata", "value")]
        return pa.StructArray.from_arrays(parts, fields=list(target), mask=_mask(column))
    if pa.types.is_struct(target):
        parts = column.flatten()
        if len(parts) != target.num_fields:
            stored = [place for place, part in enumerate(parts) if not pa.types.is_null(part.type)]
            parts = [parts[place] for place in stored]
        renamed = [physical_column(part, field.type) for part, field in zip(parts, target, strict=True)]
        return pa.StructArray.from_arrays(renamed, fields=list(target), mask=_mask(column))
    if pa.types.is_list(target):
        values = physical_column(column.flatten(), target.value_type)
        return pa.ListArray.from_arrays(_offsets(column), values, type=target, mask=_mask(column))
    if pa.types.is_map(target):
        plain = _compact(column)
        keys, items = physical_column(plain.keys, target.key_type), physical_column(plain.items, target.item_type)
        return pa.MapArray.from_arrays(plain.offsets, keys, items, type=target, mask=_mask(plain))
    return column if column.type == target else column.cast(target)


def _offsets(column: Any) -> Any:
    """Return offsets into `flatten`, which leaves out the values of null lists and other slices."""
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


def _compact(column: Any) -> Any:
    """Return a map array whose entries begin where its keys and items do."""
    return pa.concat_arrays([column, column.slice(0, 0)]) if column.offset else column


def _mask(column: Any) -> Any:
    return column.is_null() if column.null_count else None
