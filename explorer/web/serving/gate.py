"""Who may ask at all: the hosts, origins and documents that a request may name, before any handler sees it.

A page of another site whose name resolves to this machine (DNS rebinding) sends its own name as the host. A page that
is open beside this one sends its own origin with every message. Neither is answered.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tornado.httputil import HTTPServerRequest

from explorer.web.serving.public_urls import PublicUrl, default_port

__all__ = ["LOOPBACK", "Gate", "Refusal", "is_handshake"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104  # compared with, not listened on
_HOST: Final = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.IGNORECASE)
_READS: Final = ("GET", "HEAD")
# What a request names to Bokeh to choose its document.
_DOCUMENT_ARGUMENTS: Final = ("bokeh-session-id", "bokeh-token")
_DOCUMENT_HEADER: Final = "Bokeh-Session-Id"
_LONGEST_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, for the page that says so.

    Attributes:
        title: A few words.
        message: What happened.
        next_step: What to do.
        again: Whether the same page may open when it is opened again from the page of the refusal.
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
        public_urls: Where people reach it through a proxy.
    """

    def __init__(self, address: str, port: int, public_urls: Sequence[PublicUrl] = ()) -> None:
        self._port = port
        self._everywhere = address in _EVERYWHERE
        self._names = frozenset(map(_bracketed, _names_of(address)))
        self._public = tuple(public_urls)

    def refusal(self, request: HTTPServerRequest) -> Refusal | None:
        """Return why a request is refused; None if it may go on."""
        host = _parsed(request.headers.get("Host", ""))
        if host is None or not (self._is_own(host, request) or any(_is_at(host, url) for url in self._public)):
            return _unknown_host(request.headers.get("Host", ""))
        if any(name in request.arguments for name in _DOCUMENT_ARGUMENTS) or _DOCUMENT_HEADER in request.headers:
            return _FOREIGN_DOCUMENT
        if request.method in _READS and not is_handshake(request):
            return None
        return self._origin_refusal(request)

    def public_url(self, request: HTTPServerRequest) -> PublicUrl | None:
        """Return the public URL through which a request came; None if it came to the server's own address.

        Behind a proxy that changes the host, the proxy's own headers and the page's origin tell.
        """
        if not self._public:
            return None
        known = [_parsed(request.headers.get(name, "")) for name in ("Host", "X-Forwarded-Host")]
        origin = request.headers.get("Origin", "").lower()
        named = [url for host in known if host is not None for url in self._public if _is_at(host, url)]
        named += [url for url in self._public if url.origin == origin]
        if not named and request.headers.get("X-Forwarded-Proto", "").lower() == "https":
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
        # An address in numbers cannot be resolved to something else; it is ours if the request came in at it.
        return name in self._names or (self._everywhere and _same_address(name, _local_address(request)))

    def _origin_refusal(self, request: HTTPServerRequest) -> Refusal | None:
        given = request.headers.get_list("Origin")
        if len(given) != 1:
            return _NO_ORIGIN
        origin = given[0].lower()
        if origin in {url.origin for url in self._public}:
            return None
        scheme, separator, host_text = origin.partition("://")
        host = _parsed(host_text)
        if separator and scheme == "http" and host is not None and self._is_own(host, request):
            return None
        return _other_origin(given[0])


def is_handshake(request: HTTPServerRequest) -> bool:
    """Whether a request asks for a WebSocket."""
    return "websocket" in request.headers.get("Upgrade", "").lower() or "Sec-WebSocket-Key" in request.headers


def _names_of(address: str) -> tuple[str, ...]:
    if address in _EVERYWHERE:
        return (*LOOPBACK, socket.gethostname().lower(), socket.getfqdn().lower())
    return LOOPBACK if address in LOOPBACK else (address.lower(),)


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _parsed(text: str) -> tuple[str, int | None] | None:
    """The name, in lower case, and the port of a host as a header has it; None for a text that is none."""
    found = _HOST.fullmatch(text)
    return None if found is None else (found[1].lower(), int(found[2]) if found[2] else None)


def _is_at(host: tuple[str, int | None], url: PublicUrl) -> bool:
    """Whether a host is that of a public URL; proxies often leave the port out."""
    return host[0] == url.name and host[1] in (None, url.port)


def _same_address(name: str, address: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")) == ipaddress.ip_address(address)
    except ValueError:
        return False


def _local_address(request: HTTPServerRequest) -> str:
    """The address of this machine at which a request came in; empty if its connection is closed."""
    stream: Any = getattr(request.connection, "stream", None)
    try:
        return str(stream.socket.getsockname()[0]).partition("%")[0].removeprefix("::ffff:")
    except (AttributeError, OSError):
        return ""  # closed in the meantime: nobody reads the answer


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}\u2026"


def _unknown_host(host: str) -> Refusal:
    return Refusal(
        "Unknown host",
        f"The request names the host \u201c{_shown(host)}\u201d, which is not an address of this server.",
        "Open the address that the server printed at its start. Behind a proxy, start the server with "
        "--public-url and the address that people open, such as --public-url https://example.org/lake/.",
    )


def _other_origin(origin: str) -> Refusal:
    return Refusal(
        "Request from another site",
        f"The request comes from a page of \u201c{_shown(origin)}\u201d, which is not this server.",
        "Open the address that the server printed at its start. Behind a proxy, start the server with "
        "--public-url and the address that people open, such as --public-url https://example.org/lake/.",
    )


_NO_ORIGIN: Final = Refusal(
    "No origin",
    "The request does not say which page it comes from (it needs exactly one Origin header).",
    "Open the page in a browser. If it is behind a proxy, let the proxy pass the header Origin on.",
)
_FOREIGN_DOCUMENT: Final = Refusal(
    "Foreign session",
    "The request names the session of another page. Each page of this server has a session of its own.",
    "Open the address without bokeh-session-id and bokeh-token.",
)
