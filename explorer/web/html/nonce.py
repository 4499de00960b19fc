"""The nonce of a request, which marks the scripts and styles of its page as the program's own."""

from __future__ import annotations

import secrets
from typing import Any, Final

from bokeh.server.contexts import _RequestProxy
from tornado.httputil import HTTPServerRequest

__all__ = ["nonce_of"]

_KEPT_AS: Final = "_explorer_nonce"


def nonce_of(request: HTTPServerRequest | _RequestProxy) -> str:
    """Return the nonce of a request: 128 random bits, the same for its page and its headers.

    Args:
        request: A request, or the proxy of it that Bokeh passes to the session.
    """
    asked: Any = request._request if isinstance(request, _RequestProxy) else request
    if not isinstance(asked, HTTPServerRequest):
        # A session made for a late WebSocket has no page, and so no scripts to mark.
        return ""
    kept: str = vars(asked).setdefault(_KEPT_AS, secrets.token_urlsafe(16))
    return kept
