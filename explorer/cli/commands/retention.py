"""``retention`` and ``maintenance``: until when versions can be read, and what was done to the files of a table."""

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
from explorer.cli.tables import open_named
from explorer.core.protocol.arrow.records import records
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import duration
from explorer.core.transaction.consequences import in_days
from explorer.core.versions.commit_times import moment
from explorer.core.versions.retention.horizon import Horizon, VersionRange, WhatIf
from explorer.core.versions.retention.version_states import VersionState

_NAMED = 2
"""So many missing files are named for people: with three names of Spark a cell would be cut off."""


class RetentionLine(JsonRecord, frozen=True, kw_only=True):
    """A version, and until when it can be read.

    Attributes:
        status: ``at risk``: the next cleanup with the table's properties may delete it. ``log gone`` and ``data gone``:
            it cannot be read any more.
        at_risk_from: When a cleanup may first delete it; null if nothing leads to that yet, or if it is deleted.
        by: The property that sets the time.
        missing_files: At most ten of the files that are not stored.
    """

    version: int
    status: VersionState
    at_risk_from: datetime | None
    by: str | None
    reason: str | None
    missing_files: tuple[str, ...] | None
    num_missing_files: int | None


class LostVersions(JsonRecord, frozen=True, kw_only=True):
    """How many versions can be read after a VACUUM now, and those that can be read now and not then."""

    kept: int
    lost: tuple[VersionRange, ...]


class Orphans(JsonRecord, frozen=True, kw_only=True):
    """Stored files that are in no log action."""

    num_files: int
    size_in_bytes: int


class LossDate(JsonRecord, frozen=True, kw_only=True):
    """When VACUUM may delete a version, and its change feed, with this retention period; null for never."""

    version: int
    lost_from: datetime | None
    change_feed_lost_from: datetime | None


class HorizonStep(JsonRecord, frozen=True, kw_only=True):
    """What a VACUUM now leaves and frees with a retention period, in ms, from which one of the numbers changes."""

    retention_ms: int
    versions: int
    change_feed: int
    num_files: int
    size_in_bytes: int


