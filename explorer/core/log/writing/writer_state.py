"""The actions that a checkpoint preserves: reconciliation with the tombstones, which only writers need.

Protocol sections: Action Reconciliation, Checkpoints, Removing Expired Tombstones. Invariants: a tombstone stays until
its file is added again with the same vector or it has expired: its time, 0 where it has none, must be after the
cut-off to stay (D-02, FILE-014); fields that this program does not know are preserved (PROTO-003).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

import msgspec
import pyarrow as pa

from explorer.core.log.action_lines import action_lines
from explorer.core.log.checkpoint.file_columns import unique_ids
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_segment import LogSegment
from explorer.core.log.replay import Reconciliation, checkpoint_reader, read_commit_files, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.json_values import JsonObject, exact_number
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.raw_actions import (
    AddLine,
    CommitLine,
    FullAddLine,
    FullRemoveLine,
    RemoveLine,
    unknown_members,
)

_LineT = TypeVar("_LineT", AddLine, RemoveLine)


FileKey = tuple[str, str | None]
"""A logical file: canonical path and identity of its deletion vector."""


class CarriedActions(msgspec.Struct, frozen=True):
    """The state of a version with its tombstones.

    Attributes:
        version: The version.
        state: The small actions in force.
        files: The live files.
        tombstones: Removals in force, expired ones included: those of the checkpoint before, then those since.
    """

    version: int
    state: TableState
    files: LogicalFiles
    tombstones: tuple[CheckpointPart | list[RemoveLine], ...]

    def unknown_adds(self) -> dict[FileKey, JsonObject]:
        """Return fields of the live files beyond the columns of files, by canonical path and deletion vector.

        These are fields that this program does not know, ``clusteringProvider``, and of ``deletionVector`` the member
        ``maxRowIndex``.
        """
        fields: dict[FileKey, JsonObject] = {}
        for source in self.files.sources:
            if isinstance(source, CheckpointPart):
                fields.update(_unknown_of_part(source))
            elif isinstance(source, LineSource):
                fields.update(_unknown_of_lines(source.lines))
        return fields

    def adds(self, length: int) -> Iterator[pa.StructArray | list[AddLine]]:
        """Yield the live files, up to so many at a time: as rows of a checkpoint, or as lines."""
        for source in self.files.sources:
            if isinstance(source, CheckpointPart):
                yield from source.batches(length)
            elif isinstance(source, LineSource):
                yield from _chunks(source.lines, length)

    def removes(self, length: int) -> Iterator[pa.StructArray | list[RemoveLine]]:
        """Yield the tombstones, expired ones included, in the same way."""
        for source in self.tombstones:
            if isinstance(source, CheckpointPart):
                yield from source.batches(length)
            else:
                yield from _chunks(source, length)

    def lines(self) -> Iterator[tuple[str, AddLine | RemoveLine]]:
        """Yield the lines since the checkpoint, with the action used from each: ``add`` or ``remove``."""
        for source in self.files.sources:
            if isinstance(source, LineSource):
                yield from (("add", line) for line in source.lines)
        for tombstones in self.tombstones:
            if not isinstance(tombstones, CheckpointPart):
                yield from (("remove", line) for line in tombstones)

    def parts(self) -> Iterator[tuple[str, CheckpointPart]]:
        """Yield the files of the checkpoint before, with the action used from each: ``add`` or ``remove``."""
        yield from (("add", source) for source in self.files.sources if isinstance(source, CheckpointPart))
        yield from (("remove", source) for source in self.tombstones if isinstance(source, CheckpointPart))


def carry_actions(store: LogStore, segment: LogSegment) -> CarriedActions:
    """Reconcile a version for a writer.

    Raises:
        TableError: The log is damaged.
    """
    newest, commits = Reconciliation(), []
    for path, data in read_commit_files(store, segment.commits):
        commit = _with_unknown(decode_commit(data, path.version, path.path), data)
        newest.apply(commit)
        commits.append(commit)
    base = checkpoint_reader(store, segment)
    state = replay_state(base, commits, segment.version)
    tombstones: list[CheckpointPart | list[RemoveLine]] = []
    if base is not None:
        touched = _added(commits) | newest.removed.keys()
        tombstones += [_remaining(source, touched) for source in base.tombstones()]
    tombstones.append(list(newest.removed.values()))
    return CarriedActions(segment.version, state, newest.files(base), tuple(tombstones))


def _chunks(lines: list[_LineT], length: int) -> Iterator[list[_LineT]]:
    return (lines[start : start + length] for start in range(0, len(lines), length))


def _added(commits: Iterable[Commit]) -> set[FileKey]:
    lines = (line.add for commit in commits for line in commit.lines)
    return {(canonical_key(add.path), add.vector_id) for add in lines if add is not None}


def _remaining(source: CheckpointPart | list[RemoveLine], touched: set[FileKey]) -> CheckpointPart | list[RemoveLine]:
    """Return the tombstones of a checkpoint that no later action cancels or replaces."""
    if not touched:
        return source
    if isinstance(source, CheckpointPart):
        matches = source.find({key for key, _ in touched})
        return source.without([row for row, key, vector_id in matches if (key, vector_id) in touched])
    return [line for line in source if (canonical_key(line.path), line.vector_id) not in touched]


# --- fields beyond the columns of files -------------------------------------------------------------------------------

_PROVIDER: Final = "clusteringProvider"
_COLUMNS: Final = frozenset(AddLine.__struct_encode_fields__) - {_PROVIDER} | {"stats_parsed", "partitionValues_parsed"}
_ROWS: Final = 1 << 14


def _unknown_of_lines(lines: Iterable[AddLine]) -> Iterator[tuple[FileKey, JsonObject]]:
    for line in lines:
        provider: JsonObject = {} if line.clustering_provider is None else {_PROVIDER: line.clustering_provider}
        vector = line.deletion_vector
        max_row = {} if vector is None or vector.max_row_index is None else _max_row_field(vector.max_row_index)
        fields = provider | max_row | unknown_members(line)
        if fields:
            yield (canonical_key(line.path), line.vector_id), fields


def _unknown_of_part(part: CheckpointPart) -> Iterator[tuple[FileKey, JsonObject]]:
    names = sorted(part.members_with_values().keys() - _COLUMNS)
    if not names and "deletionVector" not in part.members_with_values():
        return
    for batch in part.batches(_ROWS):
        members = dict(zip([field.name for field in batch.type], batch.flatten(), strict=True))
        vectors = members.get("deletionVector")
        ids = [None] * len(batch) if vectors is None else unique_ids(vectors).to_pylist()
        columns = [members[name].to_pylist(maps_as_pydicts="strict") for name in names]
        rows = zip(members["path"].to_pylist(), ids, _max_rows(vectors, len(batch)), *columns, strict=True)
        for path, vector_id, max_row, *values in rows:
            fields = {name: value for name, value in zip(names, values, strict=True) if value is not None}
            if max_row is not None:
                fields |= _max_row_field(max_row)
            if fields:
                yield (canonical_key(path), vector_id), fields


def _max_rows(vectors: pa.StructArray | None, length: int) -> list[int | None]:
    """Return the maximum row index that each vector of a checkpoint hides, where recorded."""
    if vectors is None or vectors.type.get_field_index("maxRowIndex") < 0:
        return [None] * length
    values: list[int | None] = vectors.field("maxRowIndex").to_pylist()
    valid = vectors.is_valid().to_pylist()
    return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]


def _max_row_field(row: int) -> JsonObject:
    return {"deletionVector": {"maxRowIndex": row}}


# --- fields that this program does not know ---------------------------------------------------------------------------


class _KnownAdd(AddLine, forbid_unknown_fields=True, gc=False, rename="camel"):
    pass


class _KnownRemove(RemoveLine, forbid_unknown_fields=True, gc=False, rename="camel"):
    pass


class _KnownLine(msgspec.Struct, gc=False):
    add: _KnownAdd | None = None
    remove: _KnownRemove | None = None


class _AnyLine(msgspec.Struct, gc=False):
    add: JsonObject | None = None
    remove: JsonObject | None = None


_KNOWN: Final = msgspec.json.Decoder(_KnownLine)
_ANY: Final = msgspec.json.Decoder(_AnyLine, float_hook=exact_number)


def _with_unknown(commit: Commit, data: bytes) -> Commit:
    """Return the commit, its file actions with all their members; usually a strict decoder shows that all are known."""
    try:
        _KNOWN.decode_lines(data)
    except msgspec.ValidationError:
        texts = action_lines(data)
        lines = (
            _line_with_unknown(line, texts[commit.line_number(index) - 1]) for index, line in enumerate(commit.lines)
        )
        return msgspec.structs.replace(commit, lines=list(lines))
    return commit


def _line_with_unknown(line: CommitLine, text: bytes) -> CommitLine:
    add, remove = line.add, line.remove
    if add is not None and (unknown := _unknown(_ANY.decode(text).add, AddLine)):
        add = FullAddLine(**msgspec.structs.asdict(add), unknown=unknown)
    if remove is not None and (unknown := _unknown(_ANY.decode(text).remove, RemoveLine)):
        remove = FullRemoveLine(**msgspec.structs.asdict(remove), unknown=unknown)
    return msgspec.structs.replace(line, add=add, remove=remove)


def _unknown(action: JsonObject | None, known: type[AddLine | RemoveLine]) -> JsonObject:
    members = (action or {}).items()
    return {name: item for name, item in members if name not in known.__struct_encode_fields__ and item is not None}
