"""The two commits around a VACUUM that say who deletes how much, and how it ended, as the reference writes them.

Protocol sections: VACUUM, Commit Provenance Information. Invariants: nothing is deleted before the commit that begins
it is in the log; a deletion that fails is recorded as failed, with what was deleted until then; the commits hold
nothing but provenance, so no row, file or property changes. Where no file is to be deleted, nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from explorer.core.errors import CommitError, ExplorerError
from explorer.core.protocol.json_values import JsonObject
from explorer.core.protocol.table_properties.registry import FILE_RETENTION
from explorer.core.protocol.times import milliseconds, older_than, span_milliseconds
from explorer.core.transaction.commit.committer import commit_plan
from explorer.core.transaction.commit.conflicts import error_of
from explorer.core.transaction.commit_plan import CommitResult, MaintenanceFile, MaintenancePlan
from explorer.core.transaction.context import Context
from explorer.core.transaction.intents.records import Vacuum
from explorer.core.transaction.planner import Request, make_plan
from explorer.core.transaction.proposal import Proposal
from explorer.core.versions.commit_times import moment
from explorer.core.versions.delta_log import DeltaLog
from explorer.core.versions.snapshot import Snapshot

START: Final = "VACUUM START"
END: Final = "VACUUM END"


class VacuumCommits:
    """The commits around one VACUUM.

    Args:
        plan: Its plan, made just now.
        user, reason: Who carries it out, and why; both are stored in the commits.
        tags: Tags of both commits.

    Attributes:
        versions: The versions that were written, in their order.
        notes: What went wrong after a commit was made, or that the end could not be recorded.
    """

    def __init__(
        self,
        log: DeltaLog,
        plan: MaintenancePlan,
        context: Context,
        *,
        user: str | None,
        reason: str | None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self._log, self._plan, self._context = log, plan, context
        self._user, self._reason, self._tags = user, reason, dict(tags or {})
        self.versions: tuple[int, ...] = ()
        self.notes: tuple[str, ...] = ()

    def begin(self) -> None:
        """Record that it begins.

        Raises:
            CommitError: That could not be recorded; nothing was deleted.
            StorageError: The store refused to write; nothing was deleted.
        """
        sizes = sum(file.size or 0 for file in self._plan.files)
        metrics = {"numFilesToDelete": str(len(self._plan.files)), "sizeOfDataToDelete": str(sizes)}
        parameters = _retention(self._log.snapshot(), self._plan, moment(self._context.clock()))
        result = self._commit(START, parameters, metrics)
        if result.outcome != "committed":
            raise _nothing_deleted(error_of(result))

    def end(self, deleted: Sequence[MaintenanceFile]) -> None:
        """Record that it was completed; where that fails, the files are deleted all the same, and a note says so."""
        folders = {"", *(file.path.rpartition("/")[0] for file in deleted)}
        metrics = {"numDeletedFiles": str(len(deleted)), "numVacuumedDirectories": str(len(folders))}
        self._end("COMPLETED", metrics)

    def fail(self) -> None:
        """Record that it failed; the failure itself goes on, whether that can be recorded or not."""
        with suppress(ExplorerError):
            self._end("FAILED", {})

    def _end(self, status: str, metrics: dict[str, str]) -> None:
        try:
            result = self._commit(END, {"status": status}, metrics)
            why = "" if result.outcome == "committed" else str(error_of(result))
        except ExplorerError as error:
            why = str(error)
        if why:
            self.notes += (f"The files are deleted, but the log does not record the end of the vacuum: {why}",)

    def _commit(self, operation: str, parameters: JsonObject, metrics: dict[str, str]) -> CommitResult:
        proposal = Proposal(
            operation=operation,
            parameters=parameters,
            metrics=metrics,
            isolation="SnapshotIsolation",
            only_provenance=True,
            tags=self._tags,
        )
        self._log.refresh()
        request = Request(self._plan.intent, lambda _: proposal, check_rows=False, user=self._user)
        plan = make_plan(self._log, request, self._context)
        result = commit_plan(self._log, plan, self._context, reason=self._reason, user=self._user)
        self.notes += result.notes
        if result.outcome == "committed" and result.version is not None:
            self.versions += (result.version,)
        return result


def _retention(snapshot: Snapshot, plan: MaintenancePlan, now: datetime) -> JsonObject:
    """Return the parameters of the commit that begins a VACUUM: its retention, and the table's own."""
    own = span_milliseconds(FILE_RETENTION.of(snapshot.metadata.configuration))
    parameters: JsonObject = {"retentionCheckEnabled": True, "defaultRetentionMillis": own}
    age = older_than(plan.intent.older_than) if isinstance(plan.intent, Vacuum) else None
    if age is None:
        return parameters
    given = milliseconds(now) - milliseconds(age) if isinstance(age, datetime) else span_milliseconds(age)
    return parameters | {"specifiedRetentionMillis": max(given, 0)}


def _nothing_deleted(error: CommitError) -> CommitError:
    """Return the error of the first commit with what it means for the files."""
    text = f"Nothing was deleted, as the beginning of the vacuum could not be recorded. {error.message}"
    return error.with_facts(message=text)
