"""Where the record of this program is, unless a flag names another one."""

from __future__ import annotations

import os
from pathlib import Path

from explorer.storage.own_folder import own_place
from explorer.variables import ACTIVITY_VARIABLE


def activity_place(named: str | os.PathLike[str] | None = None, *, default: bool = True) -> Path | None:
    """Return the place of the record; None for no record.

    Args:
        named: The place that was named; None for that of the environment variable.
        default: Without a named one, take that in the folder of state of the service, or in the user's folder of data.
    """
    chosen = os.fspath(named) if named else os.environ.get(ACTIVITY_VARIABLE, "")
    return own_place(chosen, "activity") if chosen or default else None
