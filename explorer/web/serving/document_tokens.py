"""The tokens that open the sockets of pages.

A token is signed with a key that is derived from the secret of the process and the login session of the request. So it
opens a socket only for the same person. It contains the requested page, and nothing of the login.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

from bokeh.core.types import ID
from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httputil import HTTPServerRequest

from explorer.page.identity import Identity

__all__ = ["DocumentTokens"]

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
