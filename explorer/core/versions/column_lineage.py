"""How each column was named and typed over the versions, and the names that moved to another column.

Protocol section: Column Mapping. Invariants: its physical name identifies a column, so a renamed column stays one
column.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

import msgspec

from explorer.core.protocol.schema.column_mapping import MappingMode
from explorer.core.protocol.schema.data_types import StructField, StructType, format_column, type_name
from explorer.core.protocol.schema.nested_types import walk, walk_physical

__all__ = ["ColumnLine", "ColumnSpan", "Lineage", "NameHazard", "column_lineage"]


class ColumnSpan(msgspec.Struct, frozen=True):
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
    path: tuple[str, ...]
    spans: tuple[ColumnSpan, ...]
    dropped_at: int | None


class NameHazard(msgspec.Struct, frozen=True):
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

    def lines_at(self, version: int) -> dict[str, int]:
        """The columns that a version has: dotted name -> place in ``columns``."""
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
        last_version: The newest version.
    """
    history = list(schemas)
    ends = [version - 1 for version, _, _ in history[1:]] + [last_version] if history else []
    spans: dict[tuple[str, ...], list[ColumnSpan]] = {}
    paths: dict[tuple[str, ...], tuple[str, ...]] = {}
    ids: dict[tuple[str, ...], int | None] = {}
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    stored: dict[tuple[str, ...], tuple[str, ...]] = {}
    taken: frozenset[tuple[str, ...]] = frozenset()
    off = ""
    was: MappingMode = "none"
    for (version, schema, mode), end in zip(history, ends, strict=True):
        fields = list(_fields(schema, mode))
        if was != "none" and mode == "none":
            # Removing the mapping rewrites the files under the logical names: the columns stay the same.
            names = {path: known[path] for path, _, _ in fields if path in known}
            taken, off = frozenset(spans), f"since {version}"
        was, known = mode, {}
        for path, found, field in fields:
            # A later column may be stored under a name that another column had before.
            physical = known[path] = names.get(found, (*found, off) if found in taken else found)
            stored.setdefault(physical, found)
            span = ColumnSpan(version, end, format_column(path), type_name(field.type), field.nullable)
            _extend(spans.setdefault(physical, []), span)
            paths[physical] = path
            ids[physical] = field.field_id if field.field_id is not None else ids.get(physical)
    lines = tuple(
        ColumnLine(
            ids[key], format_column(stored[key]), paths[key], tuple(spans[key]), _dropped(spans[key], last_version)
        )
        for key in spans
    )
    return Lineage(lines, tuple(_hazards(lines)), history[0][0] if history else 0, last_version)


def _extend(spans: list[ColumnSpan], span: ColumnSpan) -> None:
    before = spans[-1] if spans else None
    same = before is not None and (before.name, before.type, before.nullable) == (span.name, span.type, span.nullable)
    if before is not None and same and before.to_version == span.from_version - 1:
        spans[-1] = msgspec.structs.replace(before, to_version=span.to_version)
    else:
        spans.append(span)


def _dropped(spans: list[ColumnSpan], last_version: int) -> int | None:
    end = spans[-1].to_version
    return end + 1 if end < last_version else None


def _hazards(lines: tuple[ColumnLine, ...]) -> Iterable[NameHazard]:
    """Names of more than one column, and physical names that are the logical name of another column."""
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


def _fields(schema: StructType, mode: MappingMode) -> Iterable[tuple[tuple[str, ...], tuple[str, ...], StructField]]:
    if mode == "none":
        return ((path, path, field) for path, field in walk(schema))
    return walk_physical(schema)
