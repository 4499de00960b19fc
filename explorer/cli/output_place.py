"""The place of a file that a command is asked to write."""

from __future__ import annotations

import os
from pathlib import Path

from explorer.core.errors import RequestError

__all__ = ["check_place"]


def check_place(path: Path) -> None:
    """Refuse a place where no file can be, before anything is read.

    Raises:
        RequestError: The place is a folder, or its folder does not exist.
    """
    if os.path.isdir(path):
        raise RequestError(f"{path} cannot be written: it is a folder. Name a file in it.", path=str(path))
    folder = path.absolute().parent
    if not os.path.isdir(folder):
        raise RequestError(
            f"{path} cannot be written: there is no folder {folder}. Make it, or name a file in another folder.",
            path=str(path),
        )
