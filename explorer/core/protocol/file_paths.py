"""Paths in the log, and the locations that they mean.

Protocol sections: Add File and Remove File (``path``), Partition Value Serialization. Invariants: a path is decoded
once (PATH-001); a location is relative to the table's root, or absolute; two spellings of one file have one key;
characters that Hive escapes in the name of a partition's folder are escaped a second time in the path (PATH-002), and
the folder is a convention only: the log's partition values decide (PART-005).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from explorer.core.errors import MalformedAction

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED: Final = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(32))))
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_FILE_SCHEME: Final = re.compile(r"file:(?://[^/]*)?(?=/)", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
# Letters, digits and the marks that RFC 2396 leaves alone in a path, without ':', which would read as a scheme.
_SAFE: Final = "/-_.!~*'()&=+$,@;"


def is_absolute(path: str) -> bool:
    """Return whether a path has a scheme or a leading slash."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def is_absolute_location(location: str) -> bool:
    """Return the same for a decoded location, where a colon may be part of a name: a scheme has a slash after it."""
    if location.startswith("/"):
        return True
    scheme = _SCHEME.match(location) if ":/" in location else None
    return scheme is not None and location.startswith("/", scheme.end())


def decode_path(path: str) -> str:
    """Percent-decode a path of the log once.

    Returns:
        The storage location: relative to the table's root, or absolute (``/a/b``, ``s3://bucket/key``). The local
        scheme is folded: ``file:/a``, ``file:///a`` and ``file://localhost/a`` become ``/a``.

    Raises:
        MalformedAction: The path is an opaque URI, or its escapes are not UTF-8.
    """
    scheme = _SCHEME.match(path)
    if scheme is not None:
        rest = path[scheme.end() :]
        if not rest.startswith("/"):
            raise MalformedAction(
                f"The path {path!r} is an opaque URI (a scheme without a path), which names no file. "
                "The log was written by a faulty client; the path must be relative or a full URL.",
                path=path,
            )
        if scheme[0].lower() == "file:":
            return _unquote(_strip_authority(rest), path)
        return scheme[0].lower() + _unquote(rest, path)
    return _unquote(path, path)


def canonical_key(path: str) -> str:
    """Return the common key of all spellings of one file in reconciliation: the decoded location.

    Of a relative path, empty segments and those of dots are left out (D-20), as the reference does.
    """
    if ("//" in path or "./" in path) and not is_absolute(path):
        # What it begins with after that is no scheme: `./a:b` is a file of a name with a colon.
        return _unquote(normpath(path), path)
    return decode_path(path) if "%" in path or ":" in path else path


def stored_key(location: str, root: str) -> str:
    """Return a decoded location without the table's root, spelled as the store lists it.

    Args:
        root: The table's root as a decoded location.
    """
    key = location.removeprefix(f"{root.rstrip('/')}/")
    if "//" not in key and "./" not in key:
        return key
    scheme, mark, rest = key.partition("://")
    return f"{scheme}{mark}{normpath(rest)}" if mark and is_absolute_location(key) else normpath(key)


def other_spelling(path: str, other: str) -> bool:
    """Return whether two paths of one file are two for clients that compare texts: escapes or empty segments differ."""
    return path != other and _as_uri(path) != _as_uri(other)


def encode_path(location: str) -> str:
    """Percent-encode a location relative to the root as writers must (PATH-002, PATH-006)."""
    return quote(location, safe=_SAFE)


def partition_location(values: Mapping[str, str | None], name: str) -> str:
    """Return a file's location under the table's root.

    Args:
        values: Partition values as in the log, by the name that the folders show.
    """
    folders = [f"{_escaped(key)}={NULL_FOLDER if value is None else _escaped(value)}" for key, value in values.items()]
    return "/".join([*folders, name])


def _escaped(text: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)


def _as_uri(path: str) -> str:
    return _ESCAPE.sub(_upper, _FILE_SCHEME.sub("", path))


def _upper(escape: re.Match[str]) -> str:
    return escape[0].upper()


def _strip_authority(rest: str) -> str:
    if not rest.startswith("//"):
        return rest
    slash = rest.find("/", 2)
    return rest[slash:] if slash >= 0 else "/"


def _unquote(text: str, path: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedAction(
            f"The escapes in the path {path!r} are not UTF-8 at byte {error.start}, so it names no file.", path=path
        ) from error
