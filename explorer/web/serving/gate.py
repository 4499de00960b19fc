"""The hosts, origins, and documents that a request may name, checked before any handler sees the request.

A page of another site whose name resolves to this machine (DNS rebinding) sends its own name as the host. A page of
another site in the same browser sends its own origin with every message. Both are refused. A page may send messages
only to the address that it was opened at, even if the server has several addresses.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tornado.httputil import HTTPServerRequest

from explorer.web.serving.public_urls import PublicUrl, TrustedProxies, default_port

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104  # compared with, not listened on
_HOST: Final = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.IGNORECASE)
_READS: Final = ("GET", "HEAD")
_SAME_SITE: Final = ("same-origin", "none")
# By these, a request can name another document to Bokeh.
_DOCUMENT_ARGUMENTS: Final = ("bokeh-session-id", "bokeh-token")
_DOCUMENT_HEADER: Final = "Bokeh-Session-Id"
_LONGEST_SHOWN: Final = 100
_OPEN_OURS: Final = (
    "Open the address that the server printed at its start. Behind a proxy, start the server with --public-url and the "
    "address that people open, for example --public-url https://example.org/lake/."
)


@dataclass(frozen=True, slots=True)
class PageRefusal:
    """Why a request is refused, as its page shows it.

    Attributes:
        title: Two to five words.
        message: What happened.
        next_step: What to do next.
        again: Whether the page offers a link to itself, which may open.
        status: The HTTP status.
    """

    title: str
    message: str
    next_step: str
    again: bool = False
    status: int = 403


class Gate:
    """The hosts and origins of one server.

    Args:
        address: Where the server listens.
        port: TCP port.
        public_urls: The addresses at which people reach it through a proxy.
        proxies: The proxies whose headers are believed.

    Attributes:
        proxies: As given.
    """

    def __init__(
        self,
        address: str,
        port: int,
        public_urls: Sequence[PublicUrl] = (),
        proxies: TrustedProxies | None = None,
    ) -> None:
        self.proxies = TrustedProxies() if proxies is None else proxies
        self._port = port
        self._everywhere = address in _EVERYWHERE
        self._names = frozenset(map(_bracketed, _names_of(address)))
        self._public = tuple(public_urls)

    def refusal(self, request: HTTPServerRequest) -> PageRefusal | None:
        """Return why a request is refused; None if it is not."""
        host = _parsed(request.headers.get("Host", ""))
        if host is None or not (self._is_own(host, request) or any(_is_at(host, url) for url in self._public)):
            return _unknown_host(request.headers.get("Host", ""))
        if any(name in request.arguments for name in _DOCUMENT_ARGUMENTS) or _DOCUMENT_HEADER in request.headers:
            return _FOREIGN_DOCUMENT
        if request.method in _READS and not is_handshake(request):
            return None
        return self._origin_refusal(request, host)

    def public_url(self, request: HTTPServerRequest) -> PublicUrl | None:
        """Return the public URL through which a request came; None if it came to the server's own address.

        If a proxy changes the host, its own headers and the page's origin name the URL.
        """
        if not self._public:
            return None
        named = self._named_by_host(request)
        origin = request.headers.get("Origin", "").lower()
        named = [url for url in named if url.origin == origin] or named
        named = named or [url for url in self._public if url.origin == origin]
        if not named and self._forwarded(request, "X-Forwarded-Proto").lower() == "https":
            named = [url for url in self._public if url.is_secure]
        return named[0] if named else None

    def inner_path(self, path: str) -> str:
        """Return a path without the prefix of a public URL, as some proxies leave it in place."""
        for url in self._public:
            if url.prefix and (path == url.prefix or path.startswith(f"{url.prefix}/")):
                return path[len(url.prefix) :]
        return path

    def _is_own(self, host: tuple[str, int | None], request: HTTPServerRequest) -> bool:
        name, port = host
        if (port or default_port("http")) != self._port:
            return False
        # A numeric address cannot be resolved to another one. It is ours if the request came in at it.
        return name in self._names or (self._everywhere and _same_address(name, _local_address(request)))

    def _named_by_host(self, request: HTTPServerRequest) -> list[PublicUrl]:
        """Return the public URLs at the host of a request, or else at the host that a trusted proxy reports."""
        for text in (request.headers.get("Host", ""), self._forwarded(request, "X-Forwarded-Host")):
            host = _parsed(text)
            named = [] if host is None else [url for url in self._public if _is_at(host, url)]
            if named:
                return named
        return []

    def _forwarded(self, request: HTTPServerRequest, name: str) -> str:
        """Return a header that only a trusted proxy may set."""
        return request.headers.get(name, "") if self.proxies.are_in_front_of(request) else ""

    def _origin_refusal(self, request: HTTPServerRequest, host: tuple[str, int | None]) -> PageRefusal | None:
        given = request.headers.get_list("Origin")
        if len(given) != 1:
            return _NO_ORIGIN
        # Browsers say it themselves, whatever a proxy made of the host.
        if request.headers.get("Sec-Fetch-Site", "same-origin").lower() not in _SAME_SITE:
            return _other_origin(given[0])
        origin = given[0].lower()
        public = {url.origin for url in self._public}
        named = {url.origin for url in self._named_by_host(request)}
        if origin in named or (not named and _is_at_own(origin, host)):
            return None
        if named or origin not in public:
            return _other_origin(given[0])
        # The proxy changed the host, and does not report the host that the browser asked.
        return None if len(public) == 1 else _LOST_HOST


def is_handshake(request: HTTPServerRequest) -> bool:
    """Return whether a request opens a WebSocket."""
    return "websocket" in request.headers.get("Upgrade", "").lower() or "Sec-WebSocket-Key" in request.headers


def _is_at_own(origin: str, host: tuple[str, int | None]) -> bool:
    """Return whether an origin is that of a host of the server, which knows only HTTP."""
    scheme, _, text = origin.partition("://")
    page = _parsed(text)
    port = default_port("http")
    return scheme == "http" and page is not None and (page[0], page[1] or port) == (host[0], host[1] or port)


def _names_of(address: str) -> tuple[str, ...]:
    if address in _EVERYWHERE:
        return (*LOOPBACK, socket.gethostname().lower(), socket.getfqdn().lower())
    return LOOPBACK if address in LOOPBACK else (address.lower(),)


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _parsed(text: str) -> tuple[str, int | None] | None:
    """Return the name, in lower case, and the port of a host; None if the text is not a host."""
    match = _HOST.fullmatch(text)
    return None if match is None else (match[1].lower(), int(match[2]) if match[2] else None)


def _is_at(host: tuple[str, int | None], url: PublicUrl) -> bool:
    """Return whether a host is that of a public URL; proxies often omit the port."""
    return host[0] == url.name and host[1] in (None, url.port)


def _same_address(name: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")) == ipaddress.ip_address(address)
    except ValueError:
        return False


def _local_address(request: HTTPServerRequest) -> str:
    """Return the address of this machine at which a request came in; empty if its connection is closed."""
    stream: Any = getattr(request.connection, "stream", None)
    try:
        return str(stream.socket.getsockname()[0]).partition("%")[0].removeprefix("::ffff:")
    except (AttributeError, OSError):
        return ""  # the connection was closed in the meantime


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}\u2026"


def _unknown_host(host: str) -> PageRefusal:
    return PageRefusal(
        "Unknown host",
        f"The request names the host \u201c{_shown(host)}\u201d, which is not an address of this server.",
        _OPEN_OURS,
    )


def _other_origin(origin: str) -> PageRefusal:
    return PageRefusal(
        "Request from another site",
        f"The request comes from a page of \u201c{_shown(origin)}\u201d, which is not this server.",
        _OPEN_OURS,
    )


_NO_ORIGIN: Final = PageRefusal(
    "No origin",
    "The request does not name the page that it comes from: it needs exactly one Origin header.",
    "Open the page in a browser. If it is behind a proxy, let the proxy pass on the header Origin.",
)
_LOST_HOST: Final = PageRefusal(
    "Unknown public address",
    "The proxy changed the host of the request, and the server has several public addresses. It cannot tell which one "
    "the page was opened at.",
    "Let the proxy pass on the header Host, or report it in X-Forwarded-Host. If the proxy is on another machine, "
    "start the server with --trusted-proxy and the address of the proxy.",
)
_FOREIGN_DOCUMENT: Final = PageRefusal(
    "Foreign session",
    "The request names the session of another page. Each page of this server has a session of its own.",
    "Open the address without bokeh-session-id and bokeh-token.",
)
