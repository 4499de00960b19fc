"""The region of a bucket, which S3 names in a header that a refused request's error does not have."""

from __future__ import annotations

import re
from typing import Final

_REQUESTED: Final = re.compile(r"Error performing [A-Z]+ (https?://[^\s]+) in ")
_SECONDS: Final = 5
_HEADER: Final = "x-amz-bucket-region"


def bucket_region(text: str, bucket: str) -> str | None:
    """Ask the endpoint of a refused request where the bucket is, without credentials; None if it does not say.

    Args:
        text: The text of the refusal, which names the address of the request.
        bucket: The name of the bucket.
    """
    requested = _REQUESTED.search(text)
    if requested is None:
        return None
    from urllib.error import HTTPError
    from urllib.parse import urlsplit, urlunsplit
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class _NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            """Follow none: the answer itself names the region."""

    parts = urlsplit(requested[1])
    path = f"/{bucket}" if parts.path.startswith(f"/{bucket}") else "/"
    request = Request(urlunsplit((parts.scheme, parts.netloc, path, "", "")), method="HEAD")  # noqa: S310 - the store
    try:
        with build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            named = answer.headers.get(_HEADER)
    except HTTPError as refused:
        with refused:
            named = refused.headers.get(_HEADER)
    except (OSError, ValueError):
        return None
    return named if isinstance(named, str) and re.fullmatch(r"[a-z0-9\-]{3,40}", named) else None
