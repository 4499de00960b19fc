"""The people who signed in at an issuer, until their sessions end; renewed with the issuer where it offers that."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

import msgspec
from tornado.httputil import HTTPServerRequest

from explorer.page.host import Identity, KnownBy
from explorer.web.serving.people.access import LoginSessions, Rights, cookie_name, presented
from explorer.web.serving.people.oidc.claims import SignedIn, signed_in
from explorer.web.serving.people.oidc.provider import Provider, SignInFailed, Tokens

_log = logging.getLogger(__name__)
_LOGIN_LASTS: Final = 600
"""Seconds within which a person signs in at the issuer."""
_RENEW_AGAIN: Final = 30.0
_MOST_USED: Final = 10_000
ASKING: Final = ThreadPoolExecutor(max_workers=4, thread_name_prefix="explorer-oidc")
"""Threads that wait for the issuer."""


class PendingLogin(msgspec.Struct, frozen=True):
    """A login that was begun in one browser, whose cookie holds it, signed.

    Attributes:
        state, nonce, verifier: What ties the answer, the token, and the code to it.
        next: The query of the page that was asked for.
        begun: Seconds since the epoch.
    """

    state: str
    nonce: str
    verifier: str
    next: str
    begun: float


@dataclass(frozen=True, slots=True)
class _Renewable:
    """A session: who it is of, when it ends, and the token that renews it."""

    person: SignedIn
    ends: float
    refresh: str = ""
    renews: float = float("inf")
    renewing: bool = False


class OidcAccess:
    """People who signed in at an issuer may open the pages.

    Args:
        rights: Their permissions.
        port: TCP port of the server.
        provider: The issuer.
        clock: Returns seconds.
    """

    def __init__(
        self, rights: Rights, port: int, provider: Provider, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.cookie = cookie_name(port)
        self.login_cookie = f"explorer-sign-in-{port}"
        self.provider = provider
        self.sessions = LoginSessions()
        self._rights, self._clock = rights, clock
        self._secret = secrets.token_bytes(32)
        self._used: dict[str, None] = {}
        self._known: dict[str, _Renewable] = {}

    def identity(self, request: HTTPServerRequest) -> Identity | None:
        """Return the person of the cookie of a request."""
        session_id = presented(request, self.cookie)
        known = self._known.get(session_id)
        if self.sessions.find(session_id) is None or known is None or self._clock() >= known.ends:
            self.end(session_id)
            return None
        if self._clock() >= known.renews and not known.renewing:
            self._known[session_id] = replace(known, renewing=True)
            ASKING.submit(self._renew, session_id, known)
        person = known.person
        return Identity(
            session_id,
            person.name,
            KnownBy.SINGLE_SIGN_ON,
            self._rights.commit,
            self._rights.sign,
            groups=person.groups,
            issuer=self.provider.settings.issuer,
            subject=person.subject,
            email=person.email,
        )

    def end(self, session_id: str) -> None:
        """End a session."""
        self.sessions.end(session_id)
        self._known.pop(session_id, None)

    # --- signing in

    def begin(self, redirect_uri: str, query: str) -> tuple[str, str]:
        """Return the address at which a person signs in, and the cookie of the login; waits for the issuer.

        Raises:
            SignInFailed: The issuer does not answer.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        login = PendingLogin(state, nonce, verifier, query, time.time())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(login.verifier.encode()).digest()).rstrip(b"=").decode()
        settings, endpoint = self.provider.settings, self.provider.metadata().authorization_endpoint
        asked = {
            "response_type": "code",
            "client_id": settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": settings.scope,
            "state": login.state,
            "nonce": login.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        body = base64.urlsafe_b64encode(msgspec.json.encode(login)).decode()
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}", f"{body}.{self._signature(body)}"

    def pending(self, cookie: str, state: str) -> PendingLogin:
        """Return the login that an answer of the issuer belongs to, once.

        Raises:
            SignInFailed: It was begun in another browser, too long ago, or is over.
        """
        body, _, signature = cookie.partition(".")
        genuine = secrets.compare_digest(signature.encode(), self._signature(body).encode())
        login = msgspec.json.decode(base64.urlsafe_b64decode(body), type=PendingLogin) if genuine else None
        if login is None or not secrets.compare_digest(login.state.encode(), state.encode()):
            raise _again("The answer belongs to a login that was not begun in this browser.")
        if time.time() - login.begun > _LOGIN_LASTS:
            raise _again("The login took longer than ten minutes.")
        if login.state in self._used:
            raise _again("The login is over.")
        self._used[login.state] = None
        if len(self._used) > _MOST_USED:
            del self._used[next(iter(self._used))]
        return login

    def finish(self, login: PendingLogin, code: str, redirect_uri: str) -> tuple[SignedIn, Tokens]:
        """Return who signed in, and the tokens; waits for the issuer.

        Raises:
            SignInFailed: The code or the token does not count, or the issuer does not answer.
        """
        tokens = self.provider.tokens(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": login.verifier,
            }
        )
        return signed_in(self.provider, tokens.id_token, nonce=login.nonce), tokens

    def keep(self, person: SignedIn, tokens: Tokens) -> str:
        """Begin a session; return its ID."""
        session_id = self.sessions.begin(person.name)
        ends = self._clock() + self.provider.settings.session_hours * 3600
        self._known[session_id] = self._renewable(person, tokens, ends)
        for gone in [known for known in self._known if not self.sessions.is_known(known)]:
            del self._known[gone]
        return session_id

    def _renewable(self, person: SignedIn, tokens: Tokens, ends: float) -> _Renewable:
        renews = self._clock() + max(tokens.expires_in * 0.8, _RENEW_AGAIN)
        return _Renewable(person, ends, tokens.refresh_token or "", renews if tokens.refresh_token else float("inf"))

    # --- renewal

    def _renew(self, session_id: str, known: _Renewable) -> None:
        """Ask the issuer whether the person still may, and for the groups; a silent issuer changes nothing yet."""
        try:
            tokens = self.provider.tokens({"grant_type": "refresh_token", "refresh_token": known.refresh})
            person = signed_in(self.provider, tokens.id_token, nonce=None) if tokens.id_token else known.person
            if person.subject != known.person.subject:
                raise _again("The issuer answered with another person.")
        except SignInFailed as error:
            if error.ended:
                _log.warning("The session of a person ended: %s. %s", error.title, error.message)
                self.end(session_id)
            else:
                _log.warning("A session could not be renewed: %s", error.message)
                self._replace(session_id, replace(known, renews=self._clock() + _RENEW_AGAIN))
            return
        except Exception:
            self.end(session_id)
            raise
        refresh = tokens.refresh_token or known.refresh
        tokens = msgspec.structs.replace(tokens, refresh_token=refresh)
        self._replace(session_id, self._renewable(person, tokens, known.ends))

    def _replace(self, session_id: str, renewed: _Renewable) -> None:
        if session_id in self._known:
            self._known[session_id] = renewed

    def _signature(self, body: str) -> str:
        return hmac.digest(self._secret, body.encode(), "sha256").hex()


def _again(message: str) -> SignInFailed:
    return SignInFailed("Another login", message, "Sign in again.")
