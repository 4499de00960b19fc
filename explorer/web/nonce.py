"""The nonce of a request: what a page writes into its own scripts and styles, so that a browser runs those alone."""

from __future__ import annotations

import secrets
from typing import Any, Final

from bokeh.server.contexts import _RequestProxy
from tornado.httputil import HTTPServerRequest

__all__ = ["nonce_of"]

_KEPT_AS: Final = "_explorer_nonce"


def nonce_of(request: HTTPServerRequest | _RequestProxy) -> str:
    """Return the nonce of a request: 128 random bits, the same for its page and for its headers.

    Args:
        request: A request of the server, or what Bokeh hands to the session of its page.
    """
    asked: Any = request._request if isinstance(request, _RequestProxy) else request
    if not isinstance(asked, HTTPServerRequest):
        # A session that is made for a late socket has no page, so nothing of it is run.
        return ""
    kept: str = vars(asked).setdefault(_KEPT_AS, secrets.token_urlsafe(16))
    return kept
