"""The addresses at which people reach the server through a proxy: ``--public-url https://example.org/lake/``."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from tornado.httputil import HTTPServerRequest

from explorer.core.errors import RequestError

_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_PREFIX: Final = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True)
class PublicUrl:
    """An address of the server in browsers.

    Attributes:
        scheme: ``http`` or ``https``.
        name: The host in lower case, an IPv6 address in brackets.
        port: The TCP port.
        prefix: The path before all addresses of the server; empty, or with a slash before it and none after.
    """

    scheme: str
    name: str
    port: int
    prefix: str = ""

    @property
    def origin(self) -> str:
        """The origin that browsers send with messages of its pages."""
        port = "" if self.port == default_port(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{self.name}{port}"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it through TLS."""
        return self.scheme == "https"

    def __str__(self) -> str:
        """Return the URL."""
        return f"{self.origin}{self.prefix}/"


def default_port(scheme: str) -> int:
    """Return the default port of a scheme."""
    return _PORTS[scheme]


def read_public_url(text: str) -> PublicUrl:
    """Return the address that a URL names.

    Raises:
        RequestError: If it is not an http or https URL, or has parts that an address of a server cannot have.
    """
    try:
        parts = urlsplit(text.strip())
        name, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise _invalid(text) from None
    name = f"[{name}]" if ":" in name else name
    prefix = parts.path.rstrip("/")
    extra = parts.query or parts.fragment or parts.username is not None or parts.password is not None
    if parts.scheme not in _PORTS or not _NAME.fullmatch(name) or not _PREFIX.fullmatch(prefix) or extra:
        raise _invalid(text)
    if {".", ".."} & set(prefix.split("/")):
        raise _invalid(text)
    return PublicUrl(parts.scheme, name, port or default_port(parts.scheme), prefix)


def _invalid(text: str) -> RequestError:
    # A URL with a user and a password must not be repeated.
    shown = text if "@" not in text else "a URL with a user name"
    return RequestError(
        f"--public-url must be the address that people open, such as https://example.org/lake/, not {shown}. Give a "
        "scheme (http or https), a host, and a port and a path if there are any.",
        field="public_url",
    )


_log = logging.getLogger(__name__)
THIS_MACHINE: Final = ("127.0.0.0/8", "::1")
"""The proxies that are trusted by default if the server has a public URL."""
_NETWORK_OF_ONE_CLIENT: Final = 64
"""Bits: a client of IPv6 can use every address of such a network."""
_MOST_WARNINGS: Final = 100

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class TrustedProxies:
    """The proxies in front of one server.

    Args:
        networks: Their addresses. Empty, if clients reach the server directly.
    """

    def __init__(self, networks: Sequence[_Network] = ()) -> None:
        self._networks = tuple(networks)
        self._warned: set[str] = set()

    def are_in_front_of(self, request: HTTPServerRequest) -> bool:
        """Return whether a request comes from a trusted proxy, so that its X-Forwarded headers hold."""
        peer = _address(str(request.remote_ip))
        trusted = peer is not None and self._is_trusted(peer)
        if self._networks and not trusted and "X-Forwarded-For" in request.headers:
            self._warn(str(request.remote_ip))
        return trusted

    def client(self, request: HTTPServerRequest) -> str:
        """Return the network address that a request comes from: of the last peer that is not a trusted proxy."""
        peer = str(request.remote_ip)
        if self.are_in_front_of(request):
            # Each proxy appends the address of its peer. The rest is what the client sent, which proves nothing.
            for text in reversed(request.headers.get("X-Forwarded-For", "").split(",")):
                named = _address(text)
                if named is None:
                    break
                peer = str(named)
                if not self._is_trusted(named):
                    break
        return _network_of(peer)

    def _is_trusted(self, address: _Address) -> bool:
        return any(address in network for network in self._networks)

    def _warn(self, peer: str) -> None:
        if peer in self._warned or len(self._warned) >= _MOST_WARNINGS:
            return
        self._warned.add(peer)
        _log.warning(
            "The headers of %s are ignored, because it is not a trusted proxy. If it is your proxy, start the server "
            "with --trusted-proxy %s; otherwise, all its users share one delay after failed logins.", peer, peer
        )  # fmt: skip


def read_trusted_proxies(texts: Sequence[str]) -> TrustedProxies:
    """Return the proxies at some addresses or networks.

    Raises:
        RequestError: If a text is not an address or a network.
    """
    networks: list[_Network] = []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text.strip(), strict=False))
        except ValueError:
            raise RequestError(
                f"--trusted-proxy must be an IP address or a network, such as 10.0.0.5 or 10.0.0.0/24, not {text!r}.",
                field="trusted_proxy",
            ) from None
    return TrustedProxies(networks)


def _address(text: str) -> _Address | None:
    """Return the address in a text, which may have a port; an IPv4 address that is written as IPv6 becomes IPv4."""
    text = text.strip().strip('"').partition("%")[0]
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _network_of(text: str) -> str:
    address = _address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, _NETWORK_OF_ONE_CLIENT), strict=False))
    return text if address is None else str(address)
