"""Pages come before what is read in the background: that waits while a page is made, as both share the processor.

Invariants: what waits goes on when no page is being made, and after some seconds in any case.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["RightOfWay"]

_LONGEST: Final = 3.0


class RightOfWay:
    """The order of pages and of what is read in the background; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._pages = 0

    @contextmanager
    def page(self) -> Iterator[None]:
        """Make a page: others wait meanwhile."""
        with self._free:
            self._pages += 1
        try:
            yield
        finally:
            with self._free:
                self._pages -= 1
                self._free.notify_all()

    def give_way(self, longest: float = _LONGEST) -> bool:
        """Wait while pages are made.

        Args:
            longest: Seconds to wait at most.

        Returns:
            Whether none is being made now.
        """
        with self._free:
            return self._free.wait_for(lambda: not self._pages, timeout=longest)
