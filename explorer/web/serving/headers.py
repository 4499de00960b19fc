"""Security and cache headers of every response."""

from __future__ import annotations

from typing import Final

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

from explorer.web.html import nonce_of

__all__ = ["SecurityHeaders"]

# Only scripts with the nonce of their request run. There is no 'self' for scripts, because an injected element could
# name any of the libraries that Bokeh and Panel serve. There is no 'unsafe-eval': no call of `Function` or `eval` in
# Bokeh, Panel, or plotly is reached by these pages. static/first.js explains the styles. 'self' covers the WebSocket.
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
    "worker-src 'none'; frame-ancestors 'none'"
)
# Other responses are not pages: opened in a window, they run nothing and load nothing.
_FILE_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_ALWAYS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer", a form would send the Origin "null"
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "fullscreen", "geolocation",
            "gyroscope", "magnetometer", "microphone", "midi", "payment", "picture-in-picture",
            "publickey-credentials-get", "screen-wake-lock", "serial", "usb", "xr-spatial-tracking",
        )
    ) + ", clipboard-write=(self)",
}  # fmt: skip
_LASTING: Final = "public, max-age=31536000, immutable"


class SecurityHeaders(OutputTransform):
    """Sets the headers of every response of an application, whichever handler writes it.

    Args:
        request: The request.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._request = request

    def transform_first_chunk(
        self,
        status_code: int,
        headers: HTTPHeaders,
        chunk: bytes,
        finishing: bool,  # noqa: ARG002  # Tornado's signature
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Set the headers, replacing those of the handler."""
        is_page = headers.get("Content-Type", "").lower().startswith("text/html")
        for name in [name for name in headers if name == "Server" or name.startswith("Access-Control-")]:
            del headers[name]
        for name, value in _ALWAYS.items():
            headers[name] = value
        policy = _PAGE_POLICY.format(nonce=nonce_of(self._request)) if is_page else _FILE_POLICY
        headers["Content-Security-Policy"] = policy
        headers["Cache-Control"] = "no-store" if is_page else self._caching(status_code)
        headers.pop("Expires", None)
        return status_code, headers, chunk

    def _caching(self, status: int) -> str:
        """Return the caching of a file: a year if its address carries an edition, else revalidate."""
        is_file = "." in self._request.path.rpartition("/")[2]
        versioned = is_file and ("v" in self._request.query_arguments or self._request.path.startswith("/page/"))
        return _LASTING if versioned and status in {200, 206, 304} else "no-cache"
