"""The folders and URLs that a program was allowed to look into."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from explorer.core.ports import LogStore
from explorer.core.uris import decode_path

__all__ = ["Opener", "Roots"]

Opener = Callable[[str], tuple[LogStore, str]]
"""Opens an absolute, decoded location: the store of its folder, and its name there."""


class Roots:
    """A set of allowed places; symbolic links are followed before they are compared.

    Args:
        roots: Folders, ``file://`` URLs or URLs of object stores.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._folders = tuple(os.path.realpath(_folder(root)) for root in roots if not _is_url(root))
        self._urls = tuple(root.rstrip("/") for root in roots if _is_url(root))

    def allow(self, location: str) -> bool:
        """True if a path or URL lies in one of the places."""
        if _is_url(location):
            parts = location.split("/")
            inside = any(location == url or location.startswith(f"{url}/") for url in self._urls)
            return inside and ".." not in parts
        real = os.path.realpath(_folder(location))
        return any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in self._folders)


def _is_url(location: str) -> bool:
    return "://" in location and not location.startswith("file:")


def _folder(location: str) -> str:
    return decode_path(location) if location.startswith("file:") else location
