"""The headers of every answer: what a page may run, who may frame it, and what a browser keeps of it."""

from __future__ import annotations

from typing import Final

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

from explorer.web.nonce import nonce_of

__all__ = ["SecurityHeaders", "nonce_of"]

# Scripts carry the nonce of their request, and nothing else runs: no address on this server is a script by itself, no
# text is code. A page draws its figures with style sheets that its own script makes, which carry the nonce too.
_PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
    "frame-ancestors 'none'"
)
# What is no page is never one: opened by itself it runs nothing and loads nothing.
_FILE_POLICY: Final = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
_ALWAYS: Final = {
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # a form's Origin is left out with less
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
    """Sets the headers of each answer of an application, whatever handler it comes from.

    Args:
        request: The request that is answered.
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
        """Set the headers; what a handler said of the same matters is replaced."""
        is_page = headers.get("Content-Type", "").startswith("text/html")
        for name in [name for name in headers if name == "Server" or name.startswith("Access-Control-")]:
            del headers[name]
        for name, value in _ALWAYS.items():
            headers[name] = value
        policy = _PAGE_POLICY.format(nonce=nonce_of(self._request)) if is_page else _FILE_POLICY
        headers["Content-Security-Policy"] = policy
        headers["Cache-Control"] = "no-store" if is_page else self._kept(status_code)
        headers.pop("Expires", None)
        return status_code, headers, chunk

    def _kept(self, status: int) -> str:
        """How long a browser keeps a file: for good where its address names its edition."""
        is_file = "." in self._request.path.rpartition("/")[2]
        versioned = is_file and "v" in self._request.query_arguments
        return _LASTING if versioned and status in {200, 206, 304} else "no-cache"
