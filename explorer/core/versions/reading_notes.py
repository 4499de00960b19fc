"""What a person must know who reads a version: columns that are not read, and files that readers disagree about."""

from __future__ import annotations

from explorer.core.versions.snapshot import Snapshot

__all__ = ["reading_notes", "unread_notes"]


def unread_notes(snapshot: Snapshot) -> tuple[str, ...]:
    """Say of each column that is not read why not."""
    return tuple(
        f"The column {column.name} is not read and not shown. {column.reason} Read it with an engine that has the type."
        for column in snapshot.unread_columns
    )


def reading_notes(snapshot: Snapshot) -> tuple[str, ...]:
    """Say all of it, as sentences: the worst first."""
    contested = () if snapshot.contested is None else (f"Error: {snapshot.contested.message}",)
    return (*contested, *unread_notes(snapshot))
