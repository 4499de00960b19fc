"""The names of environment variables that the command line sets or reads before it loads what they concern."""

from __future__ import annotations

from typing import Final

CACHE_VARIABLE: Final = "DELTA_EXPLORER_CACHE"
"""The environment variable that names the cache folder, or switches the cache off with ``off``."""
CLIENTS_VARIABLE: Final = "DELTA_EXPLORER_CLIENTS"
"""The environment variable that names the file of the clients in use."""
