"""``retention``: which versions can still be read, and until when that is safe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, listing, patience

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("retention")(retention)


def retention(table: TableArgument, json: JsonFlag = False) -> None:
    """Show which versions can be read, until when that is safe, and which are lost.

    Looks for every file that a version needs. JSON, a line a version, oldest first: version, status (readable; at risk:
    a clean-up by the table's properties may delete it now; log gone; data gone), atRiskFrom (when a clean-up may first
    delete it; null if nothing leads to that yet, or if it is gone), by (the property that sets the time), reason,
    missingFiles (at most ten of those that are gone), numMissingFiles.
    """
    with patience("Reading the log and looking for the files"):
        found = explorer.open_table(table).retention(datetime.now(UTC)).to_pylist()
    if json:
        for row in found:
            emit(_line(row))
        return
    listing(["versions", "status", "at risk from", "by", "reason"], _runs(found), "The log holds no version.")


def _line(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": row["version"],
        "status": row["status"],
        "atRiskFrom": row["at_risk_from"],
        "by": row["by"],
        "reason": row["reason"],
        "missingFiles": row["missing_files"],
        "numMissingFiles": row["num_missing_files"],
    }


def _runs(found: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    """One row for consecutive versions of the same state."""
    alike = ("status", "at_risk_from", "by", "reason", "missing_files")
    for key, group in groupby(found, key=lambda row: [row[name] for name in alike]):
        rows = list(group)
        first, last = rows[0]["version"], rows[-1]["version"]
        status, since, by, reason, missing = key
        named = f": {', '.join(missing[:3])}" if missing else ""
        more = f" and {fmt.count(rows[0]['num_missing_files'] - 3)} more" if len(missing) > 3 else ""
        yield (
            f"v{first}" if first == last else f"v{first} to v{last}",
            status,
            "" if since is None else fmt.timestamp(since),
            by or "",
            f"{reason}{named}{more}",
        )
