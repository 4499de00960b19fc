"""A record that is written: an entry is added, flushed to the disk, and then its digest becomes the head.

Several programs on one machine may write one record: each write holds a lock, and goes on from the last line, whoever
wrote it. A write that fails leaves the file as it was. After a crash, the end of a line that was being written is taken
away, and an entry says so.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from explorer.activity.chain import Head, read_head
from explorer.activity.event import Event, RecordEntry, decoded, digest_of, encoded, trimmed
from explorer.activity.files import LONGEST_LINE, RecordFiles
from explorer.activity.writer import PATIENCE, RecordWriter
from explorer.core.errors import StorageError
from explorer.core.protocol.counted import counted
from explorer.storage.atomic_write import flush_folder

_log = logging.getLogger(__name__)
MOST_BYTES: Final = 64 * 1024 * 1024
"""How large a file becomes before it is rotated away."""
_MOST_WAITING: Final = 1_000
_MINUTE: Final = 60.0
MOST_REFUSALS: Final = 60
"""How many refusals are written in a minute."""
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class ActivityRecord:
    """A record; its methods may be called from any thread.

    Args:
        place: As of `RecordFiles.at`; its folder is made if it does not exist.
        program: The name and the version of this program.
        clock: Returns the time, in UTC.
        most_bytes: How large a file becomes before it is rotated away.

    Attributes:
        files: Where it is.

    Raises:
        StorageError: It cannot be written, or does not end as its head says.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        program: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self.files = RecordFiles.at(place)
        self._program, self._clock, self._most_bytes = program, clock, most_bytes
        self._lock = threading.RLock()
        # Its threads begin with its first entry.
        self._writer = RecordWriter(self)
        # When the wait for another program ends.
        self._ends = 0.0
        self._end = Head()
        # The file as this object left it: its number, and its size in bytes.
        self._seen: tuple[int, int] | None = None
        self._waiting: deque[Event] = deque()
        self._lost = 0
        self._minute, self._refusals, self._unwritten = time.monotonic(), 0, 0
        with self._held(), self._failing(), self._locked() as handle:
            self._follow_on(handle)

    @property
    def writer(self) -> RecordWriter:
        """Its writer on a thread of its own, for a loop that must not wait."""
        return self._writer

    def add(self, event: Event) -> RecordEntry:
        """Add an entry; it is on the disk when this returns.

        Events that could not be added before come first.

        Raises:
            StorageError: It cannot be written. Nothing was added, and what the entry announces must not be done.
        """
        with self._held(), self._failing():
            while self._waiting or self._lost:
                self._add_waiting()
            return self._added(event)

    def tell(self, event: Event) -> None:
        """Add an entry about what has happened; if it cannot be written now, it is added before the next one."""
        with self._lock:
            try:
                self.add(event)
            except StorageError as error:
                _log.error("%s", error)  # the message is complete
                self._waiting.append(event)
                if len(self._waiting) > _MOST_WAITING:
                    self._waiting.popleft()
                    self._lost += 1

    def tell_refusal(self, event: Event) -> None:
        """Add an entry about a refusal; at most some in a minute, so that nobody fills the disk by being refused."""
        with self._lock:
            now = time.monotonic()
            if now - self._minute >= _MINUTE:
                self._minute, self._refusals = now, 0
            self._refusals += 1
            if self._refusals > MOST_REFUSALS:
                self._unwritten += 1
                return
            if self._unwritten:
                words = filter(None, (event.detail, f"{self._unwritten} more before it were not written"))
                event = msgspec.structs.replace(event, detail="; ".join(words))
                self._unwritten = 0
            self.tell(event)

    def close_file(self) -> None:
        """Rotate the file that is written away, however large it is; an entry says so. An empty one stays.

        Raises:
            StorageError: It cannot be done.
        """
        with self._held(), self._failing(), self._locked() as handle:
            self._follow_on(handle)
            if os.fstat(handle).st_size:
                self._rotate(handle)
                self._written(handle, Event(kind="record", what="closed"))

    def _add_waiting(self) -> None:
        if self._lost:
            self._added(
                Event(
                    kind="record",
                    outcome="failed",
                    what="lost",
                    detail=f"{counted(self._lost, 'entry', 'entries')} lost",
                )
            )
            self._lost = 0
        else:
            self._added(self._waiting[0])
            self._waiting.popleft()

    # --- one write

    def _added(self, event: Event) -> RecordEntry:
        with self._locked() as handle:
            self._follow_on(handle)
            return self._written(handle, event)

    def _follow_on(self, handle: int) -> None:
        """Go on from the end of the record; what had to be repaired is an entry of its own."""
        if repaired := self._follow(handle):
            self._written(handle, Event(kind="record", what="repaired", detail=repaired))

    def _written(self, handle: int, event: Event) -> RecordEntry:
        now = self._clock().astimezone(UTC).isoformat(timespec="microseconds")
        entry = RecordEntry(
            number=self._end.number + 1,
            previous=self._end.digest,
            time=now,
            program=self._program,
            event=trimmed(event),
        )
        line = encoded(entry)
        size = os.fstat(handle).st_size
        if size and size + len(line) >= self._most_bytes:
            self._rotate(handle)
            size = 0
        end = Head(entry.number, digest_of(line))
        try:
            _write_all(handle, line + b"\n", size)
            os.fsync(handle)
            self._write_head(end)
        except OSError:
            self._seen = None
            os.ftruncate(handle, size)
            with suppress(OSError):
                self._write_head(self._end)
            raise
        self._end = end
        status = os.fstat(handle)
        self._seen = status.st_ino, status.st_size
        return entry

    def _rotate(self, handle: int) -> None:
        """Give the file another name, and let the handle be that of a new one."""
        os.rename(self.files.current, self.files.next_rotated())
        new = _opened(self.files.current)
        os.dup2(new, handle)
        os.close(new)
        flush_folder(self.files.current.parent)

    def _write_head(self, head: Head) -> None:
        """Write the head in place: it always has the same length, so a full disk is no obstacle."""
        handle = _opened(self.files.head)
        try:
            _write_all(handle, head.encoded(), 0)
            os.fsync(handle)
        finally:
            os.close(handle)

    # --- where it ends

    def _follow(self, handle: int) -> str:
        """Find the end of the record, if another program wrote it; return what had to be repaired, in words."""
        status = os.fstat(handle)
        if self._seen == (status.st_ino, status.st_size):
            return ""
        repaired = _cut_torn(handle, status.st_size)
        last = _last_line(handle)
        if last is None and (rotated := self.files.rotated()):
            before = os.open(rotated[-1], os.O_RDONLY | os.O_CLOEXEC)
            try:
                last = _last_line(before)
            finally:
                os.close(before)
        content = self.files.read_head()
        if last is None and content is None:
            end = Head()
            self._write_head(end)
            flush_folder(self.files.current.parent)
        else:
            end, note = self._checked_end(last, content)
            repaired = "; ".join(filter(None, (repaired, note)))
        self._end = end
        status = os.fstat(handle)
        self._seen = (status.st_ino, status.st_size) if not repaired else None
        return repaired

    def _checked_end(self, last: bytes | None, content: bytes | None) -> tuple[Head, str]:
        """Return the end of the record, and what is to be said of it."""
        head = None if content is None else read_head(content)
        if last is None:
            end, before = Head(), Head()
        else:
            try:
                entry = decoded(last)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise self._changed() from error
            end, before = Head(entry.number, digest_of(last)), Head(entry.number - 1, entry.previous)
        if head == end:
            return end, ""
        if head is None or head != before:
            raise self._changed()
        self._write_head(end)
        return end, f"entry {end.number} came after the head"

    def _changed(self) -> StorageError:
        return StorageError(
            f"The activity record {self.files.current} does not end as its head says: it was changed. Nothing is "
            f"added to it. Run: delta-explorer activity {self.files.current} --verify. To begin another record, move "
            "its files away.",
            path=str(self.files.current),
            reason="activity",
        )

    # --- its files

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock, and return the open file that is written."""
        folder = self.files.current.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _opened(self.files.lock)
        try:
            self._wait_for(lock)
            handle = _opened(self.files.current)
            try:
                yield handle
            finally:
                os.close(handle)
        finally:
            os.close(lock)

    def _wait_for(self, lock: int) -> None:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > self._ends:
                    raise self._is_held() from error
                time.sleep(0.005)
            else:
                return

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Have the record for this thread alone; of all waits of a call, none goes on after the same few seconds."""
        ends = time.monotonic() + PATIENCE
        if not self._lock.acquire(timeout=PATIENCE):
            raise self._is_held()
        try:
            self._ends = ends
            yield
        finally:
            self._lock.release()

    def _is_held(self) -> StorageError:
        return StorageError(
            f"Another program has held the lock {self.files.lock} of the activity record for {PATIENCE:.0f} s. Nothing "
            "was done. End that program, or give this one a record of its own.",
            path=str(self.files.lock),
            reason="activity",
        )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Turn errors of the system into typed ones."""
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"The activity record {self.files.current} cannot be written: {error.strerror or error}. Until it "
                "can, nothing is done that must be recorded. Make room or correct the permissions, or name another "
                "place with --activity.",
                path=str(self.files.current),
                reason="activity",
            ) from error


def _opened(path: Path) -> int:
    """Open a file of the record; it is for its owner alone, unless the group may write its folder."""
    shared = bool(path.parent.stat().st_mode & 0o020)
    mode = 0o660 if shared else 0o600
    handle = os.open(path, _FLAGS, mode)
    status = os.fstat(handle)
    if shared and status.st_uid == os.getuid() and status.st_mode & 0o777 != mode:
        os.fchmod(handle, mode)  # the mask of the process took the group's part away
    return handle


def _write_all(handle: int, content: bytes, place: int) -> None:
    while content:
        written = os.pwrite(handle, content, place)
        content, place = content[written:], place + written


def _tail(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    start = max(0, size - 2 * LONGEST_LINE)
    return os.pread(handle, size - start, start)


def _cut_torn(handle: int, size: int) -> str:
    """Take away the beginning of a line that was not written to its end; return what was taken, in words."""
    torn = _tail(handle).rpartition(b"\n")[2]
    if not torn:
        return ""
    os.ftruncate(handle, size - len(torn))
    os.fsync(handle)
    return f"{len(torn)} bytes of an unfinished line were taken away, SHA-256 {hashlib.sha256(torn).hexdigest()}"


def _last_line(handle: int) -> bytes | None:
    """Return the last line, without its end; None if there is none."""
    tail = _tail(handle)
    return tail.removesuffix(b"\n").rpartition(b"\n")[2] if tail else None
