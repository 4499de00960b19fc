"""Deleting data files that nothing needs: which, why, what is lost with them, and then these and no others.

Protocol section: VACUUM. Invariants: the table's protocol must allow this writer, whatever it says about clean-ups
(VACUUM-004); it follows the retention that the table itself states, so that the history shows who decided it; what is
deleted was listed in the plan, passes a second check, and was not named by a later commit. Folders stay: object
stores have none, and a writer may be about to put a file into an empty one. The commits around it are those of
`explorer.core.maintenance.vacuum_record`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import msgspec
import pyarrow as pa

from explorer.core.log.commit import Commit
from explorer.core.log.log_path import LogPath
from explorer.core.log.ratifying_catalog import RatifyingCatalog
from explorer.core.log.replay import read_commits
from explorer.core.log.writing.writer_state import carry_actions
from explorer.core.maintenance.unused_files import ReferencedFiles, UnusedFiles, needed_files, unused_files
from explorer.core.maintenance.vacuum_effects import VacuumEffects, vacuum_effects, versions_in_words
from explorer.core.protocol.arrow.arrays import only_array, strings
from explorer.core.protocol.counted import all_of, counted
from explorer.core.protocol.file_paths import canonical_key, decode_path
from explorer.core.protocol.table_properties.registry import ENABLED_FORMATS, FILE_RETENTION
from explorer.core.protocol.times import milliseconds, moment_text, span_milliseconds
from explorer.core.transaction.commit_plan import Consequences, MaintenanceFile, MaintenancePlan
from explorer.core.transaction.guards.judge import catalog_guard, protocol_guard, types_guard
from explorer.core.transaction.proposal import GuardResult
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.history import History
from explorer.core.versions.retention.expiry import retention_terms
from explorer.core.versions.retention.missing_files import absent
from explorer.core.versions.snapshot import Snapshot


class PlannedMaintenance(msgspec.Struct, frozen=True):
    """The part of a plan that the table decides."""

    guards: tuple[GuardResult, ...]
    files: tuple[MaintenanceFile, ...] = ()
    consequences: Consequences = Consequences()


_BATCH: Final = 1_000
_MOST_NAMED: Final = 10
_SHORTEST: Final = 3_600_000
"""How long, in ms, a writer may take from its first file to its commit; a retention below that reaches its files."""
_NOTHING: Final = VacuumEffects((), (), ())


def plan_vacuum(log: DeltaLog, now: datetime, age: datetime | timedelta | None) -> PlannedMaintenance:
    """Find the data files that nothing needs.

    Args:
        now: The present, with a zone.
        age: How long files must have been unused, or since when; None for the table's own retention.

    Raises:
        TableError: The log is broken, or a property has no readable value.
        UnsupportedFeature: A deletion vector is stored in a way that is not known.
    """
    snapshot = log.snapshot()
    ratified = isinstance(log.catalog, RatifyingCatalog)
    allowed = (
        protocol_guard([snapshot.protocol], ratified=ratified),
        types_guard(snapshot),
        catalog_guard([snapshot.protocol], "vacuum", ratified=ratified),
    )
    guards = [guard for guard in allowed if guard is not None]
    if any(guard.status == "fail" for guard in guards):
        return PlannedMaintenance(tuple(guards), consequences=Consequences(undo="Nothing is done."))
    history = log.history_record()
    terms = retention_terms(history)
    present = milliseconds(now)
    cutoff, own = _cutoff(age, present, terms.files), present - terms.files
    listing = log.store.list_files()
    needed = _needed(log, history, cutoff)
    iceberg = ENABLED_FORMATS.is_set(snapshot.metadata.configuration)
    unused = unused_files(listing, needed, cutoff, terms.partition_columns, iceberg=iceberg)
    effects = _effects(log, history, listing, unused) if unused.files.num_rows else _NOTHING
    guards += [_retention(snapshot, cutoff, own, present), _live_files(log, needed, listing), *_others(unused)]
    guards += [_time_travel(effects)] if unused.files.num_rows else [_nothing_to_do(cutoff)]
    return PlannedMaintenance(tuple(guards), _files(unused, effects), _consequences(effects))


def delete_unused(
    log: DeltaLog, plan: MaintenancePlan, current: MaintenancePlan, deleted: list[MaintenanceFile]
) -> None:
    """Delete what both the plan and a plan made just now list.

    Args:
        deleted: Takes what was deleted, also where it fails halfway.

    Raises:
        StorageError: The store failed. Everything deleted so far was listed, and nothing needs it.
    """
    planned = {file.path for file in plan.files}
    remaining = [file for file in current.files if file.path in planned]
    seen = current.read_version
    recorded_in = _change_files(log)
    while remaining:
        log.refresh()
        remaining = _not_named(log, remaining, seen)
        seen = log.latest_version()
        batch, remaining = remaining[:_BATCH], remaining[_BATCH:]
        log.store.delete_many([file.path for file in batch])
        deleted += batch
        paths = [file.path for file in batch]
        log.known_missing.deleted(paths, [recorded_in[path] for path in paths if path in recorded_in])


def _change_files(log: DeltaLog) -> dict[str, int]:
    """Return the files of recorded changes, and the version of each."""
    commits = read_commits(log.store, _with_changes(log, log.history_record()))
    return {canonical_key(file.path): commit.version for commit in commits for file in commit.change_files()}


def _not_named(log: DeltaLog, files: list[MaintenanceFile], seen: int) -> list[MaintenanceFile]:
    """Return the files that no commit after a version names."""
    newer = log.latest_version()
    if newer == seen:
        return files
    needed = ReferencedFiles()
    for commit in log.commits(seen + 1, newer):
        needed.add_lines(line.add for line in commit.lines if line.add is not None)
    named = needed.holds(strings([file.path for file in files])).tolist()
    return [file for file, is_named in zip(files, named, strict=True) if not is_named]


def _cutoff(age: datetime | timedelta | None, now: int, own: int) -> int:
    if isinstance(age, datetime):
        return milliseconds(age)
    return now - (own if age is None else span_milliseconds(age))


def _needed(log: DeltaLog, history: History, cutoff: int) -> ReferencedFiles:
    carried = log.on_segment(history.latest, lambda segment: carry_actions(log.store, segment))
    recent = [path for path in _with_changes(log, history) if path.modified >= cutoff]
    return needed_files(carried, history.lifetimes, _read(log, recent))


def _with_changes(log: DeltaLog, history: History) -> list[LogPath]:
    """Return the commits that recorded changes, as far as they are in the log."""
    commits = log.listing.commits
    return [commits[each.version] for each in history.commits if each.change_files and each.version in commits]


def _read(log: DeltaLog, paths: list[LogPath]) -> list[tuple[Commit, int]]:
    """Read commits, each with the time of its file."""
    return [(commit, path.modified) for commit, path in zip(read_commits(log.store, paths), paths, strict=True)]


def _effects(log: DeltaLog, history: History, listing: pa.Table, unused: UnusedFiles) -> VacuumEffects:
    commits = read_commits(log.store, _with_changes(log, history))
    listed, deleted = (only_array(files, "path").to_pylist() for files in (listing, unused.files))
    return vacuum_effects(decode_path(log.location), history, commits, listed, deleted)


def _files(unused: UnusedFiles, effects: VacuumEffects) -> tuple[MaintenanceFile, ...]:
    columns = (only_array(unused.files, name).to_pylist() for name in ("path", "size"))
    rows = zip(*columns, effects.reasons, strict=True)
    return tuple(MaintenanceFile(path, "delete", size, reason) for path, size, reason in rows)


def _consequences(effects: VacuumEffects) -> Consequences:
    lost, unreadable_changes = effects.lost, effects.unreadable_changes
    return Consequences(
        time_travel=f"{versions_in_words(lost)} can no longer be read." if lost else "No version is lost.",
        change_feed=f"{versions_in_words(unreadable_changes)} can no longer be read in the change data feed."
        if unreadable_changes
        else "Nothing changes for readers of the change data feed.",
        undo="Only a backup can bring deleted files back." if effects.reasons else "Nothing is done.",
    )


def _retention(snapshot: Snapshot, cutoff: int, own: int, now: int) -> GuardResult:
    stated = FILE_RETENTION.text(snapshot.metadata.configuration)
    evidence: dict[str, object] = {FILE_RETENTION.key: stated, "cutoff": moment_text(cutoff)}
    if cutoff > own:
        evidence |= {"ownCutoff": moment_text(own), "detail": f"The table keeps removed files longer: {stated}."}
        remedy = (
            f"Set {FILE_RETENTION} to a shorter interval first, so that the history shows who decided it, and "
            "so that readers and writers know the limit."
        )
        return GuardResult("retention", "fail", evidence, remedy)
    usual = f"Set {FILE_RETENTION} to an interval such as '{FILE_RETENTION.default}'"
    if cutoff > now:
        detail = f"The retention is negative ({stated}), so files would be deleted while they are being written."
        return GuardResult("retention", "fail", evidence | {"detail": detail}, f"{usual} first.")
    if cutoff > now - _SHORTEST:
        detail = "Files written within the last hour can be deleted, and a running writer may be about to commit them."
        remedy = f"{usual}, or stop all writers and accept this guard by name."
        return GuardResult("retention", "unknown", evidence | {"detail": detail}, remedy)
    detail = "Files that anything needed since the cut-off stay, and so do newer files."
    return GuardResult("retention", "pass", evidence | {"detail": detail})


def _live_files(log: DeltaLog, needed: ReferencedFiles, listing: pa.Table) -> GuardResult:
    """Check that the log describes this folder: files under names that differ from the log's would all seem unused."""
    live, unlisted = needed.unlisted(only_array(listing, "path"))
    missing = sorted(absent(log.store, unlisted))
    evidence: dict[str, object] = {"files": live, "missing": missing[:_MOST_NAMED], "numMissing": len(missing)}
    if not missing:
        detail = all_of(live, "live file", "exists", "exist")
        return GuardResult("live-files", "pass", evidence | {"detail": detail})
    verb = "is" if len(missing) == 1 else "are"
    evidence["detail"] = f"{len(missing):,} of {counted(live, 'live file')} {verb} missing, such as {missing[0]}."
    remedy = (
        "First find out whether they exist under other names, or can be restored from a backup. "
        "The files listed as unused "
    )
    if len(missing) == live:
        return GuardResult("live-files", "fail", evidence, f"{remedy}are most likely the table itself.")
    return GuardResult(
        "live-files", "unknown", evidence, f"{remedy}may be these files. If not, accept this guard by name."
    )


def _others(unused: UnusedFiles) -> list[GuardResult]:
    if not unused.other_tables:
        return []
    count = len(unused.other_tables)
    evidence = {
        "folders": list(unused.other_tables[:_MOST_NAMED]),
        "numFolders": count,
        "detail": "1 folder inside is a table of its own; its files stay."
        if count == 1
        else f"{count:,} folders inside are tables of their own; their files stay.",
    }
    return [GuardResult("other-tables", "warn", evidence, "Clean up each of these tables separately.")]


def _time_travel(effects: VacuumEffects) -> GuardResult:
    if not effects.lost:
        return GuardResult(
            "time-travel", "pass", {"detail": "Every version that can be read now can be read afterwards."}
        )
    evidence = {
        "firstVersion": effects.lost[0],
        "lastVersion": effects.lost[-1],
        "numVersions": len(effects.lost),
        "detail": f"{versions_in_words(effects.lost)} will be lost.",
    }
    return GuardResult("time-travel", "warn", evidence, "Check who still reads these versions, or keep a copy.")


def _nothing_to_do(cutoff: int) -> GuardResult:
    detail = "No file older than the cut-off has been unused since then."
    return GuardResult("something-to-do", "warn", {"cutoff": moment_text(cutoff), "detail": detail})
