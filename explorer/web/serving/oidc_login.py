"""Signing in at an issuer: the way there, the way back, and signing out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

from explorer.page.host import KnownBy
from explorer.web.serving.gate import PageRefusal
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.oidc.access import ASKING, OidcAccess
from explorer.web.serving.people.oidc.provider import SignInFailed, names_error

_log = logging.getLogger(__name__)
_LONGEST: Final = 8_000
Result = TypeVar("Result")


class OidcHandler(PageHandler):
    """What the pages of single sign-on share."""

    SUPPORTED_METHODS = ("GET",)

    def initialize(self, access: OidcAccess) -> None:
        """Take the people."""
        self._access = access

    @property
    def _callback(self) -> str:
        """The address to which the issuer sends the person back."""
        url = self.application.gate.public_url(self.request)
        return f"http://{self.request.host}/login/callback" if url is None else f"{url}login/callback"

    async def _asked(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(ASKING, work)

    def _next(self, text: str) -> str:
        """Return the address of a page of this server."""
        query = quote(text.partition("?")[2][:_LONGEST], safe="/?&=%+,:;@!$'()*~")
        return f"{self.home}?{query}" if query else self.home

    def _failed(self, error: SignInFailed) -> None:
        _log.warning("A sign-in failed: %s (address %s)", error.title, self.client)
        self.record_sign_in("", KnownBy.SINGLE_SIGN_ON, outcome="refused", detail=error.title)
        self.answer_refusal(PageRefusal(error.title, error.message, error.next_step, status=error.status))


class OidcLogin(OidcHandler):
    """The page that offers to sign in."""

    def get(self) -> None:
        """Show where to sign in, or redirect a person who is signed in."""
        text = self.get_argument("next", "")
        if self._access.identity(self.request) is not None:
            self.redirect(self._next(text), status=303)
            return
        start = f"{self.home}login/start?{urlencode({'next': text[:_LONGEST]})}" if text else f"{self.home}login/start"
        again = self._next(text) if self.request.headers.get("Sec-Fetch-Site") == "cross-site" else ""
        self.answer_page("oidc-login", start=start, host=self._access.provider.settings.host, again=again)


class OidcStart(OidcHandler):
    """The way to the issuer."""

    async def get(self) -> None:
        """Redirect to the issuer."""
        text, callback = self.get_argument("next", "")[:_LONGEST], self._callback
        try:
            address, cookie = await self._asked(lambda: self._access.begin(callback, text))
        except SignInFailed as error:
            self._failed(error)
            return
        self.keep_sign_in(self._access.login_cookie, cookie)
        self.redirect(address, status=303)


class OidcCallback(OidcHandler):
    """The way back from the issuer."""

    async def get(self) -> None:
        """Begin a session, and go on to the page that was asked for."""
        access, callback = self._access, self._callback
        cookie, state = self.get_cookie(access.login_cookie) or "", self.get_argument("state", "")
        self.drop_session(access.login_cookie)
        try:
            login = access.pending(cookie, state)
            self._check_answer()
            code = self.get_argument("code", "")
            person, tokens = await self._asked(lambda: access.finish(login, code, callback))
        except SignInFailed as error:
            self._failed(error)
            return
        access.end(self.get_cookie(access.cookie) or "")
        self.keep_session(access.cookie, access.keep(person, tokens))
        self.record_sign_in(person.name, KnownBy.SINGLE_SIGN_ON)
        # The browser sends the new cookie only with a request that a page of this server begins.
        self.answer_page("oidc-done", name=person.name, next=self._next(login.next))

    def _check_answer(self) -> None:
        """Raise `SignInFailed` if the issuer, or another one, answers with a refusal."""
        issuer = self._access.provider.settings.issuer
        if self.get_argument("iss", issuer) != issuer:
            raise SignInFailed("Another issuer", "The answer comes from another sign-in service.", "Sign in again.")
        if "error" in self.request.arguments:
            code = self.get_argument("error", "")
            known = code if names_error(code) else "no reason"
            raise SignInFailed(
                "Not signed in", f"The sign-in service answered with {known}.", "Sign in again, or as another person."
            )


class OidcLogout(PageHandler):
    """Ends the session, here and in the browser; the page links to the end of the one at the issuer."""

    SUPPORTED_METHODS = ("GET", "POST")

    def initialize(self, access: OidcAccess) -> None:
        """Take the people."""
        self._access = access

    def get(self) -> None:
        """Ask for confirmation, because a link from another site must not sign anyone out."""
        identity = self._access.identity(self.request)
        self.answer_page("logout", name="" if identity is None else identity.name)

    async def post(self) -> None:
        """Sign out, and close the open pages of the session."""
        session_id = self.get_cookie(self._access.cookie) or ""
        if (identity := self._access.identity(self.request)) is not None:
            self.record_sign_in(identity.name, identity.known_by, kind="sign-out")
        self._access.end(session_id)
        self.application.close_sockets_of(session_id)
        self.drop_session(self._access.cookie)
        try:
            metadata = await asyncio.get_running_loop().run_in_executor(ASKING, self._access.provider.metadata)
            end = (
                metadata.end_session_endpoint
                if metadata.end_session_endpoint.startswith(("https://", "http://"))
                else ""
            )
        except SignInFailed:
            end = ""  # the session here has ended all the same
        client = self._access.provider.settings.client_id
        end = end and f"{end}{'&' if '?' in end else '?'}{urlencode({'client_id': client})}"
        self.answer_page("oidc-out", end=end, host=self._access.provider.settings.host)


PAGES: Final = (
    ("/login", OidcLogin),
    ("/login/start", OidcStart),
    ("/login/callback", OidcCallback),
    ("/logout", OidcLogout),
)
"""The addresses of single sign-on."""
