"""Hours of the day, ``07:00-19:00``, on the clock of a time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time
from typing import Final

from explorer.core.protocol.times import zone_named

_HOURS: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class DayHours:
    """Hours of each day; if they end before they begin, they lead over midnight.

    Attributes:
        begins, ends: The first moment, and the first one after them.
        zone: The name of the time zone.
    """

    begins: time
    ends: time
    zone: str = "UTC"

    @classmethod
    def read(cls, text: str, zone: str = "UTC") -> DayHours:
        """Return the hours of a text.

        Raises:
            ValueError: It is none.
            RequestError: There is no such zone.
        """
        match = _HOURS.fullmatch(text.strip())
        if match is None:
            raise ValueError(text)
        zone_named(zone)
        return cls(time.fromisoformat(match[1]), time.fromisoformat(match[2]), zone)

    def hold(self, moment: datetime) -> bool:
        """Return whether a time, with a zone, is within them."""
        at = moment.astimezone(zone_named(self.zone)).time()
        if self.begins <= self.ends:
            return self.begins <= at < self.ends
        return at >= self.begins or at < self.ends
