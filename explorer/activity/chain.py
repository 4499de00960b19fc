"""The chain of a record: each entry has the digest of the entry before, and the head has that of the last entry.

What it finds: a byte that was changed, an entry that was removed, added, or moved, and entries that were cut off at the
end, as long as the head is the one that was written. Entries at the beginning may be missing only where an entry says
that they were archived. What it cannot find: a record that was rewritten from some entry on
together with its head, by someone who may write both. A digest of the head that is kept elsewhere finds that, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from explorer.activity.event import FIRST_PREVIOUS, Event, decoded, digest_of
from explorer.core.protocol.json_values import JsonRecord

MOST_PROBLEMS: Final = 100
ARCHIVED: Final = "archived"
"""What an entry about the record says whose older entries were archived."""
_HEAD: Final = re.compile(rb"([0-9]{20}) ([0-9a-f]{64})\n")
_START: Final = re.compile(rb"([0-9]{20}) ([0-9a-f]{64}) ([0-9]{6,12})\n")


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: the number of the last entry, and its digest."""

    number: int = 0
    digest: str = FIRST_PREVIOUS

    def encoded(self) -> bytes:
        """Return the content of the file of the head; it always has the same length."""
        return f"{self.number:020} {self.digest}\n".encode()


def read_head(content: bytes) -> Head | None:
    """Return the head in the content of its file; None if it is damaged."""
    match = _HEAD.fullmatch(content)
    return None if match is None else Head(int(match[1]), match[2].decode())


@dataclass(frozen=True, slots=True)
class Start:
    """Where a record begins whose older entries were archived.

    Attributes:
        number, digest: The last entry that was archived, and its digest.
        files: The number of its file.
    """

    number: int
    digest: str
    files: int

    def encoded(self) -> bytes:
        """Return the content of the file of the start."""
        return f"{self.number:020} {self.digest} {self.files:06}\n".encode()

    def is_recorded_by(self, event: Event) -> bool:
        """Return whether an entry says that the entries up to here were archived."""
        said = event.kind == "record" and event.what == ARCHIVED and event.refers_to == self.number
        return said and event.digest == self.digest


def read_start(content: bytes) -> Start | None:
    """Return the start in the content of its file; None if it is damaged, or empty."""
    match = _START.fullmatch(content)
    return None if match is None else Start(int(match[1]), match[2].decode(), int(match[3]))


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of a file of the record, from 1, as its bytes; the last one may lack its end."""

    file: str
    place: int
    content: bytes
    ended: bool = True


class ChainProblem(JsonRecord, frozen=True, kw_only=True):
    """Where a record is not as it was written.

    Attributes:
        kind: ``damaged``, ``changed``, ``torn``, ``start``, ``head``, ``cut``, or ``expected``.
        file, line: Where; the line from 1.
        detail: What is wrong.
    """

    kind: str
    file: str
    line: int | None
    detail: str


@dataclass(slots=True)
class ChainCheck:
    """What the check of a record found.

    Attributes:
        lines: How many lines were read.
        first: The number of the first one; None without one.
        end: The end of the chain.
        problems: What is wrong, in the order of the lines; at most `MOST_PROBLEMS`.
        found: Expected digests that are those of entries.
        start: Where the record begins, if older entries were archived.
        start_is_recorded: An entry says that these were archived.
    """

    lines: int = 0
    first: int | None = None
    end: Head = field(default_factory=Head)
    problems: list[ChainProblem] = field(default_factory=list)
    found: set[str] = field(default_factory=set)
    start: Start | None = None
    start_is_recorded: bool = False

    def add(self, kind: str, file: str, line: int | None, detail: str) -> None:
        """Add a problem."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(ChainProblem(kind=kind, file=file, line=line, detail=detail))


