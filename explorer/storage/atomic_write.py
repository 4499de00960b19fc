"""Files on disk that appear whole or not at all.

A file is written next to its place under a name that no reader takes for a table's file, and renamed at the end.
Invariants: until the rename, the earlier content is unchanged; after any failure, no other file remains.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

# O_PATH opens a folder that this user may write into and not list, too.
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


@contextmanager
def atomic_write(
    target: str,
    name_it: Callable[..., None] = os.replace,
    *,
    durable: bool = True,
    mode: int = 0o666,
    folder: int | None = None,
) -> Iterator[IO[bytes]]:
    """Return a file to write to that takes the place of ``target`` at the end.

    Args:
        target: Path of the file to be; its name alone, if ``folder`` is given.
        name_it: Gives the written file its name: ``os.replace``, or ``os.link``, which fails if there is one.
        durable: Flush the bytes to disk before the name is given; the name lasts after `flush_folder`.
        mode: The file's permissions, before the process's mask.
        folder: The open folder of the file; else the folder in ``target`` is opened, where the system can. Either way
            nothing can take that folder's place meanwhile.

    Raises:
        FileExistsError: There is one, and ``name_it`` does not replace it.
        OSError: The file cannot be written or named.
    """
    above, name = os.path.split(target)
    if folder is None and os.open in os.supports_dir_fd:
        handle = os.open(above or os.curdir, _FOLDER)
        try:
            with atomic_write(name, name_it, durable=durable, mode=mode, folder=handle) as file:
                yield file
        finally:
            os.close(handle)
        return
    # `explorer.core.maintenance.folder_listing` knows this pattern.
    aside = os.path.join(above, f".{name}.{secrets.token_hex(8)}.tmp")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=folder), "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        name_it(aside, target, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(aside, dir_fd=folder)


def flush_folder(folder: str | os.PathLike[str]) -> None:
    """Make the names in a folder last.

    Raises:
        OSError: The folder cannot be flushed.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
