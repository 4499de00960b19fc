"""Changes that change no version: a checkpoint, a log compaction, a clean-up of the log, and one of the data files.

Protocol sections: Checkpoints, Log Compaction Files, Metadata Cleanup, VACUUM. Invariants: no existing file is
overwritten except the hint, and a checkpoint that the commits show to be wrong, of which a copy stays; what is deleted
was listed in the plan and is checked again just before; since no commit records a clean-up of the log, it follows
the retention that the table itself states; what was done is recorded in the journal, whatever its outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, assert_never

import msgspec

from explorer.core.errors import CorruptTable, InvalidIntent, UnsupportedFeature
from explorer.core.log.log_path import checkpoint_name, compaction_name, replaced_name
from explorer.core.log.log_segment import CompleteCheckpoint as LogCheckpoint
from explorer.core.log.log_segment import LogListing
from explorer.core.log.table_state import TableState
from explorer.core.log.verify.checkpoint_proof import checkpoint_faults
from explorer.core.log.writing.checkpoint import check_published
from explorer.core.log.writing.checkpoint_layout import check_protocol, checkpoint_layout
from explorer.core.log.writing.compaction import write_compaction
from explorer.core.maintenance.journal import MaintenanceJournal, entry_of, noted
from explorer.core.maintenance.log_cleanup import CleanupPlan, clean_log, plan_cleanup
from explorer.core.maintenance.vacuum import PlannedMaintenance, delete_unused, plan_vacuum
from explorer.core.maintenance.vacuum_record import VacuumCommits
from explorer.core.protocol.log_store import LogStore
from explorer.core.protocol.table_properties.registry import EXPIRED_LOG_CLEANUP, LOG_RETENTION
from explorer.core.protocol.times import moment_text, older_than
from explorer.core.transaction.approval import Approval, approved
from explorer.core.transaction.commit.post_commit import new_checkpoint, repaired_checkpoint
from explorer.core.transaction.commit_plan import (
    Consequences,
    MaintenanceFile,
    MaintenancePlan,
    MaintenanceResult,
    check_table,
)
from explorer.core.transaction.context import Context
from explorer.core.transaction.guards.judge import protocol_guard
from explorer.core.transaction.intents.records import Checkpoint, CleanLog, CompactLog, MaintenanceIntent, Vacuum
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.open_log.current import LogSource

_SAME_FEED: Final = "Nothing changes for readers of the change data feed."
_UUID_NAME: Final = "UUID"
_PUBLISH: Final = "Commit a change first, which publishes what waits, or have the table's other writers publish it."


def plan_maintenance(
    log: DeltaLog, intent: MaintenanceIntent, context: Context, accept: Sequence[str] = ()
) -> MaintenancePlan:
    """Plan an intent that writes no commit: the files, the guards, the consequences.

    Raises:
        InvalidIntent: The intent makes no sense on this table.
        VersionNotFound: A commit to be compacted is not in the log.
    """
    log.refresh()
    snapshot = log.snapshot()
    snapshot.require_schema()
    state, listing = snapshot.state, _listing(log)
    match intent:
        case Checkpoint():
            planned = _checkpoint(snapshot.version, state, listing, _wrong_checkpoint(log.store, listing))
            planned = _with_published(planned, log.store, listing)
        case CompactLog() as compaction:
            planned = _compaction(compaction, state, listing)
        case CleanLog() as cleaning:
            planned = _cleaning(plan_cleanup(log.store, state, _now(context), older_than(cleaning.older_than)), state)
        case Vacuum() as vacuum:
            planned = plan_vacuum(log, _now(context), older_than(vacuum.older_than))
        case _:
            assert_never(intent)
    return MaintenancePlan(
        table=log.location,
        read_version=snapshot.version,
        intent=intent,
        guards=planned.guards,
        files=planned.files,
        consequences=planned.consequences,
        accepted=tuple(accept),
    )


def do_maintenance(
    log: DeltaLog,
    plan: MaintenancePlan,
    context: Context,
    *,
    user: str | None = None,
    reason: str | None = None,
    journal: MaintenanceJournal | None = None,
    approval: Approval | None = None,
) -> MaintenanceResult:
    """Do what a plan says, as far as it may still be done.

    Args:
        user, reason: Who does it, and why; kept in the journal, and for a VACUUM in the log.
        journal: Where it is recorded; None keeps no journal.
        approval: The approval under which it is done; a plan that answers otherwise is rejected.

    Raises:
        RequestError: The plan was made for another table.
        CommitError: The log does not record that a VACUUM begins; nothing was deleted.
        TableError: The log is broken.
        StorageError: The store failed. Files written so far stay; the log that is left reads as planned.
    """
    check_table(plan, log.location)
    current = approved(plan_maintenance(log, plan.intent, context, plan.accepted), approval)
    if not current.committable:
        return MaintenanceResult(outcome="rejected", plan=current)
    table_id = log.snapshot().metadata.id
    around = _commits_around(log, plan, current, context, user=user, reason=reason, approval=approval)
    if around is not None:
        around.begin()
    files: list[MaintenanceFile] = []
    outcome = "failed"
    try:
        _do(log, plan, current, context, files)
        outcome = "done"
    finally:
        recorded: tuple[int, ...] = ()
        notes: tuple[str, ...] = ()
        if around is not None:
            if outcome == "done":
                around.end(files)
            else:
                around.fail()
            recorded, notes = around.versions, around.notes
        log.outdate(rewritten=True)
        entry = entry_of(
            plan,
            files,
            time=context.clock(),
            table_id=table_id,
            outcome=outcome,
            user=user,
            reason=reason,
            recorded=recorded,
            engine=context.engine_info,
            approved_by=None if approval is None else approval.approved_by,
        )
        notes += noted(journal, entry) if files or outcome == "failed" else ()
    done = msgspec.structs.replace(current, files=tuple(files))
    return MaintenanceResult(outcome="committed", plan=done, recorded=recorded, notes=notes)


def _commits_around(
    log: DeltaLog,
    plan: MaintenancePlan,
    current: MaintenancePlan,
    context: Context,
    *,
    user: str | None,
    reason: str | None,
    approval: Approval | None,
) -> VacuumCommits | None:
    """Return the commits around a VACUUM that deletes something; None for all else."""
    listed = {file.path for file in plan.files}
    both = tuple(file for file in current.files if file.path in listed)
    if not isinstance(plan.intent, Vacuum) or not both:
        return None
    tags = None if approval is None else approval.tags
    return VacuumCommits(
        log, msgspec.structs.replace(current, files=both), context, user=user, reason=reason, tags=tags
    )


def _do(
    log: DeltaLog, plan: MaintenancePlan, current: MaintenancePlan, context: Context, files: list[MaintenanceFile]
) -> None:
    """Do the work.

    Args:
        files: Takes what was written and deleted, of a VACUUM also where it fails halfway.
    """
    match plan.intent:
        case Checkpoint():
            files += _write_checkpoint(log, plan, context)
        case CompactLog(from_=first, to=last):
            compacted = write_compaction(log.store, _listing(log), first, last)
            files += [] if compacted is None else [MaintenanceFile(compacted, "write", log.store.head(compacted).size)]
        case CleanLog() as cleaning:
            files += _clean(log, plan, _now(context), older_than(cleaning.older_than))
        case Vacuum():
            delete_unused(log, plan, current, files)
        case _:
            assert_never(plan.intent)


def _listing(log: DeltaLog) -> LogListing:
    """List all of the log now, as the catalog ratified it where one does."""
    return LogSource.of(log.store, log.catalog).all()


def _with_published(planned: PlannedMaintenance, store: LogStore, listing: LogListing) -> PlannedMaintenance:
    """Return what is planned for a checkpoint, or a guard in its way where a version is not published (CATALOG-005)."""
    try:
        check_published(store, listing.segment())
    except UnsupportedFeature as error:
        guard = GuardResult("published", "fail", {"version": error.version, "detail": str(error)}, _PUBLISH)
        return PlannedMaintenance((*planned.guards, guard), consequences=planned.consequences)
    return planned


def _now(context: Context) -> datetime:
    return moment(context.clock())


class _WrongCheckpoint(msgspec.Struct, frozen=True):
    """A checkpoint that does not hold what the commits give, and in what it differs."""

    checkpoint: LogCheckpoint
    faults: tuple[str, ...]


def _wrong_checkpoint(store: LogStore, listing: LogListing) -> _WrongCheckpoint | None:
    """Return the newest checkpoint, where the log without it shows that it is wrong."""
    if not listing.checkpoints:
        return None
    newest = listing.checkpoints[-1]
    faults = checkpoint_faults(store, listing, newest)
    return _WrongCheckpoint(newest, faults) if faults else None


def _repair(wrong: _WrongCheckpoint, state: TableState, *, by_catalog: bool) -> PlannedMaintenance:
    version, parts = wrong.checkpoint.version, wrong.checkpoint.parts
    guards = [_writable(state, version, by_catalog=by_catalog)]
    if guards[0].status != "pass":
        return PlannedMaintenance(tuple(guards))
    detail = f"The checkpoint of version {version} does not hold what the commits give: {wrong.faults[0]}"
    guards.append(GuardResult("checkpoint-agrees", "warn", {"file": parts[0].path, "detail": detail}))
    written = _checkpoint_path(version, state)
    files = (
        *(MaintenanceFile(replaced_name(part.path), "write", part.size) for part in parts),
        MaintenanceFile(written, "write"),
        *(MaintenanceFile(part.path, "delete", part.size) for part in parts if part.path != written),
    )
    undo = f"The wrong checkpoint stays as {replaced_name(parts[0].name)}, which no reader reads."
    effect = f"Versions from {version} on are read as the commits state them."
    return PlannedMaintenance(tuple(guards), files, Consequences(time_travel=effect, undo=undo))


def _checkpoint(
    version: int, state: TableState, listing: LogListing, wrong: _WrongCheckpoint | None
) -> PlannedMaintenance:
    if wrong is not None:
        return _repair(wrong, state, by_catalog=listing.by_catalog)
    there = next((checkpoint for checkpoint in listing.checkpoints if checkpoint.version == version), None)
    guards = [_writable(state, version, by_catalog=listing.by_catalog)]
    files: tuple[MaintenanceFile, ...] = ()
    if there is not None:
        detail = f"Version {version} already has a checkpoint; nothing will be written."
        guards.append(GuardResult("something-to-do", "warn", {"file": there.parts[0].path, "detail": detail}))
    elif guards[0].status == "pass":
        files = (MaintenanceFile(_checkpoint_path(version, state), "write"),)
    undo = "It repeats the log and can stay."
    return PlannedMaintenance(tuple(guards), files, Consequences(undo=undo))


def _checkpoint_path(version: int, state: TableState) -> str:
    layout = checkpoint_layout(state, version)
    classic = checkpoint_name(version)
    if layout.spec == "v1" or (layout.classic_name and layout.top_level == "parquet"):
        return classic
    return classic.replace(".checkpoint.parquet", f".checkpoint.{_UUID_NAME}.{layout.top_level}")


def _writable(state: TableState, version: int, *, by_catalog: bool) -> GuardResult:
    try:
        check_protocol(state.protocol, version, checkpoint_layout(state, version), by_catalog=by_catalog)
    except UnsupportedFeature as error:
        return GuardResult(
            "protocol-allows-writer",
            "fail",
            {"missing": list(error.features or ()), "detail": str(error)},
            "Do it with an engine that implements these features.",
        )
    except CorruptTable as error:
        return GuardResult("protocol-allows-writer", "fail", {"detail": str(error)}, "Repair the table first.")
    return GuardResult("protocol-allows-writer", "pass", {"detail": "This program knows every feature of the table."})


def _compaction(intent: CompactLog, state: TableState, listing: LogListing) -> PlannedMaintenance:
    first, last = intent.from_, intent.to
    if not 0 <= first < last:
        raise InvalidIntent(f"A compaction goes from a version to a later one; {first} to {last} does not.", field="to")
    missing = [version for version in range(first, min(last, listing.latest + 1) + 1) if version not in listing.commits]
    if missing or last > listing.latest:
        lowest = listing.first_recorded()
        raise InvalidIntent(
            f"The commit of version {missing[0] if missing else last} is not in the log, so versions {first} to {last} "
            f"cannot be compacted. The log has commits {lowest} to {listing.latest}.",
            field="from" if missing and missing[0] < lowest else "to",
            earliest=lowest,
            latest=listing.latest,
        )
    guards = [_writable(state, listing.latest, by_catalog=listing.by_catalog)]
    path = compaction_name(first, last)
    files: tuple[MaintenanceFile, ...] = (MaintenanceFile(path, "write"),)
    if any(compaction.version == first and compaction.last_version == last for compaction in listing.compactions):
        detail = f"Versions {first} to {last} are already compacted; nothing will be written."
        guards.append(GuardResult("something-to-do", "warn", {"file": path, "detail": detail}))
        files = ()
    undo = "It repeats the commits and can stay."
    return PlannedMaintenance(tuple(guards), files, Consequences(undo=undo))


def _cleaning(cleanup: CleanupPlan, state: TableState) -> PlannedMaintenance:
    # An unknown feature may forbid a clean-up, as checkpointProtection does.
    guards = [protocol_guard([state.protocol]), _retention(cleanup, state), _time_travel(cleanup)]
    if not cleanup.files:
        evidence = {"detail": cleanup.reason or "No log file is old enough to delete."}
        guards.append(GuardResult("something-to-do", "warn", evidence))
    lost = cleanup.lost
    consequences = Consequences(
        time_travel="No version is lost." if lost is None else f"{_versions(*lost)} can no longer be read.",
        change_feed=_SAME_FEED
        if lost is None
        else f"Ranges of the change data feed that begin before version {cleanup.first_version} are refused.",
        undo="Only a backup can bring deleted log files back." if cleanup.files else "Nothing is done.",
    )
    files = tuple(MaintenanceFile(file.path, "delete", file.size) for file in cleanup.files)
    return PlannedMaintenance(tuple(guards), files, consequences)


def _retention(cleanup: CleanupPlan, state: TableState) -> GuardResult:
    stated = LOG_RETENTION.text(state.metadata.configuration)
    evidence: dict[str, object] = {LOG_RETENTION.key: stated, "cutoff": moment_text(cleanup.cutoff)}
    if LOG_RETENTION.of(state.metadata.configuration) < timedelta():
        detail = f"The retention of the log is negative ({stated})."
        remedy = f"Set {LOG_RETENTION} to an interval such as '{LOG_RETENTION.default}' first."
        return GuardResult("retention", "fail", evidence | {"detail": detail}, remedy)
    if cleanup.within_retention:
        return GuardResult(
            "retention", "pass", evidence | {"detail": "Only files past the table's own retention are deleted."}
        )
    if cleanup.own_cutoff is None:
        detail = f"The table keeps its expired log ({EXPIRED_LOG_CLEANUP} is false)."
        remedy = f"Set {EXPIRED_LOG_CLEANUP} to true first, so that the history shows who decided it."
    else:
        evidence["ownCutoff"] = moment_text(cleanup.own_cutoff)
        detail = f"The table keeps its log longer: {stated}."
        remedy = f"Set {LOG_RETENTION} to a shorter interval first, so that the history shows who decided it."
    return GuardResult("retention", "fail", evidence | {"detail": detail}, remedy)


def _time_travel(cleanup: CleanupPlan) -> GuardResult:
    if cleanup.lost is None:
        return GuardResult(
            "time-travel", "pass", {"detail": "Every version that can be read now can be read afterwards."}
        )
    first, last = cleanup.lost
    evidence = {"firstVersion": first, "lastVersion": last, "detail": f"{_versions(first, last)} will be lost."}
    return GuardResult("time-travel", "warn", evidence, "Check who still reads these versions, or keep a copy.")


def _versions(first: int, last: int) -> str:
    return f"Version {first}" if first == last else f"Versions {first} to {last}"


def _write_checkpoint(log: DeltaLog, plan: MaintenancePlan, context: Context) -> tuple[MaintenanceFile, ...]:
    copies: tuple[str, ...] = ()
    wrong = _wrong_checkpoint(log.store, _listing(log))
    if wrong is None:
        written = new_checkpoint(log.store, plan.read_version, context, log.catalog)
    else:
        written = repaired_checkpoint(log.store, wrong.checkpoint, context, log.catalog)
        copies = tuple(replaced_name(part.path) for part in wrong.checkpoint.parts)
    if written.hint is None:
        return ()
    paths = (*copies, *written.sidecars, written.path)
    return tuple(MaintenanceFile(path, "write", log.store.head(path).size) for path in paths)


def _clean(
    log: DeltaLog, plan: MaintenancePlan, now: datetime, age: datetime | timedelta | None
) -> tuple[MaintenanceFile, ...]:
    """Delete what the plan lists, as far as it may go now."""
    planned = {file.path for file in plan.files}
    cleanup = plan_cleanup(log.store, log.snapshot().state, now, age)
    files = tuple(file for file in cleanup.files if file.path in planned)
    clean_log(log.store, msgspec.structs.replace(cleanup, files=files))
    return tuple(MaintenanceFile(file.path, "delete", file.size) for file in files)
