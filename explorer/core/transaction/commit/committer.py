"""Commits: an approved plan -> one atomic file in the log, or the reason why not.

Protocol section: Delta Log Entries (Writer Requirements). Invariants: nothing is written for a plan that guards block;
commits that came first are judged one by one before another try (LOG-023); a plan that is already in the log is
recognized and not written again. How a version is taken, and a lost answer resolved, is the `VersionWriter`'s: by the
table's store, or by the catalog that manages its commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from explorer.core.errors import ExplorerError, StorageError, VersionNotFound
from explorer.core.log.catalog_commits import CommitCatalog
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import LogPath, checksum_name, commit_name
from explorer.core.log.ratifying_catalog import RatifyingCatalog
from explorer.core.log.table_state import TableState, decode_checksum
from explorer.core.protocol.actions import Add, AddCDCFile
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore, ObjectMeta
from explorer.core.protocol.table_properties.registry import ICT_ENABLEMENT_TIMESTAMP
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.approval import Approval, check_names
from explorer.core.transaction.approval import approved as approved_plan
from explorer.core.transaction.commit.catalog_writer import CatalogWriter
from explorer.core.transaction.commit.conflicts import conflict_with, holds_transaction
from explorer.core.transaction.commit.post_commit import follow_up
from explorer.core.transaction.commit.version_writer import PAUSE, FileWriter, VersionWriter
from explorer.core.transaction.commit_info import (
    check_provenance,
    commit_bytes,
    commit_info,
    has_timestamp,
    in_commit_timestamp,
    isolation_level,
    shown_lines,
    with_timestamp,
)
from explorer.core.transaction.commit_plan import CommitPlan, CommitResult, Conflict, check_table
from explorer.core.transaction.context import CommitTarget, Context
from explorer.core.transaction.planner import remake_plan
from explorer.core.transaction.proposal import RecordedBatch, StagedFile, Written
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.transaction.row_preparation.proposer import recorded_by, recorded_proposal
from explorer.core.versions.snapshot import Snapshot

_ATTEMPTS: Final = 1_000
_GONE: Final = (
    "Commits that the plan builds on, or later ones, are missing from the log, so it is unknown what they "
    "changed, and whether this plan is among them. Make a new plan."
)


def commit_plan(
    target: CommitTarget,
    plan: CommitPlan,
    context: Context,
    *,
    reason: str | None = None,
    user: str | None = None,
    watch: Callable[[RowJob[CheckReport]], None] | None = None,
    approval: Approval | None = None,
) -> CommitResult:
    """Commit a plan.

    Args:
        target: The table that it was made for, or the place for a new one.
        plan: The plan; if others committed since, it is made again on top of their commits unless they conflict with
            it.
        context: Clock, identifiers, waiting and the engine of rows.
        reason: Why; stored in the commit.
        user: The committer; None for the user who made the plan.
        watch: Called with the job that checks the rows again, if the plan is made again and depends on them.
        approval: The approval under which it is committed; a plan that answers otherwise is rejected.

    Raises:
        RequestError: The plan was made for another table, or the reason or the user cannot be written down.
        StorageError: The store refused to write, or failed before anything was written; nothing was committed.
    """
    check_provenance(user=user, reason=reason)
    check_table(plan, target.location)
    if approval is not None:
        check_names(approval)
    attempt = _Attempt(target, context, reason, user or plan.user, watch, approval=approval)
    try:
        result = attempt.run(plan)
    except ExplorerError:
        attempt.tidy(None)
        raise
    attempt.tidy(result)
    return result


class _Attempt:
    """One commit from the first try to its outcome."""

    def __init__(
        self,
        target: CommitTarget,
        context: Context,
        reason: str | None,
        user: str | None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
        *,
        approval: Approval | None = None,
    ) -> None:
        self._table = target
        self._approval = approval
        self._context = context
        self._store: LogStore = target.store
        self._reason = reason
        self._user = user
        self._watch = watch
        self._staged: dict[str, None] = {}
        self._made: dict[Callable[[], Written], Written] = {}
        self._catalog: CommitCatalog | None = target.catalog
        self._writer = _version_writer(self._store, self._catalog, context)
        self._commit_there = True
        self._data = b""
        self._before: TableState | None = None

    def run(self, plan: CommitPlan) -> CommitResult:
        """Try until the plan is committed, or something conflicts with it."""
        for attempt in range(_ATTEMPTS):
            approved = plan
            if attempt or not self._is_fresh(plan):
                caught_up = self._catch_up(plan)
                if isinstance(caught_up, CommitResult):
                    return caught_up
                plan = caught_up
            if not attempt and plan is approved:
                judged = self._judged_again(plan)
                if isinstance(judged, CommitResult):
                    return judged
                plan = judged
            if plan.proposal.recorded is not None:
                return self._already_recorded(plan, plan.proposal.recorded)
            plan = approved_plan(plan, self._approval)
            if not plan.committable:
                return CommitResult(outcome="rejected", plan=plan)
            self._writer.check()
            plan = self._written(plan)
            if not plan.committable:
                return CommitResult(outcome="rejected", plan=plan)
            plan = self._stamped(plan)
            self._stage(plan.proposal.staged)
            match self._writer.write(plan.commit_version, self._data, plan.txn_id, self._before):
                case "ours":
                    return self._follow_up(self._committed(plan, plan.commit_version))
                case "unknown" | "absent":
                    return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)
                case "theirs":
                    self._context.sleep(PAUSE * self._context.chance() * min(attempt, 10))
        conflict = Conflict(
            plan.read_version + 1, "commit", f"Other writers committed first {_ATTEMPTS} times in a row. Try again."
        )
        return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)

    def tidy(self, result: CommitResult | None) -> None:
        """Delete files that were written for a commit that was not made; a commit with unknown outcome may need them.

        Args:
            result: The outcome; None after an error.
        """
        logged = self._writer.logged
        if result is None and self._writer.in_doubt:
            return
        needed = set()
        if result is not None and result.outcome == "committed" and logged is not None:
            needed = _named_by(logged)
        elif result is not None and result.outcome in {"committed", "unknown"}:
            proposal = result.plan.proposal
            needed = {file.path for file in proposal.staged} | set(_locations(proposal.adds, proposal.change_files))
        for path in self._staged:
            if path not in needed:
                with suppress(StorageError, FileNotFoundError):  # what stays is a file that no version names
                    self._store.delete(path)

    def _is_fresh(self, plan: CommitPlan) -> bool:
        """Return True if the next version can be tried at once: putting it fails if another commit took it.

        The commit that the plan builds on must still exist. If it is missing, later ones may be missing too, and the
        name of the next version may be free although that version existed. It must also be the same file: a table that
        was removed and created again begins with the same names.
        """
        if plan.read_version < 0 or self._table.latest_version() != plan.read_version:
            return False
        listed = self._table.newest_commit()
        try:
            stored = self._store.head(commit_name(plan.read_version) if listed is None else listed.path)
        except FileNotFoundError:
            self._commit_there = False
            return False
        return (listed is None or _is_same(listed, stored)) and self._other_table(plan) is None

    def _catch_up(self, plan: CommitPlan) -> CommitPlan | CommitResult:
        """Judge the commits made since the plan, and make the plan again on top of them."""
        self._table.refresh()
        latest = self._table.latest_version()
        if latest == plan.read_version:
            return self._other_table(plan) or plan
        self._commit_there = True
        if latest < plan.read_version:
            return self._other_table(plan) or CommitResult(outcome="unknown", plan=plan, notes=(_GONE,))
        judged = plan.read_version
        while True:
            lost = self._lost_to(plan, judged, latest) or self._other_table(plan)
            if lost is not None:
                return lost
            remade = self._remade(plan)
            if remade.read_version <= latest:
                return remade
            # To read an earlier version, the log may be listed once more: with commits that nobody has judged yet.
            judged, latest = latest, remade.read_version

    def _lost_to(self, plan: CommitPlan, after: int, last: int) -> CommitResult | None:
        """Judge commits that came first; return the outcome where one of them decides it."""
        try:
            winners = self._winners(after, last)
        except FileNotFoundError:
            return CommitResult(outcome="unknown", plan=plan, notes=(_GONE,))
        for winner in winners:
            if holds_transaction(winner, plan.txn_id):
                self._writer.logged = winner
                return self._committed(plan, winner.version)
            if (batch := recorded_by(winner, plan.proposal)) is not None:
                return self._other_table(plan) or self._already_recorded(plan, batch)
        read = self._version_read(plan)
        for winner in winners:
            conflict = conflict_with(plan.proposal, winner, read)
            if conflict is not None:
                return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)
        return None

    def _version_read(self, plan: CommitPlan) -> Snapshot | None:
        """Return the version that a plan was made for; None for a new table, and if it cannot be rebuilt any more."""
        if plan.read_version < 0:
            return None
        try:
            return self._table.snapshot(plan.read_version)
        except VersionNotFound:
            return None

    def _already_recorded(self, plan: CommitPlan, batch: RecordedBatch) -> CommitResult:
        """Return the outcome where the table holds the batch already."""
        self._writer.notes.append(batch.detail)
        nothing = msgspec.structs.replace(plan, proposal=recorded_proposal(batch), actions=())
        return self._committed(nothing, batch.version)

    def _other_table(self, plan: CommitPlan) -> CommitResult | None:
        """Return the outcome if another table replaced the one of the plan; None if it is the same table."""
        if plan.table_id is None or self._table.snapshot().metadata.id == plan.table_id:
            return None
        why = (
            f"Another table is at {plan.table} now; the plan was made for the one with the id {plan.table_id}. "
            "Look at the new table, and make a new plan."
        )
        conflict = Conflict(self._table.latest_version(), "metaData", why)
        return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)

    def _judged_again(self, plan: CommitPlan) -> CommitPlan | CommitResult:
        """Judge the guards again if the plan needs files that no version keeps: they may be deleted by now."""
        if not plan.proposal.required_paths:
            return plan
        remade = self._remade(plan)
        return remade if remade.read_version == plan.read_version else self._catch_up(plan)

    def _remade(self, plan: CommitPlan) -> CommitPlan:
        return remake_plan(self._table, plan, self._context, user=self._user, watch=self._watch)

    def _winners(self, after: int, last: int) -> list[Commit]:
        versions = range(after + 1, last + 1)
        paths = [self._table.commit_path(version) for version in versions]
        contents = self._store.read_many(paths)
        return [
            decode_commit(data, version, path) for version, path, data in zip(versions, paths, contents, strict=True)
        ]

    def _stage(self, files: Sequence[StagedFile]) -> None:
        for file in files:
            if file.path in self._staged:
                continue
            self._staged[file.path] = None  # at once: if the answer is lost, it may be in the log too
            try:
                self._store.put_if_absent(file.path, file.data)
            except FileExistsError:
                del self._staged[file.path]  # names are unique: an earlier attempt at this plan wrote it

    def _written(self, plan: CommitPlan) -> CommitPlan:
        """Return the plan with the actions of the files that the engine writes: once, also for later tries."""
        writing = plan.proposal.writing
        if writing is None:
            return plan
        if writing.write not in self._made:
            written = self._made[writing.write] = writing.write()
            self._staged.update(dict.fromkeys(_locations(written.adds, written.changes)))
        written = self._made[writing.write]
        faults = {guard.name: guard for guard in written.guards}
        guards = (*(guard for guard in plan.guards if guard.name not in faults), *faults.values())
        return msgspec.structs.replace(plan, proposal=writing.complete(written), guards=guards)

    def _stamped(self, plan: CommitPlan) -> CommitPlan:
        """Return the plan with the actions about to be written: time, reason and in-commit timestamp."""
        proposal = plan.proposal
        snapshot = self._table.snapshot(plan.read_version) if plan.read_version >= 0 else None
        self._before = None if snapshot is None else snapshot.state
        now, timestamp = self._context.clock(), None
        if has_timestamp(proposal, snapshot):
            timestamp = in_commit_timestamp(now, None if snapshot is None else self._time_of(snapshot))
            proposal = with_timestamp(proposal, snapshot, timestamp)
        info = commit_info(
            proposal,
            read_version=plan.read_version,
            now=now,
            txn_id=plan.txn_id,
            engine=self._context.engine_info,
            user=self._user,
            reason=self._reason,
            timestamp=timestamp,
            isolation=isolation_level(proposal, snapshot),
            tags=None if self._approval is None else self._approval.tags,
        )
        self._data = commit_bytes(proposal, info)
        return msgspec.structs.replace(plan, proposal=proposal, actions=shown_lines(self._data))

    def _time_of(self, snapshot: Snapshot) -> int:
        """Return the time of a version in ms since the epoch, and no earlier if its commit is missing from the log.

        Then the checksum has it; without a checksum it is after the time at which timestamps were enabled, and the file
        time of what is left of the version is the best known value.
        """
        known = [milliseconds(snapshot.timestamp)]
        if not self._commit_there:
            known.append(ICT_ENABLEMENT_TIMESTAMP.of(snapshot.metadata.configuration))
            with suppress(FileNotFoundError, ValueError):
                known.append(
                    decode_checksum(self._store.read(checksum_name(snapshot.version))).in_commit_timestamp_opt or 0
                )
        return max(known)

    def _committed(self, plan: CommitPlan, version: int | None) -> CommitResult:
        self._table.outdate()
        return CommitResult(outcome="committed", plan=plan, version=version, notes=tuple(self._writer.notes))

    def _follow_up(self, result: CommitResult) -> CommitResult:
        """Do what is due after the commit; whatever happens here, the commit is made."""
        assert result.version is not None
        before = len(self._writer.notes)
        published = self._writer.publish(result.version)
        notes = (*result.notes, *self._writer.notes[before:])
        if published:
            notes += follow_up(
                self._store, result.version, self._data, self._before, self._context, catalog=self._catalog
            )
        return msgspec.structs.replace(result, notes=notes)


def _version_writer(store: LogStore, catalog: CommitCatalog | None, context: Context) -> VersionWriter:
    """Return how versions of a table are taken; a catalog that takes none is one that guards refuse."""
    if isinstance(catalog, RatifyingCatalog):
        return CatalogWriter(store, catalog, context)
    return FileWriter(store, context)


def _is_same(listed: LogPath, stored: ObjectMeta) -> bool:
    """Return whether a file of the log is still the one that was listed."""
    if listed.etag and stored.etag:
        return (listed.size, listed.etag) == (stored.size, stored.etag)
    # Seconds, because object stores give finer times in a listing than for a single object.
    return (listed.size, listed.modified // 1000) == (stored.size, stored.modified // 1000)


def _named_by(commit: Commit) -> set[str]:
    """Return the decoded locations of the files of rows, changes and vectors that a commit names."""
    adds = [line.add for line in commit.lines if line.add is not None]
    vectors = (location(add.deletion_vector.id) for add in adds if add.deletion_vector is not None)
    paths = {*(add.path for add in adds), *(change.path for change in commit.change_files())}
    return {*map(decode_path, paths), *(vector for vector in vectors if vector is not None)}


def _locations(adds: Sequence[Add], changes: Sequence[AddCDCFile]) -> list[str]:
    return [decode_path(path) for path in (*(add.path for add in adds), *(change.path for change in changes))]
