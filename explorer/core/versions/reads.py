"""What of a version somebody read, and whether later commits touch it.

Protocol: Delta Log Entries leaves this to writers. Invariants: what is read is never told too small: a condition that
the core cannot answer, or that an engine reads differently, means every file; what was found is used again only while
the metadata, the protocol and every file that it is about are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec
import pyarrow as pa

from explorer.core.errors import ExplorerError, RequestError
from explorer.core.protocol.actions import Add
from explorer.core.protocol.arrow.arrays import strings
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.logical_files import LineSource, LogicalFiles, vector_descriptors
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.sql.predicates import (
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Like,
    Not,
    Or,
    parse_predicate,
)
from explorer.core.versions.snapshot import Snapshot

__all__ = ["Reads", "exactly", "first_read", "lasting", "partitions_of", "rows_matched", "rows_meeting"]

_TARGET: Final = "target"
_FoundT = TypeVar("_FoundT")
_State = tuple[str | None, int | None, int | None]


class Reads(msgspec.Struct, frozen=True):
    """Which live files somebody depends on. A file that came later matters if it may hold what was looked for.

    Attributes:
        files: Decoded paths of the files that were looked into; None for all.
        condition: The rows that were looked for: those for which this is TRUE; None for all.
        partitions: The partitions that were looked into, values as in the log, in the order of their columns; None
            for all.
    """

    files: frozenset[str] | None = None
    condition: Expression | None = None
    partitions: frozenset[tuple[str | None, ...]] | None = None


def rows_meeting(snapshot: Snapshot, where: str | None, *, alike: bool) -> Reads:
    """A look at the rows for which a condition is TRUE.

    Args:
        snapshot: The version.
        where: The condition; None for all rows.
        alike: The engine reads it as the core does.
    """
    if where is None or not alike:
        return Reads()
    try:
        return _meeting(snapshot, parse_predicate(where))
    except RequestError:
        return Reads()  # the engine understands it, and the core does not


def rows_matched(snapshot: Snapshot, on: str, *, alike: bool) -> Reads:
    """A look at the rows that may match a row of a source: those that meet what a condition asks of the target alone.

    Args:
        snapshot: The version.
        on: A condition over the columns of ``target`` and of the source.
        alike: The engine reads it as the core does.
    """
    if not alike:
        return Reads()
    try:
        asked = _of_target(parse_predicate(on))
        return Reads() if asked is None else _meeting(snapshot, asked)
    except RequestError:
        return Reads()


def exactly(adds: Iterable[Add]) -> Reads:
    """A look into some files; what else there is does not matter."""
    return Reads(frozenset(canonical_key(add.path) for add in adds))


def first_read(reads: Reads, added: Sequence[AddLine], read: Snapshot | None) -> AddLine | None:
    """The first of some files that came later which may hold what was read; None if none of them can.

    Args:
        reads: What was read.
        added: The files.
        read: The version that it was read of; None if there was none.
    """
    if read is None or not added:
        return next(iter(added), None)
    files = LogicalFiles((LineSource(list(added)),))
    try:
        within = [True] * len(added)
        if reads.partitions is not None:
            within = [each in reads.partitions for each in partitions_of(read, files.column("partition_values"))]
        if reads.condition is not None:
            kept = read.holding(files).skipping(reads.condition).files.column("kept").to_pylist()
            within = [one and other for one, other in zip(within, kept, strict=True)]
    except ExplorerError:
        return added[0]  # what another writer says of its file cannot be read, so the file may hold anything
    return next((line for line, may in zip(added, within, strict=True) if may), None)


def partitions_of(snapshot: Snapshot, maps: pa.Array | pa.ChunkedArray) -> list[tuple[str | None, ...]]:
    """The partitions of some files: values in the order of the partition columns, as the log has them."""
    keys = [field.physical_name for field in map(snapshot.schema.field, snapshot.partition_columns) if field]
    found = maps.to_pylist(maps_as_pydicts="strict")
    return [tuple((values or {}).get(key) or None for key in keys) for values in found]


def lasting(
    find: Callable[[Snapshot], _FoundT], changed: Callable[[_FoundT], Iterable[Add]]
) -> Callable[[Snapshot], _FoundT]:
    """Keep what was found at a version for the later ones on which nothing of it has changed.

    A plan is made again only if no commit in between conflicts with it: then no row that it looked for came or went,
    and what it found holds as long as its own files are as they were.

    Args:
        find: Finds it at a version.
        changed: The files of a finding that are removed or masked, as they were.
    """
    known: list[tuple[Snapshot, _FoundT]] = []

    def found(snapshot: Snapshot) -> _FoundT:
        if not known or not _holds(known[0][0], tuple(changed(known[0][1])), snapshot):
            known[:] = [(snapshot, find(snapshot))]
        return known[0][1]

    return found


def _holds(before: Snapshot, changed: tuple[Add, ...], after: Snapshot) -> bool:
    if before.metadata != after.metadata or before.protocol != after.protocol:
        return False
    live = _states(after, [add.path for add in changed])
    return all(live.get(add.path) == _state(add) for add in changed)


def _state(add: Add) -> _State:
    vector = None if add.deletion_vector is None else add.deletion_vector.unique_id
    return vector, add.base_row_id, add.default_row_commit_version


def _states(snapshot: Snapshot, raw_paths: list[str]) -> dict[str, _State]:
    """Vector, first row id and commit version of some files, by path as in the log; those that are not live are left
    out."""
    import pyarrow.compute as pc

    if not raw_paths:
        return {}
    files = snapshot.logical_files
    files = files.filter(pc.is_in(files.column("raw_path"), strings(raw_paths)))
    columns: list[pa.ChunkedArray] = [files.column(name) for name in ("base_row_id", "default_row_commit_version")]
    vectors = [None if vector is None else vector.unique_id for vector in vector_descriptors(files)]
    rows = zip(files.column("raw_path").to_pylist(), vectors, *(column.to_pylist() for column in columns), strict=True)
    return {path: (vector, first, version) for path, vector, first, version in rows}


def _meeting(snapshot: Snapshot, condition: Expression) -> Reads:
    found = snapshot.skipping(condition).files
    kept = found.filter(found.column("kept"))
    files = None if kept.num_rows == found.num_rows else frozenset(map(canonical_key, kept.column("path").to_pylist()))
    return Reads(files, condition)


def _of_target(condition: Expression) -> Expression | None:
    """What a condition asks of the target alone, in its own names; None if nothing."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    asked = tuple(part for part in map(_stripped, parts) if part is not None)
    return And(asked) if asked else None


def _stripped(part: Expression) -> Expression | None:
    """The same without the name of the target before each column; None if it asks for more than the target."""
    match part:
        case And() | Or():
            inner = tuple(map(_stripped, part.parts))
            return None if None in inner else msgspec.structs.replace(part, parts=inner)
        case Not():
            negated = _stripped(part.part)
            return None if negated is None else Not(negated)
        case Constant():
            return part
        case Comparison() | Like() | IsNull():
            first, *rest = part.column
            return msgspec.structs.replace(part, column=tuple(rest)) if rest and first.lower() == _TARGET else None
        case _:
            return None
