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
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z][A-Za-z0-9+.\-]*:/")


def absent(store: LogStore, locations: Iterable[str]) -> frozenset[str]:
    """Return those of some decoded locations at which there is no file.

    Args:
        store: The table's store.
        locations: Relative to the table's root, or absolute.

    Raises:
        NotAllowed: An absolute location lies outside the places that may be read.
        StorageError: The store failed.
    """
    wanted = set(locations)
    root = decode_path(store.root).rstrip("/") + "/"
    absolute = {place: _absolute(place, root) for place in wanted}
    inside = {place: whole.removeprefix(root) for place, whole in absolute.items() if _is_below(root, whole)}
    outside = {place: whole for place, whole in absolute.items() if place not in inside}
    if len(inside) > _FEW:
        there = frozenset(store.list_tree())
        gone = {place for place, key in inside.items() if key not in there}
    else:
        gone = {place for place, key in inside.items() if not _exists(store, key)}
    return frozenset(gone | {place for place, whole in outside.items() if not _exists(*store.elsewhere(whole))})


def _absolute(place: str, root: str) -> str:
    return place if _ABSOLUTE.match(place) else root + place


def _is_below(root: str, place: str) -> bool:
    return place.startswith(root) and not (".." in place and ".." in place.split("/"))


def _exists(store: LogStore, key: str) -> bool:
    try:
        store.head(key)
    except FileNotFoundError:
        return False
    return True
