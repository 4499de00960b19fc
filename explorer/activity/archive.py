"""The archive of a record: its older files, moved to another folder once they were verified and copied.

Invariants: nothing is deleted before its copy was read again and is the same; an entry of the record says what was
archived, with the digest of the last entry, so that the beginning of the record is still proven; a step that was
interrupted is done again by the next call; one call at a time archives a record. The record itself deletes nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from explorer.activity.chain import ARCHIVED, Head, Start
from explorer.activity.event import Event, RecordEntry, decoded, digest_of
from explorer.activity.files import RecordFiles, file_number, lines_of
from explorer.activity.reading import check_record
from explorer.activity.record import ActivityRecord
from explorer.core.errors import RequestError, StorageError
from explorer.core.protocol.counted import counted
from explorer.storage.atomic_write import atomic_write, flush_folder


@dataclass(frozen=True, slots=True)
class Archived:
    """What was archived.

    Attributes:
        files: The copies, oldest first.
        end: The last entry that was archived; None if nothing was.
    """

    files: tuple[Path, ...] = ()
    end: Head | None = None


def archive(record: ActivityRecord, folder: Path, *, before: datetime, person: str = "") -> Archived:
    """Move the files of a record all of whose entries are older than a time.

    The file that is written is closed first if its first entry is older, so that it can be archived in time.

    Args:
        record: The record; servers may write it meanwhile.
        folder: Where the files are to be; one folder for all calls, so that the archive is one chain, too.
        before: The time.
        person: Who archives.

    Raises:
        RequestError: The folder is that of the record.
        StorageError: The record is not as it was written, a file cannot be copied, or another program archives this
            record. Nothing was deleted.
    """
    folder = folder.expanduser().absolute()
    with _alone(record.files):
        return _archived(record, folder, before, person)


def _archived(record: ActivityRecord, folder: Path, before: datetime, person: str) -> Archived:
    files = record.files
    if folder.exists() and folder.samefile(files.current.parent):
        raise RequestError(f"{folder} is the folder of the record. Name another one for its archive.", field="archive")
    if (first := _first_entry(files.current)) is not None and _is_before(first, before):
        record.close_file()
    if (check := check_record(files)).problems:
        raise _not_as_written(files, check.problems[0].detail)
    chosen = list(_older_files(files, before))
    if not chosen:
        return Archived()
    end = chosen[-1][1]
    with _failing(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        copies = tuple(_copied(path, folder / path.name) for path, _ in chosen)
        _replace(folder / files.head.name, end.encoded())
    detail = f"{counted(len(copies), 'file')} to {folder}"
    record.add(
        Event(kind="record", what=ARCHIVED, person=person, refers_to=end.number, digest=end.digest, detail=detail)
    )
    with _failing(files.current.parent):
        # From here on the record begins after them; the next rotated file has the next number.
        _replace(files.start, Start(end.number, end.digest, file_number(chosen[-1][0])).encoded())
        for path, _ in chosen:
            with suppress(FileNotFoundError):
                path.unlink()
        flush_folder(files.current.parent)
    return Archived(copies, end)


def _older_files(files: RecordFiles, before: datetime) -> Iterator[tuple[Path, Head]]:
    """Yield the files that can be archived, oldest first, each with its last line."""
    for path in files.rotated():
        last = b""
        for line in lines_of(path):
            last = line.content
        if not last:
            # This program leaves no such file, and nothing says how old one is.
            raise _not_as_written(files, f"{path.name} is empty.")
        entry = decoded(last)
        if not _is_before(entry, before):
            return
        yield path, Head(entry.number, digest_of(last))


def _first_entry(path: Path) -> RecordEntry | None:
    try:
        first = next(lines_of(path), None)
    except StorageError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise
    with suppress(msgspec.DecodeError, UnicodeDecodeError):  # the check of the record names it
        return None if first is None else decoded(first.content)
    return None


def _is_before(entry: RecordEntry, time: datetime) -> bool:
    return datetime.fromisoformat(entry.time) < time


def _not_as_written(files: RecordFiles, detail: str) -> StorageError:
    return StorageError(
        f"The activity record {files.current} is not as it was written, so nothing was archived: {detail} Run: "
        f"delta-explorer activity {files.current} --verify",
        path=str(files.current),
        reason="activity",
    )


def _copied(path: Path, copy: Path) -> Path:
    """Copy a file, read the copy again, and return its path; one that is there already must be the same.

    A link is no copy: it may lead to the very file that is deleted next.
    """
    if not os.path.lexists(copy):
        with path.open("rb") as source, atomic_write(str(copy), mode=0o400) as target:
            shutil.copyfileobj(source, target)
        flush_folder(copy.parent)
    if not stat.S_ISREG(copy.lstat().st_mode) or _sha256(copy) != _sha256(path):
        raise StorageError(
            f"{copy} is another file than {path}, so nothing was deleted. Name the folder of this record's archive, or "
            "move that file away.",
            path=str(copy),
            reason="activity",
        )
    return copy


def _replace(path: Path, content: bytes) -> None:
    """Write a small file so that it is there wholly or not at all, and flush it."""
    mode = 0o640 if path.parent.stat().st_mode & 0o020 else 0o400
    with atomic_write(str(path), mode=mode) as file:
        os.fchmod(file.fileno(), mode)  # the mask of the process may have taken a part
        file.write(content)
    flush_folder(path.parent)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(files: RecordFiles) -> Iterator[None]:
    """Keep other calls from archiving a record; those that write it go on meanwhile."""
    folder = files.current.parent
    with _failing(folder):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with _failing(folder):
            _lock(handle, files)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, files: RecordFiles) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StorageError(
            f"Another program archives the record {files.current} now. Try again when it has ended.",
            path=str(files.current),
            reason="activity",
        ) from error


@contextmanager
def _failing(folder: Path) -> Iterator[None]:
    """Turn errors of the system into typed ones."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"The record cannot be archived in {folder}: {error.strerror or error}. What was not copied is "
            "still in the record. Make room or correct the permissions, and try again.",
            path=str(folder),
            reason="activity",
        ) from error