def check_chain(
    lines: Iterable[RawLine],
    head: bytes | None,
    *,
    head_file: str = "",
    expected: Collection[str] = (),
    start: bytes | None = None,
    start_file: str = "",
) -> ChainCheck:
    """Check that lines are as they were written.

    Args:
        lines: All lines of the record, oldest first.
        head: The content of the file of the head; None if there is none.
        head_file: Its name, for problems.
        expected: Digests that were kept elsewhere: each must be that of an entry.
        start: The content of the file that says where the record begins; None if nothing was archived.
        start_file: Its name, for problems.
    """
    check = ChainCheck(start=None if start is None else read_start(start))
    if start is not None and check.start is None:
        check.add("start", start_file, None, "The file that says where the record begins is damaged.")
    before = Head()
    for raw in lines:
        end = check.end
        _check_line(check, raw, expected)
        before = end if check.end is not end else before
    _check_head(check, before, head, head_file)
    if check.start is not None and not check.start_is_recorded:
        check.add(
            "start", start_file, None, f"The entries up to {check.start.number:,} are marked as archived, but no entry "
            "of the record says so: they were removed."
        )  # fmt: skip
    for digest in expected:
        if digest not in check.found:
            check.add("expected", head_file, None, f"No entry has the digest {digest}, which was kept elsewhere.")
    return check


def _check_line(check: ChainCheck, raw: RawLine, expected: Collection[str]) -> None:
    if not raw.ended:
        check.add("torn", raw.file, raw.place, "The last line has no end: its write was interrupted, or it was cut.")
        return
    digest, after = digest_of(raw.content), check.end
    check.lines += 1
    if digest in expected:
        check.found.add(digest)
    try:
        entry = decoded(raw.content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        check.add("damaged", raw.file, raw.place, f"This is not a line of a record: {error}.")
        check.end = Head(after.number + 1, digest)
        return
    start = check.start
    if start is not None:
        check.start_is_recorded = check.start_is_recorded or start.is_recorded_by(entry.event)
        if entry.number == start.number and digest != start.digest:
            check.add("start", raw.file, raw.place, "This is not the entry that was archived under this number.")
    if check.first is None:
        check.first = entry.number
        if not _begins(entry.number, entry.previous, start):
            check.add(
                "start",
                raw.file,
                raw.place,
                f"The record begins with entry {entry.number:,}: those before it are missing.",
            )
    elif entry.previous != after.digest:
        check.add(
            "changed", raw.file, raw.place, "The entry before is not the one that this entry was written after: it was "
            "changed, removed, or moved."
        )  # fmt: skip
    elif entry.number != after.number + 1:
        check.add("changed", raw.file, raw.place, f"Entry {after.number + 1:,} has the number {entry.number:,}.")
    check.end = Head(entry.number, digest)


def _begins(number: int, previous: str, start: Start | None) -> bool:
    """Return whether a record may begin with an entry: the first one, or one that follows what was archived.

    Where archiving was interrupted, some entries that were archived are still there.
    """
    if start is None or number <= 1:
        return number == 1 and previous == FIRST_PREVIOUS
    return number <= start.number or (number == start.number + 1 and previous == start.digest)


def _check_head(check: ChainCheck, before: Head, content: bytes | None, file: str) -> None:
    """Check the end against the head, which is one entry behind if the program ended between the two."""
    if content is None:
        if check.lines:
            check.add("head", file, None, "The head is missing, so entries may have been cut off at the end.")
        return
    head = read_head(content)
    if head is None:
        check.add("head", file, None, "The head is damaged.")
    elif head == check.end:
        return
    elif head == before:
        check.add(
            "head", file, None, f"Entry {check.end.number:,} comes after the head: the program ended while writing "
            "it, or it was added later."
        )  # fmt: skip
    elif head.number > check.end.number:
        check.add(
            "cut", file, None, f"The record ends with entry {check.end.number:,}, but its head is entry "
            f"{head.number:,}: entries are missing at the end."
        )  # fmt: skip
    else:
        check.add("head", file, None, f"The head is not the digest of the last entry, number {check.end.number:,}.")
