"""A file of audits that were done: a JSON line a table, by which a stopped or repeated run goes on.

Invariants: a line is written whole and at once; a last line that was cut off by a stop does not count and is replaced;
of two lines of a table the later counts. A line counts only for an audit that looks at the same things.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from explorer.core.errors import RequestError, StorageError

__all__ = ["AuditRecord"]


class _Line(msgspec.Struct):
    location: str
    looks: dict[str, bool]
    document: dict[str, Any]


class AuditRecord:
    """The record, opened to read and to go on.

    Args:
        path: The file; it need not exist.
        looks: What the audits look at beside the log, a record of truth values.

    Attributes:
        versions: The version of each table that is in it, by its location.

    Raises:
        RequestError: The file is no such record.
        StorageError: It cannot be read or written.
    """

    def __init__(self, path: Path, looks: msgspec.Struct) -> None:
        self._path = path
        self._looks: dict[str, bool] = msgspec.structs.asdict(looks)
        self.versions: dict[str, int] = {}
        self._places: dict[str, tuple[int, int]] = {}
        try:
            self._end = self._read() if path.exists() else 0
            with path.open("ab") as file:
                file.truncate(self._end)
        except OSError as error:
            raise self._failed(error) from error

    def document(self, location: str) -> dict[str, Any]:
        """The audit of a table that is in the record."""
        start, length = self._places[location]
        with self._path.open("rb") as file:
            file.seek(start)
            found: dict[str, Any] = msgspec.json.decode(file.read(length), type=_Line).document
        return found

    def add(self, location: str, document: dict[str, Any]) -> None:
        """Add a table that is done.

        Raises:
            StorageError: The file cannot be written.
        """
        line = msgspec.json.encode(_Line(location, self._looks, document)) + b"\n"
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError as error:
            raise self._failed(error) from error

    def _read(self) -> int:
        """Take the lines, and return where the last whole one ends."""
        end = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    found = msgspec.json.decode(line, type=_Line)
                    version = msgspec.convert(found.document["version"], int)
                except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
                    raise RequestError(
                        f"Line {number} of {self._path} is not of a record of audits: {error}. Name another file, or "
                        "remove this one to begin again.",
                        path=str(self._path),
                        position=number,
                    ) from error
                if found.looks == self._looks:
                    self.versions[found.location] = version
                    self._places[found.location] = (end, len(line))
                end += len(line)
        return end

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"The record {self._path} cannot be read or written: {error.strerror}.", path=str(self._path)
        )
