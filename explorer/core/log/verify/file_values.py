"""Checks the values of each file that a log adds: path, size, partition values, tags, statistics, and its vector.

Protocol sections: Add File, Partition Value Serialization, Deletion Vectors. Invariants: a value is checked by the
functions that read it (PART-011), so a log without a problem here fails no reader over a value; each text is
decoded once; a file is live only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from explorer.core.errors import CorruptTable, ExplorerError, MalformedAction
from explorer.core.log.commit import Commit
from explorer.core.protocol.actions import DeletionVectorDescriptor, Metadata, Protocol
from explorer.core.protocol.arrow.arrays import Mask, numbers, numpy_array, only_array
from explorer.core.protocol.counted import counted
from explorer.core.protocol.deletion_vectors import check_descriptor
from explorer.core.protocol.logical_files import LineSource, LogicalFiles, vector_descriptors
from explorer.core.protocol.partition_values import parse_partition_value, partition_key, partition_texts
from explorer.core.protocol.raw_actions import AddLine
from explorer.core.protocol.schema.data_types import PrimitiveType, StructField
from explorer.core.protocol.table_definition import read_definition

_DECODED: Final = ("partition_values", "tags", "stats")
_VECTOR: Final = ("dv_storage_type", "dv_path_or_inline", "dv_offset", "dv_size_in_bytes", "dv_cardinality")
_STRING: Final = PrimitiveType("string")
# How statistics begin that are a string, null or missing, byte for byte.
_OF_STRINGS: Final = (b'"', b"n", b"")
_TWICE: Final = "It is listed more than once, so readers return its rows once or several times."


class FileValues:
    """Checks the values of files by the schema in force; results are reused while the schema stays."""

    def __init__(self) -> None:
        self._metadata: Metadata | None = None
        self._fields: tuple[StructField, ...] = ()
        self._known: dict[object, str] = {}

    def of_commit(self, commit: Commit, protocol: Protocol | None, metadata: Metadata | None) -> Iterator[str]:
        """Yield the values that no reader can decode of the files that a commit adds, one text a file.

        Args:
            protocol, metadata: Those in force after it; None where they are not known.
        """
        self._use(protocol, metadata, commit.version)
        for line in commit.lines:
            if line.add is not None and (faults := self._of_line(line.add)):
                yield f"the file {line.add.path}: {faults}"

    def of_files(
        self, files: LogicalFiles, protocol: Protocol, metadata: Metadata, version: int, *, inline: bool = False
    ) -> Iterator[str]:
        """Yield the same of the files of a checkpoint, or of the live files of a version.

        Args:
            inline: Check only the deletion vectors that are inline; the files of others are checked by other code.

        Raises:
            MalformedAction: Tags or partition values of a file are not valid by the protocol.
            IncompleteCheckpoint: A page of a checkpoint is damaged.
        """
        self._use(protocol, metadata, version)
        files.select(["partition_values", "tags"])
        chosen = files.select(["raw_path", "size"])
        for place in np.flatnonzero(_without_location(chosen)).tolist():
            path, size = (column[place].as_py() for column in chosen.columns)
            yield f"the file {path}: {_location_fault(path, size)}"
        yield from (f"the file {path}: {_TWICE}" for path in _doubles(files))
        yield from (f"the file {path}: {fault}" for path, fault in _of_statistics(files))
        yield from self._of_vectors(files, inline=inline)
        if not self._fields or not _seem_invalid(files.select(["partition_values"]).column(0), self._fields):
            return
        chosen = files.select(["raw_path", "partition_values"])
        for path, entries in zip(*(column.to_pylist() for column in chosen.columns), strict=True):
            key = tuple(entries or ())
            if key not in self._known:
                self._known[key] = self._of_values(dict(key))
            if self._known[key]:
                yield f"the file {path}: {self._known[key]}"

    def empty_strings(self, adds: Iterable[tuple[str, Mapping[str, str | None]]]) -> Iterator[str]:
        """Yield the partition columns of strings in which files have an empty string, with the number of files.

        Args:
            adds: The path and the partition values of files that were judged before, as far as they may have some.
        """
        paths_by_column: dict[str, list[str]] = {}
        for path, values in adds:
            for field in self._fields:
                if field.type == _STRING and values.get(partition_key(values, field.physical_name) or "") == "":
                    paths_by_column.setdefault(field.name, []).append(path)
        for name, paths in paths_by_column.items():
            yield (
                f"{counted(len(paths), 'file')}, such as {paths[0]}, have an empty string in the partition column "
                f"{name!r}. By the protocol, and for this program, delta-kernel and DuckDB, it is NULL; "
                "delta-spark and deltalake read an empty string"
            )

    def _of_vectors(self, files: LogicalFiles, *, inline: bool) -> Iterator[str]:
        masked = files.select(["raw_path", *_VECTOR])
        kinds = masked["dv_storage_type"]
        if kinds.null_count == len(kinds):
            return
        masked = masked.append_column("num_records", files.select(["num_records"]).column(0))
        masked = masked.filter(pc.match_substring(kinds, pattern="i") if inline else pc.is_valid(kinds))
        known = zip(
            masked["raw_path"].to_pylist(), vector_descriptors(masked), masked["num_records"].to_pylist(), strict=True
        )
        for path, vector, records in known:
            if vector is not None and (fault := self._of_vector(vector, records)):
                yield f"the file {path}: {fault}"

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
        vector = "" if add.deletion_vector is None else self._of_vector(add.deletion_vector, _records(add))
        return _joined([_location_fault(add.path, add.size), vector, self._of_members(add)])

    def _of_members(self, add: AddLine) -> str:
        # Of statistics the first byte shows whether they are a string.
        key = bytes(add.partition_values), bytes(add.tags), bytes(add.stats)[:1]
        if key not in self._known:
            try:
                values, *_ = LineSource([add]).columns(_DECODED)
            except MalformedAction as error:
                return error.message
            self._known[key] = self._of_values(dict(values[0].as_py() or ()))
        return self._known[key]

    def _of_vector(self, vector: DeletionVectorDescriptor, records: int | None) -> str:
        """Return why no reader can use a deletion vector, by its descriptor; empty if it shows nothing."""
        key = vector, records
        if key not in self._known:
            self._known[key] = ""
            try:
                check_descriptor(vector, records)
            except ExplorerError as error:
                self._known[key] = error.message
        return self._known[key]

    def _of_values(self, values: Mapping[str, str | None]) -> str:
        named = () if self._metadata is None else self._metadata.partition_columns
        return " ".join(_faults(values, self._fields, named))


def _records(add: AddLine) -> int | None:
    """Return the number of rows of a file; None where its statistics do not tell, which may be a fault of their own."""
    try:
        (records,) = LineSource([add]).columns(["num_records"])
    except MalformedAction:
        return None
    number: int | None = records[0].as_py()
    return number


def _joined(faults: Iterable[str]) -> str:
    return " ".join(fault for fault in faults if fault)


def _location_fault(path: str, size: int | None) -> str:
    """Return why no reader can open a file, or know its length; empty if one can."""
    if not path:
        return "Its path is empty."
    if size is None:
        return (
            "It has no size; the protocol requires one. delta-spark reads no rows of it, and other clients refuse it."
        )
    return f"Its size is {size} bytes." if size < 0 else ""


def _without_location(files: pa.Table) -> Mask:
    """Return which files have an empty path, or no size, or one below zero."""
    sizes, known = numbers(only_array(files, "size"))
    lengths, _ = numbers(pc.binary_length(only_array(files, "raw_path")))
    without: Mask = ~known | (sizes < 0) | (lengths == 0)
    return without


def _of_statistics(files: LogicalFiles) -> Iterator[tuple[str, str]]:
    """Yield the files whose statistics are not a string, and the fault; checkpoints have them in typed columns."""
    for source in files.sources:
        for line in source.lines if isinstance(source, LineSource) else ():
            if bytes(line.stats)[:1] in _OF_STRINGS:
                continue
            try:
                LineSource([line]).columns(["stats"])
            except MalformedAction as error:
                yield line.path, error.message


def _doubles(files: LogicalFiles) -> list[str]:
    """Return paths that more than one live file has."""
    paths = files.select(["path"]).column(0)
    if pc.count_distinct(paths).as_py() == len(paths):
        return []
    return [each["values"] for each in pc.value_counts(paths).to_pylist() if each["counts"] > 1]


def _faults(values: Mapping[str, str | None], fields: Sequence[StructField], named: Sequence[str]) -> Iterator[str]:
    """Yield the faults of partition values; ``named`` are the partition columns as the metadata spells them."""
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
    """Return whether some partition values may be such that no reader decodes them; each distinct text is tried."""
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
