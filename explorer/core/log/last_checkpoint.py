"""The hint file ``_last_checkpoint`` and the canonical form that its checksum is computed from.

Protocol sections: Last Checkpoint File, JSON Checksum, Canonicalizing. Invariants: the file is only a hint; anything
wrong in it discards it and never fails a load (LASTCKPT-003); both digests of D-14 are accepted, the one by path
order is written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec

from explorer.core.errors import LimitExceeded, StorageError
from explorer.core.log.log_path import LAST_CHECKPOINT, NEWEST_VERSION
from explorer.core.protocol.json_values import JsonObject, JsonValue, encode_json
from explorer.core.protocol.limits import check_json_values
from explorer.core.protocol.log_store import LogStore


class LastCheckpoint(msgspec.Struct, frozen=True, rename="camel"):
    """The contents of the hint: the version of a checkpoint and the number of its parts."""

    version: int
    size: int | None = None
    parts: int | None = None
    size_in_bytes: int | None = None
    num_of_add_files: int | None = None


# A record's fields are computed when its first decoder is made, which takes as long as listing a small log.
_DECODER: Final = msgspec.json.Decoder(LastCheckpoint)
_LONGEST_FORM: Final = 1 << 24
_VERSION: Final = re.compile(rb'"version"\s*:\s*"?(\d{1,18})(?![\deE]|\.\d+[eE])')
_BEGINNING: Final = 1 << 12


def hint_text(store: LogStore) -> bytes | None:
    """Return the text of the hint: None if there is none, empty if it is not a file that may be read (LASTCKPT-003).

    Raises:
        StorageError: The store failed.
    """
    try:
        return store.read(LAST_CHECKPOINT)
    except FileNotFoundError:
        return None
    except StorageError as error:
        if isinstance(error.__cause__, IsADirectoryError | PermissionError):
            return b""
        raise


def read_last_checkpoint(store: LogStore) -> LastCheckpoint | None:
    """Read the hint; None if there is none that can be used.

    Raises:
        StorageError: The store failed.
    """
    text = hint_text(store)
    return None if text is None else parse_last_checkpoint(text)


def parse_last_checkpoint(data: bytes) -> LastCheckpoint | None:
    """Read the hint, or return None if it is unusable.

    It is unusable if it is not a JSON object, has duplicate keys or no version, its checksum is wrong, or it is too
    large: a reader does without it.
    """
    try:
        check_json_values(data, "The hint")
        value = json.loads(data, object_pairs_hook=_unique, parse_float=_Number, parse_int=_Number)
        hint = _DECODER.decode(data)
        if not isinstance(value, dict) or not 0 <= hint.version <= NEWEST_VERSION:
            return None
        checksum = value.get("checksum")
        return hint if checksum is None or checksum in digests(value) else None
    except (ValueError, RecursionError, LimitExceeded):
        return None


def hinted_version(data: bytes) -> int | None:
    """Return the version that the text of a hint names; None if it names none.

    A truncated or malformed hint is useless to a reader, and yet was written after that version existed. A hint
    with a wrong checksum proves nothing: its number may have been changed.
    """
    hint = parse_last_checkpoint(data)
    if hint is not None:
        return hint.version
    match = None if b'"checksum"' in data else _VERSION.search(data[:_BEGINNING])
    return None if match is None else int(match[1])


def encode_last_checkpoint(hint: LastCheckpoint, v2_checkpoint: JsonObject | None = None) -> bytes:
    """Encode the hint: version, size and parts first, then the optional members, then the checksum of the rest.

    Args:
        v2_checkpoint: A description of a V2 checkpoint (V2CKPT-012).
    """
    known = {name: item for name, item in msgspec.to_builtins(hint).items() if item is not None}
    value = known if v2_checkpoint is None else known | {"v2Checkpoint": v2_checkpoint}
    # The checksum covers the text of the numbers, so it is computed from the text.
    written = json.loads(encode_json(value), parse_float=_Number, parse_int=_Number)
    return encode_json(value | {"checksum": digests(written)[0]})


def digests(value: JsonObject) -> tuple[str, str]:
    """Return MD5 of the canonical form, pairs sorted by path, and the variant sorted by ``path=value`` strings.

    Raises:
        ValueError: The form would be too long: it repeats a long name for each value under it.
    """
    by_path = _texts({key: item for key, item in value.items() if key != "checksum"})
    forms = ",".join(by_path), ",".join(sorted(by_path))
    first, second = (hashlib.md5(form.encode(), usedforsecurity=False).hexdigest() for form in forms)
    return first, second


def canonical_form(value: JsonValue) -> str:
    """Return the canonical text of a JSON value, pairs sorted by the bytes of their path (LASTCKPT-008)."""
    return ",".join(_texts(value))


def _texts(value: JsonValue) -> list[str]:
    pairs, size = list[tuple[str, str]](), 0
    for pair in _pairs(value, ""):
        pairs.append(pair)
        size += len(pair[0]) + len(pair[1])
        if size > _LONGEST_FORM:
            raise ValueError("its canonical form is too long")
    return [f"{path}={leaf}" for path, leaf in sorted(pairs, key=lambda pair: pair[0].encode())]


class _Number(str):
    """A number of the file as written."""

    __slots__ = ()


def _unique(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate keys")
    return value


def _pairs(value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    join = f"{path}+" if path else ""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _pairs(item, f"{join}{_quoted(key)}")
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _pairs(item, f"{join}{position}")
    else:
        yield path, _leaf(value)


def _leaf(value: JsonValue) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'
