"""Whom a request comes from: one interface, and its answers for a server that asks for nothing, a token or a login.

Another way to know people (single sign-on, roles) is another class with this interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tornado.httputil import HTTPServerRequest

from explorer.web.identity import Identity, KnownBy
from explorer.web.serving.people.access_token import AccessToken
from explorer.web.serving.people.known_browsers import KnownBrowsers
from explorer.web.serving.people.login_sessions import LoginSessions
from explorer.web.serving.people.password_file import PasswordFile

__all__ = ["Access", "LoginAccess", "OpenAccess", "Rights", "TokenAccess"]


@dataclass(frozen=True, slots=True)
class Rights:
    """What people may do on a server."""

    commit: bool = False
    sign: bool = False


class Access(Protocol):
    """Who may come, and as whom.

    Attributes:
        cookie: Name of the cookie that holds the ID of a login session; servers on other ports have their own.
    """

    cookie: str

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return whom a request comes from; None if it may not come. It is asked again at each message."""


class OpenAccess:
    """Everyone who reaches the server may look.

    Args:
        rights: What they may do.
    """

    cookie = ""

    def __init__(self, rights: Rights) -> None:
        self._identity = Identity(may_commit=rights.commit, may_sign=rights.sign)

    def identity(self, _request: HTTPServerRequest) -> Identity:
        """Return the identity that all visitors have in common."""
        return self._identity


class TokenAccess:
    """Whoever opened the address with the token may come.

    Args:
        rights: What they may do.
        port: TCP port of the server.
        token: The token.
    """

    def __init__(self, rights: Rights, port: int, token: AccessToken) -> None:
        self.cookie = _cookie_name(port)
        self.sessions = LoginSessions()
        self.token = token
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return whom the cookie of a request names."""
        session_id = _presented(request, self.cookie)
        if self.sessions.find(session_id) is None:
            return None
        return Identity(session_id, "", KnownBy.TOKEN, self._rights.commit, self._rights.sign)


class LoginAccess:
    """Whoever signed in may come, for as long as the password file has the name with the same password.

    Args:
        rights: What they may do.
        port: TCP port of the server.
        users: The password file.
    """

    def __init__(self, rights: Rights, port: int, users: PasswordFile) -> None:
        self.cookie = _cookie_name(port)
        self.browser_cookie = f"explorer-browser-{port}"
        self.browsers = KnownBrowsers()
        self.sessions = LoginSessions()
        self.users = users
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return whom the cookie of a request names."""
        session_id = _presented(request, self.cookie)
        found = self.sessions.find(session_id)
        if found is None:
            return None
        if self.users.hash_of(found.name) != found.seal:
            self.sessions.end(session_id)
            return None
        return Identity(session_id, found.name, KnownBy.LOGIN, self._rights.commit, self._rights.sign)


def _cookie_name(port: int) -> str:
    return f"explorer-session-{port}"


def _presented(request: HTTPServerRequest, cookie: str) -> str:
    found = request.cookies.get(cookie)
    return "" if found is None else found.value
