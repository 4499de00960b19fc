"""Changes of tables in the record: announced before they are made, and with their outcome after.

One place for all hosts: the pages of a server, the notebook widget, the command line, and programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import msgspec

from explorer.activity.event import Event, Outcome, RecordEntry
from explorer.core.errors import CommitError, CommitUnknown, ExplorerError
from explorer.core.transaction.commit_plan import CommitPlan
from explorer.core.transaction.intents.documents import intent_kind

if TYPE_CHECKING:
    from explorer.core.transaction.commit_plan import Plan, PlanResult

Result = TypeVar("Result", bound="PlanResult")


class TellsRecord(Protocol):
    """Tells a record what one person does."""

    def before(self, event: Event) -> RecordEntry | None:
        """Record what is about to be done.

        Raises:
            StorageError: It cannot be recorded, so it must not be done.
        """

    def after(self, event: Event) -> None:
        """Record what has happened, as soon as that is possible."""


def recorded_commit(plan: Plan, table: str, record: TellsRecord, commit: Callable[[], Result]) -> Result:
    """Carry out a plan, once that it is about to be is on the disk.

    Args:
        plan: The plan.
        table: The name of its table, as the record has it.
        record: Takes the events.
        commit: Carries it out.

    Raises:
        StorageError: The record cannot be written. Nothing was committed.
    """
    kind: Literal["commit", "maintenance"] = "commit" if isinstance(plan, CommitPlan) else "maintenance"
    begun = Event(
        kind=kind,
        outcome="begun",
        what=intent_kind(plan.intent),
        table=table,
        version=plan.commit_version,
        digest=plan.digest,
    )
    announced = record.before(begun)
    number = None if announced is None else announced.number
    try:
        result = commit()
    except BaseException as error:
        record.after(
            msgspec.structs.replace(begun, outcome=_outcome(error), refers_to=number, detail=type(error).__name__)
        )
        raise
    outcome: Outcome = result.outcome  # type: ignore[assignment]  # one of the four of a result
    record.after(msgspec.structs.replace(begun, outcome=outcome, version=result.version, refers_to=number))
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
