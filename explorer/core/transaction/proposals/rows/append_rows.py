"""Appending rows: new files, numbered rows, no file of the table touched.

Protocol sections: Add File and Remove File, Identity Columns, Row Tracking. Invariants: generated values move the
high-water mark in the same commit (IDENT-005) and never overflow (IDENT-006).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from explorer.core.errors import InvalidIntent
from explorer.core.protocol.actions import Add
from explorer.core.protocol.counted import counted
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_STEP
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.new_files.identity_values import Numbering
from explorer.core.transaction.new_files.row_ids import number_rows
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.transaction.proposals.identity_columns import identity_rule
from explorer.core.transaction.proposals.rows.delete_rows import appearing, records_changes
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Addition", "append_rows", "moved", "numberings"]

_LONG: Final = np.iinfo(np.int64)


class Addition(msgspec.Struct, frozen=True):
    """Rows that enter a table.

    Attributes:
        schema: The table's schema, identity columns moved on.
        rows: How many rows.
        guards: The table's rules, judged over the rows.
        adds: Their files.
    """

    schema: StructType
    rows: int
    guards: tuple[GuardResult, ...]
    adds: tuple[Add, ...] = ()


def numberings(schema: StructType, given: Sequence[str], count: int) -> tuple[Numbering, ...]:
    """How the identity columns that rows lack are numbered.

    Args:
        schema: The table's schema.
        given: Names of the columns that the rows bring.
        count: How many rows there are.

    Raises:
        InvalidIntent: An identity column has no values left.
    """
    chosen = [field for field in schema.fields if IDENTITY_STEP in field.metadata and field.name not in given]
    return tuple(_numbering(field, count) for field in chosen)


def moved(schema: StructType, marks: Mapping[str, int]) -> StructType:
    """The schema with the high-water marks of some identity columns, by name."""
    fields = (
        field
        if field.name not in marks
        else msgspec.structs.replace(field, metadata={**field.metadata, IDENTITY_HIGH_WATER_MARK: marks[field.name]})
        for field in schema.fields
    )
    return StructType(tuple(fields))


def append_rows(snapshot: Snapshot, added: Addition) -> Proposal:
    """Append rows that were made into files for this version, or for one of the same metadata and protocol."""
    adds, mark, faults = number_rows(added.adds, snapshot.row_tracking, snapshot.version + 1)
    numbered = added.schema != snapshot.schema
    return Proposal(
        operation="WRITE",
        parameters={"mode": "Append", "partitionBy": "[]"},
        metadata=msgspec.structs.replace(snapshot.metadata, schema_string=added.schema.to_json()) if numbered else None,
        adds=adds,
        domains=mark,
        metrics={
            "numFiles": str(len(adds)),
            "numOutputRows": str(added.rows),
            "numOutputBytes": str(sum(add.size for add in adds)),
        },
        tags={IDENTITY_TAG: "true"} if numbered else {},
        is_blind_append=True,
        guards=(*added.guards, *faults, _some(added.rows)),
        change_feed=appearing(added.rows, "inserted") if records_changes(snapshot) else None,
        undo=f"Restore version {snapshot.version}.",
    )


def _some(rows: int) -> GuardResult:
    if rows:
        return GuardResult("rows-found", "pass", {"rows": rows, "detail": f"{counted(rows, 'new row')}."})
    return GuardResult(
        "rows-found", "fail", {"rows": 0, "detail": "The source has no rows, so there is nothing to commit."}, None
    )


def _numbering(field: StructField, count: int) -> Numbering:
    """The next value of an identity column, and by how much each row goes on from there."""
    rule = identity_rule(field.name, field, "source")
    start, step, mark = rule.start, rule.step, rule.mark
    first = start
    if mark is not None and (mark - start) * step >= 0:
        # A mark that no step reaches is a fault of its writer: go on at the next value that a step reaches (IDENT-008).
        taken = (mark - start) // step
        first = start + (taken + 1) * step
    numbering = Numbering(field.name, first, step)
    last = numbering.last(count)
    if not _LONG.min <= last <= _LONG.max:
        raise InvalidIntent(
            f"The identity column {field.name!r} has no {count} values left: the last would be {last}.",
            field="source",
            column=field.name,
        )
    return numbering
