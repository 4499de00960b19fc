"""Where the statements of the reference that write rows leave something else than the same intents here, and why.

A difference names its parts as `outcome_comparison` does; ``outcome`` stands for a statement that is refused, or
changes nothing, on one side alone, and ``refusal`` for one that is refused on both sides for other reasons.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["DATA_DIFFERENCES", "REFUSALS", "DataDifference"]


class DataDifference(msgspec.Struct, frozen=True):
    """One statement: the parts that differ, and the justification."""

    parts: tuple[str, ...]
    reason: str


_BY_POSITION: Final = DataDifference(
    ("outcome",),
    "An INSERT goes by position and must give every column; rows that an intent is given go by name, and a column that "
    "is left out takes its default.",
)
_NO_LAST_MILLISECOND: Final = DataDifference(
    ("bounds",),
    "A maximum in the last millisecond of the year 9999 cannot be rounded up, so the column has no bounds; the "
    "reference cuts it off, which is below the value.",
)
_RULE_IN_DOUBT: Final = DataDifference(
    ("outcome",),
    "A constraint holds a text in double quotes, which other writers read as a column, and another names no column: "
    "their guards are unknown until a person accepts them by name.",
)
DATA_DIFFERENCES: Final[dict[str, DataDifference]] = {
    "append-only#10": DataDifference(
        ("outcome",),
        "The reference restores an append-only table, which takes files with rows out of it (CONSTR-001).",
    ),
    "clustering#13": DataDifference(
        ("parameter isFull",),
        "An optimization has no FULL: it takes every file that is not clustered by the present columns, as FULL does.",
    ),
    **dict.fromkeys(("constraints-null#7", "constraints-null#8", "constraints-null#16"), _RULE_IN_DOUBT),
    "default-columns#15": _BY_POSITION,
    "default-columns#17": DataDifference(
        ("outcome",),
        "The reference fails on DEFAULT in a clause by a fault of its own; here it means the column's default.",
    ),
    "deletion-vectors#20": DataDifference(
        (
            *("operation", "parameter predicate"),
            *(f"metric num{name}" for name in ("AddedBytes", "AddedChangeFiles", "AddedFiles", "CopiedRows")),
            *(f"metric numDeletionVectors{name}" for name in ("Added", "Removed", "Updated")),
            *("metric numDeletedRows", "metric numRemovedBytes"),
        ),
        "No intent truncates: to delete every row is recorded as the deletion that it is, with its metrics.",
    ),
    "optimize#13": DataDifference(
        ("refusal",),
        "The reference refuses FULL for a table that is not clustered; an optimization has no FULL, and finds "
        "nothing to do.",
    ),
    "protocol-features#18": DataDifference(
        ("outcome",), "The table has features whose writer rules this program does not implement (FEAT-002)."
    ),
    "replace-columns#10": DataDifference(
        ("bounds",), "A VOID column is in no file, so nothing is stated of it; the reference counts its nulls."
    ),
    "replace-where#12": DataDifference(
        ("outcome",),
        "The reference overwrites the whole of a table without partitions where the session asks for its partitions; "
        "here an overwrite by partitions is refused with the reason.",
    ),
    "replace-where#15": DataDifference(
        ("metric numCopiedRows", "metric numDeletedRows", "metric numOutputRows"),
        "Where no row is given the reference leaves the counts of rows out.",
    ),
    "replace-where#21": DataDifference(
        ("metric numCopiedRows", "metric numOutputRows"),
        "The reference counts the rows that stay in a masked file as copied and written, which they are not.",
    ),
    "schema-changes#26": _BY_POSITION,
    "schema-changes#32": DataDifference(
        ("parameter canMergeSchema",),
        "The choice is not recorded; the columns that were added are in the commit's metadata.",
    ),
    "timestamp-ntz#1": _NO_LAST_MILLISECOND,
    "timestamp-ntz#5": _NO_LAST_MILLISECOND,
    "timestamp-ntz#6": _NO_LAST_MILLISECOND,
}

REFUSALS: Final[dict[str | None, str]] = {
    None: "changes-something|rows-found",
    "CAST_INVALID_INPUT": "cannot be cast",
    "DELTA_CANNOT_MODIFY_APPEND_ONLY": "append-only",
    "DELTA_CANNOT_RESTORE_TABLE_VERSION": "can no longer be rebuilt",
    "DELTA_CLUSTERING_WITH_PARTITION_PREDICATE": "names a, but it may only name partition columns: the table has none",
    "DELTA_CLUSTERING_WITH_ZORDER_BY": "is clustered by a, b",
    "DELTA_EXCEED_CHAR_VARCHAR_LIMIT": "new-rows:length:",
    "DELTA_FAILED_TO_MERGE_FIELDS": "do not fit the table: The value 'x' of the type",
    "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED": "is GENERATED ALWAYS",
    "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED": "identity column .* cannot be updated",
    "DELTA_METADATA_MISMATCH": "has no column",
    "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE": "one-match-each",
    "DELTA_NON_PARTITION_COLUMN_REFERENCE": "names id, but it may only name partition columns: p",
    "DELTA_NOT_NULL_CONSTRAINT_VIOLATED": "new-rows:not-null:",
    "DELTA_OPTIMIZE_FULL_NOT_SUPPORTED": "FULL",
    "DELTA_REPLACE_WHERE_MISMATCH": "new-rows:condition:where",
    "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE": "by a condition or by partitions",
    "DELTA_UNSUPPORTED_SUBQUERY": "subqueries are refused",
    "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES": "new-rows:(check|generated):",
    "DELTA_ZORDERING_COLUMN_DOES_NOT_EXIST": "is no column with an order",
    "DELTA_ZORDERING_ON_PARTITION_COLUMN": "is a partition column",
    "INTERNAL_ERROR": "subqueries are refused",
    "INVALID_NON_DETERMINISTIC_EXPRESSIONS": "result differs from one reading to the next",
    "TASK_WRITE_FAILED": "bytes above 127|result differs from one reading to the next",
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": "has no column|cannot be resolved",
}
"""What is said here, as an expression over the error or the guards that block, by the reference's error condition.

None stands for a statement that finds nothing to change.
"""
