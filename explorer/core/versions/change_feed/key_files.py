"""The files of a range of versions that can contain the rows of a key.

Protocol sections: Action Reconciliation, Per-file Statistics (data skipping). Invariants: every file that was live at a
version of the range is considered once for each of its deletion vectors; it is left out only where statistics prove
that no row of it has the key, read with the schema it was written with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from explorer.core.log.commit import Commit
from explorer.core.protocol.arrow.arrays import int64s, mask
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.schema.column_mapping import physical_paths
from explorer.core.protocol.schema.data_types import PrimitiveValue, format_column
from explorer.core.protocol.statistics.data_skipping import skip_files
from explorer.core.protocol.statistics.file_statistics import FileStatistics, statistics_columns
from explorer.core.versions.column_matching import ComparedSide
from explorer.core.versions.lifetimes.lifetimes import Lifetimes

_COLUMNS = (
    *("path", "raw_path", "partition_values", "size", "num_records", "base_row_id", "dv_unique_id"),
    *("dv_storage_type", "dv_cardinality", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes"),
)


def live_between(life: Lifetimes, from_version: int, to_version: int) -> pa.Table:
    """Return the files live at any version of a range, one row for each deletion vector that they had.

    Returns:
        first, last (versions of the range, both inclusive), added (by which version; before the range for files that
        existed then), path, raw_path, partition_values, size, num_records, base_row_id and the deletion vector.
    """
    nonempty = life.removed > life.added
    rows = np.flatnonzero(nonempty & (life.added <= to_version) & (life.removed > from_version))
    added, removed = life.added[rows], life.removed[rows]
    table = life.take(rows, _COLUMNS)
    columns = {
        "first": np.maximum(added, from_version),
        "last": np.minimum(removed - 1, to_version),
        "added": np.where(added <= from_version, from_version, added),
    }
    for position, (name, values) in enumerate(columns.items()):
        table = table.add_column(position, name, int64s(values.tolist()))
    return table


def key_condition(key: Mapping[str, PrimitiveValue | None]) -> str | None:
    """Return a condition that every row of a key meets, from values that statistics cover; None without any."""
    parts = [(format_column((name,)), _constant(value)) for name, value in key.items()]
    texts = [f"{column} {constant}" for column, constant in parts if constant is not None]
    return " AND ".join(texts) or None


class KeyFiles:
    """The statistics of all files that were live at a version of a range.

    Args:
        commits: The commits after it that exist; they have the statistics of the files they added.
    """

    def __init__(self, base: LogicalFiles, from_version: int, commits: Iterable[Commit]) -> None:
        lines = [(commit.version, line.add) for commit in commits for line in commit.lines if line.add is not None]
        self._files = LogicalFiles([*base.sources, LineSource([line for _, line in lines])])
        paths, vectors = (base.column(name).to_pylist() for name in ("path", "dv_unique_id"))
        self._keys: list[tuple[int, str, str | None]] = [
            (from_version, path, vector) for path, vector in zip(paths, vectors, strict=True)
        ] + [(version, canonical_key(line.path), line.vector_id) for version, line in lines]

    def candidates(self, files: pa.Table, side: ComparedSide, where: str, *, by_partition: bool) -> pa.Table:
        """Return the files that may contain a row for which the condition is true.

        Args:
            files: Rows of `live_between`.
            where: The condition, over the names of ``side``.
            by_partition: False if not all files have values for the same partition columns.
        """
        partitions = side.partition_columns if by_partition else ()
        columns = statistics_columns(side.schema, physical_paths(side.schema, "name"), partitions)
        needed_files = skip_files(where, side.schema, columns, FileStatistics(self._files, columns)).files.column(
            "kept"
        )
        skipped = {key for key, needed in zip(self._keys, needed_files.to_pylist(), strict=True) if not needed}
        keys = zip(*(files.column(name).to_pylist() for name in ("added", "path", "dv_unique_id")), strict=True)
        return files.filter(mask([key not in skipped for key in keys]))


def _constant(value: PrimitiveValue | None) -> str | None:
    """Return the comparison with a value as SQL; None where statistics could not answer it with certainty."""
    match value:
        case None:
            return "IS NULL"
        case bool():
            return f"= {str(value).upper()}"
        case int():
            return f"= {value}"
        case Decimal() if value.is_finite():
            return f"= {value:f}"
        case str() if not {"'", "\\"} & set(value):
            return f"= '{value}'"
        case datetime():
            kind, moment = ("TIMESTAMP", value.astimezone(UTC)) if value.tzinfo else ("TIMESTAMP_NTZ", value)
            return f"= {kind} '{moment.isoformat(' ')}'"
        case date():
            return f"= DATE '{value.isoformat()}'"
    return None
