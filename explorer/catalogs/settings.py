"""The settings of a Unity Catalog: its address, how to sign in, and where its tables may be on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from explorer.core.errors import RequestError
from explorer.storage.roots import check_plain
from explorer.variables import UNITY_VARIABLES

URL_VARIABLE: Final = UNITY_VARIABLES["url"]
TOKEN_VARIABLE: Final = UNITY_VARIABLES["token"]
CLIENT_ID_VARIABLE: Final = UNITY_VARIABLES["client_id"]
CLIENT_SECRET_VARIABLE: Final = UNITY_VARIABLES["client_secret"]
OAUTH_URL_VARIABLE: Final = UNITY_VARIABLES["oauth_url"]
FOLDERS_VARIABLE: Final = UNITY_VARIABLES["folders"]
HTTP_VARIABLE: Final = UNITY_VARIABLES["allow_http"]
BASE_PATH: Final = "/api/2.1/unity-catalog"
_HERE: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_MOST_BYTES: Final = 1 << 16
_ON: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class CatalogSettings:
    """The settings of one catalog server; they are checked when they are made.

    Attributes:
        url: The server's address, ``https://host:8080``; with or without the path of its API.
        token: The bearer token; empty if none is sent.
        client_id, client_secret, oauth_url: OAuth client credentials, and the address that exchanges them for a token.
        folders: Folders of this machine in which tables of the catalog may be, besides the roots of a call.
        allow_http: Whether credentials may be sent over plain HTTP to another machine.

    Raises:
        RequestError: An address is not one of a server, or credentials would be sent over plain HTTP.
    """

    url: str
    token: str = field(default="", repr=False)
    client_id: str = field(default="", repr=False)
    client_secret: str = field(default="", repr=False)
    oauth_url: str = ""
    folders: tuple[str, ...] = ()
    allow_http: bool = False

    def __post_init__(self) -> None:
        for name, address in ((URL_VARIABLE, self.url), (OAUTH_URL_VARIABLE, self.oauth_url)):
            if address or name == URL_VARIABLE:
                self._check(name, address)
        if not is_token(self.token):
            raise RequestError(
                f"The token in {TOKEN_VARIABLE} contains a blank, a line break, or another character that no token "
                "has. Set it again.",
                field=TOKEN_VARIABLE,
            )
        if bool(self.client_id or self.client_secret) and not (
            self.client_id and self.client_secret and self.oauth_url
        ):
            raise RequestError(
                f"To sign in with OAuth client credentials, set {CLIENT_ID_VARIABLE}, {CLIENT_SECRET_VARIABLE} and "
                f"{OAUTH_URL_VARIABLE}, all three.",
                field=OAUTH_URL_VARIABLE,
            )

    @property
    def base(self) -> str:
        """The address of the API, without a slash at its end."""
        bare = self.url.rstrip("/")
        return bare if bare.endswith(BASE_PATH) else f"{bare}{BASE_PATH}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that no text may hold."""
        return tuple(sorted(filter(None, (self.token, self.client_secret)), key=len, reverse=True))

    def _check(self, name: str, address: str) -> None:
        check_plain(address)
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise RequestError(
                f"{name} is {address!r}, which is not the address of a server. Set it to an address such as "
                "https://catalog.example.org.",
                field=name,
                found=address,
            )
        signed = self.token or self.client_secret
        if signed and parts.scheme == "http" and parts.hostname not in _HERE and not self.allow_http:
            raise RequestError(
                f"{name} is {address!r}: the credentials would cross the network unencrypted. Use https://, or set "
                f"{HTTP_VARIABLE}=true if the network is safe.",
                field=name,
                found=address,
            )


def is_token(text: str) -> bool:
    """Return whether a text has only characters that a header can hold in a token."""
    return all("!" <= letter <= "~" for letter in text)


def settings_from(variables: Mapping[str, str] | None = None) -> CatalogSettings:
    """Return the settings that environment variables give.

    Args:
        variables: The variables; None for those of this process.

    Raises:
        RequestError: No catalog is set, or a setting is not valid.
    """
    given = os.environ if variables is None else variables
    url = given.get(URL_VARIABLE, "").strip()
    if not url:
        raise RequestError(
            f"No Unity Catalog is set. Set {URL_VARIABLE} to the address of its server, and {TOKEN_VARIABLE} to a "
            "token if it needs one.",
            field=URL_VARIABLE,
        )
    return CatalogSettings(
        url=url,
        token=_secret(given, "token"),
        client_id=given.get(CLIENT_ID_VARIABLE, "").strip(),
        client_secret=_secret(given, "client_secret"),
        oauth_url=given.get(OAUTH_URL_VARIABLE, "").strip(),
        folders=tuple(filter(None, given.get(FOLDERS_VARIABLE, "").split(os.pathsep))),
        allow_http=given.get(HTTP_VARIABLE, "").strip().lower() in _ON,
    )


def _secret(given: Mapping[str, str], key: str) -> str:
    """Return a secret of the variables: itself, or the content of the file that is named in its place.

    The file is read each time, as some programs renew the token in it.

    Raises:
        RequestError: The file cannot be read, or is not that of a secret.
    """
    if text := given.get(UNITY_VARIABLES[key], "").strip():
        return text
    variable = UNITY_VARIABLES[f"{key}_file"]
    if not (path := given.get(variable, "").strip()):
        return ""
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else "it is not text"
        raise RequestError(
            f"The file {path}, which {variable} names, cannot be read: {why}.", field=variable
        ) from error
    if not text or len(content) > _MOST_BYTES:
        raise RequestError(
            f"The file {path}, which {variable} names, {'is empty' if not text else 'is too long for a secret'}. Write "
            f"the {key.replace('_', ' ')} into it.",
            field=variable,
        )
    return text
