"""What a checkpoint carries on: reconciliation with the tombstones, which only writers need.

Protocol sections: Action Reconciliation, Checkpoints, Removing Expired Tombstones. Invariants: a tombstone stays until
its file is added again with the same vector or it has expired: its time, 0 where it has none, must lie after the
cut-off to stay (D-02, FILE-014); fields that this program does not know come along (PROTO-003).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from explorer.core.log.checkpoint.file_columns import unique_ids
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.log.checkpoint.reader import open_checkpoint_tombstones
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_segment import LogSegment
from explorer.core.log.replay import Reconciliation, read_commit_files, replay_state
from explorer.core.log.table_state import TableState
from explorer.core.protocol.file_paths import canonical_key
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.raw_actions import AddLine, RemoveLine

__all__ = ["CarriedActions", "FileKey", "LineChunk", "carry_actions"]


FileKey = tuple[str, str | None]
"""A logical file: canonical path and identity of its deletion vector."""


class LineChunk(msgspec.Struct, frozen=True):
    """Some file actions of commits, and by their place the fields of each that this program does not know."""

    lines: Sequence[AddLine] | Sequence[RemoveLine]
    unknown: dict[int, dict[str, Any]]


class CarriedActions(msgspec.Struct, frozen=True):
    """The state of a version with its tombstones.

    Attributes:
        version: The version.
        state: The small actions in force.
        files: The live files.
        tombstones: Removals in force, expired ones included: those of the checkpoint before, then those since.
        unknown: Fields that this program does not know, by action and identity of the line they stand in.
    """

    version: int
    state: TableState
    files: LogicalFiles
    tombstones: tuple[CheckpointPart | list[RemoveLine], ...]
    unknown: dict[str, dict[int, dict[str, Any]]]

    def unknown_adds(self) -> dict[FileKey, dict[str, Any]]:
        """What the live files say beyond the columns of files, by canonical path and deletion vector.

        These are fields that this program does not know, ``clusteringProvider``, and of ``deletionVector`` the member
        ``maxRowIndex``.
        """
        found: dict[FileKey, dict[str, Any]] = {}
        for source in self.files.sources:
            if isinstance(source, CheckpointPart):
                found.update(_stated_beyond(source))
            elif isinstance(source, LineSource):
                found.update(_said_beyond(source.lines, self.unknown["add"]))
        return found

    def adds(self, length: int) -> Iterator[pa.StructArray | LineChunk]:
        """The live files, up to so many at a time: as they stand in a checkpoint, or as lines."""
        for source in self.files.sources:
            if isinstance(source, CheckpointPart):
                yield from source.batches(length)
            elif isinstance(source, LineSource):
                yield from _chunks(source.lines, self.unknown["add"], length)

    def removes(self, length: int) -> Iterator[pa.StructArray | LineChunk]:
        """The tombstones, expired ones included, in the same way."""
        for source in self.tombstones:
            if isinstance(source, CheckpointPart):
                yield from source.batches(length)
            else:
                yield from _chunks(source, self.unknown["remove"], length)

    def parts(self) -> Iterator[tuple[str, CheckpointPart]]:
        """The files of the checkpoint before, with what is taken from each: ``add`` or ``remove``."""
        yield from (("add", source) for source in self.files.sources if isinstance(source, CheckpointPart))
        yield from (("remove", source) for source in self.tombstones if isinstance(source, CheckpointPart))


def carry_actions(store: LogStore, segment: LogSegment) -> CarriedActions:
    """Reconcile a version for a writer.

    Raises:
        TableError: The log is broken.
    """
    newest, commits = Reconciliation(), []
    unknown: dict[str, dict[int, dict[str, Any]]] = {"add": {}, "remove": {}}
    for path, data in read_commit_files(store, segment.commits):
        commit = decode_commit(data, path.version, path.path)
        newest.apply(commit)
        commits.append(commit)
        for name, number, fields in _unknown_fields(data, commit):
            unknown[name][number] = fields
    state = replay_state(store, segment, commits)
    tombstones: list[CheckpointPart | list[RemoveLine]] = []
    if segment.checkpoint is not None:
        touched = _added(commits) | newest.removed.keys()
        opened = open_checkpoint_tombstones(store, segment.checkpoint)
        tombstones += [_remaining(source, touched) for source in opened]
    tombstones.append(list(newest.removed.values()))
    return CarriedActions(segment.version, state, newest.files(store, segment), tuple(tombstones), unknown)


def _chunks(
    lines: Sequence[AddLine] | Sequence[RemoveLine], unknown: dict[int, dict[str, Any]], length: int
) -> Iterator[LineChunk]:
    for start in range(0, len(lines), length):
        chunk = lines[start : start + length]
        found = {place: unknown[id(line)] for place, line in enumerate(chunk) if id(line) in unknown}
        yield LineChunk(chunk, found)


def _added(commits: Iterable[Commit]) -> set[tuple[str, str | None]]:
    lines = (line.add for commit in commits for line in commit.lines)
    return {(canonical_key(add.path), add.vector_id) for add in lines if add is not None}


def _remaining(
    source: CheckpointPart | list[RemoveLine], touched: set[tuple[str, str | None]]
) -> CheckpointPart | list[RemoveLine]:
    """The tombstones of a checkpoint that no later action cancels or replaces."""
    if not touched:
        return source
    if isinstance(source, CheckpointPart):
        found = source.find({key for key, _ in touched})
        return source.without([place for place, key, vector_id in found if (key, vector_id) in touched])
    return [line for line in source if (canonical_key(line.path), line.vector_id) not in touched]


# --- fields beyond the columns of files -------------------------------------------------------------------------------

_PROVIDER: Final = "clusteringProvider"
_COLUMNS: Final = frozenset(AddLine.__struct_encode_fields__) - {_PROVIDER} | {"stats_parsed", "partitionValues_parsed"}
_ROWS: Final = 1 << 14


def _said_beyond(
    lines: Iterable[AddLine], unknown: dict[int, dict[str, Any]]
) -> Iterator[tuple[FileKey, dict[str, Any]]]:
    for line in lines:
        provider = {} if line.clustering_provider is None else {_PROVIDER: line.clustering_provider}
        vector = line.deletion_vector
        greatest = {} if vector is None or vector.max_row_index is None else _greatest(vector.max_row_index)
        fields = provider | greatest | unknown.get(id(line), {})
        if fields:
            yield (canonical_key(line.path), line.vector_id), fields


def _stated_beyond(part: CheckpointPart) -> Iterator[tuple[FileKey, dict[str, Any]]]:
    names = sorted(part.stated_members().keys() - _COLUMNS)
    if not names and "deletionVector" not in part.stated_members():
        return
    for batch in part.batches(_ROWS):
        members = dict(zip([field.name for field in batch.type], batch.flatten(), strict=True))
        vectors = members.get("deletionVector")
        ids = [None] * len(batch) if vectors is None else unique_ids(vectors).to_pylist()
        columns = [members[name].to_pylist(maps_as_pydicts="strict") for name in names]
        rows = zip(members["path"].to_pylist(), ids, _greatest_rows(vectors, len(batch)), *columns, strict=True)
        for path, vector_id, greatest, *values in rows:
            fields = {name: value for name, value in zip(names, values, strict=True) if value is not None}
            if greatest is not None:
                fields |= _greatest(greatest)
            if fields:
                yield (canonical_key(path), vector_id), fields


def _greatest_rows(vectors: pa.StructArray | None, length: int) -> list[int | None]:
    """What the vectors of a checkpoint say of the greatest row index that they hide."""
    if vectors is None or vectors.type.get_field_index("maxRowIndex") < 0:
        return [None] * length
    found: list[int | None] = vectors.field("maxRowIndex").to_pylist()
    valid = vectors.is_valid().to_pylist()
    return [value if is_valid else None for value, is_valid in zip(found, valid, strict=True)]


def _greatest(row: int) -> dict[str, Any]:
    return {"deletionVector": {"maxRowIndex": row}}


# --- fields that this program does not know ---------------------------------------------------------------------------


class _KnownAdd(AddLine, forbid_unknown_fields=True, gc=False, rename="camel"):
    pass


class _KnownRemove(RemoveLine, forbid_unknown_fields=True, gc=False, rename="camel"):
    pass


class _KnownLine(msgspec.Struct, gc=False):
    add: _KnownAdd | None = None
    remove: _KnownRemove | None = None


_KNOWN: Final = msgspec.json.Decoder(_KnownLine)
_NAMES: Final = {
    "add": frozenset(AddLine.__struct_encode_fields__),
    "remove": frozenset(RemoveLine.__struct_encode_fields__),
}


def _unknown_fields(data: bytes, commit: Commit) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Unknown fields of the file actions of a commit; nearly always there are none, which a strict decoder tells."""
    try:
        _KNOWN.decode_lines(data)
    except msgspec.ValidationError:
        pass
    else:
        return
    texts = data.split(b"\n")
    for place, line in enumerate(commit.lines):
        action = line.add or line.remove
        if action is None:
            continue
        name = "add" if line.add is not None else "remove"
        value = msgspec.json.decode(texts[commit.line_number(place) - 1])[name]
        fields = {key: item for key, item in value.items() if key not in _NAMES[name] and item is not None}
        if fields:
            yield name, id(action), fields
