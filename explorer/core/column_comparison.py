"""Which columns of two versions are the same ones, and how rows of both are read so that they can be compared.

Protocol sections: Column Mapping, Type Widening. Invariants: a column is known by its physical path, whatever it is
called (CM-007), and by its name where the mapping was taken off in between, as the files were rewritten then; a column
that only the later version has is null in rows of the earlier one; types are compared in the wider of the two; whatever
cannot be compared is named and left out, never compared wrongly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from explorer.core.column_mapping import MappingMode, unmapped
from explorer.core.history import History
from explorer.core.schema import (
    FIELD_ID_KEY,
    PHYSICAL_NAME_KEY,
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_column,
    parse_schema,
    type_name,
)
from explorer.core.snapshot import Snapshot
from explorer.core.type_widening import CHANGES_KEY, widens

__all__ = ["ColumnComparison", "ComparedSide", "LeftOutColumn", "compare_columns"]

_MAPPING: Final = (PHYSICAL_NAME_KEY, FIELD_ID_KEY)
_VOID: Final = PrimitiveType("void")


class LeftOutColumn(msgspec.Struct, frozen=True):
    """A column that is not compared: its dotted name at the version that has it, and why."""

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
        partition_columns: Those of the compared columns that it is partitioned by.
    """

    version: int
    schema: StructType
    by_id: bool
    partition_columns: tuple[str, ...]


class ColumnComparison(msgspec.Struct, frozen=True):
    """Two versions made comparable.

    Attributes:
        before, after: The versions, in the order asked.
        schema: The compared columns with the types in which they are compared, names of the later version.
        left_out: Columns that are not compared.
    """

    before: ComparedSide
    after: ComparedSide
    schema: StructType
    left_out: tuple[LeftOutColumn, ...]


class _Unlike(Exception):
    """Two types that have no common form."""


def compare_columns(history: History, before: Snapshot, after: Snapshot) -> ColumnComparison:
    """Find the columns that two versions share.

    Args:
        history: The recorded commits: they say whether a column is new, or has come back.
        before, after: The versions, in either order.
    """
    older, newer = sorted((before, after), key=lambda snapshot: snapshot.version)
    pairing = _Pairing(older, newer)
    kept: list[tuple[StructField, StructField]] = []
    left_out: list[LeftOutColumn] = []
    old_fields = {pairing.old_key(field): field for field in older.schema.fields}
    for new in newer.schema.fields:
        old = old_fields.pop(pairing.new_key(new), None)
        column = format_column((new.name,))
        if old is None and pairing.existed(history, new):
            reason = (
                f"version {older.version} has no such column but earlier ones had: kept files may hold values of it"
            )
            left_out.append(LeftOutColumn(column, newer.version, reason))
            continue
        try:
            kept.append(pairing.only_later(new) if old is None else pairing.fields(old, new))
        except _Unlike as unlike:
            left_out.append(LeftOutColumn(column, newer.version, str(unlike)))
    left_out += [
        LeftOutColumn(format_column((field.name,)), older.version, f"version {newer.version} has no such column")
        for field in old_fields.values()
    ]
    sides = {
        older.version: _side(older, [old for old, _ in kept], pairing.renamed(kept)),
        newer.version: _side(newer, [new for _, new in kept], {name: name for name in newer.partition_columns}),
    }
    schema = StructType(tuple(new for _, new in kept))
    return ColumnComparison(sides[before.version], sides[after.version], schema, tuple(left_out))


