"""Which tables there are at or below some places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from explorer.core.errors import RequestError, StorageError, TableNotFound
from explorer.fleet.one_table import TableAudit
from explorer.storage.roots import Roots, is_url, places_of, resolved_folder
from explorer.storage.served_roots import table_folders

__all__ = ["places"]

_DEPTH: Final = 24


def places(roots: Roots) -> Iterator[str | TableAudit]:
    """Yield the tables at or below some places, each once, and errors for folders that cannot be looked through."""
    seen = set()
    for place in chain.from_iterable(map(_below, places_of(roots))):
        name = place if isinstance(place, str) else place.location
        if name not in seen:
            seen.add(name)
            yield place


def _below(root: str) -> Iterator[str | TableAudit]:
    if is_url(root):
        yield root
        return
    try:
        folder = resolved_folder(root)
    except RequestError as refusal:
        yield TableAudit(root, error=refusal)
        return
    unreadable: list[tuple[Path, OSError]] = []
    count = 0
    for path in table_folders(folder, depth=_DEPTH, unreadable=lambda *failed: unreadable.append(failed)):
        count += 1
        yield str(path)
    for path, error in unreadable:
        if path != folder or not isinstance(error, FileNotFoundError | NotADirectoryError):
            yield TableAudit(str(path), error=_unlisted(path, error))
            count += 1
    if not count:
        message = f"There is no Delta table in {root} or below it. Give a table, or a folder of tables."
        yield TableAudit(root, error=TableNotFound(message, location=root))


def _unlisted(path: Path, error: OSError) -> StorageError:
    found = StorageError(
        f"The folder {path} cannot be listed: {error.strerror or error}. Tables below it are not audited. Let this "
        "user read it, or leave it out.",
        path=str(path),
    )
    found.__cause__ = error
    return found
