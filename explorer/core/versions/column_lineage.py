"""How each column was named and typed over the versions, and the names that moved to another column.

Protocol section: Column Mapping. Invariants: a column's identity over time is its physical path, which equals the
logical path until mapping gives it another (CM-012), so a renamed column stays one column.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

import msgspec

from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import Path, walk, walk_physical


class ColumnSpan(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A column's logical name and its type, from one version to another (both inclusive)."""

    from_version: int
    to_version: int
    name: str
    type: str
    nullable: bool


class ColumnLine(msgspec.Struct, frozen=True):
    """One physical column through time; ``dropped_at`` is the version that no longer has it."""

    field_id: int | None
    physical_name: str
    path: Path
    spans: tuple[ColumnSpan, ...]
    dropped_at: int | None


class NameHazard(msgspec.Struct, frozen=True, rename="camel"):
    """A name under which a client that ignores column mapping reads the wrong column."""

    kind: Literal["reused-name", "swapped-name", "physical-name-shadows"]
    name: str
    version: int
    detail: str


class Lineage(msgspec.Struct, frozen=True):
    """All columns that the readable versions have had, in order of first appearance."""

    columns: tuple[ColumnLine, ...]
    hazards: tuple[NameHazard, ...]
    first_version: int
    last_version: int

    def __repr__(self) -> str:
        versions = f"versions {self.first_version} to {self.last_version}"
        return f"Lineage({len(self.columns)} columns, {len(self.hazards)} hazards, {versions})"

    def lines_at(self, version: int) -> dict[str, int]:
        """Return the columns that a version has: dotted name -> place in ``columns``."""
        return {
            span.name: place
            for place, line in enumerate(self.columns)
            for span in line.spans
            if span.from_version <= version <= span.to_version
        }


def column_lineage(schemas: Iterable[tuple[int, StructType, MappingMode]], last_version: int) -> Lineage:
    """Follow every column over the versions.

    Args:
        schemas: (version, schema, mode) at the first readable version and at each version that changed the metadata,
            ascending.
    """
    history = list(schemas)
    ends = [*(version - 1 for version, _, _ in history[1:]), last_version][: len(history)]
    followed = _Followed()
    for (version, schema, mode), end in zip(history, ends, strict=True):
        followed.take(schema, mode, version, end)
    lines = followed.lines(last_version)
    return Lineage(lines, tuple(_hazards(lines)), history[0][0] if history else 0, last_version)


class _LineageColumn:
    """A column that is followed: where its values are stored, its newest path and id, and its spans so far."""

    __slots__ = ("field_id", "path", "spans", "stored")

    def __init__(self, stored: Path) -> None:
        self.stored = self.path = stored
        self.field_id: int | None = None
        self.spans: list[ColumnSpan] = []

    def extend(self, span: ColumnSpan) -> None:
        """Add a span, to the last one if that has the same name and type."""
        before = self.spans[-1] if self.spans else None
        same = before is not None and (before.name, before.type, before.nullable) == (
            span.name,
            span.type,
            span.nullable,
        )
        if before is not None and same and before.to_version == span.from_version - 1:
            self.spans[-1] = msgspec.structs.replace(before, to_version=span.to_version)
        else:
            self.spans.append(span)

    def line(self, last_version: int) -> ColumnLine:
        end = self.spans[-1].to_version
        dropped_at = end + 1 if end < last_version else None
        return ColumnLine(self.field_id, format_column(self.stored), self.path, tuple(self.spans), dropped_at)


