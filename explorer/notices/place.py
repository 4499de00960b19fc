"""Where the notices of this program are, unless the configuration names another folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from platformdirs import user_data_path

from explorer.variables import NOTICES_VARIABLE

OFF: Final = "off"
_APPLICATION: Final = "delta-table-explorer"


def notices_place() -> Path | None:
    """Return the folder of the notices; None if it is off.

    It is that of the environment variable, which the configuration sets; otherwise one in the folder of state of the
    service, or in the user's folder of data.
    """
    chosen = os.environ.get(NOTICES_VARIABLE, "")
    if chosen:
        return None if chosen == OFF else Path(chosen).expanduser()
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return (Path(state) if state else user_data_path(_APPLICATION)) / "notices"
