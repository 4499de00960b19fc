"""The person that a request comes from: one interface, for servers without a login, with a token, or with a login.

Single sign-on (`oidc.access`) and a proxy that signs people in (`proxy_login`) have the same interface. Only the server
stores names of sessions. Failures of others do not delay a person in a browser with that person's mark.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from tornado.httputil import HTTPServerRequest

from explorer.page.host import Identity, KnownBy
from explorer.web.serving.people.password_file import PasswordFile

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

    def is_known(self, session_id: str) -> bool:
        """Return whether a session has begun, and not been ended; this does not count as its use."""
        return session_id in self._sessions

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


@dataclass(frozen=True, slots=True)
class Rights:
    """The permissions of people on a server."""

    commit: bool = False
    sign: bool = False


class Access(Protocol):
    """Decides who may open the pages, and as which person.

    Attributes:
        cookie: Name of the cookie that holds the ID of a login session; servers on other ports have their own.
    """

    cookie: str

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person that a request comes from; None if it is refused. It is called again at each message."""


class OpenAccess:
    """Everyone who reaches the server may open the pages."""

    cookie = ""

    def __init__(self, rights: Rights) -> None:
        self._identity = Identity(may_commit=rights.commit, may_sign=rights.sign)

    def identity(self, _request: HTTPServerRequest) -> Identity:
        """Return the identity that all visitors share."""
        return self._identity


class TokenAccess:
    """The browser that opened the address with the token may open the pages.

    Args:
        rights: Their permissions.
        port: TCP port of the server.
        token: The token.
    """

    def __init__(self, rights: Rights, port: int, token: AccessToken) -> None:
        self.cookie = cookie_name(port)
        self.sessions = LoginSessions()
        self.token = token
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person of the cookie of a request."""
        session_id = presented(request, self.cookie)
        if self.sessions.find(session_id) is None:
            return None
        return Identity(session_id, "", KnownBy.TOKEN, self._rights.commit, self._rights.sign)


class LoginAccess:
    """People who signed in may open the pages, as long as the password file has their name with the same password.

    Args:
        rights: Their permissions.
        port: TCP port of the server.
        users: The password file.
    """

    def __init__(self, rights: Rights, port: int, users: PasswordFile) -> None:
        self.cookie = cookie_name(port)
        self.browser_cookie = f"explorer-browser-{port}"
        self.browsers = KnownBrowsers()
        self.sessions = LoginSessions()
        self.users = users
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person of the cookie of a request."""
        session_id = presented(request, self.cookie)
        session = self.sessions.find(session_id)
        if session is None:
            return None
        if self.users.hash_of(session.name) != session.seal:
            self.sessions.end(session_id)
            return None
        return Identity(
            session_id,
            session.name,
            KnownBy.LOGIN,
            self._rights.commit,
            self._rights.sign,
            issuer="password file",
            subject=session.name,
        )


def cookie_name(port: int) -> str:
    """Return the name of the cookie of login sessions."""
    return f"explorer-session-{port}"


def presented(request: HTTPServerRequest, cookie: str) -> str:
    """Return the value of a cookie of a request; empty without one."""
    presented = request.cookies.get(cookie)
    return "" if presented is None else presented.value
