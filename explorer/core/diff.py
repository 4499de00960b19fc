"""Any version against any version: files, deletion vectors, schema, protocol, properties.

Protocol section: Action Reconciliation. Invariants: a file is added, removed or re-masked, never two of these; a
rename is a rename, matched by physical path, not a drop and an add; rows are unknown rather than 0 where statistics
lack.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa

from explorer.core.actions import Metadata, Protocol
from explorer.core.column_mapping import mapping_mode, physical_paths
from explorer.core.columns import bools, int64s, strings
from explorer.core.errors import VersionNotFound
from explorer.core.features import supported_features
from explorer.core.history import History
from explorer.core.lifetimes import Lifetimes
from explorer.core.schema import StructField, StructType, format_column, parse_schema, type_name, walk

__all__ = ["ColumnChange", "DiffTotals", "PropertyChange", "ProtocolChange", "SnapshotDiff", "diff_versions"]


class ColumnChange(msgspec.Struct, frozen=True):
    """One change of one column; ``column`` is its dotted name after the change, before it if dropped."""

    kind: Literal["added", "dropped", "renamed", "retyped", "nullability", "metadata"]
    column: str
    before: str | None
    after: str | None
    field_id: int | None


class ProtocolChange(msgspec.Struct, frozen=True):
    """The protocol before and after, and which features came and went (implied ones included)."""

    before: Protocol
    after: Protocol
    features_added: tuple[str, ...]
    features_removed: tuple[str, ...]


class PropertyChange(msgspec.Struct, frozen=True):
    """One key; None means that it was not set."""

    key: str
    before: str | None
    after: str | None


class DiffTotals(msgspec.Struct, frozen=True):
    """Sums over the files; rows are those a reader sees, None where statistics lack; bytes None where sizes lack."""

    files_added: int
    files_removed: int
    files_remasked: int
    bytes_added: int | None
    bytes_removed: int | None
    rows_added: int | None
    rows_removed: int | None
    rows_masked: int


class SnapshotDiff(msgspec.Struct, frozen=True):
    """What differs between two versions.

    Attributes:
        from_version, to_version: The compared versions, in the order asked.
        files: One row a file: change (added, removed, remasked), path, raw_path, partition_values, size, num_records
            (physical), dv_cardinality_before, dv_cardinality_after, data_change (False: data only rearranged).
        totals: Sums over ``files``.
        schema: Column changes in the order of the later schema, drops last.
        protocol: None if unchanged.
        properties: Changed configuration keys, sorted.
        attributes: Changed name, description, partition columns, id.
    """

    from_version: int
    to_version: int
    files: pa.Table
    totals: DiffTotals
    schema: tuple[ColumnChange, ...]
    protocol: ProtocolChange | None
    properties: tuple[PropertyChange, ...]
    attributes: tuple[PropertyChange, ...]


def diff_versions(history: History, from_version: int, to_version: int) -> SnapshotDiff:
    """Compare two readable versions; going back in time is allowed.

    Raises:
        VersionNotFound: One of them cannot be read.
    """
    files, totals = _diff_files(history.lifetimes, from_version, to_version)
    before, after = _metadata(history, from_version), _metadata(history, to_version)
    return SnapshotDiff(
        from_version,
        to_version,
        files,
        totals,
        tuple(_diff_schema(before, after)),
        _diff_protocol(history.protocol_at(from_version), history.protocol_at(to_version)),
        _diff_maps(before.configuration, after.configuration),
        _diff_maps(_attributes(before), _attributes(after)),
    )


def _metadata(history: History, version: int) -> Metadata:
    found = history.metadata_at(version)
    if found is None:
        raise VersionNotFound(f"The metadata of version {version} is not recorded.", version=version)
    return found


def _diff_files(life: Lifetimes, from_version: int, to_version: int) -> tuple[pa.Table, DiffTotals]:
    before, after = life.live(from_version), life.live(to_version)
    gone, come = np.flatnonzero(before & ~after), np.flatnonzero(after & ~before)
    paths = life.files.column("path")
    old = {paths[int(row)].as_py(): int(row) for row in gone}
    new = {paths[int(row)].as_py(): int(row) for row in come}
    ids = life.files.column("dv_unique_id")
    added = [row for path, row in new.items() if path not in old]
    removed = [row for path, row in old.items() if path not in new]
    both = [(old[path], new[path]) for path in new if path in old]
    remasked = [(a, b) for a, b in both if ids[a].as_py() != ids[b].as_py()]
    rows, rows_known = life.rows()
    sizes, sizes_known = life.sizes()
    masked = life.masked()
    changed = life.data_change()
    chosen = [*added, *removed, *(b for _, b in remasked)]
    data_change = [
        *(bool(changed[row]) for row in added),
        *(bool(life.removed_data_change[row]) for row in removed),
        *(True for _ in remasked),
    ]
    table = life.files.select(["path", "raw_path", "partition_values", "size", "num_records"]).take(int64s(chosen))
    kinds = ["added"] * len(added) + ["removed"] * len(removed) + ["remasked"] * len(remasked)
    cards_before = [None] * len(added) + [int(masked[row]) for row in removed] + [int(masked[a]) for a, _ in remasked]
    cards_after = [int(masked[row]) for row in added] + [None] * len(removed) + [int(masked[b]) for _, b in remasked]
    table = table.add_column(0, "change", strings(kinds))
    table = table.append_column("dv_cardinality_before", int64s(cards_before))
    table = table.append_column("dv_cardinality_after", int64s(cards_after))
    table = table.append_column("data_change", bools(data_change))
    totals = DiffTotals(
        len(added),
        len(removed),
        len(remasked),
        _sum(sizes, sizes_known, added),
        _sum(sizes, sizes_known, removed),
        _sum(rows, rows_known, added),
        _sum(rows, rows_known, removed),
        sum(int(masked[b]) - int(masked[a]) for a, b in remasked),
    )
    return table, totals


def _sum(values: np.ndarray, known: np.ndarray, rows: list[int]) -> int | None:
    return int(values[rows].sum()) if known[rows].all() else None


def _diff_schema(before: Metadata, after: Metadata) -> Iterable[ColumnChange]:
    old, new = _columns(before), _columns(after)
    for physical, (path, field) in new.items():
        column, kind = format_column(path), type_name(field.type)
        if physical not in old:
            yield ColumnChange("added", column, None, kind, field.field_id)
            continue
        path_before, was = old[physical]
        yield from _diff_field(column, format_column(path_before), was, field)
    for physical, (path, field) in old.items():
        if physical not in new:
            yield ColumnChange("dropped", format_column(path), type_name(field.type), None, field.field_id)


def _diff_field(column: str, was_column: str, was: StructField, field: StructField) -> Iterable[ColumnChange]:
    if was.name != field.name:
        yield ColumnChange("renamed", column, was_column, column, field.field_id)
    if type_name(was.type) != type_name(field.type) and not isinstance(field.type, StructType):
        yield ColumnChange("retyped", column, type_name(was.type), type_name(field.type), field.field_id)
    if was.nullable != field.nullable:
        words = {True: "nullable", False: "not null"}
        yield ColumnChange("nullability", column, words[was.nullable], words[field.nullable], field.field_id)
    for change in _diff_maps(_texts(was), _texts(field)):
        before = None if change.before is None else f"{change.key} = {change.before}"
        after = None if change.after is None else f"{change.key} = {change.after}"
        yield ColumnChange("metadata", column, before, after, field.field_id)


def _columns(metadata: Metadata) -> dict[tuple[str, ...], tuple[tuple[str, ...], StructField]]:
    if metadata.schema_string is None:
        return {}
    schema = parse_schema(metadata.schema_string)
    physical = physical_paths(schema, mapping_mode(metadata.configuration))
    return {physical[path]: (path, field) for path, field in walk(schema)}


def _texts(field: StructField) -> dict[str, str]:
    """Field metadata as text, less what column mapping keeps there."""
    return {
        key: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for key, value in field.metadata.items()
        if not key.startswith("delta.columnMapping.")
    }


def _diff_protocol(before: Protocol | None, after: Protocol | None) -> ProtocolChange | None:
    if before is None or after is None or before == after:
        return None
    old, new = supported_features(before), supported_features(after)
    came = tuple(name for name in new if name not in old)
    went = tuple(name for name in old if name not in new)
    return ProtocolChange(before, after, came, went)


def _diff_maps(before: dict[str, str], after: dict[str, str]) -> tuple[PropertyChange, ...]:
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
