"""What readers decode of each file that a log adds: partition values, tags, statistics, and where its vector is.

Protocol sections: Add File, Partition Value Serialization. Invariants: a value is judged by the functions that read it
(PART-011), so a log in which nothing is found here fails no reader over a value; each text is decoded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from explorer.core.errors import CorruptTable, ExplorerError, MalformedAction
from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import DeletionVectorId, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import numpy_array
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.logical_files import LineSource, LogicalFiles
from explorer.core.protocol.partition_values import parse_partition_value, partition_key, partition_texts
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.schema.data_types import StructField
from explorer.core.protocol.table_definition import read_definition

__all__ = ["FileValues"]

_DECODED = ("partition_values", "tags", "stats")


class FileValues:
    """Judges the values of files by the schema in force; what was judged once is kept while the schema stays."""

    def __init__(self) -> None:
        self._metadata: Metadata | None = None
        self._fields: tuple[StructField, ...] = ()
        self._known: dict[object, str] = {}

    def of_commit(self, commit: Commit, protocol: Protocol | None, metadata: Metadata | None) -> Iterator[str]:
        """Yield what no reader can decode of the files that a commit adds, one text a file.

        Args:
            commit: The commit.
            protocol, metadata: Those in force after it; None where they are not known.
        """
        self._use(protocol, metadata, commit.version)
        for line in commit.lines:
            if line.add is not None and (faults := self._of_line(line.add)):
                yield f"the file {line.add.path}: {faults}"

    def of_files(self, files: LogicalFiles, protocol: Protocol, metadata: Metadata, version: int) -> Iterator[str]:
        """Yield the same of the files of a checkpoint."""
        self._use(protocol, metadata, version)
        if not self._fields or not _seem_invalid(files.select(["partition_values"]).column(0), self._fields):
            return
        chosen = files.select(["raw_path", "partition_values"])
        for path, entries in zip(*(column.to_pylist() for column in chosen.columns), strict=True):
            key = tuple(entries or ())
            if key not in self._known:
                self._known[key] = self._of_values(dict(key))
            if self._known[key]:
                yield f"the file {path}: {self._known[key]}"

    def _use(self, protocol: Protocol | None, metadata: Metadata | None, version: int) -> None:
        if metadata is self._metadata:
            return
        self._metadata, self._fields, self._known = metadata, (), {}
        if protocol is None or metadata is None or not metadata.partition_columns:
            return
        try:
            schema = read_definition(protocol, metadata, version).schema
        except ExplorerError:
            return  # Metadata that makes no table is a problem of its own.
        fields = (schema.field(name) for name in metadata.partition_columns)
        self._fields = tuple(field for field in fields if field is not None)

    def _of_line(self, add: AddLine) -> str:
        # Of statistics the first byte shows whether they are a string.
        key = bytes(add.partition_values), bytes(add.tags), bytes(add.stats)[:1]
        if add.deletion_vector is not None and (fault := self._of_vector(add.deletion_vector.id)):
            return fault
        if key not in self._known:
            try:
                values, *_ = LineSource([add]).columns(_DECODED)
            except MalformedAction as error:
                return error.message
            self._known[key] = self._of_values(dict(values[0].as_py() or ()))
        return self._known[key]

    def _of_vector(self, vector: DeletionVectorId) -> str:
        """Why the place of a deletion vector cannot be worked out; empty if it can."""
        key = vector.storage_type, vector.path_or_inline_dv
        if vector.storage_type != "i" and key not in self._known:
            self._known[key] = ""
            try:
                location(vector)
            except ExplorerError as error:
                self._known[key] = error.message
        return self._known.get(key, "")

    def _of_values(self, values: Mapping[str, str | None]) -> str:
        named = () if self._metadata is None else self._metadata.partition_columns
        return " ".join(_faults(values, self._fields, named))


def _faults(values: Mapping[str, str | None], fields: Sequence[StructField], named: Sequence[str]) -> Iterator[str]:
    """Yield what is wrong with partition values; ``named`` are the partition columns as the metadata spells them."""
    for field in fields:
        key = partition_key(values, field.physical_name)
        if key is None:
            yield f"It has no value for the partition column {field.name!r}; the protocol requires one, null included."
            continue
        if key != field.physical_name and key not in named:
            yield (
                f"It spells the partition column {field.name!r} as {key!r}: "
                "delta-spark and delta-kernel read NULL there."
            )
        try:
            parse_partition_value(values[key], field.type, field.name)
        except CorruptTable as error:
            yield error.message


def _seem_invalid(maps: pa.ChunkedArray, fields: Sequence[StructField]) -> bool:
    """Whether some of the partition values may be such that no reader decodes them; each distinct text is tried."""
    known = {field.physical_name for field in fields}
    for chunk in maps.chunks:
        lengths = np.diff(numpy_array(chunk.offsets))
        if (lengths != len(known)).any() or not known.issuperset(_keys(chunk)):
            return True
        for field in fields:
            try:
                for text in partition_texts(chunk, field.physical_name).unique().to_pylist():
                    parse_partition_value(text, field.type, field.name)
            except CorruptTable:
                return True
    return False


def _keys(maps: pa.MapArray) -> list[str]:
    names: list[str] = maps.keys.unique().to_pylist()
    return names
