"""The shelf: a folder with one file for each request.

00000007.json        the request
00000007.json.next   the request after a step, until the step is in the activity record
00000007.running     held as long as a commit under its approval runs
lock                 held for the time of a change

Invariants: a change holds the lock, so that of two people who press at once one is first, and the other is told. The
new content is on the disk, then its digest in the record, then it takes the place of the old one; after a crash in
between, the next reader finishes or drops it. A request whose digest is not that of its last entry in the record was
changed by something else, and cannot be used. The folder is for its owner alone, unless its group may write there.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from explorer.activity.event import Event, check_time
from explorer.activity.files import RecordFiles
from explorer.activity.reading import entries
from explorer.approvals.request import DIFFERENT_CLOCKS, ApprovalRequest, digest_of, encoded
from explorer.core.errors import RequestError, StorageError
from explorer.storage.atomic_write import flush_folder

Announce = Callable[[Event], object]
"""Writes an entry of the activity record, on the disk when it returns; raises `StorageError` if it cannot."""
_NAME: Final = re.compile(r"(\d{8,12})\.json")
_PATIENCE: Final = 5.0
_LARGEST: Final = 8 * 1024 * 1024
_FLAGS: Final = os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_GROUP: Final = 0o020
_OTHERS: Final = 0o002
_DECODER: Final = msgspec.json.Decoder(ApprovalRequest)


class Claim:
    """What a commit under an approval holds while it runs.

    Args:
        handle: The file that is locked.
    """

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def close(self) -> None:
        """Give it up."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


