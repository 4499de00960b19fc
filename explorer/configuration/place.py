"""Where the configuration file is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from platformdirs import user_config_path

from explorer.variables import CONFIG_VARIABLE, OFF

NAME: Final = "explorer.toml"
_APPLICATION: Final = "delta-table-explorer"


def configuration_place(named: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the place of the configuration file; None if there is none.

    Args:
        named: The file; None for that of the environment variable, else the one in the user's folder of settings, if
            it exists.
    """
    chosen = named or os.environ.get(CONFIG_VARIABLE, "")
    if chosen:
        return None if os.fspath(chosen) == OFF else Path(chosen).expanduser()
    own = user_config_path(_APPLICATION) / NAME
    return own if own.exists() else None
