"""The issuer: what it says of itself, its keys, and the tokens that it gives; each call is bounded in time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar
from urllib.parse import urlencode

import jwt
import msgspec
import urllib3

from explorer.core.errors import ExplorerError
from explorer.web.serving.people.oidc.settings import OidcSettings, check_url

_TIMEOUT: Final = urllib3.Timeout(connect=5.0, read=10.0)
_LARGEST: Final = 1 << 20
_KNOWN_FOR: Final = 3600.0
"""Seconds after which the issuer is asked again what it is."""
_REFUSALS: Final = frozenset({400, 401, 403})
"""The status of a refusal, which names its error (RFC 6749, section 5.2)."""
_FOR_A_WHILE: Final = frozenset({"server_error", "temporarily_unavailable"})
_KEYS_AGAIN: Final = 30.0
"""Seconds between two requests for the keys, whatever tokens name."""
Answer = TypeVar("Answer")
_ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signatures with a public key alone: a secret that both sides have, or none, proves nothing here."""


class SignInFailed(Exception):
    """Why a person could not sign in, in words, and what to do next.

    Attributes:
        title: Two to five words.
        message: What happened.
        next_step: What to do.
        status: The HTTP status.
        ended: The issuer refuses the person; otherwise it may be worth trying again.
    """

    def __init__(self, title: str, message: str, next_step: str, *, status: int = 403, ended: bool = True) -> None:
        super().__init__(f"{title}: {message}")
        self.title, self.message, self.next_step, self.status, self.ended = title, message, next_step, status, ended


