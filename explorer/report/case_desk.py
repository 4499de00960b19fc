"""The case of one window: what a person pinned as evidence, and what the log of a table says of it now.

Invariants: a pin is taken only if it holds; one that holds no longer stays, and is marked; the case is a `CaseFile` and
nothing else, so that a file of it is the whole of it; a pin has the same name as long as it is in the case, and no
other pin gets it meanwhile.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from explorer import formatting as fmt
from explorer.core.errors import RequestError
from explorer.credentials import safe_address, safe_path, without_credentials
from explorer.report.case_file import AnyPin, CaseFile, FilePin, read_case
from explorer.report.document import Pin
from explorer.report.pins import case, name_of, pinned, report_findings
from explorer.views.table.facts import TableFacts

_UNTITLED: Final = "Case"
_MOST_PINS: Final = 500
_NAME_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class PinLine:
    """A pin as a page shows it.

    Attributes:
        name: Its name in the case, of letters, digits and hyphens.
        title: What is pinned; of a finding its claim, where the log of the table on show makes it.
        about: What more says which it is: the rule of a claim, the table, when it was pinned.
        said: What the log of the table on show says of it; None of a pin of another table.
        note: What the person wrote.
    """

    name: str
    title: str
    about: tuple[str, ...]
    said: Pin | None
    note: str


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case as a page shows it: what a person wrote, its pins, and how many are of another table."""

    title: str
    author: str
    notes: str
    pins: tuple[PinLine, ...]
    other_pins: int
    author_is_login: bool = False


class CaseDesk:
    """The case of one window.

    Args:
        person: Who pins; empty if not known.
        signed_in: The server knows the person, who is then the author, whatever a message or a case file says.
    """

    def __init__(self, person: str = "", *, signed_in: bool = False) -> None:
        self._login = person if signed_in else None
        self._about = CaseFile(title=_UNTITLED, author=person)
        # Never changed in place: a page may be drawn from it on another thread.
        self._pins: Mapping[str, AnyPin] = {}

    @property
    def file(self) -> CaseFile:
        """The case."""
        return msgspec.structs.replace(self._about, pins=tuple(self._pins.values()))

    @property
    def text(self) -> str:
        """The case as a line of JSON, to be kept; empty while there is nothing in it."""
        blank = not self._pins and not self._about.notes and self._about.title == _UNTITLED
        return "" if blank else msgspec.json.encode(self.file).decode()

    def stop_reading(self) -> None:
        """Do nothing: a case reads nothing."""

    def load(self, text: str, name: str) -> None:
        """Take the case of a file in place of this one.

        Raises:
            RequestError: If it is not a case file, or has too many pins.
            LimitExceeded: It would take too long to read.
        """
        file = read_case(text.encode(errors="replace"), name)
        if len(file.pins) > _MOST_PINS:
            raise RequestError(
                f"{name} has {len(file.pins):,} pins, but a page shows at most {_MOST_PINS}. Split it into "
                "several files.",
                path=name,
            )
        author = self._author(file.author)
        self._about, self._pins = msgspec.structs.replace(file, author=author, pins=()), _named(map(_safe, file.pins))

    def checked(self, pin: AnyPin, facts: TableFacts) -> AnyPin:
        """Return a pin as it goes into the case: with its table, the time, and the digest of a commit.

        Raises:
            RequestError: It does not hold.
        """
        now = datetime.now(UTC).replace(microsecond=0)
        named = msgspec.structs.replace(pin, table=facts.location, pinned=now)
        if isinstance(named, FilePin):
            named = msgspec.structs.replace(named, path=facts.file_names(named.version).name(named.path))
        return pinned(named, facts.subject(), report_findings(facts.audit()))

    def add(self, pin: AnyPin) -> bool:
        """Put a pin into the case, unless it is there; return whether it was put in.

        Raises:
            RequestError: The case is full.
        """
        if any(_same(pin, each) for each in self._pins.values()):
            return False
        if len(self._pins) >= _MOST_PINS:
            raise RequestError(
                f"This case has the maximum of {_MOST_PINS} pins. Download it and start another one.", field="pin"
            )
        self._pins = {**self._pins, _free_name(pin, self._pins): pin}
        return True

    def remove(self, name: str) -> None:
        """Take a pin out.

        Raises:
            RequestError: There is none of this name.
        """
        self._required(name)
        self._pins = {each: pin for each, pin in self._pins.items() if each != name}

    def note(self, name: str, text: str) -> None:
        """Say why a pin matters.

        Raises:
            RequestError: There is none of this name.
        """
        self._pins = {**self._pins, name: msgspec.structs.replace(self._required(name), note=text)}

    def describe(self, title: str, author: str, notes: str) -> None:
        """Say what the case is about and who makes it."""
        self._about = CaseFile(title=title or _UNTITLED, author=self._author(author), notes=notes)

    def view(self, facts: TableFacts) -> CaseView:
        """Return the case as a page of a table shows it."""
        findings, subject = report_findings(facts.audit()), facts.subject()
        about, lines = self._about, []
        for name, pin in self._pins.items():
            single = msgspec.structs.replace(about, pins=(pin,))
            answers = case(single, subject, findings).pins
            lines.append(_line(name, pin, answers[0] if answers else None))
        other_tables = sum(line.said is None for line in lines)
        return CaseView(
            about.title, about.author, about.notes, tuple(lines), other_tables, author_is_login=self._login is not None
        )

    def _author(self, stated: str) -> str:
        return stated if self._login is None else self._login

    def _required(self, name: str) -> AnyPin:
        if name not in self._pins:
            message = "This pin is no longer in the case: it was already removed, or another case was opened."
            raise RequestError(message, field="pin")
        return self._pins[name]


