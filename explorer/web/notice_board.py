"""The notices on the list of tables: those about served tables that a person may see.

Invariants: a notice about a table that a person may not see is as if it were not there, also for one who knows its ID;
how messages are sent is for those who may see everything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlencode

from explorer.activity.event import Event
from explorer.core.errors import NotAllowed, RequestError, StorageError
from explorer.core.protocol.times import period
from explorer.core.versions.commits.time_words import stated_time
from explorer.notices.book import NoticeBook, PostedNotice
from explorer.notices.sender import DeliveryLine, Sender, deliveries
from explorer.storage.served_roots import ServedRoots, TableRef

MOST_SHOWN: Final = 100
_FRESH: Final = 9_000
"""Milliseconds after which notices are read again although nothing wrote them: the time alone ends a snooze."""
ACKNOWLEDGE: Final = "acknowledge"
SNOOZES: Final = {
    "1 hour": "Snooze for 1 hour",
    "4 hours": "Snooze for 4 hours",
    "tomorrow 9:00": "Snooze until tomorrow 9:00",
    "next monday 9:00": "Snooze until Monday 9:00",
}
"""What a person can choose besides to acknowledge a notice, by the time that it means."""


@dataclass(frozen=True, slots=True)
class ReadNotices:
    """What was read for all windows: the notices that are not over, and the last message to each channel."""

    notices: tuple[PostedNotice, ...]
    deliveries: tuple[DeliveryLine, ...]


class ServedNotices:
    """The notices of a server, which all windows share; its methods may be called from any thread.

    Args:
        book: The notices.
        sender: Returns what sends them, given what takes events for the record.
        zone: The time zone of snoozes.

    Attributes:
        book, sender, zone: As given.
        settle: Takes out what is over and was not said to be; called now and then before the notices are read or sent.
    """

    def __init__(
        self,
        book: NoticeBook,
        sender: Callable[[Callable[[Event], None]], Sender] | None = None,
        zone: str = "UTC",
    ) -> None:
        self.book, self.sender, self.zone = book, sender, zone
        self.settle: Callable[[], object] = lambda: None
        self._lock = threading.Lock()
        self._read: tuple[object, int, ReadNotices] | None = None
        self._settled: int | None = None

    def read(self) -> ReadNotices:
        """Return the notices as they are; they are read for one window, and shown to all until they are others.

        Raises:
            StorageError: They cannot be read.
        """
        self.settle_now_and_then()
        # Windows that ask at once wait for one reading.
        with self._lock:
            stamp, now = self.book.store.stamp(), self.book.clock()
            known = self._read
            if known is not None and known[0] == stamp and 0 <= now - known[1] < _FRESH:
                return known[2]
            read = ReadNotices(self.book.notices(), deliveries(self.book))
            self._read = stamp, now, read
            return read

    def outdate(self) -> None:
        """Read them again for the next window: this server changed them."""
        with self._lock:
            self._read = None

    def settle_now_and_then(self) -> None:
        """Take out what is over, unless that was done some seconds ago."""
        now = self.book.clock()
        if self._settled is None or not 0 <= now - self._settled < _FRESH:
            self._settled = now
            self.settle()


@dataclass(frozen=True, slots=True)
class BoardLine:
    """A notice as a person may see it.

    Attributes:
        posted: The notice.
        name: The served name of its table.
        may: The person may deal with it.
    """

    posted: PostedNotice
    name: str
    may: bool

    @property
    def href(self) -> str:
        """The address of the table's page, at the version of the notice."""
        values = {"t": self.name} | ({} if self.posted.notice.version is None else {"v": self.posted.notice.version})
        return f"?{urlencode(values, safe='/')}"


