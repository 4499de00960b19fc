"""The greatest or least value of a column over the live rows of a version.

Invariants: masked rows do not count; nulls do not either; nothing is read but the one column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.core.protocol.schema.data_types import parse_column
from explorer.spark.scan.results import to_arrow
from explorer.spark.scan.scan import Scan, scan

if TYPE_CHECKING:
    from explorer.core.versions.snapshot import Snapshot
    from explorer.table import Table

__all__ = ["extreme"]


def extreme(table: Table, snapshot: Snapshot, column: str, *, greatest: bool) -> int | None:
    """Return the value, or None if no row has one.

    Args:
        table: The table.
        snapshot: The version.
        column: Dotted logical name of a column of whole numbers.
        greatest: The greatest value, else the least.

    Raises:
        EngineUnavailable: Spark or Java is missing.
    """
    from pyspark.sql import functions as sf

    found = scan(table, snapshot)
    value = sf.col(".".join(f"`{part.replace('`', '``')}`" for part in parse_column(column)))
    frame = found.frame.agg((sf.max(value) if greatest else sf.min(value)).alias("value"))
    rows = to_arrow(Scan(frame, found.addresses, found.version, None), None)
    answer: int | None = rows.column("value")[0].as_py()
    return answer
