"""The columns of a table as lines over its versions: the data of the river figure."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.core.protocol.schema.data_types import format_column
from explorer.core.versions.column_lineage import Lineage

__all__ = ["RIVER_LINES", "RiverLine", "RiverSpan", "river_lines"]

RIVER_LINES = 40


@dataclass(frozen=True, slots=True)
class RiverSpan:
    """A stretch of versions (inclusive) over which name, type and nullability stayed the same."""

    from_version: int
    to_version: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RiverLine:
    """One physical column. ``reused`` names an earlier column's index whose name this one took, or None."""

    label: str
    physical_name: str
    name: str
    spans: tuple[RiverSpan, ...]
    dropped_at: int | None
    reused: int | None


def river_lines(lineage: Lineage) -> tuple[RiverLine, ...]:
    """Return the lines of a lineage, in its order."""
    lines: list[RiverLine] = []
    for column in lineage.columns:
        spans = tuple(RiverSpan(s.from_version, s.to_version, s.name, s.type) for s in column.spans)
        label = f"field {column.field_id}" if column.field_id is not None else "by name"
        reused = _earlier_holder(spans[0], lines) if spans else None
        lines.append(
            RiverLine(label, column.physical_name, format_column(column.path), spans, column.dropped_at, reused)
        )
    return tuple(lines)


def _earlier_holder(span: RiverSpan, lines: list[RiverLine]) -> int | None:
    for index, line in enumerate(lines):
        if any(other.name == span.name and other.to_version < span.from_version for other in line.spans):
            return index
    return None
