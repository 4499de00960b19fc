"""What happened, and how it is an entry of the record."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from explorer.core.protocol.json_values import JsonRecord

EventKind: TypeAlias = Literal[
    "sign-in", "sign-out", "rows", "export", "plan", "approval", "commit", "maintenance", "notice", "refusal", "record"
]
KINDS: Final[tuple[str, ...]] = get_args(EventKind)
"""What an entry can be about; ``record`` is about the record itself."""
Outcome: TypeAlias = Literal["begun", "done", "committed", "conflicted", "rejected", "unknown", "failed", "refused"]
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9000
_LONGEST: Final = 400
"""Characters of a text in an entry."""


class Event(JsonRecord, frozen=True, kw_only=True, omit_defaults=True):
    """What happened, without the values of rows, and without conditions, which hold such values.

    Attributes:
        kind: What it is about.
        outcome: How it ended; ``begun`` before it is done.
        person: Who; empty if not known.
        known_by: How the server knows the person, such as ``login``; empty on the command line.
        address: The network address that the request came from; empty on this machine's command line.
        what: Which one of its kind: the kind of a change, the name of an export, the right that was missing.
        table: The served name or the location of the table.
        version: The version that was read, planned for, or committed.
        digest: The digest of the plan; of an archive, that of the last archived entry.
        refers_to: The number of the entry that announced it; of an archive, that of the last archived entry.
        detail: A few words, for example the class of an error.
    """

    kind: EventKind
    outcome: Outcome = "done"
    person: str = ""
    known_by: str = ""
    address: str = ""
    what: str = ""
    table: str = ""
    version: int | None = None
    digest: str = ""
    refers_to: int | None = None
    detail: str = ""


class RecordEntry(JsonRecord, frozen=True, kw_only=True):
    """An entry of the record.

    Attributes:
        number: Its place, from 1.
        previous: SHA-256 of the bytes of the entry before; of the first entry, 64 zeros.
        time: When, as ISO 8601 in UTC.
        program: The program that wrote it, and its version.
        event: What happened.
    """

    number: int
    previous: str
    time: str
    program: str
    event: Event


FIRST_PREVIOUS: Final = "0" * 64


def trimmed(event: Event) -> Event:
    """Return an event with texts of a limited length, as some come from a browser."""
    texts = {
        name: value[:_LONGEST]
        for name in ("person", "known_by", "address", "what", "table", "digest", "detail")
        if len(value := getattr(event, name)) > _LONGEST
    }
    return msgspec.structs.replace(event, **texts) if texts else event


def encoded(entry: RecordEntry) -> bytes:
    """Return the line of an entry, without its end."""
    # A name may hold half of a surrogate pair, as of a file whose name is not UTF-8.
    safe = msgspec.structs.replace(
        entry.event,
        **{
            name: value.encode("utf-8", "backslashreplace").decode()
            for name in ("person", "address", "what", "table", "detail")
            if not (value := getattr(entry.event, name)).isascii()
        },
    )
    return msgspec.json.encode(msgspec.structs.replace(entry, event=safe))


# Made at once: several threads that make it at their first entry can end the process.
_DECODER: Final = msgspec.json.Decoder(RecordEntry)


def decoded(line: bytes) -> RecordEntry:
    """Return the entry of a line.

    Raises:
        msgspec.DecodeError: It is not a line of a record.
    """
    entry = _DECODER.decode(line)
    check_time(entry.time)
    return entry


def check_time(text: str) -> None:
    """Check that a text of a file is a time as this program writes it: ISO 8601 with its zone, in a year of ours.

    Raises:
        msgspec.DecodeError: It is none.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise msgspec.ValidationError(f"{text[:60]!r} is not a time") from error
    if time.tzinfo is None or not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise msgspec.ValidationError(f"{text[:60]!r} is not a time with its zone, in a year of ours")


def digest_of(line: bytes) -> str:
    """Return the digest of a line, which the next one holds."""
    return hashlib.sha256(line).hexdigest()
