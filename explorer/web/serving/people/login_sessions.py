"""The sessions of people who signed in or used a one-time token, the token itself, and the marks of known browsers.

Only the server stores names. Failures of others do not delay a person in a browser with that person's mark.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["AccessToken", "KnownBrowsers", "LoginSessions"]

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
        session, used = self._sessions.pop(session_id, (None, 0.0))
        if session is None or time.monotonic() - used > _LASTS:
            return None
        self._sessions[session_id] = session, time.monotonic()
        return session

    def end(self, session_id: str) -> None:
        """End a session."""
        self._sessions.pop(session_id, None)


class AccessToken:
    """A token that opens the server to one browser, and is then replaced.

    Args:
        announce: Called with each token, for the address that is printed.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._token = ""

    def renew(self) -> None:
        """Replace the token, and print its address; the previous one is no longer valid."""
        self._token = secrets.token_urlsafe(24)
        self._announce(self._token)

    def spend(self, token: str) -> bool:
        """Return whether this is the token, which is then replaced."""
        if not self._token or not secrets.compare_digest(token.encode(), self._token.encode()):
            return False
        self.renew()
        return True


_BYTES: Final = 16


class KnownBrowsers:
    """The marks of one server. A mark proves nothing but an earlier login, and is worthless for another name."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def mark(self, name: str) -> str:
        """Return a new mark for a browser in which a person has signed in."""
        browser = secrets.token_hex(_BYTES)
        return f"{browser}.{self._signature(browser, name)}"

    def browser_of(self, mark: str, name: str) -> str | None:
        """Return the browser of a mark; None if the mark was not made for that person."""
        browser, _, signature = mark.partition(".")
        right = secrets.compare_digest(signature.encode(), self._signature(browser, name).encode())
        return browser if right else None

    def _signature(self, browser: str, name: str) -> str:
        return hmac.digest(self._secret, f"{browser}\0{name}".encode(), "sha256").hex()
