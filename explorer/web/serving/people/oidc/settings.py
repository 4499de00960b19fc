"""The settings of single sign-on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from explorer.core.errors import RequestError

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """One issuer, and this server as its client.

    Attributes:
        issuer: The URL of the issuer, exactly as its tokens name it.
        client_id: The name of this client there.
        client_secret: Its secret; empty for a public client.
        scopes: What is asked for; ``openid`` is always among it.
        name_claim: The claim that holds a person's name. It must be unique, and not of the person's choice.
        group_claim: The claim that holds the person's groups.
        session_hours: After how many hours a person signs in again.

    Raises:
        RequestError: A value cannot be.
    """

    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile")
    name_claim: str = "preferred_username"
    group_claim: str = "groups"
    session_hours: float = 8.0

    def __post_init__(self) -> None:
        check_url(self.issuer, "The issuer")
        if not self.client_id:
            raise RequestError("Single sign-on needs the client_id that the issuer gave to this server.", field="oidc")
        if not all(_SCOPE.fullmatch(scope) for scope in self.scopes):
            raise RequestError("A scope of single sign-on is a word, such as profile.", field="oidc")

    @property
    def scope(self) -> str:
        """The scopes as a request has them."""
        return " ".join(dict.fromkeys(("openid", *self.scopes)))

    @property
    def host(self) -> str:
        """The host of the issuer, for people."""
        return urlsplit(self.issuer).netloc


def check_url(url: str, what: str) -> None:
    """Check that a URL of an issuer cannot be listened to on its way.

    Raises:
        RequestError: It is not an https URL, nor an http URL on this machine.
    """
    try:
        parts = urlsplit(url)
        secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        valid = secure and bool(parts.hostname) and parts.username is None and not parts.fragment
    except ValueError:
        valid = False
    if not valid:
        raise RequestError(
            f"{what} of single sign-on must be an https URL, such as https://login.example.org/realms/lake.",
            field="oidc",
        )