def _line(name: str, pin: AnyPin, said: Pin | None) -> PinLine:
    what = " ".join(name_of(pin))
    claims = [fact.text for fact in said.facts if fact.name == "claim"] if said is not None else []
    table = "another table" if pin.table is None else pin.table.rstrip("/").rpartition("/")[2]
    about = [what] if len(claims) == 1 else []
    about += [table] if pin.table is not None or said is None else []
    about += [f"pinned {pin.pinned:%Y-%m-%d %H:%M} UTC"] if pin.pinned is not None else []
    title = claims[0] if len(claims) == 1 else what
    return PinLine(name, fmt.plain(title, 200), tuple(fmt.plain(each, 200) for each in about), said, pin.note)


def _named(pins: Iterable[AnyPin]) -> dict[str, AnyPin]:
    """Return the pins by name, in their order."""
    named: dict[str, AnyPin] = {}
    for pin in pins:
        named[_free_name(pin, named)] = pin
    return named


def _free_name(pin: AnyPin, taken: Mapping[str, AnyPin]) -> str:
    """Return a name from the pinned thing; a number distinguishes equal pins of a file."""
    bare = msgspec.json.encode(msgspec.structs.replace(pin, note=""))
    name = hashlib.sha256(bare).hexdigest()[:_NAME_DIGITS]
    # One of these is free: there are more of them than names are taken.
    return next(each for each in (name, *(f"{name}-{n}" for n in range(2, len(taken) + 3))) if each not in taken)


def _safe(pin: AnyPin) -> AnyPin:
    """Return a pin of a file without credentials in its addresses, as this program writes one."""
    table = None if pin.table is None else without_credentials(safe_address(pin.table))
    if isinstance(pin, FilePin):
        return msgspec.structs.replace(pin, table=table, path=safe_path(pin.path))
    return msgspec.structs.replace(pin, table=table)


def _same(one: AnyPin, other: AnyPin) -> bool:
    """Return whether two pins are of the same thing, regardless of their notes."""
    bare = {"note": "", "pinned": None}
    return msgspec.structs.replace(one, **bare) == msgspec.structs.replace(other, **bare)
