"""What a window asks of rows: a page of them, what changed, how two versions differ; and to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from explorer.web.address import Address

if TYPE_CHECKING:
    from explorer.views import TableView
    from explorer.web.session import Session

__all__ = ["RowMessages"]

_LONGEST = 16_000
Message = dict[str, Any]


class RowMessages:
    """The messages of the tabs that show rows.

    Args:
        session: The window's session.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.handlers: dict[str, Callable[[Message], None]] = {
            "rows": self._rows,
            "rows-turn": self._turn,
            "changes": self._changes,
            "differences": self._differences,
            "cancel": self._cancel,
        }

    def _rows(self, message: Message) -> None:
        asked = {"where": _text(message, "where"), "masked": "1" if message.get("masked") else "0"}
        self._begin(message, self._session.works.rows.start, asked)

    def _turn(self, message: Message) -> None:
        view = self._session.shown.view
        if view is not None:
            self._session.works.rows.turn(view, back=message.get("way") == "back")
        self._session.acknowledge(message)

    def _changes(self, message: Message) -> None:
        self._begin(message, self._session.works.feed.start, {})

    def _differences(self, message: Message) -> None:
        self._begin(message, self._session.works.differences.start, {"keys": _text(message, "keys")})

    def _cancel(self, message: Message) -> None:
        self._session.works.cancel_rows()
        self._session.acknowledge(message)

    def _begin(self, message: Message, start: Callable[[TableView, Address], None], asked: dict[str, str]) -> None:
        """Take what is asked for into the address, and begin."""
        view = self._session.shown.view
        if view is None:
            self._session.acknowledge(message)
            return
        before = Address.parse(self._session.query)
        self._session.query = query = before.to(**asked, find=None, sort=None, page=None)
        start(view, Address.parse(query))
        self._session.patch({}, message, query=query)


def _text(message: Message, name: str) -> str:
    return str(message.get(name, "")).strip()[:_LONGEST]
