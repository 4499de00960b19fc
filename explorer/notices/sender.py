"""What sends the notices: to each channel, what it was not told yet, until it takes it or is given up.

Invariants: a message is on the disk, with its ID, before it is sent, so a program that ends in the midst of it sends
the same again; one program sends at a time; a try that is due is never put off by a clock that went back.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from secrets import token_hex
from typing import Final, Literal, TypeAlias

import msgspec

from explorer.activity.event import Event
from explorer.core.errors import StorageError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import DayHours
from explorer.debug import log_failure
from explorer.notices.book import NoticeBook
from explorer.notices.channel import Channel, ChannelAnswer, OutgoingMessage
from explorer.notices.notice import Notice, NoticeList, NoticeMessage, Severity, iso, notice_id, urgency

_log = logging.getLogger(__name__)
_NOTICE: Final = msgspec.json.Decoder(Notice)
_MESSAGE: Final = msgspec.json.Decoder(NoticeMessage)
_WAITS: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200)
"""Seconds between tries; the last one again and again."""
TRIES: Final = 10
"""How often a message is tried, unless it is set: over a day and more."""
_LONGEST_PAUSE: Final = 300_000
"""Milliseconds for which a channel that did not take a message is left alone, unless its receiver asks for longer."""
_MOST_NOTICES: Final = 100
"""In one message; the rest is in the next one."""
_OFTEN: Final = 2.0
"""Seconds between looks at the outbox."""
_PREPARE: Final = 10.0
_TIDY: Final = 3_600.0
DeliveryStatus: TypeAlias = Literal["waiting", "sent", "given up"]


@dataclass(frozen=True, slots=True)
class SendingRules:
    """When messages are sent.

    Attributes:
        quiet: The hours in which they wait; None for none.
        urgent: The severity from which they do not.
        remind: Milliseconds after which an open notice is sent again; None for never.
        tries: How often a message is tried.
    """

    quiet: DayHours | None = None
    urgent: Severity = "error"
    remind: int | None = None
    tries: int = TRIES


class DeliveryLine(JsonRecord, frozen=True, kw_only=True):
    """The last message to a channel.

    Attributes:
        channel: Its name.
        status: ``waiting``: it is tried again; ``sent``; ``given up``.
        tries: How often it was tried.
        answer: What came back last; empty before the first try.
        due: When it is tried again, as ISO 8601 in UTC; null if it is not.
    """

    channel: str
    status: DeliveryStatus
    tries: int
    answer: str
    due: str | None


class Sender:
    """Sends to channels.

    Args:
        book: The notices.
        channels: Where to.
        rules: When.
        tell: Takes what happened, for the record of activity.
        chance: Returns a number from 0 to 1.

    Attributes:
        before: Called now and then before a look at what is to be sent; takes out what is over.
    """

    def __init__(
        self,
        book: NoticeBook,
        channels: Sequence[Channel],
        rules: SendingRules = SendingRules(),  # it is frozen
        tell: Callable[[Event], None] = lambda _: None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._book, self._channels, self._rules, self._tell, self._chance = book, tuple(channels), rules, tell, chance
        self.before: Callable[[], object] = lambda: None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        # How tries ended that is not on the disk yet, by the ID of the message.
        self._ends: dict[str, tuple[str, int, int, int, str, str, int]] = {}

    def begin(self) -> None:
        """Send on a thread of its own, until `end`."""
        if self._channels and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="explorer-notices", daemon=True)
            self._thread.start()

    def end(self, patience: float = 5.0) -> None:
        """Send no more; a message on its way is waited for, and sent again by the next program if it takes longer."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(patience)

    def _run(self) -> None:
        tidy = prepare = 0.0
        while not self._stopping.is_set():
            prepare -= _OFTEN
            if prepare <= 0:
                self._prepare()
                prepare = _PREPARE
            try:
                self.send_due()
                tidy -= _OFTEN
                if tidy <= 0:
                    self._book.tidy()
                    tidy = _TIDY
            except StorageError as error:
                _log.error("%s", error)  # the message is complete
            except Exception as error:  # noqa: BLE001  # the next round must come all the same; the fault is logged
                log_failure(_log, "sending notices failed", error)
            self._stopping.wait(_OFTEN)

    def _prepare(self) -> None:
        """Do what comes first; what goes wrong there keeps no message back."""
        try:
            self.before()
        except StorageError as error:
            _log.error("%s", error)  # the message is complete
        except Exception as error:  # noqa: BLE001  # as above; the fault is logged
            log_failure(_log, "looking at what is to be sent failed", error)

    def send_due(self) -> int:
        """Send what is due, and return how many messages were tried; none if another program sends.

        Raises:
            StorageError: The notices cannot be read or written.
        """
        with self._book.store.sending() as mine:
            return sum(self._send_to(channel) for channel in self._channels) if mine else 0

    def _send_to(self, channel: Channel) -> int:
        tried = 0
        while not self._stopping.is_set():
            self._write_ends()
            now = self._book.clock()
            with self._book.store.writing() as connection:
                held = self._holds(now)
                self._raise_again(connection, now)
                taken = None
                if not _is_paused(connection, channel.name, now):
                    taken = _due(connection, channel.name, now, held)
                    taken = taken or self._made(connection, channel.name, now, held)
            if taken is None:
                return tried
            self._try(channel, taken, now)
            tried += 1
        return tried

    def _holds(self, now: int) -> int:
        """Return the urgency from which messages are sent now."""
        quiet = self._rules.quiet
        held = quiet is not None and quiet.hold(datetime.fromtimestamp(now / 1000, UTC))
        return urgency(self._rules.urgent) if held else 0

    def _raise_again(self, connection: sqlite3.Connection, now: int) -> None:
        """Let notices be sent again whose snooze is over, or that nobody acknowledged for long."""
        raised = "UPDATE notice SET round = round + 1, raised = ?, snoozed_until = NULL WHERE state = 'open'"
        connection.execute(f"{raised} AND snoozed_until <= ?", (now, now))
        if self._rules.remind is not None:
            before = now - self._rules.remind
            connection.execute(f"{raised} AND snoozed_until IS NULL AND raised <= ?", (now, before))
            # A clock that was ahead must not put it off.
            connection.execute("UPDATE notice SET raised = ? WHERE raised > ?", (now, now))

    def _made(self, connection: sqlite3.Connection, channel: str, now: int, held: int) -> _Taken | None:
        """Return a message of what a channel was not told yet, which is on the disk with the end of the transaction."""
        rows = connection.execute(
            "SELECT n.key, n.round, n.document, n.raised FROM notice n"
            " LEFT JOIN told t ON t.channel = ?1 AND t.key = n.key"
            " JOIN channel c ON c.name = ?1"
            " WHERE n.round > coalesce(t.round, 0) AND ((n.state = 'open' AND n.snoozed_until IS NULL)"
            " OR (n.state = 'resolved' AND (t.round IS NOT NULL OR n.changed >= c.since))) ORDER BY n.raised",
            (channel,),
        ).fetchall()
        waiting = [(key, round_, _NOTICE.decode(text), raised) for key, round_, text, raised in rows]
        waiting = [each for each in waiting if urgency(each[2].severity) >= held][:_MOST_NOTICES]
        if not waiting:
            return None
        notices = tuple(sorted((each[2] for each in waiting), key=lambda each: -urgency(each.severity)))
        digest = any(self._holds(raised) > urgency(notice.severity) for _, _, notice, raised in waiting)
        message = NoticeMessage(
            timestamp=iso(datetime.fromtimestamp(now / 1000, UTC)), data=NoticeList(notices=notices, digest=digest)
        )
        body, made = msgspec.json.encode(message), f"msg_{token_hex(12)}"
        connection.execute(
            "INSERT INTO delivery VALUES (?, ?, ?, ?, 'waiting', 0, ?, ?, '', ?)",
            (made, channel, body, urgency(notices[0].severity), now, now, now),
        )
        connection.executemany(
            "INSERT OR REPLACE INTO told VALUES (?, ?, ?)", [(channel, key, round_) for key, round_, _, _ in waiting]
        )
        return _Taken(made, body, 0)

    def _try(self, channel: Channel, taken: _Taken, now: int) -> None:
        message = _MESSAGE.decode(taken.body)
        try:
            answer = channel.send(OutgoingMessage(taken.id, taken.body, message), now / 1000)
        except Exception as error:  # noqa: BLE001  # without an answer it would be sent again at once; it is logged
            log_failure(_log, f"channel {channel.name} failed", error)
            answer = ChannelAnswer(False, f"this is a bug: {type(error).__name__}")
        tries, after = taken.tries + 1, self._book.clock()
        status: DeliveryStatus = "sent" if answer.accepted else "waiting"
        if not answer.accepted and (answer.final or tries >= self._rules.tries):
            status = "given up"
        wait = self._wait(tries, answer)
        pause = 0 if answer.accepted else max(min(wait, _LONGEST_PAUSE), round(1000 * (answer.wait or 0.0)))
        self._ends[taken.id] = (status, tries, after, after + wait, answer.text[:400], channel.name, after + pause)
        self._write_ends()
        if status != "waiting":
            self._record(channel, message.data.notices, status)
        if not answer.accepted:
            _log.warning("channel %s, try %d of %d: %s", channel.name, tries, self._rules.tries, answer.text)

    def _write_ends(self) -> None:
        """Write how tries ended; until that is on the disk nothing else is tried: it would be sent again and again."""
        for id_, (*end, channel, paused_until) in list(self._ends.items()):
            with self._book.store.writing() as connection:
                connection.execute(
                    "UPDATE delivery SET status = ?, tries = ?, since = ?, due = ?, answer = ? WHERE id = ?",
                    (*end, id_),
                )
                connection.execute(
                    "UPDATE channel SET paused_from = ?, paused_until = ? WHERE name = ?",
                    (end[2], paused_until, channel),
                )
            del self._ends[id_]

    def _wait(self, tries: int, answer: ChannelAnswer) -> int:
        """Return how long to wait for the next try, in ms: longer each time, and never the same for all senders."""
        seconds = _WAITS[min(tries, len(_WAITS)) - 1] * (0.8 + 0.4 * self._chance())
        return round(1000 * max(seconds, answer.wait or 0.0))

    def _record(self, channel: Channel, notices: Sequence[Notice], status: str) -> None:
        first = notices[0]
        alone = len(notices) == 1
        self._tell(
            Event(
                kind="notice",
                outcome="done" if status == "sent" else "failed",
                what=status,
                table=first.name or first.table if alone else "",
                version=first.version if alone else None,
                detail=f"{channel.name}: " + (first.id if alone else f"{len(notices)} notices"),
            )
        )


