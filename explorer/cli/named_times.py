"""Versions and times as a command is given them: numbers, ISO 8601, or words such as ``yesterday 18:00``."""

from __future__ import annotations

from datetime import UTC, datetime

import explorer
from explorer.cli.output import note
from explorer.core.errors import RequestError
from explorer.core.protocol.times import day_or_moment


def snapshot_named(table: explorer.Table, version: str | None, timestamp: str | None = None) -> explorer.Snapshot:
    """Return the snapshot of a version, of a time, or the newest; say on stderr how a time was read.

    Raises:
        RequestError: Both are given, or it is neither a version nor a time.
        VersionNotFound, TimestampOutOfRange, UnsupportedFeature, TableError: As for `Table.snapshot`.
    """
    if version is not None and timestamp is not None:
        raise RequestError("Give a version or a timestamp, not both.")
    text = version if timestamp is None else timestamp
    return table.snapshot(None if text is None else version_of(table, text, by_time=timestamp is not None))


def version_of(table: explorer.Table, text: str, *, by_time: bool = False) -> int:
    """Return the version that a text names; say on stderr how a time was read.

    Args:
        table: The table.
        text: Its number, or a time.
        by_time: It must be a time.

    Raises:
        RequestError: It is neither a version nor a time.
        TimestampOutOfRange: It is before the oldest readable commit, or in the future.
    """
    if not by_time and text.strip().isdecimal() and len(text.strip()) < 19:
        return int(text)
    from explorer.core.versions.named_version import version_at, version_number

    number = None if by_time else version_number(text)
    if number is not None:
        return number
    try:
        named = version_at(text, datetime.now(UTC), table.provenance_record)
    except RequestError as error:
        error.table = error.table or table.location
        raise
    if named.stated.is_read or named.is_newest:
        note(f"{named.reading}.")
    return named.version


def version_since(table: explorer.Table, text: str) -> int:
    """Return the version that a text names; of a time, the first version committed at or after it, said on stderr.

    Raises:
        RequestError, TimestampOutOfRange: As for `version_of`.
    """
    if text.strip().isdecimal() and len(text.strip()) < 19:
        return int(text)
    from explorer.core.protocol.times import milliseconds
    from explorer.core.versions.commits.time_words import NO_TIME, stated_time

    version = version_of(table, text)
    try:
        moment = milliseconds(stated_time(text, datetime.now(UTC)).moment)
    except RequestError as error:
        if error.reason != NO_TIME:
            raise
        return version
    if table.provenance_record().timestamp(version) == moment:
        return version
    note(f"The first version after that is v{version + 1}.")
    return version + 1


def moment_of(text: str) -> datetime:
    """Return the moment that a text names, a day by its beginning; say on stderr how words were read.

    Raises:
        RequestError: It is not a time.
    """
    try:
        return day_or_moment(text)
    except RequestError:
        from explorer.core.versions.commits.time_words import stated_time

        stated = stated_time(text, datetime.now(UTC))
        note(f"{text} is {stated.text}.")
        return stated.moment
