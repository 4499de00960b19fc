"""The columns of a table as lines over its versions: the data of the river figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.versions.column_lineage import Lineage

__all__ = ["RIVER_LINES", "RiverLine", "RiverSpan", "TakenName", "distinct_names", "river_lines"]

RIVER_LINES = 40


@dataclass(frozen=True, slots=True)
class RiverSpan:
    """A stretch of versions (inclusive) over which name, type and nullability stayed the same."""

    from_version: int
    to_version: int
    name: str
    type: str

    @property
    def length(self) -> int:
        """How many versions it spans."""
        return self.to_version - self.from_version + 1


@dataclass(frozen=True, slots=True)
class TakenName:
    """A name that a column took at a version: the column that had it, and the last version in which it did."""

    name: str
    version: int
    holder: int
    held_to: int


@dataclass(frozen=True, slots=True)
class RiverLine:
    """One physical column.

    Attributes:
        reused: The place of the earlier column whose name this one was born with, or None.
        took: Every name that another column had before, also those that two columns swapped.
    """

    label: str
    physical_name: str
    name: str
    spans: tuple[RiverSpan, ...]
    dropped_at: int | None
    reused: int | None
    took: tuple[TakenName, ...] = ()

    @property
    def is_distinct(self) -> bool:
        """Whether something happened to it: another name or type, a drop, a name that was another's."""
        return len(self.spans) > 1 or self.dropped_at is not None or bool(self.took)


def river_lines(lineage: Lineage) -> tuple[RiverLine, ...]:
    """Return the lines of a lineage, in its order."""
    versions_by_name: dict[str, list[tuple[int, int]]] = {}
    for place, column in enumerate(lineage.columns):
        for span in column.spans:
            versions_by_name.setdefault(span.name, []).append((span.to_version, place))
    lines: list[RiverLine] = []
    for place, column in enumerate(lineage.columns):
        spans = tuple(RiverSpan(s.from_version, s.to_version, s.name, s.type) for s in column.spans)
        label = f"field {column.field_id}" if column.field_id is not None else "by name"
        took = tuple(_taken(spans, place, versions_by_name))
        reused = next((t.holder for t in took if spans and t.version == spans[0].from_version), None)
        lines.append(
            RiverLine(label, column.physical_name, format_column(column.path), spans, column.dropped_at, reused, took)
        )
    return tuple(lines)


def distinct_names(names: Iterable[str], width: int) -> dict[str, str]:
    """Return names cut to a width, so that those which begin alike are told apart by their ends."""
    same_label: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        same_label.setdefault(fmt.shorten(name, width), []).append(name)
    labels: dict[str, str] = {}
    for text, group in same_label.items():
        if len(group) == 1:
            labels[group[0]] = text
            continue
        shared = _shared(group)
        for name in group:
            start = max(0, min(shared - 4, len(name) - width + 1))
            labels[name] = f"\u2026{fmt.plain(name[start:])}"[:width]
    return labels


def _shared(names: Sequence[str]) -> int:
    """Return how many characters all of them begin with: as many as the first and the last in order have in common."""
    low, high = min(names), max(names)
    return next((at for at, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))


def _taken(
    spans: Iterable[RiverSpan], place: int, versions_by_name: Mapping[str, list[tuple[int, int]]]
) -> Iterator[TakenName]:
    before = ""
    for span in spans:
        earlier = [
            (to, other) for to, other in versions_by_name[span.name] if other != place and to < span.from_version
        ]
        if earlier and span.name != before:
            held_to, holder = max(earlier)
            yield TakenName(span.name, span.from_version, holder, held_to)
        before = span.name
