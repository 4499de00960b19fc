"""How a window asks for rows: the question goes into its address, and then the work begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from explorer.views import TableView
from explorer.web.address import Address
from explorer.web.window import Message, Window

__all__ = ["LONGEST_QUESTION", "begin_reading"]

LONGEST_QUESTION = 16_000


def begin_reading(
    window: Window, message: Message, start: Callable[[TableView, Address], None], asked: Mapping[str, str]
) -> None:
    """Put the question into the address, and begin to read the answer.

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
    query = Address.parse(window.query).to(**asked, find=None, sort=None, page=None)
    window.query = query
    start(view, Address.parse(query))
    window.answer(message, query=query)