class IssuerMetadata(msgspec.Struct, frozen=True):
    """What an issuer says of itself (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)


class Tokens(msgspec.Struct, frozen=True):
    """The answer of the token endpoint (OpenID Connect Core 1.0, section 3.1.3.3)."""

    id_token: str = ""
    refresh_token: str | None = None
    expires_in: float = 300.0


class Provider:
    """One issuer; its methods wait for it, so they belong on a thread.

    Args:
        settings: The issuer, and this client.
        clock: Returns seconds.
    """

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self._clock = clock
        self._http = urllib3.PoolManager(timeout=_TIMEOUT, retries=False, maxsize=4)
        self._lock = threading.Lock()
        self._metadata: tuple[IssuerMetadata, float] | None = None
        self._keys: tuple[jwt.PyJWKSet, float] | None = None

    def metadata(self) -> IssuerMetadata:
        """Return what the issuer says of itself.

        Raises:
            SignInFailed: It does not answer, or is another one.
        """
        with self._lock:
            known = self._metadata
        if known is not None and self._clock() - known[1] < _KNOWN_FOR:
            return known[0]
        url = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
        metadata = self._decoded(self._ask("GET", url), IssuerMetadata)
        if metadata.issuer != self.settings.issuer:
            raise self._odd(f"It calls itself {metadata.issuer[:200]!r}, not {self.settings.issuer!r}.")
        for address in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri):
            try:
                check_url(address, "An address")
            except ExplorerError as error:
                raise self._odd("It names an address without TLS.") from error
        with self._lock:
            self._metadata = metadata, self._clock()
        return metadata

    def tokens(self, form: Mapping[str, str]) -> Tokens:
        """Return the tokens for a code, or for a refresh token.

        Raises:
            SignInFailed: The issuer refuses, or does not answer.
        """
        metadata, settings = self.metadata(), self.settings
        fields, headers = {"client_id": settings.client_id, **form}, {"Accept": "application/json"}
        if settings.client_secret and "client_secret_basic" in metadata.token_endpoint_auth_methods_supported:
            pair = ":".join(urlencode({"": text})[1:] for text in (settings.client_id, settings.client_secret))
            headers |= urllib3.make_headers(basic_auth=pair)
        elif settings.client_secret:
            fields["client_secret"] = settings.client_secret
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._decoded(self._ask("POST", metadata.token_endpoint, urlencode(fields), headers), Tokens)

    def key(self, token: str) -> tuple[jwt.PyJWK, list[str]]:
        """Return the key that a token names, and the algorithms that it may be signed with.

        Raises:
            SignInFailed: The issuer has no such key, or does not answer.
        """
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise _invalid("it is not a signed token") from error
        allowed = sorted(_ALGORITHMS & set(self.metadata().id_token_signing_alg_values_supported))
        if header.get("alg") not in allowed:
            raise _invalid(f"it is not signed with {' or '.join(allowed) or 'a public key'}")
        named = header.get("kid")
        key = _key_of(self._key_set(), named) or _key_of(self._key_set(again=True), named)
        if key is None:
            raise _invalid("it is signed with a key that the issuer does not have")
        return key, allowed

    def _key_set(self, *, again: bool = False) -> jwt.PyJWKSet:
        with self._lock:
            known = self._keys
        lasts = _KEYS_AGAIN if again else _KNOWN_FOR
        if known is not None and self._clock() - known[1] < lasts:
            return known[0]
        content = self._ask("GET", self.metadata().jwks_uri)
        try:
            keys = jwt.PyJWKSet.from_dict(self._decoded(content, dict[str, Any]))
        except jwt.PyJWTError as error:
            raise self._odd("Its keys cannot be read.") from error
        with self._lock:
            self._keys = keys, self._clock()
        return keys

    def _ask(self, method: str, url: str, body: str | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        try:
            answer = self._http.request(method, url, body=body, headers=headers, redirect=False, preload_content=False)
            try:
                content = answer.read(_LARGEST + 1)
            finally:
                answer.release_conn()
        except urllib3.exceptions.HTTPError as error:
            raise self._silent(type(error).__name__) from error
        if answer.status >= 500:
            raise self._silent(f"HTTP {answer.status}")
        if answer.status != 200 or len(content) > _LARGEST:
            self._refuse(answer.status, content)
        return bytes(content)

    def _refuse(self, status: int, content: bytes) -> NoReturn:
        try:
            code = msgspec.json.decode(content, type=dict[str, Any]).get("error")
        except (msgspec.MsgspecError, UnicodeDecodeError):
            code = None
        # Anything else may come from a proxy, a limit of requests, or an issuer that is still starting.
        if status not in _REFUSALS or not names_error(code) or code in _FOR_A_WHILE:
            raise self._silent(f"HTTP {status}")
        raise SignInFailed(
            "Sign-in refused",
            f"The sign-in service {self.settings.host} refused with {code} (HTTP {status}).",
            "Sign in again. If it refuses again, ask the people who run it whether this client is registered with this "
            "address and this secret.",
        )

    def _decoded(self, content: bytes, kind: type[Answer]) -> Answer:
        try:
            # Some issuers write numbers as texts.
            return msgspec.json.decode(content, type=kind, strict=False)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._odd("Its answer is not that of OpenID Connect.") from error

    def _silent(self, why: str) -> SignInFailed:
        return SignInFailed(
            "The sign-in service does not answer",
            f"{self.settings.host} could not be asked ({why}). People who are signed in can go on.",
            "Try again in a minute. If it lasts, tell the people who run the sign-in service.",
            status=502,
            ended=False,
        )

    def _odd(self, why: str) -> SignInFailed:
        return SignInFailed(
            "Odd sign-in service",
            f"{self.settings.host} does not answer as an issuer of OpenID Connect. {why}",
            "Tell the people who run this server: the issuer in its configuration may be wrong.",
            status=502,
            ended=False,
        )


def names_error(code: object) -> bool:
    """Return whether a text is the name of an error, such as ``invalid_grant``, that may be shown as it is."""
    return isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum() and len(code) < 60


def _key_of(keys: jwt.PyJWKSet, named: object) -> jwt.PyJWK | None:
    """Return the key of a name; a token that names none is of the only key."""
    usable = [key for key in keys.keys if key.public_key_use in (None, "sig")]
    if named is None:
        return usable[0] if len(usable) == 1 else None
    return next((key for key in usable if key.key_id == named), None)


def _invalid(why: str) -> SignInFailed:
    return SignInFailed(
        "Invalid token", f"The token of the sign-in service does not count: {why}.", "Sign in again.", ended=True
    )
