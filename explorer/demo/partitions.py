"""Rows of the demo by combination of partition values.

Protocol section: Partition Values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.partition_values import format_partition_value
from explorer.core.schema import PrimitiveType, StructField

__all__ = ["split_by_partition"]

Values = dict[str, str | None]


def split_by_partition(rows: pa.Table, fields: Sequence[StructField]) -> Iterator[tuple[Values, pa.Table]]:
    """Yield (partition values as in the log, rows) for each combination, sorted, nulls last; no rows give no group.

    Args:
        rows: Rows under physical names.
        fields: The partition columns.
    """
    if not fields:
        if rows.num_rows:
            yield {}, rows
        return
    names = [field.physical_name for field in fields]
    combinations = rows.select(names).group_by(names).aggregate([]).to_pylist()
    for combination in sorted(combinations, key=lambda found: [(found[c] is None, str(found[c])) for c in names]):
        part = rows
        for name in names:
            column, value = part.column(name), combination[name]
            part = part.filter(column.is_null() if value is None else pc.equal(column, pa.scalar(value, column.type)))
        yield {field.physical_name: _text(field, combination[field.physical_name]) for field in fields}, part


def _text(field: StructField, value: object) -> str | None:
    assert isinstance(field.type, PrimitiveType)
    return format_partition_value(value, field.type)
