"""The commits of a table as a list that can be filtered, sorted, paged and exported."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from explorer import formatting as fmt
from explorer.core.protocol.arrow.arrays import joined
from explorer.core.versions.commits.summary import CommitSummary
from explorer.views.listing import Listing, ListingColumn
from explorer.views.table.facts import TableFacts

PAGE = 100
_MOST_CHOICES = 60
_COLUMNS = (
    ListingColumn("version", "version", "version"),
    ListingColumn("operation", "operation"),
    ListingColumn("by", "by"),
    ListingColumn("committed", "when", "time"),
    ListingColumn("rows_added", "rows added", "rows", "unknown"),
    ListingColumn("rows_removed", "removed", "rows", "unknown"),
    ListingColumn("rows_masked", "masked", "rows", "unknown"),
    ListingColumn("rows_updated", "updated", "rows", "unknown"),
    ListingColumn("files", "files"),
    ListingColumn("reason", "reason"),
    ListingColumn("predicate", "predicate", "mono"),
    ListingColumn("rows_rewritten", "rewritten", "rows", "unknown"),
    ListingColumn("form", "form"),
)


@dataclass(frozen=True, slots=True)
class CommitChoice:
    """Which commits are listed.

    Attributes:
        find: A text that operation, author, date, reason or predicate holds.
        operation, author: One of each; empty for all.
        sort: Key of a column, with a minus for descending; empty for the newest first.
    """

    find: str = ""
    operation: str = ""
    author: str = ""
    sort: str = ""


def chosen_commits(facts: TableFacts, choice: CommitChoice) -> Listing:
    """Return the commits that are asked for, from the first page."""
    listing = facts.keep("commit-list", lambda: _listing(facts))
    table = listing.table
    for key, wanted in (("operation", choice.operation), ("by", choice.author)):
        if wanted:
            table = table.filter(pc.equal(table.column(key), wanted))
    key = choice.sort.removeprefix("-")
    return replace(listing, table=table).arranged(sort=key, descending=choice.sort.startswith("-"), find=choice.find)


def choices(facts: TableFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the operations and the authors that there are, the most frequent first."""
    return facts.keep("commit-choices", lambda: (_frequent(facts, "operation"), _frequent(facts, "by")))


def page_of(listing: Listing, version: int) -> int:
    """Return the page that holds a version; 1 if none does."""
    place: int = pc.index(listing.matching().column("version"), version).as_py()
    return 1 + max(0, place) // listing.page_size


def _frequent(facts: TableFacts, column: str) -> tuple[str, ...]:
    values = chosen_commits(facts, CommitChoice()).table.column(column)
    counted = pc.value_counts(joined(values)).to_pylist()
    counted.sort(key=lambda entry: -entry["counts"])
    return tuple(entry["values"] for entry in counted if entry["values"])[:_MOST_CHOICES]


def _listing(facts: TableFacts) -> Listing:
    commits = facts.commits.newest_first()
    integer = pa.int64()
    table = pa.table(
        {
            "version": pa.array([c.version for c in commits], integer),
            "operation": pa.array([c.operation for c in commits], pa.string()),
            "by": pa.array([c.user_name or None for c in commits], pa.string()),
            "committed": pa.array([c.timestamp for c in commits], pa.timestamp("ms", "UTC")),
            "rows_added": pa.array([c.rows_added for c in commits], integer),
            "rows_removed": pa.array([c.rows_removed for c in commits], integer),
            "rows_masked": pa.array([c.rows_masked for c in commits], integer),
            "rows_updated": pa.array([c.rows_updated for c in commits], integer),
            "rows_rewritten": pa.array([c.rows_rewritten for c in commits], integer),
            "files": pa.array([_files(c) for c in commits], pa.string()),
            "form": pa.array([", ".join(c.form_changes) or None for c in commits], pa.string()),
            "predicate": pa.array([c.predicate or None for c in commits], pa.string()),
            "reason": pa.array([c.reason or None for c in commits], pa.string()),
            "day": pa.array([fmt.timestamp(c.timestamp) for c in commits], pa.string()),
        }
    )
    empty = {name for name in ("form", "predicate", "reason", "by") if table.column(name).null_count == len(commits)}
    empty |= set() if any(c.rows_updated for c in commits) else {"rows_updated"}
    columns = tuple(column for column in _COLUMNS if column.key not in empty)
    searched = ("operation", "by", "day", "reason", "predicate", "form")
    return Listing(f"{facts.name}-commits", columns, table, searched, page_size=PAGE)


def _files(commit: CommitSummary) -> str:
    remasked = f" ~{commit.files_remasked}" if commit.files_remasked else ""
    return f"+{commit.files_added or 0} \u2212{commit.files_removed or 0}{remasked}"