class Shelf:
    """The requests of one server, or of the commands of one configuration; its methods may be called from any thread.

    Args:
        folder: Where they are; it is made if it does not exist.
        record: The activity record that holds their digests.
        changed: Called with each request that was made or changed, once that is on the disk.

    Raises:
        StorageError: The folder cannot be used.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        record: RecordFiles,
        changed: Callable[[ApprovalRequest], None] | None = None,
    ) -> None:
        self.folder = Path(folder).expanduser().absolute()
        self.record = record
        self._tell = changed or _without_notice
        with self._failing():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            mode = self.folder.stat().st_mode
        if mode & _OTHERS:
            raise StorageError(
                f"Every user of this machine can write into {self.folder}, so requests there prove nothing. Run: chmod "
                f"o-rwx {self.folder}",
                path=str(self.folder),
                reason="approvals",
            )
        self._mode = 0o660 if mode & _GROUP else 0o600
        # Requests, by the number and the time and size of the file that they were read from.
        self._read: dict[int, tuple[tuple[int, int, int], ApprovalRequest]] = {}

    def numbers(self) -> list[int]:
        """Return the numbers of all requests, ascending."""
        with self._failing():
            return sorted(int(match[1]) for name in os.listdir(self.folder) if (match := _NAME.fullmatch(name)))

    def all(self) -> list[ApprovalRequest]:
        """Return all requests that can be read, newest first, for a list; `get` says of one whether it counts."""
        requests = []
        for number in reversed(self.numbers()):
            with suppress(RequestError, StorageError):
                requests.append(self._listed(number))
        return requests

    def get(self, number: int) -> ApprovalRequest:
        """Return a request, as the activity record knows it.

        Raises:
            RequestError: There is none of this number.
            StorageError: It cannot be read, or something else than this program changed it.
        """
        try:
            return self._verified(number, self._content(number))
        except StorageError:
            # A change may be under way between the reading of the file and that of the record: its end counts.
            with self._locked():
                return self._verified(number, self._content(number))

    def create(self, make: Callable[[int], ApprovalRequest], announce: Announce, event: Event) -> ApprovalRequest:
        """Put a new request on the shelf.

        Args:
            make: Makes it with its number.
            announce: Writes the entry of the record.
            event: The entry, without what the request says.
        """
        with self._locked():
            number = max(self.numbers(), default=0) + 1
            request = make(number)
            self._replace(request, announce, event)
        self._tell(request)
        return request

    def change(
        self,
        number: int,
        change: Callable[[ApprovalRequest], ApprovalRequest],
        announce: Announce,
        event: Event,
    ) -> ApprovalRequest:
        """Change a request; what ``change`` raises leaves it as it is.

        Args:
            number: Which one.
            change: Returns it after the change, given as it is now.
            announce: Writes the entry of the record.
            event: The entry, without what the request says.

        Raises:
            RequestError: There is none of this number.
            StorageError: It cannot be read or written, or something else than this program changed it.
        """
        with self._locked():
            request = change(self._verified(number, self._content(number), mend=True))
            self._replace(request, announce, event)
        self._tell(request)
        return request

    def claim(self, number: int) -> Claim | None:
        """Return the claim of a commit on a request, as long as that runs; None if another one has it.

        It ends with the program that holds it, so that only a commit that runs keeps others away.
        """
        with self._failing():
            handle = os.open(self.folder / f"{number:08}.running", os.O_RDWR | os.O_CREAT | _FLAGS, self._mode)
            _set_mode(handle, self._mode)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return Claim(handle)

    # --- inside

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.json"

    def _next(self, number: int) -> Path:
        return self.folder / f"{number:08}.json.next"

    def _listed(self, number: int) -> ApprovalRequest:
        if self._next(number).exists():
            return self.get(number)  # a change is under way, or was interrupted
        with self._failing():
            status = self._path(number).stat()
        stamp = status.st_ino, status.st_mtime_ns, status.st_size
        known = self._read.get(number)
        if known is None or known[0] != stamp:
            known = self._read[number] = stamp, self._decoded(number, self._content(number))
        return known[1]

    def _content(self, number: int) -> bytes:
        path = self._path(number) if 0 < number < 10**12 else self.folder / "none"
        with self._failing():
            try:
                handle = os.open(path, os.O_RDONLY | _FLAGS)
            except FileNotFoundError:
                raise RequestError(
                    f"There is no request {number}. To list them: delta-explorer approvals", field="request"
                ) from None
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise OSError("it is not a file")
                content = file.read(_LARGEST + 1)
                if len(content) > _LARGEST:
                    raise OSError(f"it is larger than {_LARGEST:,} bytes")
                return content

    def _decoded(self, number: int, content: bytes) -> ApprovalRequest:
        try:
            request = _DECODER.decode(content)
            for text in (request.valid_until, *(step.time for step in request.steps)):
                check_time(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._changed(number) from error
        if request.number != number or not request.steps:
            raise self._changed(number)
        return request

    def _verified(self, number: int, content: bytes, *, mend: bool = False) -> ApprovalRequest:
        """Return a request whose digest is that of its last entry in the record."""
        request = self._decoded(number, content)
        recorded = self._recorded_digest(request)
        if digest_of(content) == recorded:
            return request
        # A crash after the entry of the record: the content that it announced is beside the old one.
        with suppress(OSError):
            following = self._next(number).read_bytes()
            if recorded is not None and digest_of(following) == recorded:
                request = self._decoded(number, following)
                if mend:
                    os.replace(self._next(number), self._path(number))
                return request
        raise self._changed(number)

    def _recorded_digest(self, request: ApprovalRequest) -> str | None:
        """Return the digest in the last entry of the record about a request; None without one.

        Raises:
            StorageError: The record cannot be read, or begins after the request.
        """
        since = (request.asked_at - 2 * DIFFERENT_CLOCKS).isoformat()
        mark = f"request {request.number} {request.token}: "
        for entry in entries(self.record):
            if entry.event.kind == "approval" and entry.event.detail.startswith(mark):
                return entry.event.detail.removeprefix(mark)
            if entry.time < since:
                return None
        if self.record.read_start() is not None:
            raise StorageError(
                f"The entries about request {request.number} are no longer in the activity record: they were archived. "
                "The request cannot be used. Ask again.",
                path=str(self.record.current),
                reason="approvals",
            )
        return None

    def _changed(self, number: int) -> StorageError:
        return StorageError(
            f"Request {number} in {self.folder} does not match the activity record: something other than this program "
            "changed it. It cannot be approved or committed. Find out who did this, and ask again.",
            path=str(self._path(number)),
            reason="approvals",
        )

    def _replace(self, request: ApprovalRequest, announce: Announce, event: Event) -> None:
        content = encoded(request)
        if len(content) > _LARGEST:
            raise RequestError("The plan is too large for a request. Plan a smaller change.", field="plan")
        beside = self._next(request.number)
        with self._failing():
            _write(beside, content, self._mode)
        announce(
            msgspec.structs.replace(
                event,
                kind="approval",
                what=event.what or request.last.what,
                table=request.table,
                version=request.read_version if event.version is None else event.version,
                digest=request.plan_digest,
                detail=f"request {request.number} {request.token}: {digest_of(content)}",
            )
        )
        with self._failing():
            os.replace(beside, self._path(request.number))
            flush_folder(self.folder)
        self._read.pop(request.number, None)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._failing():
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | _FLAGS, self._mode)
            _set_mode(lock, self._mode)
        try:
            ends = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > ends:
                        raise StorageError(
                            f"Another program has held the lock of {self.folder} for {_PATIENCE:.0f} s. Nothing was "
                            "done. Try again.",
                            path=str(self.folder),
                            reason="approvals",
                        ) from error
                    time.sleep(0.005)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"The requests for approval in {self.folder} cannot be read or written: {error.strerror or error}. "
                "Nothing was done. Make room, correct the permissions, or name another folder (approvals.folder).",
                path=str(self.folder),
                reason="approvals",
            ) from error


def _write(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, mode)
    with os.fdopen(handle, "wb") as file:
        _set_mode(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _without_notice(_: ApprovalRequest) -> None:
    """Do nothing: nobody is told of requests."""


def _set_mode(handle: int, mode: int) -> None:
    """Give a file of this user its mode, of which the mask of the process may have taken a part."""
    status = os.fstat(handle)
    if status.st_uid == os.getuid() and stat.S_IMODE(status.st_mode) != mode:
        os.fchmod(handle, mode)
