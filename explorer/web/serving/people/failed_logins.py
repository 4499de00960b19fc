"""How long an attempt to sign in has to wait after failures: longer after each one, by client and by name.

Guesses from one client wait for each other, whatever names they try and whichever login succeeds in between. Guesses at
one name from many clients wait too. Each client adds only a few failures to the delay of a name, and the delay does not
apply to a browser in which that person has signed in before. So failures of one client do not lock others out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_FREE: Final = 3
_LONGEST_BY_NAME: Final = 30.0
_LONGEST_BY_CLIENT: Final = 300.0
_FORGOTTEN_AFTER: Final = 3600.0
_MOST: Final = 20_000


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """An attempt to sign in.

    Attributes:
        name: The name that is tried.
        client: The browser, if the person has signed in with it before; otherwise the network address.
        known: Whether the person has signed in with the browser before.
    """

    name: str
    client: str
    known: bool = False


class FailedLogins:
    """The failures of the last hour.

    Args:
        clock: Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clients: dict[str, tuple[int, float]] = {}
        self._names: dict[str, tuple[int, float]] = {}
        self._pairs: dict[str, tuple[int, float]] = {}

    def wait(self, attempt: LoginAttempt) -> float:
        """Return the seconds until an attempt is checked; 0 for at once."""
        by_client = self._wait(self._clients.get(attempt.client), _LONGEST_BY_CLIENT)
        if attempt.known:
            return by_client
        return max(by_client, self._wait(self._names.get(attempt.name), _LONGEST_BY_NAME))

    def count(self, attempt: LoginAttempt) -> None:
        """Count a failure."""
        self._add(self._clients, attempt.client)
        if self._add(self._pairs, _pair(attempt)) <= _FREE and not attempt.known:
            self._add(self._names, attempt.name)

    def forget(self, attempt: LoginAttempt) -> None:
        """Forget the failures of a client with a name, because it has signed in with that name."""
        number, _ = self._pairs.pop(_pair(attempt), (0, 0.0))
        _take(self._clients, attempt.client, number)
        if not attempt.known:
            _take(self._names, attempt.name, min(number, _FREE))

    def _add(self, failures: dict[str, tuple[int, float]], key: str) -> int:
        """Count a failure of a key, which becomes the newest one; return the number of its failures."""
        now = self._clock()
        number, last = failures.pop(key, (0, now))
        number = 1 if now - last > _FORGOTTEN_AFTER else number + 1
        failures[key] = number, now
        while len(failures) > _MOST:
            del failures[next(iter(failures))]
        return number

    def _wait(self, failures: tuple[int, float] | None, longest: float) -> float:
        number, last = failures or (0, 0.0)
        if number < _FREE:
            return 0.0
        delay = min(2.0 ** min(number - _FREE, 20), longest)
        return max(0.0, last + delay - self._clock())


def _pair(attempt: LoginAttempt) -> str:
    return f"{attempt.client}\0{attempt.name}"


def _take(failures: dict[str, tuple[int, float]], key: str, number: int) -> None:
    """Take failures of a key back."""
    known, last = failures.get(key, (0, 0.0))
    if known > number:
        failures[key] = known - number, last
    else:
        failures.pop(key, None)
