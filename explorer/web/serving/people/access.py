"""The person that a request comes from: one interface, for servers without a login, with a token, or with a login.

Single sign-on and roles would be other classes with this interface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tornado.httputil import HTTPServerRequest

from explorer.page.host import Identity, KnownBy
from explorer.web.serving.people.login_sessions import AccessToken, KnownBrowsers, LoginSessions
from explorer.web.serving.people.password_file import PasswordFile

__all__ = ["Access", "LoginAccess", "OpenAccess", "Rights", "TokenAccess"]


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
        self.cookie = _cookie_name(port)
        self.sessions = LoginSessions()
        self.token = token
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person of the cookie of a request."""
        session_id = _presented(request, self.cookie)
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
        self.cookie = _cookie_name(port)
        self.browser_cookie = f"explorer-browser-{port}"
        self.browsers = KnownBrowsers()
        self.sessions = LoginSessions()
        self.users = users
        self._rights = rights

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person of the cookie of a request."""
        session_id = _presented(request, self.cookie)
        session = self.sessions.find(session_id)
        if session is None:
            return None
        if self.users.hash_of(session.name) != session.seal:
            self.sessions.end(session_id)
            return None
        return Identity(session_id, session.name, KnownBy.LOGIN, self._rights.commit, self._rights.sign)


def _cookie_name(port: int) -> str:
    return f"explorer-session-{port}"


def _presented(request: HTTPServerRequest, cookie: str) -> str:
    presented = request.cookies.get(cookie)
    return "" if presented is None else presented.value
