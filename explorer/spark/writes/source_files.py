"""The files of a source of rows: whether they are still what they were, and the digest of what they contain.

A plan counts the rows of a source, a second person may approve what it contains, and the commit reads it again. What
was seen of each file is compared before the first reading and after the last one, so that all of them read the same.
Invariants: everything below a source counts, also behind links and under names that Spark skips; whoever writes into a
file, or puts another one in its place and the first one back, leaves a mark that no program can set.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from explorer.core.errors import RequestError, StorageError
from explorer.core.transaction.proposal import SourceContent
from explorer.storage.roots import folder_of, is_url

_BLOCK: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class FileState(NamedTuple):
    """A file as it was seen.

    Attributes:
        path: Its path below the source; empty for a source that is one file.
        device, number: Which file it is, links followed.
        size: Bytes.
        written: When its content was written, in ns; anybody may set this.
        changed: When it was written, renamed, or its time was set, in ns; the system alone sets this.
    """

    path: str
    device: int
    number: int
    size: int
    written: int
    changed: int


FileStates: TypeAlias = tuple[FileState, ...]
"""The files of a source; none where it is not on this machine."""


def file_states(source: object) -> FileStates:
    """Return the files of a source as they are now, in the order of their paths.

    Args:
        source: As for `explorer.core.transaction.row_engine.RowEngine.incoming_rows`.
    """
    place = _place_of(source)
    return () if place is None else tuple(sorted(_state(path, below) for path, below in _files(place)))


def content_of(source: object, planned: FileStates) -> Callable[[], SourceContent] | None:
    """Return what reads the content of a source; None where its rows come from no file.

    It is read once, as long as its files stay as they are.

    Args:
        source: As for `file_states`.
        planned: Its files when its rows were planned.
    """
    if not isinstance(source, str):
        return None
    known = dict[FileStates, SourceContent]()

    def content() -> SourceContent:
        place, states = _place_of(source), file_states(source)
        if place is None or not (planned or states):
            raise RequestError(
                f"The source {source!r} is not on this machine, so nothing says whether it stays as it is until the "
                "commit. Copy it to a folder of this machine, and plan the change from there.",
                field="source",
            )
        if states not in known:
            known.clear()
            known[states] = _content(place, states)
        return known[states]

    return content


def _place_of(source: object) -> str | None:
    """Return the path of a source without links; None where it is no path."""
    return os.path.realpath(folder_of(source)) if isinstance(source, str) and not is_url(source) else None


def _files(place: str) -> Iterator[tuple[str, str]]:
    """Yield each file of a source, and its path below it."""
    if os.path.isfile(place):
        yield place, ""
    seen = set[tuple[int, int]]()
    for folder, folders, names in os.walk(place, followlinks=True):
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link leads back
        seen.add((status.st_dev, status.st_ino))
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path, os.path.relpath(path, place)


def _state(path: str, below: str) -> FileState:
    return _state_of(os.stat(path), below)


def _state_of(status: os.stat_result, below: str) -> FileState:
    return FileState(below, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _content(place: str, states: FileStates) -> SourceContent:
    """Read the files of a source.

    Raises:
        RequestError: They changed meanwhile.
        StorageError: One cannot be read.
    """
    digests = [(_digest(os.path.join(place, state.path) if state.path else place, state), state) for state in states]
    alone = len(states) == 1 and not states[0].path
    lines = "".join(_line(digest, state.path) for digest, state in digests)
    whole = digests[0][0] if alone else hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
    return SourceContent(len(states), sum(state.size for state in states), whole)


def _line(digest: str, path: str) -> str:
    """Return the line that ``sha256sum`` prints of a file; a name can contain the end of a line."""
    escaped = path.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == path else chr(92)}{digest}  {escaped}\n"


def _digest(path: str, state: FileState) -> str:
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            digest = hashlib.sha256()
            while block := file.read(_BLOCK):
                digest.update(block)
            read = _state_of(os.fstat(file.fileno()), state.path)
    except OSError as error:
        raise StorageError(
            f"The source file {path} cannot be read: {error.strerror or error}. Check the file and its permissions.",
            path=path,
            reason="source",
        ) from error
    if read != state:
        raise RequestError(
            f"The source file {path} changed while it was read. Make a new plan once nothing writes to it.",
            field="source",
        )
    return digest.hexdigest()
