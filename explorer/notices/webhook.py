"""A webhook: a POST of the message, signed as Standard Webhooks has it (www.standardwebhooks.com).

Invariants: no redirect is followed; a request ends within its time limit; an answer's content is not read. The address
is in no text, as its path often is a secret: texts name the channel and the host.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from explorer.connections import ASKING, break_off, connections_to
from explorer.core.errors import ExplorerError, RequestError
from explorer.notices.channel import ChannelAnswer, OutgoingMessage
from explorer.notices.secret import read_secret
from explorer.storage.silence import apart
from explorer.variables import WEBHOOK_SECRET_VARIABLE

if TYPE_CHECKING:
    from http.client import HTTPConnection

CONNECT_SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 15.0
"""How long a receiver may be silent."""
LONGEST: Final = 30.0
"""How long a request may take in all."""
PREFIX: Final = "whsec_"
_SHORTEST_SECRET: Final = 24
_LONGEST_SECRET: Final = 64
_LONGEST_WAIT: Final = 24 * 3600.0
_GONE: Final = 410
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def signing_keys(text: str) -> tuple[bytes, ...]:
    """Return the keys of secrets such as ``whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD``, one a line.

    Raises:
        RequestError: One is not such a secret; no text repeats it.
    """
    keys = []
    for line in text.split():
        try:
            key = base64.b64decode(line.removeprefix(PREFIX), validate=True)
        except binascii.Error as error:
            raise _no_secret("is not Base64") from error
        if not _SHORTEST_SECRET <= len(key) <= _LONGEST_SECRET:
            raise _no_secret(f"has {len(key)} bytes")
        keys.append(key)
    return tuple(keys)


def _no_secret(what: str) -> RequestError:
    return RequestError(
        f"What signs a webhook {what}. It must be {PREFIX} and 24 to 64 random bytes as Base64, for example of: "
        "openssl rand -base64 32",
        field="secret_file",
    )


def signature(keys: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header ``webhook-signature``: one for each key, so that a secret can be replaced."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook: a `explorer.notices.channel.Channel`.

    Attributes:
        name: Its name in the configuration.
        url: Its address.
        secret_file: The file of the secrets that sign it, one a line; None for that of the environment variable.
        allow_http: Send over plain HTTP to another machine.
    """

    name: str
    url: str
    secret_file: str | None = None
    allow_http: bool = False

    def __repr__(self) -> str:
        """Name it, and never its address."""
        return f"Webhook({self.name!r})"

    @property
    def place(self) -> str:
        """Its host."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"

    def check(self) -> None:
        """Refuse an address or a secret that does not fit; nothing is sent.

        Raises:
            RequestError: With what is wrong; no text repeats the address or the secret.
        """
        try:
            parts = urlsplit(self.url)
            host, _ = parts.hostname, parts.port
        except ValueError as error:
            raise self._refused("its url is not an address") from error
        if parts.scheme not in {"http", "https"} or not host or not self.url.isascii() or not self.url.isprintable():
            raise self._refused("its url is not an address such as https://example.org/hook")
        if parts.username or parts.password:
            raise self._refused("its url has a user or a password")
        if parts.scheme == "http" and host not in _LOOPBACK and not self.allow_http:
            raise self._refused("its url is http. Use https, or set allow_http = true")
        if not self._keys():
            raise self._refused(f"it has no secret. Set secret_file, or {WEBHOOK_SECRET_VARIABLE}")

    def _refused(self, what: str) -> RequestError:
        return RequestError(f"The webhook {self.name!r} cannot be used: {what}.", field="webhooks")

    def _keys(self) -> tuple[bytes, ...]:
        return signing_keys(read_secret(self.secret_file, WEBHOOK_SECRET_VARIABLE, "webhooks.secret_file"))

    def send(self, outgoing: OutgoingMessage, now: float) -> ChannelAnswer:
        """Send a message, and return what came back."""
        try:
            self.check()
            keys = self._keys()
        except ExplorerError as error:
            return ChannelAnswer(False, error.message)
        from urllib3.exceptions import HTTPError

        headers = {
            "content-type": "application/json",
            "user-agent": "delta-table-explorer",
            "webhook-id": outgoing.id,
            "webhook-timestamp": str(int(now)),
            "webhook-signature": signature(keys, outgoing.id, int(now), outgoing.body),
        }
        used: list[HTTPConnection] = []
        try:
            return apart(partial(self._answer, headers, outgoing.body, used, now), LONGEST)
        except (HTTPError, OSError, ValueError) as error:
            for connection in used:
                break_off(connection)
            return ChannelAnswer(False, self._no_answer(error))

    def _answer(self, headers: dict[str, str], body: bytes, used: list[HTTPConnection], now: float) -> ChannelAnswer:
        import urllib3

        ASKING.connections = used
        parts = urlsplit(self.url)
        answer = connections_to(parts.scheme, parts.hostname or "").request(
            "POST",
            self.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=ANSWER_SECONDS),
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            return self._of(answer.status, answer.headers.get("retry-after", ""), now)
        finally:
            answer.close()

    def _of(self, status: int, retry_after: str, now: float) -> ChannelAnswer:
        if 200 <= status < 300:
            return ChannelAnswer(True, f"{self.place} answered {status}")
        text = f"{self.place} answered {status}"
        if status == _GONE:
            return ChannelAnswer(False, f"{text}: it wants no more messages", final=True)
        if 300 <= status < 400:
            text += ": it redirects, which is not followed"
        return ChannelAnswer(False, text, waiting_time(retry_after, now))

    def _no_answer(self, error: Exception) -> str:
        """Return why there is no answer; errors of urllib3 repeat the address."""
        from urllib3 import exceptions

        match error:
            case exceptions.SSLError():
                what = "its certificate cannot be verified, or TLS failed"
            case exceptions.NewConnectionError() | exceptions.ConnectTimeoutError():
                what = "it cannot be connected to"
            case exceptions.ProxyError():
                what = "the proxy of the environment did not connect to it"
            case exceptions.TimeoutError() | TimeoutError():
                what = "it did not answer in time"
            case _:
                what = "it ended the connection without an answer"
        return f"{self.place}: {what}"


def waiting_time(text: str, now: float) -> float | None:
    """Return the seconds of a header ``Retry-After``, a day at most; None if it says none."""
    if text.isascii() and text.strip().isdecimal():
        return min(float(text.strip()[:9]), _LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return min(max(aware.timestamp() - now, 0.0), _LONGEST_WAIT)
