"""The one-time token in the address that the server prints, as Jupyter does: who has it is at the terminal."""

from __future__ import annotations

import secrets
from collections.abc import Callable

__all__ = ["AccessToken"]


class AccessToken:
    """A token that opens the server to one browser; then there is another one.

    Args:
        announce: Called with each token, for the address that is printed.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._token = ""

    def renew(self) -> None:
        """Make a token, and print its address; the one before is worth nothing any more."""
        self._token = secrets.token_urlsafe(24)
        self._announce(self._token)

    def spend(self, token: str) -> bool:
        """Whether this is the token; it opens the server once."""
        if not self._token or not secrets.compare_digest(token.encode(), self._token.encode()):
            return False
        self.renew()
        return True
