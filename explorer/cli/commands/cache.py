"""``cache``: what is kept of tables between runs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag
from explorer.cli.output import emit, listing, note
from explorer.core.errors import StorageError
from explorer.core.protocol.times import from_milliseconds
from explorer.storage.kept_indexes import CACHE_VARIABLE, KeptFile, user_indexes
from explorer.version import VERSION

__all__ = ["register"]

ActionArgument = Annotated[
    Literal["list", "clear"], typer.Argument(metavar="[list|clear]", help="List what is kept, or remove it.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cache")(cache)


def cache(action: ActionArgument = "list", json: JsonFlag = False) -> None:
    """List or clear the cache of table logs, which lets the next run read only new commits.

    It is kept in the user's cache folder, or in the folder that DELTA_EXPLORER_CACHE names; the value off, or
    --no-cache, switches it off. Nothing of it is needed: what is gone is read again from the tables.

    JSON, a line a table, the most recently used first: table (null where the file is broken or of another version of
    this program), sizeInBytes, lastUsed (ms since the epoch).
    """
    indexes = user_indexes(VERSION)
    if indexes is None:
        if not json:
            note(f"The cache is disabled: {CACHE_VARIABLE} is off.")
        return
    try:
        files = indexes.files() if action == "list" else indexes.clear()
    except OSError as error:
        raise StorageError(
            f"Cannot clear {indexes.folder}: {error.strerror or error}. Remove the folder.", path=str(indexes.folder)
        ) from error
    if json:
        for file in files:
            emit({"table": file.location, "sizeInBytes": file.size, "lastUsed": file.used})
        return
    listing(
        ["table", "size", "last used"], map(_row, files), f"The cache in {indexes.folder} is empty.", numbers=("size",)
    )
    if files:
        verb = "are kept" if action == "list" else "were removed"
        size = fmt.size(sum(file.size for file in files))
        note(f"{size} of {fmt.plural(len(files), 'table')} {verb} in {indexes.folder}.")


def _row(file: KeptFile) -> tuple[str, str, str]:
    return file.location or fmt.UNKNOWN, fmt.size(file.size), fmt.timestamp(from_milliseconds(file.used))
