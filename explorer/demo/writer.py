"""Writes a demo table, one operation a commit, and keeps beside it what every version should hold.

Protocol sections: Add File and Remove File, Deletion Vectors, Column Mapping (Writer Requirements). The model in
`TableWriter.versions` is worked out on plain Arrow tables, by other code than the files and the log are: whoever reads
the table must find the same rows.

This writer knows no concurrency and checks no precondition: the stories that use it are fixed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.actions import Action, Add, DomainMetadata, Metadata, Protocol, SetTransaction
from explorer.core.data_file import encode_rows, physical_rows, stored_fields
from explorer.core.partition_paths import partition_location
from explorer.core.schema import StructType
from explorer.core.statistics_collection import collect_statistics, indexed_fields, loosened
from explorer.core.vector_file import encode_vectors, vector_file_name
from explorer.demo import metrics
from explorer.demo.data_files import logical_rows, write_file
from explorer.demo.live_file import LiveFile, Mask
from explorer.demo.log import LogWriter
from explorer.demo.partitions import split_by_partition
from explorer.demo.provenance import Provenance, milliseconds

__all__ = ["TableWriter"]

Predicate = Callable[[pa.Table], pa.ChunkedArray]
Change = Callable[[pa.Table], pa.Table]

_VECTORS: Final = "delta.enableDeletionVectors"


class TableWriter:
    """One demo table.

    Attributes:
        log: Its log.
        schema: The schema in force.
        rows: The rows a reader should see now, logical names.
        versions: The same for every version committed so far.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.log = LogWriter(folder, np.random.default_rng(seed))
        self.schema = StructType()
        self.rows = pa.table({})
        self.versions: dict[int, pa.Table] = {}
        self.live: dict[str, LiveFile] = {}
        self._past: dict[int, tuple[Metadata, dict[str, LiveFile]]] = {}

    def create(
        self,
        by: Provenance,
        schema: StructType,
        protocol: Protocol,
        *,
        description: str,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        domains: Iterable[DomainMetadata] = (),
    ) -> None:
        """CREATE TABLE."""
        metadata = Metadata(
            id=str(self.log.identity()),
            description=description,
            schema_string=schema.to_json(),
            partition_columns=tuple(partition_by),
            configuration=dict(properties or {}),
            created_time=milliseconds(by.at),
        )
        parameters = {
            "partitionBy": _text(list(partition_by)),
            "clusterBy": "[]",
            "description": description,
            "isManaged": "false",
            "properties": _text(metadata.configuration),
        }
        self.schema, self.rows = schema, schema.to_arrow().empty_table()
        self.commit(by, "CREATE TABLE", parameters, [metadata, protocol, *domains], blind=True)

    def append(
        self,
        by: Provenance,
        rows: pa.Table,
        *,
        rows_per_file: int | None = None,
        transaction: SetTransaction | None = None,
    ) -> None:
        """INSERT, or a micro-batch of a stream where a transaction is given."""
        added = self._write_files(by, rows, rows_per_file)
        self.rows = self._concat(self.rows, rows)
        if transaction is None:
            operation = "WRITE"
            parameters = {"mode": "Append", "partitionBy": _text(list(self.log.metadata.partition_columns))}
        else:
            operation = "STREAMING UPDATE"
            epoch = str(transaction.version)
            parameters = {"outputMode": "Append", "queryId": transaction.app_id, "epochId": epoch}
        actions: list[Action] = [*([transaction] if transaction else []), *(file.add for file in added)]
        self._admit(added)
        self.commit(by, operation, parameters, actions, metrics=metrics.written(added), blind=True)

    def overwrite(self, by: Provenance, rows: pa.Table) -> None:
        """INSERT OVERWRITE of the whole table."""
        gone, time = list(self.live.values()), milliseconds(by.at)
        added = self._write_files(by, rows)
        self.live, self.rows = {}, rows
        self._admit(added)
        actions = [*(file.add for file in added), *(file.remove(time) for file in gone)]
        measures = {**metrics.written(added), **metrics.removed(gone)}
        parameters = {"mode": "Overwrite", "partitionBy": _text(list(self.log.metadata.partition_columns))}
        self.commit(by, "WRITE", parameters, actions, metrics=measures)

    def delete(self, by: Provenance, condition: str, predicate: Predicate) -> None:
        """DELETE: whole files go, rows of other files are masked, or their files rewritten where vectors are off."""
        self.rows = self.rows.filter(pc.invert(pc.fill_null(predicate(self.rows), False)))
        touched = self._matching(predicate)
        actions, masked = self._hide(by, touched)
        measures = metrics.deleted(masked, touched)
        self.commit(by, "DELETE", {"predicate": _text([condition])}, actions, metrics=measures)

    def update(self, by: Provenance, condition: str, predicate: Predicate, change: Change) -> None:
        """UPDATE: the old rows are hidden, the new ones written."""
        matched = self.rows.filter(predicate(self.rows))
        rest = self.rows.filter(pc.invert(pc.fill_null(predicate(self.rows), False)))
        self.rows = self._concat(rest, change(matched))
        touched = self._matching(predicate)
        changed = self._concat(*(self._logical(file).filter(pa.array(mask)) for file, mask in touched))
        hidden, masked = self._hide(by, touched)
        added = self._write_files(by, change(changed))
        self._admit(added)
        measures = metrics.updated(masked, touched, added)
        actions = [*hidden, *(file.add for file in added)]
        self.commit(by, "UPDATE", {"predicate": _text([condition])}, actions, metrics=measures)

    def merge(self, by: Provenance, source: pa.Table, key: str) -> None:
        """MERGE on a key: matched rows take the source's values, the others are inserted."""

        def matches(rows: pa.Table) -> pa.ChunkedArray:
            return pc.is_in(rows.column(key), value_set=source.column(key).combine_chunks())

        self.rows = self._concat(self.rows.filter(pc.invert(matches(self.rows))), source)
        touched = self._matching(matches)
        actions, masked = self._hide(by, touched)
        added = self._write_files(by, source)
        self._admit(added)
        parameters = {
            "predicate": _text([f"(target.{key} = source.{key})"]),
            "matchedPredicates": _text([{"actionType": "update"}]),
            "notMatchedPredicates": _text([{"actionType": "insert"}]),
            "notMatchedBySourcePredicates": "[]",
        }
        measures = metrics.merged(masked, touched, added, source.num_rows)
        self.commit(by, "MERGE", parameters, [*(file.add for file in added), *actions], metrics=measures)

    def optimize(self, by: Provenance, condition: str, predicate: Callable[[Add], bool]) -> None:
        """OPTIMIZE: the chosen files of each partition become one, without the masked rows; no data changes."""
        self._rewrite(by, "OPTIMIZE", {"predicate": _text([condition] if condition else []), "auto": False}, predicate)

    def purge(self, by: Provenance) -> None:
        """REORG APPLY (PURGE): files with deletion vectors are rewritten without the masked rows."""
        parameters = {"predicate": "[]", "applyPurge": True}
        self._rewrite(by, "REORG", parameters, lambda add: add.deletion_vector is not None)

    def restore(self, by: Provenance, version: int) -> None:
        """RESTORE to an earlier version: its metadata and files come back as a new version."""
        metadata, files = self._past[version]
        time = milliseconds(by.at)
        gone = [file for path, file in self.live.items() if files.get(path) != file]
        back = [file for path, file in files.items() if self.live.get(path) != file]
        self.live, self.rows = dict(files), self.versions[version]
        measures = metrics.restored(back, gone, list(files.values()))
        actions = [
            metadata,
            *(msgspec.structs.replace(file.add, data_change=True) for file in back),
            *(file.remove(time) for file in gone),
            self.log.protocol,
        ]
        parameters = {"version": version, "timestamp": None}
        self.commit(by, "RESTORE", parameters, actions, metrics=measures)

    def change_metadata(
        self,
        by: Provenance,
        operation: str,
        parameters: Mapping[str, Any],
        *,
        schema: StructType | None = None,
        protocol: Protocol | None = None,
        **changes: Any,
    ) -> None:
        """Commit changed metadata, and a changed protocol beside it."""
        if schema is not None:
            self.schema = schema
            changes["schema_string"] = schema.to_json()
        metadata = msgspec.structs.replace(self.log.metadata, **changes)
        actions: list[Action] = [metadata] if protocol is None else [metadata, protocol]
        self.commit(by, operation, parameters, actions, blind=operation != "ADD CONSTRAINT")

    def commit(self, by: Provenance, operation: str, parameters: Mapping[str, Any], *args: Any, **options: Any) -> None:
        """Commit, and keep what the version holds."""
        self.log.commit(by, operation, parameters, *args, **options)
        self.versions[self.log.version] = self.rows
        self._past[self.log.version] = (self.log.metadata, dict(self.live))

    def _rewrite(
        self, by: Provenance, operation: str, parameters: Mapping[str, Any], predicate: Callable[[Add], bool]
    ) -> None:
        chosen = [file for file in self.live.values() if predicate(file.add)]
        kept = self._concat(*(self._logical(file).filter(pa.array(~file.masked)) for file in chosen))
        for file in chosen:
            del self.live[file.add.path]
        added = self._write_files(by, kept, data_change=False)
        self._admit(added)
        time = milliseconds(by.at)
        actions = [*(file.add for file in added), *(file.remove(time, data_change=False) for file in chosen)]
        measures = metrics.rewritten(added, chosen)
        self.commit(by, operation, parameters, actions, metrics=measures, isolation="SnapshotIsolation")

    def _matching(self, predicate: Predicate) -> list[tuple[LiveFile, Mask]]:
        """Live files with rows that match, and which visible rows do."""
        found = []
        for file in self.live.values():
            flags = pc.fill_null(predicate(self._logical(file)), False)
            mask = flags.combine_chunks().to_numpy(zero_copy_only=False) & ~file.masked
            if mask.any():
                found.append((file, mask))
        return found

    def _hide(self, by: Provenance, touched: Sequence[tuple[LiveFile, Mask]]) -> tuple[list[Action], list[LiveFile]]:
        """Take rows out of files: whole files are removed, others masked, or rewritten where vectors are off.

        Returns:
            The actions, and the files as they go on (masked or rewritten).
        """
        time = milliseconds(by.at)
        partly = [(file, mask) for file, mask in touched if not (file.masked | mask).all()]
        if self.log.metadata.configuration.get(_VECTORS) == "true":
            kept = self._mask(partly, time)
        else:
            parts = [self._logical(file).filter(pa.array(~(file.masked | mask))) for file, mask in partly]
            kept = [new for part in parts for new in self._write_files(by, part)]
        for file, _ in touched:
            del self.live[file.add.path]
        self._admit(kept)
        return [*(file.add for file in kept), *(file.remove(time) for file, _ in touched)], kept

    def _mask(self, partly: Sequence[tuple[LiveFile, Mask]], time: int) -> list[LiveFile]:
        if not partly:
            return []
        masks = [file.masked | mask for file, mask in partly]
        identity = self.log.identity()
        data, descriptors = encode_vectors(identity, [np.flatnonzero(mask).astype(np.uint64) for mask in masks])
        write_file(self.folder / vector_file_name(identity), data, time - 900)
        kept = []
        for (file, _), mask, descriptor in zip(partly, masks, descriptors, strict=True):
            stats = loosened(file.add.stats, file.rows.num_rows)
            add = msgspec.structs.replace(file.add, deletion_vector=descriptor, stats=stats, data_change=True)
            kept.append(LiveFile(add, file.rows, mask))
        return kept

    def _write_files(
        self, by: Provenance, rows: pa.Table, rows_per_file: int | None = None, *, data_change: bool = True
    ) -> list[LiveFile]:
        time = milliseconds(by.at) - 1500
        partition_columns = self.log.metadata.partition_columns
        physical = physical_rows(rows, self.schema.fields, {})
        folders = [field for field in self.schema.fields if field.name in partition_columns]
        names = [field.physical_name for field in folders]
        stored = stored_fields(self.schema, partition_columns)
        indexed = indexed_fields(stored, self.log.metadata.configuration)
        written = []
        for values, part in split_by_partition(physical, folders):
            for number, chunk in enumerate(_chunks(part, rows_per_file)):
                name = f"part-{number:05}-{self.log.identity()}.c000.snappy.parquet"
                location, path = partition_location(values, name)
                data = encode_rows(chunk.drop_columns(names))
                write_file(self.folder / location, data, time)
                add = Add(
                    path=path,
                    partition_values=values,
                    size=len(data),
                    modification_time=time,
                    data_change=data_change,
                    stats=collect_statistics(chunk, indexed),
                )
                written.append(LiveFile(add, chunk, np.zeros(chunk.num_rows, np.bool_)))
        return written

    def _admit(self, files: Iterable[LiveFile]) -> None:
        self.live.update((file.add.path, file) for file in files)

    def _logical(self, file: LiveFile) -> pa.Table:
        return logical_rows(file.rows, self.schema)

    def _concat(self, *parts: pa.Table) -> pa.Table:
        empty = self.schema.to_arrow().empty_table()
        return pa.concat_tables([empty, *(part.select(empty.column_names).cast(empty.schema) for part in parts)])


def _chunks(rows: pa.Table, rows_per_file: int | None) -> list[pa.Table]:
    count = 1 if rows_per_file is None else math.ceil(rows.num_rows / rows_per_file)
    edges = np.linspace(0, rows.num_rows, count + 1).astype(int)
    return [rows.slice(start, stop - start) for start, stop in pairwise(edges)]


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
