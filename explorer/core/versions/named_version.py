"""The version that a person names: by its number, or by a time as `explorer.core.versions.commits.time_words` reads it.

Invariants: digits alone, with or without ``v``, are a version and never a time; a time names the newest version
committed at or before it; a time that has not come yet names none, as a commit may still be made before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from explorer.core.errors import TimestampOutOfRange
from explorer.core.versions.commits.time_words import StatedTime, stated_time

if TYPE_CHECKING:
    from explorer.core.versions.provenance import Provenance

_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class NamedVersion:
    """A version that was named by a time.

    Attributes:
        version: The newest version committed at or before the time.
        stated: The time.
        is_newest: No version is newer: the table has not changed since that time.
    """

    version: int
    stated: StatedTime
    is_newest: bool

    @property
    def reading(self) -> str:
        """The reading of the time, with its zone, and the version that was current then."""
        since = ", unchanged since" if self.is_newest else ""
        return f"{self.stated.text} is v{self.version}{since}"


def version_number(text: str) -> int | None:
    """Return the version of a text such as ``12`` or ``v12``; None if it is no number of a version."""
    digits = text.strip().removeprefix("v").removeprefix("V")
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def version_at(text: str, now: datetime, commits: Callable[[], Provenance]) -> NamedVersion:
    """Return the version that was current at a time.

    Args:
        text: The time, as `stated_time` reads it.
        now: The present, with a zone.
        commits: Returns the recorded commits of the table.

    Raises:
        RequestError: It is not a time, or more than one.
        TimestampOutOfRange: It is before the oldest readable commit, or in the future.
        CorruptTable: A commit lacks the in-commit timestamp that it must have.
    """
    stated = stated_time(text, now)
    try:
        version, is_newest = commits().version_at(stated.moment), False
    except TimestampOutOfRange as error:
        late = error.latest is not None and stated.moment > error.latest
        if not late or error.nearest is None:
            raise
        if stated.moment > now:
            raise TimestampOutOfRange(
                f"{stated.text} is in the future: it is {now.astimezone(UTC):%Y-%m-%d %H:%M} UTC now. Name a time that "
                f"has passed, or a version; the newest is version {error.nearest}.",
                timestamp=stated.moment,
                earliest=error.earliest,
                latest=error.latest,
                nearest=error.nearest,
            ) from error
        version, is_newest = error.nearest, True
    return NamedVersion(version, stated, is_newest)
