"""Results that a person shares: kept in this program for a stated time, under an ID that cannot be guessed.

Invariants: what is kept is bounded in number and in bytes, and the oldest goes first; a result is found only for what
it is about, so that a window shows it on the page of its own table alone, to whoever the host shows that table; nothing
is written to a disk, so a restart ends all of them.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

MOST_RESULTS: Final = 100
MOST_BYTES: Final = 64 << 20
LIFETIME: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class KeptResult:
    """One result: what it is about, its value, about how many bytes it takes, and until when it is kept."""

    about: Hashable
    value: object
    size: int
    until: datetime


class KeptResults:
    """The results that are kept; its methods may be called from any thread.

    Args:
        most, most_bytes, lifetime: How many at most, how many bytes in all, and for how long.
        now: The clock.
    """

    def __init__(
        self,
        *,
        most: int = MOST_RESULTS,
        most_bytes: int = MOST_BYTES,
        lifetime: timedelta = LIFETIME,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._most, self._most_bytes, self._lifetime, self._now = most, most_bytes, lifetime, now
        self._lock = threading.Lock()
        self._kept: dict[str, KeptResult] = {}

    def keep(self, about: Hashable, value: object, size: int, kind: str = "") -> str | None:
        """Keep a result, and return its ID, which begins with its kind; None if it takes more than all may together."""
        if size > self._most_bytes:
            return None
        with self._lock:
            self._forget_expired()
            while self._kept and (len(self._kept) >= self._most or self._bytes() + size > self._most_bytes):
                self._kept.pop(next(iter(self._kept)))
            id_ = (f"{kind}-" if kind else "") + secrets.token_urlsafe(18)
            self._kept[id_] = KeptResult(about, value, size, self._now() + self._lifetime)
            return id_

    def find(self, id_: str, about: Hashable) -> KeptResult | None:
        """Return the result of an ID; None if there is none, it has expired, or it is about something else."""
        with self._lock:
            self._forget_expired()
            result = self._kept.get(id_)
        return result if result is not None and result.about == about else None

    def _bytes(self) -> int:
        return sum(each.size for each in self._kept.values())

    def _forget_expired(self) -> None:
        now = self._now()
        for id_ in [id_ for id_, each in self._kept.items() if each.until <= now]:
            del self._kept[id_]
