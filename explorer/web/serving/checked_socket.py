"""A socket of Bokeh that accepts only the messages of our page."""

from __future__ import annotations

import logging
from typing import Any, Final

from bokeh.protocol.message import Message
from bokeh.server.views.ws import WSHandler

from explorer.web.serving.client_messages import MessageRate, RefusedMessage, check_message

__all__ = ["CheckedSocket"]

_log = logging.getLogger(__name__)
_REFUSED: Final = 4400
"""The code with which the socket is closed; the script of the page explains it."""


class CheckedSocket(WSHandler):
    """Closes at the first message of another program, and never sends internal errors."""

    receiver: Any  # both exist once the socket is connected to its document
    connection: Any

    def __init__(self, application: Any, request: Any, **values: Any) -> None:
        super().__init__(application, request, **values)
        self._rate = MessageRate()

    async def on_message(self, fragment: str | bytes) -> None:
        """Receive a part of a message."""
        if not self._rate.takes(fragment):
            self.refuse("too many messages")
        elif self.receiver is not None:
            await super().on_message(fragment)

    def refuse(self, why: str) -> None:
        """Close the socket, and log the reason."""
        _log.warning("A socket was closed: %s (address %s)", why, self.request.remote_ip)
        self.close(_REFUSED, "message refused")

    async def _receive(self, fragment: str | bytes) -> Message[Any] | None:
        try:
            message = await self.receiver.consume(fragment)
            if message is not None:
                check_message(message, self.connection.session.document)
        except RefusedMessage as error:
            self.refuse(str(error))
        except Exception as error:  # noqa: BLE001  # Bokeh's parser can raise anything; the message is not of our script
            self.refuse(f"not a message of the page ({type(error).__name__})")
        else:
            return message  # type: ignore[no-any-return]  # Bokeh's receiver is untyped
        return None

    async def _handle(self, message: Message[Any]) -> Any:
        work = await super()._handle(message)
        if isinstance(work, Message) and work.msgtype == "ERROR":
            # Bokeh's answer contains the traceback, which is in the log already.
            self.refuse("a message that the document cannot take")
            return None
        return work
