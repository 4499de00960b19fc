"""A commit before it is made: the exact actions, every guard with its evidence, and the consequences.

Protocol section: Requirements for Writers. Invariants: a plan is a value that can be printed (rule 5 of the house); it
is committable only if no guard fails and each unknown one was accepted by name; two plans with one digest write the
same actions except for the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import JsonObject, JsonRecord
from explorer.core.protocol.table_properties.registry import ICT_ENABLEMENT_TIMESTAMP
from explorer.core.transaction.intents.documents import intent_document
from explorer.core.transaction.intents.records import Intent, MaintenanceIntent
from explorer.core.transaction.proposal import Estimate, GuardResult, Proposal
from explorer.core.versions.snapshot import Snapshot

Proposer = Callable[[Snapshot | None], Proposal]
"""Makes the proposal of an intent for a version; for None if the table does not exist yet."""


_VOLATILE: Final = frozenset(["timestamp", "inCommitTimestamp", "txnId", "userMetadata"])
TAG_PREFIX: Final = "deltaTableExplorer."
"""What the names of the tags begin with by which a commit says who approved it."""


class Consequences(msgspec.Struct, frozen=True, rename="camel"):
    """What a commit means to others.

    Attributes:
        readers, writers: Clients that lose reading or writing, or silently give wrong answers: client, versionFrom,
            before, after, because, source, asOf, versionTo (the last known release of which this is so), newest (it
            is the newest known one); those in use first, with mine: version, role, owner, note.
        time_travel: Which versions can no longer be read as before, in words.
        change_feed: What happens to the change data feed, in words.
        undo: How to undo it, in words.
        in_use: The clients in use and what each can do, harmed or not: client, version, role, owner, note, seen (it
            wrote the table), read, write, readAfter, writeAfter; left out if none is known.
    """

    readers: tuple[Mapping[str, object], ...] = ()
    writers: tuple[Mapping[str, object], ...] = ()
    time_travel: str = "No version is lost."
    change_feed: str = "Nothing changes for readers of the change data feed."
    undo: str = ""
    in_use: tuple[Mapping[str, object], ...] | msgspec.UnsetType = msgspec.UNSET


class MaintenanceFile(msgspec.Struct, frozen=True, rename="camel"):
    """A file that an intent without a commit writes or deletes: its key under the table's root, its size in bytes, None
    where it is not known beforehand, and why it is deleted, None where the intent makes it clear."""

    path: str
    change: str
    size: int | None = None
    reason: str | None = None


class Conflict(msgspec.Struct, frozen=True):
    """The commit of another writer that conflicts with a plan: its version, the action that decides, and why."""

    version: int
    action: str
    why: str


class PlanDocument(JsonRecord, frozen=True, kw_only=True):
    """A plan as JSON; after a commit also its outcome.

    Attributes:
        commit_version: Null where no commit is written.
        actions: As they would be written.
        files: What an intent that writes no commit writes or deletes.
        plan_digest: SHA-256 of what is approved, without times and identifiers.
        estimate: What the commit will write, where it is known beforehand.
        outcome: ``committed``, ``conflicted`` (with another commit), ``rejected`` (by a guard) or ``unknown`` (the
            answer of the store was lost, and the log does not show the commit yet).
        version: The version that was written, or may have been.
        notes: What failed after the commit was made.
    """

    table: str
    read_version: int
    commit_version: int | None
    intent: JsonObject
    guards: tuple[GuardResult, ...]
    actions: tuple[JsonObject, ...]
    files: tuple[MaintenanceFile, ...]
    consequences: Consequences
    committable: bool
    plan_digest: str
    estimate: Estimate | msgspec.UnsetType = msgspec.UNSET
    outcome: str | msgspec.UnsetType = msgspec.UNSET
    version: int | msgspec.UnsetType | None = msgspec.UNSET
    conflict: Conflict | msgspec.UnsetType | None = msgspec.UNSET
    notes: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET


class JudgedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan for approval: an intent on a version of a table, its preconditions, and the consequences.

    Attributes:
        table: The table's root as a URL.
        read_version: The version it builds on; -1 if the table does not exist yet.
        intent: The requested change.
        guards: Every precondition, judged.
        consequences: The consequences.
        accepted: Names of guards that may stay unknown, or fail where they say that they can be accepted.
    """

    table: str
    read_version: int
    intent: Intent
    guards: tuple[GuardResult, ...]
    consequences: Consequences
    accepted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        blocking = ", ".join(guard.name for guard in self.blocking)
        state = f"blocked by {blocking}" if blocking else "committable"
        return f"{type(self).__name__}({self.intent!r}, read_version={self.read_version}, {state})"

    @property
    def blocking(self) -> tuple[GuardResult, ...]:
        """The guards that keep it from being carried out."""
        return tuple(
            guard
            for guard in self.guards
            if guard.status in {"fail", "unknown"} and not (guard.waits_for_acceptance and guard.name in self.accepted)
        )

    @property
    def committable(self) -> bool:
        """True if no guard blocks it."""
        return not self.blocking

    @property
    def commit_version(self) -> int | None:
        """The version that it would write; None if it makes none."""
        return None

    @property
    def actions(self) -> tuple[JsonObject, ...]:
        """The lines of the commit as JSON objects, commitInfo first; none if it makes no version."""
        return ()

    @property
    def files(self) -> tuple[MaintenanceFile, ...]:
        """What it writes or deletes without a commit."""
        return ()

    @property
    def digest(self) -> str:
        """SHA-256 over the table, the version read, the intent and what is written, without times and identifiers."""
        files = msgspec.to_builtins(self.files)
        return _sha256(
            [self.table, self.read_version, intent_document(self.intent), _without_volatile(self.actions), files]
        )

    @property
    def nothing_to_do(self) -> bool:
        """True if it would write and delete nothing."""
        return not self.files

    def record(self) -> PlanDocument:
        """Return the plan as the JSON document of the command line."""
        return PlanDocument(
            table=self.table,
            read_version=self.read_version,
            commit_version=self.commit_version,
            intent=intent_document(self.intent),
            guards=self.guards,
            actions=self.actions,
            files=self.files,
            consequences=self.consequences,
            committable=self.committable,
            plan_digest=self.digest,
        )

    def document(self) -> JsonObject:
        """Return the same as a JSON object."""
        return _object(self.record())


