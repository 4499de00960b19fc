"""The journal of maintenance: who did what to a table's files, when, why, with which digest, and which files went.

Protocol section: none; the log has a place for a VACUUM alone, and what it records there are counts. Invariants: an
entry is written after the work, whatever its outcome, and is never changed; of very many deleted files the first are
named, and all of them are counted; what others recorded in the log is listed beside it and told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from explorer.core.errors import ExplorerError
from explorer.core.log.commit_infos import plain_reason
from explorer.core.protocol.actions import CommitInfo
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.transaction.commit_plan import MaintenanceFile, MaintenancePlan
from explorer.core.transaction.intents.documents import intent_document, intent_kind
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog

MOST_NAMED: Final = 10_000
"""Files that an entry names at most; it counts all."""


class MaintenanceEntry(JsonRecord, frozen=True, kw_only=True):
    """What was done to the files of a table.

    Attributes:
        time: When it ended.
        table: The table's root as a URL.
        table_id: ``id`` of the table's metadata; null if not known.
        kind: ``vacuum``, ``clean-log``, ``checkpoint`` or ``compact-log``.
        intent: What was asked for; null where only the log records it.
        user, reason: Who did it, and why; null if not said.
        outcome: ``done``, ``failed`` (a part may be done) or ``unfinished`` (no end is recorded).
        version: The newest version of the table then.
        recorded_in: The versions whose commits record it.
        digest: That of the plan that was approved; null where only the log records it.
        num_deleted, bytes_deleted, num_written, bytes_written: Files and their bytes; null if not known, as after a
            failure.
        deleted, written: Those known, by their keys under the table's root, `MOST_NAMED` at most; none where only the
            log records it.
        time_travel: What it did to the versions that can be read, in words; empty if not known.
        source: ``journal`` (this program's, on this machine) or ``log``.
        engine: The program that did it.
        approved_by: The second person, where one approved it.
    """

    time: datetime
    table: str
    table_id: str | None
    kind: str
    intent: JsonObject | None
    user: str | None
    reason: str | None
    outcome: str
    version: int
    recorded_in: tuple[int, ...]
    digest: str | None
    num_deleted: int | None
    bytes_deleted: int | None
    num_written: int | None
    bytes_written: int | None
    deleted: tuple[str, ...]
    written: tuple[str, ...]
    time_travel: str
    source: str
    engine: str
    approved_by: str | msgspec.UnsetType = msgspec.UNSET


class MaintenanceJournal(Protocol):
    """Where entries are kept."""

    def add(self, entry: MaintenanceEntry) -> None:
        """Keep an entry.

        Raises:
            StorageError: It could not be written.
        """

    def entries(self, table: str) -> Sequence[MaintenanceEntry]:
        """Return the entries of a table, the oldest first.

        Args:
            table: The table's root as a URL.

        Raises:
            StorageError: They cannot be read.
        """


def entry_of(
    plan: MaintenancePlan,
    files: Sequence[MaintenanceFile],
    *,
    time: int,
    table_id: str | None,
    outcome: str,
    user: str | None,
    reason: str | None,
    recorded: tuple[int, ...],
    engine: str,
    approved_by: str | None = None,
) -> MaintenanceEntry:
    """Return the entry of what a plan did.

    Args:
        plan: The plan that was approved.
        files: What was written and deleted.
        time: When it ended, ms since the epoch.
        recorded: The versions whose commits record it.
        approved_by: The second person, where one approved it.
    """
    deleted = [file for file in files if file.change == "delete"]
    written = [file for file in files if file.change != "delete"]
    return MaintenanceEntry(
        time=moment(time),
        table=plan.table,
        table_id=table_id,
        kind=intent_kind(plan.intent),
        intent=intent_document(plan.intent),
        user=user,
        reason=reason,
        outcome=outcome,
        version=plan.read_version,
        recorded_in=recorded,
        digest=plan.digest,
        num_deleted=len(deleted) if outcome == "done" else None,
        bytes_deleted=_bytes(deleted) if outcome == "done" else None,
        num_written=len(written),
        bytes_written=_bytes(written),
        deleted=tuple(file.path for file in deleted[:MOST_NAMED]),
        written=tuple(file.path for file in written[:MOST_NAMED]),
        time_travel=plan.consequences.time_travel if outcome == "done" else "",
        source="journal",
        engine=engine,
        approved_by=msgspec.UNSET if approved_by is None else approved_by,
    )


def maintenance_of(log: DeltaLog, journal: MaintenanceJournal | None) -> tuple[MaintenanceEntry, ...]:
    """Return what is known of the maintenance of a table, the newest first: by the journal, and by its log.

    Args:
        journal: The journal; None if none is kept.

    Raises:
        TableError: The log is broken.
        StorageError: The log or the journal cannot be read.
    """
    own = () if journal is None else tuple(journal.entries(log.location))
    known = {version for entry in own for version in entry.recorded_in}
    others = (entry for entry in _recorded_vacuums(log) if known.isdisjoint(entry.recorded_in))
    return tuple(sorted((*own, *others), key=lambda entry: entry.time, reverse=True))


def _recorded_vacuums(log: DeltaLog) -> Iterator[MaintenanceEntry]:
    """Yield the vacuums that the log records."""
    record = log.provenance_record()
    begun: tuple[int, int, CommitInfo] | None = None
    for commit in record.commits:
        info = commit.info
        if info is None or info.operation not in ("VACUUM START", "VACUUM END"):
            continue
        if begun is not None and info.operation == "VACUUM START":
            yield _of_log(log, begun, None)
        if info.operation == "VACUUM START":
            begun = commit.version, commit.timestamp, info
        elif begun is not None:
            yield _of_log(log, begun, (commit.version, commit.timestamp, info))
            begun = None
    if begun is not None:
        yield _of_log(log, begun, None)


def _of_log(
    log: DeltaLog, start: tuple[int, int, CommitInfo], end: tuple[int, int, CommitInfo] | None
) -> MaintenanceEntry:
    version, time, info = start
    status = "" if end is None else str((end[2].operation_parameters or {}).get("status"))
    return MaintenanceEntry(
        time=moment(time if end is None else end[1]),
        table=log.location,
        table_id=None,
        kind="vacuum",
        intent=None,
        user=info.user_name,
        reason=plain_reason(info.user_metadata) or None,
        outcome="unfinished" if end is None else "done" if status == "COMPLETED" else "failed",
        version=version - 1,
        recorded_in=(version,) if end is None else (version, end[0]),
        digest=None,
        num_deleted=None if end is None else _metric(end[2], "numDeletedFiles"),
        bytes_deleted=_metric(info, "sizeOfDataToDelete") if status == "COMPLETED" else None,
        num_written=None,
        bytes_written=None,
        deleted=(),
        written=(),
        time_travel="",
        source="log",
        engine=info.engine_info or "",
    )


def _metric(info: CommitInfo, name: str) -> int | None:
    metrics: Mapping[str, Any] = info.operation_metrics or {}
    text = str(metrics.get(name, ""))
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _bytes(files: Sequence[MaintenanceFile]) -> int | None:
    sizes = [file.size for file in files if file.size is not None]
    return sum(sizes) if len(sizes) == len(files) else None


def noted(journal: MaintenanceJournal | None, entry: MaintenanceEntry) -> tuple[str, ...]:
    """Add an entry to the journal; return a note if that failed, as the work is done all the same."""
    if journal is None:
        return ()
    try:
        journal.add(entry)
    except ExplorerError as error:
        return (f"The journal of maintenance could not be written: {error.message}",)
    return ()
