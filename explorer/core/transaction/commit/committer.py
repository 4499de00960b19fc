"""Commits: an approved plan -> one atomic file in the log, or the reason why not.

Protocol section: Delta Log Entries (Writer Requirements). Invariants: nothing is written for a plan that guards block;
the file is written only if its name is free (LOG-005), on a store that was seen to keep that promise; commits that came
first are judged one by one before another try (LOG-023); a plan that is already in the log is recognized and not
written again; a lost answer of the store is resolved by reading the log for the commit's own identifier; if that fails
too, the outcome is unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

from explorer.core.errors import ExplorerError, StorageError, VersionNotFound
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import LogPath, checksum_name, commit_name
from explorer.core.log.table_state import TableState, decode_checksum
from explorer.core.protocol.actions import Add, AddCDCFile
from explorer.core.protocol.deletion_vectors import location
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore, ObjectMeta
from explorer.core.protocol.table_properties.registry import ICT_ENABLEMENT_TIMESTAMP
from explorer.core.protocol.times import milliseconds
from explorer.core.transaction.commit.conflicts import conflict_with, holds_transaction
from explorer.core.transaction.commit.post_commit import follow_up
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
_RESENDS: Final = 3
_PAUSE: Final = 0.02
_LOST_ANSWER: Final = "The store's answer was lost; the log shows that the commit is there."
_GONE: Final = (
    "Commits that the plan builds on, or later ones, are missing from the log, so it is unknown what they "
    "changed, and whether this plan is among them. Make a new plan."
)

_Owner = Literal["ours", "theirs", "absent", "unknown"]


def commit_plan(
    target: CommitTarget,
    plan: CommitPlan,
    context: Context,
    *,
    reason: str | None = None,
    user: str | None = None,
    watch: Callable[[RowJob[CheckReport]], None] | None = None,
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

    Raises:
        RequestError: The plan was made for another table, or the reason or the user cannot be written down.
        StorageError: The store refused to write, or failed before anything was written; nothing was committed.
    """
    check_provenance(user=user, reason=reason)
    check_table(plan, target.location)
    attempt = _Attempt(target, context, reason, user or plan.user, watch)
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
    ) -> None:
        self._table = target
        self._context = context
        self._store: LogStore = target.store
        self._reason = reason
        self._user = user
        self._watch = watch
        self._staged: dict[str, None] = {}
        self._made: dict[Callable[[], Written], Written] = {}
        self._notes: list[str] = []
        self._logged: Commit | None = None
        self._commit_there = True
        self._in_doubt = False
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
                plan = self._judged_again(plan)
            if plan.proposal.recorded is not None:
                return self._already_recorded(plan, plan.proposal.recorded)
            if not plan.committable:
                return CommitResult(outcome="rejected", plan=plan)
            self._store.check_put_if_absent()
            plan = self._written(plan)
            if not plan.committable:
                return CommitResult(outcome="rejected", plan=plan)
            plan = self._stamped(plan)
            self._stage(plan.proposal.staged)
            match self._put(plan, plan.commit_version):
                case "ours":
                    return self._follow_up(self._committed(plan, plan.commit_version))
                case "unknown" | "absent":
                    return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)
                case "theirs":
                    self._context.sleep(_PAUSE * self._context.chance() * min(attempt, 10))
        conflict = Conflict(
            plan.read_version + 1, "commit", f"Other writers committed first {_ATTEMPTS} times in a row. Try again."
        )
        return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)

    def tidy(self, result: CommitResult | None) -> None:
        """Delete files that were written for a commit that was not made; a commit with unknown outcome may need them.

        Args:
            result: The outcome; None after an error.
        """
        if result is None and self._in_doubt:
            return
        needed = set()
        if result is not None and result.outcome == "committed" and self._logged is not None:
            needed = _named_by(self._logged)
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
        try:
            stored = self._store.head(commit_name(plan.read_version))
        except FileNotFoundError:
            self._commit_there = False
            return False
        listed = self._table.newest_commit()
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
        try:
            winners = self._winners(plan.read_version)
        except FileNotFoundError:
            return CommitResult(outcome="unknown", plan=plan, notes=(_GONE,))
        for winner in winners:
            if holds_transaction(winner, plan.txn_id):
                self._logged = winner
                return self._committed(plan, winner.version)
            if (batch := recorded_by(winner, plan.proposal)) is not None:
                return self._other_table(plan) or self._already_recorded(plan, batch)
        read = self._version_read(plan)
        for winner in winners:
            conflict = conflict_with(plan.proposal, winner, read)
            if conflict is not None:
                return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)
        return self._other_table(plan) or self._remade(plan)

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
        self._notes.append(batch.detail)
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

    def _judged_again(self, plan: CommitPlan) -> CommitPlan:
        """Judge the guards again if the plan needs files that no version keeps: they may be deleted by now."""
        if not plan.proposal.required_paths:
            return plan
        return self._remade(plan)

    def _remade(self, plan: CommitPlan) -> CommitPlan:
        return remake_plan(self._table, plan, self._context, user=self._user, watch=self._watch)

    def _winners(self, after: int) -> list[Commit]:
        versions = range(after + 1, self._table.latest_version() + 1)
        contents = self._store.read_many([commit_name(version) for version in versions])
        return [
            decode_commit(data, version, commit_name(version)) for version, data in zip(versions, contents, strict=True)
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

    def _put(self, plan: CommitPlan, version: int) -> _Owner:
        """Try to create the commit file and find out whose it is."""
        path = commit_name(version)
        owner: _Owner = "absent"
        self._in_doubt = True
        for resend in range(_RESENDS):
            if resend:
                self._context.sleep(_PAUSE * resend)
            try:
                self._store.put_if_absent(path, self._data)
                owner = "ours"
            except FileExistsError:
                owner = self._whose(path, version, plan.txn_id)
            except StorageError as error:
                if error.unwritten and owner == "absent" and not resend:
                    self._in_doubt = False
                    raise
                self._check_whole(path)
                owner = self._whose(path, version, plan.txn_id)
                if owner == "ours":
                    self._notes.append(_LOST_ANSWER)
            if owner in {"ours", "theirs"}:
                self._in_doubt = False
                break
        return owner

    def _check_whole(self, path: str) -> None:
        """Refuse to continue if the store has only the beginning of the commit."""
        try:
            data = self._store.read(path)
        except (FileNotFoundError, StorageError):
            return
        if len(data) < len(self._data) and self._data.startswith(data):
            raise StorageError(
                f"{path} holds only the first {len(data):,} of the {len(self._data):,} bytes that were written there: "
                "the store cut the commit off. Check the store, verify the log, and delete that file before the change "
                "is planned again.",
                path=path,
            )

    def _whose(self, path: str, version: int, txn_id: str) -> _Owner:
        """Return whose commit a file is."""
        try:
            data = self._store.read(path)
        except FileNotFoundError:
            return "absent"
        except StorageError:
            return "unknown"
        commit = decode_commit(data, version, path)
        if not holds_transaction(commit, txn_id):
            return "theirs"
        self._logged = commit  # it may be from an earlier try, which wrote files of its own
        return "ours"

    def _committed(self, plan: CommitPlan, version: int | None) -> CommitResult:
        self._table.outdate()
        return CommitResult(outcome="committed", plan=plan, version=version, notes=tuple(self._notes))

    def _follow_up(self, result: CommitResult) -> CommitResult:
        """Do what is due after the commit; whatever happens here, the commit is made."""
        assert result.version is not None
        notes = follow_up(self._store, result.version, self._data, self._before, self._context)
        return msgspec.structs.replace(result, notes=(*result.notes, *notes))


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
