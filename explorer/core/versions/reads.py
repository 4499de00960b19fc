"""The part of a version that a transaction read, and whether later commits touch it.

Protocol: Delta Log Entries leaves this to writers. Invariants: the reads are never underestimated: a condition that
the core cannot evaluate, or that an engine reads differently, means every file; a result is used again only while the
metadata, the protocol and every file that it is about are the same.
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
    Constant,
    Expression,
    IsNull,
    Like,
    Not,
    Or,
    SqlComparison,
    parse_predicate,
)
from explorer.core.versions.snapshot import Snapshot

_TARGET: Final = "target"
_ResultT = TypeVar("_ResultT")
_State = tuple[str | None, int | None, int | None]


class Reads(msgspec.Struct, frozen=True):
    """The live files that a transaction depends on. A later file matters if it may contain rows that were searched for.

    Attributes:
        files: Decoded paths of the files that were read; None for all.
        condition: The rows that were searched for: those for which this is TRUE; None for all.
        partitions: The partitions that were read, values as in the log, in the order of their columns; None
            for all.
    """

    files: frozenset[str] | None = None
    condition: Expression | None = None
    partitions: frozenset[tuple[str | None, ...]] | None = None


def rows_meeting(snapshot: Snapshot, where: str | None, *, as_core: bool) -> Reads:
    """Return the reads of the rows for which a condition is TRUE.

    Args:
        where: The condition; None for all rows.
    """
    if where is None or not as_core:
        return Reads()
    try:
        return _meeting(snapshot, parse_predicate(where))
    except RequestError:
        return Reads()  # the engine understands it, but the core does not


def rows_matched(snapshot: Snapshot, on: str, *, as_core: bool) -> Reads:
    """Return the reads of the rows that may match a source row: those that meet the condition on the target alone.

    Args:
        on: A condition over the columns of ``target`` and of the source.
    """
    if not as_core:
        return Reads()
    try:
        on_target = _of_target(parse_predicate(on))
        return Reads() if on_target is None else _meeting(snapshot, on_target)
    except RequestError:
        return Reads()


def reads_of_files(adds: Iterable[Add]) -> Reads:
    """Return the reads of some files; no other file matters."""
    return Reads(frozenset(canonical_key(add.path) for add in adds))


def first_read(reads: Reads, added: Sequence[AddLine], read: Snapshot | None) -> AddLine | None:
    """Return the first of some later files which may contain a row that was read; None if none of them can.

    Args:
        read: The version that they are of; None if there was none.
    """
    if read is None or not added:
        return next(iter(added), None)
    files = LogicalFiles((LineSource(list(added)),))
    try:
        within = [True] * len(added)
        if reads.partitions is not None:
            within = [each in reads.partitions for each in partitions_of(read, files.column("partition_values"))]
        if reads.condition is not None:
            needed = read.holding(files).skipping(reads.condition).files.column("kept").to_pylist()
            within = [one and other for one, other in zip(within, needed, strict=True)]
    except ExplorerError:
        return added[0]  # another writer's statistics of its file cannot be read, so it may contain any row
    return next((line for line, may in zip(added, within, strict=True) if may), None)


def partitions_of(snapshot: Snapshot, maps: pa.Array | pa.ChunkedArray) -> list[tuple[str | None, ...]]:
    """Return the partitions of some files: values in the order of the partition columns, as the log has them."""
    keys = [field.physical_name for field in map(snapshot.schema.field, snapshot.partition_columns) if field]
    maps_of_files = maps.to_pylist(maps_as_pydicts="strict")
    return [tuple((values or {}).get(key) or None for key in keys) for values in maps_of_files]


def reuse_unchanged(
    find: Callable[[Snapshot], _ResultT], changed: Callable[[_ResultT], Iterable[Add]]
) -> Callable[[Snapshot], _ResultT]:
    """Return a search that reuses its result of a version for later ones in which its files are unchanged.

    A plan is made again only if no commit in between conflicts with it: then no row that it searched for was added or
    removed, and its result is valid as long as its own files are as they were.
    """
    last: list[tuple[Snapshot, _ResultT]] = []

    def reused(snapshot: Snapshot) -> _ResultT:
        if not last or not _is_unchanged(last[0][0], tuple(changed(last[0][1])), snapshot):
            last[:] = [(snapshot, find(snapshot))]
        return last[0][1]

    return reused


def _is_unchanged(before: Snapshot, changed: tuple[Add, ...], after: Snapshot) -> bool:
    if before.metadata != after.metadata or before.protocol != after.protocol:
        return False
    live = _states(after, [add.path for add in changed])
    return all(live.get(add.path) == _state(add) for add in changed)


def _state(add: Add) -> _State:
    vector = None if add.deletion_vector is None else add.deletion_vector.unique_id
    return vector, add.base_row_id, add.default_row_commit_version


def _states(snapshot: Snapshot, raw_paths: list[str]) -> dict[str, _State]:
    """Return vector, first row id and commit version of some files, by path as in the log; only live files."""
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
    read_files = snapshot.skipping(condition).files
    needed = read_files.filter(read_files.column("kept"))
    files = None if needed.num_rows == read_files.num_rows else frozenset(needed.column("path").to_pylist())
    return Reads(files, condition)


def _of_target(condition: Expression) -> Expression | None:
    """Return the part of a condition on the target alone, in its own names; None if there is none."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    on_target = tuple(part for part in map(_stripped, parts) if part is not None)
    return And(on_target) if on_target else None


def _stripped(part: Expression) -> Expression | None:
    """Return the same without the name of the target before each column; None if it needs more than the target."""
    match part:
        case And() | Or():
            inner = tuple(map(_stripped, part.parts))
            return None if None in inner else msgspec.structs.replace(part, parts=inner)
        case Not():
            negated = _stripped(part.part)
            return None if negated is None else Not(negated)
        case Constant():
            return part
        case SqlComparison() | Like() | IsNull():
            first, *rest = part.column
            return msgspec.structs.replace(part, column=tuple(rest)) if rest and first.lower() == _TARGET else None
        case _:
            return None
