"""Signing in and out: forms of our own, sent with a right origin, and slower after each failure."""

from __future__ import annotations

import asyncio
import logging
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import quote

from explorer.formatting import plain
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.access import LoginAccess
from explorer.web.serving.people.failed_logins import FailedLogins

__all__ = ["Login", "Logout"]

_log = logging.getLogger(__name__)
# One hash takes 64 MiB: two at once are enough for people, and no more for those who guess.
_HASHING: Final = ThreadPoolExecutor(max_workers=2, thread_name_prefix="explorer-login")
_MOST_AT_ONCE: Final = 16
_LONGEST: Final = 1_000


class Login(PageHandler):
    """The page that asks for a name and a password.

    Args:
        access: Who may sign in.
        failures: Those of this server.
    """

    _hashing = 0

    def initialize(self, access: LoginAccess, failures: FailedLogins) -> None:
        """Take what is checked against."""
        self._access = access
        self._failures = failures

    def get(self) -> None:
        """Show the form; someone who is signed in goes on."""
        if self._access.identity(self.request) is not None:
            self.redirect(self._next(), status=303)
            return
        self._ask()

    async def post(self) -> None:
        """Check a name and a password."""
        name, password = (
            self.get_body_argument(field, "", strip=False)[: _LONGEST + 1] for field in ("name", "password")
        )
        address = self._peer()
        wait = self._failures.wait(name, address)
        if wait > 0 or Login._hashing >= _MOST_AT_ONCE:
            seconds = math.ceil(wait) or 1
            self.set_header("Retry-After", str(seconds))
            self._ask(f"Too many failed attempts. Try again in {seconds} s.", status=429, name=name)
            return
        # Counted before it is checked: attempts sent at once wait for each other as those sent one by one.
        self._failures.count(name, address)
        Login._hashing += 1
        try:
            seal = await asyncio.get_running_loop().run_in_executor(
                _HASHING, self._access.users.verified, name, password
            )
        finally:
            Login._hashing -= 1
        if seal is None:
            _log.warning("A login failed: name %s, address %s", plain(name, 60), address)
            self._ask("The name or the password is wrong.", status=403, name=name)
            return
        self._failures.forget(name, address)
        self._access.sessions.end(self.get_cookie(self._access.cookie) or "")
        self.keep_session(self._access.cookie, self._access.sessions.begin(name, seal))
        self.redirect(self._next(), status=303)

    def _ask(self, problem: str = "", *, status: int = 200, name: str = "") -> None:
        self.set_status(status)
        again = self._next() if self.request.headers.get("Sec-Fetch-Site") == "cross-site" else ""
        self.answer_page("login", problem=problem, next=self._next(), name=name[:200], again=again)

    def _next(self) -> str:
        """The page that was asked for, below the list of tables; never an address elsewhere."""
        query = quote(self.get_argument("next", "").partition("?")[2], safe="/?&=%+,:;@!$'()*~")
        return f"{self.home}?{query}" if query else self.home

    def _peer(self) -> str:
        """The address that failures are counted for: behind a proxy the one that it names last."""
        if self.application.gate.public_url(self.request) is None:
            return str(self.request.remote_ip)
        named = self.request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
        return named[:60] or str(self.request.remote_ip)


class Logout(PageHandler):
    """Ends the login session, here and in the browser."""

    def initialize(self, access: LoginAccess) -> None:
        """Take the sessions."""
        self._access = access

    def get(self) -> None:
        """Ask: a link from elsewhere must not sign anyone out."""
        identity = self._access.identity(self.request)
        self.answer_page("logout", name="" if identity is None else identity.name)

    def post(self) -> None:
        """Sign out; pages of the session that are still open are closed."""
        session_id = self.get_cookie(self._access.cookie) or ""
        self._access.sessions.end(session_id)
        self.application.close_sockets_of(session_id)
        self.drop_session(self._access.cookie)
        self.redirect(f"{self.home}login", status=303)
