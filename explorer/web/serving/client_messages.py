"""The messages that a page may send: those of Bokeh's protocol that our script sends.

Bokeh would let a browser replace the document, set any property of any model, and create new ones. Here, a page
requests its document once, and sends plain data of our script.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from bokeh.core.types import ID
from bokeh.document import Document
from bokeh.protocol.message import Message
from panel.models.esm import ReactiveESM

_LARGEST_HEADER: Final = 1_000
_MOST_EVENTS: Final = 200
_DEEPEST: Final = 6
_MOST_VALUES: Final = 20_000
_LARGEST_NUMBER: Final = 2**53


class RefusedMessage(Exception):
    """A message that our page does not send; its text describes it for the log."""


class MessageRate:
    """The limit of what a page may send: many times the messages of a person who holds down every key.

    Args:
        clock: Seconds.
    """

    _FRAGMENTS, _BYTES = 900.0, 48.0 * 1024 * 1024
    _EACH_SECOND = 300.0, 4.0 * 1024 * 1024

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left = self._FRAGMENTS, self._BYTES
        self._seen = clock()

    def takes(self, fragment: str | bytes) -> bool:
        """Return whether another part of a message is within the limit."""
        now = self._clock()
        passed, self._seen = now - self._seen, now
        fragments = min(self._left[0] + passed * self._EACH_SECOND[0], self._FRAGMENTS) - 1
        size = min(self._left[1] + passed * self._EACH_SECOND[1], self._BYTES) - len(fragment)
        self._left = fragments, size
        return fragments >= 0 and size >= 0


def check_message(message: Message[Any], document: Document) -> None:
    """Check that a message is one that our script sends, for this document.

    Raises:
        RefusedMessage: It is not.
    """
    if len(message.header_json) > _LARGEST_HEADER or message.header.get("num_buffers") or message.metadata:
        raise RefusedMessage("a header of another program")
    if message.msgtype == "PULL-DOC-REQ":
        if message.content:
            raise RefusedMessage("PULL-DOC-REQ with content")
        return
    if message.msgtype != "PATCH-DOC":
        raise RefusedMessage(f"{message.msgtype}, which a page does not send")
    content = message.content
    if not isinstance(content, dict) or set(content) != {"events"} or not isinstance(content["events"], list):
        raise RefusedMessage("PATCH-DOC without a list of events")
    if len(content["events"]) > _MOST_EVENTS:
        raise RefusedMessage("PATCH-DOC with too many events")
    for event in content["events"]:
        _check_event(event, document)


def _check_event(event: object, document: Document) -> None:
    if not isinstance(event, dict):
        raise RefusedMessage("an event that is not an object")
    if event.get("kind") != "MessageSent":
        raise RefusedMessage(f"an event {str(event.get('kind'))[:40]!r}")
    data = event.get("msg_data")
    if set(event) != {"kind", "msg_type", "msg_data"} or event["msg_type"] != "bokeh_event":
        raise RefusedMessage("a message that is not an event")
    if not isinstance(data, dict) or set(data) != {"type", "name", "values"} or data["type"] != "event":
        raise RefusedMessage("an event of another form")
    values = _entries(data["values"])
    if data["name"] == "document_ready" and not values:
        return
    model = _model(values.get("model"), document)
    if data["name"] != "data_event" or not isinstance(model, ReactiveESM) or set(values) != {"model", "data"}:
        raise RefusedMessage(f"an event {str(data['name'])[:40]!r}")
    _Plain().check(values["data"], 0)


def _model(reference: object, document: Document) -> object:
    if not isinstance(reference, dict) or set(reference) != {"id"} or not isinstance(reference["id"], str):
        return None
    return document.get_model_by_id(ID(reference["id"]))


def _entries(values: object) -> dict[str, Any]:
    """Return the entries of a map as Bokeh writes it: no key twice, and only strings as keys."""
    if not isinstance(values, dict) or values.get("type") != "map" or not set(values) <= {"type", "entries"}:
        raise RefusedMessage("values that are not a map")
    pairs = values.get("entries", [])
    if not isinstance(pairs, list):
        raise RefusedMessage("a map without entries")
    entries: dict[str, Any] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str) or pair[0] in entries:
            raise RefusedMessage("a map with an odd entry")
        entries[pair[0]] = pair[1]
    return entries


class _Plain:
    """Strings, numbers, lists, and maps of those: nothing that Bokeh would make an object of."""

    def __init__(self) -> None:
        self._values = 0

    def check(self, value: object, depth: int) -> None:
        self._values += 1
        if depth > _DEEPEST or self._values > _MOST_VALUES:
            raise RefusedMessage("data that is too deep or too large")
        if isinstance(value, int | float) and not abs(value) <= _LARGEST_NUMBER:
            raise RefusedMessage("a number beyond 2**53")
        if value is None or isinstance(value, str | int | float):
            return
        if isinstance(value, list):
            parts: list[Any] = value
        elif isinstance(value, dict):
            parts = list(_entries(value).values())
        else:
            raise RefusedMessage("data of another kind")
        for part in parts:
            self.check(part, depth + 1)
