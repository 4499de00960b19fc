"""Where the notices of this program are, unless the configuration names another folder."""

from __future__ import annotations

import os
from pathlib import Path

from explorer.storage.own_folder import own_place
from explorer.variables import NOTICES_VARIABLE


def notices_place() -> Path | None:
    """Return the folder of the notices; None if it is off. The configuration sets the environment variable of it."""
    return own_place(os.environ.get(NOTICES_VARIABLE, ""), "notices")
