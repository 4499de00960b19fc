"""The region of a bucket, which S3 names in a header that a refused request's error does not have."""

from __future__ import annotations

import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Final

_REQUESTED: Final = re.compile(r"Error performing [A-Z]+ (https?://[^\s]+) in ")
_SECONDS: Final = 5
_HEADER: Final = "x-amz-bucket-region"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Follow none: the answer itself names the region."""


def bucket_region(text: str, bucket: str) -> str | None:
    """Ask the endpoint of a refused request where the bucket is, without credentials; None if it does not say.

    Args:
        text: The text of the refusal, which names the address of the request.
        bucket: The name of the bucket.
    """
    requested = _REQUESTED.search(text)
    if requested is None:
        return None
    parts = urllib.parse.urlsplit(requested[1])
    path = f"/{bucket}" if parts.path.startswith(f"/{bucket}") else "/"
    address = urllib.parse.urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    request = urllib.request.Request(address, method="HEAD")  # noqa: S310 - the store's own address, http or https
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            named = answer.headers.get(_HEADER)
    except urllib.error.HTTPError as refused:
        with refused:
            named = refused.headers.get(_HEADER)
    except (OSError, ValueError):
        return None
    return named if isinstance(named, str) and re.fullmatch(r"[a-z0-9\-]{3,40}", named) else None
