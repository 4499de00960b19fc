"""Appending rows: new files, numbered rows; also to a table made in the same commit, and with new columns.

Protocol sections: Add File and Remove File, Change Metadata, Identity Columns, Row Tracking. Invariants: generated
values move the high-water mark in the same commit (IDENT-005) and never overflow (IDENT-006); a table made of rows has
them in version 0; what the rows need is on top of the new metadata, and guards of both hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from explorer.core.errors import InvalidIntent
from explorer.core.log.table_state import TableState
from explorer.core.protocol.actions import Add
from explorer.core.protocol.counted import counted
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LogicalFiles
from explorer.core.protocol.schema.data_types import StructField, StructType
from explorer.core.protocol.schema.field_metadata import IDENTITY_HIGH_WATER_MARK, IDENTITY_STEP
from explorer.core.protocol.times import from_milliseconds
from explorer.core.transaction.commit_info import IDENTITY_TAG
from explorer.core.transaction.new_files.file_actions import number_rows
from explorer.core.transaction.new_files.file_facts import Numbering
from explorer.core.transaction.proposal import GuardResult, Proposal, Writing
from explorer.core.transaction.proposals.identity_columns import identity_rule
from explorer.core.transaction.proposals.rows.delete_rows import appearing, records_changes
from explorer.core.versions.reads import Reads
from explorer.core.versions.snapshot import Snapshot

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
    """Return how the identity columns that rows lack are numbered.

    Raises:
        InvalidIntent: An identity column has no values left.
    """
    chosen = [field for field in schema.fields if IDENTITY_STEP in field.metadata and field.name not in given]
    return tuple(_numbering(field, count) for field in chosen)


def moved(schema: StructType, marks: Mapping[str, int]) -> StructType:
    """Return the schema with the high-water marks of some identity columns, by name."""
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
    """Return the next value of an identity column, and by how much each row goes on from there."""
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


_SOME_ROWS = "rows-found"


def empty_version(store: LogStore, creation: Proposal) -> Snapshot:
    """Return a new table before its first version: its protocol and metadata, and no file."""
    assert creation.protocol is not None, "a new table has a protocol"
    assert creation.metadata is not None, "a new table has metadata"
    domains = {domain.domain: domain for domain in creation.domains}
    state = TableState(creation.protocol, creation.metadata, {}, domains)
    made = from_milliseconds(creation.metadata.created_time or 0)
    return Snapshot(store, -1, state, lambda: LogicalFiles(()), lambda: made)


def with_first_rows(creation: Proposal, rows: Proposal) -> Proposal:
    """Return a proposal that makes a table with rows.

    Args:
        rows: The rows, proposed for `empty_version`; there may be none.
    """
    writing = rows.writing
    if writing is not None:
        complete = writing.complete
        writing = Writing(writing.write, lambda written: with_first_rows(creation, complete(written)))
    guards = tuple(guard for guard in rows.guards if guard.name != _SOME_ROWS)
    return msgspec.structs.replace(
        creation,
        operation="CREATE TABLE AS SELECT",
        metadata=rows.metadata or creation.metadata,
        adds=rows.adds,
        domains=(*creation.domains, *rows.domains),
        metrics=rows.metrics,
        tags=rows.tags,
        guards=(*creation.guards, *guards),
        writing=writing,
        source=rows.source,
        estimate=rows.estimate,
    )


def with_columns(rows: Proposal, columns: Proposal) -> Proposal:
    """Return a proposal that writes rows and adds columns."""
    writing = rows.writing
    if writing is not None:
        complete = writing.complete
        writing = Writing(writing.write, lambda written: with_columns(complete(written), columns))
    return msgspec.structs.replace(
        rows,
        metadata=rows.metadata or columns.metadata,
        protocol=rows.protocol or columns.protocol,
        reads_files=rows.reads_files or columns.reads_files,
        reads=Reads() if columns.reads_files else rows.reads,
        guards=(*columns.guards, *rows.guards),
        writing=writing,
    )
