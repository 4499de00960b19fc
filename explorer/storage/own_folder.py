"""Folders of files that this program trusts: only the user who runs it may look into them or write there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from explorer.variables import OFF


def own_place(chosen: str, name: str) -> Path | None:
    """Return where this program keeps something; None if that is off.

    Args:
        chosen: The place that a setting names; empty for the usual one: in the folder of state of a service, which may
            not write into a home, else in the user's folder of data.
        name: The name of the usual one.
    """
    if chosen:
        return None if chosen == OFF else Path(chosen).expanduser()
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if state:
        return Path(state) / name
    from platformdirs import user_data_path

    return user_data_path("delta-table-explorer") / name


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
