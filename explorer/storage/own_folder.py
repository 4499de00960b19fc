"""Folders of files that this program trusts: only the user who runs it may look into them or write there."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def make_own_folder(folder: Path) -> None:
    """Make a folder for its owner alone, or take an existing one of this user from all others.

    Raises:
        OSError: It cannot be made, or belongs to another user.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise PermissionError("the folder belongs to another user")
    if stat.S_IMODE(status.st_mode) & 0o077:
        folder.chmod(0o700)
