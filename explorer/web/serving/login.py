"""Signing in and out, by forms that need the right origin. After failures, attempts to sign in have to wait."""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import quote

from explorer.formatting import plain
from explorer.page.host import KnownBy
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.access import LoginAccess
from explorer.web.serving.people.failed_logins import FailedLogins, LoginAttempt

_log = logging.getLogger(__name__)
# One hash takes 64 MiB. Two at once are enough for people, and limit those who guess.
_HASHING: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="explorer-login")
_MOST_AT_ONCE: Final = 16
_LONGEST: Final = 1_000


class Login(PageHandler):
    """The page that asks for a name and a password.

    Args:
        access: The people who may sign in.
        failures: The failed logins of this server.
    """

    _hashing = 0

    def initialize(self, access: LoginAccess, failures: FailedLogins) -> None:
        """Take the arguments."""
        self._access = access
        self._failures = failures

    def get(self) -> None:
        """Show the form, or redirect a person who is signed in."""
        if self._access.identity(self.request) is not None:
            self.redirect(self._next(), status=303)
            return
        self._ask()

    async def post(self) -> None:
        """Check a name and a password."""
        name, password = (
            self.get_body_argument(field, "", strip=False)[: _LONGEST + 1] for field in ("name", "password")
        )
        attempt = self._attempt(name)
        wait = self._failures.wait(attempt)
        if wait > 0 or Login._hashing >= _MOST_AT_ONCE:
            seconds = math.ceil(wait) or 1
            self.set_header("Retry-After", str(seconds))
            self._ask(f"Too many failed attempts. Try again in {seconds} s.", status=429, name=name)
            return
        # Counted before it is checked, so that attempts that are sent at once also wait for each other.
        self._failures.count(attempt)
        Login._hashing += 1
        try:
            seal = await asyncio.get_running_loop().run_in_executor(
                _HASHING, self._access.users.verified, name, password
            )
        finally:
            Login._hashing -= 1
        if seal is None:
            _log.warning("A login failed: name %s, address %s", plain(name, 60), self.client)
            self.record_sign_in(name[:200], KnownBy.LOGIN, outcome="refused")
            self._ask("The name or the password is wrong.", status=403, name=name)
            return
        self._failures.forget(attempt)
        self._access.sessions.end(self.get_cookie(self._access.cookie) or "")
        if not attempt.known:
            self.keep_browser(self._access.browser_cookie, self._access.browsers.mark(name))
        self.keep_session(self._access.cookie, self._access.sessions.begin(name, seal))
        self.record_sign_in(name, KnownBy.LOGIN)
        self.redirect(self._next(), status=303)

    def _ask(self, problem: str = "", *, status: int = 200, name: str = "") -> None:
        self.set_status(status)
        again = self._next() if self.request.headers.get("Sec-Fetch-Site") == "cross-site" else ""
        self.answer_page("login", problem=problem, next=self._next(), name=name[:200], again=again)

    def _next(self) -> str:
        """Return the address of the requested page, which is always on this server."""
        query = quote(self.get_argument("next", "").partition("?")[2], safe="/?&=%+,:;@!$'()*~")
        return f"{self.home}?{query}" if query else self.home

    def _attempt(self, name: str) -> LoginAttempt:
        browser = self._access.browsers.browser_of(self.get_cookie(self._access.browser_cookie) or "", name)
        return LoginAttempt(name, browser or self.client, known=browser is not None)


class Logout(PageHandler):
    """Ends the login session, here and in the browser."""

    def initialize(self, access: LoginAccess) -> None:
        """Take the sessions."""
        self._access = access

    def get(self) -> None:
        """Ask for confirmation, because a link from another site must not sign anyone out."""
        identity = self._access.identity(self.request)
        self.answer_page("logout", name="" if identity is None else identity.name)

    def post(self) -> None:
        """Sign out, and close the open pages of the session."""
        session_id = self.get_cookie(self._access.cookie) or ""
        if (identity := self._access.identity(self.request)) is not None:
            self.record_sign_in(identity.name, identity.known_by, kind="sign-out")
        self._access.sessions.end(session_id)
        self.application.close_sockets_of(session_id)
        self.drop_session(self._access.cookie)
        self.redirect(f"{self.home}login", status=303)
