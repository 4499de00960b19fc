"""The folders and URLs that a program may read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Final

from explorer.core.errors import NotAllowed
from explorer.core.protocol.file_paths import decode_path, encode_path
from explorer.core.protocol.log_store import LogStore

__all__ = ["AllowedRoots", "Opener", "folder_of", "is_url", "url_of"]

Opener = Callable[[str], tuple[LogStore, str]]
"""Opens an absolute, decoded location: the store of its folder, and its name there."""


class AllowedRoots:
    """A set of allowed places; symbolic links are followed before they are compared.

    Args:
        roots: Folders, ``file://`` URLs or URLs of object stores.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._folders = tuple(os.path.realpath(folder_of(root)) for root in roots if not is_url(root))
        self._urls = tuple(decode_path(root).rstrip("/") for root in roots if is_url(root))

    def allow(self, location: str) -> bool:
        """True if a path or URL is inside one of the places."""
        if is_url(location):
            meant = decode_path(location)
            inside = any(meant == url or meant.startswith(f"{url}/") for url in self._urls)
            return inside and ".." not in meant.split("/")
        real = os.path.realpath(folder_of(location))
        return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in self._folders)

    def check_source(self, location: str) -> None:
        """Check that a file or folder that Spark is to read is inside one of the places, with all it contains.

        Spark reads some characters as patterns and knows file systems by names of its own, so both are refused.

        Raises:
            NotAllowed: It is outside, or where it is cannot be decided.
        """
        plain = _PATTERN.search(location) is None and (_SCHEME.match(location) is None or _KNOWN.match(location))
        if not plain or not self.allow(location):
            raise NotAllowed(
                f"The source {location!r} is not plainly inside the folders this program was given.",
                location=location,
                field="source",
            )
        if is_url(location):
            return
        for folder, folders, names in os.walk(folder_of(location)):
            for name in (*folders, *names):
                if os.path.islink(f"{folder}/{name}") and not self.allow(f"{folder}/{name}"):
                    raise NotAllowed(
                        f"A link in the source {location!r} leads out of the folders this program was given: {name!r}.",
                        location=location,
                        field="source",
                    )


_PATTERN: Final = re.compile(r"[][{}*?\\\x00]|(^|/)\.\.(/|$)")
_SCHEME: Final = re.compile(r"[^/]*:")
_KNOWN: Final = re.compile(r"file:///(?!/)|[a-z][a-z0-9]*://(?<!file://)")


def is_url(location: str) -> bool:
    """True for a URL that is not of a local file."""
    return "://" in location and not location.startswith("file:")


def url_of(location: str) -> str:
    """The URL of a decoded location that is not of a local file."""
    scheme, _, rest = location.partition("://")
    bucket, slash, key = rest.partition("/")
    return f"{scheme}://{bucket}{slash}{encode_path(key)}"


def folder_of(location: str) -> str:
    """The path of a local location, which may be a ``file:`` URL."""
    return decode_path(location) if location.startswith("file:") else location
