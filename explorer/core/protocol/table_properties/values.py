"""Typed ``delta.*`` table properties with their defaults.

Protocol section: Change Metadata (configuration). Invariants: writers preserve unknown keys; a known
property with an unreadable value is an error that names it, never the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from explorer.core.errors import CorruptTable
from explorer.core.protocol.json_values import plain_number

CONSTRAINT_PREFIX: Final = "delta.constraints."
"""The beginning of the key of a CHECK constraint, in any case; its name follows."""

_TRUE: Final = {"true": True, "false": False}
_UNITS: Final = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_LONGEST_INTERVAL: Final = 200
_PART: Final = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-z]+?)s?(?=\s|\Z)", re.ASCII | re.IGNORECASE)


def flag(configuration: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    """Return a Boolean property.

    Raises:
        CorruptTable: The value is neither true nor false.
    """
    text = configuration.get(key)
    if text is None:
        return default
    value = _TRUE.get(text.strip().lower())
    if value is None:
        raise _unreadable(key, text, "true or false")
    return value


def number(configuration: Mapping[str, str], key: str, default: int) -> int:
    """Return an integer property.

    Raises:
        CorruptTable: The value is not an integer.
    """
    text = configuration.get(key)
    if text is None:
        return default
    try:
        return int(plain_number(text))
    except ValueError as error:
        raise _unreadable(key, text, "an integer") from error


def interval(configuration: Mapping[str, str], key: str, default: timedelta) -> timedelta:
    """Return a duration such as ``interval 1 week`` or ``interval 1 day 12 hours``.

    Raises:
        CorruptTable: The value is not such a duration.
    """
    text = configuration.get(key)
    if text is None:
        return default
    try:
        return parse_interval(text)
    except ValueError as error:
        shown = text if len(text) <= _LONGEST_INTERVAL else f"{text[:_LONGEST_INTERVAL]}…"
        raise _unreadable(key, shown, str(error)) from error


def parse_interval(text: str) -> timedelta:
    """Return a duration, of which ``interval`` may be the first word.

    Raises:
        ValueError: It is none; the message says what it must be.
    """
    expected = "an interval such as 'interval 7 days'"
    if len(text) > _LONGEST_INTERVAL:
        raise ValueError(expected)
    body = re.sub(r"\A\s*interval\b", "", text.strip(), flags=re.IGNORECASE)
    parts, rest = _PART.findall(body), _PART.sub("", body)
    if not parts or rest.strip() or any(unit.lower() not in _UNITS for _, unit in parts):
        raise ValueError(expected)
    try:
        return sum((float(amount) * _UNITS[unit.lower()] for amount, unit in parts), timedelta())
    except OverflowError as error:
        raise ValueError(f"{expected}, of at most {timedelta.max.days:,} days") from error


def constraints(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return CHECK constraints: name -> SQL expression (CONSTR-006)."""
    named = ((constraint_name(key), text) for key, text in configuration.items())
    return {name: text for name, text in named if name is not None}


def constraint_name(key: str) -> str | None:
    """Return the name of the CHECK constraint of a key; None for the key of another property.

    The reference takes the prefix in any case, and enforces what follows. It leaves the prefix out of the name only
    where it is in small letters, so no two keys have the same name: that of ``DELTA.CONSTRAINTS.C1`` is the whole key.
    """
    if not key.lower().startswith(CONSTRAINT_PREFIX):
        return None
    name = key.removeprefix(CONSTRAINT_PREFIX)
    return key if name.lower().startswith(CONSTRAINT_PREFIX) else name


def _unreadable(key: str, text: str, expected: str) -> CorruptTable:
    return CorruptTable(
        f"The table property {key} is {text!r}; it must be {expected}. Set the property again to repair the table.",
        found=text,
        expected=expected,
    )
