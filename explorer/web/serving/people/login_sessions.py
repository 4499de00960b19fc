"""The sessions of people who signed in or used a one-time token; only the server stores their names."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["LoginSession", "LoginSessions"]

_MOST: Final = 10_000
_MOST_OF_ONE: Final = 100
_LASTS: Final = 7 * 24 * 3600
"""Seconds without a request that end a session."""


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A session.

    Attributes:
        name: The name of the person; empty if a token started it.
        seal: The hash of the password at its start; a changed password ends it.
    """

    name: str
    seal: str


class LoginSessions:
    """The sessions of one server; beyond a limit, the ones that were used longest ago end.

    Each person has a limit, too: by signing in again and again, a person ends only sessions of their own.
    """

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[LoginSession, float]] = {}

    def begin(self, name: str = "", seal: str = "") -> str:
        """Start a session; return its ID, a secret of the browser."""
        session_id = secrets.token_urlsafe(32)
        own = [known for known, (session, _) in self._sessions.items() if name and session.name == name]
        if len(own) >= _MOST_OF_ONE:
            del self._sessions[own[0]]
        if len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session_id] = LoginSession(name, seal), time.monotonic()
        return session_id

    def find(self, session_id: str) -> LoginSession | None:
        """Return a session that has not ended."""
        # The ID has 256 random bits, so that the time of a look-up does not help to guess one.
        found, used = self._sessions.pop(session_id, (None, 0.0))
        if found is None or time.monotonic() - used > _LASTS:
            return None
        self._sessions[session_id] = found, time.monotonic()
        return found

    def end(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)
