"""How much a log may ask of the machine that reads it, and the error when it asks for more.

Protocol: it sets no limits; these keep a broken or hostile log from taking all memory before anyone notices.
Invariant: what is beyond a limit is refused by name, never read in part. A program with a table beyond a limit, and the
memory for it, sets the limit here before it opens the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from explorer.core.errors import LimitExceeded
from explorer.core.protocol.json_values import JsonValue

__all__ = [
    "CHECKPOINT_VARIABLE",
    "STRICT_VARIABLE",
    "check_checkpoint",
    "check_column",
    "check_file",
    "check_lines",
    "check_nesting",
    "too_deep",
]

MAX_FILE_BYTES = 4 << 30
"""A log file that is read whole: commit, compaction, checkpoint in JSON, checksum, hint. Parquet is read by column."""

CHECKPOINT_VARIABLE: Final = "DELTA_EXPLORER_MAX_CHECKPOINT_BYTES"
"""The environment variable by which a person sets the next one."""

MAX_CHECKPOINT_BYTES = 2 << 30
"""A checkpoint as stored, all parts and sidecars together, whose files are listed in this process: some ten million of
them. Spark replays larger ones, piece by piece."""

MAX_LINE_BYTES = 256 << 20
"""One action in JSON. A schema of a hundred thousand columns takes about a tenth of it."""

MAX_NESTING = 300
"""Objects and arrays inside each other in a schemaString; a struct in a struct takes three."""

MAX_COLUMN_BYTES = (1 << 31) - 1
"""Text of one column of files in one piece; Arrow's strings have no room for more, so it cannot be set higher."""


STRICT_VARIABLE: Final = "DELTA_EXPLORER_STRICT_TYPES"
"""The environment variable by which a person sets the next one, to 1."""

STRICT_TYPES = False
"""Refuse a table with a column of a type that this program does not read; otherwise its other columns are read."""


def check_file(path: str, size: int) -> None:
    """Check the size of a file, in bytes, before it is read whole.

    Raises:
        LimitExceeded: It is too large.
    """
    if size > MAX_FILE_BYTES:
        raise LimitExceeded(
            f"The file {path} has {size:,} bytes; {MAX_FILE_BYTES:,} are read at most. Check which program "
            "wrote it: a log file of that size is most likely broken. If it is not, raise "
            "explorer.core.protocol.limits.MAX_FILE_BYTES.",
            path=path,
            found=size,
            allowed=MAX_FILE_BYTES,
        )


def check_checkpoint(version: int, size: int) -> None:
    """Check the size of a checkpoint, in bytes, before its files are listed here.

    Raises:
        LimitExceeded: It is too large.
    """
    if size > MAX_CHECKPOINT_BYTES:
        raise LimitExceeded(
            f"The checkpoint of version {version} has {size:,} bytes; {MAX_CHECKPOINT_BYTES:,} are replayed in one "
            "process at most. Let Spark replay it: delta-explorer snapshot, files or statistics TABLE --spark MASTER "
            "(local[*] is this machine), or Table.files_frame() in Python. With the memory for it, set "
            f"{CHECKPOINT_VARIABLE} to more.",
            version=version,
            found=size,
            allowed=MAX_CHECKPOINT_BYTES,
        )


def check_lines(data: bytes, version: int, path: str) -> None:
    """Check the length of every line of a commit, in bytes.

    Raises:
        LimitExceeded: One is too long.
    """
    if len(data) <= MAX_LINE_BYTES:
        return
    start, number = 0, 1
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if end - start > MAX_LINE_BYTES:
            raise LimitExceeded(
                f"Line {number} of {path} (version {version}) has {end - start:,} bytes; {MAX_LINE_BYTES:,} are read "
                "at most. If it is a real action, raise explorer.core.protocol.limits.MAX_LINE_BYTES.",
                version=version,
                path=path,
                line=number,
                found=end - start,
                allowed=MAX_LINE_BYTES,
            )
        start, number = end + 1, number + 1


def check_nesting(value: JsonValue, what: str) -> None:
    """Check how deep decoded JSON is nested.

    Args:
        value: The JSON.
        what: What it is, for the error.

    Raises:
        LimitExceeded: It is nested too deeply.
    """
    depth, level = 0, [value]
    while level:
        depth += 1
        if depth > MAX_NESTING:
            raise too_deep(what)
        level = [child for item in level for child in _children(item) if isinstance(child, dict | list)]


def check_column(size: int, what: str) -> None:
    """Check the size of a column of text, in bytes, before it is made.

    Raises:
        LimitExceeded: Arrow's strings have no room for it.
    """
    if size > MAX_COLUMN_BYTES:
        raise LimitExceeded(
            f"{what} together have {size:,} bytes; a column of text holds {MAX_COLUMN_BYTES:,} at most. "
            "Ask for other columns of the files, let Spark list them (delta-explorer files TABLE --spark MASTER), or "
            "compact the table's small files first.",
            found=size,
            allowed=MAX_COLUMN_BYTES,
        )


def too_deep(what: str) -> LimitExceeded:
    """The error for JSON that is nested too deeply."""
    return LimitExceeded(
        f"{what} is nested deeper than {MAX_NESTING} objects and arrays, the deepest nesting that is read. "
        "Schemas that people write are much flatter; the log is most likely broken.",
        allowed=MAX_NESTING,
    )


def _children(item: JsonValue) -> Iterable[JsonValue]:
    match item:
        case dict():
            return item.values()
        case list():
            return item
        case _:
            return ()
