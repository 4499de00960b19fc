"""The newest entries of a record, read again when it has another head."""

from __future__ import annotations

import threading
from itertools import islice
from typing import Final

from explorer.activity.event import RecordEntry
from explorer.activity.files import RecordFiles
from explorer.activity.reading import entries

MOST: Final = 20_000


class NewestEntries:
    """The newest entries of a record; its methods may be called from any thread.

    Args:
        files: The record.
        most: How many entries.
    """

    def __init__(self, files: RecordFiles, most: int = MOST) -> None:
        self._files, self._most = files, most
        self._lock = threading.Lock()
        self._known: tuple[bytes | None, tuple[RecordEntry, ...]] = None, ()

    def read(self) -> tuple[RecordEntry, ...]:
        """Return the newest entries, newest first.

        Raises:
            StorageError: The record cannot be read.
        """
        with self._lock:
            head = self._files.read_head()
            if head is None or head != self._known[0]:
                self._known = head, tuple(islice(entries(self._files), self._most))
            return self._known[1]

    def is_cut(self, read: tuple[RecordEntry, ...]) -> bool:
        """Return whether there are older entries than those that were read."""
        return len(read) >= self._most
