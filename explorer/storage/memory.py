"""Tables in memory, for tests and trials: ``memory://name/path``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from explorer.storage.objects import ObjectLogStore
from explorer.storage.roots import AllowedRoots, Opener, meant_by

if TYPE_CHECKING:
    from obstore.store import MemoryStore


def open_memory(url: str, options: Mapping[str, Any], opener: Opener, roots: AllowedRoots | None) -> ObjectLogStore:
    """Open the store of a URL; options mean nothing to it, and its caller checks the places."""
    del options, roots
    name, _, _ = url.partition("://")[2].partition("/")
    _, _, path = meant_by(url).partition("://")[2].partition("/")
    return ObjectLogStore(memory(name), url, opener, path)


@cache
def memory(name: str) -> MemoryStore:
    """Return the store in memory of that name, made at its first use and kept for the life of the process."""
    from obstore.store import MemoryStore

    del name
    return MemoryStore()
