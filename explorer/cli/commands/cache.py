"""``cache``: what is cached of tables between runs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from explorer import formatting as fmt
from explorer.cli.arguments import JsonFlag
from explorer.cli.output import emit, listing, note
from explorer.core.errors import StorageError
from explorer.core.protocol.json_values import JsonRecord
from explorer.core.protocol.times import from_milliseconds
from explorer.storage.index_folder import IndexFile, user_indexes
from explorer.variables import CACHE_VARIABLE
from explorer.version import VERSION

ActionArgument = Annotated[
    Literal["list", "clear"], typer.Argument(metavar="[list|clear]", help="List the cached tables, or remove them.")
]


class CacheLine(JsonRecord, frozen=True, kw_only=True):
    """A cached log, the most recently used first.

    Attributes:
        table: Null if the file is damaged, or of another version of this program.
        last_used: ms since the epoch.
    """

    table: str | None
    size_in_bytes: int
    last_used: int


def cache(action: ActionArgument = "list", json: JsonFlag = False) -> None:
    """List or clear the cache of table logs, which lets the next run read only new commits.

    The cache is in your cache folder, or in the folder of the variable DELTA_EXPLORER_CACHE; the value `off`, or
    --no-cache, disables it. You lose nothing by clearing it: the next run reads the logs in full.
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
            emit(CacheLine(table=file.location, size_in_bytes=file.size, last_used=file.used))
        return
    listing(
        ["table", "size", "last used"], map(_row, files), f"The cache in {indexes.folder} is empty.", numbers=("size",)
    )
    if files:
        verb = "are kept" if action == "list" else "were removed"
        size = fmt.size(sum(file.size for file in files))
        note(f"{size} of {fmt.plural(len(files), 'table')} {verb} in {indexes.folder}.")


def _row(file: IndexFile) -> tuple[str, str, str]:
    return file.location or fmt.UNKNOWN, fmt.size(file.size), fmt.timestamp(from_milliseconds(file.used))
