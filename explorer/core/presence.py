"""Which data files are still there: the log says what should be, only the store knows what is.

Invariants: a few files are looked at one by one, many by one listing of the table's folder; absolute locations lie
outside the folder and are always looked at one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from explorer.core.ports import LogStore
from explorer.core.uris import decode_path

__all__ = ["absent"]

_FEW: Final = 256
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")


def absent(store: LogStore, locations: Iterable[str]) -> frozenset[str]:
    """Return those of some decoded locations at which there is no file.

    Args:
        store: The table's store.
        locations: Relative to the table's root, or absolute.

    Raises:
        NotAllowed: An absolute location lies outside the places that may be read.
        StorageError: The store failed.
    """
    root = decode_path(store.root).rstrip("/") + "/"
    relative: list[str] = []
    odd: dict[str, str] = {}
    for place in locations:
        if _is_absolute(place) or ".." in place:
            odd[place] = place if _is_absolute(place) else root + place
        else:
            relative.append(place)
    gone = {place for place, whole in odd.items() if not _exists(*_seat(store, root, whole))}
    if len(relative) > _FEW:
        there = frozenset(store.list_tree())
        return frozenset(gone.union(place for place in relative if place not in there))
    return frozenset(gone.union(place for place in relative if not _exists(store, place)))


def _seat(store: LogStore, root: str, whole: str) -> tuple[LogStore, str]:
    """Store and key of an absolute location."""
    key = whole.removeprefix(root)
    return (store, key) if key != whole and ".." not in key.split("/") else store.elsewhere(whole)


def _is_absolute(place: str) -> bool:
    return place.startswith("/") or (":/" in place and _SCHEME.match(place) is not None)


def _exists(store: LogStore, key: str) -> bool:
    try:
        store.head(key)
    except FileNotFoundError:
        return False
    return True
