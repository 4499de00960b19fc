"""What a channel is: it has a name, sends a message, and says what came back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from explorer.notices.notice import NoticeMessage


@dataclass(frozen=True, slots=True)
class ChannelAnswer:
    """What came back.

    Attributes:
        accepted: The message was taken.
        text: What came back, in words without secrets.
        wait: Seconds that the receiver asks to wait; None if it does not say.
        final: The receiver wants no more messages.
    """

    accepted: bool
    text: str
    wait: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message on its way.

    Attributes:
        id: The same at every try.
        body: The message as JSON.
        message: The same, decoded.
    """

    id: str
    body: bytes
    message: NoticeMessage


class Channel(Protocol):
    """A way to people.

    Attributes:
        name: Its name in the configuration.
        place: Where it leads, in words without secrets.
    """

    @property
    def name(self) -> str:
        """Its name in the configuration."""

    @property
    def place(self) -> str:
        """Where it leads, in words without secrets."""

    def send(self, outgoing: OutgoingMessage, now: float) -> ChannelAnswer:
        """Send a message, and return what came back; what fails is an answer, never an error.

        Args:
            outgoing: The message.
            now: The time, in seconds since the epoch.
        """
