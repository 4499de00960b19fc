"""What one person does, told to the record of the server: who it is, and where from, is added here."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

import msgspec

from explorer.activity.commits import recorded_commit
from explorer.activity.event import Event, RecordEntry
from explorer.activity.record import ActivityRecord
from explorer.core.transaction.changeable_table import ChangeableTable, TableAround
from explorer.core.transaction.commit_plan import Plan, PlanResult
from explorer.core.transaction.row_engine import CheckReport, RowJob
from explorer.page.host import Identity


class Recorder:
    """Tells a record what one person does; nothing but `before` waits for the disk.

    Args:
        record: The record; None where there is none.
        identity: The person.

    Attributes:
        identity: As given.
    """

    def __init__(self, record: ActivityRecord | None, identity: Identity) -> None:
        self._writer = None if record is None else record.writer
        self.identity = identity

    def begin(self, event: Event) -> Future[RecordEntry | None] | None:
        """Begin to record what is about to be done, once the result is there; None where nothing is recorded."""
        return None if self._writer is None else self._writer.begin(self._of_person(event))

    def before(self, event: Event) -> RecordEntry | None:
        """Record what is about to be done; on a thread that may wait.

        Raises:
            StorageError: It cannot be recorded, so it must not be done.
        """
        begun = self.begin(event)
        return None if begun is None else begun.result()

    def after(self, event: Event) -> None:
        """Record what has happened, as soon as that is possible."""
        if self._writer is not None:
            self._writer.tell(self._of_person(event))

    def refused(self, event: Event) -> None:
        """Record a refusal."""
        if self._writer is not None:
            self._writer.tell_refusal(self._of_person(event))

    def _of_person(self, event: Event) -> Event:
        identity = self.identity
        return msgspec.structs.replace(
            event, person=identity.name, known_by=identity.known_by.value, address=identity.address
        )


class RecordedTable(TableAround[ChangeableTable]):
    """A table whose changes are recorded, before they are made and after: a `ChangeableTable`.

    Args:
        table: The table.
        served: Its name, as the record has it.
        recorder: Takes the events.
    """

    def __init__(self, table: ChangeableTable, served: str, recorder: Recorder) -> None:
        super().__init__(table)
        self._served, self._recorder = served, recorder

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
        return recorded_commit(
            plan,
            self._served,
            self._recorder,
            lambda: self._table.commit(plan, reason=reason, user=user, watch=watch),
        )
