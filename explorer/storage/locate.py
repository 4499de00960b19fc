"""Locations -> stores: the checks that all locations share, then the opener of the scheme's row."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.log_store import LogStore
from explorer.storage.other_schemes import check_address
from explorer.storage.roots import AllowedRoots, check_plain, is_url, url_of
from explorer.storage.schemes import scheme_of

_CREDENTIAL: Final = re.compile(
    "profile|(access|account|storage|master|shared)_key|secret|token|credential|service_account|sas_key|skip_signature"
    "|msi_endpoint|identity_endpoint|use_azure_cli",
    re.IGNORECASE,
)
"""Names of options and variables that state how to sign in, or that no sign-in is needed."""


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
    check_address(text)
    if "\0" in text:
        raise RequestError("A location cannot hold a NUL character.", location=text)
    if roots is not None and not roots.allow(text):
        raise NotAllowed(f"{text} is outside the folders this program was given.", location=text)
    options = storage_options or {}
    opener = partial(open_object, storage_options=options, roots=roots, home=text)
    return scheme_of(text).open(text, options, opener, roots)


def open_object(
    location: str, storage_options: Mapping[str, Any], roots: AllowedRoots | None, home: str
) -> tuple[LogStore, str]:
    """Open the store of one absolute, decoded location that a log names.

    Args:
        storage_options, roots: As of `open_store`.

    Returns:
        The store of its folder and the file's name in it.

    Raises:
        NotAllowed: It is outside ``roots``; or it is in a storage other than the table's without credentials that were
            set for it, so that its client would ask an address of the network for them because a log says so.
    """
    _check_configured(location, storage_options, home)
    folder, _, name = location.rpartition("/")
    return open_store(url_of(folder) if is_url(folder) else folder or "/", storage_options, roots), name


def _check_configured(location: str, storage_options: Mapping[str, Any], home: str) -> None:
    prefix = scheme_of(location).environment
    if not prefix or prefix == scheme_of(home).environment:
        return
    # A region or an account is no credential: with those alone a client requests the metadata address of a cloud.
    given = (*storage_options, *(name for name in os.environ if name.startswith(prefix)))
    if any(_CREDENTIAL.search(name) for name in given):
        return
    raise NotAllowed(
        f"The log of {home} names files at {location.rpartition('/')[0]}, another storage than the table's, and no "
        f"credentials for it are set, so nothing was requested there. If the table was copied, copy its files too and "
        f"read the original meanwhile; if the files are meant to be there, set the {prefix}... variables or give "
        "storage options.",
        location=location,
    )
