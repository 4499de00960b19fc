"""The origin of a commit of the demo: user, time and client; and the calendar of the stories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

SPARK: Final = "Apache-Spark/4.2.1 Delta-Lake/4.4.0"
DELTA_RS: Final = "delta-rs:py-1.6.6"


@dataclass(frozen=True, slots=True)
class DemoProvenance:
    """What ``commitInfo`` says about the origin of a commit.

    Attributes:
        at: When it was committed, UTC.
        user: Who did it.
        engine: With which client.
        reason: What the user wrote as ``userMetadata``.
    """

    at: datetime
    user: str
    engine: str = SPARK
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days counted from the Monday on which the stories begin, so that weekdays stay the same in every build."""

    monday: date

    def day(self, week: int, weekday: int) -> date:
        """Return a day: weeks from 0, weekdays from Monday = 0."""
        return self.monday + timedelta(weeks=week, days=weekday)

    def at(self, week: int, weekday: int, clock: str) -> datetime:
        """Return a moment of a day, ``clock`` as ``14:05:11`` or ``14:05``, UTC."""
        return datetime.combine(self.day(week, weekday), time.fromisoformat(clock), UTC)
