"""Checkpoints: read any shape, and only the requested parts of it.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files. Invariants: a missing column or field reads as null
(CKPT-010), unknown ones are skipped (CKPT-030); exactly one protocol and one metaData row must exist (CKPT-011);
commitInfo is ignored (D-22); removed domains are suppressed (DOMAIN-005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Final, Literal

import msgspec
import pyarrow as pa

from explorer.core.errors import IncompleteCheckpoint
from explorer.core.log.action_lines import action_lines
from explorer.core.log.checkpoint.column_cache import ColumnCache, PartCache
from explorer.core.log.checkpoint.column_types import unusual_columns
from explorer.core.log.checkpoint.parquet_part import CheckpointPart
from explorer.core.log.checkpoint.statistics_cache import StatisticsCache
from explorer.core.log.commit import decode_commit
from explorer.core.log.index_cache import IndexCache
from explorer.core.log.log_path import SIDECAR_FOLDER, LogPath
from explorer.core.log.log_segment import CompleteCheckpoint
from explorer.core.log.table_state import TableState
from explorer.core.log.text_shape import misshapen
from explorer.core.protocol.actions import DomainMetadata, Metadata, Protocol, Sidecar, TransactionAction
from explorer.core.protocol.arrow.row_groups import RowGroups
from explorer.core.protocol.decoded_bytes import DecodedBytes
from explorer.core.protocol.file_locations import place_of
from explorer.core.protocol.file_paths import decode_path, is_absolute
from explorer.core.protocol.json_values import JsonObject, JsonValue, decode_json
from explorer.core.protocol.limits import check_checkpoint
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.logical_files import FileSource, LineSource
from explorer.core.protocol.raw_actions import AddLine, CommitLine, RemoveLine


class CheckpointFile(msgspec.Struct, frozen=True):
    """A Parquet file of a checkpoint that may contain files: one of its parts, or a sidecar.

    Attributes:
        path: Its key, or an absolute location.
        size: Its size in bytes, as listed or as the sidecar action records it.
        part: The part that it is, or that names it.
    """

    path: str
    size: int
    part: LogPath


_SMALL: Final = ("protocol", "metaData", "txn", "domainMetadata")
_OF_ITSELF: Final = "checkpointMetadata"
_ACTIONS: Final = (*_SMALL, _OF_ITSELF, "add", "remove", "sidecar")
_BY_CASE: Final = {name.lower(): name for name in _ACTIONS}


class CheckpointReader:
    """A checkpoint, of which each piece is read at first need; its files are opened once for all of them."""

    def __init__(self, store: LogStore, checkpoint: CompleteCheckpoint) -> None:
        self._store = store
        self._checkpoint = checkpoint
        self._rows: dict[str, RowGroups] = {}
        self._budget = DecodedBytes(f"The checkpoint of version {checkpoint.version}", checkpoint.version)

    def state(self) -> TableState:
        """Read protocol, metadata, transactions and domains.

        Raises:
            IncompleteCheckpoint: A part is missing or unreadable, or there is not exactly one protocol and one
                metadata.
        """
        parts = self._checkpoint.parts
        rows: dict[str, list[JsonValue]] = {name: [] for name in _SMALL}
        for part in parts:
            for name, values in self._small_rows(part, _SMALL).items():
                rows[name].extend(values)
        try:
            protocols = [Protocol.from_wire(row) for row in rows["protocol"]]
            metadatas = [Metadata.from_wire(row) for row in rows["metaData"]]
            transactions = [TransactionAction.from_wire(row) for row in rows["txn"]]
            domains = [DomainMetadata.from_wire(row) for row in rows["domainMetadata"]]
        except msgspec.ValidationError as error:
            raise unreadable(parts[0], str(error)) from error
        if len(protocols) != 1 or len(metadatas) != 1:
            reason = f"it contains {len(protocols)} protocol and {len(metadatas)} metaData actions instead of one each"
            raise unreadable(parts[0], reason)
        return TableState(
            protocols[0],
            metadatas[0],
            {txn.app_id: txn for txn in transactions},
            {domain.domain: domain for domain in domains if not domain.removed},
        )

    def files(
        self, cache: ColumnCache | None = None, indexes: Callable[[], IndexCache | None] | None = None
    ) -> Sequence[FileSource]:
        """Open the live files, those in sidecars included; their columns are read at first need.

        Args:
            cache: Caches their columns; None caches nothing.
            indexes: Opens the cache of their statistics between processes; None caches nothing.

        Raises:
            IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
            LimitExceeded: They are too many for one process.
        """
        if cache is None:
            return self._files(None, indexes)
        return cache.opened((self._store, self._checkpoint), partial(self._files, cache, indexes))

    def contents(self) -> tuple[list[CheckpointFile], list[AddLine]]:
        """Return the Parquet files with the live files, and the live files that a part in JSON contains itself.

        Raises:
            IncompleteCheckpoint: A part is missing or unreadable.
        """
        files: list[CheckpointFile] = []
        lines: list[AddLine] = []
        for part in self._checkpoint.parts:
            if part.name.endswith(".json"):
                lines += [line.add for line in self._json_lines(part) if line.add is not None]
            else:
                files.append(CheckpointFile(part.path, part.size, part))
            files += [CheckpointFile(_path_of(each), each.size_in_bytes, part) for each in self._sidecars(part)]
        return files, lines

    def tombstones(self) -> list[CheckpointPart | list[RemoveLine]]:
        """Open the tombstones, those in sidecars included.

        Raises:
            IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
        """
        sources: list[CheckpointPart | list[RemoveLine]] = []
        for part in self._checkpoint.parts:
            if part.name.endswith(".json"):
                sources.append([line.remove for line in self._json_lines(part) if line.remove is not None])
            else:
                sources.append(self._part(part.path, part, "remove"))
            sources.extend(self._part(_path_of(sidecar), part, "remove") for sidecar in self._sidecars(part))
        return sources

    def sidecar_keys(self) -> tuple[str, ...]:
        """Return keys of the sidecars that it names.

        Raises:
            IncompleteCheckpoint: A part is missing or unreadable.
        """
        return tuple(key for key, _ in self.sidecars())

    def sidecars(self) -> tuple[tuple[str, Sidecar], ...]:
        """Return the sidecars that it names, with their keys.

        Raises:
            IncompleteCheckpoint: A part is missing or unreadable.
        """
        named = (sidecar for part in self._checkpoint.parts for sidecar in self._sidecars(part))
        return tuple((_path_of(sidecar), sidecar) for sidecar in named)

    def checkpoint_metadata(self) -> list[JsonObject]:
        """Return its checkpointMetadata actions, empty without any.

        Raises:
            IncompleteCheckpoint: A part is missing or unreadable.
        """
        rows_by_part = (self._small_rows(part, (_OF_ITSELF,)) for part in self._checkpoint.parts)
        return [row for rows in rows_by_part for row in rows.get(_OF_ITSELF, []) if isinstance(row, dict)]

    def totals(self) -> tuple[int, int]:
        """Return the number of its actions and its bytes, those of sidecars included.

        Raises:
            IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
        """
        rows = 0
        for part in self._checkpoint.parts:
            if part.name.endswith(".json"):
                rows += len(self._json_objects(part))
            else:
                rows += self._opened(part.path, part).metadata.num_rows
            rows += sum(self._opened(_path_of(each), part).metadata.num_rows for each in self._sidecars(part))
        size = sum(part.size for part in self._checkpoint.parts)
        return rows, size + sum(sidecar.size_in_bytes for _, sidecar in self.sidecars())

    def _files(self, cache: ColumnCache | None, indexes: Callable[[], IndexCache | None] | None) -> list[FileSource]:
        sources: list[FileSource] = []
        version, size = self._checkpoint.version, sum(part.size for part in self._checkpoint.parts)
        check_checkpoint(version, size)
        root, places = self._store.root, count()

        def opened(path: str, part: LogPath, size: int) -> CheckpointPart:
            kept = None if indexes is None else StatisticsCache(indexes, (root, next(places)), part, path, size)
            part_cache = None if cache is None else cache.part(self._store, part, path)
            return self._part(path, part, cache=part_cache, kept=kept)

        for part in self._checkpoint.parts:
            if part.name.endswith(".json"):
                sources.append(LineSource([line.add for line in self._json_lines(part) if line.add is not None]))
            else:
                sources.append(opened(part.path, part, part.size))
            sidecars = self._sidecars(part)
            size += sum(sidecar.size_in_bytes for sidecar in sidecars)
            check_checkpoint(version, size)
            sources.extend(opened(_path_of(sidecar), part, sidecar.size_in_bytes) for sidecar in sidecars)
        return [source for source in sources if source.num_rows]

    def _part(
        self,
        path: str,
        part: LogPath,
        action: Literal["add", "remove"] = "add",
        cache: PartCache | None = None,
        kept: StatisticsCache | None = None,
    ) -> CheckpointPart:
        unreadable = partial(_unreadable_file, part, path)
        return CheckpointPart(self._opened(path, part), unreadable, action, cache=cache, kept=kept)

    def _small_rows(self, part: LogPath, names: tuple[str, ...]) -> dict[str, list[JsonValue]]:
        if part.name.endswith(".json"):
            lines = self._json_objects(part)
            return {name: [line[name] for line in lines if line.get(name) is not None] for name in names}
        rows = self._opened(part.path, part)
        try:
            return rows.present(names)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable_file(part, part.path, error) from error

    def _opened(self, path: str, part: LogPath) -> RowGroups:
        opened = self._rows.get(path)
        if opened is None:
            holder, key = place_of(self._store, path)
            try:
                opened = self._rows[path] = RowGroups(partial(holder.open_input, key), self._budget, path)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _unreadable_file(part, path, error) from error
            self._check_names(opened.schema.names, part, path)
        return opened

    def _check_names(self, names: Sequence[str], part: LogPath, path: str) -> None:
        """Refuse a file whose actions are in columns of another case, which must not look like no actions."""
        for name in names:
            meant = _BY_CASE.get(name.lower(), name)
            if meant != name and meant not in names:
                raise unreadable(part, f"{path}: its column {name!r} is {meant!r} in the protocol")

    def unusual_types(self) -> list[str]:
        """Return columns of its files with other types than the protocol's, so that some clients refuse them.

        Raises:
            IncompleteCheckpoint: A part or a sidecar is missing or unreadable.
        """
        parquet = [part for part in self._checkpoint.parts if not part.name.endswith(".json")]
        opened = [(part.path, self._opened(part.path, part)) for part in parquet]
        for part in self._checkpoint.parts:
            opened += [(_path_of(each), self._opened(_path_of(each), part)) for each in self._sidecars(part)]
        return [f"{path}: {detail}" for path, rows in opened for detail in unusual_columns(rows.schema)]

    def _sidecars(self, part: LogPath) -> list[Sidecar]:
        rows = self._small_rows(part, ("sidecar",)).get("sidecar", [])
        try:
            return [Sidecar.from_wire(row) for row in rows]
        except msgspec.ValidationError as error:
            raise unreadable(part, f"sidecar: {error}") from error

    def _json_lines(self, part: LogPath) -> list[CommitLine]:
        lines = decode_commit(self._bytes(part), part.version, part.path).lines
        # A caller that has the small actions reads only the files: an empty checkpoint must not look like no files.
        for name in ("protocol", "metaData"):
            if not any(getattr(line, name) for line in lines):
                raise unreadable(part, f"it contains no {name} action")
        return lines

    def _json_objects(self, part: LogPath) -> list[JsonObject]:
        lines, objects = action_lines(self._bytes(part)), list[JsonObject]()
        for place, line in enumerate(lines):
            if not line.strip():
                continue
            try:
                value = decode_json(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                shape = misshapen(lines, place)
                raise unreadable(part, str(error) if shape is None else shape.cause) from error
            if isinstance(value, dict):
                objects.append(value)
        return objects

    def _bytes(self, part: LogPath) -> bytes:
        try:
            return self._store.read(part.path)
        except FileNotFoundError as error:
            raise _unreadable_file(part, part.path, error) from error


def unreadable(part: LogPath, reason: str, *, vanished: bool | None = None) -> IncompleteCheckpoint:
    """Return the error for a checkpoint that cannot be used; ``vanished`` if one of its files is missing."""
    return IncompleteCheckpoint(
        f"The checkpoint of version {part.version} ({part.name}) cannot be used: {reason}. "
        "If all commits since an older checkpoint still exist, remove the damaged checkpoint. If not, restore it.",
        version=part.version,
        path=part.path,
        vanished=vanished,
    )


def _unreadable_file(part: LogPath, path: str, error: Exception) -> IncompleteCheckpoint:
    if isinstance(error, FileNotFoundError):
        return unreadable(part, f"{path} is missing", vanished=True)
    return unreadable(part, f"{path}: {error}")


def _path_of(sidecar: Sidecar) -> str:
    path = decode_path(sidecar.path)
    return path if "/" in path or is_absolute(sidecar.path) else f"{SIDECAR_FOLDER}/{path}"
