"""The columns that two versions share, and how rows of both are read so that they can be compared.

Protocol sections: Column Mapping, Type Widening. Invariants: lineage identifies a column, whatever its
name (CM-007), also where the mapping was removed in between and its files were rewritten; a column
that only the later version has is null in rows of the earlier one; types are compared in the wider of the two; a
column that cannot be compared is named and left out, never compared wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.schema.column_mapping import MappingMode, unmapped
from explorer.core.protocol.schema.data_types import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    format_column,
    type_name,
)
from explorer.core.protocol.schema.field_metadata import CHAR_VARCHAR, COLLATIONS, FIELD_ID, PHYSICAL_NAME, TYPE_CHANGES
from explorer.core.protocol.schema.type_widening import widens
from explorer.core.versions.column_lineage import Lineage
from explorer.core.versions.history import History
from explorer.core.versions.snapshot import Snapshot

_MAPPING: Final = (PHYSICAL_NAME, FIELD_ID)
_ABSENT: Final = "explorer-absent-8c1f2a60-"
_Path = tuple[str, ...]


class UncomparedColumn(msgspec.Struct, frozen=True):
    """A column that is not compared: its dotted name at the version that has it, and the reason."""

    column: str
    version: int
    reason: str


class ComparedSide(msgspec.Struct, frozen=True):
    """How to read the files of one version for a comparison.

    Attributes:
        version: The version.
        schema: The compared columns in the order, and under the names, of the later version; physical names and ids
            are those of this version's files; ``void`` where it has no such column.
        by_id: True if its files name columns by Parquet field id.
        partition_columns: Its partition columns among the compared columns.
    """

    version: int
    schema: StructType
    by_id: bool
    partition_columns: tuple[str, ...]


class ColumnComparison(msgspec.Struct, frozen=True):
    """Two versions made comparable.

    Attributes:
        before, after: The versions, in the requested order.
        schema: The compared columns with the types in which they are compared, names of the later version.
        left_out: Columns that are not compared.
    """

    before: ComparedSide
    after: ComparedSide
    schema: StructType
    left_out: tuple[UncomparedColumn, ...]


class _UnlikeColumns(Exception):
    """Two types that have no common form."""


def compare_columns(history: History, before: Snapshot, after: Snapshot) -> ColumnComparison:
    """Find the columns that two versions share.

    Args:
        before, after: The versions, in either order.
    """
    older, newer = sorted((before, after), key=lambda snapshot: snapshot.version)
    pairing = _Pairing(history.lineage(), older, newer)
    shared: list[tuple[StructField, StructField]] = []
    left_out: list[UncomparedColumn] = []
    old_fields = {pairing.old_line((field.name,)): field for field in older.schema.fields}
    for new in newer.schema.fields:
        line = pairing.new_line((new.name,))
        old = old_fields.pop(line, None)
        column = format_column((new.name,))
        if old is None and pairing.existed(line):
            reason = (
                f"version {older.version} has no such column but earlier ones had: retained files may hold values of it"
            )
            left_out.append(UncomparedColumn(column, newer.version, reason))
            continue
        try:
            shared.append(
                pairing.only_later(new) if old is None else pairing.fields(old, new, (old.name,), (new.name,))
            )
        except _UnlikeColumns as unlike:
            left_out.append(UncomparedColumn(column, newer.version, str(unlike)))
    left_out += [
        UncomparedColumn(format_column((field.name,)), older.version, f"version {newer.version} has no such column")
        for field in old_fields.values()
    ]
    sides = {
        older.version: _side(older, [old for old, _ in shared], pairing.renamed(shared)),
        newer.version: _side(newer, [new for _, new in shared], {name: name for name in newer.partition_columns}),
    }
    schema = StructType(tuple(new for _, new in shared))
    return ColumnComparison(sides[before.version], sides[after.version], schema, tuple(left_out))


class _Pairing:
    """Pairs of fields of the earlier and the later version, by the lines of the lineage."""

    def __init__(self, lineage: Lineage, older: Snapshot, newer: Snapshot) -> None:
        self._older, self._newer = older, newer
        self._old_mode, self._new_mode = older.column_mapping_mode, newer.column_mapping_mode
        self._lines = lineage.columns
        self._old_lines, self._new_lines = (lineage.lines_at(snapshot.version) for snapshot in (older, newer))

    def old_line(self, path: _Path) -> int:
        """Return the line of a column of the earlier version."""
        return self._old_lines[format_column(path)]

    def new_line(self, path: _Path) -> int:
        """Return the line of a column of the later version."""
        return self._new_lines[format_column(path)]

    def existed(self, line: int) -> bool:
        """Return whether a column that the earlier version lacks existed before it."""
        return any(span.from_version < self._older.version for span in self._lines[line].spans)

    def renamed(self, shared: Sequence[tuple[StructField, StructField]]) -> dict[str, str]:
        """Return the partition columns of the earlier version -> their names in the later one."""
        names = {self.new_line((new.name,)): new.name for _, new in shared}
        lines = {name: self.old_line((name,)) for name in self._older.partition_columns}
        return {name: names[line] for name, line in lines.items() if line in names}

    def only_later(self, new: StructField) -> tuple[StructField, StructField]:
        """Return a column that the earlier version does not have, as each version must read it."""
        return StructField(new.name, VOID), self._plain(new)

    def fields(
        self, old: StructField, new: StructField, old_path: _Path, new_path: _Path
    ) -> tuple[StructField, StructField]:
        """Return one column of both versions as each must read it: one name, one type.

        Raises:
            _UnlikeColumns: The types have no common form.
        """
        old_type, new_type, wider = new.type, new.type, new
        if widens(new.type, old.type):
            old_type, new_type, wider = old.type, old.type, old
        elif not widens(old.type, new.type):
            old_type, new_type = self._nested(old.type, new.type, old_path, new_path)
        shared = {TYPE_CHANGES: wider.metadata[TYPE_CHANGES]} if TYPE_CHANGES in wider.metadata else {}
        # Both sides are compared as the later version compares its values.
        shared |= {key: new.metadata[key] for key in (CHAR_VARCHAR, COLLATIONS) if key in new.metadata}
        return (
            StructField(new.name, old_type, True, _mapping_of(old, self._old_mode) | shared),
            StructField(new.name, new_type, True, _mapping_of(new, self._new_mode) | shared),
        )

    def _nested(self, old: DataType, new: DataType, old_path: _Path, new_path: _Path) -> tuple[DataType, DataType]:
        def inside(part: str, was: DataType, now: DataType) -> tuple[DataType, DataType]:
            return self._nested(was, now, (*old_path, part), (*new_path, part))

        match old, new:
            case StructType(), StructType():
                pairs = self._members(old, new, old_path, new_path)
                return StructType(tuple(pair[0] for pair in pairs)), StructType(tuple(pair[1] for pair in pairs))
            case ArrayType(), ArrayType():
                elements = inside("element", old.element_type, new.element_type)
                return ArrayType(elements[0]), ArrayType(elements[1])
            case MapType(), MapType():
                keys = inside("key", old.key_type, new.key_type)
                values = inside("value", old.value_type, new.value_type)
                return MapType(keys[0], values[0]), MapType(keys[1], values[1])
            case _ if widens(old, new):
                return new, new
            case _ if widens(new, old):
                return old, old
        raise _UnlikeColumns(
            f"{format_column(new_path)} is {type_name(old)} at version {self._older.version} and {type_name(new)} at "
            f"version {self._newer.version}"
        )

    def _members(
        self, old: StructType, new: StructType, old_path: _Path, new_path: _Path
    ) -> list[tuple[StructField, StructField]]:
        known = {self.old_line((*old_path, field.name)): field for field in old.fields}
        pairs = []
        for field in new.fields:
            path = (*new_path, field.name)
            was = known.get(self.new_line(path))
            if was is not None:
                pairs.append(self.fields(was, field, (*old_path, was.name), path))
            else:
                # Older files may have a dropped field of any name, so read it under a name that no file has.
                absent = StructField(field.name, field.type, True, {PHYSICAL_NAME: f"{_ABSENT}{format_column(path)}"})
                pairs.append((absent, self._plain(field)))
        return pairs

    def _plain(self, field: StructField) -> StructField:
        """Return a field that only the later version has, with the names in its files."""
        return unmapped(field) if self._new_mode == "none" else field


def _side(snapshot: Snapshot, fields: Sequence[StructField], partitions: dict[str, str]) -> ComparedSide:
    names = {field.name for field in fields if field.type != VOID}
    columns = tuple(partitions[name] for name in snapshot.partition_columns if partitions.get(name) in names)
    return ComparedSide(snapshot.version, StructType(tuple(fields)), snapshot.column_mapping_mode == "id", columns)


def _mapping_of(field: StructField, mode: MappingMode) -> JsonObject:
    """Return the name and id of the field in the files; without column mapping, its name."""
    if mode == "none":
        return {PHYSICAL_NAME: field.name}
    return {key: field.metadata[key] for key in _MAPPING if key in field.metadata}