class ColumnIdentities:
    """The identity of each field of successive schemas: the physical path under which it first appeared."""

    def __init__(self) -> None:
        self._known: set[Path] = set()
        self._mode: MappingMode = "none"
        # Identities by logical path: of the newest schema, and of the one before mapping was removed.
        self._newest: dict[Path, Path] = {}
        self._unmapped: dict[Path, Path] = {}
        # The paths in the files of the newest schema.
        self._stored: set[Path] = set()
        self._taken: frozenset[Path] = frozenset()
        self._mark = ""

    def take(self, schema: StructType, mode: MappingMode, version: int) -> list[tuple[Path, Path, Path, StructField]]:
        """Take the schema from a version on and return the identity, logical and physical path of each field."""
        fields = list(_fields(schema, mode))
        names = {path for path, _, _ in fields}
        # Some names are missing, and a new one is that of a column in the files: a version before a rename was
        # restored.
        restored = not self._newest.keys() <= names and not names.isdisjoint(self._stored - self._newest.keys())
        if self._mode != "none" and mode == "none" and not restored:
            # Removing the mapping rewrites the files under the logical names: the columns stay the same.
            self._unmapped = {path: self._newest[path] for path, _, _ in fields if path in self._newest}
            self._taken, self._mark = frozenset(self._known), f"since {version}"
        self._mode = mode
        fields_by_identity = [(self._identity(stored), path, stored, field) for path, stored, field in fields]
        self._newest = {path: identity for identity, path, _, _ in fields_by_identity}
        self._stored = {stored for _, _, stored, _ in fields_by_identity}
        self._known.update(self._newest.values())
        return fields_by_identity

    def _identity(self, stored: Path) -> Path:
        if stored in self._unmapped:
            return self._unmapped[stored]
        # A later column may be stored under a name that another column had before.
        return (*stored, self._mark) if stored in self._taken else stored


class _Followed:
    """The columns of the schemas taken so far, by identity."""

    def __init__(self) -> None:
        self._columns: dict[Path, _LineageColumn] = {}
        self._identities = ColumnIdentities()

    def take(self, schema: StructType, mode: MappingMode, version: int, end: int) -> None:
        """Take the schema of a range of versions."""
        for identity, path, stored, field in self._identities.take(schema, mode, version):
            column = self._columns.get(identity)
            if column is None:
                column = self._columns[identity] = _LineageColumn(stored)
            column.extend(ColumnSpan(version, end, format_column(path), type_name(field.type), field.nullable))
            column.path = path
            column.field_id = column.field_id if field.field_id is None else field.field_id

    def lines(self, last_version: int) -> tuple[ColumnLine, ...]:
        """Return the columns in order of first appearance."""
        return tuple(column.line(last_version) for column in self._columns.values())


def _hazards(lines: tuple[ColumnLine, ...]) -> Iterable[NameHazard]:
    """Yield names of more than one column, and physical names that are the logical name of another column."""
    bearers: dict[str, list[tuple[ColumnSpan, ColumnLine]]] = {}
    for line in lines:
        for span in line.spans:
            bearers.setdefault(span.name, []).append((span, line))
    for name, uses in bearers.items():
        uses.sort(key=lambda use: use[0].from_version)
        for (before, first), (after, second) in pairwise(uses):
            if first is not second:
                yield _changed_hands(name, before, first, after, second)
    for line in lines:
        for span, other in bearers.get(line.physical_name, ()):
            if other is not line:
                detail = f"{span.name} is the physical name of {format_column(line.path)}"
                yield NameHazard("physical-name-shadows", span.name, span.from_version, detail)


def _changed_hands(
    name: str, before: ColumnSpan, first: ColumnLine, after: ColumnSpan, second: ColumnLine
) -> NameHazard:
    version = after.from_version
    renamed = next((s for s in first.spans if s.from_version > before.to_version), None)
    was = next((s for s in reversed(second.spans) if s.to_version < version), None)
    if renamed is not None and was is not None and renamed.name == was.name and renamed.from_version == version:
        return NameHazard("swapped-name", name, version, f"{name} and {was.name} swapped names")
    fate = (
        f"renamed to {renamed.name} at v{renamed.from_version}" if renamed else f"dropped at v{before.to_version + 1}"
    )
    return NameHazard("reused-name", name, version, f"the earlier {name} was {fate}; another column has the name now")


def _fields(schema: StructType, mode: MappingMode) -> Iterable[tuple[Path, Path, StructField]]:
    if mode == "none":
        return ((path, path, field) for path, field in walk(schema))
    return walk_physical(schema)
