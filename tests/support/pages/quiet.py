"""Whether threads of the program have anything left to do."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Final

__all__ = ["busy_threads"]

_LASTING: Final = ("explorer-record", "explorer-notices", "explorer-deadline", "explorer-workers", "explorer-spark")
"""The names of threads that live as long as the process, and wait for what may come."""


def busy_threads() -> list[str]:
    """Return the names of the program's threads that are in the midst of something."""
    frames = sys._current_frames()
    return [
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith("explorer-")
        and not thread.name.startswith(_LASTING)
        and not _waits_for_work(frames.get(thread.ident or 0))
    ]


def _waits_for_work(frame: FrameType | None) -> bool:
    """Whether a thread is one of a pool to which nothing was given."""
    return (
        frame is not None
        and frame.f_code.co_name == "_worker"
        and frame.f_globals["__name__"].startswith("concurrent.")
    )
