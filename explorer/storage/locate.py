"""Locations -> stores: the checks that all locations share, then the opener of the scheme's row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.log_store import LogStore
from explorer.storage.roots import AllowedRoots, check_plain, is_url, url_of
from explorer.storage.schemes import scheme_of

__all__ = ["open_object", "open_store"]


def open_store(
    location: str | os.PathLike[str],
    storage_options: Mapping[str, Any] | None = None,
    roots: AllowedRoots | None = None,
) -> LogStore:
    """Open the store of a table.

    Args:
        location: A folder, or a URL with one of the schemes of `explorer.storage.schemes`.
        storage_options: Options of the storage; for an object store see `explorer.storage.object_stores`.
        roots: The allowed places; None allows every place.

    Raises:
        NotAllowed: The location is outside ``roots``.
        RequestError: The location names no place, or the URL's scheme is not known.
    """
    text = os.fspath(location)
    check_plain(text)
    if "\0" in text:
        raise RequestError("A location cannot hold a NUL character.", location=text)
    if roots is not None and not roots.allow(text):
        raise NotAllowed(f"{text} is outside the folders this program was given.", location=text)
    options = storage_options or {}
    opener = partial(open_object, storage_options=options, roots=roots)
    return scheme_of(text).open(text, options, opener, roots)


def open_object(location: str, storage_options: Mapping[str, Any], roots: AllowedRoots | None) -> tuple[LogStore, str]:
    """Open the store of one absolute, decoded location.

    Returns:
        The store of its folder and the file's name in it.
    """
    folder, _, name = location.rpartition("/")
    return open_store(url_of(folder) if is_url(folder) else folder or "/", storage_options, roots), name
