"""A table property: its key, its default, its effect, its allowed values, and its value in a table.

Protocol section: Change Metadata (configuration). Invariants: a property that is not set has its default; a value that
cannot be read is an error that names the property, never the default.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from explorer.core.errors import CorruptTable
from explorer.core.protocol.table_properties.values import flag, interval, number

_LARGEST: Final = 2**31 - 1
_MOST_DIGITS: Final = 20
_WRITTEN: Final = re.compile(
    r"(?:interval\s+)?(?:[+-]?(?:\d+\s+[a-z]+|\d+\.\d{1,9}\s+seconds?)(?:\s+|\Z))+", re.ASCII | re.IGNORECASE
)
"""An interval as every client reads it: a blank before each unit, and a fraction of seconds alone."""


class TableProperty(msgspec.Struct, frozen=True):
    """One property; as text it is its key.

    Attributes:
        key: The key in its true case.
        effect: Its effect, in words.
        default: The value, as written, where it is not set; None if it has none.
        allowed: The allowed values, in the case in which they are written; empty where there are many.
        why_fixed: Why it cannot be set; None where it can.
    """

    key: str
    effect: str
    default: str | None = None
    allowed: tuple[str, ...] = ()
    why_fixed: str | None = None

    def __str__(self) -> str:
        return self.key

    def is_set(self, configuration: Mapping[str, str]) -> bool:
        """Return whether a table has a value for it."""
        return self.key in configuration

    def text(self, configuration: Mapping[str, str]) -> str | None:
        """Return the value as it is written, or the default."""
        return configuration.get(self.key, self.default)

    def refusal(self, value: str) -> tuple[str, ...]:  # noqa: ARG002  # the kinds below use it
        """Return the form that is needed instead of a value that is not allowed; empty for an allowed value."""
        return ()


class Flag(TableProperty, frozen=True):
    """True or false."""

    def of(self, configuration: Mapping[str, str], *, unset: bool = False) -> bool:
        """Return the value in a table.

        Raises:
            CorruptTable: It is neither true nor false.
        """
        return flag(configuration, self.key, default=unset if self.default is None else self.default == "true")

    def refusal(self, value: str) -> tuple[str, ...]:
        return () if value.lower() in self.allowed else self.allowed


class Integer(TableProperty, frozen=True):
    """A whole number between two bounds.

    Attributes:
        minimum, maximum: Both included; None for the largest of 32 bits.
    """

    minimum: int = 0
    maximum: int | None = None

    def of(self, configuration: Mapping[str, str]) -> int:
        """Return the value in a table; 0 where the property is not set and has no default.

        Raises:
            CorruptTable: It is not an integer.
        """
        return number(configuration, self.key, int(self.default or 0))

    def refusal(self, value: str) -> tuple[str, ...]:
        high = _LARGEST if self.maximum is None else self.maximum
        digits = value[value.startswith(("-", "+")) :]
        if digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS and self.minimum <= int(value) <= high:
            return ()
        return (f"an integer from {self.minimum}" + (f" to {high}" if self.maximum is not None else ""),)


class Interval(TableProperty, frozen=True):
    """A duration such as ``interval 1 week``."""

    def of(self, configuration: Mapping[str, str], *, unset: timedelta = timedelta()) -> timedelta:
        """Return the value in a table.

        Raises:
            CorruptTable: It is not a duration.
        """
        text = self.text(configuration)
        return unset if text is None else interval({self.key: text}, self.key, unset)

    def is_taken(self, value: str) -> bool:
        """Return whether every client accepts a value: no months or years, whose length differs, and no other form."""
        try:
            self.of({self.key: value})
        except CorruptTable:
            return False
        return _WRITTEN.fullmatch(value.strip()) is not None

    def refusal(self, value: str) -> tuple[str, ...]:
        possible = self.is_taken(value) and self.of({self.key: value}) >= timedelta()
        return () if possible else ("an interval such as 'interval 7 days', without months and years",)


class ChoiceProperty(TableProperty, frozen=True):
    """One of several words.

    Attributes:
        exact: True if only their own case is accepted.
        only_read: Further words that clients take in a table, and set in none.
    """

    exact: bool = False
    only_read: tuple[str, ...] = ()

    def is_taken(self, value: str) -> bool:
        """Return whether clients take a word that a table has."""
        return not self.refusal(value) or value.lower() in (word.lower() for word in self.only_read)

    def of(self, configuration: Mapping[str, str]) -> str:
        """Return the word in a table, in lower case; empty where the property is not set and has no default."""
        return (self.text(configuration) or "").lower()

    def refusal(self, value: str) -> tuple[str, ...]:
        known = value in self.allowed if self.exact else value.lower() in (word.lower() for word in self.allowed)
        return () if known else self.allowed


class Choices(TableProperty, frozen=True):
    """Several of some words, separated by commas."""

    def words(self, configuration: Mapping[str, str]) -> tuple[str, ...]:
        """Return the words in a table."""
        return _words(self.text(configuration) or "")

    def refusal(self, value: str) -> tuple[str, ...]:
        if set(_words(value)) <= set(self.allowed):
            return ()
        return (f"a comma-separated list of {' and '.join(self.allowed)}",)


class Columns(TableProperty, frozen=True):
    """Dotted columns, separated by commas."""


class FreeText(TableProperty, frozen=True):
    """Any text.

    Attributes:
        form: Regular expression that it must match; ``allowed`` shows an example. None where any text is valid.
    """

    form: str | None = None

    def refusal(self, value: str) -> tuple[str, ...]:
        return () if self.form is None or re.fullmatch(self.form, value) else self.allowed


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
