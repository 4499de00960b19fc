"""The addresses at which people reach the server through a proxy: ``--public-url https://example.org/lake/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from explorer.core.errors import RequestError

__all__ = ["PublicUrl", "default_port", "read_public_url"]

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
        """The URL."""
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
