"""Lines of a record that a server writes on a thread of its own."""

from __future__ import annotations

import time

from explorer.activity.event import Event
from explorer.activity.files import RecordFiles
from explorer.activity.reading import entries

__all__ = ["lines_once"]


def lines_once(files: RecordFiles, count: int, seconds: float = 60) -> list[Event]:
    """Wait until a record has so many lines, and return what they are about, newest first."""
    ends = time.monotonic() + seconds
    while len(found := [entry.event for entry in entries(files)]) < count:
        assert time.monotonic() < ends, found
        time.sleep(0.01)
    return found
