"""The sessions of those who signed in or came with a one-time token; the server alone knows whose they are."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["LoginSession", "LoginSessions"]

_MOST: Final = 10_000
_LASTS: Final = 7 * 24 * 3600
"""Seconds without a request that end a session."""


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A session.

    Attributes:
        name: Whose it is; empty where a token began it.
        seal: The hash of the password with which it began: another password ends it.
    """

    name: str
    seal: str


class LoginSessions:
    """The sessions of one server, of which those that were used last are kept."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[LoginSession, float]] = {}

    def begin(self, name: str = "", seal: str = "") -> str:
        """Begin a session; return its ID, which only the browser of the person may know."""
        session_id = secrets.token_urlsafe(32)
        if len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session_id] = LoginSession(name, seal), time.monotonic()
        return session_id

    def find(self, session_id: str) -> LoginSession | None:
        """Return a session that has not ended."""
        # The ID is 256 random bits: whoever finds one by the time that a look-up takes could as well guess it.
        found, used = self._sessions.pop(session_id, (None, 0.0))
        if found is None or time.monotonic() - used > _LASTS:
            return None
        self._sessions[session_id] = found, time.monotonic()
        return found

    def end(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)
