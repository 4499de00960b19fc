"""Credentials in options, addresses and texts, and the same texts without them.

Stores and Spark repeat what they were sent in what they answer: keys, tokens, whole signed addresses. Invariants: no
text that leaves this program holds the value of a secret option, nor the user info or the query of an address; an
address that is given with credentials is refused before it is used, so none is in the name of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["HIDDEN", "concealed", "holds_credentials", "safe_address", "secrets_of", "without_credentials"]

HIDDEN: Final = "***"
"""What stands in place of a credential."""
_SECRET: Final = ("key", "secret", "token", "sas", "password", "proxy_url", "proxy-url")
_SWITCHES: Final = frozenset({"", "true", "false", "0", "1"})
# Azure writes a container where other addresses have a user: container@account.
_CONTAINERS: Final = r"(?:a(?:bfss?|dl)|wasbs?)"
_CONTAINER: Final = re.compile(_CONTAINERS, re.IGNORECASE)
_SCHEME: Final = r"\b[A-Za-z][A-Za-z0-9+.\-]*:/?/"
# A password may hold slashes and at signs, as keys of AWS do; a number after the colon is a port.
_PASSWORD: Final = re.compile(rf"({_SCHEME})[^\s/:@?#'\"<>]*:(?!\d+(?:[/?#\s]|$))(?:[^\s'\"<>]*@|[^\s@]*@)")
_USER: Final = re.compile(rf"(?!\b{_CONTAINERS}:)({_SCHEME})[^\s/:@?#'\"<>]+@", re.IGNORECASE)
_QUERY: Final = re.compile(rf"({_SCHEME}[^\s?#'\"<>]*)\?[^\s'\"<>#]*[^\s'\"<>#.,:]")
_FRAGMENT: Final = re.compile(rf"({_SCHEME}[^\s#'\"<>]*)#[^\s'\"<>]*=[^\s'\"<>]*")
# A value in the connection string of a store, a database or Spark Connect, or in a signed address that was cut apart.
_NAMED: Final = re.compile(
    r"(?i)\b((?:[\w.\-]*(?:secret|token|password|passwd|signature|credential|api[_\-]?key|access[_\-]?key|account[_\-.]?key)"
    r"[\w.\-]*|sig|sas|pwd|x-amz-\w[\w\-]*)=)(?!\*\*\*)[^\s&;,'\"<>)\]}]*[^\s&;,'\"<>)\]}.]"
)
_BEARER: Final = re.compile(r"(?i)\b(bearer|authorization:)\s+(?!\*\*\*)[\w.~+/=\-]{8,}")


def secrets_of(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values that no text may hold, longest first.

    Args:
        options: Options by name, or environment variables; their names say which are secret.
    """
    found = {
        value
        for name, value in options.items()
        if isinstance(value, str) and value.lower() not in _SWITCHES and any(word in name.lower() for word in _SECRET)
    }
    return tuple(sorted(found, key=len, reverse=True))


def concealed(text: str, secrets: Iterable[str]) -> str:
    """Return the text with ``***`` in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def without_credentials(text: str) -> str:
    """Return the text with ``***`` in place of the user info and the query of each address, and of named secrets."""
    if ":/" in text and ("@" in text or "?" in text or "#" in text):
        text = _PASSWORD.sub(rf"\1{HIDDEN}@", text)
        text = _USER.sub(rf"\1{HIDDEN}@", text)
        text = _QUERY.sub(rf"\1?{HIDDEN}", text)
        text = _FRAGMENT.sub(rf"\1#{HIDDEN}", text)
    if "=" in text:
        text = _NAMED.sub(rf"\1{HIDDEN}", text)
    return _BEARER.sub(rf"\1 {HIDDEN}", text) if "earer" in text or "uthorization" in text else text


def holds_credentials(address: str) -> bool:
    """Return whether an address has user info, a query or a fragment, which no address of a table needs."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        return False
    if "?" in rest or "#" in rest:
        return True
    # With a slash too many, what is behind it is still what its writer takes for the authority.
    authority = rest.lstrip("/").partition("/")[0]
    if "@" not in authority:
        # A password may hold a slash; what is behind the colon of a host is a number.
        user, colon, behind = authority.partition(":")
        return bool(user and colon) and not behind.isdecimal() and "@" in rest
    container = _CONTAINER.fullmatch(scheme) is not None and authority.count("@") == 1
    return not container or ":" in authority.partition("@")[0]


def safe_address(address: str) -> str:
    """Return one whole address without user info, query and fragment, whatever characters they hold."""
    if not holds_credentials(address):
        return address
    scheme, _, rest = address.partition("://")
    before, mark, _ = rest.partition("?") if "?" in rest else rest.partition("#")
    user, at, host = before.rpartition("@")
    return f"{scheme}://{HIDDEN if at and user else ''}{at}{host}{mark}{HIDDEN if mark else ''}"
