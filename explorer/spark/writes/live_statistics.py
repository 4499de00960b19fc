"""What the live rows of files say about their columns: how many there are, nulls, the least and the greatest values.

Protocol section: Per-file Statistics. One aggregate over a scan; a line for each file comes back. Invariants: masked
rows count nowhere; a column with a NaN or an infinity has no bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.transaction.new_files.file_facts import LiveFacts
from explorer.spark.scan.physical import quoted
from explorer.spark.scan.results import Reading, to_arrow
from explorer.spark.scan.scan import scan

if TYPE_CHECKING:
    from explorer.core.versions.delta_log import DeltaLog
    from explorer.core.versions.snapshot import Snapshot

__all__ = ["live_facts"]

_BOUNDLESS: Final = frozenset(["boolean", "binary", "variant"])


def live_facts(
    log: DeltaLog, snapshot: Snapshot, files: pa.Table, leaves: Sequence[tuple[tuple[str, ...], StructField]]
) -> dict[str, LiveFacts]:
    """Describe the live rows of some files; see `RowEngine.live_facts`."""
    live_rows = scan(log, snapshot, files, row_identity=True, unpadded=True)
    columns: list[Column] = [sf.count(sf.lit(1)).alias("rows")]
    for place, (path, field) in enumerate(leaves):
        value = sf.col(".".join(map(quoted, path)))
        low, high = _ends(value, field)
        columns += [
            sf.count_if(value.isNull()).alias(f"nulls{place}"),
            low.alias(f"low{place}"),
            high.alias(f"high{place}"),
        ]
    table = to_arrow(Reading(live_rows.frame.groupBy("_file").agg(*columns), live_rows.failure)).combine_chunks()
    ends = [[table.column(f"{end}{place}").combine_chunks() for end in ("low", "high")] for place in range(len(leaves))]
    names = list(map(str, range(len(leaves))))
    facts = {}
    for row, path in enumerate(table.column("_file").to_pylist()):
        extremes = [pa.concat_arrays([end.slice(row, 1) for end in pair]) for pair in ends]
        facts[path] = LiveFacts(
            table.column("rows")[row].as_py(),
            tuple(table.column(f"nulls{place}")[row].as_py() for place in range(len(leaves))),
            pa.RecordBatch.from_arrays(extremes, names=names),
        )
    return facts


def _ends(value: Column, field: StructField) -> tuple[Column, Column]:
    """The least and the greatest value; null where the column gets no bounds."""
    if not isinstance(field.type, PrimitiveType) or field.type.name in _BOUNDLESS:
        return sf.lit(None), sf.lit(None)
    if field.type.name in ("float", "double"):
        odd = sf.isnan(value) | (sf.abs(value) == float("inf"))
        finite = sf.count_if(odd) == 0
        return sf.when(finite, sf.min(value)), sf.when(finite, sf.max(value))
    return sf.min(value), sf.max(value)
