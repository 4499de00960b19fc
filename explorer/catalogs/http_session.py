"""Requests to a catalog's server: who is sent the token, how long an answer may take, how large it may be, what is
repeated.

Invariants: no redirect is followed, so no other host gets the token; a request ends within its time limit, however
slowly the answer comes; a request that changes something is sent once.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

import msgspec

from explorer.catalogs.refusals import no_answer, refusal, wrong_answer
from explorer.catalogs.settings import CatalogSettings, is_token
from explorer.connections import ASKING, break_off, connections_to
from explorer.core.errors import CatalogError
from explorer.storage.silence import apart, under_way

if TYPE_CHECKING:
    from http.client import HTTPConnection

    import urllib3

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 30.0
"""How long a server may be silent."""
LONGEST: Final = 60.0
"""How long an answer may take in all."""
MOST_BYTES: Final = 64 << 20
_TRIES: Final = 3
_BUSY: Final = frozenset({429, 502, 503, 504})
_LONGEST_PAUSE: Final = 5.0
_CHUNK: Final = 1 << 16
_EARLY: Final = 60.0
"""How many seconds before its end a token is replaced."""


class _Token(msgspec.Struct, frozen=True):
    """The answer of a token endpoint."""

    access_token: str
    expires_in: float = 3600.0


class HttpSession:
    """Connections to one catalog server; threads may share it.

    Args:
        settings: Where it is, and how to sign in.

    Attributes:
        settings: As given.
    """

    def __init__(self, settings: CatalogSettings) -> None:
        self.settings = settings
        self._connecting, self._signing_in = threading.Lock(), threading.Lock()
        self._connections: dict[str, urllib3.PoolManager] = {}
        self._known = settings
        self._until: float | None = None if settings.token or not settings.client_id else 0.0

    def get(self, path: str, query: Mapping[str, str] | None = None, body: object = None) -> bytes:
        """Return the answer to a request that changes nothing; it is repeated if the server is busy or silent.

        Raises:
            CatalogError: The server refused, failed, or did not answer.
        """
        for attempt in range(_TRIES):
            try:
                return self._sent("GET", path, query, body)
            except CatalogError as error:
                final = attempt + 1 == _TRIES or not (error.status in _BUSY or error.reason == "disconnected")
                if final:
                    raise
                time.sleep(min(_LONGEST_PAUSE, 0.2 * (1 << attempt) * (1 + random.random())))  # noqa: S311 - a pause
        raise AssertionError("the last try returns or raises")

    def post(self, path: str, body: object) -> bytes:
        """Return the answer to a request that changes something; it is sent once.

        Raises:
            CatalogError: As of `get`; without an answer, or with a status of 500 and above, the outcome is unknown.
        """
        return self._sent("POST", path, None, body)

    def _sent(self, method: str, path: str, query: Mapping[str, str] | None, body: object) -> bytes:
        headers = {"accept": "application/json"}
        token = self._current_token()
        if token:
            headers["authorization"] = f"Bearer {token}"
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = msgspec.json.encode(body)
        address = f"{self.settings.base}{path}"
        status, answer, location = self._exchange(method, address, query, headers, content)
        if 200 <= status < 300:
            return answer
        raise refusal(self._known, f"{method} {path}", status, answer, location)

    def _current_token(self) -> str:
        """Return the token; with client credentials one that is still good for a while."""
        if self._until is None:
            return self._known.token
        with self._signing_in:
            if time.monotonic() >= self._until:
                token = self._requested_token()
                # No text may hold this one either.
                self._known = replace(self.settings, token=token.access_token)
                self._until = time.monotonic() + max(token.expires_in - _EARLY, token.expires_in / 2)
            return self._known.token

    def _requested_token(self) -> _Token:
        import urllib3

        settings = self.settings
        headers = urllib3.make_headers(basic_auth=f"{settings.client_id}:{settings.client_secret}")
        headers |= {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
        fields = b"grant_type=client_credentials&scope=all-apis"
        status, answer, location = self._exchange("POST", settings.oauth_url, None, headers, fields)
        if status != 200:
            raise refusal(settings, "the request for a token", status, answer, location)
        try:
            token = msgspec.json.decode(answer, type=_Token)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise wrong_answer(settings, "the request for a token", "it has no access_token") from error
        if not is_token(token.access_token):
            raise wrong_answer(settings, "the request for a token", "its access_token holds a blank or a line break")
        return token

    def _exchange(
        self,
        method: str,
        address: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        content: bytes | None,
    ) -> tuple[int, bytes, str]:
        """Send one request; return status, content, and where a redirect leads."""
        from urllib3.exceptions import HTTPError

        full = f"{address}?{urlencode(query)}" if query else address
        began = time.monotonic()
        used: list[HTTPConnection] = []
        try:
            with under_way(self.settings.url):
                return apart(partial(self._answer, method, full, headers, content, used), LONGEST)
        except (HTTPError, OSError, ValueError) as error:
            for connection in used:
                break_off(connection)
            raise no_answer(self._known, error, time.monotonic() - began) from error

    def _answer(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str],
        content: bytes | None,
        used: list[HTTPConnection],
    ) -> tuple[int, bytes, str]:
        import urllib3

        ASKING.connections = used
        answer = self._connections_to(address).request(
            method,
            address,
            body=content,
            headers=dict(headers),
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            parts, size = [], 0
            for part in answer.stream(_CHUNK, decode_content=True):
                parts.append(part)
                size += len(part)
                if size > MOST_BYTES:
                    answer.close()
                    raise wrong_answer(self.settings, "The answer", f"it is larger than {MOST_BYTES >> 20} MiB")
            return answer.status, b"".join(parts), answer.headers.get("location", "")
        finally:
            answer.release_conn()

    def _connections_to(self, address: str) -> urllib3.PoolManager:
        """Return the connections to a server, through the proxy of the environment where one is set for it."""
        parts = urlsplit(address)
        host = f"{parts.scheme}://{parts.netloc}"
        with self._connecting:
            if host not in self._connections:
                self._connections[host] = connections_to(parts.scheme, parts.hostname or "")
            return self._connections[host]
