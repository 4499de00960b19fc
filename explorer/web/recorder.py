"""What one person does, told to the record of the server: who it is, and where from, is added here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from explorer.activity.event import Entry, Event, Outcome
from explorer.activity.record import ActivityRecord
from explorer.core.errors import CommitError, CommitUnknown, ExplorerError
from explorer.core.transaction.commit_plan import CommitPlan, Plan, PlanResult
from explorer.core.transaction.intents.documents import intent_kind
from explorer.core.transaction.intents.records import Intent
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.core.versions.snapshot import Snapshot
from explorer.page.host import Identity
from explorer.views.act.desk.draft import ChangeableTable


class Recorder:
    """Tells a record what one person does.

    Args:
        record: The record; None where there is none.
        identity: The person.
    """

    def __init__(self, record: ActivityRecord | None, identity: Identity) -> None:
        self._record, self._identity = record, identity

    def before(self, event: Event) -> Entry | None:
        """Record what is about to be done.

        Raises:
            StorageError: It cannot be recorded, so it must not be done.
        """
        return None if self._record is None else self._record.add(self._of_person(event))

    def after(self, event: Event) -> None:
        """Record what has happened, as soon as that is possible."""
        if self._record is not None:
            self._record.tell(self._of_person(event))

    def refused(self, event: Event) -> None:
        """Record a refusal."""
        if self._record is not None:
            self._record.tell_refusal(self._of_person(event))

    def _of_person(self, event: Event) -> Event:
        identity = self._identity
        return msgspec.structs.replace(
            event, person=identity.name, known_by=identity.known_by.value, address=identity.address
        )


class RecordedTable:
    """A table whose changes are recorded, before they are made and after: a `ChangeableTable`.

    Args:
        table: The table.
        served: Its name, as the record has it.
        recorder: Takes the events.
    """

    def __init__(self, table: ChangeableTable, served: str, recorder: Recorder) -> None:
        self._table, self._served, self._recorder = table, served, recorder

    @property
    def name(self) -> str:
        """Its name for people, which a person types to commit."""
        return self._table.name

    def snapshot(self, version: int | None = None) -> Snapshot:
        """Return the table at a version."""
        return self._table.snapshot(version)

    def check_source(self, source: str) -> None:
        """Refuse a source of rows that may not be read."""
        self._table.check_source(source)

    def plan(
        self,
        intent: Intent,
        *,
        accept: Sequence[str] = (),
        check_rows: bool = True,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> Plan:
        """Plan a change; nothing is written."""
        return self._table.plan(intent, accept=accept, check_rows=check_rows, user=user, watch=watch)

    def commit(
        self,
        plan: Plan,
        *,
        reason: str | None = None,
        user: str | None = None,
        watch: Callable[[RowJob[CheckReport]], None] | None = None,
    ) -> PlanResult:
        """Carry out a plan, once that it is about to be is on the disk.

        Raises:
            StorageError: The record cannot be written. Nothing was committed.
        """
        kind: Literal["commit", "maintenance"] = "commit" if isinstance(plan, CommitPlan) else "maintenance"
        begun = Event(
            kind=kind,
            outcome="begun",
            what=intent_kind(plan.intent),
            table=self._served,
            version=plan.commit_version,
            digest=plan.digest,
        )
        announced = self._recorder.before(begun)
        number = None if announced is None else announced.number
        try:
            result = self._table.commit(plan, reason=reason, user=user, watch=watch)
        except BaseException as error:
            ended = msgspec.structs.replace(
                begun, outcome=_outcome(error), refers_to=number, detail=type(error).__name__
            )
            self._recorder.after(ended)
            raise
        outcome: Outcome = result.outcome  # type: ignore[assignment]  # one of the four of a result
        self._recorder.after(msgspec.structs.replace(begun, outcome=outcome, version=result.version, refers_to=number))
        return result


def _outcome(error: BaseException) -> Outcome:
    """Return how a commit ended that raised an error."""
    match error:
        case CommitUnknown():
            return "unknown"
        case CommitError():
            return "rejected"
        case ExplorerError():
            return "failed"
        case _:
            return "unknown"
