"""How tests run side by side: the files of tests are handed to as many processes as there are processors, four at most.

``make test`` gives the same options by itself.
"""

from __future__ import annotations

from typing import Final

__all__ = ["SIDE_BY_SIDE"]

SIDE_BY_SIDE: Final = ("--numprocesses", "logical", "--maxprocesses", "4", "--dist", "loadfile")
"""Options of pytest."""
