"""Which columns have statistics, and why one has none: a property leaves it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from explorer.core.protocol.statistics.bounds import SKIPPING_TYPES
from explorer.core.protocol.statistics.collect import indexed_fields
from explorer.core.protocol.statistics.file_statistics import StatisticsColumn
from explorer.core.protocol.table_properties.registry import NUM_INDEXED_COLS, STATS_COLUMNS
from explorer.core.transaction.intents.property_settings import statistics_column
from explorer.views.table.facts import TableFacts

__all__ = ["Covered", "coverage_of"]

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
