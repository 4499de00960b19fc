"""The record that is configured, for commits of the command line, of widgets, and of programs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from explorer.activity.commits import recorded_commit
from explorer.activity.event import Event, RecordEntry
from explorer.activity.place import activity_place
from explorer.activity.record import ActivityRecord
from explorer.version import VERSION

if TYPE_CHECKING:
    from explorer.core.transaction.commit_plan import Plan, PlanResult

Result = TypeVar("Result", bound="PlanResult")
PROGRAM: Final = f"delta-table-explorer/{VERSION}"
"""How the record names this program."""
_records: Final[dict[Path, ActivityRecord]] = {}
_lock: Final = threading.Lock()


def configured_record() -> ActivityRecord | None:
    """Return the record that the environment or the configuration names; None if they name none.

    Raises:
        StorageError: It cannot be written.
    """
    place = activity_place(default=False)
    if place is None:
        return None
    with _lock:
        if place not in _records:
            _records[place] = ActivityRecord(place, program=PROGRAM)
        return _records[place]


def commit_in_record(plan: Plan, table: str, commit: Callable[[], Result], *, person: str, known_by: str) -> Result:
    """Carry out a plan, and record it where a record is configured.

    Args:
        plan: The plan.
        table: Where its table is.
        commit: Carries it out.
        person: Who commits; empty if that is not known.
        known_by: How the program knows the person; empty if it was told.

    Raises:
        StorageError: The record cannot be written. Nothing was committed.
    """
    record = configured_record()
    if record is None:
        return commit()
    return recorded_commit(plan, table, _OnePerson(record, person, known_by), commit)


class _OnePerson:
    """Tells a record what one person does at this machine."""

    def __init__(self, record: ActivityRecord, person: str, known_by: str) -> None:
        self._record, self._person, self._known_by = record, person, known_by

    def before(self, event: Event) -> RecordEntry:
        """Record what is about to be done."""
        return self._record.add(self._of_person(event))

    def after(self, event: Event) -> None:
        """Record what has happened."""
        self._record.tell(self._of_person(event))

    def _of_person(self, event: Event) -> Event:
        return msgspec.structs.replace(event, person=self._person, known_by=self._known_by)
