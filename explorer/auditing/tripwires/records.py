"""What a file of tripwires says: one record for each kind, and errors that name the line and the field.

[[tripwire]]
name = "many rows gone"
when = "rows-removed"
share = 0.2

[[tripwire]]
name = "schema changed at night"
when = "schema-changed"
outside = "07:00-19:00"
zone = "Europe/Berlin"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from explorer.core.errors import RequestError
from explorer.core.protocol.limits import check_dotted_names
from explorer.core.protocol.table_properties.values import parse_interval
from explorer.core.protocol.times import DayHours, span_milliseconds, zone_named

_HEAD: Final = re.compile(r"^\s*\[\[\s*tripwire\s*\]\]")
_LINE: Final = re.compile(r"at line (\d+)")
_PLACE: Final = re.compile(r"\$\.tripwire\[(\d+)\](?:\.(\w+))?")


class _Tripwire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="when"):
    """What all kinds have.

    Attributes:
        name: What alarms call it.
        outside: Hours of the day, ``07:00-19:00``: only commits outside of them trip it; None for any hour. Hours that
            end before they begin lead over midnight.
        zone: The time zone of these hours.
        allowed: Authors who never trip it.
        severity: How urgent its notices are.
    """

    name: str
    outside: str | None = None
    zone: str = "UTC"
    allowed: tuple[str, ...] = ()
    severity: Literal["info", "warning", "error"] = "warning"

    @property
    def kind(self) -> str:
        """The word after ``when``."""
        return str(type(self).__struct_config__.tag)

    def check(self) -> None:
        """Refuse what the types allow and what makes no sense.

        Raises:
            ValueError: With the field and what is wrong with it.
        """
        if not self.name.strip():
            raise ValueError("name", "is empty")
        try:
            zone_named(self.zone)
        except RequestError as error:
            raise ValueError("zone", error.message) from error
        self.window()

    def window(self) -> DayHours | None:
        """Return the hours of ``outside``; None for all."""
        if self.outside is None:
            return None
        try:
            return DayHours.read(self.outside, self.zone)
        except ValueError as error:
            raise ValueError("outside", f"is {self.outside!r}, not hours such as 07:00-19:00") from error

    def watches(self, moment: datetime, author: str | None) -> bool:
        """Return whether a commit of that time and author can trip it."""
        if author is not None and author in self.allowed:
            return False
        window = self.window()
        return window is None or not window.hold(moment)


class RowsRemoved(_Tripwire, frozen=True, kw_only=True, tag="rows-removed"):
    """A commit after which the table has fewer rows: by more than a share of them, and by at least so many."""

    share: float
    least: int = 1

    def check(self) -> None:
        """Refuse shares outside of 0 to 1."""
        super().check()
        if not 0 <= self.share < 1:
            raise ValueError("share", f"is {self.share}; it must be a share of at least 0 and less than 1, such as 0.2")
        if self.least < 1:
            raise ValueError("least", f"is {self.least}; it must be at least 1 row")


class SchemaChanged(_Tripwire, frozen=True, kw_only=True, tag="schema-changed"):
    """A commit that changed the schema."""


class ProtocolRaised(_Tripwire, frozen=True, kw_only=True, tag="protocol-raised"):
    """A commit that demands more of clients."""


class RetentionShortened(_Tripwire, frozen=True, kw_only=True, tag="retention-shortened"):
    """A commit after which removed files, or the log, are kept for less long."""


class PropertyChanged(_Tripwire, frozen=True, kw_only=True, tag="property-changed"):
    """A commit that set, changed or removed a property; ``property`` may have ``*`` for any text."""

    property: str


class NewAuthor(_Tripwire, frozen=True, kw_only=True, tag="new-author"):
    """A commit by an author who is not in the earlier log, and not among ``allowed``."""


class NewEngine(_Tripwire, frozen=True, kw_only=True, tag="new-engine"):
    """A commit by an engine, whatever its version, that is not in the log before."""


class Silence(_Tripwire, frozen=True, kw_only=True, tag="silence"):
    """No commit for longer than an interval such as ``2 days``; of one author or of any."""

    longer: str
    author: str | None = None

    def check(self) -> None:
        """Refuse a text that is not an interval."""
        super().check()
        if self.outside is not None or self.allowed:
            raise ValueError("outside" if self.outside is not None else "allowed", "does not set a silence")
        if self.milliseconds() <= 0:
            raise ValueError("longer", f"is {self.longer!r}; it must be longer than 0")

    def milliseconds(self) -> int:
        """Return the interval."""
        try:
            return span_milliseconds(parse_interval(self.longer))
        except ValueError as error:
            raise ValueError("longer", f"is {self.longer!r}, not an interval such as 2 days") from error


Tripwire = (
    RowsRemoved
    | SchemaChanged
    | ProtocolRaised
    | RetentionShortened
    | PropertyChanged
    | NewAuthor
    | NewEngine
    | Silence
)


class _TripwireFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tripwire: tuple[Tripwire, ...]


def read_tripwires(text: str, name: str) -> tuple[Tripwire, ...]:
    """Read a file of tripwires.

    Raises:
        RequestError: It is not TOML, a field is lacking, unknown or makes no sense; ``position`` is the line.
    """
    try:
        check_dotted_names(name, text)
        read = msgspec.convert(tomllib.loads(text), _TripwireFile)
    except tomllib.TOMLDecodeError as error:
        match = _LINE.search(str(error))
        raise _refused(name, None if match is None else int(match[1]), "", str(error)) from error
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        what = str(error).partition(" - at")[0]
        line = _line(text, int(place[1])) if place else None
        raise _refused(name, line, (place[2] or "") if place else "", what) from error
    if not read.tripwire:
        raise _refused(name, None, "tripwire", "it has no [[tripwire]]")
    for number, each in enumerate(read.tripwire):
        try:
            each.check()
        except ValueError as error:
            field, what = error.args
            raise _refused(name, _line(text, number), field, f"{field} {what}") from error
    _check_names(read.tripwire, text, name)
    return read.tripwire


def _check_names(tripwires: Sequence[Tripwire], text: str, name: str) -> None:
    seen = set[str]()
    for number, each in enumerate(tripwires):
        if each.name in seen:
            raise _refused(name, _line(text, number), "name", f"name {each.name!r} is used twice")
        seen.add(each.name)


def _line(text: str, number: int) -> int | None:
    """Return the line at which a tripwire begins, from 1; None if the file lists them differently."""
    heads = [line for line, content in enumerate(text.splitlines(), 1) if _HEAD.match(content)]
    return heads[number] if number < len(heads) else None


def _refused(name: str, line: int | None, field: str, what: str) -> RequestError:
    where = name if line is None else f"Line {line} of {name}"
    return RequestError(
        f"{where} is not a valid tripwire: {what}. No tripwire was evaluated.",
        path=name,
        position=line,
        field=field or None,
    )
