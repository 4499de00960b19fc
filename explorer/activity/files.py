"""The files of a record: the one that is written, those that were rotated away, its head, and its lock.

activity.jsonl           the newest lines
activity.000001.jsonl    the oldest ones; each file begins with the digest of the last line of the one before
activity.jsonl.head      the number of the last line, and its digest
activity.jsonl.start     the last line that was archived, and the number of its file; not there before that
activity.jsonl.lock      held for the time of a write
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from explorer.activity.chain import RawLine, read_start
from explorer.core.errors import StorageError

NAME: Final = "activity.jsonl"
_SUFFIX: Final = ".jsonl"
LONGEST_LINE: Final = 64 * 1024
"""Bytes; the program writes lines of a few thousand at most."""


@dataclass(frozen=True, slots=True)
class RecordFiles:
    """Where a record is.

    Attributes:
        current: The file that is written.
    """

    current: Path

    @classmethod
    def at(cls, place: str | os.PathLike[str]) -> RecordFiles:
        """Return the record at a place: a file that ends in ``.jsonl``, or a folder of one."""
        path = Path(place).expanduser().absolute()
        return cls(path if path.suffix == _SUFFIX and not path.is_dir() else path / NAME)

    @property
    def head(self) -> Path:
        """The file of the head."""
        return self.current.with_name(f"{self.current.name}.head")

    @property
    def start(self) -> Path:
        """The file that says where the record begins since older lines were archived."""
        return self.current.with_name(f"{self.current.name}.start")

    @property
    def lock(self) -> Path:
        """The file that is locked for the time of a write."""
        return self.current.with_name(f"{self.current.name}.lock")

    def rotated(self) -> list[Path]:
        """Return the files that were rotated away, oldest first."""
        pattern = re.compile(re.escape(self.current.stem) + r"\.([0-9]{6,12})\.jsonl")
        try:
            names = os.listdir(self.current.parent)
        except FileNotFoundError:
            return []
        rotated = sorted((int(match[1]), name) for name in names if (match := pattern.fullmatch(name)))
        return [self.current.with_name(name) for _, name in rotated]

    def next_rotated(self) -> Path:
        """Return the name under which the written file is rotated away."""
        rotated, start = self.rotated(), read_start(self.read_start() or b"")
        newest = max(file_number(rotated[-1]) if rotated else 0, 0 if start is None else start.files)
        return self.current.with_name(f"{self.current.stem}.{newest + 1:06}{_SUFFIX}")

    def existing(self) -> list[Path]:
        """Return all files with lines, oldest first."""
        return [*self.rotated(), *([self.current] if self.current.exists() else [])]

    def lines(self) -> Iterator[RawLine]:
        """Yield all lines, oldest first.

        Raises:
            StorageError: A file cannot be read.
        """
        for path in self.existing():
            yield from lines_of(path)

    def read_head(self) -> bytes | None:
        """Return the content of the head; None if there is none.

        Raises:
            StorageError: It cannot be read.
        """
        return _content(self.head)

    def read_start(self) -> bytes | None:
        """Return the content of the file that says where the record begins; None if nothing was archived.

        Raises:
            StorageError: It cannot be read.
        """
        return _content(self.start)


def file_number(path: Path) -> int:
    """Return the number of a file that was rotated away."""
    return int(path.name.split(".")[-2])


def _content(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST_LINE)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def lines_of(path: Path) -> Iterator[RawLine]:
    """Yield the lines of a file, oldest first.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            place = 0
            while line := file.readline(LONGEST_LINE):
                place += 1
                yield RawLine(path.name, place, line.removesuffix(b"\n"), line.endswith(b"\n"))
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> StorageError:
    """Return the error for a file of a record that cannot be read."""
    return StorageError(
        f"The activity record {path} cannot be read: {error.strerror or error}. Check the file and its permissions.",
        path=str(path),
        reason="activity",
    )
