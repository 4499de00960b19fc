"""Paths inside actions: RFC 2396 URI references <-> storage locations.

Protocol section: Add File and Remove File (``path``). Invariants: a path is percent-decoded exactly once and ``+``
is not a space (PATH-001); a relative path resolves against the table's root, one with a scheme or a leading ``/`` is
absolute (PATH-003); two spellings of one location are one file, while relative and absolute paths are never unified
(PATH-004, D-20); an opaque URI is refused (PATH-005).
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from explorer.core.errors import MalformedAction

__all__ = ["canonical_key", "decode_path", "encode_path", "is_absolute", "needs_decoding"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# Letters, digits and the marks that RFC 2396 leaves alone in a path, less ':' which would read as a scheme.
_SAFE: Final = "/-_.!~*'()&=+$,@;"


def needs_decoding(path: str) -> bool:
    """True if the decoded location may differ from the text (an escape, a scheme, or a leading slash)."""
    return "%" in path or ":" in path or path.startswith("/")


def is_absolute(path: str) -> bool:
    """True for a path with a scheme or a leading slash."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def decode_path(path: str) -> str:
    """Percent-decode a path of the log once.

    Returns:
        The storage location: relative to the table's root, or absolute (``/a/b``, ``s3://bucket/key``). The local
        scheme is folded: ``file:/a``, ``file:///a`` and ``file://localhost/a`` become ``/a``.

    Raises:
        MalformedAction: The path is an opaque URI, or its escapes are not UTF-8.
    """
    if not needs_decoding(path):
        return path
    scheme = _SCHEME.match(path)
    if scheme is not None:
        rest = path[scheme.end() :]
        if not rest.startswith("/"):
            raise MalformedAction(
                f"The path {path!r} is an opaque URI (a scheme without a path), which names no file. "
                "The log was written by a broken client; the path must be relative or a full URL.",
                path=path,
            )
        if scheme[0].lower() == "file:":
            return _unquote(_strip_authority(rest), path)
        return scheme[0].lower() + _unquote(rest, path)
    return _unquote(path, path)


def canonical_key(path: str) -> str:
    """The key under which two spellings of one file meet in reconciliation: the decoded location."""
    return decode_path(path) if "%" in path or ":" in path or path.startswith("/") else path


def encode_path(location: str) -> str:
    """Percent-encode a location relative to the root as writers must (PATH-002, PATH-006)."""
    return quote(location, safe=_SAFE)


def _strip_authority(rest: str) -> str:
    if not rest.startswith("//"):
        return rest
    slash = rest.find("/", 2)
    return rest[slash:] if slash >= 0 else "/"


def _unquote(text: str, whole: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedAction(
            f"The escapes in the path {whole!r} are not UTF-8 at byte {error.start}; no file can be found by it.",
            path=whole,
        ) from error
