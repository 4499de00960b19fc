"""Where the record of this program is, unless a flag names another one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from explorer.variables import ACTIVITY_VARIABLE

OFF: Final = "off"
"""The place of no record."""
_APPLICATION: Final = "delta-table-explorer"


def activity_place(named: str | os.PathLike[str] | None = None, *, default: bool = True) -> Path | None:
    """Return the place of the record; None for no record.

    Args:
        named: The place that was named; None for that of the environment variable.
        default: Without a named one, take that in the folder of state of the service, or in the user's folder of data.
    """
    chosen = os.fspath(named) if named else os.environ.get(ACTIVITY_VARIABLE, "")
    if chosen:
        return None if chosen == OFF else Path(chosen).expanduser()
    if not default:
        return None
    # A service of systemd may not write into a home, and is told where it may.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return (Path(state) if state else user_data_path(_APPLICATION)) / "activity"
