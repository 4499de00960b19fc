"""How a window asks for rows: the question goes into its address, and then the work begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event
from weakref import WeakKeyDictionary

from explorer.page.address import Address
from explorer.page.window import Message, Window, WindowWork
from explorer.views import TableView

LONGEST_QUESTION = 16_000
# Set when the question that a window asked last has begun; only the server's loop looks here.
_begun: WeakKeyDictionary[WindowWork, Event] = WeakKeyDictionary()


def begin_reading(
    window: Window, message: Message, start: Callable[[TableView, Address], object], answers: Mapping[str, str]
) -> None:
    """Put the question into the address, and begin to read the answer; the message is answered when that is begun.

    It begins on a thread, as it may wait for what another thread reads of the table; what one window asks begins in the
    order in which it was asked.

    Args:
        window: Where the message comes from.
        message: The message.
        start: Begins; takes the view and the address with the question in it.
        asked: Fields of the address.
    """
    view = window.view
    if view is None:
        window.answer(message)
        return
    query = Address.parse(window.query).to(**answers, find=None, sort=None, page=None)
    window.query = query
    before, begun = _begun.get(window.work), Event()
    _begun[window.work] = begun

    def begin() -> None:
        try:
            if before is not None:
                before.wait()
            start(view, Address.parse(query))
        finally:
            begun.set()

    window.compute(message, begin, lambda _: window.answer(message, query=query))
