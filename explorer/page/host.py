"""The interface between a page and its host (a browser's window or a notebook's output), and the person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol


class KnownBy(Enum):
    """How the server knows a person."""

    LOGIN = "login"
    """By a name and a password."""
    TOKEN = "token"  # noqa: S105  # the name of a way, no secret
    """By the one-time address that the server printed; the person's name is not known."""
    SINGLE_SIGN_ON = "single sign-on"
    """By a token of an issuer of OpenID Connect."""
    PROXY = "proxy"
    """By a header of a trusted proxy."""
    NOTEBOOK = "notebook"
    """By the notebook server that the kernel runs in."""
    LOCAL = "local"
    """Not at all: the server answers everyone who reaches it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The person behind a request.

    Attributes:
        session: The ID of the login session, a secret; empty where the server asks for no login.
        name: The person's name; empty if it is not known.
        known_by: How the server knows the person.
        may_commit: Whether changes may be committed.
        may_sign: Whether reports and statements may be signed with the server's key.
        address: The network address that the person's requests come from; empty where there is none.
        groups: The person's groups, as whoever knows the person names them.
        issuer: Who knows the person: an issuer's URL, ``password file``, or ``proxy``; empty if nobody does.
        subject: The name there that no other person ever has; empty if nobody knows the person.
        email: The e-mail address; empty if not known.
    """

    session: str = ""
    name: str = ""
    known_by: KnownBy = KnownBy.LOCAL
    may_commit: bool = True
    may_sign: bool = True
    address: str = ""
    groups: tuple[str, ...] = ()
    issuer: str = ""
    subject: str = ""
    email: str = ""

    def __repr__(self) -> str:
        """Name the person, and never the session."""
        return f"Identity(name={self.name!r}, known_by={self.known_by.value!r})"


class Host(Protocol):
    """One place that shows one page.

    Attributes:
        identity: The person, as the host knows it, and what that person may do.
        person: The name that the person gave; empty if not known. A name of the identity counts before it.
    """

    identity: Identity
    person: str

    @property
    def is_open(self) -> bool:
        """Whether the page can still be shown."""

    def hear(self, receive: Callable[[object], None]) -> None:
        """Give every message of the page's script to a function, on the loop."""

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the page's script; called on the loop."""

    def later(self, call: Callable[[], None]) -> None:
        """Call a function on the loop, from any thread; not at all once the page is closed."""

    def every(self, milliseconds: int, call: Callable[[], None]) -> None:
        """Call a function on the loop again and again, as long as the page is open."""

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call a function when the page is closed."""
