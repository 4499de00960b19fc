"""Locations -> stores: a folder, a URL of an object store, or a store in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from explorer.core.errors import NotAllowed, RequestError
from explorer.core.protocol.file_paths import decode_path
from explorer.core.protocol.log_store import LogStore
from explorer.storage.credentials import concealed, secrets_of
from explorer.storage.local import LocalLogStore
from explorer.storage.objects import ObjectLogStore
from explorer.storage.roots import Opener, Roots

if TYPE_CHECKING:
    from obstore.store import MemoryStore

_CLIENT_KEYS: Final = frozenset(
    ["allow_http", "allow_invalid_certificates", "connect_timeout", "pool_idle_timeout", "proxy_url", "timeout"]
)

# Where obstore looks for what it is not told.
_ENVIRONMENT: Final = ("AWS_", "AZURE_", "GOOGLE_")

__all__ = ["memory", "open_object", "open_store"]


def open_store(
    location: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None, roots: Roots | None = None
) -> LogStore:
    """Open the store of a table.

    Args:
        location: A folder, ``file://`` URL, ``memory://name/...`` or the URL of an object store.
        storage_options: Options of the object store and of its HTTP client, in the names of the Rust object_store
            crate (``aws_access_key_id``, ``endpoint``, ``region``, ``allow_http``, ...); what is not given comes from
            the usual environment variables.
        roots: The allowed places; None allows every place.

    Raises:
        NotAllowed: The location lies outside ``roots``.
        RequestError: The URL's scheme is not known.
    """
    text = os.fspath(location)
    if "\0" in text:
        raise RequestError("A location cannot hold a NUL character.", location=text)
    if roots is not None and not roots.allow(text):
        raise NotAllowed(f"{text} lies outside the folders this program was given.", location=text)
    opener = partial(open_object, storage_options=storage_options or {}, roots=roots)
    if "://" not in text or text.startswith("file:"):
        folder = decode_path(text) if text.startswith("file:") else text
        return LocalLogStore(Path(os.path.realpath(folder)), opener, roots)
    return _open_url(text, storage_options or {}, opener)


def open_object(location: str, storage_options: Mapping[str, Any], roots: Roots | None) -> tuple[LogStore, str]:
    """Open the store of one absolute, decoded location.

    Returns:
        The store of its folder and the file's name in it.
    """
    folder, _, name = location.rpartition("/")
    return open_store(folder or "/", storage_options, roots), name


@cache
def memory(name: str) -> MemoryStore:
    """The store in memory of that name, made at its first use and kept for the life of the process."""
    from obstore.store import MemoryStore

    del name
    return MemoryStore()


def _open_url(url: str, options: Mapping[str, Any], opener: Opener) -> LogStore:
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return ObjectLogStore(memory(parts.netloc), url, opener, parts.path)
    if parts.scheme not in ("s3", "s3a", "gs", "az", "abfs", "abfss", "adl"):
        raise RequestError(
            f"The scheme of {url!r} is not known. Give a folder, or a URL that begins with file://, s3://, gs://, "
            "az:// or memory://.",
            location=url,
        )
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    known = {name: value for name, value in os.environ.items() if name.startswith(_ENVIRONMENT)}
    secrets = secrets_of({**known, **options})
    client: Any = {_client_key(key): value for key, value in options.items() if _client_key(key) in _CLIENT_KEYS}
    config: Any = {key: value for key, value in options.items() if _client_key(key) not in _CLIENT_KEYS}
    try:
        store = from_url(url, config=config, client_options=client or None)
    except (BaseError, ValueError, TypeError) as error:
        reason = concealed(str(error).split("\n", 1)[0], secrets)
        raise RequestError(f"{url!r} cannot be opened with these storage options: {reason}", location=url) from error
    return ObjectLogStore(store, url, opener, told=bool(options), secrets=secrets)


def _client_key(key: str) -> str:
    """The name of an option of the HTTP client, without the prefix that some tools put before it."""
    return key.lower().removeprefix("aws_").removeprefix("azure_").removeprefix("google_")