class _Pairing:
    """Which field of the earlier version is which of the later one."""

    def __init__(self, older: Snapshot, newer: Snapshot) -> None:
        self._older, self._newer = older, newer
        self._old_mode, self._new_mode = older.column_mapping_mode, newer.column_mapping_mode
        self._by_name = self._old_mode != "none" and self._new_mode == "none"

    def old_key(self, field: StructField) -> str:
        """What identifies a field of the earlier version among its siblings."""
        return _key(field, "none" if self._by_name else self._old_mode)

    def new_key(self, field: StructField) -> str:
        """What identifies a field of the later version among its siblings."""
        return _key(field, self._new_mode)

    def existed(self, history: History, new: StructField) -> bool:
        """True if a column that the earlier version lacks was there before it."""
        for version in history.layout_changes(history.first_readable, self._older.version):
            metadata = history.metadata_at(version)
            if metadata is None or metadata.schema_string is None:
                continue
            mode = history.mapping_mode(version)
            by_name = mode != "none" and self._new_mode == "none"
            fields = parse_schema(metadata.schema_string).fields
            if any(_key(field, "none" if by_name else mode) == self.new_key(new) for field in fields):
                return True
        return False

    def renamed(self, kept: Sequence[tuple[StructField, StructField]]) -> dict[str, str]:
        """Partition columns of the earlier version -> their names in the later one."""
        names = {self.new_key(new): new.name for _, new in kept}
        partitions = {field.name: self.old_key(field) for field in self._older.schema.fields}
        return {name: names[partitions[name]] for name in self._older.partition_columns if partitions[name] in names}

    def only_later(self, new: StructField) -> tuple[StructField, StructField]:
        """A column that the earlier version does not have."""
        return StructField(new.name, _VOID), self._plain(new)

    def fields(self, old: StructField, new: StructField) -> tuple[StructField, StructField]:
        """One column of both versions as each must read it: one name, one type.

        Raises:
            _Unlike: The types have no common form.
        """
        old_type, new_type, wider = self._types(old, new)
        changes = {CHANGES_KEY: wider.metadata[CHANGES_KEY]} if CHANGES_KEY in wider.metadata else {}
        return (
            StructField(new.name, old_type, True, _mapping_of(old, self._old_mode) | changes),
            StructField(new.name, new_type, True, _mapping_of(new, self._new_mode) | changes),
        )

    def _types(self, old: StructField, new: StructField) -> tuple[DataType, DataType, StructField]:
        if widens(old.type, new.type):
            return new.type, new.type, new
        if widens(new.type, old.type):
            return old.type, old.type, old
        return *self._nested(old.type, new.type), new

    def _nested(self, old: DataType, new: DataType) -> tuple[DataType, DataType]:
        match old, new:
            case StructType(), StructType():
                pairs = self._members(old, new)
                return StructType(tuple(pair[0] for pair in pairs)), StructType(tuple(pair[1] for pair in pairs))
            case ArrayType(), ArrayType():
                elements = self._nested(old.element_type, new.element_type)
                return ArrayType(elements[0]), ArrayType(elements[1])
            case MapType(), MapType():
                keys, values = self._nested(old.key_type, new.key_type), self._nested(old.value_type, new.value_type)
                return MapType(keys[0], values[0]), MapType(keys[1], values[1])
            case _ if widens(old, new):
                return new, new
            case _ if widens(new, old):
                return old, old
        raise _Unlike(
            f"it is {type_name(old)} at version {self._older.version} and {type_name(new)} at version "
            f"{self._newer.version}"
        )

    def _members(self, old: StructType, new: StructType) -> list[tuple[StructField, StructField]]:
        known = {self.old_key(field): field for field in old.fields}
        stored = {_key(field, self._old_mode) for field in old.fields}
        pairs = []
        for field in new.fields:
            was = known.get(self.new_key(field))
            if was is not None:
                pairs.append(self.fields(was, field))
            elif _key(field, self._new_mode) in stored:
                # Asked for by that name, older files would give another field's values.
                raise _Unlike(f"its field {field.name} has the stored name of another one at {self._older.version}")
            else:
                pairs.append((self._plain(field), self._plain(field)))
        return pairs

    def _plain(self, field: StructField) -> StructField:
        """A field of the later version alone, with the names that its files have."""
        return unmapped(field) if self._new_mode == "none" else field


def _side(snapshot: Snapshot, fields: Sequence[StructField], partitions: dict[str, str]) -> ComparedSide:
    names = {field.name for field in fields if field.type != _VOID}
    columns = tuple(partitions[name] for name in snapshot.partition_columns if partitions.get(name) in names)
    return ComparedSide(snapshot.version, StructType(tuple(fields)), snapshot.column_mapping_mode == "id", columns)


def _key(field: StructField, mode: MappingMode) -> str:
    return field.name if mode == "none" else field.physical_name


def _mapping_of(field: StructField, mode: MappingMode) -> dict[str, object]:
    """The name and id that files have for the field: where columns are not mapped, its name."""
    if mode == "none":
        return {PHYSICAL_NAME_KEY: field.name}
    return {key: field.metadata[key] for key in _MAPPING if key in field.metadata}
