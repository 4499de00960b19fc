"""A search of data files by predicates: request and result, in files, not rows.

Protocol sections: Column Mapping, Deletion Vectors. Invariants: a file is searched in full, masked rows included,
and counts of masked and other rows are kept apart; a file that cannot be searched is named with its reason, never
counted as one without a match.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from explorer.core.protocol.schema.data_types import StructType

FILE_COLUMNS = (
    *("key", "path", "raw_path", "partition_values", "size"),
    *("dv_unique_id", "dv_storage_type", "dv_cardinality", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes"),
)
"""Columns of the files of a group. ``key`` is the location without the table's root; the deletion vector is that of the
newest version, null for a file that is not live."""


class SearchGroup(msgspec.Struct, frozen=True):
    """Files that are read in one way.

    Attributes:
        schema: The columns that the predicates name, under the names of the newest version; physical names and ids are
            those of these files.
        partition_columns: Those of them whose values the log has for these files.
        by_id: True if the files name columns by Parquet field id.
        files: Columns `FILE_COLUMNS`.
        needed: Columns that each file must have itself, as they may not be null there in any version: paths from the
            top level down, physical names.
    """

    schema: StructType
    partition_columns: tuple[str, ...]
    by_id: bool
    files: pa.Table
    needed: tuple[tuple[str, ...], ...] = ()


class SearchResult(msgspec.Struct, frozen=True):
    """The result of a search.

    Attributes:
        read: One row for each file that was searched: key, rows (physical), digest (SHA-256 of the Parquet footer, in
            hexadecimal: the thrift bytes, their length and the closing magic).
        matches: One row for each file and predicate with a match: request (the predicate's name), key, visible (rows
            that match and that no deletion vector of the newest version hides), masked (those that it hides).
        failed: For each file that could not be searched, by key, the reason.
    """

    read: pa.Table
    matches: pa.Table
    failed: Mapping[str, str]
