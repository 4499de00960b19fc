"""The thread that writes a record for a server, so that no loop and no page waits for a disk or for another program.

Invariants: entries are written in the order in which they were requested; what an entry announces is done only once it
is on the disk; nobody waits longer than a stated time, also for a disk that does not answer: what was to be recorded is
then not done, and an entry says so if the announcement is written after all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from explorer.activity.event import Event, RecordEntry
from explorer.core.errors import StorageError

if TYPE_CHECKING:
    from explorer.activity.record import ActivityRecord

_log = logging.getLogger(__name__)
PATIENCE: Final = 5.0
"""Seconds that an entry waits for those before it, and again for the disk, or for another program that writes."""
_CHECK_EVERY: Final = 0.25


@dataclass(eq=False, slots=True)
class _Asked:
    """An entry to be written: how, since when it waits, and who waits for it."""

    event: Event
    write: Callable[[Event], RecordEntry | None]
    waits: bool
    since: float = field(default_factory=time.monotonic)
    answer: Future[RecordEntry | None] = field(default_factory=Future)


class RecordWriter:
    """Writes a record on a thread of its own; its methods may be called from any thread, and wait for nothing.

    Args:
        record: The record.
        patience: As `PATIENCE`.
    """

    def __init__(self, record: ActivityRecord, patience: float = PATIENCE) -> None:
        self._record, self._patience = record, patience
        self._changed = threading.Condition()
        self._waiting: deque[_Asked] = deque()
        self._writing: _Asked | None = None
        self._threads: tuple[threading.Thread, ...] = ()

    def begin(self, event: Event) -> Future[RecordEntry | None]:
        """Begin to add an entry about what is about to be done.

        Returns:
            Its entry, once it is on the disk; a `StorageError` if it cannot be written in time.
        """
        return self._ask(_Asked(event, self._record.add, waits=True))

    def tell(self, event: Event) -> None:
        """Begin to add an entry about what has happened already."""
        self._ask(_Asked(event, self._record.tell, waits=False))

    def tell_refusal(self, event: Event) -> None:
        """Begin to add an entry about a refusal; at most some in a minute."""
        self._ask(_Asked(event, self._record.tell_refusal, waits=False))

    def flush(self, seconds: float = 2 * PATIENCE) -> bool:
        """Wait until all is written that was asked for before; return False if that is not so in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and self._writing is None, seconds)

    def _ask(self, asked: _Asked) -> Future[RecordEntry | None]:
        with self._changed:
            if not self._threads:
                # A disk that does not answer must not keep the process from its end.
                works = {"explorer-record": self._write, "explorer-record-watch": self._watch}
                self._threads = tuple(
                    threading.Thread(target=work, name=name, daemon=True) for name, work in works.items()
                )
                for thread in self._threads:
                    thread.start()
            self._waiting.append(asked)
            self._changed.notify_all()
        return asked.answer

    def _write(self) -> None:
        """Write what is asked for, one after the other; on a thread of its own."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting))
                asked = self._writing = self._waiting.popleft()
            try:
                self._write_one(asked)
            finally:
                with self._changed:
                    self._writing = None
                    self._changed.notify_all()

    def _write_one(self, asked: _Asked) -> None:
        if asked.answer.done():
            return  # nobody waits any more, so it is not done, and nothing is to be announced
        try:
            entry = asked.write(asked.event)
        except StorageError as error:
            with suppress(InvalidStateError):
                asked.answer.set_exception(error)
            return
        except Exception as error:  # noqa: BLE001  # raised where it is waited for, and logged
            with suppress(InvalidStateError):
                asked.answer.set_exception(error)
            _log.exception("an entry of the activity record could not be made")
            return
        try:
            asked.answer.set_result(entry)
        except InvalidStateError:
            number = None if entry is None else entry.number
            failed = msgspec.structs.replace(
                asked.event, outcome="failed", refers_to=number, detail="recorded too late"
            )
            self._record.tell(failed)

    def _watch(self) -> None:
        """Give up what waits too long; on a thread of its own."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._waiting) or self._writing is not None)
                now = time.monotonic()
                pending = [*([] if self._writing is None else [self._writing]), *self._waiting]
                late = [each for each in pending if each.waits and now - each.since > 2 * self._patience]
            for asked in late:
                with suppress(InvalidStateError):
                    asked.answer.set_exception(self._too_late())
            time.sleep(_CHECK_EVERY)

    def _too_late(self) -> StorageError:
        place = self._record.files.current
        return StorageError(
            f"The activity record {place} was not written within {2 * self._patience:.0f} s. Nothing was done. Check "
            "the disk, and which programs write to it, or name another place with --activity.",
            path=str(place),
            reason="activity",
        )
