"""Appending rows: new files, numbered rows, no file of the table touched.

Protocol sections: Add File and Remove File, Identity Columns, Row Tracking. Invariants: generated values move the
high-water mark in the same commit (IDENT-005) and never overflow (IDENT-006).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.schema.data_types import StructField, StructType, parse_column
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_STEP
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.new_files.layout import ROWS_PER_FILE, FileLayout, NewFile
from explorer.core.transaction.new_files.row_ids import number_rows
from explorer.core.transaction.proposal import Circumstances, GuardResult, Proposal
from explorer.core.transaction.proposals.identity_columns import identity_rule
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Addition", "addition", "append_rows", "layout_of"]

_LONG: Final = np.iinfo(np.int64)


class Addition(msgspec.Struct, frozen=True):
    """Rows that were made into files.

    Attributes:
        files: The files.
        schema: The table's schema, identity columns moved on.
        rows: How many rows.
        guards: The table's rules, judged over the rows.
    """

    files: tuple[NewFile, ...]
    schema: StructType
    rows: int
    guards: tuple[GuardResult, ...]


def addition(
    snapshot: Snapshot,
    rows: pa.Table,
    given: Sequence[str],
    guards: Sequence[GuardResult],
    circumstances: Circumstances,
    *,
    rows_per_file: int = ROWS_PER_FILE,
) -> Addition:
    """Make rows into files.

    Args:
        snapshot: The newest version.
        rows: A column for each field of the schema, logical names; identity columns not given are null.
        given: Names of the columns that the rows brought.
        guards: The table's rules, judged over the rows.
        circumstances: The present and fresh identifiers.
        rows_per_file: The most rows of a file.

    Raises:
        InvalidIntent: An identity column has no values left.
    """
    if any(guard.status == "fail" for guard in guards):
        # Rows that break a rule are not written anywhere, not even for a check.
        return Addition((), snapshot.schema, rows.num_rows, tuple(guards))
    schema, numbered = _number(snapshot.schema, rows, frozenset(given))
    layout = msgspec.structs.replace(layout_of(snapshot, circumstances), schema=schema)
    return Addition(tuple(layout.files(numbered, rows_per_file=rows_per_file)), schema, rows.num_rows, tuple(guards))


def layout_of(snapshot: Snapshot, circumstances: Circumstances) -> FileLayout:
    """The file layout that the table asks for at a version."""
    return FileLayout(
        snapshot.schema,
        snapshot.metadata,
        snapshot.column_mapping_mode,
        tuple(parse_column(name) for name in snapshot.clustering_columns),
        circumstances.now,
        circumstances.new_id,
    )


def append_rows(snapshot: Snapshot, added: Addition) -> Proposal:
    """Append rows that were made into files for this version, or for one of the same metadata and protocol."""
    adds, mark, faults = number_rows((file.add for file in added.files), snapshot.row_tracking, snapshot.version + 1)
    moved = added.schema != snapshot.schema
    return Proposal(
        operation="WRITE",
        parameters={"mode": "Append", "partitionBy": "[]"},
        metadata=msgspec.structs.replace(snapshot.metadata, schema_string=added.schema.to_json()) if moved else None,
        adds=adds,
        domains=mark,
        metrics={
            "numFiles": str(len(added.files)),
            "numOutputRows": str(added.rows),
            "numOutputBytes": str(sum(file.add.size for file in added.files)),
        },
        tags={IDENTITY_TAG: "true"} if moved else {},
        is_blind_append=True,
        staged=tuple(file.staged for file in added.files),
        guards=(*added.guards, *faults, _some(added.rows)),
        undo=f"Restore version {snapshot.version}.",
    )


def _some(rows: int) -> GuardResult:
    if rows:
        return GuardResult("rows-found", "pass", {"rows": rows, "detail": f"{rows} rows enter the table."})
    return GuardResult(
        "rows-found", "fail", {"rows": 0, "detail": "The source has no rows, so there is nothing to commit."}, None
    )


def _number(schema: StructType, rows: pa.Table, given: frozenset[str]) -> tuple[StructType, pa.Table]:
    """Fill the identity columns that the rows lack, and move their marks."""
    fields = list(schema.fields)
    for place, field in enumerate(fields):
        if IDENTITY_STEP not in field.metadata or field.name in given or not rows.num_rows:
            continue
        values, mark = _values(field, rows.num_rows)
        rows = rows.set_column(place, pa.field(field.name, pa.int64(), field.nullable), pa.array(values))
        fields[place] = msgspec.structs.replace(field, metadata={**field.metadata, IDENTITY_HIGH_WATER_MARK: mark})
    return StructType(tuple(fields)), rows


def _values(field: StructField, count: int) -> tuple[list[int], int]:
    """The next values of an identity column, and the last of them."""
    rule = identity_rule(field.name, field, "source")
    start, step, mark = rule.start, rule.step, rule.mark
    first = start
    if mark is not None and (mark - start) * step >= 0:
        # A mark that no step reaches is a fault of its writer: go on at the next value that a step reaches (IDENT-008).
        taken = (mark - start) // step
        first = start + (taken + 1) * step
    last = first + (count - 1) * step
    if not _LONG.min <= last <= _LONG.max:
        raise InvalidIntent(
            f"The identity column {field.name!r} has no {count} values left: the last would be {last}.",
            field="source",
            column=field.name,
        )
    return list(range(first, last + (1 if step > 0 else -1), step)), last
