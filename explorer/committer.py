"""Commits: a plan that a person approved -> one atomic file in the log, or the reason why not.

Protocol section: Delta Log Entries (Writer Requirements). Invariants: nothing is written for a plan that guards block;
the file is put only if its name is free (LOG-005); commits that came first are judged one by one before another try
(LOG-023); a lost answer of the store is resolved by reading the log for the commit's own identifier, and where that
fails too the outcome is unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from explorer.core.commit_plan import CommitPlan, CommitResult, Conflict
from explorer.core.commits import Commit, decode_commit
from explorer.core.errors import NotAllowed, StorageError
from explorer.core.paths import commit_name
from explorer.core.properties import flag
from explorer.core.proposal import Proposal, StagedFile
from explorer.core.transaction import (
    commit_bytes,
    commit_info,
    conflict_with,
    holds_transaction,
    in_commit_timestamp,
)
from explorer.planner import circumstances, engine_info, remake_plan

if TYPE_CHECKING:
    from explorer.core.ports import LogStore
    from explorer.table import Table

__all__ = ["commit_plan"]

_ATTEMPTS: Final = 64
_RESENDS: Final = 3
_ICT: Final = "delta.enableInCommitTimestamps"


def commit_plan(table: Table, plan: CommitPlan, *, reason: str | None = None, user: str | None = None) -> CommitResult:
    """Commit a plan.

    Args:
        table: The table it was made for.
        plan: The plan; if commits came since, it is made anew on top of them where they do not stand against it.
        reason: Why, in the person's words; kept in the history.
        user: Who commits.

    Raises:
        NotAllowed: The table was opened for reading only.
        StorageError: A file that the commit needs could not be written; nothing was committed.
    """
    if table.read_only:
        raise NotAllowed(f"The table {table.location} was opened for reading only.", location=table.location)
    return _Attempt(table, reason, user).run(plan)


class _Attempt:
    """One commit from the first try to its outcome."""

    def __init__(self, table: Table, reason: str | None, user: str | None) -> None:
        self._table = table
        self._store: LogStore = table.store
        self._reason = reason
        self._user = user
        self._staged: set[str] = set()

    def run(self, plan: CommitPlan) -> CommitResult:
        for _ in range(_ATTEMPTS):
            standing = self._catch_up(plan)
            if isinstance(standing, CommitResult):
                return standing
            plan = standing
            if not plan.committable:
                return CommitResult(outcome="rejected", plan=plan)
            assert plan.proposal is not None
            assert plan.commit_version is not None
            self._stage(plan.proposal)
            match self._put(plan, plan.proposal, plan.commit_version):
                case "ours":
                    return self._committed(plan, plan.commit_version)
                case "unknown":
                    return CommitResult(outcome="unknown", plan=plan, version=plan.commit_version)
                case _:
                    continue
        conflict = Conflict(plan.read_version + 1, "commit", f"Other writers were faster {_ATTEMPTS} times.")
        return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)

    def _catch_up(self, plan: CommitPlan) -> CommitPlan | CommitResult:
        """Judge the commits made since the plan was, and make it anew on top of them."""
        self._table.refresh()
        if self._table.latest_version() == plan.read_version:
            return plan
        assert plan.proposal is not None
        for winner in self._winners(plan.read_version):
            if holds_transaction(winner, plan.txn_id):
                return self._committed(plan, winner.version)
            conflict = conflict_with(plan.proposal, winner)
            if conflict is not None:
                return CommitResult(outcome="conflicted", plan=plan, conflict=conflict)
        return remake_plan(self._table, plan, user=self._user)

    def _winners(self, after: int) -> Iterator[Commit]:
        for version in range(after + 1, self._table.latest_version() + 1):
            path = commit_name(version)
            yield decode_commit(self._store.read(path), version, path)

    def _stage(self, proposal: Proposal) -> None:
        for file in proposal.staged:
            if file.path not in self._staged:
                self._store.put_if_absent(file.path, _content(file))
                self._staged.add(file.path)

    def _put(self, plan: CommitPlan, proposal: Proposal, version: int) -> str:
        """Try to create the commit; returns ``ours``, ``theirs`` or ``unknown``."""
        data = self._bytes(plan, proposal)
        path = commit_name(version)
        for _ in range(_RESENDS):
            try:
                self._store.put_if_absent(path, data)
                return "ours"
            except (FileExistsError, StorageError):
                found = self._whose(path, version, plan.txn_id)
                if found != "absent":
                    return found
        return "unknown"

    def _whose(self, path: str, version: int, txn_id: str) -> str:
        """Look who wrote a commit file: ``ours``, ``theirs``, ``absent``, or ``unknown`` if the store does not say."""
        try:
            data = self._store.read(path)
        except FileNotFoundError:
            return "absent"
        except StorageError:
            return "unknown"
        return "ours" if holds_transaction(decode_commit(data, version, path), txn_id) else "theirs"

    def _bytes(self, plan: CommitPlan, proposal: Proposal) -> bytes:
        now = circumstances().now
        snapshot = self._table.snapshot(plan.read_version) if plan.read_version >= 0 else None
        metadata = proposal.metadata or (snapshot.metadata if snapshot else None)
        timestamp = None
        if metadata is not None and flag(metadata.configuration, _ICT):
            previous = None if snapshot is None else round(snapshot.timestamp.timestamp() * 1000)
            timestamp = in_commit_timestamp(now, previous)
        info = commit_info(
            proposal,
            read_version=plan.read_version,
            now=now,
            txn_id=plan.txn_id,
            engine=engine_info(),
            user=self._user,
            reason=self._reason,
            timestamp=timestamp,
        )
        return commit_bytes(proposal, info)

    def _committed(self, plan: CommitPlan, version: int) -> CommitResult:
        self._table.refresh()
        return CommitResult(outcome="committed", plan=plan, version=version)


def _content(file: StagedFile) -> bytes:
    if file.data is not None:
        return file.data
    assert file.source is not None
    with open(file.source, "rb") as stream:
        return stream.read()
