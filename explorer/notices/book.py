"""The notices: posted, resolved, acknowledged, and snoozed.

Invariants: a key is one notice; what is acknowledged is not sent again, unless it is over; what is snoozed is sent
again when that ends; who did what, and why, stays with the notice.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.core.protocol.json_values import JsonRecord
from explorer.credentials import without_credentials
from explorer.notices.notice import Notice, iso, notice_id, urgency
from explorer.notices.store import NoticeStore

BoardState: TypeAlias = Literal["open", "acknowledged", "snoozed", "resolved"]
_NOTICE: Final = msgspec.json.Decoder(Notice)
_LONGEST_REASON: Final = 1_000
_LONGEST_TITLE: Final = 400
_LONGEST_TEXT: Final = 4_000
_MOST_SNOOZE: Final = 366 * 86_400_000
_KEPT: Final = 90 * 86_400_000
"""How long notices that are dealt with are kept, in ms."""
RecordT = TypeVar("RecordT", bound=msgspec.Struct)


class PostedNotice(JsonRecord, frozen=True, kw_only=True):
    """A notice with what became of it.

    Attributes:
        id: Its short name.
        notice: What it says.
        state: ``open``, ``acknowledged``, ``snoozed``, or ``resolved``.
        until: When the snooze ends, as ISO 8601 in UTC; null unless it is snoozed.
        by, reason: Who acknowledged or snoozed it, and why; empty if nobody did.
        changed: When that was, or when it was posted.
    """

    id: str
    notice: Notice
    state: BoardState
    until: str | None
    by: str
    reason: str
    changed: str


class NoticeBook:
    """The notices of one folder; its methods may be called from any thread.

    Args:
        store: The file of the notices.
        clock: The time, in ms since the epoch.

    Attributes:
        store: As given.
    """

    def __init__(self, store: NoticeStore, clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self.store, self.clock = store, clock

    # --- what is seen

    def post(self, notice: Notice) -> bool:
        """Post a notice; return False if its key is open, or was acknowledged, already.

        Raises:
            StorageError: It cannot be written; it is not posted.
        """
        with self.changes() as changes:
            return changes.post(notice)

    def resolve(self, notice: Notice) -> bool:
        """Say that what a notice is about is over; return False if that was said already.

        Args:
            notice: What is to be said; its key names the notice that it resolves. One that was never posted is posted
                as resolved.

        Raises:
            StorageError: It cannot be written.
        """
        with self.changes() as changes:
            return changes.resolve(notice)

    @contextmanager
    def changes(self) -> Iterator[NoticeChanges]:
        """Return changes that are written together, or not at all.

        Raises:
            StorageError: They cannot be written.
        """
        with self.store.writing() as connection:
            yield NoticeChanges(connection, self.clock())

    # --- what people do

    def acknowledge(self, name: str, *, by: str, reason: str) -> PostedNotice:
        """Acknowledge a notice: it is not sent again.

        Args:
            name: Its ID, the beginning of it, or its key.
            by: Who.
            reason: Why.

        Raises:
            RequestError: There is no such notice, it is over, or there is no reason.
            StorageError: It cannot be written.
        """
        return self._dealt(name, "acknowledged", None, by, _reason(reason))

    def snooze(self, name: str, until: datetime, *, by: str, reason: str) -> PostedNotice:
        """Snooze a notice: it is sent again when that ends, unless it is over.

        Args:
            name, by, reason: As of `acknowledge`.
            until: When it ends, with a zone.

        Raises:
            RequestError: As of `acknowledge`, or the time is not in the next year.
            StorageError: It cannot be written.
        """
        why, ends, now = _reason(reason), round(until.timestamp() * 1000), self.clock()
        if not now < ends <= now + _MOST_SNOOZE:
            raise RequestError(
                f"{fmt.moment(until)} is not in the next year. Name a time such as 'tomorrow 9:00'.", field="until"
            )
        return self._dealt(name, "open", ends, by, why)

    def _dealt(self, name: str, state: str, ends: int | None, by: str, why: str) -> PostedNotice:
        """Write what a person did about a notice that is not over."""
        now = self.clock()
        with self.store.writing() as connection:
            row = _named(connection, name)
            _check_open(row)
            connection.execute(
                "UPDATE notice SET state = ?, snoozed_until = ?, person = ?, reason = ?, changed = ? WHERE key = ?",
                (state, ends, by, why, now, row["key"]),
            )
            return _posted(_named(connection, row["key"]), now)

    # --- what is there

    def notices(self, *, everything: bool = False) -> tuple[PostedNotice, ...]:
        """Return the notices: those that are open, the most urgent and the newest first; then those that are snoozed.

        Args:
            everything: Also those that were acknowledged or are over.

        Raises:
            StorageError: They cannot be read.
        """
        with self.store.reading() as connection:
            if connection is None:
                return ()
            now = self.clock()
            states = "('open', 'acknowledged', 'resolved')" if everything else "('open')"
            rows = _rows(connection, f"SELECT * FROM notice WHERE state IN {states} ORDER BY changed DESC")  # noqa: S608
            notices = [_posted(row, now) for row in rows]
        order: tuple[BoardState, ...] = ("open", "snoozed", "acknowledged", "resolved")
        return tuple(sorted(notices, key=lambda each: (order.index(each.state), -urgency(each.notice.severity))))

    def find(self, name: str) -> PostedNotice:
        """Return a notice.

        Args:
            name: Its ID, the beginning of it, or its key.

        Raises:
            RequestError: There is no such notice, or there are several.
            StorageError: They cannot be read.
        """
        with self.store.reading() as connection:
            if connection is None:
                raise _unknown(name)
            return _posted(_named(connection, name), self.clock())

    def open_keys(self, beginning: str) -> tuple[str, ...]:
        """Return the keys with a beginning that were posted and are not over.

        Raises:
            StorageError: They cannot be read.
        """
        with self.store.reading() as connection:
            return () if connection is None else _open_keys(connection, beginning)

    def watched(self, kind: type[RecordT]) -> dict[str, RecordT]:
        """Return what was seen of places before, by place; what is in another form is left out.

        Raises:
            StorageError: It cannot be read.
        """
        with self.store.reading() as connection:
            rows = [] if connection is None else connection.execute("SELECT place, document FROM watched").fetchall()
        records = dict[str, RecordT]()
        for place, document in rows:
            with suppress(msgspec.DecodeError):
                records[place] = msgspec.json.decode(document, type=kind)
        return records

    def tidy(self) -> None:
        """Forget what was dealt with long ago."""
        before = self.clock() - _KEPT
        with self.store.writing() as connection:
            connection.execute("DELETE FROM notice WHERE state != 'open' AND changed < ?", (before,))
            connection.execute("DELETE FROM told WHERE key NOT IN (SELECT key FROM notice)")
            connection.execute("DELETE FROM delivery WHERE status != 'waiting' AND made < ?", (before,))


class NoticeChanges:
    """Changes of one transaction.

    Args:
        connection: A connection in a transaction.
        now: ms since the epoch.
    """

    def __init__(self, connection: sqlite3.Connection, now: int) -> None:
        self._connection, self._now = connection, now

    def post(self, notice: Notice) -> bool:
        """As of `NoticeBook.post`."""
        known = self._connection.execute("SELECT state, round FROM notice WHERE key = ?", (notice.key,)).fetchone()
        if known is not None and known[0] != "resolved":
            return False
        self._put(notice, "open", 1 if known is None else known[1] + 1)
        return True

    def resolve(self, notice: Notice) -> bool:
        """As of `NoticeBook.resolve`."""
        known = self._connection.execute("SELECT state, round FROM notice WHERE key = ?", (notice.key,)).fetchone()
        if known is not None and known[0] == "resolved":
            return False
        self._put(msgspec.structs.replace(notice, state="resolved"), "resolved", 1 if known is None else known[1] + 1)
        return True

    def is_open(self, key: str) -> bool:
        """Return whether a key was posted and is not over, acknowledged or not."""
        row = self._connection.execute("SELECT state FROM notice WHERE key = ?", (key,)).fetchone()
        return row is not None and row[0] != "resolved"

    def open_keys(self, beginning: str) -> tuple[str, ...]:
        """Return the keys with a beginning that were posted and are not over."""
        return _open_keys(self._connection, beginning)

    def watch(self, place: str, seen: msgspec.Struct) -> None:
        """Keep what was seen of a place."""
        self._connection.execute("INSERT OR REPLACE INTO watched VALUES (?, ?)", (place, msgspec.json.encode(seen)))

    def _put(self, notice: Notice, state: str, round_: int) -> None:
        shown = msgspec.structs.replace(
            notice,
            id=notice_id(notice.key),
            title=_harmless(notice.title, _LONGEST_TITLE),
            text=_harmless(notice.text, _LONGEST_TEXT),
            name=_harmless(notice.name, _LONGEST_TITLE),
        )
        values = (
            notice.key, shown.id, msgspec.json.encode(shown), state, "", "", None, self._now, round_, self._now,
        )  # fmt: skip
        self._connection.execute(
            "INSERT INTO notice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
            " document = excluded.document, state = excluded.state, snoozed_until = NULL, person = '', reason = '',"
            " changed = excluded.changed, round = excluded.round, raised = excluded.raised",
            values,
        )


def _harmless(text: str, longest: int) -> str:
    """Return a text without credentials and without halves of surrogate pairs, which JSON cannot hold."""
    return fmt.readable_lines(without_credentials(text), longest).encode("utf-8", "backslashreplace").decode()


def _open_keys(connection: sqlite3.Connection, beginning: str) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT key FROM notice WHERE state != 'resolved' AND substr(key, 1, ?) = ?", (len(beginning), beginning)
    )
    return tuple(row[0] for row in rows)


def _reason(text: str) -> str:
    reason = _harmless(" ".join(text.split()), _LONGEST_REASON)
    if not reason:
        raise RequestError("A reason is missing. Say why, for others to read.", field="reason")
    return reason


def _rows(connection: sqlite3.Connection, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values).fetchall()


def _named(connection: sqlite3.Connection, name: str) -> sqlite3.Row:
    rows = _rows(connection, "SELECT * FROM notice WHERE key = ? OR id = ?", (name, name))
    if not rows and len(name) >= 4:
        rows = _rows(connection, "SELECT * FROM notice WHERE substr(id, 1, ?) = ?", (len(name), name))
    if not rows:
        raise _unknown(name)
    if len(rows) > 1:
        raise RequestError(
            f"{name!r} is the beginning of several notices. Give more of the ID.",
            field="KEY",
            allowed=tuple(row["id"] for row in rows),
        )
    return rows[0]


def _unknown(name: str) -> RequestError:
    return RequestError(
        f"There is no notice {fmt.shorten(name, 80)!r}. List them with: delta-explorer notices", field="KEY"
    )


def _check_open(row: sqlite3.Row) -> None:
    if row["state"] == "resolved":
        raise RequestError(f"The notice {row['id']} is resolved: there is nothing to acknowledge.", field="KEY")


def _posted(row: sqlite3.Row, now: int) -> PostedNotice:
    until = row["snoozed_until"]
    snoozed = row["state"] == "open" and until is not None and until > now
    return PostedNotice(
        id=row["id"],
        notice=_NOTICE.decode(row["document"]),
        state="snoozed" if snoozed else row["state"],
        until=_time(until) if snoozed else None,
        by=row["person"],
        reason=row["reason"],
        changed=_time(row["changed"]),
    )


def _time(milliseconds: int) -> str:
    return iso(datetime.fromtimestamp(milliseconds / 1000, UTC))
