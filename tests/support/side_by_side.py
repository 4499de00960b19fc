"""How tests run side by side: files of tests are handed to processes, of which `distribution` says how many there are.

``make test`` gives the same options by itself.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SIDE_BY_SIDE"]

SIDE_BY_SIDE: Final = ("--numprocesses", "auto", "--dist", "loadfile")
"""Options of pytest."""
