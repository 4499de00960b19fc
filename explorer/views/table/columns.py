"""Columns over time: the river's lines, the table of columns at a version, hazards, one column's history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

from explorer import formatting as fmt
from explorer.core.protocol.schema.data_types import format_column
from explorer.core.versions.column_lineage import ColumnLine, ColumnSpan
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.column_lines import RiverLine, river_lines
from explorer.views.table.facts import TableFacts
from explorer.views.table.overview import fields_of
from explorer.views.table.since import column_since

__all__ = ["ColumnStory", "author", "column_story", "columns_listing", "lines_of"]

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


def column_story(facts: TableFacts, name: str) -> ColumnStory | None:
    """Return the history of the column that has a name now (or had it last), or None if there is none."""
    columns = facts.lineage().columns
    column = next((c for c in reversed(columns) if format_column(c.path) == name and c.dropped_at is None), None)
    column = column or next((c for c in reversed(columns) if format_column(c.path) == name), None)
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
    since = column_since(facts, name) if is_live else ()
    return ColumnStory(name, label, texts, _consequence(facts, column), is_live, since)


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
