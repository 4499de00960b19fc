"""Who asks, and what that person may do here: the one record that a window asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Identity", "KnownBy"]


class KnownBy(Enum):
    """How the server knows a person."""

    LOGIN = "login"
    """By a name and a password."""
    TOKEN = "token"  # noqa: S105  # the name of a way, no secret
    """By the one-time address that the server printed; the person's name is not known."""
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
    """

    session: str = ""
    name: str = ""
    known_by: KnownBy = KnownBy.LOCAL
    may_commit: bool = True
    may_sign: bool = True

    def __repr__(self) -> str:
        """Name the person, and never the session."""
        return f"Identity(name={self.name!r}, known_by={self.known_by.value!r})"
