"""People whom a proxy in front of the server has signed in: it names them in a header, which counts from it alone."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
from dataclasses import dataclass
from typing import Final

from tornado.httputil import HTTPServerRequest

from explorer.core.errors import RequestError
from explorer.formatting import plain
from explorer.page.host import Identity, KnownBy
from explorer.web.serving.people.access import Rights
from explorer.web.serving.public_urls import TrustedProxies

_log = logging.getLogger(__name__)
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,80}")
# Headers that clients or the protocol itself set.
_TAKEN: Final = frozenset(
    [
        "host",
        "origin",
        "cookie",
        "authorization",
        "connection",
        "upgrade",
        "referer",
        "user-agent",
        "content-length",
        "content-type",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-forwarded-host",
    ]
)
_LONGEST_NAME: Final = 200
_LONGEST_GROUPS: Final = 8_000
_MOST_WARNINGS: Final = 100


@dataclass(frozen=True, slots=True)
class ProxyLogin:
    """The headers of the proxy.

    Attributes:
        user_header: The one that holds the person's name, such as ``X-Forwarded-User``.
        groups_header: The one that holds the person's groups, separated by commas; empty for none.

    Raises:
        RequestError: A header has another meaning.
    """

    user_header: str
    groups_header: str = ""

    def __post_init__(self) -> None:
        for name in (self.user_header, *self.names[1:]):
            if not _HEADER.fullmatch(name) or name.lower() in _TAKEN:
                raise RequestError(
                    f"{name!r} cannot be the header in which a proxy names people. Give one that only the proxy sets, "
                    "such as X-Forwarded-User.",
                    field="proxy_login",
                )
        if self.user_header.lower() == self.groups_header.lower():
            raise RequestError("The names and the groups of people need two headers.", field="proxy_login")

    @property
    def names(self) -> tuple[str, ...]:
        """The headers."""
        return tuple(filter(None, (self.user_header, self.groups_header)))


class ProxyAccess:
    """People whom a proxy names may open the pages.

    Args:
        rights: Their permissions.
        login: The headers.
        proxies: The proxies, by their addresses.
    """

    cookie = ""

    def __init__(self, rights: Rights, login: ProxyLogin, proxies: TrustedProxies) -> None:
        self._rights, self._login, self._proxies = rights, login, proxies
        self._secret = secrets.token_bytes(32)
        self._warned: set[str] = set()

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person whom the proxy names; None if the request does not come from it, or names nobody."""
        self.strip(request)
        name = _single(request, self._login.user_header)
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            return None
        groups = () if not self._login.groups_header else _groups(_single(request, self._login.groups_header))
        # The pages of one person have one session, which only this server knows.
        session = hmac.digest(self._secret, name.encode(), "sha256").hex()
        return Identity(
            session,
            name,
            KnownBy.PROXY,
            self._rights.commit,
            self._rights.sign,
            groups=groups,
            issuer="proxy",
            subject=name,
        )

    def strip(self, request: HTTPServerRequest) -> None:
        """Remove the headers from a request that does not come from the proxy."""
        if self._proxies.are_in_front_of(request):
            return
        for header in self._login.names:
            if header in request.headers:
                del request.headers[header]
                self._warn(str(request.remote_ip))

    def _warn(self, peer: str) -> None:
        if peer not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(peer)
            _log.warning("%s named a person in a header, and is not the proxy. It was ignored.", plain(peer, 60))


def _single(request: HTTPServerRequest, header: str) -> str:
    """Return the value of a header that is sent once; empty otherwise."""
    values = request.headers.get_list(header)
    if len(values) != 1:
        return ""
    try:
        return values[0].encode("latin-1").decode("utf-8").strip()
    except UnicodeError:
        return ""


def _groups(text: str) -> tuple[str, ...]:
    if len(text) > _LONGEST_GROUPS or not text.isprintable():
        return ()
    return tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
