"""What a notice says, and the one JSON document in which notices are sent."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, get_args

from explorer.core.protocol.json_values import JsonRecord

NoticeKind: TypeAlias = Literal["tripwire", "verdict", "approval", "table", "test"]
Severity: TypeAlias = Literal["info", "warning", "error"]
NoticeState: TypeAlias = Literal["open", "resolved"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""From the least to the most urgent."""
MESSAGE_TYPE: Final = "notices"
_ID_LENGTH: Final = 16


class Notice(JsonRecord, frozen=True, kw_only=True):
    """Something that people should know.

    Attributes:
        key: Names it; what is posted under a known key is the same notice.
        kind: ``tripwire``; ``verdict``: what one of your clients can do has changed; ``approval``: a change waits for a
            second person; ``table``: a table cannot be read; ``test``.
        severity: How urgent it is.
        title: One line.
        text: What happened, and what to do.
        table: The location of the table; empty without one.
        name: Its name for people.
        version: Its version; null without one.
        address: The page that shows it; empty if the address of the server is not known.
        when: When it happened, as ISO 8601 in UTC.
        state: ``resolved`` if it is over.
        id: A short name, which commands take; it is made of the key when the notice is posted.
    """

    key: str
    kind: NoticeKind
    severity: Severity
    title: str
    text: str
    table: str = ""
    name: str = ""
    version: int | None = None
    address: str = ""
    when: str
    state: NoticeState = "open"
    id: str = ""


class NoticeList(JsonRecord, frozen=True, kw_only=True):
    """The data of a message.

    Attributes:
        notices: What is new, the most urgent first.
        digest: Some were held back during quiet hours.
    """

    notices: tuple[Notice, ...]
    digest: bool = False


class NoticeMessage(JsonRecord, frozen=True, kw_only=True):
    """A message, as a webhook receives it; the form is that of Standard Webhooks.

    Attributes:
        type: ``notices``.
        timestamp: When the message was made, as ISO 8601 in UTC.
        data: The notices.
    """

    type: Literal["notices"] = MESSAGE_TYPE
    timestamp: str
    data: NoticeList


def notice_id(key: str) -> str:
    """Return the short name of a key; people type the beginning of it."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_LENGTH]


def iso(moment: datetime) -> str:
    """Return a time as notices have it."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def urgency(severity: Severity) -> int:
    """Return the place of a severity, from 0 for the least urgent one."""
    return SEVERITIES.index(severity)
