"""A file of audits that were done: a JSON line a table, by which a stopped or repeated run goes on.

Invariants: a line is written whole and at once; a last line that was cut off by a stop does not count and is replaced;
of two lines of a table the later counts. A line counts only for the same table at the same version, and for an audit
with the same options, clients, and version of this program on the same day (UTC): what retention takes, who is late
and what lies in the folder changes without a new version. Lines of earlier days never count, and are left out when the
record is opened.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from explorer.auditing.document import AuditDocument
from explorer.auditing.options import AuditOptions
from explorer.core.errors import RequestError, StorageError
from explorer.storage.atomic_write import atomic_write
from explorer.system import my_clients
from explorer.version import VERSION


class _Line(msgspec.Struct):
    """An audit that is done, which table it was of, and its options."""

    location: str
    options: dict[str, Any] = msgspec.field(name="looks")
    document: AuditDocument
    state: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError if the document has no time."""
        datetime.fromisoformat(self.document.time)

    @property
    def day(self) -> date:
        return datetime.fromisoformat(self.document.time).astimezone(UTC).date()


class AuditRecord:
    """The record, opened to read and to go on; a context manager that closes it.

    Args:
        path: The file; it need not exist.
        options: The additional inputs of the audits.
        now: The present of the audits, with a zone.

    Attributes:
        states: The states of tables that are in it, as of `explorer.fleet.one_table.state_of`, by location; one
            location may be of several servers.

    Raises:
        RequestError: The file is no such record.
        StorageError: It cannot be read or written.
    """

    def __init__(self, path: Path, options: AuditOptions, now: datetime) -> None:
        self._path = path
        self._options: dict[str, Any] = _asked(msgspec.to_builtins(options)) | _program(options)
        self.states: dict[str, set[str]] = {}
        self._places: dict[tuple[str, str], tuple[int, int]] = {}
        # It stays open: what takes the name of the file that was read is neither cut nor written to.
        try:
            self._file = path.open("a+b")
        except OSError as error:
            raise self._failed(error) from error
        try:
            self._open(now.astimezone(UTC).date())
        except OSError as error:
            self._file.close()
            raise self._failed(error) from error
        except RequestError:
            self._file.close()
            raise

    def __enter__(self) -> AuditRecord:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def document(self, location: str, state: str) -> AuditDocument:
        """Return the audit of a table that is in the record."""
        start, length = self._places[location, state]
        self._file.seek(start)
        return msgspec.json.decode(self._file.read(length), type=_Line).document

    def add(self, location: str, state: str, document: AuditDocument) -> None:
        """Add a table that is done.

        Raises:
            StorageError: The file cannot be written.
        """
        line = msgspec.json.encode(_Line(location, self._options, document, state)) + b"\n"
        try:
            while line:
                line = line[os.write(self._file.fileno(), line) :]
        except OSError as error:
            raise self._failed(error) from error

    def _open(self, day: date) -> None:
        """Take the lines that count, and leave out those that count no more."""
        counting: list[tuple[int, int, _Line]] = []
        end = 0
        for line, record in self._lines():
            if record.day >= day:
                counting.append((end, len(line), record))
            end += len(line)
        if sum(length for _, length, _ in counting) < end:
            self._leave_out_others([(start, length) for start, length, _ in counting])
        else:
            self._file.truncate(end)
        place = 0
        for _, length, record in counting:
            if _asked(record.options) == self._options and record.day == day:
                self.states.setdefault(record.location, set()).add(record.state)
                self._places[record.location, record.state] = (place, length)
            place += length

    def _leave_out_others(self, spans: Iterable[tuple[int, int]]) -> None:
        """Write the file again with some spans of it alone: of each the start and the length, in bytes."""
        with atomic_write(str(self._path)) as file:
            for start, length in spans:
                self._file.seek(start)
                file.write(self._file.read(length))
            written = os.fstat(file.fileno())
        self._file.close()
        self._file = self._path.open("a+b")
        if not os.path.samestat(written, os.fstat(self._file.fileno())):
            raise OSError(errno.EBUSY, "another program replaced it")

    def _lines(self) -> Iterator[tuple[bytes, _Line]]:
        """Yield the complete lines."""
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise RequestError(
                    f"Line {number} of {self._path} is not an entry of an audit's progress: {error}. Name another "
                    "file, or remove this one to start again.",
                    path=str(self._path),
                    position=number,
                ) from error
            yield line, record

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"The record {self._path} cannot be read or written: {error.strerror}.", path=str(self._path)
        )


def _program(options: AuditOptions) -> dict[str, Any]:
    """Return what findings depend on besides the table and the options."""
    clients = my_clients(options.clients)
    known = hashlib.sha256(repr(clients).encode()).hexdigest() if clients else None
    return _asked({"program": VERSION, "clientsDigest": known})


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in options.items() if value}
