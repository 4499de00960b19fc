"""The columns of a table: a list at a version, their history, their lines over all versions, and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.protocol.statistics.bounds import SKIPPING_TYPES
from explorer.core.protocol.statistics.collect import indexed_fields
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.protocol.table_properties.registry import NUM_INDEXED_COLS, STATS_COLUMNS
from explorer.core.transaction.intents.property_settings import statistics_column
from explorer.core.versions.column_lineage import ColumnLine, ColumnSpan, Lineage
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts
from explorer.views.table.overview import fields_of
from explorer.views.table.settings import column_since

_LONGEST_REASON = 80
_COLUMNS = (
    ListingColumn("name", "column", "text"),
    ListingColumn("type", "type", "mono"),
    ListingColumn("nullable", "nullable", "text"),
    ListingColumn("partition", "partition", "text"),
    ListingColumn("bounds", "files with statistics", "text"),
    ListingColumn("comment", "comment", "text"),
)


@dataclass(frozen=True, slots=True)
class ColumnStory:
    """One physical column: what it is, and what happened to it and by whom, as names and texts.

    ``consequence`` says what its history means for who reads it; ``is_live`` if the newest version has it; ``since``
    says since when it is as it is, by whom and why.
    """

    name: str
    label: str
    facts: tuple[tuple[str, str], ...]
    consequence: str = ""
    is_live: bool = False
    since: tuple[str, ...] = ()


def lines_of(facts: TableFacts) -> tuple[RiverLine, ...]:
    """Return the river's lines, kept."""
    return facts.keep("river", lambda: river_lines(facts.lineage()))


def columns_listing(facts: TableFacts, version: int) -> Listing:
    """Return the columns of a version as a list, nested ones with dotted names."""
    return facts.keep(("columns", version), lambda: _listing(facts, version))


def column_story(facts: TableFacts, name: str, column: ColumnLine | None = None) -> ColumnStory | None:
    """Return the history of a column, or None if there is none.

    Args:
        facts: The table's facts.
        name: A dotted name.
        column: The column; None for the one that has the name now, or had it last.
    """
    columns = facts.lineage().columns
    named = (each for each in reversed(columns) if format_column(each.path) == name and each.dropped_at is None)
    column = column or next(named, None)
    column = column or next((each for each in reversed(columns) if format_column(each.path) == name), None)
    if column is None or not column.spans:
        return None
    label = f"field {column.field_id}" if column.field_id is not None else "by name"
    last = column.spans[-1]
    entries = [
        ("physical name", column.physical_name.replace("`", "")),
        ("type", last.type),
        ("nullable", "yes" if last.nullable else "no"),
    ]
    events = [(column.spans[0].from_version, f"first seen as {column.spans[0].name}")]
    events += [(new.from_version, _befell(old, new)) for old, new in pairwise(column.spans)]
    if column.dropped_at is not None:
        events.append((column.dropped_at, "dropped"))
    entries += [
        (f"v{version}", f"{what} ({by})" if (by := author(facts, version)) else what) for version, what in events
    ]
    texts = tuple((key, fmt.plain(text, 300)) for key, text in entries)
    is_live = column.dropped_at is None
    now = format_column(column.path)
    since = column_since(facts, now) if is_live else ()
    return ColumnStory(now, label, texts, _consequence(facts, column), is_live, since)


def author(facts: TableFacts, version: int) -> str:
    """Return who made a version, by which operation, when and why, in words; empty if its commit is gone."""
    commit = facts.commits.record(version)
    if commit is None:
        return ""
    name = f" by {commit.user_name}" if commit.user_name else ""
    why = f": {fmt.shorten(commit.reason, _LONGEST_REASON)}" if commit.reason else ""
    return f"{commit.operation}{name}, {fmt.day(commit.timestamp)}{why}"


def _consequence(facts: TableFacts, column: ColumnLine) -> str:
    name, stored = format_column(column.path), column.physical_name
    if column.dropped_at is not None:
        return f"Its values remain in the files written before v{column.dropped_at} until those are rewritten."
    if facts.snapshot(facts.last).column_mapping_mode == "none":
        return "This is also its name in the files. To rename or drop it, set column mapping to name first."
    if stored == name:
        return "This is also its name in the files, so clients that ignore column mapping can read it."
    physical = stored.replace("`", "")
    return f"Its physical name is {physical}, so clients that ignore column mapping cannot find it by its logical name."


