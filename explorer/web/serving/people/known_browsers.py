"""The mark of a browser in which a person has signed in: failures of others do not delay the person there."""

from __future__ import annotations

import hmac
import secrets
from typing import Final

__all__ = ["KnownBrowsers"]

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