class CommitPlan(JudgedPlan, frozen=True, kw_only=True):
    """What a commit would do. Nothing has been written.

    Attributes:
        actions: The lines of the commit as JSON objects, commitInfo first.
        txn_id: The commit's own identifier; a commit that holds it is this one, even if its answer was lost.
        proposal: The actions as records.
        propose: Makes the proposal again on a later version, for a rebase.
        checked_rows: The engine checked the rows, so a rebase checks them again.
        user: Who would commit; None if it is not known.
        table_id: ``id`` of the metadata read, which distinguishes a table from another one at its place; None if there
            is no table yet.
    """

    actions: tuple[JsonObject, ...]
    txn_id: str
    proposal: Proposal
    propose: Proposer
    checked_rows: bool = False
    user: str | None = None
    table_id: str | None = None

    @property
    def commit_version(self) -> int:
        """The version that it would write."""
        return self.read_version + 1

    @property
    def digest(self) -> str:
        """The digest of the commit that it would write; as long as rows are left to write, of the plan itself."""
        if not self.actions or self.proposal.writing is not None:
            return super().digest
        return commit_digest(self.table, self.read_version, self.actions)

    @property
    def nothing_to_do(self) -> bool:
        """True if it would write no action, or only actions that say again what the table already is."""
        proposal = self.proposal
        if proposal.recorded is not None or any(guard.name == "changes-something" for guard in self.blocking):
            return True
        is_empty = proposal.writing is None or (proposal.estimate is not None and proposal.estimate.rows == 0)
        return is_empty and not proposal.actions()

    @property
    def rests_on_rows(self) -> bool:
        """True if a guard needs a check of the rows."""
        return bool(self.proposal.row_checks)

    def record(self) -> PlanDocument:
        """Return the plan as the JSON document of the command line."""
        estimate = self.proposal.estimate
        return super().record() if estimate is None else msgspec.structs.replace(super().record(), estimate=estimate)


class MaintenancePlan(JudgedPlan, frozen=True, kw_only=True):
    """What an intent that makes no version would do. Nothing has been written or deleted.

    Attributes:
        files: What it writes or deletes.
    """

    intent: MaintenanceIntent
    files: tuple[MaintenanceFile, ...] = ()


class CommitResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a commit ended.

    Attributes:
        outcome: ``committed``; ``conflicted`` (with another commit); ``rejected`` (guards);
            ``unknown`` (the answer of the store was lost and the log does not show the commit yet).
        plan: The plan as it was committed or given up: rebased, if others came first.
        version: The version written, or in doubt; None if nothing was, or if it is a batch that was written before and
            the log does not show when.
        conflict: The commit that won, if there was a conflict.
        notes: What went wrong after the commit (a checkpoint that could not be written, say), or that the table held
            the batch already; the commit is made.
    """

    outcome: str
    plan: CommitPlan
    version: int | None = None
    conflict: Conflict | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"CommitResult({self.outcome!r}, version={self.version}, {self.plan!r})"

    def record(self) -> PlanDocument:
        """Return the result as the JSON document of the command line."""
        return msgspec.structs.replace(
            self.plan.record(), outcome=self.outcome, version=self.version, conflict=self.conflict, notes=self.notes
        )

    def document(self) -> JsonObject:
        """Return the same as a JSON object."""
        return _object(self.record())


class MaintenanceResult(msgspec.Struct, frozen=True, kw_only=True):
    """How maintenance ended.

    Attributes:
        outcome: ``committed`` (carried out), or ``rejected`` (guards).
        plan: The plan, with the files that were written or deleted.
        recorded: The versions whose commits record it, ascending: those around a VACUUM.
        notes: What went wrong after the work, such as a record that could not be written.
    """

    outcome: str
    plan: MaintenancePlan
    recorded: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"MaintenanceResult({self.outcome!r}, {self.plan!r})"

    @property
    def version(self) -> int | None:
        """The last version that records it; None if none does."""
        return self.recorded[-1] if self.recorded else None

    @property
    def conflict(self) -> None:
        """No commit can come first: nothing is put into the log."""
        return None

    def record(self) -> PlanDocument:
        """Return the result as the JSON document of the command line, with the fields of a commit's result."""
        return msgspec.structs.replace(
            self.plan.record(), outcome=self.outcome, version=self.version, conflict=None, notes=self.notes
        )

    def document(self) -> JsonObject:
        """Return the same as a JSON object."""
        return _object(self.record())


Plan: TypeAlias = CommitPlan | MaintenancePlan
PlanResult: TypeAlias = CommitResult | MaintenanceResult


def check_table(plan: JudgedPlan, location: str) -> None:
    """Check that a plan was made for the table at a location.

    Raises:
        RequestError: It was made for another one, or is no plan.
    """
    if not isinstance(plan, CommitPlan | MaintenancePlan):
        raise RequestError("This is not a plan. Create one with table.plan(intent).", field="plan")
    if plan.table != location:
        raise RequestError(
            f"The plan was made for {plan.table}, not for {location}. Make a plan for this table.",
            expected=plan.table,
            found=location,
        )


def commit_digest(table: str, read_version: int, actions: Sequence[JsonObject]) -> str:
    """Return the SHA-256 of a commit, from its plan or from its lines in the log.

    Args:
        actions: Its lines as JSON objects; times, identifiers and the reason in them do not count.
    """
    return _sha256([table, read_version, _without_volatile(actions)])


def _object(document: PlanDocument) -> JsonObject:
    plain: JsonObject = msgspec.to_builtins(document, builtin_types=(Decimal,))
    return plain


def _sha256(value: object) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def _without_volatile(actions: Sequence[JsonObject]) -> list[JsonObject]:
    return [_action_without_volatile(action) for action in actions]


def _action_without_volatile(action: JsonObject) -> JsonObject:
    info, metadata = action.get("commitInfo"), action.get("metaData")
    if isinstance(metadata, dict) and isinstance(configuration := metadata.get("configuration"), dict):
        # The commit fills in its own time there.
        left = {key: value for key, value in configuration.items() if key != ICT_ENABLEMENT_TIMESTAMP.key}
        return {"metaData": {**metadata, "configuration": left}}
    if not isinstance(info, dict):
        return action
    left = {name: item for name, item in info.items() if name not in _VOLATILE}
    if isinstance(tags := left.get("tags"), dict):
        # Who approved the plan is said by its commit alone.
        tags = {name: item for name, item in tags.items() if not name.startswith(TAG_PREFIX)}
        left = {**left, "tags": tags} if tags else {name: item for name, item in left.items() if name != "tags"}
    return {"commitInfo": left}
