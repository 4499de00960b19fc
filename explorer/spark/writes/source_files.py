"""The files of a source of rows: whether they are still what they were, and the digest of what they contain.

A plan counts the rows of a source, a second person may approve what it contains, and the commit reads it again. What
was seen of each file is compared before the first reading and after the last one, so that all of them read the same.
Invariants: everything below a source counts, also behind links and under names that Spark skips; whoever writes into a
file, also through memory that is mapped to it, or puts another file, folder, or link in the place of one and the first
one back, leaves a mark that no program can set. Two ways leave none: memory mapped to a file of a file system in memory
(tmpfs); and, for a moment, another folder or link in the place of one above the source, or on the way of a link in it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from explorer.core.errors import RequestError, StorageError
from explorer.core.transaction.proposal import SourceContent
from explorer.storage.roots import folder_of, is_url

_BLOCK: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class FileState(NamedTuple):
    """A file, a folder, or a link, as it was seen.

    Attributes:
        path: Its path below the source; empty for the source itself.
        kind: ``file``, ``folder``, ``link``, or ``other``; a link is there for itself, and for what it leads to.
        device, number: Which one it is.
        size: Bytes.
        written: When its content was written, in ns; anybody may set this.
        changed: When it was written, renamed, or its time was set, in ns; the system alone sets this.
    """

    path: str
    kind: str
    device: int
    number: int
    size: int
    written: int
    changed: int


FileStates: TypeAlias = tuple[FileState, ...]
"""What a source consists of; empty where it is not on this machine."""


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A source, looked up once, so that a link that leads elsewhere later changes nothing of what is read.

    Attributes:
        named: As it was given: the location of a file or a folder, or rows.
        real: Its path without links; None for rows, and where it is not on this machine.
    """

    named: object
    real: str | None

    @classmethod
    def of(cls, source: object) -> SourcePlace:
        """Look a source up.

        Args:
            source: As for `explorer.core.transaction.row_engine.RowEngine.incoming_rows`.
        """
        local = isinstance(source, str) and not is_url(source)
        return cls(source, os.path.realpath(folder_of(source)) if local and isinstance(source, str) else None)

    def states(self) -> FileStates:
        """Return what it consists of now, in the order of the paths.

        Raises:
            StorageError: It cannot be looked at.
        """
        if self.real is None:
            return ()
        try:
            states = tuple(sorted(_states(self.real)))
        except OSError as error:
            raise _unreadable(self.real, error) from error
        for state in states:
            if state.kind == "file":
                _write_back(os.path.join(self.real, state.path) if state.path else self.real)
        return states

    def content(self, planned: FileStates) -> Callable[[], SourceContent] | None:
        """Return what reads its content; None where its rows come from no file.

        It is read once, as long as its files stay as they are.

        Args:
            planned: What it consisted of when its rows were planned.
        """
        if not isinstance(self.named, str):
            return None
        known = dict[FileStates, SourceContent]()

        def content() -> SourceContent:
            states = self.states()
            if self.real is None or not (planned or states):
                raise RequestError(
                    f"The source {self.named!r} is not on this machine, so nothing shows whether it stays unchanged "
                    "until the commit. Copy it to a folder on this machine, and plan the change from there.",
                    field="source",
                )
            if states not in known:
                known.clear()
                known[states] = _content(self.real, states)
            return known[states]

        return content


NOT_FROM_FILES: Final = SourcePlace(None, None)
"""Of rows that come from no file."""


def _states(real: str) -> Iterator[FileState]:
    """Yield what a source consists of, with what links in it lead to."""
    if not os.path.isdir(real):
        yield from _states_at(real, "")
        return
    seen = set[tuple[int, int]]()
    for folder, folders, names in os.walk(real, onerror=_raise, followlinks=True):
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link leads back
            continue
        seen.add((status.st_dev, status.st_ino))
        below = os.path.relpath(folder, real)
        yield _state(status, "" if below == "." else below)
        for name in (*names, *(name for name in folders if os.path.islink(os.path.join(folder, name)))):
            path = os.path.join(folder, name)
            yield from _states_at(path, os.path.relpath(path, real))


def _states_at(path: str, below: str) -> Iterator[FileState]:
    """Yield a link, and what it leads to; or what is at a path. Nothing is yielded of what is not there."""
    with suppress(FileNotFoundError, NotADirectoryError):
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            yield _state(status, below)
            if not os.path.exists(path):
                return  # it leads nowhere, or to itself
            status = os.stat(path)
        if not stat.S_ISDIR(status.st_mode):
            yield _state(status, below)


def _write_back(path: str) -> None:
    """Have the system write what is waiting in memory to a file.

    Of memory that is mapped to it, only the first write after that leaves a mark.
    """
    with suppress(OSError):  # what cannot be read is said where it is read; some file systems write nothing back
        handle = os.open(path, _FLAGS)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _raise(error: OSError) -> None:
    """Raise the error of a folder that cannot be listed; one that is gone left a mark on the folder above."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _state(status: os.stat_result, below: str) -> FileState:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "other")
    return FileState(below, kind, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _content(real: str, states: FileStates) -> SourceContent:
    """Read the files of a source.

    Raises:
        RequestError: They changed meanwhile, or one is no file.
        StorageError: One cannot be read.
    """
    files = [state for state in states if state.kind in ("file", "other")]
    digests = [_digest(os.path.join(real, state.path) if state.path else real, state) for state in files]
    lines = "".join(_line(digest, state.path) for digest, state in zip(digests, files, strict=True))
    alone = len(files) == 1 and not files[0].path
    whole = digests[0] if alone else hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    return SourceContent(len(files), sum(state.size for state in files), whole)


def _line(digest: str, path: str) -> str:
    """Return the line that ``sha256sum`` prints of a file; a name can contain the end of a line."""
    escaped = path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == path else chr(92)}{digest}  {escaped}\n"


def _digest(path: str, state: FileState) -> str:
    if state.kind != "file":
        raise RequestError(
            f"{path} is neither a file nor a folder, so nothing says what Spark would read of it. Remove it from the "
            "source.",
            field="source",
        )
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            digest = hashlib.sha256()
            while block := file.read(_BLOCK):
                digest.update(block)
            read = _state(os.fstat(file.fileno()), state.path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if read != state:
        raise RequestError(
            f"The source file {path} changed while it was read. Make a new plan once nothing writes to it.",
            field="source",
        )
    return digest.hexdigest()


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(
        f"The source {path} cannot be read: {error.strerror or error}. Check the file and its permissions.",
        path=path,
        reason="source",
    )
