"""Times in words in an intent become ISO 8601: words mean another time tomorrow, and a plan is kept and logged.

Invariants: a time that is ISO 8601 with a zone, and an interval, stay as they are; a time without a zone is UTC. The
module that reads words is loaded for them alone: most intents have no time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from explorer.core.errors import InvalidIntent, RequestError
from explorer.core.protocol.times import aware_moment, older_than
from explorer.core.transaction.intents.records import CleanLog, Intent, Restore, Vacuum

__all__ = ["age_in_words", "dated"]

_INTERVAL: Final = "interval 30 days"


def dated(intent: Intent, now: datetime) -> Intent:
    """Return an intent whose times are in ISO 8601.

    Args:
        intent: The intent.
        now: The present, with a zone.

    Raises:
        InvalidIntent: A time that is neither an interval, where one may be given, nor a time.
        RequestError: The time to restore is none, or more than one.
    """
    match intent:
        case Restore(timestamp=str() as text, version=None):
            return replace(intent, timestamp=_restored(text, now))
        case CleanLog(older_than=str() as text) | Vacuum(older_than=str() as text):
            named = age_in_words(text, now)
            return intent if named is None else replace(intent, older_than=_iso(named))
        case _:
            return intent


def age_in_words(text: str, now: datetime) -> datetime | None:
    """Return the time that ``olderThan`` states in words, or without a zone; None for an interval or an exact time.

    Raises:
        InvalidIntent: It is none of these, or more than one time.
    """
    try:
        older_than(text)
    except InvalidIntent:
        pass
    else:
        return None
    from explorer.core.versions.commits.time_words import EXAMPLES, NO_TIME, stated_time

    try:
        return stated_time(text, now).moment
    except RequestError as error:
        message = str(error)
        if error.reason == NO_TIME:
            message = (
                f"{text!r} is neither an interval such as '{_INTERVAL}' nor a time. Write a time such as "
                f"{', '.join(EXAMPLES[:-1])}, or {EXAMPLES[-1]}."
            )
        raise InvalidIntent(message, field="olderThan", allowed=[_INTERVAL, *EXAMPLES]) from error


def _restored(text: str, now: datetime) -> str:
    try:
        aware_moment(text)
    except RequestError:
        from explorer.core.versions.commits.time_words import stated_time

        try:
            return _iso(stated_time(text, now).moment)
        except RequestError as error:
            raise error.with_facts(field="timestamp") from error
    return text


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
