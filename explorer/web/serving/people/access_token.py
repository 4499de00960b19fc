"""The one-time token in the address that the server prints, which only a person at its terminal can read."""

from __future__ import annotations

import secrets
from collections.abc import Callable

__all__ = ["AccessToken"]


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