class WhatIfDocument(JsonRecord, frozen=True, kw_only=True):
    """What a VACUUM with a retention period would delete now.

    Attributes:
        timestamp: The present.
        table_retention_ms: The table's own retention period.
        retention_ms: That of --what-if.
        num_files, size_in_bytes: What it would free, in total.
        num_missing_files: Files that a version needs and that are not stored.
        dates: The versions that can be read now.
        horizon: The same numbers for every retention period at which one of them changes.
    """

    table: str
    version: int
    timestamp: datetime
    table_retention_ms: int
    retention_ms: int
    versions: LostVersions
    change_feed: LostVersions
    num_files: int
    size_in_bytes: int
    num_missing_files: int | None
    orphans: Orphans | None
    dates: tuple[LossDate, ...]
    horizon: tuple[HorizonStep, ...]


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

    Checks that each file that a version needs is stored. With --what-if, it lists the full folder and shows which
    versions a VACUUM would delete, now and later. Deletes nothing.
    """
    now = datetime.now(UTC)
    if what_if is not None:
        _what_if(table, duration(what_if), now, json=json)
        return
    with patience("Reading the log and looking for the files"):
        rows = records(open_named(table).retention(now))
    if json:
        for row in rows:
            emit(RetentionLine(**row))
        return
    listing(["versions", "status", "at risk from", "by", "reason"], _runs(rows), "The log has no versions.")


def _what_if(table: str, period: int, now: datetime, *, json: bool) -> None:
    with patience("Reading the log and listing the folder"):
        opened = open_named(table)
        horizon = opened.horizon(now, folder=True)
    what_if = horizon.what_if(period)
    if json:
        emit(_document(opened, horizon, what_if))
        return
    own = "" if period == horizon.retention else f"; the table's own is {_length(horizon.retention)}"
    facts(
        f"A VACUUM now that keeps {_length(period)}{own}",
        [
            ("versions lost", _named(what_if.versions)),
            ("versions left", fmt.count(what_if.kept)),
            ("change feed lost", _named(what_if.feed_versions)),
            ("files freed", f"{fmt.count(what_if.files)}, {fmt.size(what_if.bytes)}"),
            *_orphans(horizon),
        ],
    )
    soon = [row for row in records(what_if.dates) if row["lost_from"] is not None]
    runs = ((key, [row["version"] for row in rows]) for key, rows in groupby(soon, key=lambda row: row["lost_from"]))
    rows = ((_span(versions[0], versions[-1]), fmt.timestamp(time)) for time, versions in runs)
    listing(["versions", f"VACUUM may take them after {_length(period)} from"], rows, "No versions will be lost.")
    note('Nothing was deleted. Plan it: delta-explorer plan TABLE \'{"kind": "vacuum"}\'.')


def _document(table: explorer.Table, horizon: Horizon, what_if: WhatIf) -> WhatIfDocument:
    scan = horizon.scan
    return WhatIfDocument(
        table=table.location,
        version=table.latest_version(),
        timestamp=moment(horizon.now),
        table_retention_ms=horizon.retention,
        retention_ms=what_if.retention,
        versions=LostVersions(kept=what_if.kept, lost=what_if.versions),
        change_feed=LostVersions(kept=what_if.feed_kept, lost=what_if.feed_versions),
        num_files=what_if.files,
        size_in_bytes=what_if.bytes,
        num_missing_files=None if scan is None else len(scan.missing),
        orphans=None if scan is None else Orphans(num_files=scan.orphans.num_rows, size_in_bytes=scan.orphan_bytes),
        dates=tuple(
            LossDate(version=row["version"], lost_from=row["lost_from"], change_feed_lost_from=row["feed_lost_from"])
            for row in records(what_if.dates)
            if not row["gone"]
        ),
        horizon=tuple(
            HorizonStep(
                retention_ms=row["retention"],
                versions=row["versions"],
                change_feed=row["feed_versions"],
                num_files=row["files"],
                size_in_bytes=row["bytes"],
            )
            for row in records(horizon.table())
        ),
    )


def _orphans(horizon: Horizon) -> Iterator[tuple[str, str]]:
    scan = horizon.scan
    if scan is not None and scan.orphans.num_rows:
        yield "named by no action", f"{fmt.plural(scan.orphans.num_rows, 'file')}, {fmt.size(scan.orphan_bytes)}"
    if scan is not None and scan.missing:
        yield "needed and missing", f"{fmt.plural(len(scan.missing), 'file')}"


def _named(ranges: Sequence[VersionRange]) -> str:
    return ", ".join(_span(first, last) for first, last in ranges) or "none"


def _span(first: int, last: int) -> str:
    return f"v{first}" if first == last else f"v{first} to v{last}"


def _length(milliseconds: int) -> str:
    return in_days(timedelta(milliseconds=milliseconds))


def _runs(versions: list[dict[str, Any]]) -> Iterator[tuple[object, ...]]:
    """Yield one row for consecutive versions of the same state."""
    common_fields = ("status", "at_risk_from", "by", "reason", "missing_files")
    for key, group in groupby(versions, key=lambda row: [row[name] for name in common_fields]):
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


def maintenance(table: TableArgument, *, json: JsonFlag = False) -> int:
    """List vacuums, log cleanups, checkpoints and log compactions: who, when, why, and what was deleted.

    What this program did on this machine comes from its journal, with digests and deleted paths; vacuums by others come
    from the log. The journal is in your state folder, or in the folder of the variable DELTA_EXPLORER_JOURNAL; the
    value `off` disables it.
    """
    from explorer.views.table.maintenance import maintenance_line

    entries = open_named(table).maintenance()
    if json:
        for entry in entries:
            emit(entry)
        return 0
    lines = map(maintenance_line, entries)
    listing(
        ["time", "what", "by", "files", "reason", "recorded in"],
        (
            (
                fmt.moment(line.time),
                line.title if not line.trouble else f"{line.title}: {line.trouble}",
                line.by,
                line.files,
                line.reason,
                ", ".join(f"v{version}" for version in line.recorded_in),
            )
            for line in lines
        ),
        "No maintenance is recorded.",
    )
    return 0