@dataclass(frozen=True, slots=True)
class _Taken:
    """A message that is to be tried."""

    id: str
    body: bytes
    tries: int


def _due(connection: sqlite3.Connection, channel: str, now: int, held: int) -> _Taken | None:
    """Return a message whose next try is due; also one that was put off by a clock that was ahead."""
    row = connection.execute(
        "SELECT id, body, tries FROM delivery WHERE channel = ? AND status = 'waiting' AND urgency >= ?"
        " AND (due <= ? OR since > ?) ORDER BY made LIMIT 1",
        (channel, held, now, now),
    ).fetchone()
    return None if row is None else _Taken(*row)


def _is_paused(connection: sqlite3.Connection, channel: str, now: int) -> bool:
    """Return whether a channel is left alone for a while, as its receiver asked, or did not take the last message."""
    connection.execute("INSERT OR IGNORE INTO channel VALUES (?, ?, ?, ?)", (channel, now, now, now))
    query = "SELECT 1 FROM channel WHERE name = ? AND paused_from <= ? AND paused_until > ?"
    return connection.execute(query, (channel, now, now)).fetchone() is not None


def deliveries(book: NoticeBook) -> tuple[DeliveryLine, ...]:
    """Return the last message to each channel.

    Raises:
        StorageError: They cannot be read.
    """
    with book.store.reading() as connection:
        if connection is None:
            return ()
        rows = connection.execute(
            "SELECT channel, status, tries, answer, due, max(made) FROM delivery GROUP BY channel ORDER BY channel"
        ).fetchall()
    return tuple(
        DeliveryLine(
            channel=channel,
            status=status,
            tries=tries,
            answer=answer,
            due=iso(datetime.fromtimestamp(due / 1000, UTC)) if status == "waiting" else None,
        )
        for channel, status, tries, answer, due, _ in rows
    )


def trial_message(now: float) -> OutgoingMessage:
    """Return a message that says that a channel works."""
    when = iso(datetime.fromtimestamp(now, UTC))
    notice = Notice(
        key=(key := f"test:{token_hex(6)}"),
        id=notice_id(key),
        kind="test",
        severity="info",
        title="Test notice of Delta Table Explorer",
        text="It was sent by `delta-explorer notices test`. There is nothing to do.",
        when=when,
    )
    message = NoticeMessage(timestamp=when, data=NoticeList(notices=(notice,)))
    return OutgoingMessage(f"msg_{token_hex(12)}", msgspec.json.encode(message), message)
