"""Any version against any version: files, deletion vectors, schema, protocol, properties.

Protocol sections: Action Reconciliation, Column Mapping. Invariants: a file is added, removed or re-masked, never two
of these; a rename is a rename and not a drop and an add: columns are matched by their lineage between the two versions,
also where the mapping was added or removed in between; rows are unknown rather than 0 where statistics are missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.protocol.actions import Metadata, Protocol
from explorer.core.protocol.arrow.arrays import Int64s, Integers, Mask, bools, exact_sum, int64s, strings
from explorer.core.protocol.json_values import encode_json
from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import (
    StructField,
    StructType,
    format_column,
    parse_schema,
    type_name,
    type_outline,
)
from explorer.core.protocol.schema.field_metadata import COLUMN_MAPPING_PREFIX
from explorer.core.protocol.schema.nested_types import walk
from explorer.core.protocol.table_features import check_readable, supported_features
from explorer.core.versions.column_lineage import Lineage, column_lineage
from explorer.core.versions.history import History
from explorer.core.versions.lifetimes.lifetimes import Lifetimes

Columns = dict[int, tuple[tuple[str, ...], StructField]]


class ColumnChange(msgspec.Struct, frozen=True, rename="camel"):
    """One change of one column; ``column`` is its dotted name after the change, before it if dropped."""

    kind: Literal["added", "dropped", "renamed", "retyped", "nullability", "metadata"]
    column: str
    before: str | None
    after: str | None
    field_id: int | None


class ProtocolChange(msgspec.Struct, frozen=True):
    """The protocol before and after, and its added and removed features (implied ones included)."""

    before: Protocol
    after: Protocol
    features_added: tuple[str, ...]
    features_removed: tuple[str, ...]


class PropertyChange(msgspec.Struct, frozen=True):
    """One key; None means that it was not set."""

    key: str
    before: str | None
    after: str | None


class DiffTotals(msgspec.Struct, frozen=True, rename="camel"):
    """Sums over the files; rows are those a reader sees. None where statistics or sizes are missing."""

    files_added: int
    files_removed: int
    files_remasked: int
    bytes_added: int | None
    bytes_removed: int | None
    rows_added: int | None
    rows_removed: int | None
    rows_masked: int


class SnapshotDiff(msgspec.Struct, frozen=True, dict=True):
    """What differs between two versions.

    Attributes:
        from_version, to_version: The compared versions, in the requested order.
        files: One row a file, made at first need: change (added, removed, remasked), path, raw_path,
            partition_values, size, num_records (physical), dv_cardinality_before, dv_cardinality_after, data_change
            (False: data only rearranged), version (that did it; where the later version comes first, that is undone).
        totals: Sums over ``files``.
        schema: Column changes in the order of the later schema, drops last; empty, as the changes of properties and
            attributes are, where the log names no metadata or no protocol for one of the versions.
        protocol: None if unchanged.
        properties: Changed configuration keys, sorted.
        attributes: Changed name, description, partition columns, id.
    """

    from_version: int
    to_version: int
    _files: _FilesOfDiff
    totals: DiffTotals
    schema: tuple[ColumnChange, ...]
    protocol: ProtocolChange | None
    properties: tuple[PropertyChange, ...]
    attributes: tuple[PropertyChange, ...]

    def __repr__(self) -> str:
        return f"SnapshotDiff(from_version={self.from_version}, to_version={self.to_version}, totals={self.totals})"

    @cached_property
    def files(self) -> pa.Table:
        """The files that differ, one row each."""
        return self._files.table()


def diff_versions(history: History, from_version: int, to_version: int) -> SnapshotDiff:
    """Compare two readable versions; the second may be the earlier one.

    Raises:
        VersionNotFound: One of them cannot be read.
        UnsupportedFeature: One of them uses a feature this program does not read.
    """
    files, totals = _diff_files(history.lifetimes, from_version, to_version)
    for version in (from_version, to_version):
        if (protocol := history.protocol_at(version)) is not None:
            check_readable(protocol, version, by_catalog=history.by_catalog)
    protocols = history.protocol_at(from_version), history.protocol_at(to_version)
    before, after = history.metadata_at(from_version), history.metadata_at(to_version)
    if before is None or after is None or None in protocols:
        # A faulty client wrote the log: its files can be compared, but not the rest.
        return SnapshotDiff(from_version, to_version, files, totals, (), diff_protocols(*protocols), (), ())
    lineage = history.lineage(*sorted((from_version, to_version)))
    return SnapshotDiff(
        from_version,
        to_version,
        files,
        totals,
        tuple(_diff_schema(_columns(lineage, from_version, before), _columns(lineage, to_version, after))),
        diff_protocols(*protocols),
        diff_properties(before.configuration, after.configuration),
        diff_properties(_attributes(before), _attributes(after)),
    )


def diff_metadata(
    before: Metadata, after: Metadata, modes: tuple[MappingMode, MappingMode]
) -> tuple[ColumnChange, ...]:
    """Compare the columns of two metadata actions, the first in force before the second.

    Args:
        before, after: The actions.
        modes: The column mapping in force with each.
    """
    versions = [(version, _schema(metadata)) for version, metadata in enumerate((before, after))]
    schemas = [(version, schema, mode) for (version, schema), mode in zip(versions, modes, strict=True)]
    lineage = column_lineage(schemas, 1)
    return tuple(_diff_schema(_columns(lineage, 0, before), _columns(lineage, 1, after)))


def _diff_files(life: Lifetimes, from_version: int, to_version: int) -> tuple[_FilesOfDiff, DiffTotals]:
    before, after = life.live(from_version), life.live(to_version)
    differs = before ^ after
    left, entered = np.flatnonzero(differs & before), np.flatnonzero(differs & after)
    positions = life.same_path(left, entered)
    stays = positions >= 0
    removals = np.ones(len(left), bool)
    removals[positions[stays]] = False
    added, removed = entered[~stays], left[removals]
    was, now = left[positions[stays]], entered[stays]
    masked = life.masked
    remasked = life.vectors_differ(was, now)
    was, now = was[remasked], now[remasked]
    rows, sizes = life.rows, life.sizes
    totals = DiffTotals(
        len(added),
        len(removed),
        len(now),
        _sum(sizes, added),
        _sum(sizes, removed),
        _sum(rows, added),
        _sum(rows, removed),
        int((masked[now] - masked[was]).sum()),
    )
    return _FilesOfDiff(life, added, removed, was, now, from_version <= to_version), totals


class _FilesOfDiff(msgspec.Struct, frozen=True):
    """Rows of the lifetimes that make up a diff; the table is made at the first need."""

    life: Lifetimes
    added: Integers
    removed: Integers
    was: Integers
    now: Integers
    forward: bool

    def _versions(self) -> pa.Array:
        """Return the version that last changed each file; seen backwards, the version that is undone."""
        begun, ended = self.life.added, self.life.removed
        came, went = (begun, ended) if self.forward else (ended, begun)
        return int64s(np.concatenate([came[self.added], went[self.removed], came[self.now]]))

    def table(self) -> pa.Table:
        life, masked = self.life, self.life.masked.tolist()
        counts = len(self.added), len(self.removed), len(self.now)
        chosen = np.concatenate([self.added, self.removed, self.now])
        table = life.take(chosen, ["path", "raw_path", "partition_values", "size", "num_records"])
        kinds = ["added"] * counts[0] + ["removed"] * counts[1] + ["remasked"] * counts[2]
        absent_before, absent_after = [None] * counts[0], [None] * counts[1]
        cards_before = [*absent_before, *(masked[row] for row in (*self.removed, *self.was))]
        cards_after = [*(masked[row] for row in self.added), *absent_after, *(masked[row] for row in self.now)]
        changed = [*life.data_change[self.added], *life.removed_data_change[self.removed], *[True] * counts[2]]
        table = table.add_column(0, "change", strings(kinds))
        table = table.append_column("dv_cardinality_before", int64s(cards_before))
        table = table.append_column("dv_cardinality_after", int64s(cards_after))
        table = table.append_column("data_change", bools([bool(flag) for flag in changed]))
        return table.append_column("version", self._versions())


def _sum(numbers: tuple[Int64s, Mask], rows: Integers) -> int | None:
    values, known = numbers
    return exact_sum(values[rows]) if known[rows].all() else None


def _diff_schema(old: Columns, new: Columns) -> Iterable[ColumnChange]:
    for line, (path, field) in new.items():
        column, kind = format_column(path), type_name(field.type)
        if line not in old:
            yield ColumnChange("added", column, None, kind, field.field_id)
            continue
        path_before, was = old[line]
        yield from _diff_field(column, format_column(path_before), was, field)
    for line, (path, field) in old.items():
        if line not in new:
            yield ColumnChange("dropped", format_column(path), type_name(field.type), None, field.field_id)


def _diff_field(column: str, was_column: str, was: StructField, field: StructField) -> Iterable[ColumnChange]:
    if was.name != field.name:
        yield ColumnChange("renamed", column, was_column, column, field.field_id)
    if type_outline(was.type) != type_outline(field.type):
        yield ColumnChange("retyped", column, type_name(was.type), type_name(field.type), field.field_id)
    if was.nullable != field.nullable:
        words = {True: "nullable", False: "not null"}
        yield ColumnChange("nullability", column, words[was.nullable], words[field.nullable], field.field_id)
    for change in diff_properties(_texts(was), _texts(field)):
        before = None if change.before is None else f"{change.key} = {change.before}"
        after = None if change.after is None else f"{change.key} = {change.after}"
        yield ColumnChange("metadata", column, before, after, field.field_id)


def _columns(lineage: Lineage, version: int, metadata: Metadata) -> Columns:
    """Return the columns of a version by line of the lineage, which has a column's names before and after."""
    lines = lineage.lines_at(version)
    return {lines[format_column(path)]: (path, field) for path, field in walk(_schema(metadata))}