@dataclass(frozen=True, slots=True)
class Board:
    """What a person is shown.

    Attributes:
        lines: The open notices, the most urgent first, `MOST_SHOWN` at most.
        more: How many more there are.
        snoozed: Those that are snoozed.
        failing: Channels that do not take messages.
        problem: Why the notices cannot be read; empty if they can.
    """

    lines: tuple[BoardLine, ...] = ()
    more: int = 0
    snoozed: tuple[BoardLine, ...] = ()
    failing: tuple[DeliveryLine, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NoticeBoard:
    """The notices about served tables.

    Attributes:
        served: The notices.
        roots: All served roots.
        sees: Returns whether the person may see a table.
        may: Returns whether the person may deal with notices about it.
        sees_all: The person may see how messages are sent.
    """

    served: ServedNotices
    roots: ServedRoots
    sees: Callable[[TableRef], bool] = lambda _: True
    may: Callable[[TableRef], bool] = lambda _: True
    sees_all: bool = True

    def board(self) -> Board:
        """Return what is shown; that it cannot be read is a part of it."""
        try:
            read = self.served.read()
            lines = [line for each in read.notices if (line := self._line(each)) is not None]
            sent = read.deliveries if self.sees_all else ()
            failing = [each for each in sent if each.status != "sent" and each.tries]
        except StorageError as error:
            return Board(problem=error.message if self.sees_all else "They cannot be read now.")
        shown = [line for line in lines if line.posted.state == "open"]
        return Board(
            lines=tuple(shown[:MOST_SHOWN]),
            more=max(len(shown) - MOST_SHOWN, 0),
            snoozed=tuple(line for line in lines if line.posted.state == "snoozed")[:MOST_SHOWN],
            failing=tuple(failing),
        )

    def find(self, name: str) -> BoardLine:
        """Return the notice of an ID.

        Raises:
            RequestError: There is none that the person may see.
        """
        try:
            line = self._line(self.served.book.find(name))
        except RequestError:
            line = None
        if line is None:
            raise RequestError("This notice is no longer there. It may be resolved: reload the page.", field="notice")
        return line

    def deal(self, line: BoardLine, choice: str, *, by: str, reason: str) -> PostedNotice:
        """Acknowledge or snooze a notice.

        Args:
            line: The notice.
            choice: `ACKNOWLEDGE`, or one of `SNOOZES`.
            by: Who.
            reason: Why.

        Raises:
            RequestError: The choice is none, or as of `NoticeBook.acknowledge` and `NoticeBook.snooze`.
        """
        try:
            return self._dealt(line, choice, by, reason)
        finally:
            self.served.outdate()

    def _dealt(self, line: BoardLine, choice: str, by: str, reason: str) -> PostedNotice:
        book = self.served.book
        if choice == ACKNOWLEDGE:
            return book.acknowledge(line.posted.id, by=by, reason=reason)
        if choice not in SNOOZES:
            raise RequestError("Choose what to do with the notice.", field="choice", allowed=tuple(SNOOZES))
        now = datetime.fromtimestamp(book.clock() / 1000, UTC)
        if choice.endswith(("hour", "hours")):
            until = now + period(choice, "choice")
        else:
            until = stated_time(f"{choice} {self.served.zone}", now).moment
        return book.snooze(line.posted.id, until, by=by, reason=reason)

    def seen_by(
        self, sees: Callable[[TableRef], bool], may: Callable[[TableRef], bool], *, sees_all: bool
    ) -> NoticeBoard:
        """Return the same for one person."""
        return replace(self, sees=sees, may=may, sees_all=sees_all)

    def _line(self, posted: PostedNotice) -> BoardLine | None:
        """Return a notice as the person may see it; None if it is not about a served table that the person may see."""
        refs = list(self._refs(posted.notice.table))
        if not refs or not all(map(self.sees, refs)):
            return None
        return BoardLine(posted, refs[0].name, all(map(self.may, refs)))

    def _refs(self, location: str) -> Iterator[TableRef]:
        """Yield the table of a location under each root that it is below: of a store there may be several servers."""
        for root in self.roots.named:
            base = root.tree.root.rstrip("/")
            if location.rstrip("/") != base and not location.startswith(f"{base}/"):
                continue
            below = location[len(base) :].strip("/")
            try:
                yield self.roots.locate(f"{root.name}/{below}" if below else root.name)
            except NotAllowed:
                continue