def _befell(old: ColumnSpan, new: ColumnSpan) -> str:
    changes = []
    if old.name != new.name:
        changes.append(f"renamed to {new.name}")
    if old.type != new.type:
        changes.append(f"type {old.type} \u2192 {new.type}")
    if old.nullable != new.nullable:
        changes.append("null allowed" if new.nullable else "null no longer allowed")
    return ", ".join(changes) or "changed"


def _listing(facts: TableFacts, version: int) -> Listing:
    snapshot = facts.snapshot(version)
    coverage = {row["column"]: row for row in facts.coverage(version).to_pylist()}
    fields = fields_of(snapshot)
    table = pa.table(
        {
            "name": pa.array([field.name for field in fields], pa.string()),
            "type": pa.array([field.type for field in fields], pa.string()),
            "nullable": pa.array(["yes" if field.nullable else "no" for field in fields], pa.string()),
            "partition": pa.array(["yes" if field.partition else None for field in fields], pa.string()),
            "bounds": pa.array([_bounds(coverage.get(field.name)) for field in fields], pa.string()),
            "comment": pa.array([field.comment or None for field in fields], pa.string()),
        }
    )
    columns = tuple(
        c for c in _COLUMNS if c.key not in {"partition", "comment"} or table.column(c.key).null_count < len(fields)
    )
    return Listing(f"{facts.name}-v{version}-columns", columns, table, ("name", "type", "comment"))


def _bounds(row: Mapping[str, Any] | None) -> str | None:
    return None if row is None else f"{fmt.count(row['files'])} / {fmt.count(row['files_total'])}"


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
    """Return names cut to a width, so that names with the same beginning differ at their ends."""
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


_NO_SETTING: Final = ("", "", "")
_NONE: Final = "no file has statistics for it, although no property excludes it"


@dataclass(frozen=True, slots=True)
class Covered:
    """A column that can have statistics.

    Attributes:
        files, files_total: How many live files have them, of how many.
        tight: How many of these hold exactly for the live rows.
        why: Why no new file has them; empty where new files do.
        key, before, after: The property that leaves the column out, and the value that would take it in, in two parts;
            empty where no property would. The first part, which may name every other column, is the same for all.
    """

    column: str
    type: str
    files: int
    files_total: int
    tight: int | None
    why: str = ""
    key: str = ""
    before: str = ""
    after: str = ""

    @property
    def setting(self) -> tuple[str, str] | None:
        """The property that leaves the column out, and the value that would take it in; None where none does."""
        return (self.key, self.before + self.after) if self.key else None


def coverage_of(facts: TableFacts, version: int) -> tuple[Covered, ...]:
    """Return the columns of a version in the order of the schema."""
    return facts.keep(("covered", version), lambda: _covered(facts, version))


def _covered(facts: TableFacts, version: int) -> tuple[Covered, ...]:
    snapshot = facts.snapshot(version)
    stored = [field for field in snapshot.schema.fields if field.name not in snapshot.partition_columns]
    everything = indexed_fields(stored, {NUM_INDEXED_COLS.key: "-1"})
    places = {physical: place for place, (physical, _) in enumerate(everything, 1)}
    indexed = {physical for physical, _ in indexed_fields(stored, snapshot.properties)}
    columns = {column.name: column for column in snapshot.statistics_columns}
    covered = []
    for row in facts.coverage(version).to_pylist():
        column = columns[row["column"]]
        why, setting = "", _NO_SETTING
        if column.physical not in indexed and not column.partition and column.name not in snapshot.clustering_columns:
            why, setting = _left_out(snapshot.properties, column, places.get(column.physical, 0))
        elif not row["files"] and row["files_total"]:
            why = _NONE
        covered.append(
            Covered(row["column"], row["type"], row["files"], row["files_total"], row["tight"], why, *setting)
        )
    return tuple(covered)


def _left_out(properties: dict[str, str], column: StatisticsColumn, place: int) -> tuple[str, tuple[str, str, str]]:
    listed = properties.get(STATS_COLUMNS.key)
    if listed is not None:
        setting = STATS_COLUMNS.key, listed, f"{',' if listed else ''}{statistics_column(column.path)}"
        return f"{STATS_COLUMNS.key} does not list it", setting if column.type.name in SKIPPING_TYPES else _NO_SETTING
    limit = NUM_INDEXED_COLS.of(properties)
    default = "" if NUM_INDEXED_COLS.is_set(properties) else ", the default"
    why = f"{NUM_INDEXED_COLS.key} is {limit}{default}: only the first {limit} columns have statistics"
    return why, (NUM_INDEXED_COLS.key, "", str(place)) if place else _NO_SETTING
