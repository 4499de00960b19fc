"""``retention``: which versions can still be read, and until when that is safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Annotated, Any

import typer

import explorer
from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag, TableArgument
from explorer.cli.output import emit, facts, listing, note, patience
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.times import duration
from explorer.core.transaction.consequences import in_days
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.horizon import Horizon, VersionRange, WhatIf

__all__ = ["register"]

_NAMED = 2
"""So many missing files are named for people: with three names of Spark a cell would be cut off."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("retention")(retention)


WhatIfOption = Annotated[
    str | None,
    typer.Option(
        "--what-if",
        metavar="DURATION",
        help="Show what a VACUUM would delete now with this retention period, for example '7 days'.",
    ),
]


def retention(table: TableArgument, what_if: WhatIfOption = None, json: JsonFlag = False) -> None:
    """Show which versions can be read, until when that is safe, and which are lost.

    Looks for every file that a version needs. JSON, a line a version, oldest first: version, status (readable; at risk:
    a clean-up by the table's properties may delete it now; log gone; data gone), atRiskFrom (when a clean-up may first
    delete it; null if nothing leads to that yet, or if it is gone), by (the property that sets the time), reason,
    missingFiles (at most ten of those that are gone), numMissingFiles.

    With --what-if it lists the whole folder, deletes nothing, and writes one JSON document instead: table, version,
    timestamp (the present), tableRetentionMs (the table's own), retentionMs (the one asked about), versions and
    changeFeed, each {kept (how many can be read after a VACUUM now), lost (ranges [first, last] of versions that can be
    read now and not then)}, numFiles and sizeInBytes (what it would free, all of it), numMissingFiles, orphans
    {numFiles, sizeInBytes} (files that no action of the log names), dates (a line for each version that can be read
    now: version, lostFrom and changeFeedLostFrom, when VACUUM may take it under this retention, null for never), and
    horizon (the same numbers for every retention at which one of them changes: retentionMs, versions, changeFeed,
    numFiles, sizeInBytes).
    """
    now = datetime.now(UTC)
    if what_if is not None:
        _what_if(table, duration(what_if), now, json=json)
        return
    with patience("Reading the log and looking for the files"):
        found = records(explorer.open_table(table).retention(now))
    if json:
        for row in found:
            emit(_line(row))
        return
    listing(["versions", "status", "at risk from", "by", "reason"], _runs(found), "The log holds no version.")


def _what_if(table: str, asked: int, now: datetime, *, json: bool) -> None:
    with patience("Reading the log and listing the folder"):
        opened = explorer.open_table(table)
        horizon = opened.horizon(now, folder=True)
    found = horizon.what_if(asked)
    if json:
        emit({"table": opened.location, "version": opened.latest_version(), **_document(horizon, found)})
        return
    own = "" if asked == horizon.retention else f"; the table's own is {_length(horizon.retention)}"
    facts(
        f"A VACUUM now that keeps {_length(asked)}{own}",
        [
            ("versions lost", _named(found.versions)),
            ("versions left", fmt.count(found.kept)),
            ("change feed lost", _named(found.feed_versions)),
            ("files freed", f"{fmt.count(found.files)}, {fmt.size(found.bytes)}"),
            *_orphans(horizon),
        ],
    )
    soon = [row for row in records(found.dates) if row["lost_from"] is not None]
    runs = ((key, [row["version"] for row in rows]) for key, rows in groupby(soon, key=lambda row: row["lost_from"]))
    rows = ((_span(versions[0], versions[-1]), fmt.timestamp(time)) for time, versions in runs)
    listing(["versions", f"VACUUM may take them after {_length(asked)} from"], rows, "No versions will be lost.")
    note('Nothing was deleted. Plan it: delta-explorer plan TABLE \'{"kind": "vacuum"}\'.')


def _document(horizon: Horizon, found: WhatIf) -> dict[str, Any]:
    look = horizon.look
    return {
        "timestamp": moment(horizon.now),
        "tableRetentionMs": horizon.retention,
        "retentionMs": found.retention,
        "versions": {"kept": found.kept, "lost": found.versions},
        "changeFeed": {"kept": found.feed_kept, "lost": found.feed_versions},
        "numFiles": found.files,
        "sizeInBytes": found.bytes,
        "numMissingFiles": None if look is None else len(look.missing),
        "orphans": None if look is None else {"numFiles": look.orphans.num_rows, "sizeInBytes": look.orphan_bytes},
        "dates": [
            {
                "version": row["version"],
                "lostFrom": row["lost_from"],
                "changeFeedLostFrom": row["feed_lost_from"],
            }
            for row in records(found.dates)
            if not row["gone"]
        ],
        "horizon": [
            {
                "retentionMs": row["retention"],
                "versions": row["versions"],
                "changeFeed": row["feed_versions"],
                "numFiles": row["files"],
                "sizeInBytes": row["bytes"],
            }
            for row in records(horizon.table())
        ],
    }


def _orphans(horizon: Horizon) -> Iterator[tuple[str, str]]:
    look = horizon.look
    if look is not None and look.orphans.num_rows:
        yield "named by no action", f"{fmt.plural(look.orphans.num_rows, 'file')}, {fmt.size(look.orphan_bytes)}"
    if look is not None and look.missing:
        yield "needed and missing", f"{fmt.plural(len(look.missing), 'file')}"


def _named(ranges: Sequence[VersionRange]) -> str:
    return ", ".join(_span(first, last) for first, last in ranges) or "none"


def _span(first: int, last: int) -> str:
    return f"v{first}" if first == last else f"v{first} to v{last}"


def _length(milliseconds: int) -> str:
    return in_days(timedelta(milliseconds=milliseconds))


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
        named = f": {', '.join(missing[:_NAMED])}" if missing else ""
        # The reason says how many; a file and its deletion vector are one of them, and two names.
        more = " and others" if len(missing) > _NAMED else ""
        yield (
            _span(first, last),
            status,
            "" if since is None else fmt.timestamp(since),
            by or "",
            f"{reason}{named}{more}",
        )
