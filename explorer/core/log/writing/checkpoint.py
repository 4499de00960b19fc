"""Writing a checkpoint: its files, their contents, and the order in which they are written.

Protocol sections: Checkpoints, V1 Spec, V2 Spec, Sidecar Files, Last Checkpoint File. Invariants: a checkpoint is made
of the whole state of a committed version (CKPT-006, CKPT-027); file actions are all inside or all in sidecars
(V2CKPT-004); a file is written before the file that names it: sidecars, the checkpoint, the hint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
import pyarrow as pa

from explorer.core.errors import UnsupportedFeature
from explorer.core.log.last_checkpoint import LastCheckpoint, encode_last_checkpoint, read_last_checkpoint
from explorer.core.log.log_path import (
    LAST_CHECKPOINT,
    SIDECAR_FOLDER,
    LogFileKind,
    checkpoint_name,
    commit_name,
    replaced_name,
)
from explorer.core.log.log_segment import CompleteCheckpoint, LogListing, LogSegment
from explorer.core.log.writing.checkpoint_layout import CheckpointLayout, check_protocol, checkpoint_layout
from explorer.core.log.writing.file_action_columns import CheckpointFileColumns
from explorer.core.log.writing.small_action_columns import SmallAction, small_columns
from explorer.core.log.writing.writer_state import CarriedActions, carry_actions
from explorer.core.protocol.actions import (
    CheckpointMetadata,
    DomainMetadata,
    Metadata,
    Protocol,
    Sidecar,
    TransactionAction,
    encode_line,
)
from explorer.core.protocol.json_values import JsonObject, JsonValue
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_properties.registry import FILE_RETENTION, SET_TRANSACTION_RETENTION
from explorer.core.protocol.times import milliseconds, span_milliseconds

_ROWS: Final = 1 << 16
"""Rows of one row group."""
_CHUNK: Final = 1 << 14
"""The number of file actions that become columns at a time: a column holds 2 GiB of text."""
_MOST_IN_HINT: Final = 30


class WrittenCheckpoint(msgspec.Struct, frozen=True):
    """The result of writing a checkpoint.

    Attributes:
        version: The version.
        path: Key of the checkpoint's own file.
        sidecars: Keys of its sidecars.
        hint: The hint at it; None if the version had a checkpoint, and nothing was written.
    """

    version: int
    path: str
    sidecars: tuple[str, ...] = ()
    hint: LastCheckpoint | None = None


def write_checkpoint(
    store: LogStore,
    listing: LogListing,
    version: int | None = None,
    *,
    now: datetime,
    new_uuid: Callable[[], UUID],
    layout: CheckpointLayout | None = None,
    instead_of: CompleteCheckpoint | None = None,
) -> WrittenCheckpoint:
    """Write the checkpoint of a version, and the hint unless it names a newer one.

    A version that has a checkpoint, by the listing or because another writer committed one first, is not changed: the
    other one means the same (CKPT-027).

    Args:
        listing: The log, without checkpoints that are known to be damaged.
        listing: The log, without checkpoints that are known to be damaged.
        version: The version, None for the latest.
        now: The present, with a zone; tombstones expire by it.
        layout: The layout; None for that of the table's policy.
        instead_of: A checkpoint of the version that is wrong, which the listing leaves out. Its files are copied to
            names that no reader reads before the new checkpoint takes their place.

    Raises:
        UnsupportedFeature: The table has a feature that this program does not know, or a catalog manages it, or the
            layout is V2 and the table lacks the feature for it.
        TableError: The log is damaged.
        StorageError: The store failed.
    """
    segment = listing.segment(version)
    if segment.checkpoint is not None and segment.checkpoint.version == segment.version:
        return WrittenCheckpoint(segment.version, segment.checkpoint.parts[0].path)
    carried = carry_actions(store, segment)
    chosen = checkpoint_layout(carried.state, segment.version) if layout is None else layout
    check_protocol(carried.state.protocol, segment.version, chosen, by_catalog=listing.by_catalog)
    check_published(store, segment)
    return _CheckpointWriter(store, carried, chosen, milliseconds(now), new_uuid, instead_of=instead_of).write()


def check_published(store: LogStore, segment: LogSegment) -> None:
    """Refuse a version that is not published, or that comes after one that is not (CATALOG-005)."""
    staged = [path.version for path in segment.commits if path.kind is LogFileKind.STAGED_COMMIT]
    for version in staged:
        try:
            store.head(commit_name(version))
        except FileNotFoundError:
            raise UnsupportedFeature(
                f"Version {version} is ratified by the catalog and not published yet; only published versions may have "
                "a checkpoint. The next commit of this program publishes it.",
                features=["catalogManaged"],
                operation="write a checkpoint",
                version=version,
            ) from None


class _CheckpointWriter:
    """One checkpoint while it is written; ``now`` is ms since the epoch."""

    def __init__(
        self,
        store: LogStore,
        carried: CarriedActions,
        layout: CheckpointLayout,
        now: int,
        new_uuid: Callable[[], UUID],
        *,
        instead_of: CompleteCheckpoint | None,
    ) -> None:
        self._replaced = () if instead_of is None else tuple(part.path for part in instead_of.parts)
        self._store, self._carried, self._layout = store, carried, layout
        self._now, self._new_uuid = now, new_uuid
        self._columns = CheckpointFileColumns(carried)
        self._schema = pa.schema([("add", self._columns.add_type), ("remove", self._columns.remove_type)])
        self._num_adds = self._num_removes = 0

    def write(self) -> WrittenCheckpoint:
        layout, version = self._layout, self._carried.version
        small = self._small_actions()
        sidecars: list[Sidecar] = []
        if layout.spec == "v2":
            if layout.top_level == "json" or self._num_carried() > layout.most_inline:
                sidecars = list(self._put_sidecars())
            small = [self._checkpoint_metadata(sidecars), *sidecars, *small]
        inline = layout.spec == "v1" or (layout.top_level == "parquet" and not sidecars)
        if layout.spec == "v2" and layout.top_level == "json":
            data = b"".join(encode_line(action) + b"\n" for action in small)
        else:
            data = self._top_level(small, inline=inline)
        path = self._name()
        keys = tuple(f"{SIDECAR_FOLDER}/{sidecar.path}" for sidecar in sidecars)
        if self._replaced:
            self._replace(path, data)
        else:
            try:
                self._store.put_if_absent(path, data)
            except FileExistsError:
                return WrittenCheckpoint(version, path)
        hint = LastCheckpoint(
            version,
            size=len(small) + self._num_adds + self._num_removes,
            size_in_bytes=len(data) + sum(sidecar.size_in_bytes for sidecar in sidecars),
            num_of_add_files=self._num_adds,
        )
        _put_hint(self._store, hint, None if layout.spec == "v1" else self._described(path, len(data), small))
        return WrittenCheckpoint(version, path, keys, hint)

    def _replace(self, path: str, data: bytes) -> None:
        """Put a checkpoint in the place of a wrong one, whose files stay under other names."""
        for wrong in self._replaced:
            self._store.put(replaced_name(wrong), self._store.read(wrong))
        if path in self._replaced:
            self._store.put(path, data)
        else:
            self._store.put_if_absent(path, data)
        self._store.delete_many([wrong for wrong in self._replaced if wrong != path])

    def _name(self) -> str:
        if self._layout.spec == "v1" or (self._layout.classic_name and self._layout.top_level == "parquet"):
            return checkpoint_name(self._carried.version)
        return checkpoint_name(self._carried.version, self._new_uuid(), self._layout.top_level)

    def _small_actions(self) -> list[SmallAction]:
        """Return protocol, metadata, unexpired transactions and domains."""
        state = self._carried.state
        transactions = list(state.transactions.values())
        configuration = state.metadata.configuration
        if SET_TRANSACTION_RETENTION.is_set(configuration):
            after = self._now - span_milliseconds(SET_TRANSACTION_RETENTION.of(configuration))
            transactions = [txn for txn in transactions if txn.last_updated is not None and txn.last_updated > after]
        return [_listed(state.protocol), state.metadata, *transactions, *state.domains.values()]

    def _num_carried(self) -> int:
        """Return the number of file actions before tombstones expire."""
        counts = (len(part) if isinstance(part, list) else part.num_rows for part in self._carried.tombstones)
        return self._carried.files.num_rows + sum(counts)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the file actions, live ones first."""
        after = self._now - span_milliseconds(FILE_RETENTION.of(self._carried.state.metadata.configuration))
        for chunk in self._carried.adds(_CHUNK):
            rows = self._columns.adds(chunk)
            self._num_adds += len(rows)
            yield self._batch(rows, pa.nulls(len(rows), self._columns.remove_type))
        for chunk in self._carried.removes(_CHUNK):
            rows = self._columns.removes(chunk, after)
            self._num_removes += len(rows)
            yield self._batch(pa.nulls(len(rows), self._columns.add_type), rows)

    def _batch(self, adds: pa.StructArray, removes: pa.StructArray) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([adds, removes], schema=self._schema)

    def _put_sidecars(self) -> Iterator[Sidecar]:
        file, rows = _ParquetFile(self._schema), 0
        for batch in self._batches():
            start = 0
            while start < batch.num_rows:
                part = batch.slice(start, self._layout.sidecar_rows - rows)
                file.write(part)
                start, rows = start + part.num_rows, rows + part.num_rows
                if rows == self._layout.sidecar_rows:
                    yield self._put_sidecar(file.close())
                    file, rows = _ParquetFile(self._schema), 0
        data = file.close()
        if rows:
            yield self._put_sidecar(data)

    def _put_sidecar(self, data: bytes) -> Sidecar:
        name = f"{self._new_uuid()}.parquet"
        self._store.put_if_absent(f"{SIDECAR_FOLDER}/{name}", data)
        return Sidecar(path=name, size_in_bytes=len(data), modification_time=self._now)

    def _checkpoint_metadata(self, sidecars: Sequence[Sidecar]) -> CheckpointMetadata:
        tags: dict[str, str | None] | None = None
        if sidecars:
            size = sum(sidecar.size_in_bytes for sidecar in sidecars)
            actions = self._num_adds + self._num_removes
            numbers = {"sidecarNumActions": actions, "sidecarSizeInBytes": size, "numOfAddFiles": self._num_adds}
            tags = {name: str(value) for name, value in numbers.items()}
        return CheckpointMetadata(version=self._carried.version, tags=tags)

    def _top_level(self, small: Sequence[SmallAction], *, inline: bool) -> bytes:
        kinds: list[type[SmallAction]] = [TransactionAction, Metadata, Protocol, DomainMetadata]
        if self._layout.spec == "v2":
            kinds += [CheckpointMetadata, Sidecar]
        columns = small_columns(small, kinds)
        schema = pa.schema([*self._schema, *((name, column.type) for name, column in columns.items())])
        file = _ParquetFile(schema)
        nothing = [pa.nulls(len(small), field.type) for field in self._schema]
        file.write(pa.RecordBatch.from_arrays([*nothing, *columns.values()], schema=schema))
        for batch in self._batches() if inline else ():
            rest = [pa.nulls(batch.num_rows, column.type) for column in columns.values()]
            file.write(pa.RecordBatch.from_arrays([*batch.columns, *rest], schema=schema))
        return file.close()

    def _described(self, path: str, size: int, small: Sequence[SmallAction]) -> JsonObject:
        """Return the hint's description of a V2 checkpoint (V2CKPT-012); long lists are only in the checkpoint."""
        sidecars, others = list[JsonValue](), list[JsonValue]()
        for action in small:
            if isinstance(action, Sidecar):
                sidecars.append(action.to_wire())
            else:
                others.append({action.wire_name: action.to_wire()})
        description: JsonObject = {"path": path.rpartition("/")[2], "sizeInBytes": size, "modificationTime": self._now}
        lists = {"nonFileActions": others, "sidecarFiles": sidecars}
        return {**description, **{name: items for name, items in lists.items() if len(items) <= _MOST_IN_HINT}}


class _ParquetFile:
    """A Parquet file in memory, whose row groups are all full except the last."""

    def __init__(self, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(self._sink, schema, compression="snappy", store_schema=False)
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROWS:
            self._flush()

    def close(self) -> bytes:
        if self._rows:
            self._flush()
        self._writer.close()
        data: bytes = self._sink.getvalue().to_pybytes()
        return data

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._waiting, self._schema)
        self._writer.write_table(table, row_group_size=2 * _ROWS)
        self._waiting, self._rows = [], 0


def _put_hint(store: LogStore, hint: LastCheckpoint, described: JsonObject | None) -> None:
    there = read_last_checkpoint(store)
    if there is None or there.version <= hint.version:
        store.put(LAST_CHECKPOINT, encode_last_checkpoint(hint, described))


def _listed(protocol: Protocol) -> Protocol:
    """Return the protocol with feature lists only where its versions have them (CKPT-024)."""
    return msgspec.structs.replace(
        protocol,
        reader_features=protocol.reader_features if protocol.min_reader_version >= 3 else None,
        writer_features=protocol.writer_features if protocol.min_writer_version >= 7 else None,
    )
