"""The pages: a document for each request, which belongs to the person who sent it, and the token of its socket.

A token is signed with a key that is derived from the secret of the process and the login session of the request, so it
opens a socket only for the same person. It contains the requested page, and nothing of the login.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from bokeh.core.types import ID
from bokeh.server.contexts import ApplicationContext
from bokeh.util.token import generate_jwt_token, generate_session_id, get_session_id
from panel.io.resources import Resources
from panel.io.server import server_html_page_for_session
from panel.io.state import set_curdoc
from tornado.httputil import HTTPServerRequest

from explorer.core.errors import LimitReached
from explorer.page.host import Identity, KnownBy
from explorer.web.limits import ServerLimits
from explorer.web.serving.gate import PageRefusal
from explorer.web.serving.handlers import PageHandler
from explorer.web.serving.people.access import Access, TokenAccess
from explorer.web.serving.people.proxy_login import ProxyAccess

_LASTS: Final = 300
"""Seconds within which the script of a page must open its socket."""
_LONGEST_QUERY: Final = 8_000
"""Bytes: the token is sent in a header. The first message of the page contains a longer query, too."""


class DocumentTokens:
    """The tokens of one server."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def make(self, identity: Identity, request: HTTPServerRequest) -> str:
        """Return the token of a new document."""
        arguments = request.arguments
        if len(request.query) > _LONGEST_QUERY:
            arguments = {name: values for name, values in arguments.items() if name == "t"}
        key = self._key(identity)
        document = generate_session_id(secret_key=key, signed=True)
        return generate_jwt_token(
            document, secret_key=key, signed=True, extra_payload={"arguments": arguments}, expiration=_LASTS
        )

    def document_of(self, token: str, identity: Identity) -> ID | None:
        """Return the ID of the document that a token opens for a person; None if it is invalid or expired."""
        body, separator, signature = token.partition(".")
        expected = urlsafe_b64encode(hmac.digest(self._key(identity), body.encode(), "sha256")).rstrip(b"=")
        if not separator or not secrets.compare_digest(expected, signature.encode()):
            return None
        # From here on it is a token of this server.
        content = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return ID(content["session_id"]) if time.time() < content["session_expiry"] else None

    def _key(self, identity: Identity) -> bytes:
        return hmac.digest(self._secret, hashlib.sha256(identity.session.encode()).digest(), "sha256")


class DocumentHandler(PageHandler):
    """Answers with the page of an address: of the list of tables, or of a table."""

    SUPPORTED_METHODS = ("GET",)

    def initialize(
        self, access: Access, context: ApplicationContext, tokens: DocumentTokens, limits: ServerLimits | None
    ) -> None:
        """Take the arguments."""
        self._access = access
        self._context = context
        self._tokens = tokens
        self._limits = limits

    async def get(self) -> None:
        """Answer with the page, or with the login."""
        identity = self._access.identity(self.request)
        if isinstance(self._access, TokenAccess) and "token" in self.request.arguments:
            self._enter(self._access, identity)
        elif identity is not None:
            try:
                with nullcontext() if self._limits is None else self._limits.opening(identity):
                    await self._answer(identity)
            except LimitReached as error:
                self.answer_refusal(
                    PageRefusal(
                        "Too many pages",
                        error.message,
                        "When some are closed, open this page again.",
                        status=429,
                        again=True,
                    )
                )
        elif isinstance(self._access, ProxyAccess):
            self.answer_refusal(_NOT_NAMED)
        elif not isinstance(self._access, TokenAccess):
            query = f"?{self.request.query}" if self.request.query else ""
            self.redirect(
                f"{self.home}login?{urlencode({'next': query})}" if query else f"{self.home}login", status=303
            )
        else:
            self.answer_refusal(_NO_TOKEN)

    async def _answer(self, identity: Identity) -> None:
        # The application reads the person from the request of a document.
        self.request.identity = replace(identity, address=self.client)  # type: ignore[attr-defined]
        token = self._tokens.make(identity, self.request)
        session = await self._context.create_session_if_needed(get_session_id(token), self.request, token)
        document: Any = session.document
        with set_curdoc(document):
            page = server_html_page_for_session(
                session,
                resources=Resources.from_bokeh(self._bokeh.resources()),
                title=document.title,
                token=token,
                template=document.template,
                template_variables=document.template_variables,
            )
        self.set_header("Content-Type", "text/html; charset=UTF-8")
        self.finish(page)

    @property
    def _bokeh(self) -> Any:
        return self.application

    def _enter(self, access: TokenAccess, identity: Identity | None) -> None:
        """Exchange the token for a cookie; the address that the browser keeps does not contain it."""
        if access.token.spend(self.get_query_argument("token", "")):
            access.sessions.end(self.get_cookie(access.cookie) or "")
            self.keep_session(access.cookie, access.sessions.begin())
            self.record_sign_in("", KnownBy.TOKEN)
        elif identity is None:
            self.answer_refusal(_SPENT_TOKEN)
            return
        rest = urlencode({key: value for key, value in self.request.arguments.items() if key != "token"}, doseq=True)
        self.redirect(f"{self.home}?{rest}" if rest else self.home, status=303)


def open_pages(context: ApplicationContext) -> Iterator[Identity]:
    """Yield whose the open pages are; one that was closed is open for some seconds more, in case it comes back."""
    # A copy: this is asked for on other threads, too.
    for session in list(context.sessions):
        known: Any = session.document.session_context
        identity = getattr(None if known is None else known.request, "identity", None)
        if isinstance(identity, Identity):
            yield identity


_NO_TOKEN: Final = PageRefusal(
    "Not your browser yet",
    "On this server, changes can be committed or reports signed. So it answers only the browser that opened the "
    "address with a token.",
    "Open the address that the server printed last in its terminal; it works once. If this browser has opened it "
    "already, you followed a link from another site: open this page again.",
    again=True,
)
_NOT_NAMED: Final = PageRefusal(
    "Not signed in",
    "People sign in at the proxy in front of this server. The request does not come from it, or it names no user.",
    "Open the address of the proxy. If you did: its administrators must let it name you in the header that this server "
    "reads.",
    again=True,
)
_SPENT_TOKEN: Final = PageRefusal(
    "The token is used up",
    "The token in this address is not valid. Each token opens the server to one browser, once.",
    "Open the address that the server printed last in its terminal.",
)
