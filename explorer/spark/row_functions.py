"""The functions that implement `explorer.core.transaction.row_engine.RowEngine`, a name for each of its methods."""

from __future__ import annotations

from functools import partial

from explorer.spark.checks import constraint_check
from explorer.spark.scan import predicate
from explorer.spark.scan.compared import reads_like_core
from explorer.spark.writes.file_contents import extreme, files_with_dropped_columns, live_facts
from explorer.spark.writes.incoming import incoming_rows, write_rows
from explorer.spark.writes.matching_rows import files_masking, matching_rows
from explorer.spark.writes.rewrites import compact, record_inserts, rewrite
from explorer.spark.writes.row_changes import find_changes, write_changes
from explorer.spark.writes.source import new_fields
from explorer.spark.writes.stored_expressions import column_types

__all__ = [
    "check",
    "column_types",
    "compact",
    "extreme",
    "files_masking",
    "files_with_dropped_columns",
    "find_changes",
    "incoming_rows",
    "live_facts",
    "matching_rows",
    "new_fields",
    "reads_like_core",
    "record_inserts",
    "rewrite",
    "vet",
    "write_changes",
    "write_rows",
]

check = partial(constraint_check.check, repeatable=False)
vet = partial(predicate.vet, repeatable=False)
