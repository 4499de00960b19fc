"""The case of one window: what a person pinned as evidence, and what the log of a table says of it now.

Invariants: a pin is taken only if it holds; one that holds no longer stays, and is marked; the case is a `CaseFile` and
nothing else, so that a file of it is the whole of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from explorer import formatting as fmt
from explorer.auditing.report.case_file import AnyPin, CaseFile, read_case
from explorer.auditing.report.document import Pin
from explorer.auditing.report.pins import case, found_findings, pinned
from explorer.core.errors import RequestError
from explorer.views.table.facts import TableFacts

__all__ = ["CaseDesk", "CaseView", "PinLine"]

_UNTITLED: Final = "Case"
_MOST_PINS: Final = 500


@dataclass(frozen=True, slots=True)
class PinLine:
    """A pin as a page shows it.

    Attributes:
        place: Its place in the case, from 0.
        table: The last part of its table's location; empty where it names none.
        said: What the log of the table on show says of it; None of a pin of another table.
        label: What it is, where the log says nothing here.
        note: What the person wrote.
    """

    place: int
    table: str
    said: Pin | None
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case as a page shows it: what a person wrote, its pins, and how many are of another table."""

    title: str
    author: str
    notes: str
    pins: tuple[PinLine, ...]
    elsewhere: int


class CaseDesk:
    """The case of one window.

    Args:
        person: Who pins; empty if not known.
    """

    def __init__(self, person: str = "") -> None:
        self.file = CaseFile(title=_UNTITLED, author=person)

    @property
    def text(self) -> str:
        """The case as a line of JSON, to be kept; empty while there is nothing in it."""
        blank = not self.file.pins and not self.file.notes and self.file.title == _UNTITLED
        return "" if blank else msgspec.json.encode(self.file).decode()

    def stop_reading(self) -> None:
        """Nothing is read for a case."""

    def load(self, text: str, name: str) -> None:
        """Take the case of a file in place of this one.

        Raises:
            RequestError: It is no case file.
        """
        self.file = read_case(text.encode(), name)

    def checked(self, pin: AnyPin, facts: TableFacts) -> AnyPin:
        """Return a pin as it goes into the case: with its table, the time, and the digest of a commit.

        Raises:
            RequestError: It does not hold.
        """
        now = datetime.now(UTC).replace(microsecond=0)
        named = msgspec.structs.replace(pin, table=facts.location, pinned=now)
        return pinned(named, facts.subject(), found_findings(facts.audit()))

    def add(self, pin: AnyPin) -> bool:
        """Put a pin into the case, unless it is there; return whether it was put in.

        Raises:
            RequestError: The case is full.
        """
        if any(_same(pin, each) for each in self.file.pins):
            return False
        if len(self.file.pins) >= _MOST_PINS:
            raise RequestError(f"A case holds {_MOST_PINS} pins. Download it and begin another one.", field="pin")
        self._change(pins=(*self.file.pins, pin))
        return True

    def remove(self, place: int) -> None:
        """Take a pin out.

        Raises:
            RequestError: There is none at this place.
        """
        self._pin_at(place)
        self._change(pins=tuple(pin for at, pin in enumerate(self.file.pins) if at != place))

    def note(self, place: int, text: str) -> None:
        """Say why a pin matters.

        Raises:
            RequestError: There is none at this place.
        """
        noted = msgspec.structs.replace(self._pin_at(place), note=text)
        self._change(pins=tuple(noted if at == place else pin for at, pin in enumerate(self.file.pins)))

    def describe(self, title: str, author: str, notes: str) -> None:
        """Say what the case is about and who makes it."""
        self._change(title=title or _UNTITLED, author=author, notes=notes)

    def view(self, facts: TableFacts) -> CaseView:
        """Return the case as a page of a table shows it."""
        findings, subject = found_findings(facts.audit()), facts.subject()
        lines = []
        for place, pin in enumerate(self.file.pins):
            whole = msgspec.structs.replace(self.file, pins=(pin,))
            said = case(whole, subject, findings).pins
            table = "" if pin.table is None else pin.table.rstrip("/").rpartition("/")[2]
            label = type(pin).__name__.removesuffix("Pin").lower()
            lines.append(PinLine(place, fmt.plain(table, 200), said[0] if said else None, label, pin.note))
        elsewhere = sum(line.said is None for line in lines)
        return CaseView(self.file.title, self.file.author, self.file.notes, tuple(lines), elsewhere)

    def _pin_at(self, place: int) -> AnyPin:
        if not 0 <= place < len(self.file.pins):
            raise RequestError("This pin is no longer in the case.", field="pin")
        return self.file.pins[place]

    def _change(self, **fields: object) -> None:
        self.file = msgspec.structs.replace(self.file, **fields)


def _same(one: AnyPin, other: AnyPin) -> bool:
    """Whether two pins are of the same thing, whatever was written to them."""
    bare = {"note": "", "pinned": None}
    return msgspec.structs.replace(one, **bare) == msgspec.structs.replace(other, **bare)
