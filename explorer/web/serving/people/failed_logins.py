"""How long someone who failed to sign in has to wait: longer after each failure, by name and by address."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

__all__ = ["FailedLogins"]

_FREE: Final = 3
_LONGEST_BY_NAME: Final = 30.0
_LONGEST_BY_ADDRESS: Final = 300.0
_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 20_000


class FailedLogins:
    """The failures of the last hour.

    A name waits at most half a minute, so that others cannot keep its owner out for long.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[tuple[str, str], tuple[int, float]] = {}

    def wait(self, name: str, address: str) -> float:
        """Return the seconds until an attempt is looked at; 0 for at once."""
        return max(self._wait(("name", name), _LONGEST_BY_NAME), self._wait(("address", address), _LONGEST_BY_ADDRESS))

    def count(self, name: str, address: str) -> None:
        """Count a failure."""
        now = self._clock()
        for key in (("name", name), ("address", address)):
            number, last = self._failures.pop(key, (0, now))
            self._failures[key] = (1 if now - last > _FORGOTTEN_AFTER else number + 1), now
        while len(self._failures) > _MOST:
            del self._failures[next(iter(self._failures))]

    def forget(self, name: str, address: str) -> None:
        """Forget the failures of someone who has signed in."""
        self._failures.pop(("name", name), None)
        self._failures.pop(("address", address), None)

    def _wait(self, key: tuple[str, str], longest: float) -> float:
        number, last = self._failures.get(key, (0, 0.0))
        if number < _FREE:
            return 0.0
        delay = min(2.0 ** min(number - _FREE, 20), longest)
        return max(0.0, last + delay - self._clock())
