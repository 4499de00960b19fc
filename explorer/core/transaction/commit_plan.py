"""A commit before it is made: the exact actions, every guard with its evidence, and what follows from it.

Protocol section: Requirements for Writers. Invariants: a plan is a value that can be printed (rule 5 of the house); it
is committable only if no guard fails and each that is unknown was accepted by name; two plans with one digest write the
same actions but for the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from explorer.core.transaction.intents.documents import intent_document
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.proposal import GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

__all__ = ["CommitPlan", "CommitResult", "Conflict", "Consequences", "MaintenanceFile"]

_VOLATILE: Final = frozenset(["timestamp", "inCommitTimestamp", "txnId", "userMetadata"])


class Consequences(msgspec.Struct, frozen=True, rename="camel"):
    """What a commit means to others.

    Attributes:
        readers, writers: Clients that lose reading or writing, or turn silently wrong: client, versionFrom, before,
            after, because, source, asOf.
        time_travel: Which versions can be read less well afterwards, in words.
        change_feed: What happens to the change data feed, in words.
        undo: How to take it back, in words.
    """

    readers: tuple[dict[str, Any], ...] = ()
    writers: tuple[dict[str, Any], ...] = ()
    time_travel: str = "No version is lost."
    change_feed: str = "Nothing changes for readers of the change data feed."
    undo: str = ""


class MaintenanceFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file that an intent without a commit writes or deletes: its key under the table's root, its size in bytes, None
    where it is not known before, and why it goes, None where the intent says it."""

    path: str
    change: str
    size: int | None = None
    reason: str | None = None


class CommitPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a commit would do. Nothing has been written.

    Attributes:
        table: The table's root as a URL.
        read_version: The version it rests on; -1 if the table does not exist yet.
        intent: What was asked for.
        guards: Every precondition, judged.
        actions: The lines of the commit as JSON objects, commitInfo first; empty for maintenance.
        files: What an intent without a commit writes or deletes.
        consequences: What follows.
        accepted: Names of guards that may stay unknown.
        txn_id: The commit's own identifier; a commit that holds it is this one, whoever saw it written.
        proposal: The actions as records; None for maintenance.
        propose: Makes the proposal anew on a later version, for a rebase; None for maintenance.
        checked_rows: The data was looked at, so a rebase looks again.
        user: Who would commit; None if it is not known.
        table_id: ``id`` of the metadata read, by which a table is known from another one at its place; None if there is
            no table yet.
    """

    table: str
    read_version: int
    intent: Intent
    guards: tuple[GuardResult, ...]
    actions: tuple[dict[str, Any], ...]
    consequences: Consequences
    files: tuple[MaintenanceFile, ...] = ()
    accepted: tuple[str, ...] = ()
    txn_id: str = ""
    proposal: Proposal | None = None
    propose: Callable[[Snapshot], Proposal] | None = None
    checked_rows: bool = False
    user: str | None = None
    table_id: str | None = None

    @property
    def commit_version(self) -> int | None:
        """The version that it would write; None for maintenance, which writes no commit."""
        return None if self.proposal is None else self.read_version + 1

    @property
    def blocking(self) -> tuple[GuardResult, ...]:
        """The guards that keep it from being committed."""
        return tuple(
            guard
            for guard in self.guards
            if guard.status == "fail" or (guard.status == "unknown" and guard.name not in self.accepted)
        )

    @property
    def committable(self) -> bool:
        """True if nothing stands against it."""
        return not self.blocking

    @property
    def digest(self) -> str:
        """SHA-256 over the table, the version read, the intent and the actions, without times and identifiers of it."""
        lasting = [_lasting(action) for action in self.actions]
        files = msgspec.to_builtins(self.files)
        value = [self.table, self.read_version, intent_document(self.intent), lasting, files]
        return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()

    def document(self) -> dict[str, Any]:
        """Return the plan as the JSON object of the command line."""
        return {
            "table": self.table,
            "readVersion": self.read_version,
            "commitVersion": self.commit_version,
            "intent": intent_document(self.intent),
            "guards": msgspec.to_builtins(self.guards),
            "actions": list(self.actions),
            "files": msgspec.to_builtins(self.files),
            "consequences": msgspec.to_builtins(self.consequences),
            "committable": self.committable,
            "planDigest": self.digest,
        }


class Conflict(msgspec.Struct, frozen=True):
    """The commit of another writer with which a plan cannot hold: its version, the action that decides, and why."""

    version: int
    action: str
    why: str


class CommitResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a commit ended.

    Attributes:
        outcome: ``committed``; ``conflicted`` (another commit stands against it); ``rejected`` (guards);
            ``unknown`` (the answer of the store was lost and the log does not tell yet).
        plan: The plan as it was committed or given up: rebased, if others came first.
        version: The version written, or in doubt; None if nothing was.
        conflict: The winner, where one stands against it.
        notes: What went wrong after the commit (a checkpoint that could not be written, say); the commit holds.
    """

    outcome: str
    plan: CommitPlan
    version: int | None = None
    conflict: Conflict | None = None
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the result as the JSON object of the command line: the plan's fields and the outcome."""
        return {
            **self.plan.document(),
            "outcome": self.outcome,
            "version": self.version,
            "conflict": None if self.conflict is None else msgspec.to_builtins(self.conflict),
            "notes": list(self.notes),
        }


def _lasting(action: dict[str, Any]) -> dict[str, Any]:
    info = action.get("commitInfo")
    if info is None:
        return action
    return {"commitInfo": {name: item for name, item in info.items() if name not in _VOLATILE}}
