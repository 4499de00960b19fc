"""What a record contains: its entries by person, table, kind, and time; and as CloudEvents."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from explorer.activity.chain import ChainCheck, check_chain
from explorer.activity.event import RecordEntry, decoded
from explorer.activity.files import RecordFiles, unreadable
from explorer.core.errors import StorageError

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """Which entries are meant; empty fields mean all.

    Attributes:
        since: Not before this time.
        by: The person.
        table: The table, or a folder above it.
        kind: What the entry is about.
    """

    since: datetime | None = None
    by: str = ""
    table: str = ""
    kind: str = ""

    def takes(self, entry: RecordEntry) -> bool:
        """Return whether an entry is meant."""
        event = entry.event
        return (
            (not self.kind or event.kind == self.kind)
            and (not self.by or event.person == self.by)
            and (not self.table or f"{event.table}/".startswith(f"{self.table.rstrip('/')}/"))
            and (self.since is None or datetime.fromisoformat(entry.time) >= self.since)
        )


def entries(files: RecordFiles, wanted: RecordFilter | None = None) -> Iterator[RecordEntry]:
    """Yield the entries of a record that are meant, newest first; a damaged entry is left to `check_record`.

    Raises:
        StorageError: A file cannot be read.
    """
    for path in reversed(files.existing()):
        for line in _lines_backwards(path, files):
            try:
                entry = decoded(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if wanted is None or wanted.takes(entry):
                yield entry


def check_record(files: RecordFiles, *, expected: Collection[str] = ()) -> ChainCheck:
    """Check that a record is as it was written; see `explorer.activity.chain`.

    Raises:
        StorageError: A file cannot be read.
    """
    # The head first: lines that are added meanwhile come after it, and are checked the next time.
    head = files.read_head()
    check = _checked(files, head, expected)
    again = files.read_head()
    return _checked(files, again, expected) if check.problems and again != head else check


def _checked(files: RecordFiles, head: bytes | None, expected: Collection[str]) -> ChainCheck:
    return check_chain(
        files.lines(),
        head,
        head_file=files.head.name,
        expected=expected,
        start=files.read_start(),
        start_file=files.start.name,
    )


def cloud_event(entry: RecordEntry) -> dict[str, Any]:
    """Return an entry as a CloudEvent 1.0, in its JSON format."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": f"{entry.number}-{entry.previous[:16]}",
        "source": "urn:delta-table-explorer:activity",
        "type": f"delta-table-explorer.{entry.event.kind}.{entry.event.outcome}",
        "time": entry.time,
        "datacontenttype": "application/json",
        "data": msgspec.to_builtins(entry),
    }
    return event | ({"subject": entry.event.table} if entry.event.table else {})


def _lines_backwards(path: Path, files: RecordFiles) -> Iterator[bytes]:
    """Yield the lines of a file, last first; none of one that was archived a moment ago."""
    try:
        yield from _reversed_lines(path)
    except StorageError as error:
        if path == files.current or not isinstance(error.__cause__, FileNotFoundError):
            raise


def _reversed_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, last first, without reading all of it; an unfinished one is left out."""
    rest = b""
    unfinished = True
    try:
        with path.open("rb") as file:
            place = file.seek(0, 2)
            while place:
                start = max(0, place - _BLOCK)
                file.seek(start)
                rest, *lines = (file.read(place - start) + rest).split(b"\n")
                place = start
                for line in reversed(lines):
                    if not unfinished:
                        yield line
                    unfinished = False
            if rest and not unfinished:
                yield rest
    except OSError as error:
        raise unreadable(path, error) from error