def _schema(metadata: Metadata) -> StructType:
    return StructType() if metadata.schema_string is None else parse_schema(metadata.schema_string)


def _texts(field: StructField) -> dict[str, str]:
    """Return field metadata as text, without that of column mapping."""
    return {
        key: value if isinstance(value, str) else encode_json(value).decode()
        for key, value in field.metadata.items()
        if not key.startswith(COLUMN_MAPPING_PREFIX)
    }


def diff_protocols(before: Protocol | None, after: Protocol | None) -> ProtocolChange | None:
    """Compare two protocols; None if nothing changed or one is not known."""
    if before is None or after is None or before == after:
        return None
    old, new = supported_features(before), supported_features(after)
    came = tuple(name for name in new if name not in old)
    went = tuple(name for name in old if name not in new)
    return ProtocolChange(before, after, came, went)


def diff_properties(before: dict[str, str], after: dict[str, str]) -> tuple[PropertyChange, ...]:
    """Compare two maps of properties; only keys whose value differs, sorted."""
    keys = sorted({*before, *after})
    return tuple(
        PropertyChange(key, before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)
    )


def _attributes(metadata: Metadata) -> dict[str, str]:
    known = {
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "partitionColumns": ", ".join(metadata.partition_columns) or None,
    }
    return {key: value for key, value in known.items() if value is not None}
