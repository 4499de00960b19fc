"""The folders and URLs that a program may read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from explorer.core.errors import MalformedAction, NotAllowed, RequestError
from explorer.core.protocol.file_paths import decode_path, encode_path
from explorer.core.protocol.log_store import LogStore
from explorer.credentials import HIDDEN, holds_credentials, safe_address
from explorer.storage.other_schemes import check_address

Roots = Sequence[str | os.PathLike[str]] | str | os.PathLike[str]
"""Places that a person gives, or one alone."""
Opener = Callable[[str], tuple[LogStore, str]]
"""Opens an absolute, decoded location: the store of its folder, and its name there."""


class AllowedRoots:
    """A set of allowed places; symbolic links are followed before they are compared.

    Args:
        roots: Folders, ``file://`` URLs or URLs of object stores, or one of these.

    Raises:
        RequestError: One of them names no place.
    """

    def __init__(self, roots: Roots) -> None:
        given = places_of(roots)
        for root in given:
            check_plain(root)
            check_address(root)
        self._folders = tuple(os.path.realpath(folder_of(root)) for root in given if not is_url(root))
        self._urls = tuple(meant_by(root).rstrip("/") for root in given if is_url(root))

    @property
    def folders(self) -> tuple[str, ...]:
        """The allowed folders of this machine, resolved."""
        return self._folders

    def allow(self, location: str) -> bool:
        """Return True if a path or URL is inside one of the places.

        Raises:
            RequestError: It names no place.
        """
        if is_url(location):
            meant = meant_by(location)
            inside = any(meant == url or meant.startswith(f"{url}/") for url in self._urls)
            return inside and ".." not in meant.split("/")
        return self.hold(os.path.realpath(folder_of(location)))

    def hold(self, real_path: str) -> bool:
        """Return True if a path without links in it is inside one of the folders; nothing is looked up."""
        return any(real_path == folder or real_path.startswith(folder.rstrip("/") + "/") for folder in self._folders)

    def check_source(self, location: str) -> None:
        """Check that a file or folder that Spark is to read is inside one of the places, with all it contains.

        Spark reads some characters as patterns and knows file systems by names of its own, so both are refused.

        Raises:
            NotAllowed: It is outside, or where it is cannot be decided.
        """
        check_plain(location)
        plain = _PATTERN.search(location) is None and (_SCHEME.match(location) is None or _KNOWN.match(location))
        if not plain or not self.allow(location):
            raise NotAllowed(
                f"The source {location!r} is outside the folders this server serves, or its path does not say where it "
                f"is. Copy it into {self._named}, and give that path without links, patterns, and '..'.",
                location=location,
                field="source",
            )
        if is_url(location):
            return
        for folder, folders, names in os.walk(folder_of(location)):
            for name in (*folders, *names):
                if os.path.islink(f"{folder}/{name}") and not self.allow(f"{folder}/{name}"):
                    raise NotAllowed(
                        f"A link in the source {location!r} leads out of the folders this program was given: {name!r}. "
                        "Put the file itself in its place.",
                        location=location,
                        field="source",
                    )

    @property
    def _named(self) -> str:
        """The places, in words, as many as a sentence takes."""
        places = [*self._folders, *self._urls]
        more = len(places) - _NAMED
        return " or ".join(places[:_NAMED]) + (f", or one of {more} more" if more > 0 else "")


CATALOG_SCHEME: Final = "uc://"
"""How the address of a table in a catalog begins; see `explorer.catalogs`."""
_NAMED: Final = 3
_PATTERN: Final = re.compile(r"[][{}*?\\\x00]|(^|/)\.\.(/|$)")
_SCHEME: Final = re.compile(r"[^/]*:")
_FILE: Final = re.compile(r"file:(?://(?P<host>[^/]*))?(?P<path>/.*)?", re.IGNORECASE | re.DOTALL)
# An address with a slash too few, which would be taken for a folder and repeated with its password.
_MISTYPED: Final = re.compile(r"(?!file:)[a-z][a-z0-9+.\-]+:/?[^/@:]+:[^@]+@", re.IGNORECASE)
_KNOWN: Final = re.compile(r"file:///(?!/)|[a-z][a-z0-9]*://(?<!file://)")


def places_of(roots: Roots) -> list[str]:
    """Return each of the places, also where one alone is given: the letters of a text are no places."""
    given = [roots] if isinstance(roots, str | os.PathLike) else roots
    return [os.fspath(root) for root in given]


def check_plain(location: str) -> None:
    """Refuse an address with credentials, so that no name, page, report or file of this program holds them.

    Raises:
        RequestError: It has user info, a query or a fragment.
    """
    local = not is_url(location)
    if "://" in location and ("@" in location.split("/")[2] if local else holds_credentials(location)):
        safe = f"file://{HIDDEN}@{location.rpartition('@')[2]}" if local else safe_address(location)
    elif "://" not in location and _MISTYPED.match(location):
        safe = f"{location.partition(':')[0]}:{HIDDEN}@{location.rpartition('@')[2]}"
    else:
        return
    raise RequestError(
        f"The address {safe!r} contains user info, a query or a fragment, where credentials "
        "do not stay secret. Give only the address, and credentials as storage options, in the environment, or "
        "in Spark's settings; write ? and # in a name as %3F and %23.",
        location=safe,
        field="location",
    )


def is_url(location: str) -> bool:
    """Return True for a URL that is not of a local file."""
    return "://" in location and _FILE.match(location) is None


def is_catalog_address(location: object) -> bool:
    """Return whether a location is an address in a catalog."""
    return isinstance(location, str) and location[: len(CATALOG_SCHEME)].lower() == CATALOG_SCHEME


def url_of(location: str) -> str:
    """Return the URL of a decoded location that is not of a local file."""
    scheme, _, rest = location.partition("://")
    bucket, slash, key = rest.partition("/")
    return f"{scheme}://{bucket}{slash}{encode_path(key)}"


def folder_of(location: str) -> str:
    """Return the path of a local location, which may be a ``file:`` URL.

    It is what a person gives: of what a log names `decode_path` makes a path, whatever its host.

    Raises:
        RequestError: The URL names no folder, or one of another machine.
    """
    check_plain(location)
    url = _FILE.match(location)
    if url is None:
        return location
    if url["host"] and url["host"].lower() != "localhost":
        raise RequestError(
            f"{location!r} names a folder of the machine {url['host']!r}. A URL of a folder here has three slashes, as "
            "in file:///data/orders.",
            location=location,
        )
    if url["path"] is None:
        raise RequestError(
            f"{location!r} does not name a folder. Give a path, or a URL with three slashes, as in "
            "file:///data/orders; for a folder whose name begins like a URL, give ./NAME.",
            location=location,
        )
    return meant_by(location)


def resolved_folder(location: str) -> Path:
    """Return the same as a path that begins at the root of the file system: ``~`` and links are followed.

    Raises:
        RequestError: As of `folder_of`.
    """
    return Path(folder_of(location)).expanduser().resolve()


def meant_by(location: str) -> str:
    """Return the decoded form of a URL that a person gives.

    Raises:
        RequestError: It cannot be decoded.
    """
    try:
        return decode_path(location)
    except MalformedAction as error:
        raise RequestError(
            f"{location!r} names no place: its escapes are not UTF-8. Write a percent sign itself as %25.",
            location=location,
        ) from error
